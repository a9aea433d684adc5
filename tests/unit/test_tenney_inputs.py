"""Inputs and parameters of the rules of Tenney et al. (2019): jobs of several tasks, and up to three models."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.errors import AtlasError
from attention_atlas.studies.tenney2019.study import corpora, examples, seed_parts, seeds_in_path, tasks_of
from attention_atlas.workflow.inputs.tenney2019 import Tenney2019Inputs

INPUTS = Tenney2019Inputs(shipped())
TASKS = "pos-constituents-dependencies-entities-roles-coreference-protoroles-relations"
PROBES = "results/sample/tenney2019/probes"


def of_jobs(size: int) -> Tenney2019Inputs:
    config = shipped_copy()
    config["runs"]["sample"]["tenney2019"]["tasks_per_job"] = size
    return Tenney2019Inputs(config)


def test_as_many_tasks_as_a_run_says_share_a_job():
    assert INPUTS.edge_files("scores.tsv")(wildcards()) == [f"{PROBES}/minilm/{TASKS}.scores.tsv"]
    names = ["pos-constituents-dependencies", "entities-roles-coreference", "protoroles-relations"]
    grouped = of_jobs(3)
    assert grouped.edge_files("counts.parquet")(wildcards()) == [f"{PROBES}/minilm/{name}.counts.parquet" for name in names]
    assert grouped.random_edge_files(wildcards()) == [
        f"{PROBES}/minilm-random-1/{name}.{suffix}" for suffix in ("scores.tsv", "counts.parquet") for name in names
    ]
    assert grouped.edge_tables(wildcards())["relations"] == {
        "scores": f"{PROBES}/minilm/protoroles-relations.scores.tsv",
        "weights": f"{PROBES}/minilm/protoroles-relations.weights.tsv",
        "counts": f"{PROBES}/minilm/protoroles-relations.counts.parquet",
        "random_scores": f"{PROBES}/minilm-random-1/protoroles-relations.scores.tsv",
        "random_counts": f"{PROBES}/minilm-random-1/protoroles-relations.counts.parquet",
    }
    assert len(of_jobs(1).edge_files("scores.tsv")(wildcards())) == 8


def test_without_a_random_model_there_are_no_scores_of_it():
    config = shipped_copy()
    del config["runs"]["sample"]["tenney2019"]["random_model"]
    inputs = Tenney2019Inputs(config)
    assert inputs.random_edge_files(wildcards()) == []
    assert set(inputs.edge_tables(wildcards())["pos"]) == {"scores", "weights", "counts"}


def test_what_probes_of_a_task_read_and_how_they_are_trained():
    job = wildcards("paper", model="bert-large-uncased", edge_tasks="protoroles-roles")
    tasks = INPUTS.probed_tasks(job)
    assert list(tasks) == ["protoroles", "roles"]
    folder = "results/paper/examples/bert-large-uncased"
    assert tasks["protoroles"]["development"] == {
        "examples": [f"{folder}/spr1-dev/{shard}.parquet" for shard in range(2)],
        "limit": 8000,
    }
    # Settings of a task come before those of all tasks.
    assert (tasks["protoroles"]["recipe"]["evaluation_interval"], tasks["protoroles"]["recipe"]["max_steps"]) == (100, 10000)
    assert tasks["roles"]["recipe"] == shipped()["runs"]["paper"]["tenney2019"]["training"]
    assert tasks["roles"]["cases"]["limit"] == 2
    assert len(tasks["roles"]["training"]["examples"]) == 30


def test_files_that_tasks_share_are_read_once():
    files = INPUTS.probed_files(wildcards(model="minilm", edge_tasks="pos-roles"))
    assert files == [
        f"results/sample/examples/minilm/{corpus}/0.parquet"
        for corpus in ("sample-edges-train", "sample-edges", "paper-sentences")
    ]


def test_of_the_random_model_fewer_probes_are_trained_and_no_cases_drawn():
    names = ("minilm", "minilm-squad", "minilm-random-1")
    plans = {model: INPUTS.probe_plan(wildcards(model=model, seed_part=0)) for model in names}
    choices = {model: (plan["whole"], plan["controls"], plan["layer0"]) for model, plan in plans.items()}
    assert choices == {
        "minilm": (True, True, ["embeddings"]),
        "minilm-squad": (True, False, ["embeddings"]),
        "minilm-random-1": (False, False, ["embeddings"]),
    }
    assert {plan["max_targets"] for plan in plans.values()} == {6}
    random = wildcards(model="minilm-random-1", edge_tasks="pos", seed_part=0)
    assert INPUTS.probed_tasks(random)["pos"]["cases"] is None
    assert not [path for path in INPUTS.probed_files(random) if "paper-sentences" in path]
    config = shipped_copy()
    config["runs"]["sample"]["tenney2019"]["layer0"] = ["embeddings", "words"]
    jobs = [wildcards(model=model, seed_part=0) for model in ("minilm", "minilm-random-1")]
    plans = [Tenney2019Inputs(config).probe_plan(job) for job in jobs]
    assert [plan["layer0"] for plan in plans] == [["embeddings", "words"], ["embeddings"]]


def test_the_second_model_has_tables_and_labels_of_its_own():
    assert INPUTS.second_model(wildcards()) == "minilm-squad"
    assert INPUTS.second_tables(wildcards())["pos"]["scores"] == f"{PROBES}/minilm-squad/{TASKS}.scores.tsv"
    assert INPUTS.second_files(wildcards()) == [
        f"{PROBES}/minilm-squad/{TASKS}.{suffix}" for suffix in ("scores.tsv", "weights.tsv", "counts.parquet")
    ]
    with pytest.raises(AtlasError, match=r"runs\.laptop\.tenney2019 names no second_model, which Figure A\.3 needs"):
        INPUTS.second_tables(wildcards("laptop"))
    assert INPUTS.second_labels(wildcards("laptop")) == {}
    labels = INPUTS.second_labels(wildcards("paper"))
    assert {label["model_reference"] for label in labels.values()} == {"bert-base-uncased"}
    assert {task: label["corpus"] for task, label in labels.items()} == {
        task: label["corpus"] for task, label in INPUTS.task_labels(wildcards("paper")).items()
    }


def test_tasks_whose_files_are_missing_are_skipped_where_that_may_be(without_files):
    named = ("pos", "constituents", "dependencies", "entities", "roles", "coreference", "protoroles", "relations")
    assert set(tasks_of(shipped(), "paper")) == set(named)
    skipping = Tenney2019Inputs(shipped("skip"))
    assert list(skipping.task_labels(wildcards("paper"))) == ["relations"], "the one whose corpus is downloaded"
    assert ("bert-large-uncased", "ontonotes-edges-train") not in examples(shipped("skip"), "paper")
    assert "ontonotes-edges-train" in corpora(shipped(), "paper")
    # The run `laptop` downloads all of its corpora.
    assert skipping.task_labels(wildcards("laptop"))["roles"]["corpus"] == "Universal PropBank English EWT test"
    # The sentences of a task's targets, where they are in a file of their own.
    assert "ewt-v1-dev" in corpora(shipped(), "laptop")


def test_as_many_seeds_as_a_run_says_share_a_job():
    job = wildcards("paper", model="bert-large-uncased", edge_tasks="pos-roles")
    folder = "results/paper/tenney2019/probes/bert-large-uncased/pos-roles"
    assert INPUTS.files_of_seeds("scores.tsv")(job) == [f"{folder}/{part}.scores.tsv" for part in range(3)]
    parts = [wildcards("paper", model="bert-large-uncased", edge_tasks="pos-roles", seed_part=part) for part in range(3)]
    plans = [INPUTS.probe_plan(part) for part in parts]
    assert [(plan["seeds"], plan["seeds_of_job"]) for plan in plans] == [([1, 2, 3], [seed]) for seed in (1, 2, 3)]
    settings = {"seeds": [4, 5, 6, 7, 8], "seeds_per_job": 2}
    assert seed_parts(settings) == [[4, 5], [6, 7], [8]]
    assert seeds_in_path(settings, {"seed_part": "1"}) == [6, 7]
    assert len(INPUTS.files_of_seeds("scores.tsv")(wildcards(model="minilm", edge_tasks="pos"))) == 1, "of the sample run"


def test_the_summary_reads_the_examples_that_probes_are_evaluated_on():
    evaluated = INPUTS.evaluated_corpora(wildcards("laptop"))
    folder = "results/laptop/examples/minilm"
    assert evaluated["roles"] == {"examples": [f"{folder}/up-ewt-test/{shard}.parquet" for shard in range(3)], "limit": 2077}
    assert list(evaluated) == list(INPUTS.edge_tables(wildcards("laptop")))
    files = INPUTS.evaluated_files(wildcards("laptop"))
    assert {path for corpus in evaluated.values() for path in corpus["examples"]} == set(files)
    assert len(files) == len(set(files)), "two tasks share a corpus"
    probes = INPUTS.probed_tasks(wildcards("laptop", model="minilm", edge_tasks="roles"))
    assert probes["roles"]["development"] == evaluated["roles"]
