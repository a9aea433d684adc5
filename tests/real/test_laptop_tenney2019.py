"""The laptop run of Tenney et al.: probes on real treebanks, against what must hold on real text."""

import numpy as np


def test_every_probe_of_every_task_is_there(table):
    early = table("summary/probe_scores").query("condition == 'early_stopping' and layer0 == 'embeddings'")
    assert early.groupby("task").size().to_dict() == dict.fromkeys(["pos", "dependencies"], 7 * 2)
    assert (table("figure1")["at_step_limit"] <= 0.5).all(), "early stopping ends most probes of each layer"
    weights = table("summary/mixing_weights")
    assert np.allclose(weights.groupby(["task", "layer0", "condition", "top", "seed"])["weight"].sum(), 1, atol=1e-4)


def test_layers_add_to_what_words_tell(table):
    controls = table("controls").sort_values("layer").groupby("task")
    assert (controls["f1"].last() > controls["f1"].first()).mean() > 0.8
    assert (controls.last().loc[["pos", "dependencies"], "selectivity"] > 0).all()


def test_tags_come_first(table):
    figure1 = table("figure1").set_index("task")
    assert figure1.loc["pos", "expected_layer"] < figure1["expected_layer"].max()
    known = figure1[figure1["within_noise"] == 0]
    assert (known["expected_low"] <= known["expected_layer"]).all()
    assert known["expected_layer"].between(0, 6).all()
