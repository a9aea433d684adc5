"""Intervals: bootstrap of the independent unit, delete-a-group jackknife, and a mean over models of several seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

LEVEL = 0.95
"""Coverage of the interval of a claim."""


def level_of_parts(parts: int, level: float = LEVEL) -> float:
    """Coverage of each of several intervals so that all of them cover with at least `level` (Bonferroni)."""
    return 1 - (1 - level) / parts


Floats = npt.NDArray[np.float64]
_CHUNK = 100


def bootstrap_ratio(
    numerator: npt.ArrayLike, denominator: npt.ArrayLike, resamples: int, seed: int, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Percentile interval of sum(numerator) / sum(denominator) over resampled clusters (sentences, segments, documents).

    numerator, denominator: [cluster, ...] sums and sizes; NaN if no resample has a positive denominator. A resample is a vector
    of cluster counts, so that thousands of ratios are one matrix product (`scipy.stats.bootstrap` computes them one by one).
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
    return float(1 - 2 * ndtr(stdtrit(units - 1, (1 - level) / 2) * np.sqrt(units / (units - 1))))


def resampled_counts(clusters: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each cluster is drawn, [resample, cluster], in chunks of resamples."""
    generator = np.random.default_rng(seed)
    even = np.full(clusters, 1 / clusters)
    for start in range(0, resamples, _CHUNK):
        yield generator.multinomial(clusters, even, size=min(_CHUNK, resamples - start)).astype(np.float64)


def correlation_interval(value: float, without_group: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Interval of a correlation between values of heads that are themselves means over documents.

    A bootstrap resample adds the noise of the documents a second time, which lowers the correlation; leaving out one group
    keeps nearly all documents. Variance of the delete-a-group jackknife on Fisher's scale, Student's t with one degree of
    freedom fewer than groups (Shao and Tu 1995, The Jackknife and Bootstrap, chapter 2). NaN if a correlation is undefined or
    there is a single group. `without_group`: the correlation without each group, with groups of similar size.
    """
    left = np.asarray(without_group, dtype=np.float64)
    groups = len(left)
    if groups < 2 or math.isnan(value) or np.isnan(left).any():
        return math.nan, math.nan
    largest = 1 - 1e-9  # its Fisher transform is still finite
    centre = np.arctanh(np.clip(value, -largest, largest))
    transformed = np.arctanh(np.clip(left, -largest, largest))
    variance = (groups - 1) / groups * ((transformed - transformed.mean()) ** 2).sum()
    half = stdtrit(groups - 1, (1 + level) / 2) * math.sqrt(variance)
    return float(np.tanh(centre - half)), float(np.tanh(centre + half))


def with_seed_variation(resampled: Floats, by_seed: Floats, seed: int) -> Floats:
    """Resamples of a mean over seeds on the same models, spread further by how far a mean over other seeds would lie.

    To each resample [resample, statistic], the error of the mean over seeds is added: its standard error, from `by_seed` [seed,
    statistic], times a draw from Student's t with one degree of freedom fewer than seeds. Resampling the seeds themselves would
    be too narrow for few of them: a 95 % interval of three seeds covers the mean in 85 % of simulated data sets. Unchanged for
    a single seed, whose variation is unknown.
    """
    seeds, draws = len(by_seed), len(resampled)
    if seeds < 2:
        return resampled
    error = by_seed.std(axis=0, ddof=1) / math.sqrt(seeds)
    # All quantiles in random order: fewer resamples suffice than with independent draws from the tails of Student's t.
    quantiles = stdtrit(seeds - 1, (np.arange(draws) + 0.5) / draws)
    columns = np.repeat(quantiles[:, None], resampled.shape[1], axis=1)
    return resampled + error * np.random.default_rng(seed).permuted(columns, axis=0)


def predicted_difference(difference: float, random: Floats, over_examples: Floats) -> tuple[float, float]:
    """Interval of a difference from the mean of random orders, which contains 0 if the order could be one more of them.

    It predicts how far a further random order lies from their mean (Student's t, which needs two orders) and adds the variance
    over examples. random: [order]; over_examples: [resample].
    """
    from scipy.stats import norm, t

    orders, tail = len(random), (1 + 0.95) / 2
    if orders < 2:
        return math.nan, math.nan
    over_orders = t.ppf(tail, orders - 1) * random.std(ddof=1) * np.sqrt(1 + 1 / orders)
    reach = float(np.hypot(over_orders, norm.ppf(tail) * over_examples.std()))
    return difference - reach, difference + reach
