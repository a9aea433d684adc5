"""A heat map of all heads with its colour bar, a panel of several figures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from attention_atlas.figures.quantities import HEAD, LAYER
from attention_atlas.figures.style import BLACK, PAGE

_NUMBER = 0.22
"""Smallest width in inches per head, colour bar included, at which every head is numbered."""


def draw_head_map(
    axis: Axes,
    rows: pd.DataFrame,
    label: str,
    colours: str,
    marked: pd.DataFrame,
    low: float | None = None,
    width: float = PAGE / 2,
) -> None:
    """Draw the column `value` of all heads as a heat map with its colour bar, layer 1 at the top.

    Args:
        axis: where to draw.
        rows: layer, head and value of each head.
        label: of the colour bar.
        colours: name of the colour map.
        marked: layer and head of the heads with a dot.
        low: lower end of the colours; without it they are symmetric around 0.
        width: inches of the panel with its colour bar.
    """
    most = float(np.nanmax(np.abs(rows["value"]))) or 1.0
    sns.heatmap(
        rows.pivot(index="layer", columns="head", values="value"),
        cmap=colours,
        vmin=-most if low is None else low,
        vmax=most,
        linewidths=0.4,
        xticklabels=1 if width / rows["head"].max() > _NUMBER else 2,
        cbar_kws={"label": label, "shrink": 0.85},
        ax=axis,
    )
    # The cell of layer 1 and head 1 has its centre at (0.5, 0.5).
    axis.plot(marked["head"] - 0.5, marked["layer"] - 0.5, "o", color=BLACK, markersize=2.2, markeredgewidth=0)
    axis.tick_params(rotation=0, length=0)
    axis.set_xlabel(HEAD)
    axis.set_ylabel(LAYER)
