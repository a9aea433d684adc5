"""Correlations of many pairs of rows at once; scipy's `spearmanr` handles one pair at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

Floats = npt.NDArray[np.float64]


def spearman(first: Floats, second: Floats) -> Floats:
    """[...] rank correlation over the last axis; NaN if all values of one are equal, or one is missing."""
    return pearson(rankdata(first, axis=-1), rankdata(second, axis=-1))


def pearson(first: Floats, second: Floats) -> Floats:
    """[...] correlation over the last axis; NaN if all values of one are equal, or one is missing."""
    first = first - first.mean(axis=-1, keepdims=True)
    second = second - second.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (first * second).sum(axis=-1) / np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
