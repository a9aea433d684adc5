"""The share of a sample run's processor time that its jobs spend on importing libraries, as Python itself measures it."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
_IMPORTED = re.compile(r"import time:\s+(\d+) \|")
"""What Python writes after an import (PYTHONPROFILEIMPORTTIME): microseconds without those of further imports."""
SHOWN = 12


def run() -> None:
    """Build a sample run in a folder of its own, and print its processor seconds by rule and the share of imports."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("config.yaml", "config", "workflow"):
            Path(folder, name).symlink_to(ROOT / name)
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", folder]
        profile = ["--workflow-profile", str(ROOT / "workflow/profiles/local"), "--cores", "2", "--benchmark-extended"]
        before = _children()
        done = subprocess.run(
            [*command, *profile],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPROFILEIMPORTTIME": "1"},
        )
        total = _children() - before
        by_rule = seconds_by_rule(Path(folder, "results/sample"))
    imported = import_seconds(done.stderr.splitlines())
    print(f"{by_rule['jobs'].sum()} jobs, {by_rule['seconds'].sum():.0f} s of processor time; with Snakemake {total:.0f} s")
    for row in by_rule.head(SHOWN).itertuples():
        print(f"{row.Index:<32} {row.jobs:4d} jobs {row.seconds:8.1f} s")
    print(f"imports of all processes: {imported:.0f} s, {imported / total:.1%} of the processor time")


def import_seconds(lines: Iterable[str]) -> float:
    """Seconds of imports, from what the processes of a run wrote to standard error."""
    return sum(int(found[1]) for line in lines if (found := _IMPORTED.search(line))) / 1e6


def seconds_by_rule(results: Path) -> pd.DataFrame:
    """Rule -> jobs, processor seconds, from Snakemake's extended benchmark files; most seconds first."""
    files = sorted((results / "benchmarks").rglob("*.tsv"))
    jobs = pd.concat([pd.read_csv(path, sep="\t", na_values="-") for path in files])
    by_rule = jobs.groupby("rule_name")["cpu_time"].agg(["size", "sum"]).set_axis(["jobs", "seconds"], axis=1)
    return by_rule.sort_values("seconds", ascending=False)


def _children() -> float:
    """Processor seconds of ended children of this process, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
