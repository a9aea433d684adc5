"""Expected cost of a run: jobs, bytes cached, memory, operations, hours.

python tools/plan.py RUN               the plan of a run
python tools/plan.py RUN --measured    the plan and the measured times of its jobs (results/RUN, or the folder that follows)
python tools/plan.py --fit FOLDER ...  fit the cost model to runs that have been built (folders with results/ and config.yaml)
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

import pandas as pd  # noqa: E402
import yaml  # noqa: E402

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.workflow.config import read_configuration, resolve, write_configuration  # noqa: E402
from attention_atlas.workflow.cost_model import (  # noqa: E402
    COEFFICIENTS_PATH,
    fit,
    is_model_bound,
    read_coefficients,
    seconds,
    workload,
)
from attention_atlas.workflow.plan import Planned, makespan  # noqa: E402

NODES, NODE_PROCESSORS, QUEUE_SECONDS = 32, 4, 20
# Nominal, not measured: an H200 does 67e12 float32 operations a second; a third of that, and half of PCIe 5.0's 64 GB/s.
GPU_FLOP, GPU_COPY = 22e12, 32e9
CACHES = {"extract_attention": "gcells", "cache_hidden_states": "gstates"}
# Jobs of a group stand further in.
_JOB = re.compile(r"^( *)(?:local)?rule (\w+):\n((?:\1    .+\n)+)", re.M)


@dataclass(frozen=True)
class Job:
    """A job as Snakemake plans it; `gpus` and `megabytes` are the resources that it requests."""

    rule: str
    wildcards: dict[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    log: str
    benchmark: str
    threads: int
    gpus: int
    megabytes: int


def planned_jobs(run: str, configuration: dict[str, Any]) -> list[Job]:
    """All jobs of a run from scratch: a dry run in an empty folder with placeholders for the licensed files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_configuration(configuration, folder)
        for entry in configuration["corpora"].values():
            if "path" in entry["source"] and not Path(entry["source"]["path"]).is_absolute():
                place = folder / entry["source"]["path"]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.mkdir(exist_ok=True) if entry["reader"] == "conll2012" else place.touch()
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", name, "--dry-run"]
        shown = subprocess.run(
            [*command, "--cores", "64", "--config", f"targets=[{run}]"], check=False, capture_output=True, text=True
        )
    text = shown.stdout + shown.stderr
    if shown.returncode:
        sys.exit(text[-3000:])
    return jobs_in(text)


def jobs_in(shown: str) -> list[Job]:
    """The jobs in the output of a dry run, without target rules."""
    return [_job(rule, body) for _, rule, body in _JOB.findall(shown) if "benchmark:" in body]


def _job(rule: str, body: str) -> Job:
    fields = dict(line.strip().split(": ", 1) for line in body.splitlines() if ": " in line)

    def listed(name: str) -> tuple[str, ...]:
        return tuple(part for part in fields.get(name, "").split(", ") if part)

    wildcards = dict(part.split("=", 1) for part in listed("wildcards"))
    resources = dict(part.split("=", 1) for part in listed("resources"))
    return Job(
        rule=rule,
        wildcards=wildcards,
        inputs=listed("input"),
        outputs=listed("output"),
        log=fields["log"],
        benchmark=fields["benchmark"],
        threads=int(fields.get("threads", "1")),
        gpus=int(resources.get("gpu", "0")),
        megabytes=int(resources["mem_mb"]),
    )


def dependencies(jobs: list[Job]) -> tuple[list[Job], list[tuple[int, ...]]]:
    """The jobs in topological order, and for each job the positions of the jobs that make its inputs."""
    makers = {path: job for job in jobs for path in job.outputs}
    order: list[Job] = []
    done: set[int] = set()

    def visit(job: Job) -> None:
        if id(job) in done:
            return
        done.add(id(job))
        for path in job.inputs:
            if path in makers:
                visit(makers[path])
        order.append(job)

    for job in jobs:
        visit(job)
    place = {id(job): number for number, job in enumerate(order)}
    return order, [tuple(place[id(makers[path])] for path in job.inputs if path in makers) for job in order]


def plan(run: str, configuration: dict[str, Any], measured: Path | None) -> None:
    """Print the plan of a run.

    Args:
        run: its name.
        configuration: the configuration, overlays included.
        measured: results/{run} with benchmark files, to compare measured with expected times.
    """
    config, model = resolve(configuration), read_coefficients()
    jobs, after = dependencies(planned_jobs(run, configuration))
    works = [workload(config, job.rule, job.wildcards) for job in jobs]
    here = [seconds(model["seconds"], job.rule, work) for job, work in zip(jobs, works, strict=True)]
    on_gpu = [_on_gpu(job, work, taken, model["seconds"]) for job, work, taken in zip(jobs, works, here, strict=True)]
    # Two bytes a cell of a map or a number of a state.
    cached = [2 * work.get(CACHES.get(job.rule, ""), 0.0) for job, work in zip(jobs, works, strict=True)]
    columns: dict[str, tuple[list[Any], str]] = {
        "jobs": ([1] * len(jobs), "sum"),
        "GFLOP": ([work.get("gflop", 0.0) for work in works], "sum"),
        "cached GB": (cached, "sum"),
        "memory MB": ([job.megabytes for job in jobs], "max"),
        "minutes": ([taken / 60 for taken in here], "sum"),
    }
    if measured is not None:
        taken = [_taken(measured / Path(job.benchmark).relative_to(f"results/{run}")) for job in jobs]
        expected = [time if known is not None else 0.0 for time, known in zip(here, taken, strict=True)]
        columns["jobs measured"] = ([int(known is not None) for known in taken], "sum")
        columns["their minutes planned"] = ([time / 60 for time in expected], "sum")
        columns["measured"] = ([(known or 0.0) / 60 for known in taken], "sum")
    table = pd.DataFrame({"rule": [job.rule for job in jobs]} | {name: values for name, (values, _) in columns.items()})
    kinds = {name: kind for name, (_, kind) in columns.items()}
    by_rule = table.groupby("rule", sort=False).agg(kinds)
    shown = pd.concat([by_rule, by_rule.agg(kinds).to_frame("total").T])
    whole = [name for name in shown.columns if "jobs" in name or name == "memory MB"]
    print(shown.astype(dict.fromkeys(whole, int)).to_string(float_format=lambda value: f"{value:.1f}"))
    processors = os.cpu_count() or 1

    def hours(durations: list[float], count: int, delay: float = 0.0) -> str:
        planned = zip(jobs, durations, after, strict=True)
        queue = [Planned(job.rule, time, job.threads, predecessors) for job, time, predecessors in planned]
        return f"{makespan(queue, count, delay) / 3600:8.2f} h"

    print(f"\nexpected; cost model from {model['measured_on']}")
    print(f"{hours(here, processors)}  on a machine like the one measured, {processors} processors")
    print(f"{hours(on_gpu, processors)}  with one H200 in addition, at its nominal speed (not measured)")
    cluster = hours(here, NODES * NODE_PROCESSORS, QUEUE_SECONDS)
    print(f"{cluster}  on {NODES} nodes of {NODE_PROCESSORS} such processors, {QUEUE_SECONDS} s for a job to start")
    if measured is not None:
        known = [time for time in taken if time is not None]
        if not known:
            sys.exit(f"{measured}: none of its jobs has been measured; build the run first.")
        print(f"{len(known)} of {len(jobs)} jobs were measured: planned / measured {sum(expected) / sum(known):.2f}")


def _on_gpu(job: Job, work: dict[str, float], here: float, coefficients: dict[str, dict[str, float]]) -> float:
    """Seconds with a GPU: a model's operations and copies at its speed, everything else as here."""
    if not is_model_bound(job.rule):
        return here
    fixed = coefficients.get(job.rule, coefficients["other"]).get("fixed", 0.0)
    flop = 1e9 * (work.get("gflop", 0.0) + work.get("steps", 0.0))
    return min(here, fixed + flop / GPU_FLOP + 4e9 * work.get("gcells", 0.0) / GPU_COPY)


def _taken(path: Path) -> float | None:
    return measured_seconds(path) if path.is_file() else None


def measured_seconds(path: Path) -> float:
    """Seconds that a job took, from its benchmark file."""
    if not path.is_file():
        sys.exit(f"{path}: this job has not been measured; build the run first.")
    return float(pd.read_csv(path, sep="\t", na_values="-")["s"].iloc[0])


def fitted(folders: list[Path], out: Path) -> None:
    """Fit the cost model to runs that have been built, also in part; a folder may have an overlay sweep.yaml."""
    observed, runs = [], []
    for folder in folders:
        overlays = [path for path in (folder / "sweep.yaml",) if path.is_file()]
        configuration = read_configuration(folder, overlays)
        config = resolve(configuration)
        for run in sorted(config["runs"]):
            if not (folder / "results" / run / "benchmarks").is_dir():
                continue
            runs.append(run)
            for job in planned_jobs(run, configuration):
                if (taken := _taken(folder / job.benchmark)) is not None:
                    observed.append((job.rule, workload(config, job.rule, job.wildcards), taken))
    rounded = {
        rule: {kind: float(f"{value:.3g}") for kind, value in coefficients.items()}
        for rule, coefficients in sorted(fit(observed).items())
    }
    counted = ", ".join(f"{runs.count(run)} of {run}" for run in dict.fromkeys(runs))
    source = f"{len(observed)} jobs of {len(runs)} runs ({counted}), {os.cpu_count()} processors"
    note = "# Seconds of jobs: fixed, and for one unit of each kind of work (workflow/work.py). By tools/plan.py --fit.\n"
    facts = yaml.safe_dump({"measured_on": source, "seconds": rounded}, sort_keys=False)
    out.write_text(note + facts, encoding="utf-8")
    print(f"{out}: {len(rounded)} rules")


def main() -> None:
    """Plan, or fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", default="sample")
    parser.add_argument("--measured", nargs="?", type=Path, const=Path())
    parser.add_argument("--configfile", nargs="*", type=Path, default=[], help="overlays over config.yaml")
    parser.add_argument("--fit", nargs="*", type=Path)
    arguments = parser.parse_args()
    try:
        if arguments.fit:
            fitted(arguments.fit, COEFFICIENTS_PATH)
        else:
            where = Path("results", arguments.run) if arguments.measured == Path() else arguments.measured
            plan(arguments.run, read_configuration(ROOT, arguments.configfile), where)
    except AtlasError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
