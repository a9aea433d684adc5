"""The laptop run of Guan et al.: SQuAD questions to train on, XQuAD to evaluate, against what must hold on real text."""

import pytest

from attention_atlas.corpora.glue import glue_records
from attention_atlas.corpora.questions import squad_records
from attention_atlas.methods.head_types import FEATURES


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


def test_the_model_answers_real_questions_and_ablations_hurt(table):
    baseline = table("baselines").iloc[0]
    # A chance of a right span is far below 1 %; a MiniLM trained on 4,000 questions answers a good part.
    assert baseline["f1"] > baseline["em"] > 20
    drops = table("table2").set_index("row")["f1_drop"]
    assert drops[2:].max() > 10
    # Two types together cost at least as much as the cheaper one alone, but for noise.
    assert drops[6] > min(drops[2], drops[5]) - 5


def test_types_are_stable_and_sum_to_all_heads(table):
    types = table("head_types")
    assert len(types) == 72
    assert types[list(FEATURES)].sum(axis=1).to_numpy() == pytest.approx(1, abs=2e-3)
    agreement = table("options").set_index("aspect")["ari"]
    assert agreement.loc[["inputs", "features"]].min() > 0.7
    assert (table("table1").query("halved == 'inputs'")["pairwise"] > 0.9).all()
