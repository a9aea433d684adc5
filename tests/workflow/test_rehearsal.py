"""The rehearsal exercises what the run `paper` does: the combinations in the planned jobs of both."""

from __future__ import annotations

import pytest
from planned_jobs import Job, planned_jobs
from workspaces import ROOT

from attention_atlas.workflow.config import read_configuration, resolve
from tools.combinations import Combination, combinations
from tools.rehearse import RUN, configuration


@pytest.fixture(scope="module")
def graphs() -> dict[str, tuple[dict, list[Job]]]:
    """Run -> its configuration and its planned jobs."""
    configurations = {"paper": read_configuration(ROOT), RUN: configuration({})}
    return {run: (resolve(raw), planned_jobs(run, raw)) for run, raw in configurations.items()}


@pytest.fixture(scope="module")
def exercised(graphs) -> dict[str, set[Combination]]:
    return {run: combinations(config, run, jobs) for run, (config, jobs) in graphs.items()}


def test_every_combination_of_the_run_paper_is_rehearsed(exercised):
    missing = sorted(map(str, exercised["paper"] - exercised[RUN]))
    assert missing == []
    assert len(exercised["paper"]) > 500


def test_combinations_tell_shapes_readers_tasks_and_roles_apart(exercised):
    paper = exercised["paper"]
    shapes = {combination.model[0] for combination in paper if combination.model}
    assert {"12x12", "24x16", "6x16", "6x8", "6x12"} == shapes
    readers = {combination.corpus[0] for combination in paper if combination.corpus}
    assert {"conllu", "segments", "conll2012", "gap", "squad", "glue", "frames", "parallel", "edges", "keyphrases"} <= readers
    trained = {combination.model[-1] for combination in paper if combination.rule == "fine_tune"}
    assert {"mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli", "questions", "tags"} <= trained
    assert any("clark2019.variants.casing" in combination.roles for combination in paper)


@pytest.mark.parametrize(
    "lost",
    [
        lambda job: job.rule == "clark2019_gap",
        lambda job: job.wildcards.get("corpus") == "mtnt",
        lambda job: job.rule == "tenney2019_probes" and job.wildcards["task"] == "protoroles",
        lambda job: job.wildcards.get("model") == "bert-base-cased",
    ],
    ids=["rule", "corpus", "task", "model"],
)
def test_what_a_smaller_run_leaves_out_is_missing(graphs, exercised, lost):
    config, jobs = graphs[RUN]
    smaller = combinations(config, RUN, [job for job in jobs if not lost(job)])
    assert exercised["paper"] - smaller


def test_corpora_of_several_shards_have_two_and_models_of_several_seeds_two(graphs):
    def shards(run):
        numbers = {}
        for job in graphs[run][1]:
            if job.rule == "build_examples":
                numbers.setdefault(job.wildcards["corpus"], set()).add(job.wildcards["shard"])
        return {corpus: min(len(numbered), 2 if run == "paper" else len(numbered)) for corpus, numbered in numbers.items()}

    def seeds(run):
        config = graphs[run][0]
        families = (config["runs"][run][study]["family"] for study in ("kovaleva2019", "stefanik2021"))
        return [len(config["families"][family]["seeds"]) for family in families]

    assert shards(RUN) == shards("paper")
    assert seeds(RUN) == [2, 2]
    assert min(seeds("paper")) > 2
