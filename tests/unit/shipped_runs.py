"""The shipped configuration for tests of what serves the Snakefile, and wildcards of its jobs."""

import copy
import functools
from typing import Any

from small_config import SHIPPED
from snakemake.iocontainers import Wildcards

from attention_atlas.workflow.config import resolve


@functools.cache
def shipped(missing: str = "error") -> dict[str, Any]:
    """The shipped configuration, resolved; what `missing` says about files that are not there."""
    return resolve(SHIPPED | {"missing": missing})


def shipped_copy(missing: str = "error") -> dict[str, Any]:
    """The same, to be changed by a test."""
    return copy.deepcopy(shipped(missing))


def wildcards(run: str = "sample", **names: object) -> Wildcards:
    """Wildcards of a job, as Snakemake gives them to input functions: all values are text."""
    return Wildcards(fromdict={"run": run, **{name: str(value) for name, value in names.items()}})
