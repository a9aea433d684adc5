"""Tests of many heads at once: random exchanges of pairs, p of each head, and p adjusted for the number of heads.

A head is tested with paired terms: each unit (example, sentence, document) has the terms of the score without and with the
intervention. Under the null hypothesis the two terms of a pair are exchangeable (approximate randomisation: Noreen 1989,
Computer-Intensive Methods for Testing Hypotheses; Yeh 2000, More accurate tests for the statistical significance of result
differences). All heads share the exchanges (Westfall and Young 1993, Resampling-Based Multiple Testing), so that the smallest
adjusted p is 1 / (draws + 1) for any number of heads; Holm and Bonferroni multiply that by the number of heads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from attention_atlas.stats.intervals import Floats, resampled_counts

_CHUNK = 100
_ROUNDING = 1e-9
"""Statistics in units of their spread that differ by less are equal: they differ by rounding."""
_MARGIN = 5
"""The smallest possible corrected p must be less than the level over this."""


def random_exchanges(units: int, draws: int, seed: int) -> Iterator[Floats]:
    """Whether each pair is exchanged (1 or 0), with probability one half: [draw, unit], in chunks of draws."""
    generator = np.random.default_rng(seed)
    for start in range(0, draws, _CHUNK):
        yield (generator.random((min(_CHUNK, draws - start), units)) < 0.5).astype(np.float64)


def exchanged_differences(score: Callable[[Floats], Floats], base: Floats, changed: Floats, draws: int, seed: int) -> Floats:
    """[head, draw] differences of scores after random exchanges of pairs: the null distribution of every head's difference.

    score: summed terms [..., part] -> scores [...]; base: [unit, part] terms without an intervention; changed: [head, unit,
    part] terms under the intervention on each head. Equal seeds exchange the same units.
    """
    heads, units, parts = changed.shape
    # An exchange moves terms from changed to base: one matrix product computes the moved terms of all heads.
    differences = np.moveaxis(changed - base, 0, 1).reshape(units, heads * parts)
    changed_sums, base_sums = changed.sum(axis=1), base.sum(axis=0)
    null = []
    for exchanges in random_exchanges(units, draws, seed):
        moved = (exchanges @ differences).reshape(-1, heads, parts)
        null.append(score(changed_sums - moved) - score(base_sums + moved))
    return np.concatenate(null).T


def two_sided_p(observed: Floats, null: Floats) -> Floats:
    """[head] p: share of draws whose statistic is at least as far from 0 as the observed one, which counts as a draw."""
    observed_size, null_size = _in_spreads(observed, null)
    return (1 + (null_size >= observed_size[:, None] - _ROUNDING).sum(axis=1)) / (1 + null.shape[1])


def exchange_p(differences: Floats, draws: int, seed: int) -> Floats:
    """[head] two-sided p of summed paired integer differences [unit, head]; like `two_sided_p`, a few draws at a time."""
    observed = differences.sum(axis=0)
    beyond = np.zeros(differences.shape[1], dtype=np.intp)
    for exchanges in random_exchanges(len(differences), draws, seed):
        null = observed - 2 * (exchanges @ differences)
        beyond += (np.abs(null) >= np.abs(observed)).sum(axis=0)
    return (1 + beyond) / (1 + draws)


def adjusted_p(observed: Floats, null: Floats) -> Floats:
    """[head] two-sided p adjusted for all heads: step-down maximum statistic (Westfall and Young 1993, algorithm 4.1).

    Each head's statistic is divided by the spread of its null distribution, which makes heads that change few answers
    comparable with heads that change many. The head with the largest statistic is compared with the maximum over all heads in
    each draw, the next one with the maximum over all heads but the first, and so on. The probability that any head without an
    effect gets p <= a is at most a: exactly if the pairs of all heads are exchangeable together, approximately if those of
    each head are, because exchanges keep the covariance between heads. All heads share the draws.
    """
    observed_size, null_size = _in_spreads(observed, null)
    order = np.argsort(-observed_size, kind="stable")
    # Row k: in each draw, the maximum over head k and the heads after it in this order.
    largest = np.maximum.accumulate(null_size[order][::-1], axis=0)[::-1]
    p = (1 + (largest >= observed_size[order, None] - _ROUNDING).sum(axis=1)) / (1 + null.shape[1])
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p)
    return adjusted


def simultaneous_interval(observed: Floats, null: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Simultaneous intervals: they contain the effects of all heads with a probability of at least `level`.

    The inverted maximum-statistic test: an interval excludes 0 if the head is significant in the first step of `adjusted_p`.
    Exchanges include the observed effect in the spread, so intervals of large effects are conservative. Both ends equal the
    statistic if no draw differs from 0.
    """
    spread, scale = _spreads(observed, null)
    # The observed statistic counts as a draw, as in the tests.
    largest = np.append((np.abs(null) * scale[:, None]).max(axis=0), (np.abs(observed) * scale).max())
    half = np.quantile(largest, level, method="inverted_cdf") * np.where(scale > 0, spread, 0.0)
    return observed - half, observed + half


def largest_size_interval(low: Floats, high: Floats) -> tuple[float, float]:
    """Interval of the largest absolute effect over heads, from simultaneous intervals of all effects."""
    return float(max(0.0, np.max(low), np.max(-high))), float(max(np.max(high), np.max(-low)))


def simultaneous_largest(deltas: Floats, resampled: Floats, level: float = 0.95) -> tuple[float, float]:
    """Interval of the largest absolute difference over heads, from simultaneous intervals by the maximum of the standardised
    differences; resampled: [resample, head].
    """
    spread = resampled.std(axis=0)
    standardised = np.divide(np.abs(resampled - deltas), spread, out=np.zeros_like(resampled), where=spread > 0)
    reach = np.quantile(standardised.max(axis=1), level) * spread
    return largest_size_interval(deltas - reach, deltas + reach)


def count_p(significant: int, observed: Floats, null: Floats, level: float) -> float:
    """p-value of the number of heads with p < level, if no head has an effect.

    A binomial distribution would assume independent tests, but heads share the answers of the unchanged model. Each draw is
    tested like the observed statistic, and its significant heads are counted.
    """
    from scipy.stats import rankdata

    sizes = np.column_stack(_in_spreads(observed, null))
    p = rankdata(-np.round(sizes / _ROUNDING), method="max", axis=1) / sizes.shape[1]
    counts = (p[:, 1:] < level).sum(axis=0)
    return float((1 + (counts >= significant).sum()) / (1 + len(counts)))


def _in_spreads(observed: Floats, null: Floats) -> tuple[Floats, Floats]:
    """Absolute statistics, [head] and [head, draw], divided by the root mean square of a head's draws; 0 if all draws are 0.

    The observed statistic counts as a draw: under the null hypothesis it is one.
    """
    scale = _spreads(observed, null)[1]
    return np.abs(observed) * scale, np.abs(null) * scale[:, None]


def _spreads(observed: Floats, null: Floats) -> tuple[Floats, Floats]:
    """[head] root mean square of a head's draws and its observed statistic, and its inverse; 0 if all draws are 0."""
    spread = np.sqrt((observed**2 + (null**2).sum(axis=1)) / (1 + null.shape[1]))
    # Differences below 1e-12 are rounding errors.
    return spread, np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12)


def corrected_p(p: npt.ArrayLike, method: str, smallest: float, level: float) -> Floats:
    """[test] p corrected for all tests; NaN if there are too few draws to reach the level (`too_few_draws`).

    method: `holm` (Holm 1979) or `bh` (Benjamini and Hochberg 1995). smallest: the smallest p that a test can have: 1 / (draws
    + 1), or 0 for an exact test.
    """
    from scipy.stats import false_discovery_control

    values = np.asarray(p, dtype=np.float64)
    if not len(values) or smallest * len(values) >= level / _MARGIN:
        return np.full(len(values), np.nan)
    return {"holm": holm, "bh": false_discovery_control}[method](values)


def holm(p: Floats) -> Floats:
    """[test] p adjusted by the step-down procedure of Holm (1979).

    scipy lacks it, and statsmodels' version runs the garbage collector at each call, up to a second in a large process.
    """
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1)
    return adjusted


def too_few_draws(column: str, tests: int, level: float, setting: str = "resamples") -> str:
    """A sentence for the reader: why `corrected_p` left a column empty, and which setting would fill it."""
    return (
        f"{column} is empty: its correction for {tests} tests at level {level:g} needs at least {enough_draws(tests, level):,} "
        f"{setting} (setting {setting})."
    )


def enough_draws(tests: int, level: float) -> int:
    """The smallest number of draws for which `corrected_p` can correct this number of tests."""
    return math.floor(tests * _MARGIN / level + 1e-9)


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
    """Interval of the largest of several true values: [statistic] observed, deviations [statistic, draw].

    The lower end is of simultaneous intervals: the largest of several is partly so by chance.
    """
    low = (values - simultaneous_widths(deviations, level)).max()
    return float(low), float((values + widths(deviations, level)).max())


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
