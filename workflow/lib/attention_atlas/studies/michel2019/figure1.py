"""Figure 1: histograms of heads by the change in score when they are masked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from attention_atlas.figures.bins import centred_edges
from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLACK, GREY, PAGE, footnote, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.published.drawn import published_rows
from attention_atlas.published.values import load_published
from attention_atlas.studies.michel2019.figure_style import CHANGE_LABELS, KIND_COLOURS
from attention_atlas.studies.michel2019.names import KIND_TITLES, LEVEL, TITLES


def figure1(path: str | Path, labels: Mapping[str, RunLabel], translator: str, pictures: Mapping[str, str | Path]) -> None:
    """Draw a histogram of heads by change in score for each experiment, by kind of attention where there are several.

    Args:
        path: `FIGURE1` of `ablation_tables`.
        labels: role -> model and corpus of the run.
        translator: the translation model in words.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["experiment", "kind", "metric", "score", "baseline", "p", "p_adjusted", "n", "unit"])
    figure, axes = panels(PAGE / 2, 2.9)
    published = published_deltas()
    sizes = []
    for axis, (name, head_rows) in zip(axes, table.groupby("experiment", sort=False), strict=True):
        beside = published if name == TRANSLATION else published[:0]
        _histogram(axis, head_rows, TITLES[str(name)], beside)
        sizes.append(f"{head_rows['n'].iloc[0]} {head_rows['unit'].iloc[0]}")
    kinds = [
        Line2D([], [], color=colour, marker="s", linestyle="none", label=KIND_TITLES[kind])
        for kind, colour in KIND_COLOURS.items()
        if (table["kind"] == kind).any()
    ]
    beside_style = Line2D([], [], color=BLACK, linewidth=1, label=f"published: {len(published)} encoder heads (Table 1)")
    legend_below(figure, axes, 4, [*kinds, beside_style])
    count = f"n = {' and '.join(sizes)}; translation model: {translator}"
    save_figure(figure, pictures, footnote([labels[TRANSLATION], labels[CLASSIFICATION]], count))


def published_deltas() -> npt.NDArray[np.float64]:
    """Published changes in BLEU, one for each encoder self-attention head of the paper's Table 1."""
    ids = [name for name in load_published("michel2019") if name.startswith("m19.tab1.L")]
    return published_rows("michel2019", ids)["value"].to_numpy(np.float64)


def _histogram(axis: Axes, rows: pd.DataFrame, title: str, published: npt.NDArray[np.float64]) -> None:
    baseline = float(rows["baseline"].iloc[0])
    changes = rows.assign(change=rows["score"] - baseline)
    edges = centred_edges(np.concatenate([changes["change"].to_numpy(np.float64), published]))
    kinds = [kind for kind in KIND_COLOURS if (rows["kind"] == kind).any()]
    style = {"bins": list(edges), "stat": "percent", "ax": axis, "legend": False}
    sns.histplot(
        changes,
        x="change",
        hue="kind",
        hue_order=kinds,
        palette=KIND_COLOURS,
        multiple="stack",
        alpha=0.9,
        linewidth=0.3,
        **style,
    )
    if len(published):
        sns.histplot(x=published, element="step", fill=False, color=BLACK, linewidth=1, **style)
    axis.axvline(0, color=GREY, linewidth=0.8, linestyle="--", zorder=0)
    significant = f"p < {LEVEL}: {(rows['p'] < LEVEL).sum()}, adjusted for all heads: {(rows['p_adjusted'] < LEVEL).sum()}"
    metric = str(rows["metric"].iloc[0])
    axis.set_title(f"{title}: {len(rows)} heads, {baseline:.1f} {'BLEU' if metric == 'BLEU' else '%'} unmasked\n{significant}")
    axis.set_xlabel(CHANGE_LABELS[metric])
    axis.set_ylabel("Heads (%)")
