"""The laptop run of Kovaleva et al.: STS-B, QNLI and the 473 FrameNet sentences, against what must hold on real text."""

from attention_atlas.corpora.marked_text import frames_records


def test_the_papers_sentences_are_read(mirror):
    sentences = list(frames_records(mirror / "framenet_473" / "framenet_473.json"))
    assert len(sentences) == 473
    assert sum(len(sentence.elements) for sentence in sentences) == 481


def test_fine_tuning_teaches_real_tasks(table):
    value = table("table1").query("metric != 'f1'").set_index(["task", "state"])["value"]
    for task in ("stsb", "qnli"):
        assert value[task, "tuned"] > value[task, "untrained"] + 10
    assert value["stsb", "tuned"] > value["stsb", "random"] + 10
    assert value["stsb", "tuned"] > 75


def test_fine_tuning_changes_the_first_layer_least(table):
    means = table("figure5").groupby(["task", "crop", "layer"])["value"].mean().unstack()
    assert means.max(axis=None) < 1.0001
    assert (means.idxmax(axis=1) == 1).mean() >= 0.5


def test_rules_agree_with_labels(table):
    macro = table("patterns").query("`class` == 'macro' and annotator == 'rules'").set_index("folds")["f1"]
    assert set(macro.index) == {"text", "layer"}
    assert macro.min() > 0.6


def test_all_sentences_with_frames_are_measured_and_disabling_is_tested_against_chance(table):
    assert (table("figure3")["n"] > 450).all()
    heads = table("disabling").query("unit == 'heads'")
    # The same where one head is the best in every part.
    assert (heads["heldout_delta"] <= heads["best_delta"]).all()
    assert (heads["heldout_delta"] < heads["best_delta"]).any()
    assert (table("figure8").groupby("task")["delta"].min() < 0).all()
