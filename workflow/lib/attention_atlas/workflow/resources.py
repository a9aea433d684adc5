"""Resources that jobs request (memory, minutes, GPUs), and the size of attention caches beside the free disk.

Memory is in MiB. A cluster's user changes a number with `--set-resources` or in the profile.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attention_atlas.attention.batches import GRADIENT_TOKENS
from attention_atlas.models.devices import gpu_here
from attention_atlas.workflow.paths import Config, study_runs
from attention_atlas.workflow.study import extracted, studies

Resource = Callable[[Any, int], int]  # function of the wildcards and the number of the attempt
_PROCESS = 1200  # A process with torch, transformers and Snakemake
_VOCABULARY = 30522  # word pieces of BERT, for models whose vocabulary is not known before they are loaded
_SAVED_STATES = 34  # values saved for the backward pass for each layer and token, in units of the hidden size (upper bound)
_MIB, _GIGA = 2**20, 1e9


def memory(megabytes: int) -> Resource:
    """A number of megabytes, increased after each failure."""
    return lambda wildcards, attempt: megabytes * attempt


minutes = memory  # A number of minutes, increased after each failure


def gpus(config: Config) -> int:
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


def attention_output(path: str, config: Config, temporary: Callable[[str], str]) -> str:
    """Output path for the maps of a shard, marked by Snakemake's `temp` unless the run keeps attention."""
    return path if config["keep_attention"] else temporary(path)


def caches(config: Config) -> dict[tuple[str, str, str], int]:
    """(run, model, corpus) -> records, of all cached attention of the target runs."""
    records: dict[tuple[str, str, str], int] = {}
    for study in studies():
        for run in study_runs(config, study):
            for model, corpus, count in extracted(config, run, study):
                records[run, model, corpus] = max(count, records.get((run, model, corpus), 0))
    return records


def bytes_of_maps(config: Config, written: Iterable[tuple[str, str, str]]) -> float:
    """Bytes of the maps that will be written, of texts of their corpora's mean length, or else of the longest."""
    records, size = caches(config), 0.0
    for place in set(written) & records.keys():
        model, corpus = config["models"][place[1]], config["corpora"][place[2]]
        size += cache_bytes(model, records[place], corpus.get("mean_tokens", corpus["max_tokens"]))
    return size


def disk_shortage(config: Config, needed: float) -> str:
    """A sentence if attention maps need more bytes than the disk of the results has free; otherwise empty."""
    place = Path("results").absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if needed <= free or not config["keep_attention"]:
        return ""
    return (
        f"disk: the attention maps take about {needed / _GIGA:.1f} GB, but only {free / _GIGA:.1f} GB are free: put results/ "
        "on a larger disk, set keep_attention: false, or lower limits."
    )


def pending(jobs: Iterable[Any]) -> set[tuple[str, str, str]]:
    """(run, model, corpus) of the maps that Snakemake's pending jobs write."""
    wildcards = [job.wildcards for job in jobs if job.rule.name == "extract_attention"]
    return {(names.run, names.model, names.corpus) for names in wildcards}
