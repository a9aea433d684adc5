"""Expected cost of a run: jobs, bytes cached, memory, operations, hours.

python tools/plan.py RUN               the plan of a run
python tools/plan.py RUN --measured    the plan and the measured times of its jobs (results/RUN, or the folder that follows)
python tools/plan.py RUN --here        the plan for this machine, after measuring for half a minute how fast it is
python tools/plan.py --fit FOLDER ...  fit the cost model to runs that have been built (folders with results/ and config.yaml)
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "lib"))

import pandas as pd  # noqa: E402
import yaml  # noqa: E402

from attention_atlas.errors import AtlasError  # noqa: E402
from attention_atlas.io.hub_lock import LOCK_PLACE, LOCK_VARIABLE, SHAPE  # noqa: E402
from attention_atlas.io.mirror import MIRROR_VARIABLE  # noqa: E402
from attention_atlas.models.precision import FLOAT32, TF32  # noqa: E402
from attention_atlas.workflow.config import read_configuration, resolve, write_configuration  # noqa: E402
from attention_atlas.workflow.cost_model import (  # noqa: E402
    COEFFICIENTS_PATH,
    Coefficients,
    Disk,
    disk_of,
    fit,
    is_model_bound,
    read_coefficients,
    seconds,
    speed,
    workload,
)
from attention_atlas.workflow.lookups import Config, local_file  # noqa: E402
from attention_atlas.workflow.plan import Capacity, Planned, peak_bytes, schedule  # noqa: E402
from attention_atlas.workflow.work import Work  # noqa: E402

NODES, NODE_PROCESSORS, QUEUE_SECONDS, EXTRACTIONS = 32, 4, 20, 8
"""Of a cluster; the last is the limit of its profile (workflow/profiles/slurm)."""
GPU_PROCESSORS = 8
"""Of the machine with the GPU."""
# Nominal, not measured: a third of what NVIDIA's data sheet of the H200 (SXM) says, that is 67e12 operations per second
# in float32, 494e12 in tf32 (989e12 with sparse matrices), and 4.8e12 bytes per second. Element-wise operations read and write
# about 40 numbers for each hidden state that a layer computes, 20 for each value that edge probes compute in training, 8 for an
# attention weight, 7 for an update and 5 for a score of a search. The first two are upper bounds (test_gpu_plan).
# A layer starts 20 kernels, 60 with its backward pass (upper bounds as well); each takes 10 microseconds to
# start. Stored states are copied twice on the host at 5e9 bytes per second. A batch gathers a state as float16, converts it to
# float32 and selects it: 22 bytes read and written.
_BYTES, _HOST_BYTES = 1.6e12, 5e9
GPU_FLOP = {FLOAT32: 22e12, TF32: 165e12}
"""Precision of matrix products -> operations of a GPU in a second."""
GPU_SECONDS = {
    "gflop": 1e9 / GPU_FLOP[FLOAT32],
    "gactivations": 1e9 * 40 * 4 / _BYTES,
    "gweights": 1e9 * 8 * 4 / _BYTES,
    "kblocks": 1e3 * 20 * 1e-5,
    "gupdates": 1e9 * 7 * 4 / _BYTES,
    "gscores": 1e9 * 5 * 4 / _BYTES,
    "gread": 1e9 * 2 * 2 / _HOST_BYTES,
    "ggathered": 1e9 * 22 / _BYTES,
    "gprobed": 1e9 * 20 * 4 / _BYTES,
    "kkernels": 1e3 * 1e-5,
    "gcached": 1e9 * 4 / _BYTES,
}
"""Kind of work -> seconds for one on a GPU, with matrix products in float32."""
ON_HOST = ("kblocks", "kkernels", "gread")
"""Kinds of work that the host does while the GPU computes: it starts kernels, and reads stored states."""
# Jobs of a group are indented.
_JOB = re.compile(r"^( *)(?:local)?rule (\w+):\n((?:\1    .+\n)+)", re.M)


@dataclass(frozen=True)
class Job:
    """A job as Snakemake plans it; `gpus` and `megabytes` are the resources that it requests, `priority` its rule's."""

    rule: str
    wildcards: dict[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    log: str
    benchmark: str
    threads: int
    gpus: int
    megabytes: int
    priority: float


def planned_jobs(run: str, configuration: dict[str, Any], absent: Collection[str] = ()) -> list[Job]:
    """All jobs of a run from scratch: a dry run in an empty folder with placeholders for the licensed files and models.

    Args:
        run: its name.
        configuration: the configuration, overlays included.
        absent: names of corpora and models without a placeholder; with `missing: skip`, what needs them is left out.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        configuration = _anywhere(configuration)
        write_configuration(configuration, folder)
        for name_of_corpus, entry in configuration["corpora"].items():
            if name_of_corpus in absent:
                continue
            if "path" in entry["source"] and not Path(entry["source"]["path"]).is_absolute():
                place = folder / entry["source"]["path"]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.mkdir(exist_ok=True) if entry["reader"] == "conll2012" else place.touch()
        for name_of_model, entry in configuration["models"].items():
            if name_of_model in absent:
                continue
            if "path" in entry["source"] and not Path(entry["source"]["path"]).is_absolute():
                model = folder / entry["source"]["path"]
                model.mkdir(parents=True, exist_ok=True)
                for name_of_file in ("config.json", "model.safetensors"):
                    (model / name_of_file).write_text("{}", encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", name, "--dry-run"]
        # Shapes of the hub's models are those of this folder.
        environment = {LOCK_VARIABLE: str(ROOT / LOCK_PLACE)} | os.environ
        if mirror := os.environ.get(MIRROR_VARIABLE):
            environment[MIRROR_VARIABLE] = str(Path(mirror).absolute())
        shown = subprocess.run(
            [*command, "--cores", "64", "--config", f"targets=[{run}]"],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
        )
    text = shown.stdout + shown.stderr
    if shown.returncode:
        sys.exit(text[-3000:])
    return jobs_in(text)


def _anywhere(configuration: dict[str, Any]) -> dict[str, Any]:
    """A configuration that means the same in another folder: with the shapes of the models and the files that are here."""
    resolved = resolve(configuration)
    known = resolved["models"]
    models = {}
    for name, entry in configuration["models"].items():
        is_there = "fine_tuned" not in entry["source"] and "untrained" not in entry["source"]
        models[name] = entry | ({key: known[name][key] for key in SHAPE} if is_there else {})
    corpora = dict(configuration["corpora"])
    for name, entry in corpora.items():
        # With its file, a corpus has its own number of shards.
        if "path" in entry["source"] and (place := local_file(resolved, name)).exists():
            corpora[name] = entry | {"source": {"path": str(place.absolute())}}
    mirror = configuration.get("data_mirror")
    placed = {"models": models, "corpora": corpora, "data_mirror": str(Path(mirror).absolute()) if mirror else mirror}
    return configuration | placed


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
        priority=float(fields.get("priority", "0")),
    )


def dependencies(jobs: list[Job]) -> tuple[list[Job], list[tuple[int, ...]]]:
    """The jobs in topological order, and for each job the positions of the jobs that make its inputs.

    Snakemake lists jobs in another order each time; here the order is always the same.
    """
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

    for job in sorted(jobs, key=lambda job: job.benchmark):
        visit(job)
    place = {id(job): number for number, job in enumerate(order)}
    return order, [tuple(place[id(makers[path])] for path in job.inputs if path in makers) for job in order]


def plan(run: str, configuration: dict[str, Any], measured: Path | None, slowness: float = 1.0) -> None:
    """Print the plan of a run.

    Args:
        run: its name.
        configuration: the configuration, overlays included.
        measured: results/{run} with benchmark files, to compare measured with expected times.
        slowness: how many times as long processors take as those measured.
    """
    config, model = resolve(configuration), read_coefficients()
    jobs, after = dependencies(planned_jobs(run, configuration))
    works = [workload(config, job.rule, job.wildcards) for job in jobs]
    here = [slowness * seconds(model, job.rule, work, job.threads) for job, work in zip(jobs, works, strict=True)]
    gpu_works = [workload(config, job.rule, job.wildcards, on_gpu=True) for job in jobs]
    on_gpu = {
        precision: [
            min(taken, gpu_seconds(model, job.rule, work, precision)) if is_model_bound(job.rule) else taken
            for job, work, taken in zip(jobs, gpu_works, here, strict=True)
        ]
        for precision in GPU_FLOP
    }
    disk = [disk_of(config, job.rule, job.wildcards) for job in jobs]
    without_maps = [disk_of(config | {"keep_attention": False}, job.rule, job.wildcards) for job in jobs]
    columns: dict[str, tuple[list[Any], str]] = {
        "jobs": ([1] * len(jobs), "sum"),
        "GFLOP": ([work.get("gflop", 0.0) for work in works], "sum"),
        "kept GB": ([size.kept / 1e9 for size in disk], "sum"),
        "temporary GB": ([size.temporary / 1e9 for size in disk], "sum"),
        "scratch GB": ([size.scratch / 1e9 for size in disk], "max"),
        "memory MB": ([job.megabytes for job in jobs], "max"),
        "minutes": ([taken / 60 for taken in here], "sum"),
        "processor hours": ([taken * job.threads / 3600 for taken, job in zip(here, jobs, strict=True)], "sum"),
    }
    if measured is not None:
        taken = [_taken(measured / Path(job.benchmark).relative_to(f"results/{run}")) for job in jobs]
        expected = [time if known is not None else 0.0 for time, known in zip(here, taken, strict=True)]
        columns["jobs measured"] = ([int(known is not None) for known in taken], "sum")
        columns["planned minutes of these"] = ([time / 60 for time in expected], "sum")
        columns["measured minutes"] = ([(known or 0.0) / 60 for known in taken], "sum")
    table = pd.DataFrame({"rule": [job.rule for job in jobs]} | {name: values for name, (values, _) in columns.items()})
    kinds = {name: kind for name, (_, kind) in columns.items()}
    by_rule = table.groupby("rule", sort=False).agg(kinds)
    shown = pd.concat([by_rule, by_rule.agg(kinds).to_frame("total").T])
    whole = [name for name in shown.columns if "jobs" in name or name == "memory MB"]
    print(shown.astype(dict.fromkeys(whole, int)).to_string(float_format=lambda value: f"{value:.1f}"))
    processors = os.cpu_count() or 1

    def forecast(durations: list[float], capacity: Capacity, delay: float = 0.0, shared: bool = False) -> str:
        """Hours and the peak of the disk; of a shared one without what jobs put on disks of their nodes."""
        queues = [_queue(jobs, durations, after, _shared(sizes) if shared else sizes) for sizes in (disk, without_maps)]
        times, times_without_maps = (schedule(queue, capacity, delay) for queue in queues)
        peak, lower = peak_bytes(queues[0], times) / 1e9, peak_bytes(queues[1], times_without_maps) / 1e9
        of_maps = f" ({lower:.1f} with keep_attention: false)" if config["keep_attention"] else ""
        of_node = f" and {max(size.scratch for size in disk) / 1e9:.1f} GB on a node" if shared else ""
        return f"{max(end for _, end in times) / 3600:8.2f} h, {peak:6.1f} GB of disk at most{of_maps}{of_node}"

    print(f"\nexpected; cost model from {model['measured_on']}")
    machine = "on a machine like the one measured" if slowness == 1 else f"on this machine ({slowness:.2f} times the seconds)"
    print(f"{forecast(here, Capacity(processors))}:  {machine}, {processors} processors")
    for precision, durations in on_gpu.items():
        with_gpu = forecast(durations, Capacity(GPU_PROCESSORS, gpus=1))
        print(f"{with_gpu}:  with {GPU_PROCESSORS} processors and one H200 in {precision}, at nominal speeds (not measured)")
    cluster = forecast(here, Capacity(NODES * NODE_PROCESSORS, extractions=EXTRACTIONS), QUEUE_SECONDS, shared=True)
    print(f"{cluster}:  on {NODES} nodes of {NODE_PROCESSORS} such processors, {QUEUE_SECONDS} s for a job to start")
    if measured is not None:
        known = [time for time in taken if time is not None]
        if not known:
            sys.exit(f"{measured}: none of its jobs has been measured; build the run first.")
        print(f"{len(known)} of {len(jobs)} jobs were measured: planned / measured {sum(expected) / sum(known):.2f}")


def peak_of(config: Config, jobs: list[Job], on_cluster: bool = False) -> float:
    """Bytes that the jobs of a run take at any one time, by their schedule from scratch on this machine or on a cluster."""
    ordered, after = dependencies(jobs)
    model = read_coefficients()
    works = [workload(config, job.rule, job.wildcards) for job in ordered]
    durations = [seconds(model, job.rule, work, job.threads) for job, work in zip(ordered, works, strict=True)]
    sizes = [disk_of(config, job.rule, job.wildcards) for job in ordered]
    queue = _queue(ordered, durations, after, _shared(sizes) if on_cluster else sizes)
    gpus = max((job.gpus for job in ordered), default=0)
    cluster = Capacity(NODES * NODE_PROCESSORS, extractions=EXTRACTIONS)
    return peak_bytes(queue, schedule(queue, cluster if on_cluster else Capacity(os.cpu_count() or 1, gpus or None)))


def gpu_seconds(model: Coefficients, rule: str, work: Work, precision: str) -> float:
    """Seconds of a job and its work on a GPU with matrix products of some precision.

    The host starts kernels without waiting for those before them: the longer of what it does and what the GPU computes counts.
    """
    speeds = GPU_SECONDS | {"gflop": 1e9 / GPU_FLOP[precision]}
    without_passes = seconds({**model, "shared": {}}, rule, work)
    passes = {kind: amount * speeds[kind] for kind, amount in work.items() if kind in speeds}
    on_host = sum(taken for kind, taken in passes.items() if kind in ON_HOST)
    return without_passes + max(on_host, sum(passes.values()) - on_host)


def _shared(disk: list[Disk]) -> list[Disk]:
    """What jobs take on a disk that nodes share, where each puts what it takes while it runs on a disk of its node."""
    return [size._replace(scratch=0.0) for size in disk]


def _queue(jobs: list[Job], durations: list[float], after: list[tuple[int, ...]], disk: list[Disk]) -> list[Planned]:
    """The jobs with their seconds and bytes; jobs that a GPU takes over ask for it, also where this machine has none."""
    return [
        Planned(job.rule, time, job.threads, before, int(is_model_bound(job.rule)), *size, job.priority)
        for job, time, before, size in zip(jobs, durations, after, disk, strict=True)
    ]


def _slowness() -> float:
    # Measuring imports transformers, which a plan does not need.
    sys.path.insert(0, str(ROOT))
    return float(importlib.import_module("benchmarks.passes").slowness())


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
    known = read_coefficients()
    shared = known["shared"]
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
                    work = workload(config, job.rule, job.wildcards)
                    shares = {kind: amount / speed(job.threads) for kind, amount in work.items() if kind in shared}
                    observed.append((job.rule, work | shares, taken))
    rounded = {
        rule: {kind: float(f"{value:.3g}") for kind, value in coefficients.items()}
        for rule, coefficients in sorted(fit(observed, shared).items())
    }
    counted = ", ".join(f"{runs.count(run)} of {run}" for run in dict.fromkeys(runs))
    source = f"{len(observed)} jobs of {len(runs)} runs ({counted}), {os.cpu_count()} processors"
    note = out.read_text(encoding="utf-8").splitlines()[0] if out.is_file() else "# Seconds of jobs."
    facts = yaml.safe_dump(known | {"measured_on": source, "seconds": rounded}, sort_keys=False)
    out.write_text(f"{note}\n{facts}", encoding="utf-8")
    print(f"{out}: {len(rounded)} rules")


def main() -> None:
    """Plan, or fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", default="sample")
    parser.add_argument("--here", action="store_true", help="measure this machine first")
    parser.add_argument("--measured", nargs="?", type=Path, const=Path())
    parser.add_argument("--configfile", nargs="*", type=Path, default=[], help="overlays over config.yaml")
    parser.add_argument("--fit", nargs="*", type=Path)
    arguments = parser.parse_args()
    try:
        if arguments.fit:
            fitted(arguments.fit, COEFFICIENTS_PATH)
        else:
            where = Path("results", arguments.run) if arguments.measured == Path() else arguments.measured
            plan(arguments.run, read_configuration(ROOT, arguments.configfile), where, _slowness() if arguments.here else 1.0)
    except AtlasError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
