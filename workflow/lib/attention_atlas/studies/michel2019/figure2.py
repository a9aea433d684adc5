"""Figure 2: change in score when each head is masked, on two corpora, with correlations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLACK, GREY, PAGE, footnote, minus_signs, panels, plain, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.published.values import load_published
from attention_atlas.studies.michel2019.correlations import (
    CORRELATIONS,
    FIGURE2,
    PEARSON,
    SPEARMAN,
    TRIMMED,
    above_full_model,
    in_words,
)
from attention_atlas.studies.michel2019.figure_style import CHANGE_LABELS, KIND_COLOURS, KIND_MARKERS
from attention_atlas.studies.michel2019.names import KIND_TITLES, TITLES

_STATISTICS = {PEARSON: "Pearson", SPEARMAN: "Spearman", TRIMMED: "Pearson without extremes"}
_PUBLISHED = {TRANSLATION: "m19.fig2a.pearson", CLASSIFICATION: "m19.fig2b.pearson"}
"""Experiment -> published correlation."""
_LINE = 40
"""Largest number of letters in a line of a label."""
_SMALLEST, _LARGEST = 14, 180
"""Areas of the spot of one head and of the spot of most heads, in square points."""


def figure2(
    path: str | Path,
    correlations_path: str | Path,
    labels: Mapping[str, RunLabel],
    translator: str,
    pictures: Mapping[str, str | Path],
) -> None:
    """Draw the change in score when each head is masked on one corpus against that on another.

    Args:
        path: `FIGURE2` of `correlations`.
        correlations_path: `CORRELATIONS` of `correlations`.
        labels: role -> model and corpus of the run.
        translator: the translation model in words.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table, agreement = read_table(path, FIGURE2), read_table(correlations_path, CORRELATIONS)
    spots = heads_by_spot(table)
    most = int(spots["heads"].max())
    figure, axes = panels(PAGE / 2, 4.1)
    for axis, (name, points) in zip(axes, spots.groupby("experiment", sort=False), strict=True):
        _spots(axis, points, most)
        change = CHANGE_LABELS[str(points["metric"].iloc[0])]
        axis.set_xlabel(plain(fill(f"{change}: {labels[str(name)].corpus}", _LINE)))
        axis.set_ylabel(plain(fill(f"{change}: {labels[f'{name}_other'].corpus}", _LINE)))
        lines = [TITLES[str(name)], *_correlations(agreement, str(name)), _above(table[table["experiment"] == name])]
        axis.set_title(minus_signs("\n".join(lines)), fontsize=7.5)
    kinds = [
        Line2D([], [], color=KIND_COLOURS[kind], marker=KIND_MARKERS[kind], linestyle="none", label=KIND_TITLES[kind])
        for kind in KIND_COLOURS
        if (table["kind"] == kind).any()
    ]
    ring = Line2D([], [], color=BLACK, marker="o", markersize=7, markerfacecolor="none", linestyle="none", label="extreme")
    spot: dict[str, Any] = {"color": GREY, "marker": "o", "linestyle": "none", "markeredgewidth": 0}
    sizes = [
        Line2D([], [], markersize=_area(heads, most) ** 0.5, label=f"{heads} head{'s' if heads > 1 else ''}", **spot)
        for heads in sorted({1, most})
    ]
    legend_below(figure, axes, 6, [*kinds, ring, *sizes])
    sizes_of = agreement.drop_duplicates("experiment").itertuples()
    count = " and ".join(f"{row.heads} heads, {row.n} and {row.second_n} examples" for row in sizes_of)
    notes = [f"n = {count}", f"translation model: {translator}", *_overlong(table)]
    save_figure(figure, pictures, footnote(labels.values(), "; ".join(notes)))


def heads_by_spot(table: pd.DataFrame) -> pd.DataFrame:
    """Heads of one kind with the same two changes as one row: experiment, kind, metric, delta, second_delta, extreme, heads."""
    places = table.assign(delta=table["delta"].round(6), second_delta=table["second_delta"].round(6))
    keys = ["experiment", "kind", "metric", "delta", "second_delta"]
    return places.groupby(keys, sort=False, as_index=False).agg(extreme=("extreme", "max"), heads=("extreme", "size"))


def _spots(axis: Axes, points: pd.DataFrame, most: int) -> None:
    sns.scatterplot(
        points.sort_values("heads", ascending=False),
        x="delta",
        y="second_delta",
        hue="kind",
        palette=KIND_COLOURS,
        style="kind",
        markers=KIND_MARKERS,
        size="heads",
        sizes=(_SMALLEST, _LARGEST if most > 1 else _SMALLEST),
        size_norm=(1, max(most, 2)),
        alpha=0.75,
        linewidth=0,
        legend=False,
        ax=axis,
    )
    extreme = points[points["extreme"] == 1]
    areas = [_area(heads, most) + 40 for heads in extreme["heads"]]
    axis.scatter(extreme["delta"], extreme["second_delta"], s=areas, facecolors="none", edgecolors=BLACK, linewidths=0.8)
    for line in (axis.axhline, axis.axvline):
        line(0, color=GREY, linewidth=0.6, zorder=0)


def _above(heads: pd.DataFrame) -> str:
    first, second = above_full_model(heads)
    return f"Heads above the full model: {first} (x), {second} (y) of {len(heads)}"


def _overlong(table: pd.DataFrame) -> list[str]:
    """Overlong translations of the full model on both corpora, in a few words; empty without a translation model."""
    counted = table[table["overlong_unmasked"].notna()]
    if counted.empty:
        return []
    row = counted.iloc[0]
    return [
        f"overlong translations of the full model: {row['overlong_unmasked']:.0f} (x axis) and "
        f"{row['second_overlong_unmasked']:.0f} (y axis), median over masked heads {counted['overlong'].median():g} and "
        f"{counted['second_overlong'].median():g}"
    ]


def _area(heads: int, most: int) -> float:
    return _SMALLEST + (_LARGEST - _SMALLEST) * (heads - 1) / max(most - 1, 1)


def _correlations(agreement: pd.DataFrame, experiment: str) -> list[str]:
    published = load_published("michel2019")[_PUBLISHED[experiment]].value
    return [
        f"{_STATISTICS[row.statistic]} {in_words(row.value, row.ci_low, row.ci_high)}"
        + (f"; published: {published}" if row.statistic == PEARSON else "")
        for row in agreement[agreement["experiment"] == experiment].itertuples()
    ]
