"""Scores of the tasks of GLUE, of many sets of predictions and many resamples at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

Floats = npt.NDArray[np.float64]
ACCURACY, F1, CORRELATION = "accuracy", "f1", "correlation"
METRICS = {
    "mrpc": (F1, ACCURACY),
    "stsb": (CORRELATION,),
    "sst2": (ACCURACY,),
    "qqp": (F1, ACCURACY),
    "rte": (ACCURACY,),
    "qnli": (ACCURACY,),
    "mnli": (ACCURACY,),
}
"""Task -> its metrics, the metric of Figures 8 and 9 first (Kovaleva et al. 2019, Table 1, and their code)."""
_POSITIVE = frozenset({"1", "equivalent", "duplicate"})


def as_numbers(task: str, values: Sequence[str]) -> Floats:
    """Predictions or labels as numbers: regression scores, or 1 for the positive class and other numbers for the rest.

    Equal names give equal numbers in every call.
    """
    if METRICS[task] == (CORRELATION,):
        return np.asarray([float(value) for value in values])
    numbers = {value: float(int.from_bytes(value.encode()[:6].ljust(6, b"\0"), "big") + 2) for value in set(values)}
    return np.asarray([1.0 if value in _POSITIVE else numbers[value] for value in values])


def score(metric: str, predictions: Floats, truth: Floats, weights: Floats | None = None) -> Floats:
    """Scores of sets of predictions.

    Args:
        metric: accuracy; f1 of the class 1; correlation: the mean of Pearson's and Spearman's.
        predictions: [..., example].
        truth: [example].
        weights: [resample, example] how often each example counts; None for once each. Ranks are over all examples.

    Returns:
        [...], with weights [..., resample]; 0 where the denominator is 0.
    """
    flat = predictions.reshape(-1, predictions.shape[-1]).astype(np.float64)
    counts = np.ones((1, len(truth))) if weights is None else np.asarray(weights, np.float64)
    scores = _combined(metric, [terms @ counts.T for terms in _terms(metric, flat, truth)], counts.sum(axis=1))
    shaped = scores.reshape(*predictions.shape[:-1], len(counts))
    return shaped[..., 0] if weights is None else shaped


def swapped_differences(metric: str, base: Floats, changed: Floats, truth: Floats, swaps: Floats) -> Floats:
    """Differences of scores when the predictions of two models are exchanged at random: the null of a paired permutation test.

    A correlation does not depend on the scale of the predictions, so the exchanged ones must not either: predictions are
    standardised (for Pearson's) or ranked (for Spearman's) within each model before the exchange. A model whose predictions
    are shifted or scaled then has the same null distribution. With raw predictions, a mixture of two scales correlates badly
    with the truth, which widens the null distribution.

    Args:
        metric: see `score`.
        base: [example] predictions of one model.
        changed: [set, example] predictions of the sets to compare with it.
        truth: [example].
        swaps: [permutation, example] 1 where the two are exchanged, else 0; the same for all sets.

    Returns:
        [set, permutation] score of the set minus that of the base, after the exchange.
    """
    changed_terms = _terms(metric, changed.astype(np.float64), truth)
    base_terms = _terms(metric, base[None].astype(np.float64), truth)
    total = np.full(len(swaps), float(len(truth)))
    unswapped = 1 - swaps
    pairs = list(zip(changed_terms, base_terms, strict=True))
    changed_sums = [new @ unswapped.T + old @ swaps.T for new, old in pairs]
    base_sums = [new @ swaps.T + old @ unswapped.T for new, old in pairs]
    return _combined(metric, changed_sums, total) - _combined(metric, base_sums, total)


def _terms(metric: str, flat: Floats, truth: Floats) -> list[Floats]:
    """Per-example terms, [set or 1, example] each; each metric is a function of their sums."""
    if metric == ACCURACY:
        return [(flat == truth).astype(np.float64)]
    if metric == F1:
        predicted, positive = (flat == 1).astype(np.float64), (truth == 1).astype(np.float64)
        return [predicted * positive, predicted, np.broadcast_to(positive, predicted.shape)]
    terms = []
    for values, reference in ((flat, truth), (rankdata(flat, axis=1), rankdata(truth))):
        x, y = _standardised(values), np.broadcast_to(_standardised(reference), values.shape)
        terms += [x, y, x * x, y * y, x * y]
    return terms


def _standardised(values: Floats) -> Floats:
    """Mean 0 and standard deviation 1 over the last axis; 0 where all values are equal."""
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = centred.std(axis=-1, keepdims=True)
    # Rounding of the mean leaves a spread in equal values.
    varies = spread > 1e-12 * np.abs(values).max(axis=-1, keepdims=True)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=varies)


def _combined(metric: str, sums: Sequence[Floats], total: Floats) -> Floats:
    """Scores of the sums of `_terms`, [set, resample] each, over `total` [resample] examples."""
    if metric == ACCURACY:
        return sums[0] / total
    if metric == F1:
        return _ratio(2 * sums[0], sums[1] + sums[2])
    return (_pearson(sums[:5], total) + _pearson(sums[5:], total)) / 2


def best_constant(metric: str, truth: Floats) -> float:
    """The best score of a constant answer: that of the majority, or of the positive class for f1."""
    if metric == CORRELATION:
        return float("nan")
    return max(float(score(metric, np.full(len(truth), answer), truth)) for answer in np.unique(truth))


def one_answer_note(predictions: Mapping[str, Floats]) -> list[str]:
    """A note on models that have not learnt to tell examples apart; empty if there are none.

    Args:
        predictions: the models in words -> [model, example] predictions.
    """
    counts = {words: int((answers == answers[:, :1]).all(axis=1).sum()) for words, answers in predictions.items()}
    listed = [f"{words} ({n} of {len(predictions[words])})" for words, n in counts.items() if n]
    return [f"Models that give one answer to all examples: {'; '.join(listed)}."] if listed else []


def majority(truth: Floats) -> float:
    """The most frequent label."""
    values, counts = np.unique(truth, return_counts=True)
    return float(values[counts.argmax()])


def _pearson(sums: Sequence[Floats], total: Floats) -> Floats:
    x, y, xx, yy, xy = (term_sum / total for term_sum in sums)
    variances = (xx - x * x) * (yy - y * y)
    return _ratio(xy - x * y, np.sqrt(np.clip(variances, 0, None)), least=1e-12)


def _ratio(top: Floats, bottom: Floats, least: float = 0.0) -> Floats:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > least)
