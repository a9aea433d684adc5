"""Figure: test scores of the fine-tuned taggers, whole and pruned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import seaborn as sns

from attention_atlas.figures.intervals import INTERVAL, VALUE, interval_rows
from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLACK, PUBLISHED, SKY, footnote, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.published.drawn import published_rows
from attention_atlas.studies.stefanik2021.names import MEAN, METRIC_TITLES, PHRASE, PRUNED, PRUNED_ON_TEST, TEST, TOKEN, WHOLE

_MODELS = {WHOLE: "Full", PRUNED: "Pruned", PRUNED_ON_TEST: "Pruned on test\n(optimistic)"}


def fine_tuning(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw test scores of the taggers, whole and pruned: each seed, and the mean with its interval.

    Args:
        path: table `names.FINE_TUNING`.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["seed", "model", "split", "metric", "value", "ci_low", "ci_high", "documents"])
    table = table[(table["split"] == TEST) & table["model"].isin(list(_MODELS))]
    shown = table.assign(title=table["model"].map(_MODELS))
    # The slides do not say which of the two F1 they report: their values are drawn in both panels.
    published = published_rows("stefanik2021", ["s21.f1", "s21.f1_pruned"])
    places = [list(_MODELS).index(model) for model in published["model"]]
    figure, axes = panels(2.7, 3.2)
    for axis, metric in zip(axes, (TOKEN, PHRASE), strict=True):
        scores = shown[shown["metric"] == metric]
        seeds, mean = scores[scores["seed"] != MEAN], scores[scores["seed"] == MEAN]
        style = {"x": "title", "y": "value", "order": list(_MODELS.values()), "ax": axis}
        sns.stripplot(seeds, color=SKY, size=4.5, jitter=False, label="one seed", legend=False, **style)
        sns.pointplot(
            interval_rows(mean),
            estimator=VALUE,
            errorbar=INTERVAL,
            color=BLACK,
            linestyle="none",
            markers="_",
            markersize=9,
            capsize=0.12,
            err_kws={"linewidth": 1},
            label="mean of seeds, 95 % interval",
            **style,
        )
        axis.plot(places, published["value"], linestyle="none", label="published (slides): F1", zorder=4, **PUBLISHED)
        axis.set_xlabel("")
        axis.set_ylabel(METRIC_TITLES[metric])
        axis.set_ylim(bottom=0)
    legend_below(figure, axes, 3)
    save_figure(figure, pictures, footnote(label, f"n = {table['documents'].iloc[0]} test documents"))
