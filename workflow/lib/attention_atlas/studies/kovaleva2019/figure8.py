"""Figure 8: change in the score of each task when one head is disabled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.lines import Line2D

from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.quantities import HEAD, LAYER, change
from attention_atlas.figures.style import BLACK, DIVERGING, SMALLEST, footnote, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import LEVEL
from attention_atlas.studies.kovaleva2019.published_maps import digitised
from attention_atlas.studies.kovaleva2019.task_grids import count_range
from attention_atlas.studies.kovaleva2019.task_panels import panel_title, task_panels

_FEW_LAYERS = 12


def figure8(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw the change in score by disabled head for each task, with the published score and range of changes.

    Args:
        path: of `disabling_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, ["task", "action", "layer", "head", "metric", "baseline", "delta", "p_adjusted", "n", "seeds"])
    table = table[table["action"] == "uniform"]
    published = digitised("fig8_disable_head")
    layers = int(table["layer"].max())
    figure, panels = task_panels(list(dict.fromkeys(table["task"])), 2.3 if layers <= _FEW_LAYERS else 2.9)
    for task, axis in panels.items():
        heads = table[table["task"] == task]
        bound = float(heads["delta"].abs().max())
        sure = heads[heads["p_adjusted"] < LEVEL]
        marked = list(zip(sure["layer"], sure["head"], strict=True))
        # A panel of zeros still needs a scale of some width.
        image = draw_head_grid(axis, heads, "delta", DIVERGING, -(bound or 1), bound or 1, marked)
        axis.set_title(_title(task, heads, published[published["task"] == task]), fontsize=SMALLEST)
        axis.set(xlabel=HEAD, ylabel=LAYER)
        if bound:
            axis.figure.colorbar(image, ax=axis, aspect=15, shrink=0.9, pad=0.03)
    dot = Line2D(
        [], [], linestyle="none", marker="o", markersize=2.5, color=BLACK, label=f"p < {LEVEL}, adjusted for all heads"
    )
    title = f"{change('score')}; each panel on its own scale"
    figure.legend(handles=[dot], title=title, loc="outside lower center")
    n = count_range(table.drop_duplicates("task")["n"])
    save_figure(figure, pictures, footnote(labels.values(), f"{n} examples per task"))


def _title(task: str, heads: pd.DataFrame, published: pd.DataFrame) -> str:
    lines = [panel_title(task, heads)]
    if len(published):
        changes = 100 * published["delta_vs_baseline"]
        baseline = 100 * float((published["score"] - published["delta_vs_baseline"]).mean())
        lines.append(f"published {baseline:.1f}, {changes.min():+.1f} to {changes.max():+.1f}".replace("-", "−"))
    return "\n".join(lines)
