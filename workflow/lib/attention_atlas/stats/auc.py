"""Area under the ROC curve (AUC) of many scores at once, with intervals over clusters such as documents."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata, t

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def aucs(scores: Floats, positive: Bools) -> Floats:
    """[column] AUC of scores [item, column]: share of pairs in which the positive item scores higher; ties count half.

    scikit-learn's `roc_auc_score` handles one column at a time.
    """
    positives, negatives = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(scores, axis=0)
    return (ranks[positive].sum(axis=0) - positives * (positives + 1) / 2) / (positives * negatives)


def clustered_auc_intervals(
    scores: Floats, positive: Bools, clusters: npt.NDArray[np.intp], level: float = 0.95
) -> tuple[Floats, Floats]:
    """Interval of each AUC of `aucs` for items that are dependent within clusters.

    DeLong's variance with clusters as units (Obuchowski 1997, Nonparametric analysis of clustered ROC curve data), and
    Student's t with one degree of freedom fewer than clusters.

    Args:
        scores: [item, column].
        positive: [item].
        clusters: [item] number of its cluster, from 0.
        level: coverage of each interval.

    Returns:
        Lower and upper end, [column], within 0 and 1; NaN for a single cluster.
    """
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
    half = t.ppf((1 + level) / 2, count - 1) * np.sqrt(count / (count - 1) * (influence**2).sum(axis=0))
    return np.clip(values - half, 0, 1), np.clip(values + half, 0, 1)
