"""Print the jobs that a target needs, with their files and all texts in their parameters, as JSON.

Snakemake's own dry run shows no parameters.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from snakemake.api import SnakemakeApi
from snakemake.settings.types import DAGSettings, OutputSettings, Quietness, ResourceSettings


def texts(value: Any) -> Iterator[str]:
    """All texts in a parameter."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts(part)


def main(target: str) -> None:
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        workflow = api.workflow(ResourceSettings(cores=1), snakefile=Path("Snakefile"), workdir=Path())
        workflow.dag(DAGSettings(targets={target})).execute_workflow(executor="dryrun")
        jobs = [
            {
                "rule": job.rule.name,
                "files": [str(file) for file in (*job.input, *job.output, *job.log, job.benchmark) if file],
                "params": list(texts(list(job.params))),
            }
            for job in workflow._workflow.dag.jobs
        ]
    json.dump(jobs, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
