"""Jobs that were stopped, or have a new file, in a second run: Snakemake takes what depends on their old files for up to date.

- Snakemake deletes the files of a job before it starts the job. If the job is stopped, what was made from the earlier files
  remains, and Snakemake does not miss files that only existing files were made from.
- Snakemake does not compare the parameters of a job if it has no record of one of its files, for instance because a new version
  of the workflow has given the job one more file.

Here such jobs are counted among those that did not complete: the option `--rerun-incomplete` runs them again, and what depends
on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

STARTED, FINISHED = "INFO rule", "INFO done"
"""What the first line of a job's log contains, and how its last line ends if the job finished (see `job`)."""


@dataclass(frozen=True)
class Output:
    """A file that a job makes."""

    exists: bool
    recorded: bool  # whether Snakemake has a record of the job that made it
    temporary: bool = False  # whether Snakemake deletes it after use


def was_stopped(outputs: Sequence[Output], log: Path) -> bool:
    """Whether files are missing because a job was started and did not finish.

    Files of a job that finished may be missing: they were deleted on purpose.
    """
    if all(output.exists for output in outputs) or not log.is_file():
        return False
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return bool(lines) and f" {STARTED} " in lines[0] and not lines[-1].endswith(f" {FINISHED}")


def has_new_file(outputs: Sequence[Output]) -> bool:
    """Whether a job has made some of its files, and others never."""
    made = any(output.exists and output.recorded for output in outputs)
    return made and any(not (output.exists or output.recorded or output.temporary) for output in outputs)


def rerun_unfinished_jobs() -> None:
    """Let Snakemake count these jobs among the incomplete ones, in this process."""
    # Not above: Snakemake's modules import each other, and cannot be imported in any order.
    from snakemake.dag import DAG
    from snakemake.io import is_flagged

    if getattr(DAG.incomplete_files, "with_unfinished", False):
        return
    marked_incomplete = DAG.incomplete_files

    async def incomplete_files(dag: DAG) -> list[str]:
        record = dag.workflow.persistence.metadata
        files = list(await marked_incomplete(dag))
        for job in dag.jobs:
            exist = [Path(path).exists() for path in job.output]
            if not job.log or all(exist):
                # Of most jobs: no record is read for them.
                continue
            outputs = [
                Output(there, record(path) is not None, is_flagged(path, "temp"))
                for there, path in zip(exist, job.output, strict=True)
            ]
            if was_stopped(outputs, Path(job.log[0])) or has_new_file(outputs):
                files += job.output
        return files

    incomplete_files.with_unfinished = True  # type: ignore[attr-defined]
    DAG.incomplete_files = incomplete_files
