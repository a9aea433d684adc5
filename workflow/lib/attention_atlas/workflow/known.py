"""Names in a configuration that a registry has to have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attention_atlas.errors import AtlasError, did_you_mean
from attention_atlas.workflow.lookups import Config


class Registry(dict[str, Any]):
    """A registry of the configuration in which a name that it does not have is an error in one sentence."""

    def __init__(self, entries: Mapping[str, Any], kind: str):
        super().__init__(entries)
        self.kind = kind

    def __missing__(self, name: str) -> Any:
        raise AtlasError(f"there is no {self.kind} '{name}'{did_you_mean(name, self)}.")


def with_known_names(config: Config) -> dict[str, Any]:
    """A resolved configuration whose registries name what they do not have: paths that a user asks for may hold any name."""
    return {**config, "models": Registry(config["models"], "model"), "corpora": Registry(config["corpora"], "corpus")}


def check_known(name: str, registry: Mapping[str, Any], kind: str, place: str) -> None:
    """Check that a registry has a name.

    Raises:
        AtlasError: it has not; `kind` and `place` are what is named, and where.
    """
    if name not in registry:
        raise AtlasError(
            f"config: {place}: there is no {kind} '{name}'{did_you_mean(name, registry)}. Known: {', '.join(sorted(registry))}."
        )


def check_reader(config: Config, corpus: str, reader: str, place: str) -> None:
    """Check that a corpus has the reader that is needed where it is named.

    Raises:
        AtlasError: it has another one.
    """
    actual = config["corpora"][corpus]["reader"]
    if actual != reader:
        raise AtlasError(f"config: {place}: corpus '{corpus}' has the reader {actual}, but {reader} is needed here.")
