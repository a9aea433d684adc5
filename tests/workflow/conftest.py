"""A copy of the workflow in a folder of its own, and Snakemake on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("Snakefile", "config.yaml", "workflow", "envs")


@dataclass(frozen=True)
class Workspace:
    """A folder with a copy of the workflow."""

    folder: Path

    def snakemake(self, *arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake with the local profile; both outputs in `stdout`."""
        command = [sys.executable, "-m", "snakemake", "--workflow-profile", "workflow/profiles/local", "--cores", "2"]
        clean = {name: value for name, value in os.environ.items() if name not in ("ATLAS_DATA", "SNAKEMAKE_PROFILE")}
        done = subprocess.run(
            [*command, *arguments],
            cwd=self.folder,
            env=clean | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout[-6000:]
        return done

    def jobs(self, *arguments: str) -> dict[str, int]:
        """Rule -> number of jobs that a dry run would start."""
        output = self.snakemake("--dry-run", *arguments).stdout
        if "Nothing to be done" in output:
            return {}
        lines = output[output.index("Job stats:") :].splitlines()[3:]
        table = (line.split() for line in lines)
        counts = {}
        for row in table:
            if len(row) != 2 or row[0] == "total":
                break
            counts[row[0]] = int(row[1])
        return counts


def copy_workflow(folder: Path) -> Workspace:
    """Copy what a run needs."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / part)
    return Workspace(folder)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A fresh copy of the workflow."""
    return copy_workflow(tmp_path)
