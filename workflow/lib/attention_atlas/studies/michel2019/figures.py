"""Figures 1 to 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, panels, save_figure
from attention_atlas.io.setting import Setting, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.studies.michel2019.correlations import CORRELATIONS, FIGURE2, PEARSON, SPEARMAN, TRIMMED, in_words
from attention_atlas.studies.michel2019.curves import FIGURE3, FIGURE4, FIGURE5, LEAST_BLEU, mean_curves
from attention_atlas.studies.michel2019.names import (
    ABLATION,
    HELDOUT,
    IMPORTANCE,
    KIND_TITLES,
    ORDER_TITLES,
    RANDOM,
    RECOMPUTED,
    TITLES,
)

Files = Any
"""The tables of the study by their names: a mapping, or what Snakemake gives."""
Pictures = Mapping[str, str | Path]
_COLOURS = {"enc_enc": BLUE, "enc_dec": ORANGE, "dec_dec": GREEN}
_MARKS = {"enc_enc": "o", "enc_dec": "s", "dec_dec": "^"}
_LINES = {
    IMPORTANCE: (BLUE, "-", "o"),
    RECOMPUTED: (SKY, "-", "D"),
    ABLATION: (VERMILION, "--", "s"),
    HELDOUT: (PURPLE, ":", "^"),
    RANDOM: (GREY, "-.", ""),
}
_STATISTICS = {PEARSON: "Pearson", SPEARMAN: "Spearman", TRIMMED: "Pearson without extremes"}
_SCORES = {"BLEU": "BLEU", "accuracy": "Accuracy, %"}
_BINS = 24
_LINE = 44
"""Letters of a line of a label."""


def figure1(tables: Files, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw a histogram of heads by score for each experiment, by kind of attention where there are several.

    Args:
        tables: `figure1` of `ablation_tables`.
        settings: role -> what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(tables["figure1"], ["experiment", "kind", "metric", "score", "baseline", "p", "p_holm", "n"])
    figure, axes = panels(4.1, 3.3)
    facts = []
    for axis, (name, own) in zip(axes, table.groupby("experiment", sort=False), strict=True):
        _histogram(axis, own, TITLES[str(name)])
        facts.append(
            f"{TITLES[str(name)]}: {len(own)} heads, n = {own['n'].iloc[0]} examples, p < 0.01 for {(own['p'] < 0.01).sum()}, "
            f"after Holm {(own['p_holm'] < 0.01).sum()}"
        )
    note = "Scores with one head masked. " + "; ".join(facts) + "."
    save_figure(figure, pictures, "\n".join([*joint_lines([settings[TRANSLATION], settings[CLASSIFICATION]]), note]))


def _histogram(axis: Axes, rows: pd.DataFrame, title: str) -> None:
    kinds = [kind for kind in _COLOURS if (rows["kind"] == kind).any()]
    low, high = min(rows["score"].min(), rows["baseline"].iloc[0]), max(rows["score"].max(), rows["baseline"].iloc[0])
    margin = max(high - low, 0.1) / 20
    edges = np.linspace(low - margin, high + margin, _BINS + 1)
    axis.hist(
        [rows.loc[rows["kind"] == kind, "score"] for kind in kinds],
        bins=edges,
        stacked=True,
        color=[_COLOURS[kind] for kind in kinds],
        label=[KIND_TITLES[kind] for kind in kinds],
    )
    baseline = float(rows["baseline"].iloc[0])
    axis.axvline(baseline, color=BLACK, linewidth=1, linestyle="--", label=f"No head masked: {baseline:.1f}")
    axis.set_title(title)
    axis.set_xlabel(_SCORES[rows["metric"].iloc[0]])
    axis.set_ylabel("Heads")
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(loc="upper left")


def figure2(tables: Files, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw what masking each head does on one corpus against what it does on another.

    Args:
        tables: `figure2` and `correlations` of `correlations`.
        settings: role -> what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table, agreement = read_table(tables["figure2"], FIGURE2), read_table(tables["correlations"], CORRELATIONS)
    figure, axes = panels(4.1, 4.2)
    for axis, (name, own) in zip(axes, table.groupby("experiment", sort=False), strict=True):
        for kind in (kind for kind in _COLOURS if (own["kind"] == kind).any()):
            points = own[own["kind"] == kind]
            style = {"s": 16, "color": _COLOURS[kind], "marker": _MARKS[kind], "alpha": 0.75, "linewidths": 0}
            axis.scatter(points["delta"], points["other_delta"], label=KIND_TITLES[kind], **style)
        far = own[own["extreme"] == 1]
        axis.scatter(
            far["delta"], far["other_delta"], s=52, facecolors="none", edgecolors=BLACK, linewidths=0.8, label="Extreme"
        )
        for line in (axis.axhline, axis.axvline):
            line(0, color=GREY, linewidth=0.6, zorder=0)
        unit = "BLEU" if own["metric"].iloc[0] == "BLEU" else "Accuracy, points"
        axis.set_xlabel(fill(f"{unit}: {settings[str(name)].corpus}", _LINE))
        axis.set_ylabel(fill(f"{unit}: {settings[f'{name}_other'].corpus}", _LINE))
        words = [
            f"{_STATISTICS[row.statistic]} {in_words(row.value, row.ci_low, row.ci_high)}"
            for row in agreement[agreement["experiment"] == name].itertuples()
        ]
        axis.set_title(TITLES[str(name)] + "\n" + "\n".join(words), fontsize=8.5)
        axis.legend(loc="best", fontsize=7.5)
    sizes = agreement.drop_duplicates("experiment")
    examples = "; ".join(f"{TITLES[row.experiment]}: n = {row.n} and {row.other_n}" for row in sizes.itertuples())
    note = (
        "A point a head: difference of the score when it is masked, on two corpora. Correlations over heads with 95 % "
        f"intervals by bootstrap over heads. {examples}."
    )
    save_figure(figure, pictures, "\n".join([*joint_lines(settings.values()), note]))


def figure3(tables: Files, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw the score by percent of heads masked, for each order.

    Args:
        tables: `figure3` of `curves.pruning_curves`.
        settings: role -> what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(tables["figure3"], FIGURE3)
    figure, axes = panels(4.3, 3.6)
    for axis, (name, own) in zip(axes, mean_curves(table).groupby("experiment", sort=False), strict=True):
        for order in (order for order in _LINES if (own["order"] == order).any()):
            rows = own[own["order"] == order].sort_values("percent")
            colour, dashes, mark = _LINES[order]
            style = {"color": colour, "linestyle": dashes, "marker": mark, "markersize": 3, "linewidth": 1.3}
            axis.plot(rows["percent"], rows["score"], label=ORDER_TITLES[order], **style)
            if order in (RANDOM, IMPORTANCE):
                axis.fill_between(rows["percent"], rows["ci_low"], rows["ci_high"], color=colour, alpha=0.18, linewidth=0)
        floor = own["floor"].iloc[0]
        if floor > 0:
            axis.axhline(floor, color=BLACK, linewidth=0.8, linestyle=":", label=f"Most frequent label: {floor:.0f}")
        axis.set_title(TITLES[str(name)])
        axis.set_xlabel("Heads masked, %")
        axis.set_ylabel(_SCORES[own["metric"].iloc[0]])
        axis.set_ylim(bottom=0)
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=7.5)
    groups = table.drop_duplicates("experiment")
    facts = "; ".join(f"{TITLES[row.experiment]}: {row.heads} heads, n = {row.n} examples" for row in groups.itertuples())
    draws = table.loc[table["order"] == RANDOM, "draw"].nunique()
    note = (
        f"{facts}. Bands: 95 % interval by bootstrap over examples for importance; least and most of {draws} random orders, "
        "their mean as line."
    )
    save_figure(figure, pictures, "\n".join([*joint_lines([settings[TRANSLATION], settings[CLASSIFICATION]]), note]))


def figure4(tables: Files, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw BLEU by percent of the heads of one kind of attention, pruned by importance.

    Args:
        tables: `figure4` of `curves.pruning_curves`.
        settings: role -> what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(tables["figure4"], FIGURE4)
    figure, axes = panels(5.2, 3.5, 1)
    for kind in (kind for kind in _COLOURS if (table["kind"] == kind).any()):
        rows = table[table["kind"] == kind].sort_values("percent")
        _banded(axes[0], rows, f"{KIND_TITLES[kind]} ({rows['heads'].iloc[0]} heads)", _COLOURS[kind], _MARKS[kind])
    axes[0].set_xlabel("Heads of this kind masked, %")
    axes[0].set_ylabel("BLEU")
    axes[0].set_ylim(bottom=0)
    axes[0].legend(loc="best")
    note = (
        "Heads of one kind of attention masked in the order of their importance, all others left as they are; bands: 95 % "
        f"interval by bootstrap over n = {table['n'].iloc[0]} sentences."
    )
    save_figure(figure, pictures, "\n".join([settings[TRANSLATION].line, note]))


def _banded(axis: Axes, rows: pd.DataFrame, label: str, colour: Any, mark: str) -> None:
    axis.plot(rows["percent"], rows["score"], color=colour, marker=mark, markersize=3.5, linewidth=1.3, label=label)
    axis.fill_between(rows["percent"], rows["ci_low"], rows["ci_high"], color=colour, alpha=0.15, linewidth=0)


def figure5(path: str | Path, setting: Setting, pictures: Pictures) -> None:
    """Draw BLEU by percent of heads masked after several epochs of training, absolute and as a share of the whole model's.

    Args:
        path: table of `curves.dynamics_table`.
        setting: what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE5)
    figure, axes = panels(4.1, 3.5)
    epochs = sorted(table["epoch"].unique())
    # Light to dark in the order of training; markers tell them apart in print.
    colours = plt.get_cmap("cividis_r")(np.linspace(0.05, 1, len(epochs)))
    for number, epoch in enumerate(epochs):
        rows = table[table["epoch"] == epoch].sort_values("percent")
        style = {"color": colours[number], "marker": "os^DvP*X"[number % 8], "markersize": 3.5, "linewidth": 1.3}
        axes[0].plot(rows["percent"], rows["score"], label=f"epoch {epoch}: BLEU {rows['baseline'].iloc[0]:.1f}", **style)
        axes[1].plot(rows["percent"], 100 * rows["share"], **style)
    for axis, label in zip(axes, ("BLEU", "BLEU, % of the whole model's"), strict=True):
        axis.set_xlabel("Heads masked, %")
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
    axes[0].legend(loc="best")
    note = (
        f"{table['heads'].iloc[0]} heads of all kinds of attention masked in the order of their importance, which is computed "
        f"anew after each epoch; n = {table['n'].iloc[0]} sentences. The legend has the BLEU of the whole model; as a share "
        f"only where that is {LEAST_BLEU:g} or more."
    )
    save_figure(figure, pictures, "\n".join([setting.line, note]))


FIGURES: dict[str, Callable[[Files, Mapping[str, Setting], Pictures], None]] = {
    "figure1": figure1,
    "figure2": figure2,
    "figure3": figure3,
    "figure4": figure4,
}
"""Figures of one job, by the names of their tables."""
