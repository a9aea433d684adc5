"""Figure: test scores by the number of heads removed, in each order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLUE, GREEN, GREY, PAGE, VERMILION, footnote, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.names import (
    FINE_TUNING,
    IMPORTANCE,
    METRIC_TITLES,
    OPTIMISTIC,
    ORDER_TITLES,
    PHRASE,
    RANDOM,
    TEST,
    TOKEN,
    WORST,
)
from attention_atlas.studies.stefanik2021.removal_pages import removal_remark

_COLOURS = {WORST: BLUE, IMPORTANCE: GREEN, OPTIMISTIC: VERMILION, RANDOM: GREY}
_LEVEL_TICKS = 8
"""Labels of more steps than this overlap unless they are turned."""
_MARKERS = {WORST: "o", IMPORTANCE: "s", OPTIMISTIC: "^", RANDOM: "D"}


def cumulative_ablation(
    path: str | Path, fine_tuning_path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]
) -> None:
    """Draw scores on test documents by heads removed, in each order: a thin line for each seed, a thick one for their mean.

    Args:
        path: table `names.CUMULATIVE`.
        fine_tuning_path: table `names.FINE_TUNING`, for the remark where removals are uninformative.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, ["seed", "order", "draw", "split", "percent", "heads_removed", "metric", "value", "documents"])
    table = table[table["split"] == TEST]
    # The random orders of a seed are averaged into one line.
    curves = table.groupby(["metric", "order", "seed", "heads_removed"], sort=False, as_index=False)["value"].mean()
    steps = sorted(table["heads_removed"].unique())
    percents = sorted(table["percent"].unique())
    figure, axes = panels(PAGE / 2, 3.2)
    for axis, metric in zip(axes, (TOKEN, PHRASE), strict=True):
        _curves(axis, curves[curves["metric"] == metric])
        axis.set_xlabel("Heads removed")
        axis.set_ylabel(METRIC_TITLES[metric])
        axis.set_ylim(bottom=0)
        axis.set_xticks(steps)
        axis.tick_params(axis="x", rotation=90 if len(steps) > _LEVEL_TICKS else 0)
    legend_below(figure, axes, 2)
    remark = removal_remark(read_table(fine_tuning_path, FINE_TUNING))
    count = f"steps of {percents[1] - percents[0]} % of the heads; n = {table['documents'].iloc[0]} test documents, "
    count += f"{table['seed'].nunique()} seeds"
    save_figure(figure, pictures, footnote(label, "; ".join(filter(None, [count, remark]))))


def _curves(axis: Axes, curves: pd.DataFrame) -> None:
    shown = curves.assign(title=curves["order"].map(ORDER_TITLES))
    orders = [order for order in _COLOURS if (curves["order"] == order).any()]
    titles = [ORDER_TITLES[order] for order in orders]
    style = {
        "x": "heads_removed",
        "y": "value",
        "hue": "title",
        "hue_order": titles,
        "palette": [_COLOURS[order] for order in orders],
        "ax": axis,
    }
    sns.lineplot(shown, units="seed", estimator=None, linewidth=0.6, alpha=0.55, legend=False, **style)
    sns.lineplot(
        shown,
        style="title",
        style_order=titles,
        markers=[_MARKERS[order] for order in orders],
        dashes=False,
        errorbar=None,
        linewidth=1.6,
        **style,
    )
