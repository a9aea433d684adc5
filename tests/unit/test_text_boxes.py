"""The checks of figures see what is planted, and nothing in a figure without fault; labels and footnotes find their place."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.transforms import Bbox
from text_boxes import saved_figures

from attention_atlas.figures.marks import label_points
from attention_atlas.figures.style import lay_out, page_figure, save_figure


@pytest.fixture
def axes():
    """An axes with a label, in a figure of a column's width, in Matplotlib's own style."""
    with plt.rc_context():
        plt.rcdefaults()
        figure, axis = plt.subplots(figsize=(3.4, 2.6), constrained_layout=True)
        axis.plot([0, 1, 2], [0, 1, 0.5], label="score")
        axis.set(xlabel="Layer", title="Scores")
        yield axis
        plt.close(figure)


def problems(axes, path, options=None):
    with saved_figures() as figures:
        axes.figure.savefig(path / "figure.png", **(options if isinstance(options, dict) else {}))
    return figures[0].problems


def two_panels(axes):
    """Words of the left panel that reach the right one."""
    axes.figure.clear()
    left, right = axes.figure.subplots(1, 2)
    right.set_title("right")
    left.text(0.6, 0.5, "words that reach the other panel", transform=left.transAxes).set_in_layout(False)


def legend_over(kind):
    def plant(axes):
        axes.set_ylim(0, 1.1)
        {"line": axes.plot, "bar": axes.bar, "point": axes.scatter}[kind]([1.8, 1.9], [1, 1], label="late")
        axes.legend(loc="upper right")

    return plant


def legend_in_footnote(axes):
    """A legend of the figure's box moves when more than that box is saved: here into the line below the figure."""
    figure = axes.figure
    figure.legend(loc="outside lower center")
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    figure.text(0.5, -0.06, "footnote", ha="center")
    return {"bbox_inches": Bbox([[0, -0.2], [3.4, 2.6]])}


LONG = "a legend of several lines\n" * 10
FAULTS = {
    "overlap": (lambda axes: [axes.text(0.6, 0.5, "first"), axes.text(0.65, 0.51, "second")], "'first' overlaps 'second'"),
    "tick": (lambda axes: axes.set_xticks([0, 0.01], ["a long first label", "a long second"]), "overlaps 'a long second'"),
    "outside": (lambda axes: axes.text(1.9, 0.2, "words beyond the edge").set_in_layout(False), "lies outside of the figure"),
    "clipped": (
        lambda axes: axes.text(1.6, 0.8, "clipped words", clip_on=True).set_in_layout(False),
        "'clipped words' is clip",
    ),
    "small": (lambda axes: axes.text(0.6, 0.1, "small", fontsize=5.5), "'small' has 5.5 pt"),
    "panel": (two_panels, "'words that reach the other panel' lies over the panel 'right'"),
    "line": (legend_over("line"), "the legend of 'Scores' covers data"),
    "bar": (legend_over("bar"), "the legend of 'Scores' covers data"),
    "point": (legend_over("point"), "the legend of 'Scores' covers data"),
    "third": (
        lambda axes: axes.legend([LONG], loc="center left", bbox_to_anchor=(1, 0.5)),
        "legends take",
    ),
    "size": (lambda axes: axes.figure.set_size_inches(7.2, 4), "7.20 x 4.00 inches"),
    "file": (legend_in_footnote, "'footnote' overlaps 'score'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_listed(fault, axes, tmp_path):
    plant, message = FAULTS[fault]
    assert any(message in problem for problem in problems(axes, tmp_path, plant(axes)))


def test_a_figure_without_fault_has_no_problem(axes, tmp_path):
    axes.text(0.6, 0.5, "first")
    axes.text(0.7, 0.1, "readable", fontsize=6)
    axes.axhline(1.05)
    axes.axvspan(0, 0.2, alpha=0.2)
    axes.set_ylim(0, 1.3)
    axes.set_xticks([-9, -8.99, 1], ["a label outside of the axis", "and another one", "1"])
    axes.set_xlim(0, 2)
    axes.legend(loc="upper left")
    assert problems(axes, tmp_path) == []


def scatter(folder, count, spread, **options):
    points = np.random.default_rng(3).uniform(-spread, spread, size=(count, 2))
    figure, ((axes,),) = page_figure(1, 1, 3.4, 3.0)
    axes.scatter(points[:, 0], points[:, 1], s=16)
    axes.set(xlim=(-4, 4), ylim=(-4, 4))
    label_points(axes, points.tolist(), [f"{k}-$2" for k in range(count)], 6, **options)
    boxes = [text.get_window_extent() for text in axes.texts]
    marks = axes.transData.transform(points)
    with saved_figures() as saved:
        save_figure(figure, {"png": folder / "f.png"})
    assert saved[0].problems == []
    assert not [box for box in boxes for mark in marks if box.contains(*mark)]
    return boxes, marks, axes


def test_labels_of_points_stand_beside_them_over_no_mark_and_no_other_label(tmp_path):
    boxes, marks, _ = scatter(tmp_path, 12, 3.0)
    centres = np.array([[(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2] for box in boxes])
    # Each stands nearer to its own mark than a label is wide.
    assert (np.linalg.norm(centres - marks, axis=1) < 40).all()
    for lines, fewest, most in ((False, 5, 40), (True, 20, 50)):
        boxes, _, axes = scatter(tmp_path, 50, 0.9, lines=lines)
        assert fewest < len(boxes) <= most, "labels without space are left out, or led to by a line"
        assert bool(axes.lines) == lines


@pytest.mark.parametrize("width", [1.5, 2.2, 3.4, 7.0])
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
