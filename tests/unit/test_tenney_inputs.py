"""Inputs and parameters of the rules of Tenney et al. (2019): tasks, and up to three models."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.errors import AtlasError
from attention_atlas.studies.tenney2019.study import corpora, examples, tasks_of
from attention_atlas.workflow.inputs.tenney2019 import Tenney2019Inputs

INPUTS = Tenney2019Inputs(shipped())
PROBES = "results/sample/tenney2019/probes"


def test_each_task_has_its_files():
    paths = INPUTS.edge_files("counts.parquet")(wildcards())
    assert (len(paths), paths[0]) == (8, f"{PROBES}/minilm/pos.counts.parquet")
    assert INPUTS.random_edge_files(wildcards())[0] == f"{PROBES}/minilm-random-1/pos.scores.tsv"
    assert INPUTS.edge_tables(wildcards())["relations"] == {
        "scores": f"{PROBES}/minilm/relations.scores.tsv",
        "weights": f"{PROBES}/minilm/relations.weights.tsv",
        "counts": f"{PROBES}/minilm/relations.counts.parquet",
        "random_scores": f"{PROBES}/minilm-random-1/relations.scores.tsv",
        "random_counts": f"{PROBES}/minilm-random-1/relations.counts.parquet",
    }


def test_without_a_random_model_there_are_no_scores_of_it():
    config = shipped_copy()
    del config["runs"]["sample"]["tenney2019"]["random_model"]
    inputs = Tenney2019Inputs(config)
    assert inputs.random_edge_files(wildcards()) == []
    assert set(inputs.edge_tables(wildcards())["pos"]) == {"scores", "weights", "counts"}


def test_what_probes_of_a_task_read_and_how_they_are_trained():
    roles, protoroles = (
        INPUTS.probed_task(wildcards("paper", model="bert-large-uncased", task=task)) for task in ("roles", "protoroles")
    )
    folder = "results/paper/examples/bert-large-uncased"
    assert protoroles["development"] == {
        "examples": [f"{folder}/spr1-dev/{shard}.parquet" for shard in range(2)],
        "limit": 8000,
    }
    # Settings of a task come before those of all tasks.
    assert (protoroles["recipe"]["evaluation_interval"], protoroles["recipe"]["max_steps"]) == (100, 10000)
    assert roles["recipe"] == shipped()["runs"]["paper"]["tenney2019"]["training"]
    assert roles["cases"]["limit"] == 2
    assert len(roles["training"]["examples"]) == 30
    assert INPUTS.probed_files(wildcards(model="minilm", task="pos")) == [
        f"results/sample/examples/minilm/{corpus}/0.parquet"
        for corpus in ("sample-edges-train", "sample-edges", "paper-sentences")
    ]


def test_of_the_random_model_fewer_probes_are_trained_and_no_cases_drawn():
    names = ("minilm", "minilm-squad", "minilm-random-1")
    plans = {model: INPUTS.probe_plan(wildcards(model=model)) for model in names}
    choices = {model: (plan["whole"], plan["controls"], plan["layer0"]) for model, plan in plans.items()}
    assert choices == {
        "minilm": (True, True, ["embeddings"]),
        "minilm-squad": (True, False, ["embeddings"]),
        "minilm-random-1": (False, False, ["embeddings"]),
    }
    assert {plan["max_targets"] for plan in plans.values()} == {6}
    random = wildcards(model="minilm-random-1", task="pos")
    assert INPUTS.probed_task(random)["cases"] is None
    assert not [path for path in INPUTS.probed_files(random) if "paper-sentences" in path]
    config = shipped_copy()
    config["runs"]["sample"]["tenney2019"]["layer0"] = ["embeddings", "words"]
    jobs = [wildcards(model=model) for model in ("minilm", "minilm-random-1")]
    plans = [Tenney2019Inputs(config).probe_plan(job) for job in jobs]
    assert [plan["layer0"] for plan in plans] == [["embeddings", "words"], ["embeddings"]]


def test_the_second_model_has_tables_and_labels_of_its_own():
    assert INPUTS.second_model(wildcards()) == "minilm-squad"
    assert INPUTS.second_tables(wildcards())["pos"]["scores"] == f"{PROBES}/minilm-squad/pos.scores.tsv"
    assert len(INPUTS.second_files(wildcards())) == 8 * len(("scores", "weights", "counts"))
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


def test_the_summary_reads_the_examples_that_probes_are_evaluated_on():
    evaluated = INPUTS.evaluated_corpora(wildcards("laptop"))
    folder = "results/laptop/examples/minilm"
    assert evaluated["roles"] == {"examples": [f"{folder}/up-ewt-test/{shard}.parquet" for shard in range(3)], "limit": 2077}
    assert list(evaluated) == list(INPUTS.edge_tables(wildcards("laptop")))
    files = INPUTS.evaluated_files(wildcards("laptop"))
    assert {path for corpus in evaluated.values() for path in corpus["examples"]} == set(files)
    assert len(files) == len(set(files)), "two tasks share a corpus"
    probes = INPUTS.probed_task(wildcards("laptop", model="minilm", task="roles"))
    assert probes["development"] == evaluated["roles"]
