"""Inputs, parameters and resources (MiB, minutes, GPUs) of rules: of models, corpora and attention, which all studies share.

A cluster's user changes a number with `--set-resources` or in the profile.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attention_atlas.attention.batches import GRADIENT_TOKENS
from attention_atlas.corpora.glue import TASKS
from attention_atlas.corpora.records import reader_module
from attention_atlas.errors import AtlasError
from attention_atlas.io.hub_files import is_commit, reference_of
from attention_atlas.models.devices import gpu_here
from attention_atlas.workflow import paths
from attention_atlas.workflow.provenance import script_digest
from attention_atlas.workflow.requirements import missing_requirements, raw_path
from attention_atlas.workflow.study import extracted, studies

Wildcards = Any  # wildcards of a job: attributes by name (`snakemake.io.Wildcards`)
Parameter = Callable[[Wildcards], Any]
WEIGHTS_KEYS = ("source", "sha256", "layers", "heads", "hidden_size", "init", "seed", "dtype")
"""Keys of a model's registry entry that its weights depend on."""
MODEL_SUFFIXES = (".json", ".safetensors", ".bin", ".txt", ".model", ".spm")
"""Endings of the files of a model: configuration, weights and what its tokenizer is made from."""
NOT_IN_EXAMPLES = {
    *("title", "reference", "licence", "accept_licence", "layout", "obtain", "optional", "tokenised", "relations"),
    *("limit", "mean_tokens"),  # with a larger limit, existing shards stay valid
    "level",  # of cached maps
    *("source", "trees", "translations"),  # files that are inputs of the job
}
"""Keys of a corpus's registry entry on which its examples do not depend, except through input files."""


class SharedInputs:
    def __init__(self, config: paths.Config):
        self.config = config

    def released_corpora(self) -> list[str]:
        return [name for name, entry in self.config["corpora"].items() if entry["reader"] == paths.RELEASED_MAPS]

    def described_models(self) -> list[str]:
        """Models from whose files their cards are made."""
        made = self.untrained_models()
        return sorted(name for name in self.config["models"] if not paths.is_fine_tuned(self.config, name) and name not in made)

    def untrained_models(self) -> list[str]:
        return [name for name, entry in self.config["models"].items() if "untrained" in entry["source"]]

    def fine_tuned_models(self, epochs: bool) -> list[str]:
        """Models that are trained in the workflow and keep checkpoints of some epochs, or only their final weights."""
        trained = {name: entry["training"] for name, entry in self.config["models"].items() if "training" in entry}
        return [name for name, training in trained.items() if ("keep_epochs" in training) == epochs]

    def of_model(self, key: str) -> Parameter:
        return lambda wildcards: self.config["models"][wildcards.model][key]

    def weights_entry(self, run: str, model: str) -> dict[str, Any]:
        """The part of a model's registry entry that its weights depend on, with the folder of a model made in the workflow, and
        the card that has the checksum of its weights.
        """
        entry = self.config["models"][model]
        weights = {key: entry[key] for key in WEIGHTS_KEYS if key in entry} | {"card": paths.card_path(run, model)}
        if paths.is_fine_tuned(self.config, model):
            weights["source"] = {"path": f"results/{run}/models/{model}/checkpoint"}
            # The entry's init says which weights training starts from.
            weights["init"] = "pretrained"
        if "untrained" in entry["source"]:
            weights["source"] = {"path": f"results/{run}/models/{model}/untrained"}
        if "hub" in entry["source"] and not is_commit(reference_of(entry["source"])):
            # All jobs use the commit that describe_model fetched.
            weights["source"] = entry["source"] | {"card": paths.card_path(run, model)}
        return weights

    def model_entry(self, wildcards: Wildcards) -> dict[str, Any]:
        return self.weights_entry(wildcards.run, wildcards.model)

    def model_files(self, wildcards: Wildcards) -> list[str]:
        """Files that the card of the model in the path is made from: those in its folder, if it has one."""
        for requirement in missing_requirements(self.config, [wildcards.model], []).values():
            raise AtlasError(requirement.sentence)
        source = self.config["models"][wildcards.model]["source"]
        if "path" not in source:
            return []
        return sorted(str(path) for path in Path(source["path"]).iterdir() if path.suffix in MODEL_SUFFIXES)

    def vocabulary_files(self, wildcards: Wildcards) -> list[str]:
        """The parallel text from which the vocabulary of an untrained model is learnt."""
        corpus = self.config["models"][wildcards.model]["source"]["untrained"]["corpus"]
        return [raw_path(self.config, wildcards.run, name) for name in (corpus, *paths.companions_of(self.config, corpus))]

    def untrained_settings(self, wildcards: Wildcards) -> dict[str, Any]:
        """Shape of an untrained model, and languages and records of the corpus for its vocabulary."""
        entry = self.config["models"][wildcards.model]
        source: dict[str, Any] = entry["source"]["untrained"]
        corpus = self.config["corpora"][source["corpus"]]
        shape = {key: entry[key] for key in ("layers", "heads")}
        shape |= {key: corpus[key] for key in ("languages", "order", "seed", "skip")}
        return source | shape | {"records": paths.limit_of(self.config, wildcards.run, source["corpus"])}

    def base_card(self, wildcards: Wildcards) -> str:
        return paths.card_path(wildcards.run, paths.base_of(self.config, wildcards.model))

    def base_entry(self, wildcards: Wildcards) -> dict[str, Any]:
        """Where fine-tuning starts from: the weights of the base model, or random weights."""
        entry = self.config["models"][wildcards.model]
        base = self.weights_entry(wildcards.run, paths.base_of(self.config, wildcards.model))
        return base if entry["init"] == "pretrained" else base | {"init": entry["init"], "seed": entry["seed"]}

    def training_settings(self, wildcards: Wildcards) -> dict[str, Any]:
        """Hyperparameters of a model's fine-tuning, and whether its labels are scores."""
        training: dict[str, Any] = self.config["models"][wildcards.model]["training"]
        task = self.config["corpora"][training["corpus"]].get("task")
        return training | {"regression": task is not None and TASKS[task].regression}

    def training_examples(self, wildcards: Wildcards) -> list[str]:
        corpus = self.training_settings(wildcards)["corpus"]
        return paths.shard_paths(self.config, wildcards.run, wildcards.model, corpus, "examples", "parquet")

    def training_limit(self, wildcards: Wildcards) -> int:
        return paths.limit_of(self.config, wildcards.run, self.training_settings(wildcards)["corpus"])

    def of_corpus(self, key: str) -> Parameter:
        return lambda wildcards: self.config["corpora"][wildcards.corpus][key]

    def raw_file(self, wildcards: Wildcards) -> str:
        return raw_path(self.config, wildcards.run, wildcards.corpus)

    def companion_files(self, wildcards: Wildcards) -> list[str]:
        """The treebank of a coreference corpus, or the translations of a parallel corpus, if the corpus names one."""
        return [raw_path(self.config, wildcards.run, name) for name in paths.companions_of(self.config, wildcards.corpus)]

    def order_of_rows(self, wildcards: Wildcards) -> dict[str, Any]:
        """Order and seed for sampling rows of a hub data set; empty for files that are downloaded completely."""
        entry = self.config["corpora"][wildcards.corpus]
        return {key: entry[key] for key in ("order", "seed")} if "hub" in entry["source"] else {}

    def example_entry(self, wildcards: Wildcards) -> dict[str, Any]:
        """The part of the registry entry of the corpus in the path that its examples depend on."""
        entry = self.config["corpora"][wildcards.corpus]
        return {key: value for key, value in entry.items() if key not in NOT_IN_EXAMPLES}

    def examples_code(self, wildcards: Wildcards) -> str:
        """Digest of the code that makes examples of the corpus in the path: that of its reader, but not of others."""
        return script_digest("build_examples.py", modules=(reader_module(self.config["corpora"][wildcards.corpus]["reader"]),))

    def shard_start(self, wildcards: Wildcards) -> int:
        return int(wildcards.shard) * int(self.config["corpora"][wildcards.corpus]["shard"])

    def examples_in_path(self, wildcards: Wildcards) -> list[str]:
        return paths.shard_paths(self.config, wildcards.run, wildcards.model, wildcards.corpus, "examples", "parquet")

    def path_resources(self, runtime: int) -> dict[str, Resource | int]:
        """Of a job that runs the model in the path on the corpus in the path, or trains it, for at most so many minutes."""

        def megabytes(wildcards: Wildcards, attempt: int) -> int:
            model = self.config["models"][wildcards.model]
            corpus = wildcards.get("corpus") or model["training"]["corpus"]
            return attempt * model_megabytes(model, self.config["corpora"][corpus]["max_tokens"])

        return {"mem_mb": megabytes, **at_first(runtime=runtime), "gpu": gpus(self.config)}

    def corpus_limit(self, wildcards: Wildcards) -> int:
        return paths.limit_of(self.config, wildcards.run, wildcards.corpus)


Resource = Callable[[Any, int], int]  # function of the wildcards and the number of the attempt
_PROCESS = 1200  # A process with torch, transformers and Snakemake
_VOCABULARY = 30522  # word pieces of BERT, for models whose vocabulary is not known before they are loaded
_SAVED_STATES = 34  # values saved for the backward pass for each layer and token, in units of the hidden size (upper bound)
_MIB, _GIGA = 2**20, 1e9


def at_first(**numbers: int) -> dict[str, Resource]:
    """Resources of the first attempt (mem_mb: megabytes, runtime: minutes); they grow after each failure."""

    def of_attempt(number: int) -> Resource:
        return lambda wildcards, attempt: number * attempt

    return {name: of_attempt(number) for name, number in numbers.items()}


def gpus(config: paths.Config) -> int:
    """GPUs of a job that runs a model: one if the configuration requests a GPU, or this machine has one."""
    wanted = config["device"]
    return int(wanted == "cuda" or (wanted == "auto" and gpu_here()))


def cache_bytes(model: Mapping[str, Any], records: int, tokens: float) -> float:
    """Bytes of the maps of records of `tokens` tokens in float16."""
    return 2 * records * model["layers"] * model["heads"] * tokens**2


def model_megabytes(model: Mapping[str, Any], tokens: int) -> int:
    """A job that runs or trains a model on texts of at most `tokens` tokens."""
    maps = 24 * model["layers"] * model["heads"] * tokens
    width = model["hidden_size"]
    states = 4 * _SAVED_STATES * model["layers"] * width
    weights = 12 * model["layers"] * width**2 + _VOCABULARY * width  # of the blocks and the word embeddings
    data = 16 * weights + GRADIENT_TOKENS * (maps + states + 16 * _VOCABULARY)
    return _PROCESS + int(data / _MIB)


def map_megabytes(model: Mapping[str, Any], tokens: int, records: int, stored: float) -> int:
    """A job that reads the maps of one example at a time, and stores some bytes for each head and record."""
    data = 8 * 2 * cache_bytes(model, 1, tokens) + stored * records * model["layers"] * model["heads"]
    return _PROCESS + int(data / _MIB)


def caches(config: paths.Config) -> dict[tuple[str, str, str], int]:
    """(run, model, corpus) -> records, of all cached attention of the target runs."""
    records: dict[tuple[str, str, str], int] = {}
    for study in studies():
        for run in paths.study_runs(config, study):
            for model, corpus, count in extracted(config, run, study):
                records[run, model, corpus] = max(count, records.get((run, model, corpus), 0))
    return records


def bytes_of_maps(config: paths.Config, written: Iterable[tuple[str, str, str]] | None = None) -> float:
    """Bytes of the maps that will be written, or of all, of texts of their corpora's mean length, or else of the longest."""
    records, size = caches(config), 0.0
    for place in records if written is None else records.keys() & set(written):
        model, corpus = config["models"][place[1]], config["corpora"][place[2]]
        size += cache_bytes(model, records[place], corpus.get("mean_tokens", corpus["max_tokens"]))
    return size


def disk_space(config: paths.Config, needed: float) -> tuple[str, bool]:
    """A sentence on the bytes of maps to extract and the free disk of the results, and whether that is enough."""
    place = Path("results").absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    enough = needed <= free or not config["keep_attention"]
    remedy = "" if enough else ": put results/ on a larger disk, set keep_attention: false, or lower limits"
    sizes = f"{needed / _GIGA:.1f} GB in float16; {free / _GIGA:.1f} GB are free"
    return f"Attention maps to extract take about {sizes}{remedy}.", enough


def pending(jobs: Iterable[Any]) -> set[tuple[str, str, str]]:
    """(run, model, corpus) of the maps that Snakemake's pending jobs write."""
    wildcards = [job.wildcards for job in jobs if job.rule.name in ("extract_attention", "read_attention")]
    return {(names.run, names.model, names.corpus) for names in wildcards}
