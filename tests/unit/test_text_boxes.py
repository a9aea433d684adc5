"""The checks of figures see what is planted, and nothing in a figure without fault."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
from matplotlib.transforms import Bbox
from text_boxes import SavedFigure, saved_figures

from attention_atlas.figures.style import save_figure


@pytest.fixture(autouse=True)
def default_style():
    """Matplotlib's own style, whatever theme another test has set."""
    with plt.rc_context():
        plt.rcdefaults()
        yield


@pytest.fixture
def axes(default_style):
    """An axes with a label, in a figure of a column's width."""
    figure, axis = plt.subplots(figsize=(3.4, 2.6), constrained_layout=True)
    axis.plot([0, 1, 2], [0, 1, 0.5], label="score")
    axis.set_xlabel("Layer")
    yield axis
    plt.close(figure)


def saved(axes: plt.Axes, path) -> SavedFigure:
    with saved_figures() as figures:
        axes.figure.savefig(path / "figure.png")
    (figure,) = figures
    return figure


def test_a_figure_without_fault_has_no_problem(axes, tmp_path):
    axes.legend(loc="lower right")
    assert saved(axes, tmp_path).problems == []


def test_texts_that_overlap_are_listed(axes, tmp_path):
    axes.text(0.6, 0.5, "first words")
    axes.text(0.7, 0.51, "second words")
    axes.text(0.7, 0.9, "third words")
    assert saved(axes, tmp_path).problems == ["'first words' overlaps 'second words'"]


def test_tick_labels_outside_of_the_axis_do_not_count(axes, tmp_path):
    axes.set_xticks([0, 0.01, 1], ["a long first label", "a long second label", "1"])
    axes.set_xlim(0.5, 1.5)
    assert saved(axes, tmp_path).problems == []
    axes.set_xlim(-1, 1.5)
    assert saved(axes, tmp_path).problems == ["'a long first label' overlaps 'a long second label'"]


def test_texts_that_are_cut_are_listed(axes, tmp_path):
    axes.text(1.9, 0.2, "words beyond the right edge of the figure").set_in_layout(False)
    axes.set_title("Scores", loc="left")
    axes.text(1.4, 1.0, "clipped words", clip_on=True)
    assert saved(axes, tmp_path).problems == [
        "'words beyond the right edge of the figure' lies outside of the figure",
        "'clipped words' is clipped",
    ]


def test_small_texts_are_listed(axes, tmp_path):
    axes.text(0.6, 0.1, "small", fontsize=5.5)
    axes.text(1.0, 0.1, "readable", fontsize=6)
    assert saved(axes, tmp_path).problems == ["'small' has 5.5 pt"]


def test_a_text_over_another_panel_is_listed(tmp_path):
    figure, (left, right) = plt.subplots(1, 2, figsize=(5, 2.6), sharey=True)
    left.set_title("left")
    right.set_title("right")
    left.text(0.6, 0.5, "words that reach the other panel", transform=left.transAxes)
    assert saved(left, tmp_path).problems == ["'words that reach the other panel' lies over the panel 'right'"]
    plt.close(figure)


@pytest.mark.parametrize("kind", ["line", "bar", "point"])
def test_a_legend_over_data_is_listed(kind, axes, tmp_path):
    axes.set_title("Scores")
    axes.set_ylim(0, 1.1)
    draw = {"line": axes.plot, "bar": axes.bar, "point": axes.scatter}[kind]
    draw([1.8, 1.9], [1, 1], label="late")
    axes.axhline(1.05)
    axes.axvspan(1.5, 2.0, alpha=0.2)
    axes.legend(loc="upper left")
    assert saved(axes, tmp_path).problems == []
    axes.legend(loc="upper right")
    assert saved(axes, tmp_path).problems == ["the legend of 'Scores' covers data"]


def test_a_legend_of_a_third_of_the_figure_is_listed(axes, tmp_path):
    axes.legend(["a legend of several lines\n" * 10], loc="center left", bbox_to_anchor=(1, 0.5))
    assert [words for words in saved(axes, tmp_path).problems if words.startswith("legends take")]


def test_the_size_is_that_of_the_saved_part(axes, tmp_path):
    axes.figure.set_size_inches(6.8, 4)
    assert saved(axes, tmp_path).problems == []
    with saved_figures() as figures:
        axes.figure.text(1.1, 0.5, "beside")
        save_figure(axes.figure, {"png": tmp_path / "figure.png", "svg": tmp_path / "figure.svg"})
    (figure,) = figures
    assert figure.width > 7
    assert figure.problems == [f"{figure.width:.2f} x {figure.height:.2f} inches"]
    assert figure.texts[-1] == "beside"


def test_texts_count_where_they_stand_in_the_file(axes, tmp_path):
    """A legend of the figure's box moves when more than that box is saved: here into the line below the figure."""
    figure = axes.figure
    figure.legend(loc="outside lower center")
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
    figure.text(0.5, -0.06, "footnote", ha="center")
    with saved_figures() as figures:
        figure.savefig(tmp_path / "figure.png", bbox_inches=Bbox([[0, -0.2], [3.4, 2.6]]))
    assert figures[0].problems == ["'footnote' overlaps 'score'"]
