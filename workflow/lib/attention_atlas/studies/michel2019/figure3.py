"""Figure 3: the score by percent of heads masked, in several orders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import (
    BLACK,
    BLUE,
    GREY,
    PAGE,
    PUBLISHED,
    PURPLE,
    SKY,
    VERMILION,
    footnote,
    panels,
    save_figure,
)
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.published.drawn import published_rows
from attention_atlas.studies.michel2019.curves import FIGURE3
from attention_atlas.studies.michel2019.figure_style import MASKED_LABEL, SCORE_LABELS
from attention_atlas.studies.michel2019.names import ABLATION, HELDOUT, IMPORTANCE, ORDER_TITLES, RANDOM, RECOMPUTED, TITLES

_COLOURS = {IMPORTANCE: BLUE, RECOMPUTED: SKY, ABLATION: VERMILION, HELDOUT: PURPLE, RANDOM: GREY}
_DASHES = {IMPORTANCE: "", RECOMPUTED: (1, 1), ABLATION: (4, 1.5), HELDOUT: (1, 1), RANDOM: (3, 1.25, 1.5, 1.25)}
_MARKERS = {IMPORTANCE: "o", RECOMPUTED: "D", ABLATION: "s", HELDOUT: "^", RANDOM: "v"}
_RERUN = "m19.rerun.mnli.importance_curve"
_PRUNABLE = {TRANSLATION: "m19.fig3a.prunable", CLASSIFICATION: "m19.fig3b.prunable"}
"""Experiment -> published share of heads that can be masked."""


def figure3(path: str | Path, labels: Mapping[str, RunLabel], translator: str, pictures: Mapping[str, str | Path]) -> None:
    """Draw the score by percent of heads masked, for each order.

    Args:
        path: `FIGURE3` of `curves.pruning_curves`.
        labels: role -> model and corpus of the run.
        translator: the translation model in words.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE3)
    figure, axes = panels(PAGE / 2, 3.4)
    for axis, (name, curves) in zip(axes, table.groupby("experiment", sort=False), strict=True):
        _curves(axis, curves)
        _published(axis, str(name))
        axis.set_ylim(bottom=0)
        axis.set_title(f"{TITLES[str(name)]}: {curves['heads'].iloc[0]} heads")
    legend_below(figure, axes, 3)
    groups = table.drop_duplicates("experiment")
    count = " and ".join(f"{row.n} {row.unit}" for row in groups.itertuples())
    save_figure(
        figure,
        pictures,
        footnote([labels[TRANSLATION], labels[CLASSIFICATION]], f"n = {count}; translation model: {translator}"),
    )


def _curves(axis: Axes, curves: pd.DataFrame) -> None:
    orders = [order for order in _COLOURS if (curves["order"] == order).any()]
    for order in orders:
        # Several random orders: their mean, and their range as a band.
        sns.lineplot(
            curves[curves["order"] == order],
            x="percent",
            y="score",
            color=_COLOURS[order],
            dashes=_DASHES[order],
            marker=_MARKERS[order],
            markersize=3,
            linewidth=1.2,
            errorbar=("pi", 100),
            err_kws={"alpha": 0.18, "linewidth": 0},
            label=ORDER_TITLES[order] + (" (mean and range)" if order == RANDOM else ""),
            ax=axis,
        )
    importance = curves[curves["order"] == IMPORTANCE].sort_values("percent")
    band: dict[str, Any] = {"color": _COLOURS[IMPORTANCE], "alpha": 0.18, "linewidth": 0}
    axis.fill_between(importance["percent"], importance["ci_low"], importance["ci_high"], **band)
    floor = curves["floor"].iloc[0]
    if floor > 0:
        axis.axhline(floor, color=BLACK, linewidth=0.8, linestyle=":", label=f"Most frequent label: {floor:.0f} %")
    axis.set_xlabel(MASKED_LABEL)
    axis.set_ylabel(SCORE_LABELS[curves["metric"].iloc[0]])


def _published(axis: Axes, experiment: str) -> None:
    share = published_rows("michel2019", [_PRUNABLE[experiment]])["value"].iloc[0]
    axis.axvline(share, color=BLACK, linewidth=0.8, linestyle="-.", label="published: no noticeable loss up to here")
    if experiment == CLASSIFICATION:
        rerun = published_rows("michel2019", [_RERUN])
        label = "third-party rerun of the published code: MNLI (3 classes)"
        axis.plot(rerun["percent"], rerun["value"], linestyle=":", linewidth=0.8, label=label, **PUBLISHED)
        # Without any head the classifier gives one of the three labels to all examples.
        floor = rerun.set_index("percent")["value"][100]
        floor_label = f"that rerun with all heads masked: {floor:.0f} %"
        axis.axhline(floor, color=GREY, linewidth=0.8, linestyle=(0, (1, 3)), label=floor_label)
