"""The laptop run of Štefánik's study: keyphrases of scientific paragraphs, against what must hold on real text."""

from __future__ import annotations

import pandas as pd
import pytest


@pytest.fixture
def table(stefanik2021):
    return lambda name: pd.read_csv(stefanik2021 / f"{name}.tsv", sep="\t")


def test_dropped_documents_are_listed(table):
    assert len(table("dropped")) >= 1


def test_attention_detects_and_all_heads_do_better_than_one(table):
    ranking, detectors = table("head_ranking"), table("detection/detectors").set_index("detector")
    print(ranking.head(5).to_string(), detectors.to_string(), sep="\n")
    assert len(ranking) == 72
    assert ranking["auc"].between(0, 1).all()
    # A calibrated probability cannot lose much to the share of keyphrase words alone.
    assert (ranking["cross_entropy"] < ranking["cross_entropy_none"] + 1e-3).all()
    assert detectors.loc["regression", "auc"] > detectors.loc["best_head", "auc"] > 0.5


def test_taggers_beat_what_was_not_trained(table):
    baselines = table("baselines").pivot(index="method", columns="metric", values="value")
    print(baselines.round(1).to_string())
    assert baselines["phrase_f1_all_occurrences"].idxmax() == "fine_tuned"
    fine = table("fine_tuning")
    whole = fine[(fine["model"] == "whole") & (fine["metric"] == "token_f1")]
    assert (whole["value"] > 40).all()


def test_what_is_chosen_on_test_is_never_worse_there_than_the_whole(table):
    fine = table("fine_tuning")
    chosen = fine[(fine["model"] == "pruned_on_test") & (fine["metric"] == "token_f1")]
    assert (chosen["delta"] >= 0).all()
    print(table("claims").to_string())


def test_numbers_of_the_slides_are_not_compared(table):
    assert set(table("comparison")["verdict"]) <= {"not comparable", "not computed"}
