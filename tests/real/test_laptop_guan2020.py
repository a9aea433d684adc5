"""The laptop run of Guan et al.: SQuAD questions to train on, XQuAD to evaluate, against what must hold on real text."""

from __future__ import annotations

import pandas as pd
import pytest

from attention_atlas.corpora.glue import glue_records
from attention_atlas.corpora.questions import squad_records
from attention_atlas.methods.head_types import FEATURES


@pytest.fixture
def table(guan2020):
    return lambda name: pd.read_csv(guan2020 / name, sep="\t")


@pytest.mark.parametrize(("name", "count"), [("xquad_en/xquad.en.json", 1190), ("squad_flat/squad_flat.json", 4330)])
def test_real_questions_are_read(mirror, name, count):
    questions = list(squad_records(mirror / name))
    assert len(questions) == count
    for question in questions:
        for answer in question.answers:
            assert question.context[answer.start : answer.start + len(answer.text)] == answer.text


@pytest.mark.parametrize(
    ("name", "task", "count"),
    [("STS-B/train.tsv", "stsb", 5749), ("STS-B/dev.tsv", "stsb", 1500), ("QNLI/dev.tsv", "qnli", 5463)],
)
def test_real_glue_files_are_read(mirror, name, task, count):
    records = list(glue_records(mirror / "glue" / name, task))
    assert len(records) == count
    assert all(len(item.texts) == 2 for item in records)
    labels = {item.label for item in records}
    assert labels == {"entailment", "not_entailment"} if task == "qnli" else all(0 <= float(x) <= 5 for x in labels)


def test_the_model_answers_real_questions(table):
    baseline = table("baselines.tsv").iloc[0]
    print("XQuAD en, EM and F1 of the unchanged model:", baseline["em"], baseline["f1"], "n =", baseline["n"])
    # A chance of a right span is far below 1 %; a MiniLM trained on 4,000 questions answers a good part.
    assert baseline["em"] > 20
    assert baseline["f1"] > baseline["em"]


def test_types_are_stable_and_sum_to_all_heads(table):
    types = table("head_types.tsv")
    assert len(types) == 72
    assert types[list(FEATURES)].sum(axis=1).to_numpy() == pytest.approx(1, abs=2e-3)
    print(types["type"].value_counts().to_dict())
    agreement = table("options.tsv").set_index("aspect")
    assert agreement.loc["inputs", "ari"].min() > 0.7
    assert agreement.loc["features", "ari"].min() > 0.7
    table1 = table("table1.tsv")
    print(table1[["model", "halved", "pairwise", "consistent_in_all"]].to_string())
    assert (table1[table1["halved"] == "inputs"]["pairwise"] > 0.9).all()


def test_ablations_hurt_and_have_a_control(table):
    table2 = table("table2.tsv").set_index("row")
    print(table2[["types", "heads", "em", "f1", "f1_drop", "f1_random_drop"]].to_string())
    assert table2.loc[2:, "f1_drop"].max() > 10
    # Two types together cost at least as much as the cheaper one alone, but for noise.
    assert table2.loc[6, "f1_drop"] > min(table2.loc[2, "f1_drop"], table2.loc[5, "f1_drop"]) - 5
    table3 = table("table3.tsv")
    print(table3[["row", "sentences", "em", "f1", "f1_drop", "f1_random_drop"]].to_string())
    assert table3["f1"].between(0, 100).all()


def test_no_number_is_taken_for_the_papers(table):
    comparison = table("comparison.tsv").set_index("id")
    assert not comparison["comparable"].isin(["exact", "close"]).any()
