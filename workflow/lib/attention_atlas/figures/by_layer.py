"""Dots for heads and a line for their mean, over the layers of a model."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator


@dataclass(frozen=True)
class Series:
    """How one measure is drawn."""

    key: str
    label: str
    colour: str
    marker: str


def draw_by_layer(axes: Axes, frame: pd.DataFrame, series: list[Series], column: str, value: str) -> None:
    """Draw every head as a dot and the mean over the heads of a layer as a line.

    Args:
        axes: where to draw.
        frame: one row a head: `column`, layer (1-indexed), `value`.
        series: the measures, in order; one that `frame` lacks is left out, and a panel without any says so.
        column: column that names the measure.
        value: column of the values.
    """
    present = [s for s in series if (frame[column] == s.key).any()]
    if not present:
        axes.text(0.5, 0.5, "the model has no such token", transform=axes.transAxes, ha="center", color="#555555")
    for place, s in enumerate(present):
        heads = frame[frame[column] == s.key]
        shift = 0.16 * (place - (len(present) - 1) / 2)
        axes.scatter(heads["layer"] + shift, heads[value], s=13, color=s.colour, marker=s.marker, alpha=0.55, linewidths=0)
        mean = heads.groupby("layer")[value].mean()
        axes.plot(mean.index, mean.to_numpy(), color=s.colour, linewidth=1.8, marker=s.marker, markersize=4, label=s.label)
    layers = int(frame["layer"].max())
    axes.set_xlim(0.5, layers + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=min(layers, 24)))
    axes.set_xlabel("Layer")
