"""Panels for each task, in rows that leave few slots empty (Figures 7, 8 and 9), and their titles."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_atlas.figures.style import PAGE, TALLEST, page_figure
from attention_atlas.studies.kovaleva2019.names import TASK_TITLES

METRIC_TITLES = {"accuracy": "accuracy", "f1": "F1", "correlation": "Pearson/Spearman"}
_MOST, _FEWEST = 4, 3


def columns_of(count: int) -> int:
    """Panels side by side: at most four, and three where that leaves fewer slots empty."""
    if count <= _MOST:
        return count
    return min((_MOST, _FEWEST), key=lambda columns: (-count % columns, -columns))


def task_panels(tasks: Sequence[str], height: float, width: float = PAGE) -> tuple[Figure, dict[str, Axes]]:
    """A figure with a panel for each task.

    Args:
        tasks: in their order.
        height: of a row of panels, in inches; less where the page is full.
        width: of the figure, in inches.

    Returns:
        The figure, and task -> panel.
    """
    columns = columns_of(len(tasks))
    rows = -(-len(tasks) // columns)
    figure, axes = page_figure(rows, columns, width, min(height * rows, TALLEST))
    for axis in axes.flat[len(tasks) :]:
        axis.axis("off")
    return figure, dict(zip(tasks, axes.flat, strict=False))


def panel_title(task: str, rows: pd.DataFrame) -> str:
    """Task, score of the full model, and examples of a panel; says so where no condition changes the score.

    Args:
        task: of the panel.
        rows: its rows: metric, baseline, delta, n, seeds.
    """
    first = rows.iloc[0]
    seeds = "1 seed" if first["seeds"] == 1 else f"{first['seeds']} seeds"
    unchanged = "" if rows["delta"].any() else ": no change"
    return (
        f"{TASK_TITLES[task]}: {METRIC_TITLES[first['metric']]} {first['baseline']:.1f}\nn = {first['n']}, {seeds}{unchanged}"
    )
