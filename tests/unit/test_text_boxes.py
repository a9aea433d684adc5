"""The checks of figures see what is planted, and nothing in a figure without fault; labels find their place."""

from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from text_boxes import saved_figures

from attention_atlas.figures.marks import label_points
from attention_atlas.figures.style import DrawnFigure, page_figure, plain


def test_text_that_no_svg_may_have_is_replaced(tmp_path):
    figure, axis = plt.subplots()
    axis.set_title(plain("a\x01b\x7f$ \ud800"))
    figure.savefig(tmp_path / "figure.svg")
    plt.close(figure)
    ElementTree.parse(tmp_path / "figure.svg")


@pytest.fixture
def axes():
    """An axes with a line and a legend, in a figure of a column's width, in Matplotlib's own style."""
    with plt.rc_context():
        plt.rcdefaults()
        figure, axis = plt.subplots(figsize=(3.4, 2.6), constrained_layout=True)
        axis.plot([0, 1, 2], [0, 1, 0.5], label="score")
        axis.set(xlabel="Layer", title="Scores", ylim=(0, 1.5))
        axis.legend(loc="upper right")
        yield axis
        plt.close(figure)


def problems(axes, path):
    with saved_figures() as figures:
        axes.figure.savefig(path / "figure.png")
    return figures[0].problems


FAULTS = {
    "'first' overlaps 'second'": lambda axes: [axes.text(0.6, 0.5, "first"), axes.text(0.65, 0.51, "second")],
    "lies outside of the figure": lambda axes: axes.text(1.9, 0.2, "words beyond the edge").set_in_layout(False),
    "'cut words' is clipped": lambda axes: axes.text(1.8, 0.8, "cut words", clip_on=True).set_in_layout(False),
    "'small' has 5.5 pt": lambda axes: axes.text(0.6, 0.1, "small", fontsize=5.5),
    "the legend of 'Scores' covers data": lambda axes: axes.bar([1.8, 1.9], [1.4, 1.4]),
    "7.20 x 4.00 inches": lambda axes: axes.figure.set_size_inches(7.2, 4),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_listed(fault, axes, tmp_path):
    FAULTS[fault](axes)
    assert any(fault in problem for problem in problems(axes, tmp_path))


def test_a_figure_without_fault_has_no_problem(axes, tmp_path):
    axes.text(0.7, 0.1, "readable", fontsize=6)
    axes.axhline(1.4)
    axes.axvspan(1.8, 2, alpha=0.2)
    assert problems(axes, tmp_path) == []


def test_labels_of_points_cover_no_mark_and_no_other_label(tmp_path):
    points = np.random.default_rng(3).uniform(-0.9, 0.9, size=(50, 2))
    figure, ((axes,),) = page_figure(1, 1, 3.4, 3.0)
    axes.scatter(points[:, 0], points[:, 1], s=16)
    axes.set(xlim=(-4, 4), ylim=(-4, 4))
    label_points(axes, points.tolist(), [f"{k}-$2" for k in range(50)], 6, lines=True)
    boxes, marks = {text.get_text(): text.get_window_extent() for text in axes.texts}, axes.transData.transform(points)
    with saved_figures() as saved:
        DrawnFigure(figure, pd.DataFrame(), "n = 50").write({"png": tmp_path / "f.png"}, {}, "A run")
    assert saved[0].problems == []
    assert not [box for box in boxes.values() for mark in marks if box.contains(*mark)]
    assert len(boxes) > 20
