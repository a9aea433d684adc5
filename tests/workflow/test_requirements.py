"""What studies declare that they need, against the jobs that Snakemake plans."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import pytest
from planned_jobs import Job, planned_jobs
from workspaces import ROOT

from attention_atlas.workflow.config import read_configuration, resolve
from attention_atlas.workflow.requirements import CORPUS, MODEL, required_for
from attention_atlas.workflow.study import artifacts_of


def needed(jobs: list[Job]) -> dict[str, frozenset[str]]:
    """File -> titles of the models and downloaded corpora behind it."""
    makers = {path: number for number, job in enumerate(jobs) for path in job.outputs}
    sys.setrecursionlimit(10_000)

    @functools.cache
    def behind(number: int) -> frozenset[str]:
        job = jobs[number]
        titles = [behind(makers[path]) for path in job.inputs if path in makers]
        if job.rule == "describe_model":
            titles.append(frozenset([f"{MODEL} {job.wildcards['model']}"]))
        if job.rule == "fetch_corpus":
            titles.append(frozenset([f"{CORPUS} {job.wildcards['corpus']}"]))
        if job.rule == "build_examples":
            titles.append(frozenset([f"{CORPUS} {job.wildcards['corpus']}"]))
        return frozenset().union(*titles)

    return {path: behind(number) for path, number in makers.items()}


@pytest.mark.parametrize("run", ["open", "paper"])
def test_every_corpus_and_model_that_a_job_reads_is_required_by_its_artefact(run):
    configuration = read_configuration(ROOT)
    config = resolve(configuration)
    made = {f"{MODEL} {name}" for name, entry in config["models"].items() if "untrained" in entry["source"]}
    generated = {f"{CORPUS} {name}" for name, entry in config["corpora"].items() if "sample" in entry["source"]}
    read = needed(planned_jobs(run, configuration))
    declared: set[str] = set()
    by_artifact: dict[str, set[str]] = {}
    for _, study, artifact in artifacts_of(config, [run]):
        required = set(required_for(config, run, study, artifact))
        declared |= required
        files = {title for path in study.paths(artifact, run) for title in read[path]} - made - generated
        by_artifact[f"{study.id}/{artifact.id}"] = files
        # Overviews are made from the tables of all studies.
        if not study.overview:
            assert files <= required, f"{study.id}/{artifact.id}: {sorted(files - required)}"
    # Nothing is required that no job reads; what has no examples is an input by its path.
    by_path = {f"{CORPUS} {name}" for name, entry in config["corpora"].items() if entry["reader"] in ("lines", "vectors")}
    assert declared - by_path == set().union(*by_artifact.values()) - by_path


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`make check`."""
    command = [sys.executable, "-m", "attention_atlas.workflow.check", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow" / "lib")}
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, env=environment)


def test_the_status_of_a_check_says_whether_the_run_can_be_built(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "models: {absent: {source: {path: models/absent}, layers: 6, heads: 12, hidden_size: 384}}\n"
        "runs: {mine: {extends: any, atlas: {compared: [absent]}}}\n",
        encoding="utf-8",
    )
    overlay = ("mine", "--configfile", str(tmp_path / "mine.yaml"))
    done = check(*overlay)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("Run mine cannot be built: 1 missing, 0 wrong, ")
    assert "\nmissing           model absent: the folder models/absent does not exist" in done.stdout
    done = check(*overlay, "--config", "missing=skip")
    assert done.returncode == 0, done.stderr
    assert "Built without it: atlas: measures" in " ".join(done.stdout.split())
    done = check("nine")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no run 'nine'; did you mean 'mine'" in check("nine", *overlay[1:]).stderr
