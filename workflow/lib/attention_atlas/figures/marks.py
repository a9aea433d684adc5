"""Marks that figures of several studies share: attention as lines or cells, a grid of heads, and labels beside points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import Colormap, to_rgba
from matplotlib.lines import Line2D

from attention_atlas.figures.style import NOTE, VERMILION, plain

LEFT, RIGHT = 0.36, 0.64
"""Where the columns of words end and start."""
_LINED = 24
"""Maximum number of rows or columns for lines between cells."""
_ANGLES = tuple(math.radians(angle) for angle in (90, 270, 0, 180, 45, 135, 315, 225))
_DISTANCES = (0.0, 3.0, 6.0)
"""Points between a mark and its label, the nearest first."""
_FAR = (10.0, 15.0, 21.0, 28.0, 36.0, 45.0)
"""The same for labels that a line leads to."""


def draw_attention_lines(
    axes: Axes,
    words: Sequence[str],
    weights: npt.NDArray[np.floating],
    colour: str,
    marked: npt.NDArray[np.bool_] | None = None,
    mark_colour: str = VERMILION,
    marked_words: Sequence[int] = (),
    size: float = 7,
) -> None:
    """Draw query words on the left, key words on the right, and a line as opaque as each weight [n, n]; NaN draws none.

    marked: [n, n] lines drawn in `mark_colour`, on top of all others; marked_words: positions of words printed bold in it.
    """
    n = len(words)
    shown = ~np.isnan(weights) & (weights > 0.005)
    heights = np.arange(n)[::-1]
    on_top = np.zeros((n, n), dtype=bool) if marked is None else marked
    for is_marked, drawn in ((False, colour), (True, mark_colour)):
        rows, columns = np.nonzero(shown & (on_top == is_marked))
        ends = [[(LEFT, heights[row]), (RIGHT, heights[column])] for row, column in zip(rows, columns, strict=True)]
        tinted = [(*to_rgba(drawn)[:3], min(weight, 1)) for weight in weights[rows, columns]]
        axes.add_collection(LineCollection(ends, colors=tinted, linewidths=1.4, zorder=2 if is_marked else 1))
    for position, word in enumerate(words):
        text_style: dict[str, Any] = {"color": mark_colour, "fontweight": "bold"} if position in marked_words else {}
        safe = plain(word)
        axes.text(LEFT - 0.02, heights[position], safe, ha="right", va="center", fontsize=size, **text_style)
        axes.text(RIGHT + 0.02, heights[position], safe, ha="left", va="center", fontsize=size, **text_style)
    axes.set(xlim=(0, 1), ylim=(-0.7, n - 0.3))
    axes.axis("off")


def shortened(word: str, longest: int = 14) -> str:
    """A word, or its start and an ellipsis, so that a column of words keeps its width."""
    return word if len(word) <= longest else word[: longest - 1] + "…"


def draw_head_grid(
    axes: Axes, frame: pd.DataFrame, value: str, colours: str, low: float, high: float, marked: Sequence[tuple[int, int]] = ()
) -> QuadMesh:
    """Draw a value for every head, layer 1 at the top; returns the cells, for a colour bar.

    A heat map of seaborn: cell k of an axis reaches from k - 1 to k, its tick is at k - 0.5. A missing head or NaN stays white.
    marked: (layer, head) of heads with a dot.
    """
    grid = frame.pivot(index="layer", columns="head", values=value).to_numpy(float)
    layers, heads = grid.shape
    image = draw_cells(axes, grid, colours, low, high)
    if marked:
        rows, columns = (np.array(places) - 0.5 for places in zip(*marked, strict=True))
        axes.plot(columns, rows, "o", color="black", markersize=2.2, markeredgewidth=0)
    number_ticks(axes, "x", heads, 4)
    number_ticks(axes, "y", layers, 8)
    return image


def draw_cells(axes: Axes, grid: npt.NDArray[np.float64], colours: str | Colormap, low: float, high: float) -> QuadMesh:
    """Draw [row, column] values as cells without ticks; NaN stays white."""
    # Rasterised in SVG and PDF: thousands of cells would be thousands of paths.
    style = {"linewidths": 0.3 if max(grid.shape) <= _LINED else 0, "linecolor": "white", "rasterized": True}
    figure = axes.get_figure(root=True)
    assert figure is not None
    canvas = figure.canvas
    # Seaborn draws the figure after each heat map (to rotate crowded labels), which takes seconds; this canvas draws nothing.
    FigureCanvasBase(figure)
    sns.heatmap(grid, cmap=colours, vmin=low, vmax=high, cbar=False, xticklabels=False, yticklabels=False, ax=axes, **style)
    figure.set_canvas(canvas)
    axes.set(xlabel="", ylabel="")
    axes.spines[:].set_visible(True)
    image = axes.collections[-1]
    assert isinstance(image, QuadMesh)
    return image


def number_ticks(axes: Axes, axis: str, count: int, most: int) -> None:
    """Ticks at cells 1 to `count` of an axis, at regular steps such that at most `most` are numbered."""
    step = -(-count // most)
    numbers = range(step, count + 1, step)
    set_ticks = axes.set_xticks if axis == "x" else axes.set_yticks
    set_ticks([number - 0.5 for number in numbers], [str(number) for number in numbers], rotation=0)


def label_points(
    axes: Axes,
    points: Sequence[tuple[float, float]],
    labels: Sequence[str],
    size: float,
    radius: float = 3.0,
    marks: Sequence[tuple[float, float]] | None = None,
    lines: bool = False,
    **text: Any,
) -> None:
    """Write a label beside each point (in data coordinates) that has space. The figure is laid out first.

    radius: of a mark, in points; marks: all marks that a label must not cover (default: the points); lines: whether a label
    without space may be placed farther away, with a line to the mark; text: other arguments of `Axes.annotate`.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    scale = figure.dpi / 72
    corners = axes.transData.transform(points if marks is None else marks)
    # [box, (left, bottom)] and [box, (right, top)] of what is drawn already.
    taken_low, taken_high = corners - radius * scale, corners + radius * scale
    inside = axes.get_window_extent()
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": size, "ha": "center", "va": "center"} | text
    for point, label in zip(points, labels, strict=True):
        note = axes.annotate(plain(label), point, (0, 0), **style)
        extent = note.get_window_extent()
        x, y = axes.transData.transform(point)
        for distance, angle in ((d, a) for d in (*_DISTANCES, *(_FAR if lines else ())) for a in _ANGLES):
            sign = np.sign([round(math.cos(angle), 6), round(math.sin(angle), 6)])
            # The label starts after the gap, in pixels.
            gap = (radius + distance + 0.5) * scale
            half = sign * [extent.width / 2, extent.height / 2]
            across, along = gap * round(math.cos(angle), 6) + half[0], gap * round(math.sin(angle), 6) + half[1]
            low = np.array([x + across - extent.width / 2, y + along - extent.height / 2])
            high = low + extent.size
            contained = (inside.min <= low).all() and (high <= inside.max).all()
            if contained and not ((taken_low < high) & (taken_high > low)).all(axis=1).any():
                note.set_position((across / scale, along / scale))
                taken_low, taken_high = np.vstack([taken_low, low]), np.vstack([taken_high, high])
                if distance in _FAR:
                    ends = axes.transData.inverted().transform([(x, y), (x + across - half[0], y + along - half[1])])
                    # As an artist it does not change the limits of the axes.
                    axes.add_artist(Line2D(ends[:, 0], ends[:, 1], color=NOTE, linewidth=0.5, zorder=4))
                break
        else:
            note.remove()
