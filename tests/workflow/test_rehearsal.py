"""The rehearsal exercises what the run `paper` does: the planned jobs of both."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from planned_jobs import Job, planned_jobs
from workspaces import ROOT

from attention_atlas.workflow.config import read_configuration, resolve
from tools.rehearse import RUN, configuration

COUNTED = ("run", "seed", "shard")
"""Wildcards that only count jobs, beside the number at the end of a model's name."""


@pytest.fixture(scope="module")
def graphs() -> dict[str, tuple[dict, list[Job]]]:
    """Run -> its configuration and its planned jobs."""
    configurations = {"paper": read_configuration(ROOT), RUN: configuration({})}
    return {run: (resolve(raw), planned_jobs(run, raw)) for run, raw in configurations.items()}


def kinds(jobs: Iterable[Job]) -> set[tuple]:
    """Rule and wildcards of each job: corpus, task, variant and model, without seeds."""
    return {
        (job.rule, *((key, re.sub(r"-\d+$", "", value)) for key, value in sorted(job.wildcards.items()) if key not in COUNTED))
        for job in jobs
    }


def test_every_kind_of_job_of_the_run_paper_is_rehearsed(graphs):
    paper, rehearsed = (kinds(graphs[run][1]) for run in ("paper", RUN))
    assert sorted(paper - rehearsed) == []
    assert len(paper) > 300


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
