"""What the figures of Tenney et al. plot, on tables of the largest shape."""

import numpy as np
import pandas as pd
import pytest
from largest_tables import LAYERS, MODEL, combined, generator

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.studies.tenney2019.figures import PublishedModel, figure2

TASKS = list(EDGE_TASKS)
SIZES = {"sentences": 12345, "targets": 123456, "unit": "documents", "units": 1234, "seeds": 3}


def bars(model: str) -> pd.DataFrame:
    """Of the last task, a vanishing gain: one of its shares is 9,800 %."""
    rows = combined({"task": TASKS, "layer": range(LAYERS + 1)}, SIZES).assign(model=model, k_s=0.11, k_delta=1.23, f1=98.7)
    weight, share = 0.04 + 0.03 * generator().random(len(rows)), generator().normal(0.04, 0.1, len(rows))
    rows = rows.assign(weight=weight, weight_low=weight - 0.01, weight_high=weight + 0.02, share=share)
    last = rows["task"] == TASKS[-1]
    rows.loc[last & (rows["layer"] == 3), "share"] = 98.0
    return rows.assign(share_low=rows["share"] - 0.05, share_high=rows["share"] + 0.08, within_noise=last.astype(int))


def test_shares_have_intervals_and_are_not_drawn_for_a_gain_within_noise():
    rows = bars(MODEL)
    axes = figure2(rows[rows["task"].isin([TASKS[0], TASKS[-1]])]).figure.axes
    lines = [line.get_xydata() for line in axes[1].lines]
    ends = {float(line[0, 0]): sorted(line[:, 1]) for line in lines if len(line) == 2 and line[0, 0] == line[1, 0]}
    gains = rows[(rows["layer"] > 0) & (rows["task"] == TASKS[0])].set_index("layer")
    assert set(ends) == set(gains.index)
    for layer, interval in ends.items():
        assert interval == pytest.approx(gains.loc[layer, ["share_low", "share_high"]].tolist())
    assert axes[3].get_ylim()[1] < 2, "a share of a vanishing gain would set the axis to 98"


def test_published_layers_are_drawn_at_their_relative_depth_and_gains_from_layer_1_on():
    large, whole = PublishedModel(6), PublishedModel(24)
    pos = large.weights().query("task == 'pos'")
    assert (len(pos), pos["layer"].max()) == (25, 6)
    assert pos["value"].iloc[0] == pytest.approx(0.0475 * 25 / 7), "equal weights of both models have the same height"
    assert PublishedModel(12).weights().empty, "the paper has mixing weights of BERT-large alone"
    assert large.depth_of_gains(pd.Series([1, 3.39, 24])).tolist() == pytest.approx([1, 1 + 2.39 * 5 / 23, 6])
    assert whole.depth_of_gains(pd.Series([3.39])).tolist() == pytest.approx([3.39])
    by_task = whole.shares().groupby("task")["value"].apply(lambda values: values.cumsum().max())
    assert by_task.to_numpy() == pytest.approx(np.ones(len(TASKS))), "the gains up to the best layer are the largest gain"
