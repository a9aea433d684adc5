"""Mixing weights and differential scores by layer as bars (Figures 2 and A.3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.figures.intervals import INTERVAL, VALUE, interval_rows
from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    PAGE,
    TALLEST,
    footnote,
    plain,
    save_figure,
    use_style,
)
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.tenney2019.figure_labels import LAYER_LABEL, NOISE, counted, task_label
from attention_atlas.studies.tenney2019.published_layers import published_beside
from attention_atlas.studies.tenney2019.summary import FIGURE2

_LOSS = "#f6dcab"
_NOISE = "noise"
_PUBLISHED: dict[str, Any] = {"color": BLACK, "linestyle": "-", "linewidth": 0.8}
"""Style of published layers: a line, since there is no room for a mark at each layer."""
_SMALL = 6.5
"""Font size in points of the numbers above a panel."""


def draw_layer_bars(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw mixing weights and differential scores of each task side by side, for one model or several (Figure A.3).

    Args:
        path: table `FIGURE2` of `summary`; models are aligned at their last layers, as in the paper.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE2)
    models = {str(model): model_rows for model, model_rows in table.groupby("model", sort=False)}
    tasks = [task for task in EDGE_TASKS if (table["task"] == task).any()]
    most = int(table["layer"].max())
    use_style()
    figure = plt.figure(figsize=(PAGE, min(0.86 * len(tasks) + 0.9, TALLEST - 0.7)), layout="constrained")
    parts = figure.subfigures(1, len(models), squeeze=False)[0]
    beside = {}
    for part, (model, rows) in zip(parts, models.items(), strict=True):
        axes = part.subplots(len(tasks), 2, squeeze=False, sharex=True)
        published = published_beside(int(rows["layer"].max()))
        beside[published.label] = Line2D([], [], label=published.label, **_PUBLISHED)
        weights, shares = published.weights(), published.shares()
        # Beside a second model there is no room for the paper's divergences.
        of_weights, of_shares = (published.divergences(name) if len(models) == 1 else {} for name in ("K_s", "K_delta"))
        for (weight_axis, score_axis), task in zip(axes, tasks, strict=True):
            task_rows = rows[rows["task"] == task].sort_values("layer")
            if not len(task_rows):
                weight_axis.axis("off")
                score_axis.axis("off")
                continue
            _weights(weight_axis, task_rows, weights[weights["task"] == task], of_weights.get(task))
            _shares(score_axis, task_rows, shares[shares["task"] == task], of_shares.get(task))
        _label(axes, rows, most)
        if len(models) > 1:
            part.suptitle(plain(fill(model, 44)), fontsize=8, fontweight="bold")
        if part is parts[0]:
            for axis, task in zip(axes[:, 0], tasks, strict=True):
                name = task_label(table, task, 12)
                axis.set_ylabel(name, rotation=0, ha="right", va="center", labelpad=4, fontsize=7)
    equal = Line2D([], [], color=GREY, linewidth=0.8, linestyle="--", label="equal weights")
    loss = Line2D([], [], color=_LOSS, marker="s", linestyle="none", label="negative gain")
    noise = Line2D([], [], linestyle="none", label=f"({_NOISE}): {NOISE}, no shares drawn")
    legend_below(figure, [], 2, [equal, loss, *beside.values(), noise])
    save_figure(figure, pictures, footnote(labels.values(), counted(table)))


def _label(axes: np.ndarray, rows: pd.DataFrame, most: int) -> None:
    layers = int(rows["layer"].max())
    for axis, title in zip(axes[0], ("Mixing weights s", "Share of the gain by layer"), strict=True):
        axis.set_title(title, pad=14, fontsize=7)
    for axis in axes[-1]:
        axis.set_xlabel(LAYER_LABEL, fontsize=7)
        axis.set_xlim(layers - most - 0.6, layers + 0.6)
        axis.set_xticks([layer for layer in range(layers + 1) if layers <= 8 or layer % (3 if layers <= 12 else 6) == 0])
    for axis in axes.flat:
        axis.tick_params(labelsize=_SMALL)
        axis.yaxis.set_major_locator(MaxNLocator(nbins=2))


def _weights(axis: Axes, rows: pd.DataFrame, published: pd.DataFrame, in_paper: float | None) -> None:
    weights = rows.rename(columns={"weight": "value", "weight_low": "ci_low", "weight_high": "ci_high"})
    _bars(axis, interval_rows(weights[["layer", "value", "ci_low", "ci_high"]]), color=BLUE)
    axis.axhline(1 / len(rows), color=GREY, linewidth=0.8, linestyle="--")
    _published(axis, published)
    axis.set_ylim(0, 1.08 * max(rows["weight_high"].max(), rows["weight"].max(), published["value"].max(), 1 / len(rows)))
    _above(axis, _divergence("K(s)", rows["k_s"].iloc[0], in_paper))


def _divergence(name: str, value: float, in_paper: float | None) -> str:
    """A divergence in words, with that of the paper where it is published."""
    return f"{name} = {value:.2f}" + ("" if in_paper is None else f" (paper {in_paper:.2f})")


def _shares(axis: Axes, rows: pd.DataFrame, published: pd.DataFrame, in_paper: float | None) -> None:
    f1_range = f"F1 {rows['f1'].iloc[0]:.1f} → {rows['f1'].iloc[-1]:.1f}"
    # A share of a gain that is noise can be of any size and sign.
    noise = bool(rows["within_noise"].iloc[0]) or not np.isfinite(rows["k_delta"].iloc[0])
    if noise:
        _above(axis, f"{f1_range} ({_NOISE})")
    else:
        gains = rows[rows["layer"] > 0]
        signed = gains.rename(columns={"share": "value", "share_low": "ci_low", "share_high": "ci_high"})
        signed = signed[["layer", "value", "ci_low", "ci_high"]].assign(loss=signed["value"] < 0)
        _bars(axis, interval_rows(signed), hue="loss", palette={False: ORANGE, True: _LOSS})
        _above(axis, f"{_divergence('K(Δ)', rows['k_delta'].iloc[0], in_paper)}   {f1_range}")
    _published(axis, published)
    axis.axhline(0, color=BLACK, linewidth=0.6)


def _bars(axis: Axes, rows: pd.DataFrame, **colours: Any) -> None:
    sns.barplot(
        rows,
        x="layer",
        y="value",
        dodge=False,
        legend=False,
        saturation=1,
        width=0.78,
        native_scale=True,
        estimator=VALUE,
        errorbar=INTERVAL,
        err_kws={"color": BLACK, "linewidth": 0.8},
        linewidth=0,
        ax=axis,
        **colours,
    )
    axis.set_xlabel("")
    axis.set_ylabel("")


def _published(axis: Axes, rows: pd.DataFrame) -> None:
    axis.plot(rows["layer"], rows["value"], **_PUBLISHED)


def _above(axis: Axes, words: str) -> None:
    # Higher than half a tick label, which may stand at the top of the axis.
    place: dict[str, Any] = {"xycoords": "axes fraction", "xytext": (0, 4), "textcoords": "offset points"}
    axis.annotate(words, (1, 1), **place, fontsize=_SMALL, ha="right", va="bottom")
