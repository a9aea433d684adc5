"""Figure 1: expected layer, centre of gravity and F1 at both ends, by task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.figures.style import BLUE, ORANGE, save_figure, use_style
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.tenney2019.figure_labels import LAYER_LABEL, evaluated
from attention_atlas.studies.tenney2019.summary import FIGURE1


def figure1(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw where each task is solved: expected layer and centre of gravity with intervals, and F1 at layer 0 and at the last.

    Args:
        path: table `FIGURE1` of `summary`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE1)
    use_style()
    figure, axis = plt.subplots(figsize=(7.4, 0.62 * len(table) + 1.2), constrained_layout=True)
    layers = int(table["layers"].max())
    rows = np.arange(len(table), dtype=np.float64)
    kinds = (
        ("expected_layer", ("expected_low", "expected_high"), BLUE, "o", -0.16, "Expected layer (cumulative scores)"),
        ("centre", ("centre_low", "centre_high"), ORANGE, "s", 0.16, "Centre of gravity (mixing weights)"),
    )
    for column, interval, colour, mark, shift, label in kinds:
        low, high = (table[name].clip(-0.5, layers + 0.5) for name in interval)
        axis.hlines(rows + shift, low, high, color=colour, linewidth=1.6)
        axis.scatter(table[column], rows + shift, color=colour, marker=mark, s=34, zorder=3, label=label)
    for row, noise in zip(rows, table["within_noise"], strict=True):
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
    axis.set_xlabel(LAYER_LABEL)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
    note = (
        f"Lines: 95 % intervals, of expected layers by bootstrap over {' or '.join(sorted(table['unit'].unique()))} and "
        f"{table['seeds'].iloc[0]} seeds, of centres over seeds alone. {evaluated(table)}"
    )
    save_figure(figure, pictures, "\n".join([*joint_lines(labels.values()), note]))
