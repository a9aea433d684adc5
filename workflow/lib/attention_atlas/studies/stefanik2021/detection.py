"""Tables of attention as a keyphrase detector: relative attention, ranking of heads, and heads together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from attention_atlas.io.tables import write_parquet, write_table
from attention_atlas.methods.head_tables import mean_rows
from attention_atlas.models.card import read_card
from attention_atlas.studies.stefanik2021.names import HEAD, MIX, REGRESSION
from attention_atlas.studies.stefanik2021.ranking import head_ranking
from attention_atlas.studies.stefanik2021.received import REDUCTIONS, relative_attention
from attention_atlas.studies.stefanik2021.regression import Fit, coefficient_rows, detector_rows, heldout_scores
from attention_atlas.studies.stefanik2021.words import read_words

RELATIVE = ["reduction", "layer", "head", "value", "ci_low", "ci_high", "n"]
HELD_OUT = [REGRESSION, MIX, HEAD]
"""Columns of the scores of words, after document and place."""


def detection_tables(
    words_path: str | Path,
    card_path: str | Path,
    reduction: str,
    fit: Fit,
    resamples: int,
    tables: Mapping[str, str | Path],
    scores_out: str | Path,
) -> None:
    """Write relative_attention, head_ranking, logistic_regression and detectors, and the scores of all words.

    Args:
        words_path: table of `words.write_words`.
        card_path: the model's card.
        reduction: how attention becomes a feature; relative attention is written for both reductions.
        fit: of the regression, and folds of the calibration.
        resamples: of the bootstrap over documents.
        tables: name of each -> file.
        scores_out: Parquet file: document, place, `HELD_OUT`.

    Raises:
        AtlasError: a table cannot be used, or there are too few documents.
    """
    card = read_card(card_path)
    relative = []
    for name in REDUCTIONS:
        words, features = read_words(words_path, card.layers, card.heads, name)
        groups = words.groupby("record", sort=False).indices.values()
        by_document = [
            relative_attention(np.moveaxis(features[places], 0, -1), words["key"].to_numpy()[places]) for places in groups
        ]
        relative.append(mean_rows(np.stack(by_document), resamples, fit.seed).assign(reduction=name))
    write_table(pd.concat(relative, ignore_index=True)[RELATIVE], tables["relative_attention"])
    words, features = read_words(words_path, card.layers, card.heads, reduction)
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
