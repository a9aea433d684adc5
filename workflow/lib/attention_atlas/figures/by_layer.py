"""Dots for heads and a line for their mean, over the layers of a model."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import GREY


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


def draw_range(axes: Axes, frame: pd.DataFrame, series: list[Series], column: str, value: str, label: str) -> None:
    """Draw the range over the heads of a layer as a grey band and their mean as a dashed line, for each measure.

    Args:
        axes, frame, series, column, value: as of `draw_by_layer`.
        label: what the bands are.
    """
    present = [s for s in series if (frame[column] == s.key).any()]
    for place, s in enumerate(present):
        by_layer = frame[frame[column] == s.key].groupby("layer")[value]
        low, mean, high = by_layer.min(), by_layer.mean(), by_layer.max()
        shown = label if place == 0 else None
        axes.fill_between(mean.index, low, high, color=GREY, alpha=0.3, linewidth=0, label=shown)
        axes.plot(mean.index, mean, color=GREY, linestyle="--", linewidth=1.0, marker=s.marker, markersize=3)
