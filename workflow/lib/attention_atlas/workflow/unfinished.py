"""Stopped jobs, and the one patch of Snakemake: it takes what depends on old files of stopped or changed jobs for up to date.

- Snakemake deletes the files of a job before it starts the job. If the job is stopped, what was made from the earlier files
  remains, and Snakemake does not miss files that only existing files were made from (snakemake/snakemake#1978).
- Snakemake does not compare the parameters of a job if it has no record of one of its files, for instance because a new version
  of the workflow has given the job one more file.

Here such jobs are counted among the incomplete ones, which the option `--rerun-incomplete` runs again.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import signal
from pathlib import Path
from types import FrameType

_log = logging.getLogger(__name__)
SWITCH = "ATLAS_PATCH"  # environment variable: "off" leaves Snakemake as it is


def was_stopped(log: Path) -> bool:
    """Whether the log of a job says that it was started and did not finish; else its files were deleted on purpose."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    return bool(lines) and " INFO rule " in lines[0] and not lines[-1].endswith(" INFO done")


def rerun_unfinished_jobs() -> None:
    """Let Snakemake count jobs that were stopped, or that never made one of their files, among the incomplete ones.

    Where Snakemake's code is another than what this was written for, it stays as it is, with a warning.
    """
    if os.environ.get(SWITCH) == "off":
        return
    try:
        # Not above: Snakemake's modules import each other, and cannot be imported in any order.
        from snakemake.dag import DAG
        from snakemake.io import is_flagged
        from snakemake.persistence import PersistenceBase

        marked_incomplete = DAG.incomplete_files
        # A workflow may contain this one as several modules.
        if marked_incomplete.__module__ == __name__:
            return
        known = inspect.iscoroutinefunction(marked_incomplete) and not inspect.iscoroutinefunction(PersistenceBase.metadata)
        known &= [*inspect.signature(marked_incomplete).parameters] == ["self"]
        known &= [*inspect.signature(PersistenceBase.metadata).parameters] == ["self", "target"]
    except (ImportError, AttributeError):
        known = False
    if not known:
        _log.warning("this version of Snakemake is not known: after a job was stopped, start again with --forcerun RULE")
        return

    async def incomplete_files(dag: DAG) -> list[str]:
        record = dag.workflow.persistence.metadata
        files = list(await marked_incomplete(dag))
        for job in dag.jobs:
            exist = [path for path in job.output if Path(path).exists()]
            absent = [path for path in job.output if path not in exist]
            if job.log and absent:  # Of most jobs no record is read.
                is_new = [record(path) is None and not is_flagged(path, "temp") for path in absent]
                has_new_file = any(record(path) is not None for path in exist) and any(is_new)
                if has_new_file or was_stopped(Path(job.log[0])):
                    files += job.output
        return files

    DAG.incomplete_files = incomplete_files


def interrupt_jobs() -> None:
    """Let an interrupt that Snakemake alone receives (`kill -INT`) reach its jobs, as Ctrl-C does.

    Else Snakemake waits until they end, and runs them once more at the next start.
    """
    import psutil

    def interrupt(number: int, frame: FrameType | None) -> None:
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGINT)
        signal.default_int_handler(number, frame)

    # Not where a program that uses Snakemake listens, or starts it outside of its main thread.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, interrupt)
