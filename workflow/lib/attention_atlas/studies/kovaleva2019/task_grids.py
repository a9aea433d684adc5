"""Grids of layers and heads (Figures 5 and 6): a row of panels for each kind of value, a column for each task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.style import save_figure, use_style
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import TASK_TITLES


def task_grids(
    path: str | Path,
    column: str,
    kinds: Mapping[str, str],
    label: str,
    colours: str,
    colour_limits: tuple[float, float],
    labels: Mapping[str, RunLabel],
    note: str,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw a row of panels for each kind of value, a column for each task.

    Args:
        path: table with the columns task, `column`, layer, head and value.
        column: names the kinds.
        kinds: kind -> title of its row.
        label: of the colour bar.
        colours: matplotlib's name of the colour map.
        colour_limits: least and largest value of the colour map.
        labels: task -> run, model and corpus.
        note: below the figure.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["task", column, "layer", "head", "value"])
    tasks = list(dict.fromkeys(table["task"]))
    layers, heads = int(table["layer"].max()), int(table["head"].max())
    use_style()
    width = max(1.3, 0.105 * heads)
    figure, axes = plt.subplots(
        len(kinds),
        len(tasks),
        figsize=(width * len(tasks) + 1.4, len(kinds) * max(1.3, 0.125 * layers) + 0.9),
        constrained_layout=True,
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for row, (kind, title) in enumerate(kinds.items()):
        for place, task in enumerate(tasks):
            panel_rows = table[(table["task"] == task) & (table[column] == kind)]
            image = draw_head_grid(axes[row, place], panel_rows, "value", colours, *colour_limits)
            if row == 0:
                axes[row, place].set_title(TASK_TITLES[task])
        axes[row, 0].set_ylabel(f"{title}\nLayer")
    for axis in axes[-1]:
        axis.set_xlabel("Head")
    figure.colorbar(image, ax=axes, label=label, shrink=0.8)
    save_figure(figure, pictures, "\n".join([*joint_lines(labels.values()), note]))
