"""Figure 1: expected layer, centre of gravity, and F1 on layer 0 and on all layers, by task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.intervals import INTERVAL, VALUE, interval_rows
from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLUE, NOTE, ORANGE, PAGE, PUBLISHED, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.tenney2019.figure_labels import LAYER_LABEL, NOISE, counted, task_label
from attention_atlas.studies.tenney2019.published_layers import PublishedModel, published_beside
from attention_atlas.studies.tenney2019.summary import FIGURE1, at_step_limit

LIMITED = "*"
"""Mark of F1 on layer 0 where most probes trained to the step limit."""
_KINDS = {
    "expected_layer": ("expected", ".expected_layer", BLUE, "o", -0.16, "Expected layer (cumulative scores)"),
    "centre": ("centre", ".cog", ORANGE, "s", 0.16, "Centre of gravity (mixing weights)"),
}
"""Column -> columns of its interval, end of the published ids, colour, marker, place in its row, label."""


def figure1(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw for each task the expected layer and centre of gravity with intervals, and F1 at layer 0 and at the last.

    Args:
        path: table `FIGURE1` of `summary`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE1)
    layers = int(table["layers"].max())
    published = published_beside(layers)
    titles = {str(task): task_label(table, str(task)) for task in table["task"]}
    figure, ((axis,),) = page_figure(1, 1, PAGE - 0.1, 0.5 * len(table) + 1.0)
    shown = interval_rows(_points(table, layers)).assign(title=lambda rows: rows["task"].map(titles))
    sns.pointplot(
        shown,
        x="value",
        y="title",
        order=list(titles.values()),
        hue="kind",
        hue_order=[kind[-1] for kind in _KINDS.values()],
        palette=[kind[2] for kind in _KINDS.values()],
        markers=[kind[3] for kind in _KINDS.values()],
        dodge=0.32,
        estimator=VALUE,
        errorbar=INTERVAL,
        linestyle="none",
        markersize=5,
        err_kws={"linewidth": 1.4},
        ax=axis,
    )
    for place, noise in enumerate(table["within_noise"]):
        if noise:
            axis.text(layers + 0.45, place - 0.16, NOISE, color=BLUE, fontsize=7, ha="right", va="center", style="italic")
    _published(axis, list(titles), published)
    _scores(axis, table, layers, published)
    axis.set_xlim(-0.5, layers + 0.5)
    axis.set_xlabel(LAYER_LABEL)
    axis.set_ylabel("")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axis.set_axisbelow(True)
    extra = [Line2D([], [], linestyle="none", label=published.label, **PUBLISHED)]
    if len(at_step_limit(table)):
        extra.append(Line2D([], [], linestyle="none", label=f"F1{LIMITED}: most probes at the step limit"))
    legend_below(figure, [axis], 3, extra)
    save_figure(figure, pictures, footnote(labels.values(), counted(table)))


def _points(table: pd.DataFrame, layers: int) -> pd.DataFrame:
    """task, kind, value, ci_low, ci_high; intervals are cut at the ends of the axis."""
    parts = []
    for column, (interval, *_, title) in _KINDS.items():
        low, high = (table[f"{interval}_{end}"].clip(-0.5, layers + 0.5) for end in ("low", "high"))
        parts.append(
            pd.DataFrame({"task": table["task"], "kind": title, "value": table[column], "ci_low": low, "ci_high": high})
        )
    return pd.concat(parts, ignore_index=True)


def _published(axis: Axes, tasks: list[str], published: PublishedModel) -> None:
    for column, (_, ends, colour, _, shift, _) in _KINDS.items():
        rows = published.values(ends)
        rows = rows[rows["task"].isin(tasks)]
        places = [tasks.index(task) + shift for task in rows["task"]]
        depth = published.depth_of_gains if column == "expected_layer" else published.depth
        axis.plot(depth(rows["value"]), places, linestyle="none", zorder=4, **(PUBLISHED | {"color": colour}))


def _scores(axis: Axes, table: pd.DataFrame, layers: int, published: PublishedModel) -> None:
    """F1 at layer 0 and at the last layer, ours and published, as columns on the right."""
    ours = table.set_index("task")
    limited = at_step_limit(table)
    columns = {
        1.02: (f"F1 at 0\nand {layers}", ours[["f1_first", "f1_last"]], "black"),
        1.16: (f"published\n0 and {published.layers}", _published_ends(published), NOTE),
    }
    for x, (title, scores, colour) in columns.items():
        style: dict[str, Any] = {"transform": axis.get_yaxis_transform(), "color": colour, "fontsize": 7}
        axis.text(x, -0.6, title, va="bottom", **style)
        for place, task in enumerate(table["task"]):
            if task in scores.index:
                first, last = scores.loc[task]
                mark = LIMITED if colour == "black" and task in limited else " "
                axis.text(x, place, f"{first:.1f}{mark}  {last:.1f}", va="center", **style)


def _published_ends(published: PublishedModel) -> pd.DataFrame:
    """F1 of each task at layer 0 and at the last, task as index."""
    ends = [published.values(f".f1_l{layer}").set_index("task")["value"] for layer in (0, published.layers)]
    return pd.concat(ends, axis=1, keys=["first", "last"])
