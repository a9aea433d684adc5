"""Tests of paired answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def mcnemar(before: npt.NDArray[np.bool_], after: npt.NDArray[np.bool_]) -> Floats:
    """[...] p of McNemar's exact test, two-sided, between right answers [example] and others [..., example]."""
    from scipy.stats import binom

    lost, won = (before & ~after).sum(axis=-1), (~before & after).sum(axis=-1)
    return np.minimum(1.0, 2 * binom.cdf(np.minimum(lost, won), lost + won, 0.5))
