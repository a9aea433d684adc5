"""A grid of layers and heads, coloured by a value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator


def draw_head_grid(
    axes: Axes,
    frame: pd.DataFrame,
    value: str,
    colours: str,
    low: float,
    high: float,
    marked: Sequence[tuple[int, int]] = (),
) -> AxesImage:
    """Draw a value for every head, layer 1 at the top.

    Args:
        axes: where to draw.
        frame: one row a head: layer and head (from 1), `value`.
        value: column of the values; an absent head or NaN is left white.
        colours: matplotlib's name of the colour map.
        low, high: values of its ends.
        marked: (layer, head) that get a dot.

    Returns:
        The image, for a colour bar.
    """
    grid = frame.pivot(index="layer", columns="head", values=value).to_numpy(float)
    layers, heads = grid.shape
    image = axes.imshow(
        grid,
        cmap=colours,
        vmin=low,
        vmax=high,
        extent=(0.5, heads + 0.5, layers + 0.5, 0.5),
        aspect="auto",
        interpolation="nearest",
    )
    if marked:
        rows, columns = zip(*marked, strict=True)
        axes.plot(columns, rows, "o", color="black", markersize=2.6)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=min(layers, 12)))
    axes.set_xticks(np.arange(heads) + 0.5, minor=True)
    axes.set_yticks(np.arange(layers) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=0.4)
    axes.tick_params(which="minor", length=0)
    return image
