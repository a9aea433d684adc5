"""The checks of figures see what is planted, and nothing in a figure without fault; labels and footnotes find their place."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from text_boxes import saved_figures

from attention_atlas.figures.marks import label_points
from attention_atlas.figures.style import lay_out, page_figure, save_figure


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


def two_panels(axes):
    axes.figure.clear()
    left, right = axes.figure.subplots(1, 2)
    right.set_title("right")
    left.text(0.6, 0.5, "words that reach the other panel", transform=left.transAxes).set_in_layout(False)


FAULTS = {
    "'first' overlaps 'second'": lambda axes: [axes.text(0.6, 0.5, "first"), axes.text(0.65, 0.51, "second")],
    "lies outside of the figure": lambda axes: axes.text(1.9, 0.2, "words beyond the edge").set_in_layout(False),
    "'cut words' is clipped": lambda axes: axes.text(1.8, 0.8, "cut words", clip_on=True).set_in_layout(False),
    "'small' has 5.5 pt": lambda axes: axes.text(0.6, 0.1, "small", fontsize=5.5),
    "'words that reach the other panel' lies over the panel 'right'": two_panels,
    "the legend of 'Scores' covers data": lambda axes: axes.bar([1.8, 1.9], [1.4, 1.4]),
    "legends take": lambda axes: axes.legend(["a legend of several lines\n" * 10], loc="center left", bbox_to_anchor=(1, 0.5)),
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
    axes.set_xticks([-9, -8.99, 1], ["a label outside of the axis", "and another one", "1"])
    axes.set_xlim(0, 2)
    assert problems(axes, tmp_path) == []


@pytest.mark.parametrize(("count", "spread", "lines", "fewest"), [(12, 3, False, 6), (50, 0.9, False, 6), (50, 0.9, True, 21)])
def test_labels_of_points_cover_no_mark_and_no_other_label(tmp_path, count, spread, lines, fewest):
    points = np.random.default_rng(3).uniform(-spread, spread, size=(count, 2))
    figure, ((axes,),) = page_figure(1, 1, 3.4, 3.0)
    axes.scatter(points[:, 0], points[:, 1], s=16)
    axes.set(xlim=(-4, 4), ylim=(-4, 4))
    label_points(axes, points.tolist(), [f"{k}-$2" for k in range(count)], 6, lines=lines)
    boxes, marks = {text.get_text(): text.get_window_extent() for text in axes.texts}, axes.transData.transform(points)
    with saved_figures() as saved:
        save_figure(figure, {"png": tmp_path / "f.png"})
    assert saved[0].problems == []
    assert not [box for box in boxes.values() for mark in marks if box.contains(*mark)]
    assert len(boxes) >= fewest
    assert bool(axes.lines) == lines
    if not lines:
        away = [np.hypot(*((box.min + box.max) / 2 - marks[int(label.split("-")[0])])) for label, box in boxes.items()]
        assert max(away) < 40, "each label stands beside its own mark"


@pytest.mark.parametrize("width", [1.5, 7.0])
def test_lines_of_a_footnote_break_neither_at_an_equals_sign_nor_inside_a_name(width):
    words = "Laptop run: minilm-glue-laptop and minilm-squad-laptop on WikiText-2 test; n = 1000 segments, 72 heads; cost $5."
    figure = plt.figure(figsize=(width, 2))
    lay_out(figure, words)
    (note,) = figure.texts
    lines = note.get_text().split("\n")
    assert " ".join(lines) == words.replace("$", r"\$")
    assert any("n = 1000" in line for line in lines)
    assert note.get_window_extent().width <= width * figure.dpi
    plt.close(figure)
