"""Figure 6: heads in the plane, by behaviour and by layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import ascii_lowercase

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table

_BEHAVIOUR_STYLES = {
    "none": ("no clear behaviour", GREY, "o"),
    "next": ("next token", VERMILION, ">"),
    "previous": ("previous token", BLUE, "<"),
    "broad": ("broad attention", ORANGE, "^"),
    "cls": ("to [CLS]", GREEN, "P"),
    "sep": ("to [SEP]", SKY, "D"),
    "punctuation": ("to . and ,", PURPLE, "s"),
}


def figure6(
    heads_path: str | Path,
    layers_path: str | Path,
    test_path: str | Path,
    segments_path: str | Path,
    label: RunLabel,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw the layout by behaviour and by layer, and the mean divergence by the distance between layers.

    Args:
        heads_path, layers_path, test_path: tables of `clustering`.
        segments_path: summary of the segments.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    heads = read_table(heads_path, ["layer", "head", "x", "y", "behaviour", "relation"])
    distances = read_table(layers_path, ["layer_distance", "js", "ci_low", "ci_high"])
    test = read_quantities(test_path)
    segments = read_quantities(segments_path)
    use_style()
    figure, panels = plt.subplots(1, 3, figsize=(11.4, 4.9), constrained_layout=True, width_ratios=[1, 1.12, 0.62])
    # Both axes of both panels have the same scale.
    reach = 1.08 * float(heads[["x", "y"]].abs().to_numpy().max())
    _by_behaviour(panels[0], heads)
    _by_layer(figure, panels[1], heads)
    _by_distance(panels[2], distances)
    for axes in panels[:2]:
        axes.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach))
        axes.set_xlabel("MDS axis 1 (nats a token)")
        axes.set_ylabel("MDS axis 2 (nats a token)")
    footnote = (
        f"{label.line}\n{len(heads)} heads, n = {int(segments['segments'])} segments. Stress {test['stress']:.2f}; within "
        f"layers {test['within_layer']:.3f}, between layers {test['between_layers']:.3f} nats a token, permutation p = "
        f"{test['permutation_p']:.2g}.\nThe plane depends on its random start: Procrustes disparity with layouts from other "
        f"seeds {test['procrustes_mean']:.2f} on average, {test['procrustes_max']:.2f} at most (0: the same picture, 1: "
        "another one)."
    )
    save_figure(figure, pictures, footnote)


def _by_behaviour(axes: Axes, heads: pd.DataFrame) -> None:
    for name, (label, colour, marker) in _BEHAVIOUR_STYLES.items():
        behaviour_heads = heads[heads["behaviour"] == name]
        if not behaviour_heads.empty:
            axes.scatter(
                behaviour_heads["x"],
                behaviour_heads["y"],
                s=30,
                color=colour,
                marker=marker,
                alpha=0.85,
                linewidths=0,
                label=label,
            )
    marked = heads[heads["relation"].notna()].sort_values(["layer", "head"], ignore_index=True)
    places = marked[["x", "y"]].to_numpy(float)
    for letter, row in zip(ascii_lowercase, marked.itertuples(), strict=False):
        label = f"{letter}: {row.relation} ({row.layer}-{row.head})"
        axes.scatter([row.x], [row.y], s=95, facecolors="none", edgecolors="black", linewidths=1.1, label=label)
        # A letter is placed on the side away from the nearest ring.
        away = places[row.Index] - np.delete(places, row.Index, axis=0)
        nearest = away[np.square(away).sum(axis=1).argmin()] if len(away) else np.ones(2)
        offset = 10 * nearest / np.hypot(*nearest) if nearest.any() else np.array([7.0, 7.0])
        axes.annotate(
            letter,
            (row.x, row.y),
            xytext=tuple(offset),
            textcoords="offset points",
            fontsize=8.5,
            fontweight="bold",
            ha="center",
            va="center",
        )
    axes.set_title("By behaviour", loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, columnspacing=1.0, handletextpad=0.2)


def _by_layer(figure: Figure, axes: Axes, heads: pd.DataFrame) -> None:
    layers = int(heads["layer"].max())
    bounds = np.arange(0.5, layers + 1)
    colours = plt.get_cmap("viridis", layers)
    points = axes.scatter(
        heads["x"], heads["y"], s=30, c=heads["layer"], cmap=colours, norm=BoundaryNorm(bounds, layers), alpha=0.9, linewidths=0
    )
    axes.set_title("By layer", loc="left")
    step = max(1, layers // 12)
    figure.colorbar(points, ax=axes, label="Layer", ticks=range(1, layers + 1, step), shrink=0.8)


def _by_distance(axes: Axes, distances: pd.DataFrame) -> None:
    errors = [distances["js"] - distances["ci_low"], distances["ci_high"] - distances["js"]]
    axes.errorbar(distances["layer_distance"], distances["js"], yerr=errors, color=BLUE, marker="o", markersize=4, capsize=2)
    axes.set_title("By distance of layers", loc="left")
    axes.set_xlabel("Layers apart (0: the same layer)")
    axes.set_ylabel("Mean divergence (nats a token)")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 2.5, 5, 10], integer=True))
