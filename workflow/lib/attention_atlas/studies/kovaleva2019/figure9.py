"""Figure 9: what disabling a whole layer does to the score of each task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLUE, VERMILION, save_figure
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import LEVEL, TASK_TITLES
from attention_atlas.studies.kovaleva2019.task_panels import METRIC_TITLES, task_panels


def figure9(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw what disabling a whole layer does to the score of each task.

    Args:
        path: of `disabling_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    columns = ["task", "action", "layer", "metric", "baseline", "delta", "ci_low", "ci_high", "p_adjusted", "n", "seeds"]
    table = read_table(path, columns)
    table = table[table["action"] == "uniform"]
    tasks = list(dict.fromkeys(table["task"]))
    figure, panels = task_panels(tasks, (2.5, 2.15), (0.4, 0.5))
    for task, axis in panels.items():
        task_rows = table[table["task"] == task].sort_values("layer")
        delta = task_rows["delta"]
        interval = np.stack([delta - task_rows["ci_low"], task_rows["ci_high"] - delta]).clip(min=0)
        colours = [VERMILION if p < LEVEL else BLUE for p in task_rows["p_adjusted"]]
        axis.bar(task_rows["layer"], delta, color=colours, width=0.7)
        axis.errorbar(task_rows["layer"], delta, yerr=interval, fmt="none", ecolor="#444444", elinewidth=0.9, capsize=2)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
        first = task_rows.iloc[0]
        axis.set_title(
            f"{TASK_TITLES[task]}: {METRIC_TITLES[first['metric']]} {first['baseline']:.1f}, n = {first['n']}", fontsize=8.5
        )
        axis.set_xlabel("Layer")
        axis.set_ylabel("Change, points")
    note = (
        "Change of the score when all heads of a layer attend to all real tokens alike, with 95 % intervals by bootstrap over "
        f"examples. Red: p < {LEVEL} by a paired permutation test, adjusted for all layers of a panel by the maximum statistic."
    )
    save_figure(figure, pictures, "\n".join([*joint_lines(labels.values()), note]))
