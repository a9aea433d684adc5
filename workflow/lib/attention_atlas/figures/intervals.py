"""Precomputed intervals, in a form that seaborn draws."""

from __future__ import annotations

import pandas as pd

INTERVAL = ("pi", 100)
"""Error bar of `interval_rows`: from the lowest to the highest of the three rows of a value."""
VALUE = "median"
"""Estimator of `interval_rows`: the middle one of the three rows."""


def interval_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Three rows for each row of a table: its value and both ends of its interval.

    Args:
        table: value, ci_low, ci_high, and other columns, which are repeated. An end beyond its value is set to it.

    Returns:
        The rows, without ci_low and ci_high.
    """
    keys = table.drop(columns=["value", "ci_low", "ci_high"])
    ends = (table["value"], table["ci_low"].clip(upper=table["value"]), table["ci_high"].clip(lower=table["value"]))
    return pd.concat([keys.assign(value=values) for values in ends], ignore_index=True)
