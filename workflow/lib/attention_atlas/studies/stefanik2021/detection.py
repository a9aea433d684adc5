"""Tables of attention as a keyphrase detector: relative attention, ranking of heads, and heads together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.tables import write_parquet, write_table
from attention_atlas.methods.head_tables import mean_rows
from attention_atlas.methods.units import DOCUMENTS
from attention_atlas.models.card import read_card
from attention_atlas.stats.simultaneous import random_exchanges, simultaneous_interval
from attention_atlas.studies.stefanik2021.names import HEAD, MIX, REGRESSION, STATISTICS
from attention_atlas.studies.stefanik2021.rank_correlations import rank_correlation_rows
from attention_atlas.studies.stefanik2021.ranking import calibrated_heads, head_ranking
from attention_atlas.studies.stefanik2021.received import REDUCTIONS, relative_attention
from attention_atlas.studies.stefanik2021.regression import (
    Fit,
    coefficient_rows,
    detector_rows,
    heldout_regression,
    heldout_scores,
)
from attention_atlas.studies.stefanik2021.word_statistics import word_statistics
from attention_atlas.studies.stefanik2021.words import read_words

RELATIVE = ["reduction", "layer", "head", "value", "ci_low", "ci_high", "n", "adjusted_low", "adjusted_high", "unit"]
HELD_OUT = [REGRESSION, MIX, HEAD, STATISTICS]
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
    """Write relative_attention, head_ranking, logistic_regression, detectors, rank_correlations, and the scores of all words.

    adjusted_low, adjusted_high of relative_attention: simultaneous 95 % intervals for all heads, by random signs of the
    documents (`simultaneous_interval`).

    Args:
        words_path: table of `words.write_words`.
        card_path: the model's card.
        reduction: how attention becomes a feature; relative attention is written for both reductions.
        fit: of the regression, and folds of the calibration.
        resamples: of the bootstrap over documents.
        tables: name -> file.
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
        relative.append(_relative_rows(np.stack(by_document), resamples, fit.seed).assign(reduction=name, unit=DOCUMENTS))
    write_table(pd.concat(relative, ignore_index=True)[RELATIVE], tables["relative_attention"])
    words, features = read_words(words_path, card.layers, card.heads, reduction)
    key, documents = words["key"].to_numpy(), words["record"].to_numpy()
    calibrated = calibrated_heads(features, key, documents, fit.folds)
    ranking = head_ranking(features, key, documents, calibrated)
    ranking["slide_rank"] = ranking["slide_entropy"].rank(method="first").astype(int)
    write_table(ranking, tables["head_ranking"])
    coefficients = coefficient_rows(features, key, documents, fit)
    write_table(coefficients, tables["logistic_regression"])
    flat = features.reshape(len(features), -1)
    correlations = rank_correlation_rows(calibrated, flat, key, documents, fit)
    write_table(correlations, tables["rank_correlations"])
    scores = heldout_scores(flat, key, documents, fit)
    texts = [list(names) for _, names in words.groupby("record", sort=False)["word"]]
    statistics = word_statistics(texts)
    scores[STATISTICS] = heldout_regression(statistics, key, documents, fit)
    unbalanced = {
        name: heldout_regression(values, key, documents, fit, balanced=False)
        for name, values in ((REGRESSION, flat), (STATISTICS, statistics))
    }
    detectors = detector_rows(scores, unbalanced | {MIX: scores[MIX]}, key, documents)
    write_table(detectors, tables["detectors"])
    write_parquet(words[["document", "place"]].assign(**{name: scores[name] for name in HELD_OUT}), scores_out)


def _relative_rows(by_document: npt.NDArray[np.float64], resamples: int, seed: int) -> pd.DataFrame:
    """Means over documents, [document, layer, head], with intervals for each head and simultaneous ones for all heads."""
    rows = mean_rows(by_document, resamples, seed)
    present = by_document[~np.isnan(by_document[:, 0, 0])].reshape(-1, by_document[0].size)
    if not len(present):
        return rows.assign(adjusted_low=np.nan, adjusted_high=np.nan)
    exchanges = np.concatenate(list(random_exchanges(len(present), resamples, seed)))
    null = ((1 - 2 * exchanges) @ present / len(present)).T
    low, high = simultaneous_interval(present.mean(axis=0), null)
    return rows.assign(adjusted_low=low, adjusted_high=high)
