"""Start of the workflow: dry runs of one target and of the whole sample run, against the bare start of Snakemake."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import report, side_by_side

ROOT = Path(__file__).resolve().parents[1]
TARGET = "results/sample/clark2019/table1.tsv"


def run() -> None:
    """Print both times."""
    snakemake = [sys.executable, "-m", "snakemake"]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("config.yaml", "config", "workflow"):  # the configuration, and files that it names
            Path(folder, name).symlink_to(ROOT / name)
        dry = [*snakemake, "--snakefile", str(ROOT / "Snakefile"), "--directory", folder, "--dry-run", "--quiet", "--"]
        candidates = {
            "snakemake --version": lambda: subprocess.run([*snakemake, "--version"], check=True, capture_output=True),
            "dry run of one target": lambda: subprocess.run([*dry, TARGET], check=True, capture_output=True),
            "dry run of the whole sample run": lambda: subprocess.run(dry, check=True, capture_output=True),
        }
        report(side_by_side(candidates, 3), "snakemake --version")
