"""Time limits of long jobs, from the plan: with a fixed limit, jobs of the largest models would always time out."""

from __future__ import annotations

import functools
from typing import Any

from attention_atlas.workflow.cost_model import read_coefficients, seconds, workload
from attention_atlas.workflow.known import with_known_names
from attention_atlas.workflow.lookups import Config
from attention_atlas.workflow.resources import JobResources, Resource

MARGIN = 1.5
"""Factor on the planned time: plans of jobs that were not part of a fit are within this factor (benchmarks/README.md)."""


def time_limit(config: Config, rule: str, least: int) -> Resource:
    """Time limit of a job in minutes: `MARGIN` times the planned time on processors, increased after each failure.

    Args:
        config: the resolved configuration.
        rule: name of the rule.
        least: minimum in minutes; also the limit of all jobs on a GPU, whose speed the plan does not know.
    """
    resources = JobResources(config)
    known = with_known_names(config)
    threads = resources.threads(rule)

    @functools.cache
    def planned(wildcards: tuple[tuple[str, str], ...], cores: int) -> float:
        return seconds(_coefficients(), rule, workload(known, rule, dict(wildcards)), cores)

    def grown(wildcards: Any, attempt: int) -> int:
        if resources.gpus(rule):
            return least * attempt
        expected = planned(tuple(sorted(wildcards.items())), threads(wildcards))
        return max(least, int(MARGIN * expected / 60)) * attempt

    return grown


_coefficients = functools.cache(read_coefficients)
