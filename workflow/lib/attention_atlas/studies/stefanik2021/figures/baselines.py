"""Figure: scores of all keyphrase extractors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import seaborn as sns

from attention_atlas.figures.intervals import INTERVAL, VALUE, interval_rows
from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.quantities import F1
from attention_atlas.figures.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    PAGE,
    SKY,
    VERMILION,
    footnote,
    page_figure,
    save_figure,
)
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.published.drawn import published_rows
from attention_atlas.studies.stefanik2021.extractors import OCCURRENCES, OCCURRENCES_TITLE
from attention_atlas.studies.stefanik2021.names import (
    EMBEDDING,
    F1_5,
    F1_10,
    F1_M,
    HEAD,
    METHOD_TITLES,
    REGRESSION,
    TAGGER,
)

_METRICS = {
    F1_5: ("F1@5", SKY, "o"),
    F1_10: ("F1@10", BLUE, "s"),
    F1_M: ("F1@M", ORANGE, "^"),
    OCCURRENCES: (OCCURRENCES_TITLE, VERMILION, "D"),
}
_PUBLISHED = (("s21.f1", "fine-tuned, F1", ":"), ("s21.sota", "state of the art, F1", "-."))
"""Published value, its label, its line style."""
_FROM_MODEL = (HEAD, REGRESSION, TAGGER)
"""Methods that use the attention or the weights of the run's model, whatever the encoder of the embedding ranker."""


def baselines(path: str | Path, same_encoder: bool, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw the scores of all keyphrase extractors.

    Args:
        path: table `baselines.BASELINES`.
        same_encoder: whether the encoder of the embedding ranker is the run's model.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["method", "metric", "value", "ci_low", "ci_high", "documents", "encoder"])
    methods = [name for name in METHOD_TITLES if (table["method"] == name).any()]
    metrics = [name for name in _METRICS if (table["metric"] == name).any()]
    shown = table.assign(title=table["method"].map(METHOD_TITLES), score=[_METRICS[name][0] for name in table["metric"]])
    figure, ((axis,),) = page_figure(1, 1, PAGE, 0.44 * len(methods) + 0.9)
    from_model = (*_FROM_MODEL, *([EMBEDDING] if same_encoder else []))
    for place, name in enumerate(methods):
        if name in from_model:
            axis.axhspan(place - 0.45, place + 0.45, color=GREY, alpha=0.12, linewidth=0, zorder=0)
    sns.pointplot(
        interval_rows(shown[["title", "score", "value", "ci_low", "ci_high"]]),
        x="value",
        y="title",
        order=[METHOD_TITLES[name] for name in methods],
        hue="score",
        hue_order=[_METRICS[name][0] for name in metrics],
        palette=[_METRICS[name][1] for name in metrics],
        markers=[_METRICS[name][2] for name in metrics],
        dodge=0.5,
        estimator=VALUE,
        errorbar=INTERVAL,
        linestyle="none",
        markersize=4,
        err_kws={"linewidth": 1},
        ax=axis,
    )
    published = published_rows("stefanik2021", [name for name, _, _ in _PUBLISHED]).set_index("id")["value"]
    for name, title, dashes in _PUBLISHED:
        axis.axvline(published[name], color=BLACK, linewidth=0.9, linestyle=dashes, label=f"published (slides): {title}")
    axis.set_xlabel(F1.axis)
    axis.set_ylabel("")
    axis.set_xlim(left=0)
    legend_below(figure, [axis], 3)
    save_figure(figure, pictures, footnote(label, f"n = {table['documents'].iloc[0]} test documents"))
