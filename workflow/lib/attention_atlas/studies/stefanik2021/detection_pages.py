"""Pages of the ranking of heads, of the logistic regression over all heads, and of the detectors."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.published.values import load_published, published_column
from attention_atlas.studies.stefanik2021.names import HEAD, MIX, REGRESSION, STATISTICS

_TITLES = {
    REGRESSION: "all heads, logistic regression",
    MIX: "all heads, softmax weights",
    HEAD: "best head, selected on other documents",
    STATISTICS: "control: position, frequency and form of words, logistic regression",
}


def head_ranking(path: str | Path, reduction: str, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of the ranking of heads.

    Args:
        path: head_ranking of `detection_tables`.
        reduction: how attention becomes a feature.
        label: model and documents.
        html_out: file to write.

    Raises:
        AtlasError: the table cannot be used.
    """
    ranking = read_table(path)
    slide = 'slide "Weighting of attention heads"'
    published = published_column(load_published("stefanik2021"), slide, "head_ranking", "slide_entropy", ranking)
    ranking.insert(ranking.columns.get_loc("slide_entropy") + 1, "slides", published)
    notes = [
        label.line,
        f"One row for each head: how well the {reduction} of the attention that a word receives detects keyphrase words. "
        f"{_share(ranking)} cross entropy: nats per word, of a probability fitted to other documents; cross entropy none: of "
        "the base rate alone. slide entropy: the slides' sum over words, which uses attention itself as a probability, and "
        "its rank, which depends on how small the attention of a head is rather than on what it detects. Interval of the AUC: "
        f"95 %, over {ranking['documents'].iloc[0]} documents.",
    ]
    formats = dict.fromkeys(("layer", "head", "n", "documents", "slide_rank"), "d") | {
        "slide_entropy": ".1f",
        "cross_entropy": ".5f",
    }
    formats |= {"cross_entropy_none": ".5f", "share": ".3f", "slides": ".1f"}
    names = {"slides": "slides: slide entropy"}
    write_html_table(ranking, html_out, "Štefánik: heads as detectors of keyphrases", notes, names, formats)


def logistic_regression(path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of the regression, from logistic_regression of `detection_tables`.

    Raises:
        AtlasError: the table cannot be used.
    """
    coefficients = read_table(path)
    notes = [
        label.line,
        "Coefficients of a logistic regression (L2, equal total weight of both kinds of words) on the standardised attention "
        "of all heads, with intervals over resampled documents. Heads with similar attention share their weight, so a "
        "coefficient does not measure importance; permutation importance is the AUC lost on other documents when a head's "
        "attention is shuffled over words. mix weight: softmax weight of the analogue of scalar mixing.",
    ]
    order = coefficients.sort_values("permutation_importance", ascending=False, kind="stable")
    title = "Štefánik: logistic regression over all heads"
    formats = {"layer": "d", "head": "d", "permutation_importance": ".4f", "permutation_sd": ".4f", "mix_weight": ".4f"}
    write_html_table(order, html_out, title, notes, formats=formats)


def detectors(path: str | Path, ranking_path: str | Path, label: RunLabel, html_out: str | Path) -> None:
    """Write the page of the detectors, from detectors and head_ranking of `detection_tables`.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path)
    ranking = read_table(ranking_path)
    named = table.assign(detector=[_TITLES[name] for name in table["detector"]])
    notes = [
        label.line,
        f"Words are scored by detectors that were fitted (or selected) on other documents. {_share(ranking)} f1: at "
        "probability 0.5 of the balanced regression. cross entropy: nats per word, of fits in which every word has the same "
        f"weight; that of the base rate alone is {ranking['cross_entropy_none'].iloc[0]:.3f}; empty for a head's attention, "
        "which is no probability. document AUC: mean over documents of the AUC within a document; difference: from the "
        "document AUC of the best head, paired by document. Intervals: 95 %, Student's t over the n documents with both kinds "
        "of words.",
    ]
    write_html_table(
        named, html_out, "Štefánik: one head and all heads", notes, formats={"words": "d", "documents": "d", "n": "d"}
    )


def _share(ranking: pd.DataFrame) -> str:
    return f"{ranking['share'].iloc[0]:.1%} of {ranking['n'].iloc[0]} words belong to keyphrases."
