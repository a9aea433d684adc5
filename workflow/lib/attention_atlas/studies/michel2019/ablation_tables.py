"""Scores with each head masked, and with each head kept alone in its layer, for Tables 1, 2 and 3 and Figure 1."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.io.tables import write_table
from attention_atlas.methods.names import CLASSIFICATION, KEYS, ONE, OTHERS, TRANSLATION
from attention_atlas.studies.michel2019.claim_statistics import (
    one_head_statistics,
    single_head_statistics,
    statistics_table,
)
from attention_atlas.studies.michel2019.effects import (
    TESTS,
    MaskedScores,
    best_by_layer,
    distinct_answers,
    effect_rows,
    read_answers,
)

_EFFECT = ["kind", "layer", "head", "metric", "score", "baseline", "delta", "ci_low", "ci_high", *TESTS]
TABLE1 = [*_EFFECT, "p_bh", "p_count", "n", "unit"]
BEST = [*_EFFECT, "n", "heldout_delta", "unit", "distinct_answers"]
FIGURE1 = ["experiment", *TABLE1]
PUBLISHED_DELTA = "published_delta"
"""Column of Tables 1, 2, 3, 5 and 6: the paper's change in score of the same kind, layer (and head), of its own model."""


def ablation_tables(
    answers: Mapping[str, str | Path],
    resamples: int,
    seed: int,
    out: str | Path,
    translation_out: str | Path,
    classification_out: str | Path,
    statistics_out: str | Path,
) -> None:
    """Write the tables; scores in percent, differences in percentage points or BLEU points.

    Args:
        answers: experiment -> table of `masked_answers`.
        resamples, seed: of the bootstrap.
        out: `FIGURE1`, every head of both models masked alone.
        translation_out: `BEST` of the translation model: each layer with all heads masked but the best one;
            distinct_answers: of the full model, 1 if it gives the same answer to all examples.
        classification_out: the same of the classifier.
        statistics_out: the statistics of the claims, `claim_statistics.STATISTICS`.

    Raises:
        AtlasError: a table cannot be used.
    """
    measured = {name: read_answers(path, KEYS, name) for name, path in answers.items()}
    single_head = [
        effect_rows(_only(masked, ONE), resamples, seed).assign(experiment=name) for name, masked in measured.items()
    ]
    write_table(pd.concat(single_head, ignore_index=True)[FIGURE1], out)
    statistics = list(single_head_statistics(_only(measured[TRANSLATION], ONE), TRANSLATION, resamples, seed))
    for name, path in ((TRANSLATION, translation_out), (CLASSIFICATION, classification_out)):
        one_left = _only(measured[name], OTHERS)
        best = best_by_layer(one_left, resamples, seed).assign(distinct_answers=distinct_answers(answers[name]))
        write_table(best[BEST], path)
        statistics += one_head_statistics(one_left, name, resamples, seed)
    write_table(statistics_table(statistics), statistics_out)


def _only(masked: MaskedScores, unit: str) -> MaskedScores:
    return masked.only((masked.keys["masked"] == unit).to_numpy())
