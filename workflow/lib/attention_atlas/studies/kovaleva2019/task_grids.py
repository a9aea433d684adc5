"""Grids of layers and heads (Figures 5 and 6): a row of panels for each kind of value, a column for each task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.quantities import HEAD, LAYER
from attention_atlas.figures.style import PAGE, SEQUENTIAL, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.studies.kovaleva2019.names import TASK_TITLES

_FEWEST_COLUMNS = 4
"""A panel is at most as wide as in a figure with this many columns."""


def task_grids(
    table: pd.DataFrame,
    kinds: Mapping[str, str],
    label: str,
    labels: Mapping[str, RunLabel],
    count: str,
    pictures: Mapping[str, str | Path],
    colours: str = SEQUENTIAL,
) -> None:
    """Draw a row of panels for each kind of value, a column for each task.

    Args:
        table: task, kind, layer, head, value (0 to 1); kinds may be of models of different shapes.
        kinds: kind -> title of its row.
        label: of the colour bar.
        labels: task -> run, model and corpus.
        count: size of the sample, in the footnote.
        pictures: format -> file.
        colours: colour map of values from 0 to 1.
    """
    tasks = [task for task in dict.fromkeys(table["task"]) if task in labels]
    heights = [max(1.1, 0.06 * int(table.loc[table["kind"] == kind, "layer"].max())) for kind in kinds]
    share = min(1.0, max(len(tasks), _FEWEST_COLUMNS - 1) / _FEWEST_COLUMNS)
    figure, axes = page_figure(len(kinds), len(tasks), PAGE * share, sum(heights) + 0.7, height_ratios=heights)
    for row, (kind, title) in zip(axes, kinds.items(), strict=True):
        for axis, task in zip(row, tasks, strict=True):
            heads = table[(table["task"] == task) & (table["kind"] == kind)]
            if heads.empty:
                axis.axis("off")
                continue
            image = draw_head_grid(axis, heads, "value", colours, 0, 1)
            if axis is not row[0]:
                axis.tick_params(labelleft=False)
        row[0].set_ylabel(f"{title}\n{LAYER}")
    for axis, task in zip(axes[0], tasks, strict=True):
        axis.set_title(TASK_TITLES[task])
    for axis in axes[-1]:
        axis.set_xlabel(HEAD)
    figure.colorbar(image, ax=axes, label=label, shrink=0.6, aspect=30, pad=0.02)
    save_figure(figure, pictures, footnote(labels.values(), count))


def count_range(counts: pd.Series) -> str:
    """`n = 40`, or the smallest and the largest where tasks differ."""
    least, most = int(counts.min()), int(counts.max())
    return f"n = {least}" if least == most else f"n = {least} to {most}"
