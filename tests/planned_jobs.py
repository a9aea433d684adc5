"""Jobs as a dry run of Snakemake prints them."""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workspaces import ROOT

from attention_atlas.models.card import SHAPE
from attention_atlas.workflow.config import resolve, write_configuration

# Jobs of a group are indented.
_JOB = re.compile(r"^( *)(?:local)?rule (\w+):\n((?:\1    .+\n)+)", re.M)


@dataclass(frozen=True)
class Job:
    """A job; `gpus` and `megabytes` are the resources that it requests."""

    rule: str
    wildcards: dict[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    log: str
    benchmark: str
    gpus: int
    megabytes: int


def jobs_in(shown: str) -> list[Job]:
    """The jobs in the output of a dry run, without target rules."""
    return [_job(rule, body) for _, rule, body in _JOB.findall(shown) if "benchmark:" in body]


def _job(rule: str, body: str) -> Job:
    fields = dict(line.strip().split(": ", 1) for line in body.splitlines() if ": " in line)
    listed = {
        name: tuple(filter(None, fields.get(name, "").split(", "))) for name in ("input", "output", "wildcards", "resources")
    }
    wildcards, resources = (dict(part.split("=", 1) for part in listed[name]) for name in ("wildcards", "resources"))
    requested = int(resources.get("gpu", "0")), int(resources["mem_mb"])
    return Job(rule, wildcards, listed["input"], listed["output"], fields["log"], fields["benchmark"], *requested)


def planned_jobs(run: str, configuration: dict[str, Any]) -> list[Job]:
    """All jobs of a run from scratch: a dry run in an empty folder with placeholders for the licensed files and models."""
    known = resolve(configuration)["models"]
    models = {
        name: entry | ({} if {"fine_tuned", "untrained"} & entry["source"].keys() else {key: known[name][key] for key in SHAPE})
        for name, entry in configuration["models"].items()
    }
    with tempfile.TemporaryDirectory() as folder:
        write_configuration(configuration | {"models": models}, Path(folder))
        for kind in ("corpora", "models"):
            for entry in configuration[kind].values():
                place = Path(entry["source"].get("path", "/"))
                if place.is_absolute():
                    continue
                is_folder = kind == "models" or entry["reader"] == "conll2012"
                Path(folder, place if is_folder else place.parent).mkdir(parents=True, exist_ok=True)
                for file in [place / "config.json", place / "model.safetensors"] if kind == "models" else [place][is_folder:]:
                    Path(folder, file).write_text("{}" if kind == "models" else "", encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", folder, "-n"]
        command += ["--cores", "64", "--config", f"targets=[{run}]"]
        shown = subprocess.run(command, check=False, capture_output=True, text=True)
    text = shown.stdout + shown.stderr
    assert shown.returncode == 0, text[-3000:]
    return jobs_in(text)
