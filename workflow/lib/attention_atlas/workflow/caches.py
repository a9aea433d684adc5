"""Caches of attention: the size of the maps that a start will write, beside the free disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from attention_atlas.workflow.lookups import Config, study_runs
from attention_atlas.workflow.resources import cache_bytes
from attention_atlas.workflow.studies import extracted, studies

GIGA = 1e9


def attention_output(path: str, config: Config, temporary: Callable[[str], str]) -> str:
    """Output path for the maps of a shard, marked temporary unless the run keeps attention.

    Args:
        path: path of the shard, with wildcards.
        config: the resolved configuration.
        temporary: Snakemake's `temp`, which marks an output as temporary. Files that a target rule requests are kept.
    """
    return path if config["keep_attention"] else temporary(path)


def caches(config: Config) -> dict[tuple[str, str, str], int]:
    """(run, model, corpus) -> records, of all cached attention of the target runs."""
    records: dict[tuple[str, str, str], int] = {}
    for study in studies():
        for run in study_runs(config, study):
            for model, corpus, count in extracted(config, run, study):
                records[run, model, corpus] = max(count, records.get((run, model, corpus), 0))
    return records


def forecast(config: Config, written: Iterable[tuple[str, str, str]]) -> tuple[str, float]:
    """A line on the size of attention maps in float16, and the size in bytes at the mean length of their texts.

    Args:
        config: the resolved configuration.
        written: (run, model, corpus) of the maps that will be written.
    """
    sizes = {"mean_tokens": 0.0, "max_tokens": 0.0}
    known = caches(config)
    for place in set(written) & known.keys():
        model, corpus = config["models"][place[1]], config["corpora"][place[2]]
        for key in sizes:
            sizes[key] += cache_bytes(model, known[place], corpus.get(key, corpus["max_tokens"]))
    typical, largest = (size / GIGA for size in sizes.values())
    removed = "" if config["keep_attention"] else "; each shard is removed after its last reader"
    line = f"attention maps to extract: about {typical:.1f} GB in float16, at most {largest:.1f} GB{removed}"
    return (line if typical else "", sizes["mean_tokens"])


def disk_shortage(config: Config, needed: float) -> str:
    """A sentence if attention maps need more bytes than the disk of the results has free; otherwise empty."""
    place = Path(str(config.get("results", "results"))).absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if needed <= free or not config["keep_attention"]:
        return ""
    return (
        f"disk: the attention maps take about {needed / GIGA:.1f} GB, but only {free / GIGA:.1f} GB are free: put results/ on "
        "a larger disk, set keep_attention: false, or lower limits."
    )


def pending(jobs: Iterable[Any]) -> set[tuple[str, str, str]]:
    """(run, model, corpus) of the maps that Snakemake's pending jobs write."""
    wildcards = [job.wildcards for job in jobs if job.rule.name == "extract_attention"]
    return {(names.run, names.model, names.corpus) for names in wildcards}
