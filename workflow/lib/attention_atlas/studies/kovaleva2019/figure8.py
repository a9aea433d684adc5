"""Figure 8: change in the score of each task when one head is disabled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.lines import Line2D

from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.quantities import HEAD, LAYER
from attention_atlas.figures.style import BLACK, DIVERGING, SMALLEST, footnote, minus_signs, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import LEVEL
from attention_atlas.studies.kovaleva2019.points import POINTS
from attention_atlas.studies.kovaleva2019.published_maps import digitised
from attention_atlas.studies.kovaleva2019.task_grids import count_range
from attention_atlas.studies.kovaleva2019.task_panels import panel_title, task_panels

_FEW_LAYERS = 12
_COLOURED = 0.95
"""Share of the heads of a panel whose change is within the colour scale."""


def figure8(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw the change in score by disabled head for each task, with the published score and range of changes.

    Args:
        path: of `disabling_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    columns = ["task", "action", "layer", "head", "metric", "baseline", "delta", "p_adjusted", "seed_rho", "n", "seeds"]
    table = read_table(path, columns)
    table = table[table["action"] == "uniform"]
    published = digitised("fig8_disable_head")
    layers = int(table["layer"].max())
    figure, panels = task_panels(list(dict.fromkeys(table["task"])), 2.7 if layers <= _FEW_LAYERS else 3.1)
    for task, axis in panels.items():
        heads = table[table["task"] == task]
        bound = colour_bound(heads["delta"])
        sure = heads[heads["p_adjusted"] < LEVEL]
        marked = list(zip(sure["layer"], sure["head"], strict=True))
        # A panel of zeros still needs a scale of some width.
        image = draw_head_grid(axis, heads, "delta", DIVERGING, -(bound or 1), bound or 1, marked)
        axis.set_title(_title(task, heads, published[published["task"] == task]), fontsize=SMALLEST)
        axis.set(xlabel=HEAD, ylabel=LAYER)
        if bound:
            extend = EXTENDED[bool((heads["delta"] < -bound).any()), bool((heads["delta"] > bound).any())]
            axis.figure.colorbar(image, ax=axis, aspect=15, shrink=0.9, pad=0.03, extend=extend)
    dot = Line2D(
        [], [], linestyle="none", marker="o", markersize=2.5, color=BLACK, label=f"p < {LEVEL}, adjusted for all heads"
    )
    title = f"Change in score, {POINTS}\neach panel on its own scale; an arrow: some heads lie beyond it"
    figure.legend(handles=[dot], title=title, loc="outside lower center")
    n = count_range(table.drop_duplicates("task")["n"])
    save_figure(figure, pictures, footnote(labels.values(), f"{n} examples per task"))


EXTENDED = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
"""Whether heads lie below and above a colour scale -> the arrows of its bar."""


def colour_bound(delta: pd.Series) -> float:
    """Ends of a colour scale around 0 that most heads use: a few heads with a large change would leave the others white.

    Args:
        delta: change of each head of a panel.

    Returns:
        The smallest absolute change that at least `_COLOURED` of the heads do not exceed, or the largest where that is 0.
    """
    sizes = delta.abs()
    return float(sizes.quantile(_COLOURED, interpolation="higher") or sizes.max())


def _title(task: str, heads: pd.DataFrame, published: pd.DataFrame) -> str:
    lines = [panel_title(task, heads)]
    rho = heads["seed_rho"].iloc[0]
    if heads["delta"].any():
        if pd.notna(rho):
            lines.append(f"between seeds ρ = {rho:.2f}")
        ends = (heads.loc[heads["delta"].idxmin()], heads.loc[heads["delta"].idxmax()])
        lines.append(", ".join(f"{head['delta']:+.1f} ({head['layer']:.0f}-{head['head']:.0f})" for head in ends))
    if len(published):
        changes = 100 * published["delta_vs_baseline"]
        baseline = 100 * float((published["score"] - published["delta_vs_baseline"]).mean())
        lines.append(f"published {baseline:.1f}, {changes.min():+.1f} to {changes.max():+.1f}")
    return minus_signs("\n".join(lines))
