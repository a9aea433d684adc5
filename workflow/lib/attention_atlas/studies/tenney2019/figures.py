"""Figures 1 to 3, and Figure 2 of a second model (A.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill, shorten
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.figures.style import BLACK, BLUE, GREY, ORANGE, save_figure, use_style
from attention_atlas.io.setting import Setting, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.tenney2019.summary import FIGURE1, FIGURE2
from attention_atlas.studies.tenney2019.traces import FIGURE3

Pictures = Mapping[str, str | Path]
_LAYER = "Layer (0: input of the first layer)"
_MOST_TARGETS = 4
"""Targets of a sentence that are drawn."""


def figure1(path: str | Path, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw where each task is solved: expected layer and centre of gravity with intervals, F1 at both ends beside them.

    Args:
        path: table `FIGURE1` of `summary`.
        settings: task -> what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE1)
    use_style()
    figure, axis = plt.subplots(figsize=(7.4, 0.62 * len(table) + 1.2), constrained_layout=True)
    layers = int(table["layers"].max())
    rows = np.arange(len(table))
    kinds = (
        ("expected_layer", ("expected_low", "expected_high"), BLUE, "o", -0.16, "Expected layer (cumulative scores)"),
        ("centre", ("centre_low", "centre_high"), ORANGE, "s", 0.16, "Centre of gravity (mixing weights)"),
    )
    for column, ends, colour, mark, shift, label in kinds:
        low, high = (table[name].clip(-0.5, layers + 0.5) for name in ends)
        axis.hlines(rows + shift, low, high, color=colour, linewidth=1.6)
        axis.scatter(table[column], rows + shift, color=colour, marker=mark, s=34, zorder=3, label=label)
    for row, noise in zip(rows, table["noise"], strict=True):
        if noise:
            axis.text(0, row - 0.16, "gain within noise", color=BLUE, fontsize=7.5, va="center", style="italic")
    edge = layers + 0.5
    axis.text(edge + 0.3, -0.95, f"F1 at 0    at {layers}", fontsize=8.5, va="center")
    for row, first, last in zip(rows, table["f1_first"], table["f1_last"], strict=True):
        axis.text(edge + 0.3, row, f"{first:5.1f}     {last:5.1f}", fontsize=8.5, va="center")
    axis.set_xlim(-0.5, edge)
    axis.set_ylim(len(table) - 0.4, -0.6)
    axis.set_yticks(rows, [EDGE_TASKS[task] for task in table["task"]])
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_xlabel(_LAYER)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
    sizes = ", ".join(f"{EDGE_TASKS[row.task]} {row.sentences}" for row in table.itertuples())
    note = (
        f"Lines: 95 % intervals, of expected layers by bootstrap over sentences and {table['seeds'].iloc[0]} seeds, of centres "
        f"over seeds alone. Sentences evaluated: {sizes}."
    )
    save_figure(figure, pictures, "\n".join([*_lines(settings), note]))


def figure2(path: str | Path, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw mixing weights and differential scores of each task side by side, for one model or several (Figure A.3).

    Args:
        path: table `FIGURE2` of `summary`; models are aligned at their last layers, as in the paper.
        settings: task -> what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE2)
    tables = {str(model): own for model, own in table.groupby("model", sort=False)}
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
            _task_bars(axes[row, 2 * pair : 2 * pair + 2], table[table["task"] == task], most)
        layers = int(table["layer"].max())
        suffix = f" ({title})" if len(tables) > 1 else ""
        axes[0, 2 * pair].set_title(f"Mixing weights s{suffix}")
        axes[0, 2 * pair + 1].set_title(f"Differential scores Δ{suffix}")
        for axis in axes[-1, 2 * pair : 2 * pair + 2]:
            axis.set_xlabel(_LAYER)
            axis.set_xlim(layers - most - 0.6, layers + 0.6)
            axis.set_xticks([k for k in range(layers + 1) if layers <= 12 or k % 4 == 0])
    for row, task in enumerate(tasks):
        axes[row, 0].set_ylabel(
            fill(EDGE_TASKS[task], 10, break_long_words=False), rotation=0, ha="right", va="center", labelpad=8
        )
    note = (
        "Left: weights of the probe on all layers, mean over seeds, lines: 95 % interval over seeds; dashed: equal weights. "
        "Right: what each layer adds to F1, as a share of the largest gain over layer 0; light: a loss. K: divergence "
        "from equal shares in bits. Numbers on the right: F1 at layer 0 and at the last."
    )
    save_figure(figure, pictures, "\n".join([*_lines(settings), note]))


def _task_bars(axes: Sequence[Axes], rows: pd.DataFrame, most: int) -> None:
    left, right = axes
    if not len(rows):
        for axis in axes:
            axis.axis("off")
        return
    rows = rows.sort_values("layer")
    layers = rows["layer"].to_numpy()
    left.bar(layers, rows["weight"], color=BLUE, width=0.78)
    left.vlines(layers, rows["weight_low"], rows["weight_high"], color=BLACK, linewidth=0.9)
    left.axhline(1 / len(rows), color=GREY, linewidth=0.8, linestyle="--")
    left.set_ylim(0, 1.25 * max(rows["weight_high"].max(), 1 / len(rows)))
    left.text(0.02, 0.97, f"K(s) = {rows['k_s'].iloc[0]:.2f}", transform=left.transAxes, fontsize=7.5, va="top")
    # Without any gain there are no shares.
    gains = rows[rows["layer"] > 0].fillna({"share": 0.0})
    colours = [ORANGE if value >= 0 else "#f6dcab" for value in gains["delta"]]
    right.bar(gains["layer"], gains["share"], color=colours, width=0.78)
    right.axhline(0, color=BLACK, linewidth=0.6)
    low, high = min(gains["share"].min(), 0.0), max(gains["share"].max(), 0.1)
    right.set_ylim(1.15 * low, 1.45 * high)
    ends = f"{rows['f1'].iloc[0]:.1f} → {rows['f1'].iloc[-1]:.1f}"
    noise = ", gain within noise" if rows["noise"].iloc[0] else ""
    spread = rows["k_delta"].iloc[0]
    words = f"K(Δ) = {spread:.2f}" if np.isfinite(spread) else "no gain"
    right.text(0.98, 0.97, f"{words}   F1 {ends}{noise}", transform=right.transAxes, fontsize=7.5, va="top", ha="right")
    for axis in axes:
        axis.tick_params(labelsize=7)
        axis.yaxis.set_major_locator(MaxNLocator(nbins=3))


def figure3(path: str | Path, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw what probes say of single targets by layer: the right label and the likeliest wrong one.

    Args:
        path: table of `traces.traced_sentences`.
        settings: task -> what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE3)
    use_style()
    groups = [(number, _most_told(own)) for number, own in table.groupby("sentence")]
    if not groups:
        figure, axis = plt.subplots(figsize=(6, 1.2))
        axis.axis("off")
        axis.text(0.5, 0.5, "no sentence has more than one target in doubt", ha="center", va="center")
        save_figure(figure, pictures, "\n".join(_lines(settings)))
        return
    columns = max(len(targets) for _, targets in groups)
    figure = plt.figure(figsize=(2.45 * columns, 2.0 * len(groups)), constrained_layout=True)
    parts = np.atleast_1d(figure.subfigures(len(groups), 1))
    for part, (_, targets) in zip(parts, groups, strict=True):
        words = shorten(str(targets[0]["words"].iloc[0]), 34 * columns, placeholder=" …")
        part.suptitle(words, x=0.01, ha="left", fontsize=8.5, style="italic")
        axes = part.subplots(1, columns, sharey=True, squeeze=False)[0]
        for axis in axes[len(targets) :]:
            axis.axis("off")
        for axis, target in zip(axes, targets, strict=False):
            _trace(axis, target)
        axes[0].set_ylabel("Probability")
    note = (
        "Blue: the right label; orange: the wrong one with the highest mean over layers. Probabilities divided by their sum "
        "over labels, mean over seeds. Sentences of the paper first, where the run has their labels; then those of the "
        "development set with the most targets in doubt (no label above 0.7 in the mean over layers)."
    )
    save_figure(figure, pictures, "\n".join([*_lines(settings), note]))


def _most_told(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Targets of a sentence, one of each task first, in the paper's order of tasks."""
    own = [group for _, group in rows.groupby(["task", "target"], sort=False)]
    seen: dict[str, int] = {}
    ranked = []
    for group in own:
        task = str(group["task"].iloc[0])
        seen[task] = seen.get(task, 0) + 1
        ranked.append((seen[task], list(EDGE_TASKS).index(task), group))
    chosen = sorted(range(len(ranked)), key=lambda k: ranked[k][:2])[:_MOST_TARGETS]
    return [ranked[k][2] for k in sorted(chosen, key=lambda k: (ranked[k][1], ranked[k][0]))]


def _trace(axis: Axes, rows: pd.DataFrame) -> None:
    for gold, colour, shift in ((1, BLUE, -0.2), (0, ORANGE, 0.2)):
        own = rows[rows["gold"] == gold].sort_values("layer")
        axis.bar(own["layer"] + shift, own["probability"], width=0.4, color=colour, label=str(own["label"].iloc[0]))
    second = rows["span2"].iloc[0]
    asked = shorten(str(rows["span1"].iloc[0]), 22, placeholder="…")
    if isinstance(second, str) and second:
        asked += " → " + shorten(second, 22, placeholder="…")
    axis.set_title(f"{EDGE_TASKS[rows['task'].iloc[0]]}: {asked}", fontsize=7.5)
    axis.set_ylim(0, 1.3)
    axis.set_yticks([0, 0.5, 1])
    axis.set_xlabel("Layer", fontsize=7.5)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.tick_params(labelsize=7)
    axis.legend(fontsize=7, loc="upper center", ncols=2, handlelength=1, columnspacing=1)


def _lines(settings: Mapping[str, Setting]) -> list[Any]:
    return joint_lines(settings.values())
