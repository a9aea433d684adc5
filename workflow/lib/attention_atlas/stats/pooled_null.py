"""Values compared with draws of the same quantity under a null hypothesis; all draws share one distribution."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.stats.simultaneous import corrected_p

LEVEL = 0.05
"""False discovery rate that q is compared with; the range of the null excludes this share of the draws."""
COLUMNS = ("null_low", "null_high", "p", "q")


def against_null(values: npt.ArrayLike, null: npt.ArrayLike) -> pd.DataFrame:
    """One row per value, with columns `COLUMNS`: the range of the draws, p and q of the value; a value of NaN has no p.

    p: share of the draws at least as far from their median as the value, which counts as a draw. Under the null hypothesis, p
    is at most a with a probability of at most a, for any distribution of the draws. q: p adjusted by Benjamini and Hochberg
    (1995) over all values; NaN if there are too few draws (`enough_draws`).

    Args:
        values: [value].
        null: [draw]; NaN is ignored.

    Raises:
        ValueError: there is no draw.
    """
    observed, draws = np.asarray(values, dtype=np.float64), np.asarray(null, dtype=np.float64)
    draws = draws[~np.isnan(draws)]
    if not len(draws):
        raise ValueError("there is no draw under the null hypothesis")
    low, high = np.quantile(draws, [LEVEL / 2, 1 - LEVEL / 2])
    has_value = ~np.isnan(observed)
    p, q = np.full(len(observed), np.nan), np.full(len(observed), np.nan)
    # Value and draws are treated alike, so that p is exact: the centre is the median of the value and all draws.
    p[has_value] = [_share_as_far(value, draws) for value in observed[has_value]]
    q[has_value] = corrected_p(p[has_value], "bh", 1 / (len(draws) + 1), LEVEL)
    return pd.DataFrame({"null_low": low, "null_high": high, "p": p, "q": q})


def _share_as_far(value: float, draws: npt.NDArray[np.float64]) -> float:
    everything = np.append(draws, value)
    distance = np.abs(everything - np.median(everything))
    return float((distance >= distance[-1]).mean())
