"""Heads as dots, their mean as a line, and published values, over the layers of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLACK, GREY, LAYER, NOTE, PUBLISHED, Quantity


def draw_by_layer(
    axes: Axes,
    frame: pd.DataFrame,
    series: Sequence[tuple[str, Quantity]],
    column: str,
    value: str,
    published: pd.DataFrame | None = None,
) -> None:
    """Draw every head as a mark and the mean over the heads of a layer as a line.

    In a panel of one series the marks are dots. frame: one row per head: `column`, layer, head, `value`; series: (value of
    `column`, how it is drawn), skipped if missing from `frame`; published: `column`, layer, value, drawn as hollow marks.
    """
    present = [(key, drawn) for key, drawn in series if (frame[column] == key).any()]
    if not present:
        axes.text(0.5, 0.5, "the model has no such token", transform=axes.transAxes, ha="center", color=NOTE)
    for place, (key, drawn) in enumerate(present):
        heads = frame[frame[column] == key]
        # The heads of a layer are drawn side by side, in order, so that they do not overlap: over half the way to the next.
        width = 0.5 / len(present)
        rank = heads.groupby("layer")["head"].rank()
        beside = (rank - 0.5) / rank.max() - 0.5
        dots = heads.assign(layer=heads["layer"] + width * (beside + place - (len(present) - 1) / 2))
        style = {"color": drawn.colour, "ax": axes, "legend": False}
        marker = "o" if len(present) == 1 else drawn.marker
        sns.scatterplot(dots, x="layer", y=value, s=9, marker=marker, alpha=0.55, linewidth=0, zorder=3, **style)
        sns.lineplot(heads, x="layer", y=value, estimator="mean", errorbar=None, zorder=2, label=drawn.name, **style)
    layers = int(frame["layer"].max())
    if published is not None and not published.empty:
        layers = max(layers, int(published["layer"].max()))
        for key, drawn in present:
            points = published[published[column] == key].sort_values("layer")
            axes.plot(points["layer"], points["value"], **PUBLISHED | {"color": drawn.colour}, linestyle=":", linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=min(layers, 12)))
    axes.set(xlabel=LAYER, ylabel="", xlim=(0.4, layers + 0.6))


def draw_range(axes: Axes, heads: pd.DataFrame, value: str) -> None:
    """Draw the range over the heads of a layer as a grey band and their mean as a dashed line; nothing without heads."""
    if heads.empty:
        return
    style = {"color": GREY, "linestyle": "--", "linewidth": 1.0, "zorder": 1, "ax": axes, "legend": False}
    sns.lineplot(heads, x="layer", y=value, errorbar=("pi", 100), err_kws={"alpha": 0.3, "linewidth": 0}, **style)


def layer_legend(series: Sequence[Quantity], random: bool = False, published: str = "") -> list[Line2D]:
    """Handles of a legend for what `draw_by_layer` and `draw_range` draw; a single series is labelled as head and mean.

    random: whether there are bands; published: source of the published values; empty if there are none.
    """
    handles: list[Line2D] = []
    if len(series) == 1:
        drawn = series[0]
        dot: dict[str, Any] = {"linestyle": "none", "alpha": 0.55, "markersize": 3.5, "markeredgewidth": 0}
        handles += [Line2D([], [], color=drawn.colour, marker="o", label="one head", **dot)]
        handles += [Line2D([], [], color=drawn.colour, label="mean of the layer")]
    else:
        handles += [Line2D([], [], color=drawn.colour, marker=drawn.marker, label=drawn.name) for drawn in series]
    if random:
        label = "random weights: mean and range"
        handles.append(Line2D([], [], color=GREY, linestyle="--", linewidth=1.0, label=label))
    if published:
        style = PUBLISHED | {"color": series[0].colour if len(series) == 1 else BLACK}
        handles.append(Line2D([], [], **style, linestyle=":", linewidth=0.8, label=f"published ({published})"))
    return handles


def values_from_zero(axes: Axes, values: Sequence[float]) -> None:
    """Make a vertical axis run from 0 to slightly above the largest value."""
    top = max([0.0, *(float(value) for value in values if np.isfinite(value))])
    axes.set_ylim(0, 1.06 * top if top else 1)
