"""Paths of the files of a run: shards, cards, checkpoints, raw corpora."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.workflow.lookups import Config, local_file, shard_count
from attention_atlas.workflow.requirements import MISSING, corpus_requirement

RESULTS = "results/"
"""Start of the path of every file that the workflow makes."""


def results_of(config: Config) -> str:
    """Start of these paths as jobs see them: with the prefix of a `module` statement, which the Snakefile looks up."""
    return str(config.get("results", RESULTS))


def prefixed(value: Any, config: Config) -> Any:
    """The value of a parameter, with the prefix added to every workflow file in it.

    Snakemake adds the prefix of a `module` statement to inputs, outputs, logs and benchmarks, but not to parameters.
    """
    results = results_of(config)
    if results == RESULTS:
        return value
    if isinstance(value, str):
        return results + value.removeprefix(RESULTS) if value.startswith(RESULTS) else value
    if isinstance(value, Mapping):
        return {key: prefixed(part, config) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(prefixed(part, config) for part in value)
    return value


def shard_paths(
    config: Config, run: str, model: str, corpus: str, folder: str, suffix: str, records: int | None = None
) -> list[str]:
    """Paths of the shards with the first records of a corpus.

    Args:
        config: the resolved configuration.
        run, model, corpus: names in the configuration; examples are those of the model with the same tokenizer as `model`.
        folder: attention, hidden or examples.
        suffix: file suffix, without the dot.
        records: number of records; default: as many as the run reads.
    """
    pattern = shard_pattern(config, run, model, corpus, folder, suffix)
    return [pattern.format(shard=shard) for shard in range(shard_count(config, run, corpus, records))]


def shard_pattern(config: Config, run: str, model: str, corpus: str, folder: str, suffix: str) -> str:
    """Path of a shard as a pattern with its number `{shard}`; arguments as in `shard_paths`."""
    owner = tokenised_by(config, model) if folder == "examples" else model
    return f"results/{run}/{folder}/{owner}/{corpus}/{{shard}}.{suffix}"


def card_path(run: str, model: str) -> str:
    """The card of a model."""
    return f"results/{run}/models/{model}/card.json"


def tokenizer_path(run: str, model: str) -> str:
    """The tokenizer of a model."""
    return f"results/{run}/models/{model}/tokenizer.json"


def checkpoint_path(run: str, model: str) -> str:
    """The weights of a model that is fine-tuned in the workflow."""
    return f"results/{run}/models/{model}/checkpoint/model.safetensors"


def raw_path(config: Config, run: str, corpus: str) -> str:
    """The raw file of a corpus: the user's own, generated, or fetched.

    Raises:
        AtlasError: the user's file is missing (names file, licence and expected layout), or its licence is not accepted.
    """
    source = config["corpora"][corpus]["source"]
    licence = config["corpora"][corpus].get("accept_licence")
    if licence is not None and licence not in config["accept_licences"]:
        raise AtlasError(
            f"corpus {corpus}: it is downloaded only if its licence is accepted. Read {licence}, and if you accept it, set "
            f"accept_licences: [{licence}]."
        )
    if "path" in source:
        requirement = corpus_requirement(config, corpus)
        if requirement is not None and requirement.state == MISSING:
            raise AtlasError(requirement.sentence)
        return users_file(config, local_file(config, corpus))
    if "sample" in source:
        return f"results/{run}/corpora/sample/{source['sample']}"
    return f"results/{run}/corpora/{corpus}.raw"


def users_file(config: Config, path: str | Path) -> str:
    """A user's file as a job input: the path in the configuration, without the prefix of a `module` statement."""
    # Snakemake prefixes only relative paths.
    return str(path) if results_of(config) == RESULTS else os.path.abspath(path)


def base_of(config: Config, model: str) -> str:
    """The model that a fine-tuned one is trained from."""
    return str(config["models"][model]["source"]["fine_tuned"])


def tokenised_by(config: Config, model: str) -> str:
    """The model whose examples a model reads: its base, or the first model in the registry with the same files."""
    models = config["models"]
    while is_fine_tuned(config, model):
        model = base_of(config, model)
    files = {key: models[model].get(key) for key in ("source", "tokenizer")}
    same = (name for name, entry in models.items() if all(entry.get(key) == value for key, value in files.items()))
    return str(next(same))


def is_fine_tuned(config: Config, model: str) -> bool:
    """Whether a model is fine-tuned in the workflow."""
    return "fine_tuned" in config["models"][model]["source"]


def keeps_epochs(config: Config, model: str) -> bool:
    """Whether checkpoints of some epochs of a model's training are kept."""
    return is_fine_tuned(config, model) and "keep_epochs" in config["models"][model]["training"]
