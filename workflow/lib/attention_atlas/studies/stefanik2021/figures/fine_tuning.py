"""Figure: test scores of the fine-tuned taggers, whole and pruned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from attention_atlas.figures.style import BLACK, SKY, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.names import MEAN, METRIC_TITLES, PHRASE, PRUNED, PRUNED_ON_TEST, TEST, TOKEN, WHOLE

_MODELS = {WHOLE: "Whole", PRUNED: "Pruned", PRUNED_ON_TEST: "Pruned on test\n(optimistic)"}


def fine_tuning(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw test scores of the taggers, whole and pruned: each seed, and the mean with its interval.

    Args:
        path: table `removal_tables.FINE_TUNING`.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["seed", "model", "split", "metric", "value", "ci_low", "ci_high", "documents"])
    table = table[table["split"] == TEST]
    figure, axes = panels(3.6, 3.4, 2)
    for axis, metric in zip(axes, (TOKEN, PHRASE), strict=True):
        for place, model in enumerate(_MODELS):
            scores = table[(table["metric"] == metric) & (table["model"] == model)]
            seeds, mean = scores[scores["seed"] != MEAN], scores[scores["seed"] == MEAN].iloc[0]
            spread = np.linspace(-0.12, 0.12, len(seeds)) if len(seeds) > 1 else np.zeros(1)
            axis.plot(place + spread, seeds["value"], "o", color=SKY, markersize=5, label="a seed" if place == 0 else None)
            interval = [[mean["value"] - mean["ci_low"]], [mean["ci_high"] - mean["value"]]]
            style = {"fmt": "D", "color": BLACK, "markersize": 5, "capsize": 3, "linewidth": 1}
            axis.errorbar(
                [place + 0.28], [mean["value"]], yerr=interval, label="mean of seeds" if place == 0 else None, **style
            )
        axis.set_xticks(range(len(_MODELS)), list(_MODELS.values()), fontsize=8)
        axis.set_ylabel(METRIC_TITLES[metric])
        axis.set_xlim(-0.4, len(_MODELS) - 0.4)
        axis.set_ylim(0, 100)
    axes[0].legend(loc="lower left")
    note = (
        "Pruned: ranked and stopped on development documents. Bars: 95 % interval by bootstrap over "
        f"n = {table['documents'].iloc[0]} test documents."
    )
    save_figure(figure, pictures, f"{label.line}\n{note}")
