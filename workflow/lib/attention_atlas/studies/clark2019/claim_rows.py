"""Claims from the rows of tables that test them."""

from __future__ import annotations

import pandas as pd

from attention_atlas.published.claims import Claim
from attention_atlas.stats.levels import LEVEL


def claim_of(row: pd.Series, statement: str, ours: str, statistic: str, threshold: float, above: bool) -> Claim:
    """The claim that a row of a table tests: value, ci_low, ci_high, unit, units, and level where it is not `LEVEL`."""
    level = float(row.get("level", LEVEL))
    numbers = (float(row["value"]), float(row["ci_low"]), float(row["ci_high"]))
    return Claim(statement, ours, statistic, *numbers, int(row["units"]), str(row["unit"]), threshold, above, level)


def in_percent(row: pd.Series) -> pd.Series:
    """The row with its value and interval, shares, in %."""
    scaled = row.copy()
    for name in ("value", "ci_low", "ci_high"):
        scaled[name] = 100 * row[name]
    return scaled
