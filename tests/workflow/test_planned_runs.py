"""The jobs that Snakemake plans for each run: every artefact, with all that it is declared to need, and its rehearsal."""

import functools
import sys
from collections import Counter
from typing import Any

import pytest
from planned_jobs import Job, planned_jobs
from small_config import give_model
from workspaces import ROOT

from attention_atlas.workflow.config import read_configuration, resolve
from attention_atlas.workflow.paths import shard_paths
from attention_atlas.workflow.requirements import CORPUS, MODEL, required_for
from attention_atlas.workflow.shared_inputs import caches
from attention_atlas.workflow.study import artifacts_of

RUNS = ("sample", "laptop", "open", "paper")
PLANNED = ("sample", *(pytest.param(run, marks=pytest.mark.long) for run in RUNS[1:]))


@functools.cache
def plan(run: str) -> tuple[dict[str, Any], list[Job]]:
    """The configuration of a run, and its jobs."""
    raw = read_configuration(ROOT)
    return resolve(raw | {"targets": [run]}), planned_jobs(run, raw)


@pytest.mark.parametrize("run", PLANNED)
def test_every_declared_file_is_planned_and_all_attention_is_declared(run):
    config, jobs = plan(run)
    of_run = list(artifacts_of(config, [run]))
    files = [path for _, study, artifact in of_run for path in study.paths(artifact, run)]
    assert len(of_run) > 70
    assert set(files) <= {path for job in jobs for path in job.outputs}
    counts = Counter(job.rule for job in jobs)
    assert counts["fine_tune_by_epoch"] == 1
    assert ("tenney2019_figure_a3" in counts) == (run != "laptop")
    assert counts["stefanik2021_removal"] >= (3 if run in ("open", "paper") else 1), "one a seed"
    # A cache that an artefact reads and no study declares among its pairs would be missing from the target `attention`.
    declared = {
        path for place, n in caches(config).items() for path in shard_paths(config, *place, "attention", "safetensors", n)
    }
    assert {job.outputs[0] for job in jobs if job.rule == "extract_attention"} == declared != set()


@pytest.mark.long
def test_a_run_of_released_maps_reads_them_and_loads_no_model():
    config, jobs = plan("released")
    counts = Counter(job.rule for job in jobs)
    files = {path for _, study, artifact in artifacts_of(config, ["released"]) for path in study.paths(artifact, "released")}
    assert files <= {path for job in jobs for path in job.outputs}
    assert counts["read_attention"] == len(caches(config)) == 3
    assert not {"extract_attention", "mlm_head", "clark2019_gradients", "clark2019_figure3"} & counts.keys()


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
        if job.rule in ("fetch_corpus", "build_examples"):
            titles.append(frozenset([f"{CORPUS} {job.wildcards['corpus']}"]))
        return frozenset().union(*titles)

    return {path: behind(number) for path, number in makers.items()}


@pytest.mark.long
@pytest.mark.parametrize("run", ["open", "paper"])
def test_every_corpus_and_model_that_a_job_reads_is_required_by_its_artefact(run):
    config, jobs = plan(run)
    made = {f"{MODEL} {name}" for name, entry in config["models"].items() if "untrained" in entry["source"]}
    generated = {f"{CORPUS} {name}" for name, entry in config["corpora"].items() if "sample" in entry["source"]}
    read = needed(jobs)
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


def test_skipping_missing_files_keeps_everything_else(workspace):
    for entry in read_configuration(workspace.folder)["models"].values():
        give_model(workspace.folder, entry)
    jobs = workspace.jobs("--config", "targets=[paper]", "missing=skip")
    assert {"clark2019_figure1", "clark2019_figure2", "clark2019_figure4"} <= set(jobs)
    assert {"clark2019_table1", "clark2019_table2", "clark2019_table3"}.isdisjoint(jobs)
    assert {"clark2019_figure3", "clark2019_gap"} <= set(jobs)
    # The models that would be trained on missing files are left out of the comparison of models.
    assert {"guan2020_figure4", "guan2020_table2"} <= set(jobs)
    # MNLI is what the classifier of Michel et al. is trained on, and missing; translations are held out on another test set.
    assert {"michel2019_table1", "michel2019_comparison", "michel2019_figure5"}.isdisjoint(jobs)
    assert "michel2019_table5" in jobs
    # Of the tasks of Kovaleva et al. STS-B is open: five seeds, and one from random weights.
    assert {"kovaleva2019_measures", "kovaleva2019_comparison"} <= set(jobs)
    assert "kovaleva2019_frames" not in jobs
    assert jobs["fine_tune"] == 6
