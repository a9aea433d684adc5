"""Mixing weights and differential scores by layer as bars (Figures 2 and A.3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.figures.style import BLACK, BLUE, GREY, ORANGE, save_figure, use_style
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.tenney2019.figure_labels import LAYER_LABEL, evaluated
from attention_atlas.studies.tenney2019.summary import FIGURE2


def draw_layer_bars(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw mixing weights and differential scores of each task side by side, for one model or several (Figure A.3).

    Args:
        path: table `FIGURE2` of `summary`; models are aligned at their last layers, as in the paper.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    sizes = table = read_table(path, FIGURE2)
    tables = {str(model): model_rows for model, model_rows in table.groupby("model", sort=False)}
    tasks = [task for task in EDGE_TASKS if any((table["task"] == task).any() for table in tables.values())]
    most = max(int(table["layer"].max()) for table in tables.values())
    use_style()
    size = (0.19 * (most + 1) + 2.4) * 2 * len(tables) ** 0.75
    figure, axes = plt.subplots(
        len(tasks),
        2 * len(tables),
        figsize=(size, 0.95 * len(tasks) + 1.0),
        constrained_layout=True,
        squeeze=False,
        sharex="col",
    )
    for pair, (title, table) in enumerate(tables.items()):
        for row, task in enumerate(tasks):
            _task_bars(axes[row, 2 * pair], axes[row, 2 * pair + 1], table[table["task"] == task])
        layers = int(table["layer"].max())
        suffix = f" ({title})" if len(tables) > 1 else ""
        axes[0, 2 * pair].set_title(f"Mixing weights s{suffix}")
        axes[0, 2 * pair + 1].set_title(f"Differential scores Δ{suffix}")
        for axis in axes[-1, 2 * pair : 2 * pair + 2]:
            axis.set_xlabel(LAYER_LABEL)
            axis.set_xlim(layers - most - 0.6, layers + 0.6)
            axis.set_xticks([k for k in range(layers + 1) if layers <= 12 or k % 4 == 0])
    for row, task in enumerate(tasks):
        axes[row, 0].set_ylabel(
            fill(EDGE_TASKS[task], 10, break_long_words=False), rotation=0, ha="right", va="center", labelpad=8
        )
    note = (
        "Left: weights of the probe on all layers, mean over seeds, lines: 95 % interval over seeds; dashed: equal weights. "
        "Right: what each layer adds to F1, as a share of the largest gain over layer 0; light: a loss. K: divergence "
        f"from equal shares in bits. Numbers on the right: F1 at layer 0 and at the last. {evaluated(sizes)} "
        f"Probes of {sizes['seeds'].iloc[0]} seeds."
    )
    save_figure(figure, pictures, "\n".join([*joint_lines(labels.values()), note]))


def _task_bars(weight_axis: Axes, score_axis: Axes, rows: pd.DataFrame) -> None:
    axes = (weight_axis, score_axis)
    if not len(rows):
        for axis in axes:
            axis.axis("off")
        return
    rows = rows.sort_values("layer")
    layers = rows["layer"].to_numpy()
    weight_axis.bar(layers, rows["weight"], color=BLUE, width=0.78)
    weight_axis.vlines(layers, rows["weight_low"], rows["weight_high"], color=BLACK, linewidth=0.9)
    weight_axis.axhline(1 / len(rows), color=GREY, linewidth=0.8, linestyle="--")
    weight_axis.set_ylim(0, 1.25 * max(rows["weight_high"].max(), 1 / len(rows)))
    weight_axis.text(0.02, 0.97, f"K(s) = {rows['k_s'].iloc[0]:.2f}", transform=weight_axis.transAxes, fontsize=7.5, va="top")
    # Without any gain there are no shares.
    gains = rows[rows["layer"] > 0].fillna({"share": 0.0})
    colours = [ORANGE if value >= 0 else "#f6dcab" for value in gains["delta"]]
    score_axis.bar(gains["layer"], gains["share"], color=colours, width=0.78)
    score_axis.axhline(0, color=BLACK, linewidth=0.6)
    low, high = min(gains["share"].min(), 0.0), max(gains["share"].max(), 0.1)
    score_axis.set_ylim(1.15 * low, 1.45 * high)
    f1_range = f"{rows['f1'].iloc[0]:.1f} → {rows['f1'].iloc[-1]:.1f}"
    noise = ", gain within noise" if rows["within_noise"].iloc[0] else ""
    spread = rows["k_delta"].iloc[0]
    words = f"K(Δ) = {spread:.2f}" if np.isfinite(spread) else "no gain"
    text = f"{words}   F1 {f1_range}{noise}"
    score_axis.text(0.98, 0.97, text, transform=score_axis.transAxes, fontsize=7.5, va="top", ha="right")
    for axis in axes:
        axis.tick_params(labelsize=7)
        axis.yaxis.set_major_locator(MaxNLocator(nbins=3))
