"""Pending jobs of a run, as Snakemake plans them in this folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "lib")]

from attention_atlas.errors import AtlasError  # noqa: E402
from tools.plan import Job, jobs_in  # noqa: E402


def jobs_to_do(
    run: str, folder: Path, options: Sequence[str] = (), targets: Sequence[str] = (), all_jobs: bool = False
) -> list[Job]:
    """The jobs that Snakemake would start to build a run, or some of its files.

    Args:
        run: name of the run.
        folder: of the workflow.
        options: of Snakemake, such as `--configfile` and its files.
        targets: files; default: all of the run.
        all_jobs: also those whose files are up to date.

    Raises:
        AtlasError: the run cannot be planned.
    """
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--workflow-profile", "workflow/profiles/local"]
    command += [*(["--forceall"] if all_jobs else []), *options, "--config", f"targets=[{run}]", "--", *targets]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    shown = done.stdout + done.stderr
    if done.returncode:
        raise AtlasError(f"the run {run} cannot be planned: {shown.strip().splitlines()[-1] if shown.strip() else 'no output'}")
    return jobs_in(shown)


def outputs_of(run: str, folder: Path, options: Sequence[str] = (), all_jobs: bool = False) -> set[str]:
    """Outputs of the jobs of `jobs_to_do`, relative to `folder`.

    Raises:
        AtlasError: the run cannot be planned.
    """
    return {path for job in jobs_to_do(run, folder, options, all_jobs=all_jobs) for path in job.outputs}
