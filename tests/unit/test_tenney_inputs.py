"""Inputs and parameters of the rules of Tenney et al. (2019): tasks, and up to three models."""

import pytest
from shipped_runs import shipped, shipped_copy, wildcards

from attention_atlas.errors import AtlasError
from attention_atlas.studies.tenney2019.study import ID, corpora, examples, tasks_of
from attention_atlas.studies.tenney2019.targets import recipe_of
from attention_atlas.workflow.study_inputs import StudyInputs, leaves

INPUTS = StudyInputs(shipped(), ID)
SCORES = "results/{run}/tenney2019/probes/{model}/{task}.scores.tsv"


def probed_corpora(config):
    parts = {part: ("tasks", "{wildcards.edge_task}", part) for part in ("training", "development")}
    return StudyInputs(config, ID).corpora_in_path(**parts, cases=("cases",))


PROBED = probed_corpora(shipped())


def scores(group, run="sample", config=None):
    return StudyInputs(config or shipped(), ID).of_group(group, SCORES)(wildcards(run))


def test_each_task_has_its_files():
    folder = "results/sample/tenney2019/probes"
    for group, model in {"tasks": "minilm", "random": "minilm-random-1", "second": "minilm-squad"}.items():
        assert scores(group) == {task: f"{folder}/{model}/{task}.scores.tsv" for task in ("pos", "roles")}


def test_a_run_may_name_neither_a_random_model_nor_a_second_one():
    config = shipped_copy()
    for key in ("random_model", "second_model"):
        del config["runs"]["sample"][ID][key]
    assert scores("random", config=config) == {}
    with pytest.raises(AtlasError, match=r"runs\.sample\.tenney2019 names no second_model, which Figure A\.3 needs"):
        scores("second", config=config)
    without, inputs = StudyInputs(config, ID), [INPUTS, StudyInputs(config, ID)]
    assert [each.setting_if("random_model")(wildcards()) for each in inputs] == ["minilm-random-1", None]
    assert list(without.labels("compared")(wildcards())) == ["pos", "roles"]
    tables, none = (each.of_run("second_model")(wildcards()) for each in inputs)
    assert tables["tasks"] == "results/sample/tenney2019/second_model/tasks.tsv"
    assert none == {}


def test_what_probes_of_a_task_read_and_how_they_are_trained():
    roles, protoroles = (
        PROBED(wildcards("paper", model="bert-large-uncased", edge_task=task)) for task in ("roles", "protoroles")
    )
    folder = "results/paper/examples/bert-large-uncased"
    assert protoroles["development"] == [[f"{folder}/spr1-dev/{shard}.parquet" for shard in range(2)], 8000]
    assert roles["cases"][1] == 2
    assert len(roles["training"][0]) == 30
    assert leaves(PROBED)(wildcards(model="minilm", edge_task="pos")) == [
        f"results/sample/examples/minilm/{corpus}/0.parquet"
        for corpus in ("sample-edges-train", "sample-edges", "paper-sentences")
    ]
    config = shipped_copy()
    del config["runs"]["laptop"][ID]["cases"]
    laptop = probed_corpora(config)(wildcards("laptop", model="minilm", edge_task="roles"))
    files = [f"results/laptop/examples/minilm/up-ewt-test/{shard}.parquet" for shard in range(3)]
    assert laptop["development"] == [files, 2077]
    assert list(laptop) == ["training", "development"], "a run may have no sentences of the paper"
    # Settings of a task come before those of all tasks.
    job = wildcards("paper", edge_task="protoroles")
    recipe = recipe_of(INPUTS.settings("training")(job), INPUTS.settings("tasks", "{wildcards.edge_task}")(job))
    assert (recipe.evaluation_interval, recipe.max_steps, recipe.batch) == (100, 10000, 32)


def test_the_second_model_has_labels_of_its_own():
    labels = INPUTS.labels("compared")(wildcards("paper"))
    second = {name.removeprefix("second "): label for name, label in labels.items() if name.startswith("second ")}
    assert {label["model_reference"] for label in second.values()} == {"bert-base-uncased"}
    first = INPUTS.labels("tasks")(wildcards("paper"))
    assert {name: label["corpus"] for name, label in second.items()} == {n: label["corpus"] for n, label in first.items()}
    assert labels == first | {f"second {task}": label for task, label in second.items()}


def test_tasks_whose_files_are_missing_are_skipped_where_that_may_be(without_files):
    named = ("pos", "constituents", "dependencies", "entities", "roles", "coreference", "protoroles", "relations")
    assert set(tasks_of(shipped(), "paper")) == set(named)
    skipping = StudyInputs(shipped("skip"), ID)
    assert list(skipping.labels("tasks")(wildcards("paper"))) == ["relations"], "the one whose corpus is downloaded"
    assert ("bert-large-uncased", "ontonotes-edges-train") not in examples(shipped("skip"), "paper")
    assert "ontonotes-edges-train" in corpora(shipped(), "paper")
    # The run `laptop` downloads all of its corpora.
    labels = skipping.labels("tasks")(wildcards("laptop"))
    assert labels["roles"]["corpus"] == "Universal PropBank English EWT test"
    # The sentences of a task's targets, where they are in a file of their own.
    assert "ewt-v1-dev" in corpora(shipped(), "laptop")
