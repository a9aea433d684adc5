"""Published values beside ours: one row for each value, with a verdict only where the data allow one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd

from attention_atlas.published.values import Published

COLUMNS = ("id", "item", "quantity", "published", "ours", "ci_low", "ci_high", "n", "comparable", "why", "verdict")

# Kinds of comparison: the same quantity on the same data; the same quantity on similar data or a value read off a figure; a
# claim (order, threshold) that can be tested on any model; a number that cannot be compared or was not computed.
EXACT, CLOSE, QUALITATIVE, NO = "exact", "close", "qualitative", "no"
SETTING = "setting"
"""Only in the list of published values: a choice, which a run shares with the paper (exact) or not (no)."""


@dataclass(frozen=True)
class Measured:
    """Our side of one published value.

    Attributes:
        value: number, list of numbers (by layer), numbers by name, or text; None when nothing was computed.
        comparable: exact, close, qualitative or no.
        why: the reason, one sentence.
        ci_low, ci_high, n: interval and size, where there are any.
        holds: for qualitative comparisons, whether the claim holds here.
        target: the value to compare with where the printed one is a known slip (the printed one stays in the table).
    """

    value: Any
    comparable: str
    why: str
    ci_low: float | None = None
    ci_high: float | None = None
    n: int | None = None
    holds: bool | None = None
    target: Any = None


def compare(published: Mapping[str, Published], measured: Mapping[str, Measured]) -> pd.DataFrame:
    """One row for every published value, in the order of the list; columns `COLUMNS`."""
    rows = []
    for identifier, entry in published.items():
        ours = measured.get(identifier, Measured(None, NO, "nothing in this run measures it"))
        rows.append(
            {
                "id": identifier,
                "item": entry.item,
                "quantity": f"{entry.quantity} [{entry.unit}]",
                "published": as_text(entry.value),
                "ours": as_text(ours.value),
                "ci_low": ours.ci_low,
                "ci_high": ours.ci_high,
                "n": ours.n,
                "comparable": ours.comparable,
                "why": ours.why,
                "verdict": verdict(entry, ours),
            }
        )
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"ci_low": float, "ci_high": float, "n": "Int64"})


def verdict(entry: Published, ours: Measured) -> str:
    """match, differs, holds, does not hold, not comparable or not computed.

    A number matches when it lies within the stated tolerance of the published value (half a unit of the last printed digit
    where none is stated), or when the published value lies within our interval.
    """
    if ours.value is None:
        return "not computed"
    if ours.comparable == NO:
        return "not comparable"
    if ours.comparable == QUALITATIVE:
        return "holds" if ours.holds else "does not hold"
    return "match" if agrees(entry, ours) else "differs"


def as_text(value: Any) -> str | None:
    """A value as it stands in a table cell: numbers with at most four significant digits, several by semicolons."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return "; ".join(str(as_text(item)) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{name} {as_text(item)}" for name, item in value.items())
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def agrees(entry: Published, ours: Measured) -> bool:
    """Whether ours is the published value: see `verdict`."""
    target: Any = ours.target if ours.target is not None else entry.value
    if isinstance(target, dict):
        same = isinstance(ours.value, dict) and ours.value.keys() == target.keys()
        return same and all(abs(target[key] - ours.value[key]) <= _tolerance(entry, target[key]) for key in target)
    if isinstance(target, list):
        same = isinstance(ours.value, list) and len(ours.value) == len(target)
        return same and all(abs(a - b) <= _tolerance(entry, a) for a, b in zip(target, ours.value, strict=True))
    if not isinstance(target, int | float):
        return str(target) == str(ours.value)
    if abs(target - ours.value) <= _tolerance(entry, target):
        return True
    return ours.ci_low is not None and ours.ci_high is not None and ours.ci_low <= target <= ours.ci_high


def _tolerance(entry: Published, value: float) -> float:
    if entry.tolerance is not None:
        return entry.tolerance
    # The shortest decimal that stands for the number: 34.5 has one decimal, 5e-05 five.
    last_digit = min(int(Decimal(str(value)).as_tuple().exponent), 0)
    return (0.5 + 1e-6) * 10.0**last_digit
