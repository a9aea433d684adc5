"""Whether more examples could decide a claim that is undecided, and about how many."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

AT_THRESHOLD = 0.05
"""A value lies at the threshold if its distance is at most this share of the half-width: 400 times as many examples."""
FIXED_UNITS = ("heads", "layers")
"""Units whose number the model fixes, such as its heads."""
INDIRECT_UNITS = ("relations",)
"""Units whose number the data fix, while the interval comes from a test of each over documents."""
PREDICTED_UNITS = ("random orders", "permutations of the types within layers")
"""Units of prediction intervals: these cover one further draw, and keep their width however many draws there are."""


def examples_needed(value: float, threshold: float, ci_low: float, ci_high: float, n: float) -> float:
    """How many examples would narrow an interval until it excludes the threshold, if the value stays the same.

    The half-width of an interval shrinks with the square root of n, so that n * (half-width / distance)^2 examples are needed,
    where the half-width is that of the side on which the threshold lies.

    Args:
        value: of the statistic.
        threshold: that it is compared with.
        ci_low, ci_high: the interval.
        n: how many examples it is over.

    Returns:
        Examples, at least `n`; infinite where the value lies at the threshold (`AT_THRESHOLD`), NaN where a number is missing
        or an end of the interval is infinite.
    """
    if not all(map(math.isfinite, (value, threshold, ci_low, ci_high, n))):
        return math.nan
    distance = abs(value - threshold)
    half_width = value - ci_low if value > threshold else ci_high - value
    if distance <= AT_THRESHOLD * half_width:
        return math.inf
    return max(n, n * (half_width / distance) ** 2)


def outlook(claim: Mapping[Hashable, Any]) -> str:
    """Whether more examples could decide an undecided claim, in a sentence.

    Args:
        claim: a row with columns `claims.CLAIM_COLUMNS`; a claim that is undecided has a value and an interval.
    """
    unit = "examples" if pd.isna(claim["unit"]) else str(claim["unit"])
    main_unit = unit.split(" (")[0]
    if main_unit in FIXED_UNITS:
        if main_unit != unit:
            return f"More examples may not decide it: its interval is at least that over {main_unit}, whose number is fixed."
        return f"More examples cannot decide it: its interval is over {main_unit}, and the model has no more of them."
    if unit in INDIRECT_UNITS:
        return f"More documents could decide it; how many cannot be estimated: its interval is from tests of single {unit}."
    if unit in PREDICTED_UNITS:
        return f"More {unit} cannot decide it: the interval covers one further draw and does not shrink with their number."
    ends = (claim["ci_low"], claim["ci_high"])
    needed = examples_needed(claim["value"], claim["threshold"], *ends, claim["n"])
    if math.isnan(needed):
        return "The interval is unbounded, so no number of examples can be estimated."
    if math.isinf(needed):
        return f"At least {AT_THRESHOLD**-2:.0f} times as many {unit} could be needed: the value lies at the threshold."
    if needed == claim["n"]:
        return f"A few more {unit} than the {needed:,.0f} of this run could decide it: the interval ends at the threshold."
    return f"About {_rounded(needed):,} {unit} could decide it ({claim['n']:.0f} in this run), if the value stays the same."


def _rounded(number: float) -> int:
    """Two significant digits, rounded up."""
    step = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(round(number / step, 6)) * step
