"""Tables of attention as a keyphrase detector: relative attention, ranking of heads, and heads together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_parquet, write_table
from attention_atlas.methods.head_tables import mean_rows
from attention_atlas.models.card import read_card
from attention_atlas.studies.stefanik2021.names import HEAD, MIX, REGRESSION
from attention_atlas.studies.stefanik2021.ranking import head_ranking
from attention_atlas.studies.stefanik2021.received import WAYS, relative_attention
from attention_atlas.studies.stefanik2021.regression import Fit, coefficient_rows, detector_rows, heldout_scores
from attention_atlas.studies.stefanik2021.words import read_words

RELATIVE = ["way", "layer", "head", "value", "ci_low", "ci_high", "n"]
HELD_OUT = [REGRESSION, MIX, HEAD]
"""Columns of the scores of words, after document and place."""
_TITLES = {
    REGRESSION: "all heads, logistic regression",
    MIX: "all heads, softmax weights",
    HEAD: "best head of other documents",
}


def detection_tables(
    words_path: str | Path,
    card_path: str | Path,
    label: RunLabel,
    way: str,
    fit: Fit,
    resamples: int,
    tables: Mapping[str, str | Path],
    pages: Mapping[str, str | Path],
    scores_out: str | Path,
) -> None:
    """Write relative_attention, head_ranking, logistic_regression and detectors with their pages, and the scores of all words.

    Args:
        words_path: table of `words.write_words`.
        card_path: the model's card.
        label: model and documents.
        way: how attention becomes a feature; relative attention is written for both ways.
        fit: of the regression, and folds of the calibration.
        resamples: of the bootstrap over documents.
        tables, pages: name of each -> file.
        scores_out: Parquet file: document, place, `HELD_OUT`.

    Raises:
        AtlasError: a table cannot be used, or there are too few documents.
    """
    card = read_card(card_path)
    relative = []
    for name in WAYS:
        words, features = read_words(words_path, card.layers, card.heads, name)
        groups = words.groupby("record", sort=False).indices.values()
        by_document = [
            relative_attention(np.moveaxis(features[places], 0, -1), words["key"].to_numpy()[places]) for places in groups
        ]
        relative.append(mean_rows(np.stack(by_document), resamples, fit.seed).assign(way=name))
    write_table(pd.concat(relative, ignore_index=True)[RELATIVE], tables["relative_attention"])
    words, features = read_words(words_path, card.layers, card.heads, way)
    key, documents = words["key"].to_numpy(), words["record"].to_numpy()
    ranking = head_ranking(features, key, documents, fit.folds)
    ranking["slide_rank"] = ranking["slide_entropy"].rank(method="first").astype(int)
    write_table(ranking, tables["head_ranking"])
    coefficients = coefficient_rows(features, key, documents, fit)
    write_table(coefficients, tables["logistic_regression"])
    scores = heldout_scores(features.reshape(len(features), -1), key, documents, fit)
    detectors = detector_rows(scores, key, documents)
    write_table(detectors, tables["detectors"])
    write_parquet(words[["document", "place"]].assign(**{name: scores[name] for name in HELD_OUT}), scores_out)
    _pages(ranking, coefficients, detectors, label, way, pages)


def _pages(
    ranking: pd.DataFrame,
    coefficients: pd.DataFrame,
    detectors: pd.DataFrame,
    label: RunLabel,
    way: str,
    pages: Mapping[str, str | Path],
) -> None:
    share = f"{ranking['share'].iloc[0]:.1%} of {ranking['n'].iloc[0]} words belong to keyphrases."
    notes = [
        label.line,
        f"A row a head: how well the {way} of the attention that a word receives tells words of keyphrases. {share} cross "
        "entropy: nats a word, of a probability fitted to other documents; of the share of key words alone in cross entropy "
        "none. slide entropy: the slides' sum over words with attention itself for a probability, and its rank, which says "
        "how small the attention of a head is rather than what it detects.",
    ]
    formats = dict.fromkeys(("layer", "head", "n", "slide_rank"), "d") | {"slide_entropy": ".1f", "cross_entropy": ".5f"}
    formats |= {"cross_entropy_none": ".5f", "share": ".3f"}
    write_html_table(ranking, pages["head_ranking"], "Štefánik: heads as detectors of keyphrases", notes, formats=formats)
    notes = [
        label.line,
        "Coefficients of a logistic regression (L2, both kinds of words weighing the same) over the standardised attention "
        "of all heads, with intervals over resampled documents. Heads of like attention share their weight, so that a "
        "coefficient is no importance; permutation importance is the AUC on other documents that is lost when a head's "
        "attention is shuffled over words. mix weight: softmax weight of the analogue of scalar mixing.",
    ]
    order = coefficients.sort_values("permutation_importance", ascending=False, kind="stable")
    title = "Štefánik: logistic regression over all heads"
    formats = {"layer": "d", "head": "d", "permutation_importance": ".4f", "permutation_sd": ".4f", "mix_weight": ".4f"}
    write_html_table(order, pages["logistic_regression"], title, notes, formats=formats)
    named = detectors.assign(detector=[_TITLES[name] for name in detectors["detector"]])
    notes = [
        label.line,
        f"Words judged by what was fitted to (or chosen on) other documents. {share} f1: at probability 0.5 of the balanced "
        "regression; cross entropy: of the balanced regression too, so not that of a calibrated probability.",
    ]
    write_html_table(
        named, pages["detectors"], "Štefánik: one head and all heads", notes, formats={"words": "d", "documents": "d"}
    )
