"""Intervals of the statistics that test claims, over independent units such as documents."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from attention_atlas.methods.units import Units
from attention_atlas.stats.bootstrap import bootstrap_ratio, expanded_level
from attention_atlas.stats.held_out import Resampling


def interval_of_mean(values: npt.NDArray[np.float64], units: Units, resampling: Resampling, level: float) -> dict[str, float]:
    """ci_low and ci_high of the mean of values, by bootstrap over units; empty for a single unit.

    Args:
        values: [item] values.
        units: the units of the items.
        resampling: settings of the bootstrap.
        level: coverage; the interval is widened where units are few (`expanded_level`).
    """
    if units.count < 2:
        return {}
    expanded = expanded_level(level, units.count)
    sums, sizes = units.sums(values[:, None]), units.sizes()[:, None]
    low, high = bootstrap_ratio(sums, sizes, resampling.resamples, resampling.seed, expanded)
    return {"ci_low": float(low[0]), "ci_high": float(high[0])}
