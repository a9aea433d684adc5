"""Intervals and held-out choices that every study uses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, t

Floats = npt.NDArray[np.float64]
_CHUNK = 100


def bootstrap_ratio(
    numerator: npt.ArrayLike, denominator: npt.ArrayLike, resamples: int, seed: int, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Percentile interval of sum(numerator) / sum(denominator) over resampled clusters (sentences, segments, documents).

    A resample is a vector of cluster counts, so that thousands of ratios over the same clusters are one matrix product;
    `scipy.stats.bootstrap` would compute them one by one.

    Args:
        numerator: [cluster, ...] sums of each cluster.
        denominator: [cluster, ...] sizes of each cluster, broadcastable to the numerator (ones give a mean of clusters).
        resamples: number of resamples.
        seed: seed of the resampling.
        level: coverage of the interval.

    Returns:
        Lower and upper end, of the trailing shape; NaN if no resample has a positive denominator.
    """
    top = np.asarray(numerator, dtype=np.float64)
    bottom = np.broadcast_to(np.asarray(denominator, dtype=np.float64), top.shape)
    shape = top.shape[1:]
    ratios = np.empty((resamples, int(np.prod(shape))))
    start = 0
    for counts in resampled_counts(len(top), resamples, seed):
        with np.errstate(invalid="ignore", divide="ignore"):
            part = (counts @ top.reshape(len(top), -1)) / (counts @ bottom.reshape(len(top), -1))
        ratios[start : start + len(counts)] = part
        start += len(counts)
    return percentile_interval(ratios.reshape(resamples, *shape), level)


def percentile_interval(resampled: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Ends of the central interval over the first axis; NaN resamples (empty denominators) are ignored."""
    tail = (1 - level) / 2
    empty = np.isnan(resampled).all(axis=0)
    filled = np.where(empty, 0.0, resampled)
    quantile = np.nanquantile if np.isnan(filled).any() else np.quantile
    low, high = quantile(filled, [tail, 1 - tail], axis=0)
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def expanded_level(level: float, units: int) -> float:
    """Level at which a percentile interval over few units covers a mean with probability `level`.

    The percentile interval of n units is too short, like a normal interval with variances divided by n. The expanded level
    gives it the length of Student's interval (Hesterberg 2015, What Teachers Should Know About the Bootstrap).
    """
    return float(1 - 2 * norm.sf(student_quantile((1 - level) / 2, units)))


def student_quantile(tail: npt.ArrayLike, units: int) -> Floats:
    """Quantile of a tail in bootstrap standard deviations of a mean over units: Student's t, for variances divided by n."""
    return np.asarray(t.isf(tail, units - 1) * np.sqrt(units / (units - 1)))


def resampled_counts(clusters: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each cluster is drawn, [resample, cluster], in chunks of resamples."""
    generator = np.random.default_rng(seed)
    even = np.full(clusters, 1 / clusters)
    for start in range(0, resamples, _CHUNK):
        yield generator.multinomial(clusters, even, size=min(_CHUNK, resamples - start)).astype(np.float64)
