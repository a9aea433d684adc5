"""Checks that names used in a configuration are in its registries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_atlas.errors import AtlasError, did_you_mean
from attention_atlas.workflow.lookups import Config


class Registry(dict[str, Any]):
    """A registry of the configuration; looking up an unknown name raises an error of one sentence."""

    def __init__(self, entries: Mapping[str, Any], kind: str):
        super().__init__(entries)
        self.kind = kind

    def __missing__(self, name: str) -> Any:
        raise AtlasError(f"there is no {self.kind} '{name}'{did_you_mean(name, self)}.")


def with_known_names(config: Config) -> dict[str, Any]:
    """A resolved configuration whose registries report unknown names, since paths that a user requests may contain any name."""
    return {**config, "models": Registry(config["models"], "model"), "corpora": Registry(config["corpora"], "corpus")}


def check_known(name: str, registry: Mapping[str, Any], kind: str, place: str) -> None:
    """Check that a name is in a registry.

    Raises:
        AtlasError: it is not; `kind` and `place` say what is named, and where.
    """
    if name not in registry:
        raise AtlasError(
            f"config: {place}: there is no {kind} '{name}'{did_you_mean(name, registry)}. Known: {', '.join(sorted(registry))}."
        )


def check_reader(config: Config, corpus: str, reader: str, place: str) -> None:
    """Check that a corpus has the reader that its role needs.

    Raises:
        AtlasError: it has a different reader.
    """
    actual = config["corpora"][corpus]["reader"]
    if actual != reader:
        raise AtlasError(f"config: {place}: corpus '{corpus}' has the reader {actual}, but {reader} is needed here.")
