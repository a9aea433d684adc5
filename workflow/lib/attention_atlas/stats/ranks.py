"""Areas under ROC curves and rank correlations of many rows at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def aucs(scores: Floats, positive: Bools) -> Floats:
    """[column] AUC of scores [item, column] (scikit-learn's handles one column at a time); ties count half."""
    from scipy.stats import rankdata

    positives, negatives = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(scores, axis=0)
    return (ranks[positive].sum(axis=0) - positives * (positives + 1) / 2) / (positives * negatives)


def clustered_auc_intervals(scores: Floats, positive: Bools, clusters: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
    """95 % interval of each AUC of `aucs` for items dependent within clusters ([item] from 0); NaN for a single cluster.

    DeLong's variance with clusters as units (Obuchowski 1997, Nonparametric analysis of clustered ROC curve data), and
    Student's t with one degree of freedom fewer than clusters.
    """
    from scipy.stats import rankdata

    count = int(clusters.max()) + 1
    if count < 2:
        empty = np.full(scores.shape[1], np.nan)
        return empty, empty.copy()
    ranks, values = rankdata(scores, axis=0), aucs(scores, positive)
    # Share of the negative items below each positive item, and of the positive items above each negative one.
    below = (ranks[positive] - rankdata(scores[positive], axis=0)) / (~positive).sum()
    above = 1 - (ranks[~positive] - rankdata(scores[~positive], axis=0)) / positive.sum()
    influence = np.zeros((count, scores.shape[1]))
    np.add.at(influence, clusters[positive], (below - values) / positive.sum())
    np.add.at(influence, clusters[~positive], (above - values) / (~positive).sum())
    half = stdtrit(count - 1, (1 + 0.95) / 2) * np.sqrt(count / (count - 1) * (influence**2).sum(axis=0))
    return np.clip(values - half, 0, 1), np.clip(values + half, 0, 1)


def spearman(first: Floats, second: Floats) -> Floats:
    """[...] rank correlation over the last axis; NaN if all values of one are equal, or one is missing."""
    from scipy.stats import rankdata

    return pearson(rankdata(first, axis=-1), rankdata(second, axis=-1))


def pearson(first: Floats, second: Floats) -> Floats:
    """[...] correlation over the last axis; NaN if all values of one are equal, or one is missing."""
    first = first - first.mean(axis=-1, keepdims=True)
    second = second - second.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (first * second).sum(axis=-1) / np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))


def weighted_pearson(first: Floats, second: Floats, weights: Floats) -> Floats:
    """[...] Pearson's r over the last axis, each value with its weight; NaN where one of the two is constant."""
    total = weights.sum(axis=-1, keepdims=True)
    first, second = (values - (weights * values).sum(axis=-1, keepdims=True) / total for values in (first, second))
    variances = [(weights * values**2).sum(axis=-1) for values in (first, second)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return (weights * first * second).sum(axis=-1) / np.sqrt(variances[0] * variances[1])
