"""A grid of layers and heads, coloured by a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap

_HEAD_TICKS, _LAYER_TICKS = 4, 8
"""Maximum number of ticks of an axis."""
_LINED = 24
"""Maximum number of rows or columns for lines between cells."""


def draw_head_grid(
    axes: Axes,
    frame: pd.DataFrame,
    value: str,
    colours: str,
    low: float,
    high: float,
    marked: Sequence[tuple[int, int]] = (),
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
    number_ticks(axes, "x", heads, _HEAD_TICKS)
    number_ticks(axes, "y", layers, _LAYER_TICKS)
    return image


def draw_cells(axes: Axes, grid: npt.NDArray[np.float64], colours: str | Colormap, low: float, high: float) -> QuadMesh:
    """Draw [row, column] values as cells without ticks; NaN stays white."""
    # Rasterised in SVG and PDF: thousands of cells would be thousands of paths.
    style = {"linewidths": 0.3 if max(grid.shape) <= _LINED else 0, "linecolor": "white", "rasterized": True}
    with _without_drawing(axes):
        sns.heatmap(grid, cmap=colours, vmin=low, vmax=high, cbar=False, xticklabels=False, yticklabels=False, ax=axes, **style)
    axes.set(xlabel="", ylabel="")
    axes.spines[:].set_visible(True)
    image = axes.collections[-1]
    assert isinstance(image, QuadMesh)
    return image


@contextmanager
def _without_drawing(axes: Axes) -> Iterator[None]:
    """Keep seaborn from drawing the whole figure after each heat map (to rotate crowded labels), which takes seconds."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    canvas = figure.canvas
    FigureCanvasBase(figure)
    try:
        yield
    finally:
        figure.set_canvas(canvas)


def number_ticks(axes: Axes, axis: str, count: int, most: int) -> None:
    """Ticks at cells 1 to `count` of an axis, at regular steps such that at most `most` are numbered."""
    step = -(-count // most)
    numbers = range(step, count + 1, step)
    places = [number - 0.5 for number in numbers]
    if axis == "x":
        axes.set_xticks(places, [str(number) for number in numbers], rotation=0)
    else:
        axes.set_yticks(places, [str(number) for number in numbers], rotation=0)
