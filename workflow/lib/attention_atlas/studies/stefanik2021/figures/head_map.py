"""A map of all heads with its colour bar, a panel of several figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from attention_atlas.figures.head_grid import draw_head_grid


def draw_head_map(
    axis: Axes, rows: pd.DataFrame, label: str, colours: str, marked: pd.DataFrame, low: float | None = None
) -> None:
    """Draw the column `value` of all heads as a grid with its colour bar.

    Args:
        axis: where to draw.
        rows: layer, head and value of each head.
        label: of the colour bar.
        colours: name of the colour map.
        marked: heads that get a dot.
        low: lower end of the colours; without it they are symmetric around 0.
    """
    most = float(np.nanmax(np.abs(rows["value"]))) or 1.0
    heads = [(int(row.layer), int(row.head)) for row in marked.itertuples()]
    image = draw_head_grid(axis, rows, "value", colours, -most if low is None else low, most, heads)
    axis.set_xlabel("Head")
    axis.set_ylabel("Layer")
    axis.figure.colorbar(image, ax=axis, shrink=0.85, label=label)
