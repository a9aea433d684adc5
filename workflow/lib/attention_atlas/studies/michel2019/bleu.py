"""BLEU of many translations and many resamples at once, from sacrebleu's counts of each sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_ORDERS = 4


def signature() -> str:
    """sacrebleu's signature of these settings (13a tokens, case kept, exponential smoothing), with its version."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU()
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


def sentence_counts(translations: Sequence[str], references: Sequence[str]) -> Floats:
    """[sentence, 10]: matches and totals of n-grams up to four words, length of the translation, length of the reference."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    scores = [metric.sentence_score(text, [reference]) for text, reference in zip(translations, references, strict=True)]
    rows = [[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores]
    return np.asarray(rows, dtype=np.float64).reshape(len(scores), 2 * _ORDERS + 2)


def bleu(counts: npt.ArrayLike) -> Floats:
    """BLEU of summed counts, [..., 10] -> [...], by sacrebleu's formula with exponential smoothing (Post 2018)."""
    sums = np.asarray(counts, dtype=np.float64)
    matches, total = sums[..., :_ORDERS], sums[..., _ORDERS : 2 * _ORDERS]
    length, reference_length = sums[..., -2], sums[..., -1]
    # Exponential smoothing: each further order without a match counts half of the one before it.
    missing = np.cumsum((matches == 0) & (total > 0), axis=-1)
    smoothed = np.where(matches == 0, 0.5**missing, matches)
    logs = np.log(smoothed, where=smoothed > 0, out=np.zeros_like(smoothed)) - np.log(np.maximum(total, 1))
    brevity = np.minimum(0.0, 1 - reference_length / np.maximum(length, 1e-12))
    scores = 100 * np.exp(brevity + logs.mean(axis=-1))
    possible = (total > 0).all(axis=-1) & (matches > 0).any(axis=-1)
    return np.where(possible, scores, 0.0)
