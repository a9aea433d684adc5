"""Figure 8: what disabling each head does to the score of each task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.style import save_figure
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import LEVEL, TASK_TITLES
from attention_atlas.studies.kovaleva2019.task_panels import METRIC_TITLES, task_panels

_LEAST = 0.1
"""Points that a scale reaches at the least."""


def figure8(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw what disabling each head does to the score of each task.

    Args:
        path: of `disabling_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["task", "action", "layer", "head", "metric", "baseline", "delta", "p_adjusted", "n", "seeds"])
    table = table[table["action"] == "uniform"]
    tasks = list(dict.fromkeys(table["task"]))
    layers, heads = int(table["layer"].max()), int(table["head"].max())
    figure, panels = task_panels(tasks, (max(2.1, 0.17 * heads), max(1.4, 0.15 * layers) + 0.9), (0.6, 0))
    for task, axis in panels.items():
        task_rows = table[table["task"] == task]
        bound = float(max(task_rows["delta"].abs().max(), _LEAST))
        sure = task_rows[task_rows["p_adjusted"] < LEVEL]
        marked = list(zip(sure["layer"], sure["head"], strict=True))
        image = draw_head_grid(axis, task_rows, "delta", "PuOr_r", -bound, bound, marked)
        first = task_rows.iloc[0]
        axis.set_title(
            f"{TASK_TITLES[task]}: {METRIC_TITLES[first['metric']]} {first['baseline']:.1f}\nn = {first['n']}, "
            f"{'1 seed' if first['seeds'] == 1 else str(first['seeds']) + ' seeds'}",
            fontsize=8.5,
        )
        axis.set_xlabel("Head")
        axis.set_ylabel("Layer")
        figure.colorbar(image, ax=axis, label="Change, points")
    note = (
        "Change of the score when one head attends to all real tokens alike; each panel on its own scale around 0. "
        f"Dots: p < {LEVEL} by a paired permutation test, adjusted for all heads of a panel by the maximum statistic."
    )
    save_figure(figure, pictures, "\n".join([*joint_lines(labels.values()), note]))
