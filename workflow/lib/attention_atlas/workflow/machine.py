"""Checks that this machine has the disk space and memory that planned jobs need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.workflow.cost_model import disk_of
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.work import GIGA

_MIB = 2**20
_CGROUP = Path("/sys/fs/cgroup/memory.max")
"""Memory limit of a container, in bytes, or `max`."""


@dataclass(frozen=True)
class PlannedJob:
    """A pending job: its rule, its wildcards, and the megabytes that it requests."""

    rule: str
    wildcards: Mapping[str, str]
    megabytes: int

    @property
    def name(self) -> str:
        """Rule and wildcards."""
        return f"{self.rule} ({', '.join(f'{key}={value}' for key, value in self.wildcards.items())})"


def planned_by_snakemake(jobs: Iterable[Any]) -> list[PlannedJob]:
    """Planned jobs from Snakemake's graph, with the memory that their rules request: the jobs' values are capped."""
    return [PlannedJob(job.rule.name, dict(job.wildcards.items()), _megabytes(job)) for job in jobs]


def _megabytes(job: Any) -> int:
    resource = job.rule.resources.get("mem_mb")
    if resource is None:
        return 0
    # An expression of --set-resources may use all of Snakemake's arguments; a function of a rule takes those that it names.
    value = resource.evaluate(
        job.wildcards,
        input=job.input,
        attempt=1,
        threads=job.threads,
        rulename=job.rule.name,
        async_run=job.rule.workflow.async_run,
    ).value
    return value if isinstance(value, int) else 0


def disk_forecast(config: Config, jobs: Iterable[PlannedJob]) -> float:
    """Bytes that jobs write, and the largest scratch space of a single job: an upper bound.

    Temporary files count in full, as if all of them were written before any is removed. When they are removed depends on
    the order of jobs and on how many run in parallel; `make plan` gives an estimate.
    """
    sizes = [disk_of(config, job.rule, job.wildcards) for job in jobs]
    return sum(size.kept + size.temporary for size in sizes) + max((size.scratch for size in sizes), default=0.0)


def free_bytes(folder: str | Path) -> int:
    """Free bytes on the disk of a folder, or of its nearest parent that exists."""
    place = Path(folder).absolute()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def machine_megabytes() -> int:
    """Memory of this machine, or of the container in which this process runs, in megabytes."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    text = _CGROUP.read_text(encoding="ascii").strip() if _CGROUP.is_file() else "max"
    return (min(physical, int(text)) if text.isdigit() else physical) // _MIB


def memory_limit(resources: Mapping[str, Any]) -> int:
    """Megabytes that all jobs may take together: Snakemake's limit (`mem_mb`) if set, otherwise the machine's memory."""
    limit = resources.get("mem_mb")
    # The number is an attribute of a class of Snakemake.
    return int(getattr(limit, "value", limit) or machine_megabytes())


def shortfalls(config: Config, jobs: list[PlannedJob], free: float, megabytes: int, peak: float | None = None) -> list[str]:
    """Resources that jobs need and the machine lacks, one sentence each.

    Args:
        config: the resolved configuration.
        jobs: all pending jobs.
        free: free bytes on the disk of results.
        megabytes: memory for one job; 0 if unknown, as on a cluster.
        peak: bytes that the jobs take at any one time, by a schedule; default: the upper bound of `disk_forecast`.
    """
    sentences = []
    needed = disk_forecast(config, jobs) if peak is None else peak
    if needed > free:
        removed = ", set keep_attention: false" if config["keep_attention"] else ""
        sentences.append(
            f"disk: the run needs up to {needed / GIGA:.1f} GB, but only {free / GIGA:.1f} GB are free: put results/ on a "
            f"larger disk{removed}, or lower limits."
        )
    largest = max(jobs, key=lambda job: job.megabytes, default=None)
    if largest is not None and megabytes and largest.megabytes > megabytes:
        over = sum(job.megabytes > megabytes for job in jobs)
        sentences.append(
            f"memory: jobs that request more than this machine's {megabytes:,} MB: {over}; largest: {largest.name}, "
            f"{largest.megabytes:,} MB. Run them on a larger machine, or lower max_tokens or batch."
        )
    return sentences


def start_warnings(config: Config, jobs: Iterable[Any], megabytes: int) -> list[str]:
    """Warnings to show before the first of Snakemake's jobs; arguments as for `shortfalls`."""
    return shortfalls(config, planned_by_snakemake(jobs), free_bytes(str(config.get("results", "results"))), megabytes)
