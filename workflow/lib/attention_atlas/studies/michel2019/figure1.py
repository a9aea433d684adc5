"""Figure 1: histograms of heads by the score that is left when they are masked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLACK, panels, save_figure
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.studies.michel2019.figure_style import KIND_COLOURS, SCORE_LABELS
from attention_atlas.studies.michel2019.names import KIND_TITLES, LEVEL, TITLES

_BINS = 24


def figure1(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw a histogram of heads by score for each experiment, by kind of attention where there are several.

    Args:
        path: `FIGURE1` of `ablation_tables`.
        labels: role -> model and corpus of the run.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["experiment", "kind", "metric", "score", "baseline", "p", "p_adjusted", "n", "unit"])
    figure, axes = panels(4.1, 3.3)
    facts = []
    for axis, (name, head_rows) in zip(axes, table.groupby("experiment", sort=False), strict=True):
        _histogram(axis, head_rows, TITLES[str(name)])
        facts.append(
            f"{TITLES[str(name)]}: {len(head_rows)} heads, n = {head_rows['n'].iloc[0]} {head_rows['unit'].iloc[0]}, "
            f"p < {LEVEL} for {(head_rows['p'] < LEVEL).sum()}, "
            f"p adjusted for all heads < {LEVEL} for {(head_rows['p_adjusted'] < LEVEL).sum()}"
        )
    note = "Scores with one head masked. " + "; ".join(facts) + "."
    save_figure(figure, pictures, "\n".join([*joint_lines([labels[TRANSLATION], labels[CLASSIFICATION]]), note]))


def _histogram(axis: Axes, rows: pd.DataFrame, title: str) -> None:
    kinds = [kind for kind in KIND_COLOURS if (rows["kind"] == kind).any()]
    low, high = min(rows["score"].min(), rows["baseline"].iloc[0]), max(rows["score"].max(), rows["baseline"].iloc[0])
    margin = max(high - low, 0.1) / 20
    edges = np.linspace(low - margin, high + margin, _BINS + 1)
    axis.hist(
        [rows.loc[rows["kind"] == kind, "score"] for kind in kinds],
        bins=list(edges),
        stacked=True,
        color=[KIND_COLOURS[kind] for kind in kinds],
        label=[KIND_TITLES[kind] for kind in kinds],
    )
    baseline = float(rows["baseline"].iloc[0])
    axis.axvline(baseline, color=BLACK, linewidth=1, linestyle="--", label=f"No head masked: {baseline:.1f}")
    axis.set_title(title)
    axis.set_xlabel(SCORE_LABELS[rows["metric"].iloc[0]])
    axis.set_ylabel("Heads")
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(loc="upper left")
