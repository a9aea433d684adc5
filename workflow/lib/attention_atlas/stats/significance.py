"""Tests: of paired answers, from an interval alone, and against draws under a null hypothesis."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr, ndtri, stdtrit

from attention_atlas.stats.simultaneous import corrected_p

Floats = npt.NDArray[np.float64]


def mcnemar(before: npt.NDArray[np.bool_], after: npt.NDArray[np.bool_]) -> Floats:
    """[...] two-sided p of McNemar's exact test between correctness before [example] and after [..., example]."""
    from scipy.stats import binom

    lost, won = (before & ~after).sum(axis=-1), (~before & after).sum(axis=-1)
    return np.minimum(1.0, 2 * binom.cdf(np.minimum(lost, won), lost + won, 0.5))


def p_in_words(p: float, smallest: float) -> str:
    """p of a permutation test with its sign: ≤ if it is the `smallest` that the number of draws allows."""
    return f"{'≤' if p <= smallest * (1 + 1e-9) else '='} {p:.2g}"


def mean_interval(values: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean of independent values, such as differences between two methods by document.

    NaN for a single value. A percentile bootstrap over ten to twenty documents is too narrow.
    """
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < 2:
        return float("nan"), float("nan")
    half = stdtrit(len(sample) - 1, (1 + level) / 2) * sample.std(ddof=1) / np.sqrt(len(sample))
    return float(sample.mean() - half), float(sample.mean() + half)


def p_of_intervals(
    values: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, null: float, greater: bool = False
) -> Floats:
    """p-value of each estimate, from the distance to the null value in standard errors: two-sided, or of a `greater` value.

    The standard error is that of the half of the 95 % interval on the side of the null value, so a two-sided p is below 0.05
    exactly if the interval excludes it, also for skewed intervals (Altman and Bland 2011). NaN where a number is missing or the
    interval has no width on that side.
    """
    estimates, lower, upper = (np.asarray(numbers, dtype=float) for numbers in (values, low, high))
    standard_error = np.where(estimates > null, estimates - lower, upper - estimates) / ndtri(0.975)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (estimates - null) / np.where(standard_error > 0, standard_error, np.nan)
    return np.asarray(ndtr(-z) if greater else 2 * ndtr(-np.abs(z)), dtype=float)


LEVEL = 0.05
"""False discovery rate that q is compared with; the range of the null excludes this share of the draws."""
COLUMNS = ("null_low", "null_high", "p", "q")


def against_null(values: npt.ArrayLike, null: npt.ArrayLike, greater: bool = False) -> pd.DataFrame:
    """One row per value, with columns `COLUMNS`: the range of the draws, p and q of the value; a value of NaN has no p.

    p: share of the draws at least as far from their median as the value, or at least as high (`greater`); the value counts as a
    draw. Under the null hypothesis, p is at most a with a probability of at most a, for any distribution of the draws. q: p
    adjusted by Benjamini and Hochberg (1995) over all values; NaN if there are too few draws (`enough_draws`).
    """
    observed, draws = np.asarray(values, dtype=np.float64), np.asarray(null, dtype=np.float64)
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        raise ValueError("there is no draw under the null hypothesis")
    low, high = np.quantile(draws, [LEVEL / 2, 1 - LEVEL / 2])
    has_value = ~np.isnan(observed)
    p, q = np.full(len(observed), np.nan), np.full(len(observed), np.nan)
    # Value and draws are treated alike, so that p is exact: the centre is the median of the value and all draws.
    for number in np.flatnonzero(has_value):
        everything = np.append(draws, observed[number])
        distance = everything if greater else np.abs(everything - np.median(everything))
        p[number] = (distance >= distance[-1]).mean()
    q[has_value] = corrected_p(p[has_value], "bh", 1 / (len(draws) + 1), LEVEL)
    return pd.DataFrame({"null_low": low, "null_high": high, "p": p, "q": q})
