"""Intervals by the delete-a-group jackknife, for statistics that are slow to compute or biased by resampling."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.stats import t

Floats = npt.NDArray[np.float64]
_LARGEST = 1 - 1e-9
"""Correlation whose Fisher transform is still finite."""


def correlation_interval(value: float, without_group: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Interval of a correlation between values of heads that are themselves means over documents.

    A bootstrap resample adds the noise of the documents a second time, which lowers the correlation; leaving out one group
    keeps nearly all documents. Variance of the delete-a-group jackknife on Fisher's scale, Student's t with one degree of
    freedom fewer than groups (Shao and Tu 1995, The Jackknife and Bootstrap, chapter 2).

    Args:
        value: correlation over all documents.
        without_group: the same without each group of documents, with groups of similar size.
        level: coverage of the interval.

    Returns:
        Lower and upper end; NaN if a correlation is undefined or there is a single group.
    """
    left = np.asarray(without_group, dtype=np.float64)
    groups = len(left)
    if groups < 2 or math.isnan(value) or np.isnan(left).any():
        return math.nan, math.nan
    centre = np.arctanh(np.clip(value, -_LARGEST, _LARGEST))
    transformed = np.arctanh(np.clip(left, -_LARGEST, _LARGEST))
    variance = (groups - 1) / groups * ((transformed - transformed.mean()) ** 2).sum()
    half = t.ppf((1 + level) / 2, groups - 1) * math.sqrt(variance)
    return float(np.tanh(centre - half)), float(np.tanh(centre + half))
