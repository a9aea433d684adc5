"""BLEU of many translations and many resamples at once, from the counts that sacrebleu gives of each sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_ORDERS = 4


def signature() -> str:
    """What sacrebleu calls its settings here (13a tokens, case kept, exponential smoothing), with its version."""
    from sacrebleu.metrics import BLEU

    metric = BLEU()
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


def sentence_counts(translations: Sequence[str], references: Sequence[str]) -> Floats:
    """[sentence, 10]: matches and totals of n-grams up to four words, length of the translation, length of the reference."""
    from sacrebleu.metrics import BLEU

    metric = BLEU(effective_order=True)
    found = [metric.sentence_score(text, [reference]) for text, reference in zip(translations, references, strict=True)]
    rows = [[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in found]
    return np.asarray(rows, dtype=np.float64).reshape(len(found), 2 * _ORDERS + 2)


def bleu(counts: npt.ArrayLike) -> Floats:
    """BLEU of summed counts, [..., 10] -> [...], by sacrebleu's formula with exponential smoothing (Post 2018)."""
    sums = np.asarray(counts, dtype=np.float64)
    right, total = sums[..., :_ORDERS], sums[..., _ORDERS : 2 * _ORDERS]
    length, wanted = sums[..., -2], sums[..., -1]
    # The nth order without a match counts as half of that before it.
    missing = np.cumsum((right == 0) & (total > 0), axis=-1)
    smoothed = np.where(right == 0, 0.5**missing, right)
    logs = np.log(smoothed, where=smoothed > 0, out=np.zeros_like(smoothed)) - np.log(np.maximum(total, 1))
    brevity = np.minimum(0.0, 1 - wanted / np.maximum(length, 1e-12))
    scores = 100 * np.exp(brevity + logs.mean(axis=-1))
    possible = (total > 0).all(axis=-1) & (right > 0).any(axis=-1)
    return np.where(possible, scores, 0.0)
