"""p-values of estimates of which only the 95 % interval is known (Altman and Bland 2011, BMJ 343:d2304)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

Floats = npt.NDArray[np.float64]
_Z = float(norm.ppf(0.975))


def p_of_intervals(values: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, null: float) -> Floats:
    """Two-sided p-value of each estimate, from the distance to the null value in standard errors.

    The standard error is that of the half of the interval on the side of the null value, so p is below 0.05 exactly if the
    interval excludes the null value, also for skewed intervals.

    Args:
        values: [estimate] the estimates.
        low, high: [estimate] ends of their 95 % intervals.
        null: value without an effect.

    Returns:
        [estimate] p; NaN where a number is missing or the interval has no width on that side.
    """
    estimates, lower, upper = (np.asarray(numbers, dtype=float) for numbers in (values, low, high))
    standard_error = np.where(estimates > null, estimates - lower, upper - estimates) / _Z
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(estimates - null) / np.where(standard_error > 0, standard_error, np.nan)
    return np.asarray(2 * norm.sf(z), dtype=float)
