"""Tests of paired answers, and intervals of mean differences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def mcnemar(before: npt.NDArray[np.bool_], after: npt.NDArray[np.bool_]) -> Floats:
    """[...] two-sided p of McNemar's exact test between correctness before [example] and after [..., example]."""
    from scipy.stats import binom

    lost, won = (before & ~after).sum(axis=-1), (~before & after).sum(axis=-1)
    return np.minimum(1.0, 2 * binom.cdf(np.minimum(lost, won), lost + won, 0.5))


def mean_interval(values: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean of independent values, such as differences between two methods by document.

    NaN for a single value. A percentile bootstrap over ten to twenty documents is too narrow.
    """
    from scipy.stats import sem, t

    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < 2:
        return float("nan"), float("nan")
    half = t.ppf((1 + level) / 2, len(sample) - 1) * sem(sample)
    return float(sample.mean() - half), float(sample.mean() + half)
