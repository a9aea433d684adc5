"""The laptop run of Kovaleva et al.: STS-B, QNLI and the 473 FrameNet sentences, against what must hold on real text."""

from __future__ import annotations

import pandas as pd
import pytest

from attention_atlas.corpora.marked_text import frames_records


@pytest.fixture
def table(kovaleva2019):
    return lambda name: pd.read_csv(kovaleva2019 / name, sep="\t")


def test_the_papers_sentences_are_read(mirror):
    sentences = list(frames_records(mirror / "framenet_473" / "framenet_473.json"))
    assert len(sentences) == 473
    assert sum(len(sentence.elements) for sentence in sentences) == 481


def test_fine_tuning_teaches_real_tasks(table):
    table1 = table("table1.tsv")
    print(table1.to_string())
    value = table1.set_index(["task", "state"])["value"]
    for task in ("stsb", "qnli"):
        assert value[task, "tuned"] > value[task, "random"] + 10
        assert value[task, "tuned"] > value[task, "untrained"] + 10
    assert value["stsb", "tuned"] > 75
    assert (table1[table1["state"] == "tuned"]["seeds"] == 3).all()
    assert (table1[table1["state"] == "untrained"]["seeds"] >= 20).all()


def test_fine_tuning_changes_maps_and_the_padded_comparison_says_something_else(table):
    figure5 = table("figure5.tsv")
    means = figure5.groupby(["task", "crop", "layer"])["value"].mean().unstack()
    print(means.to_string())
    assert figure5["value"].between(0, 1.0001).all()
    # The first layer changes least.
    assert (means.idxmax(axis=1) == 1).mean() >= 0.5


def test_classifiers_agree_with_labels(table):
    patterns = table("patterns.tsv")
    print(patterns.to_string())
    macro = patterns[(patterns["class"] == "macro") & (patterns["annotator"] == "rules")].set_index("folds")["f1"]
    assert set(macro.index) == {"text", "layer"}
    assert macro.min() > 0.6


def test_frames_against_the_same_distance(table):
    figure3 = table("figure3.tsv")
    print(figure3.nlargest(5, "value").to_string())
    assert (figure3["n"] > 450).all()
    assert (figure3["margin"].abs() < 1).all()


def test_disabling_is_tested_against_chance(table):
    disabling = table("disabling.tsv")
    print(disabling.to_string())
    heads = disabling[disabling["unit"] == "heads"]
    # The same where one head is the best in every part.
    assert (heads["heldout_delta"] <= heads["best_delta"]).all()
    assert (heads["heldout_delta"] < heads["best_delta"]).any()
    assert (table("figure8.tsv").groupby("task")["delta"].min() < 0).all()


def test_no_number_is_taken_for_the_papers(table):
    comparison = table("comparison.tsv").set_index("id")
    assert len(comparison) == 568
    assert not comparison["comparable"].isin(["exact", "close"]).any()
