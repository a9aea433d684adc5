"""The figures of Tenney et al. can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from largest_tables import LAYERS, MODEL, combined, generator, long_labels
from text_boxes import saved_figures

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.studies.tenney2019.figures import (
    LAYER_LABEL,
    figure1,
    figure2,
    figure3,
    figure_a3,
    published_beside,
)
from attention_atlas.studies.tenney2019.study import STUDY
from attention_atlas.studies.tenney2019.summary import FIGURE3

TASKS = list(EDGE_TASKS)
LABELS = long_labels(TASKS)
SIZES = {"sentences": 12345, "targets": 123456, "unit": "documents", "units": 1234, "seeds": 3}


def tasks_table():
    rows = pd.DataFrame({"task": TASKS}).assign(**SIZES, layers=LAYERS, f1_first=100.0, f1_last=99.9, training_targets=1000)
    rows = rows.assign(expected_layer=np.linspace(0, LAYERS, len(TASKS)), centre=np.linspace(LAYERS, 0, len(TASKS)))
    rows = rows.assign(expected_low=-300.0, expected_high=300.0, centre_low=rows["centre"] - 1, centre_high=rows["centre"] + 1)
    rows.loc[::2, "expected_layer"] = np.nan
    rows["within_noise"] = rows["expected_layer"].isna().astype(int)
    return rows


def bars(model: str, noisy: bool = False) -> pd.DataFrame:
    """Of the last task, a vanishing gain: one of its shares is 9,800 %."""
    rows = combined({"task": TASKS, "layer": range(LAYERS + 1)}, SIZES).assign(model=model, k_s=0.11, k_delta=1.23)
    weight = 0.04 + 0.03 * generator().random(len(rows))
    rows = rows.assign(weight=weight, weight_low=weight - 0.01, weight_high=weight + 0.02, f1=98.7, delta=0.5)
    rows["share"] = generator().normal(0.04, 0.1, len(rows))
    last = rows["task"] == TASKS[-1]
    rows.loc[last & (rows["layer"] == 3), "share"] = 98.0
    rows = rows.assign(share_low=rows["share"] - 0.05, share_high=rows["share"] + 0.08)
    return rows.assign(within_noise=(last | noisy).astype(int))


def traced_targets():
    keys = {"sentence": range(1, 9), "task": ["roles", "constituents", "coreference", "relations"], "layer": range(LAYERS + 1)}
    rows = combined({**keys, "gold": [0, 1]}).assign(source="development", id="an-id", target=0)
    rows = rows.assign(words="the $5 prestidigitator who had been " * 20, span1="a long span of many words " * 3)
    rows = rows.assign(span2="another long span of words", probability=generator().random(len(rows)))
    rows["label"] = np.where(rows["gold"] == 1, "Component-Whole(e2,e1)", "Entity-Destination(e1,e2)")
    return rows[FIGURE3]


FIGURES = {
    "figure1": lambda: figure1(tasks_table()),
    "figure2": lambda: figure2(bars(MODEL)),
    "figure_a3": lambda: figure_a3(bars(f"{MODEL}-second"), bars(MODEL)),
    "figure3": lambda: figure3(traced_targets()),
}


def saved(drawn, folder):
    """A figure as it stands in its file."""
    with saved_figures() as figures:
        drawn.write({"png": folder / "figure.png"}, LABELS)
    return figures[0]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_the_largest_shape_can_be_read(name, tmp_path):
    assert saved(FIGURES[name](), tmp_path).problems == []


def test_shares_of_a_gain_within_noise_are_not_drawn(tmp_path):
    """A share of a vanishing gain would set the axis to 98."""
    texts = saved(figure2(bars(MODEL)), tmp_path).texts
    numbers = [text.replace("−", "-") for text in texts if re.fullmatch(r"−?[\d.]+", text)]
    assert max(map(float, numbers)) == LAYERS, "the largest number is that of the last layer"
    assert "F1 98.7 → 98.7 (noise)" in texts
    assert "K(Δ) = 1.23   F1 98.7 → 98.7" in texts
    assert "K(s) = 0.11" in texts
    assert {"Mixing weights s", "Share of the gain by layer"} <= set(texts)


def test_shares_have_intervals():
    rows = bars(MODEL).query("task == 'pos'")
    lines = [line.get_xydata() for line in figure2(rows).figure.axes[1].lines]
    ends = {float(line[0, 0]): sorted(line[:, 1]) for line in lines if len(line) == 2 and line[0, 0] == line[1, 0]}
    gains = rows[rows["layer"] > 0].set_index("layer")
    assert set(ends) == set(gains.index)
    for layer, interval in ends.items():
        assert interval == pytest.approx(gains.loc[layer, ["share_low", "share_high"]].tolist())


@pytest.mark.parametrize("tasks", [1, 2, len(TASKS)])
def test_no_mark_of_figure_1_is_cut_at_the_ends_of_its_axis(tasks):
    axis = figure1(tasks_table().iloc[:tasks]).figure.axes[0]
    heights = np.concatenate([line.get_ydata() for line in axis.lines]).astype(float)
    low, high = sorted(axis.get_ylim())
    assert low + 0.2 < heights.min()
    assert heights.max() < high - 0.2


def test_figure_3_shows_text_of_corpora_in_all_of_its_files():
    assert STUDY.artifact("figure3").text_files == STUDY.artifact("figure3").files


def test_figure_3_names_labels_of_coreference_and_shortens_long_spans(tmp_path):
    keys = {"task": ["pos", "coreference", "constituents"], "layer": range(3), "gold": [0, 1]}
    rows = combined(keys).assign(source="development", id="an-id", target=0, sentence=1, words="a b", span2="", probability=0.5)
    signs = {"pos": ("``", "NN"), "coreference": ("1", "0"), "constituents": ("S", "VP")}
    rows["label"] = [signs[task][1 - gold] for task, gold in zip(rows["task"], rows["gold"], strict=True)]
    spans = {
        "pos": "``",
        "coreference": "Hundreds of people in the streets of Baghdad",
        "constituents": '" Hundreds of people fled home , " .',
    }
    rows["span1"] = rows["task"].map(spans)
    texts = saved(figure3(rows[FIGURE3]), tmp_path).texts
    assert {"``", "NN", "coreferent", "not coreferent", "S", "VP"} <= set(texts)
    assert "Coreference\nHundreds of people in …" in texts
    assert texts.count(LAYER_LABEL) == 3


def test_published_gains_start_at_layer_1_as_those_of_the_run_do():
    """An expected layer is a mean of layers from 1 on."""
    large = published_beside(6)
    assert large.depth_of_gains(pd.Series([1, 24])).tolist() == [1, 6]
    assert large.depth_of_gains(pd.Series([3.39])).iloc[0] == pytest.approx(1 + 2.39 * 5 / 23)
    shares = large.shares()
    assert (shares["layer"].min(), shares["layer"].max()) == (1, 6)
    assert published_beside(24).depth_of_gains(pd.Series([3.39])).tolist() == pytest.approx([3.39])


def test_published_layers_are_drawn_at_their_relative_depth():
    large = published_beside(6)
    assert large.label == "published: BERT-large, 24 layers scaled to 6"
    weights = large.weights()
    pos = weights[weights["task"] == "pos"]
    assert len(pos) == 25
    assert pos["layer"].max() == 6
    assert pos["value"].iloc[0] == pytest.approx(0.0475 * 25 / 7)
    assert pos["value"].sum() == pytest.approx(25 / 7, abs=0.02), "equal weights of both models have the same height"
    assert published_beside(12).label == "published: BERT-base"
    assert published_beside(12).weights().empty, "the paper has mixing weights of BERT-large alone"
    shares = published_beside(24).shares()
    assert set(shares["task"]) == set(TASKS)
    by_task = shares.groupby("task")["value"].apply(lambda values: values.cumsum().max())
    assert by_task.to_numpy() == pytest.approx(1), "the gains up to the best layer are the largest gain"
