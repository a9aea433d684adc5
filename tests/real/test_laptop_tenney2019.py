"""The laptop run of Tenney et al.: probes on real treebanks, against what must hold on real text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from attention_atlas.published.values import load_published
from attention_atlas.workflow.config import read_configuration


@pytest.fixture
def table(tenney2019):
    return lambda name: pd.read_csv(tenney2019 / f"{name}.tsv", sep="\t")


def test_the_registry_names_the_files_that_are_there(mirror):
    config = read_configuration(ROOT)
    tasks = config["runs"]["laptop"]["tenney2019"]["tasks"]
    corpora = {corpus for entry in tasks.values() for corpus in (entry["training"], entry["development"])}
    files = {config["corpora"][corpus]["source"]["mirror"] for corpus in corpora}
    assert len(files) == 8
    assert all((mirror / path).is_file() for path in files)


def test_every_probe_of_every_task_is_there(table):
    scores = table("summary/probe_scores")
    early = scores[(scores["condition"] == "early_stopping") & (scores["layer0"] == "embeddings")]
    sizes = early.groupby("task").size()
    print(early.pivot_table(index="task", columns="layer", values="f1").round(1).to_string())
    assert set(sizes.index) == {"pos", "dependencies", "entities", "roles", "coreference", "protoroles", "relations"}
    assert (sizes == 7 * 3).all()
    weights = table("summary/mixing_weights")
    assert np.allclose(weights.groupby(["task", "layer0", "condition", "top", "seed"])["weight"].sum(), 1, atol=1e-4)


def test_layers_add_to_what_words_tell(table):
    controls = table("controls")
    first, last = (controls.groupby("task")["f1"].nth(place) for place in (0, -1))
    print(controls[["task", "layer", "f1", "f1_random_encoder", "selectivity", "f1_equal_steps"]].round(1).to_string())
    assert (last.to_numpy() > first.to_numpy()).mean() > 0.8
    at_end = controls.groupby("task").tail(1).set_index("task")
    assert (
        at_end.loc[["pos", "dependencies", "relations"], "f1"]
        > at_end.loc[["pos", "dependencies", "relations"], "f1_random_encoder"]
    ).all()
    assert (at_end.loc[["pos", "dependencies"], "selectivity"] > 0).all()


def test_words_alone_know_no_places(table):
    options = table("options")
    raw = options[options["gains"] == "raw"].set_index(["task", "layer0"])
    print(raw[["expected_layer", "centre", "f1_first", "f1_last", "within_noise"]].round(2).to_string())
    assert raw.loc[("dependencies", "lexical"), "f1_first"] < raw.loc[("dependencies", "embeddings"), "f1_first"]


def test_tags_come_before_relations(table):
    figure1 = table("figure1").set_index("task")
    print(
        figure1[["f1_first", "f1_last", "expected_layer", "expected_low", "expected_high", "centre", "within_noise"]]
        .round(2)
        .to_string()
    )
    assert figure1.loc["pos", "expected_layer"] < figure1["expected_layer"].max()
    known = figure1[figure1["within_noise"] == 0]
    assert (known["expected_low"] <= known["expected_layer"]).all()
    assert known["expected_layer"].between(0, 6).all()


def test_published_values_are_all_there_and_none_is_passed_off_as_the_same(table):
    comparison = table("comparison")
    assert list(comparison["id"]) == list(load_published("tenney2019"))
    print(comparison["verdict"].value_counts().to_string())
    print(table("claims").to_string())
    assert not comparison["comparable"].isin(["exact", "close"]).any()
