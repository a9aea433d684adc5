"""Priorities of long jobs: the jobs on the longest chains start first.

A chain is a job, a job that reads its output, and so on. Its length is the number of floating-point operations that its jobs
declare. However many processors there are, a run takes at least as long as its longest chain, so that chain starts first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from attention_atlas.workflow.cost_model import disk_of, workload
from attention_atlas.workflow.lookups import Config

SHORTEST_CHAIN, LONGEST_CHAIN = 9, 19
"""Priorities of jobs that start the shortest and the longest chains.

Jobs of a few seconds that many jobs wait for have a higher priority (30), all remaining jobs a lower one (at most 0)."""
HOURS = 10
"""Priority of chains of hours; shorter ones have one between `SHORTEST_CHAIN` and this, below all long chains."""
LARGE_SCRATCH = 20
"""Priority of jobs that need `LARGE_SCRATCH_BYTES` or more of scratch space."""
LARGE_SCRATCH_BYTES = 100e9
"""Such jobs start before caches and checkpoints accumulate: the peak disk usage then hardly exceeds their scratch space."""
_HOURS_GFLOP = 1e6
"""Chains of this length (1e15 operations take hours) have the priority `HOURS`; each doubling adds one, each halving takes a
twentieth off."""
_Job = TypeVar("_Job", bound=Hashable)


def chain_lengths(amounts: Mapping[_Job, float], followers: Callable[[_Job], Iterable[_Job]]) -> dict[_Job, float]:
    """For each job, its amount of work plus that of the longest chain of jobs that wait for it.

    Args:
        amounts: amount of work of each job, in any unit.
        followers: the jobs that read the output of a job; those without an amount (already built) are skipped.
    """
    lengths: dict[_Job, float] = {}

    def length(job: _Job) -> float:
        if job not in lengths:
            lengths[job] = amounts[job] + max((length(later) for later in followers(job) if later in amounts), default=0.0)
        return lengths[job]

    for job in amounts:
        length(job)
    return lengths


def priority_of(chain_gflop: float, scratch_bytes: float = 0.0) -> float:
    """Priority of a long job, which grows with each doubling of the chain that starts with it.

    Args:
        chain_gflop: length of that chain, in 1e9 floating-point operations.
        scratch_bytes: disk space that the job needs only while it runs.
    """
    if scratch_bytes >= LARGE_SCRATCH_BYTES:
        return LARGE_SCRATCH
    if chain_gflop <= 0:
        return SHORTEST_CHAIN
    doublings = math.floor(math.log2(chain_gflop / _HOURS_GFLOP))
    return min(HOURS + doublings, LONGEST_CHAIN) if doublings >= 0 else max(HOURS + doublings / 20, SHORTEST_CHAIN)


class ChainPriorities:
    """Priorities of the jobs in Snakemake's graph, for the `priority` of rules.

    Args:
        config: the resolved configuration.
        graph: returns Snakemake's graph of jobs, which exists only after all rules have been read.
    """

    def __init__(self, config: Config, graph: Callable[[], Any]):
        self._config = config
        self._graph = graph
        self._priorities: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}

    def priority(self, wildcards: Any, rulename: str) -> float:
        """Priority of a job; Snakemake passes both arguments by these names."""
        key = (rulename, frozenset(wildcards.items()))
        if key not in self._priorities:
            self._priorities = self._of_graph()
        return self._priorities[key]

    def _of_graph(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Priorities of all jobs that still have to run, by rule and wildcards; jobs of a run elsewhere declare no work."""
        graph = self._graph()
        places = {job: (job.rule.name, job.wildcards_dict) for job in graph.needrun_jobs()}
        amounts = {
            job: workload(self._config, rule, names).get("gflop", 0.0) if names.get("run") in self._config["runs"] else 0.0
            for job, (rule, names) in places.items()
        }
        lengths = chain_lengths(amounts, lambda job: graph.depending.get(job, ()))
        return {
            (rule, frozenset(names.items())): priority_of(
                lengths[job], disk_of(self._config, rule, names).scratch if amounts[job] else 0.0
            )
            for job, (rule, names) in places.items()
        }
