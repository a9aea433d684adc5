"""Intervals of several statistics at once, and of the smallest and the largest of them.

The most extreme of many heads, tasks or layers is partly extreme by chance, so the ordinary interval of the largest observed
statistic is biased and misses the largest true value too often. Here both ends have the right coverage: the end towards the
other statistics comes from simultaneous intervals of all statistics (maximum statistic), the far end from the interval of each
statistic alone.

Deviations are differences of resamples from the observed value (bootstrap), or statistics after random exchanges of pairs
(`simultaneous.random_exchanges`): such an interval contains 0 if the exchange test does not reject at its level.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from attention_atlas.stats.intervals import resampled_counts

Floats = npt.NDArray[np.float64]
_ROUNDING = 1e-9
"""Relative tolerance for equal deviations, which can differ by rounding."""


def widths(deviations: Floats, level: float) -> Floats:
    """[statistic] half-width of the interval of each alone from deviations [statistic, draw]; NaN with too few draws."""
    draws = deviations.shape[1]
    # The observed value counts as a draw: a value beyond the width has p <= 1 - level (`simultaneous.two_sided_p`).
    beyond = math.floor((1 - level) * (1 + draws) + 1e-9) - 1
    if beyond < 0:
        return np.full(len(deviations), np.nan)
    sizes = np.abs(deviations)
    return np.partition(sizes, draws - 1 - beyond, axis=1)[:, draws - 1 - beyond] * (1 + _ROUNDING)


def simultaneous_widths(deviations: Floats, level: float) -> Floats:
    """[statistic] half-widths of simultaneous intervals (maximum statistic, in units of spread); all share the draws."""
    spread = np.sqrt((deviations**2).mean(axis=1))
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)
    largest = (np.abs(deviations) * scale[:, None]).max(axis=0)
    return spread * widths(largest[None], level)[0]


def largest_interval(values: Floats, deviations: Floats, level: float) -> tuple[float, float]:
    """Interval of the largest of several true values: [statistic] observed, deviations [statistic, draw]."""
    low = (values - simultaneous_widths(deviations, level)).max()
    return float(low), float((values + widths(deviations, level)).max())


def smallest_interval(values: Floats, deviations: Floats, level: float) -> tuple[float, float]:
    """Interval of the smallest of several true values; see `largest_interval`."""
    low, high = largest_interval(-values, deviations, level)
    return -high, -low


def mean_deviations(values: Floats, resamples: int, seed: int) -> Floats:
    """[statistic, draw] bootstrap means of values [unit, statistic] minus their mean, rescaled to Student's t for few units.

    Resampled means of few units have too small a variance and too light tails; both are corrected.
    """
    units = len(values)
    spread = values.std(axis=0, ddof=1) / math.sqrt(units)
    centred = (values - values.mean(axis=0)) * math.sqrt(units / (units - 1))
    drawn = np.concatenate([counts @ centred for counts in resampled_counts(units, resamples, seed)]).T / units
    scores = np.divide(drawn, spread[:, None], out=np.zeros_like(drawn), where=spread[:, None] > 0)
    return spread[:, None] * np.sign(scores) * -stdtrit(units - 1, ndtr(-np.abs(scores)))
