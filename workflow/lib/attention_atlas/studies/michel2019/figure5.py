"""Figure 5: BLEU by percent of heads masked, after several epochs of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLUE, PAGE, PUBLISHED, footnote, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.published.drawn import published_rows
from attention_atlas.studies.michel2019.curves import FIGURE5, dynamics_table
from attention_atlas.studies.michel2019.figure_style import MASKED_LABEL, SCORE_LABELS

_MARKERS = "os^DvP*X"
_APART = 1.4
"""Least ratio of two labelled epochs."""


def figure5(
    path: str | Path,
    resamples: int,
    seed: int,
    label: RunLabel,
    translator: str,
    out: str | Path,
    statistics_out: str | Path,
    pictures: Mapping[str, str | Path],
) -> None:
    """Write `FIGURE5` and draw BLEU by percent of heads masked after several epochs of training, also as a share of the full
    model's, and the full model's BLEU by epoch beside the published one.

    Args:
        path: table of `dynamics`.
        resamples, seed: of the bootstrap.
        label: model and corpus of the run.
        translator: the translation model in words.
        out, statistics_out: tables of `curves.dynamics_table` to write.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    dynamics_table(path, resamples, seed, out, statistics_out)
    table = read_table(out, FIGURE5)
    epochs = sorted(table["epoch"].unique())
    baselines = table.groupby("epoch")["baseline"].first()
    titles = {epoch: f"epoch {epoch}: BLEU {baselines[epoch]:.1f}" for epoch in epochs}
    shown = table.assign(title=table["epoch"].map(titles), share=100 * table["share"])
    figure, axes = panels(PAGE / 3, 3.0, 3)
    for axis, column in zip(axes[:2], ("score", "share"), strict=True):
        sns.lineplot(
            shown,
            x="percent",
            y=column,
            hue="title",
            hue_order=[titles[epoch] for epoch in epochs],
            # Light to dark in the order of training; markers distinguish the epochs in print.
            palette=sns.color_palette("crest", len(epochs)),
            style="title",
            style_order=[titles[epoch] for epoch in epochs],
            markers=[_MARKERS[number % len(_MARKERS)] for number in range(len(epochs))],
            dashes=False,
            errorbar=None,
            linewidth=1.2,
            ax=axis,
        )
        axis.set_xlabel(MASKED_LABEL)
    axes[0].set_ylabel(SCORE_LABELS["BLEU"])
    axes[1].set_ylabel("BLEU (% of the full model's)")
    _by_epoch(axes[2], baselines)
    for axis in axes:
        axis.set_ylim(bottom=0)
    legend_below(figure, axes, 4)
    count = f"n = {table['n'].iloc[0]} sentences; {table['heads'].iloc[0]} heads; translation model: {translator}"
    save_figure(figure, pictures, footnote(label, count))


def _labels(epochs: Sequence[int]) -> list[str]:
    """Labels of epochs on a logarithmic axis, the last one first: empty where a label would touch the next one."""
    shown: list[int] = []
    for epoch in reversed(epochs):
        if not shown or shown[-1] / epoch >= _APART:
            shown.append(epoch)
    return [str(epoch) if epoch in shown else "" for epoch in epochs]


def _by_epoch(axis: Axes, baselines: pd.Series) -> None:
    """Draw BLEU of the full model by epoch: this run's and the published one."""
    published = published_rows("michel2019", ["m19.fig5.bleu_by_epoch"])
    style: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 1.2, "label": "full model of this run"}
    axis.plot(baselines.index, baselines, color=BLUE, **style)
    axis.plot(published["epoch"], published["value"], linestyle=":", linewidth=0.8, label="published: full model", **PUBLISHED)
    axis.set_xscale("log")
    epochs = sorted({*baselines.index, *published["epoch"]})
    axis.set_xticks(epochs, _labels(epochs))
    axis.minorticks_off()
    axis.set_xlabel("Epoch")
    axis.set_ylabel(SCORE_LABELS["BLEU"])
