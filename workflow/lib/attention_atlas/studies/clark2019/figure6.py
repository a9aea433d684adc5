"""Figure 6: heads in the plane, by behaviour and by layer, and how stable the plane is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.by_layer import values_from_zero
from attention_atlas.figures.point_labels import label_points
from attention_atlas.figures.quantities import (
    DIVERGENCE,
    LAYER,
    TO_CLS,
    TO_NEXT,
    TO_PREVIOUS,
    TO_PUNCTUATION,
    TO_SEP,
)
from attention_atlas.figures.style import BLACK, BLUE, GREY, PAGE, SKY, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table

_BEHAVIOURS = {
    "none": ("no clear behaviour", GREY, "o"),
    "next": (f"to the {TO_NEXT.name}", TO_NEXT.colour, TO_NEXT.marker),
    "previous": (f"to the {TO_PREVIOUS.name}", TO_PREVIOUS.colour, TO_PREVIOUS.marker),
    "broad": ("broad attention", SKY, "X"),
    "cls": ("to [CLS]", TO_CLS.colour, "D"),
    "sep": ("to [SEP]", TO_SEP.colour, TO_SEP.marker),
    "punctuation": ("to . and ,", TO_PUNCTUATION.colour, TO_PUNCTUATION.marker),
}
_MARKS: dict[str, Any] = {"s": 22, "linewidth": 0.3, "edgecolor": "white", "legend": False}
_LAYERS, _LIGHTEST = "viridis", 0.9
"""Colour map of layers, and its lightest colour as a share: still visible on white, and distinct for colour-blind readers."""
_AXIS = "MDS axis {number} (nats per token)"


def figure6(
    heads_path: str | Path,
    layers_path: str | Path,
    starts_path: str | Path,
    test_path: str | Path,
    segments_path: str | Path,
    label: RunLabel,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw the plane by behaviour, by layer and from other random starts, and the divergence by the distance between layers.

    Args:
        heads_path, layers_path, starts_path, test_path: tables of `clustering`.
        segments_path: summary of the segments.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    heads = read_table(heads_path, ["layer", "head", "x", "y", "behaviour", "relation"])
    distances = read_table(layers_path, ["layer_distance", "js", "ci_low", "ci_high"])
    starts = read_table(starts_path, ["start", "layer", "head", "x", "y"])
    test = read_quantities(test_path)
    segments = int(read_quantities(segments_path)["segments"])
    figure, grid = page_figure(2, 2, PAGE, 6.6)
    behaviour, layer, start, apart = grid.flat
    handles = _by_behaviour(behaviour, heads)
    _by_layer(figure, layer, heads)
    _by_start(start, heads, starts, test)
    _by_distance(apart, distances)
    for axes in (behaviour, layer, start):
        axes.set_aspect("equal", adjustable="datalim")
        axes.set(xlabel=_AXIS.format(number=1), ylabel=_AXIS.format(number=2))
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
    marked = heads[heads["relation"].notna()].sort_values(["layer", "head"], ignore_index=True)
    for letter, row in zip(ascii_lowercase, marked.itertuples(), strict=False):
        name = f"{letter}: {row.relation} ({row.layer}-{row.head})"
        handles.append(Line2D([], [], linestyle="none", marker="o", markersize=6, color="none", mec=BLACK, label=name))
    longest = max(len(str(handle.get_label())) for handle in handles)
    figure.legend(handles=handles, loc="outside lower center", ncols=4 if longest < 26 else 3, columnspacing=1.0)
    points = list(zip(marked["x"], marked["y"], strict=True))
    marks = list(zip(heads["x"], heads["y"], strict=True))
    label_points(behaviour, points, list(ascii_lowercase[: len(points)]), 8, 3.5, marks, lines=True, fontweight="bold")
    save_figure(figure, pictures, footnote(label, f"n = {segments} segments, {len(heads)} heads"))


def _by_behaviour(axes: Axes, heads: pd.DataFrame) -> list[Line2D]:
    present = {name: style for name, style in _BEHAVIOURS.items() if (heads["behaviour"] == name).any()}
    sns.scatterplot(
        heads,
        x="x",
        y="y",
        hue="behaviour",
        style="behaviour",
        palette={name: colour for name, (_, colour, _) in present.items()},
        markers={name: marker for name, (_, _, marker) in present.items()},
        ax=axes,
        **_MARKS,
    )
    marked = heads[heads["relation"].notna()]
    axes.scatter(marked["x"], marked["y"], s=60, facecolors="none", edgecolors=BLACK, linewidths=0.9)
    axes.set_title("By behaviour")
    return [
        Line2D([], [], linestyle="none", marker=marker, color=colour, label=title) for title, colour, marker in present.values()
    ]


def _by_layer(figure: Figure, axes: Axes, heads: pd.DataFrame) -> None:
    layers = int(heads["layer"].max())
    steps = np.linspace(0, _LIGHTEST, layers)
    palette = dict(zip(range(1, layers + 1), plt.get_cmap(_LAYERS)(steps).tolist(), strict=True))
    sns.scatterplot(heads, x="x", y="y", hue="layer", palette=palette, ax=axes, **_MARKS)
    shown = ListedColormap(list(palette.values()))
    scale = plt.cm.ScalarMappable(BoundaryNorm(np.arange(0.5, layers + 1), layers), shown)
    figure.colorbar(scale, ax=axes, label=LAYER, ticks=range(1, layers + 1, max(1, layers // 12)), pad=0.02)
    axes.set_title("By layer")


def _by_start(axes: Axes, heads: pd.DataFrame, starts: pd.DataFrame, test: Mapping[str, float]) -> None:
    moved = starts.merge(heads[["layer", "head", "x", "y"]], on=["layer", "head"], suffixes=("", "_first"))
    lines = moved[["x_first", "y_first", "x", "y"]].to_numpy(float).reshape(-1, 2, 2)
    axes.add_collection(LineCollection(list(lines), colors=GREY, linewidths=0.4, alpha=0.5, zorder=1))
    sns.scatterplot(heads, x="x", y="y", color=BLUE, ax=axes, **_MARKS)
    axes.set_title(
        f"Positions in {starts['start'].nunique()} layouts from other random starts\n"
        f"(RMS displacement {test['displacement_mean']:.3f}, RMS radius {test['layout_radius']:.3f})"
    )


def _by_distance(axes: Axes, distances: pd.DataFrame) -> None:
    errors = [distances["js"] - distances["ci_low"], distances["ci_high"] - distances["js"]]
    sns.lineplot(distances, x="layer_distance", y="js", color=BLUE, linewidth=0.8, marker="o", ms=2, mew=0, ax=axes)
    axes.errorbar(distances["layer_distance"], distances["js"], yerr=errors, fmt="none", color=BLACK, capsize=3, elinewidth=0.8)
    axes.set_title("By distance of layers, with 95 % intervals")
    axes.set(xlabel="Layers apart (0: same layer)", ylabel=DIVERGENCE.axis)
    values_from_zero(axes, distances["ci_high"].tolist())
    axes.xaxis.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 2.5, 5, 10], integer=True))
