"""Published values beside ours, each with a verdict, and whether a run could match it; claims of a paper and their verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from attention_atlas.published.values import Number, Published, half_unit
from attention_atlas.stats.levels import LEVEL

COLUMNS = (
    *("id", "item", "quantity", "published", "ours", "ci_low", "ci_high", "n", "comparable", "why", "verdict"),
    *("scope", "obstacle"),
)

# Kinds of comparison: model, data, recipe and size are the same; a retrained model, data made in the same way, or a value read
# off a figure; a choice of the run; a claim (order, threshold) that can be tested on any model; a number that cannot be
# compared.
EXACT, CLOSE, SETTING, QUALITATIVE, NO = "exact", "close", "setting", "qualitative", "no"

MATCH = "match"
COVERED = "covered by our interval"
DIFFERS = "differs"
HOLDS, DOES_NOT_HOLD, UNDECIDED = "holds", "does not hold", "undecided"
NOT_TESTED = "not tested"
NOT_COMPARABLE = "not comparable"
NOT_COMPUTED = "not computed"
VERDICTS = {
    MATCH: "the same quantity, and ours rounds to the published number",
    COVERED: "the same quantity; ours does not round to the published number, but our interval contains it",
    DIFFERS: "the same quantity; ours does not round to the published number, nor does our interval contain it",
    HOLDS: "a claim that is tested on any model, and holds",
    DOES_NOT_HOLD: "a claim that does not hold",
    UNDECIDED: "a claim that the run's data do not decide",
    NOT_TESTED: "a claim for which the run has no interval",
    NOT_COMPARABLE: "another model or data set than the paper's, a setting of the run, or a value that no run can compare",
    NOT_COMPUTED: "this run has no such number",
}
"""Verdict -> what it means. Each published value has one."""

COULD_MATCH = "could match"
COULD_BE_COVERED = "could be covered"
A_SETTING = "setting"
A_CLAIM = "claim"
ANOTHER_RUN = "not in this run"
NEVER = "never"
SCOPES = {
    COULD_MATCH: "model, data, recipe and, where it is published, size are the same",
    COULD_BE_COVERED: "same model and data, but retrained, resampled, of a different size, or read off a figure: our "
    "interval may cover it, but an exact match would be a coincidence",
    A_SETTING: "a choice of the run",
    A_CLAIM: "a claim that is tested on any model",
    ANOTHER_RUN: "a run with the published model and data could compare it; this one does not",
    NEVER: "no run of this workflow can match it",
}
"""Scope of a value in a run -> what it means. Each published value has one."""


@dataclass(frozen=True)
class Measured:
    """Our side of one published value: a number, several (as list or by name), a text, or None; how it compares, and why.

    holds, is_tested: for qualitative comparisons, whether the claim holds here (None where the run does not decide it), and
    whether the run has an interval for it. numbers: the published numbers that ours correspond to; empty for all of the value.
    obstacle: what this run lacks for a comparison, in a few words.
    """

    value: Any
    comparable: str
    why: str
    ci_low: float | None = None
    ci_high: float | None = None
    n: int | None = None
    holds: bool | None = None
    is_tested: bool = True
    numbers: Sequence[Number] = ()
    obstacle: str = ""


def compare(published: Mapping[str, Published], measured: Mapping[str, Measured]) -> pd.DataFrame:
    """One row for every published value, in the order of the list; columns `COLUMNS`."""
    rows = []
    for identifier, entry in published.items():
        ours = measured.get(identifier, Measured(None, NO, "nothing in this run measures it"))
        texts = (identifier, entry.item, f"{entry.quantity} [{entry.unit}]", as_text(entry.value), as_text(ours.value))
        numbers = (ours.ci_low, ours.ci_high, ours.n)
        rows.append((*texts, *numbers, ours.comparable, ours.why, verdict(entry, ours), *scope(entry, ours)))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"ci_low": float, "ci_high": float, "n": "Int64"})


def verdict(entry: Published, ours: Measured) -> str:
    """One of `VERDICTS`."""
    if ours.value is None:
        return NOT_COMPUTED
    if ours.comparable == QUALITATIVE:
        return claim_verdict(ours.holds) if ours.is_tested else NOT_TESTED
    if ours.comparable not in (EXACT, CLOSE):
        return NOT_COMPARABLE
    if agrees(entry, ours):
        return MATCH
    return COVERED if covers(entry, ours) else DIFFERS


def claim_verdict(holds: bool | None) -> str:
    """The verdict on a claim that is tested; None where the run does not decide it."""
    if holds is None:
        return UNDECIDED
    return HOLDS if holds else DOES_NOT_HOLD


def scope(entry: Published, ours: Measured) -> tuple[str, str]:
    """One of `SCOPES`, and in a few words the obstacle to a comparison (empty where there is none)."""
    if entry.comparable == SETTING:
        return A_SETTING, ours.obstacle
    if QUALITATIVE in (entry.comparable, ours.comparable):
        return A_CLAIM, ours.obstacle
    if entry.never:
        return NEVER, entry.never
    if ours.value is not None and ours.comparable in (EXACT, CLOSE):
        return COULD_MATCH if ours.comparable == EXACT else COULD_BE_COVERED, ""
    return ANOTHER_RUN, ours.obstacle or "not measured"


def as_text(value: Any) -> str | None:
    """A value as the text of a table cell: numbers with at most four significant digits, several separated by semicolons."""
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
    """Whether texts are equal, and numbers within the rounding of the published ones, or of the corrected ones of misprints."""
    numbers = ours.numbers or entry.numbers
    if isinstance(ours.value, dict):
        if list(ours.value) != [number.part for number in numbers]:
            return False
        values = list(ours.value.values())
    else:
        values = ours.value if isinstance(ours.value, list) else [ours.value]
    if len(values) != len(numbers) or isinstance(ours.value, list | dict) != (len(numbers) > 1):
        return False
    return all(_within_rounding(number, value, entry.tolerance) for number, value in zip(numbers, values, strict=True))


def covers(entry: Published, ours: Measured) -> bool:
    """Whether our interval contains the published number; False where either is missing, or for several numbers."""
    numbers = ours.numbers or entry.numbers
    if len(numbers) != 1 or ours.ci_low is None or ours.ci_high is None:
        return False
    target = numbers[0].target
    return isinstance(target, int | float) and ours.ci_low <= target <= ours.ci_high


def _within_rounding(number: Number, value: Any, tolerance: float | None) -> bool:
    target = number.target
    if not isinstance(target, int | float) or not isinstance(value, int | float):
        return str(target) == str(value)
    # The last term is for values with as many digits as a floating-point number has.
    return abs(target - value) <= half_unit(number, tolerance) * (1 + 2e-6) + 1e-12 * abs(target)


# --- claims -------------------------------------------------------------------------------------------------------------

CLAIM_COLUMNS = (
    *("claim", "ours", "verdict", "statistic", "value", "side", "threshold"),
    *("ci_low", "ci_high", "level", "n", "unit"),
)
"""`side` of the threshold, above or below, is that on which the interval of a claim that holds lies."""


@dataclass(frozen=True)
class Claim:
    """A claim that can be tested on any model: it holds if the statistic lies above (or below) the threshold.

    statement: with the place in the paper; ours: what this run measured, in words; statistic: in a few words with its unit;
    value and interval: NaN where they cannot be computed; n: independent units (sentences, ...) of the interval, whose coverage
    is `level`. is_confirmed: False if a further test that the claim needs does not confirm it; it is then undecided unless the
    interval refutes it.
    """

    statement: str
    ours: str
    statistic: str
    value: float
    ci_low: float
    ci_high: float
    n: int
    unit: str
    threshold: float = 0.0
    above: bool = True
    level: float = LEVEL
    is_confirmed: bool = True

    @property
    def is_tested(self) -> bool:
        return not (math.isnan(self.ci_low) or math.isnan(self.ci_high))

    @property
    def holds(self) -> bool | None:
        """Whether the whole interval lies on the claim's side of the threshold; None where nothing is decided."""
        if not self.is_tested:
            return None
        if self.threshold < self.ci_low:
            on_its_side = self.above
        elif self.ci_high < self.threshold:
            on_its_side = not self.above
        else:
            return None
        return None if on_its_side and not self.is_confirmed else on_its_side

    @property
    def verdict(self) -> str:
        """`holds`, `does not hold`, `undecided`, or `not tested` where there is no interval."""
        return claim_verdict(self.holds) if self.is_tested else NOT_TESTED


def all_hold(statement: str, ours: str, parts: Sequence[Claim]) -> Claim:
    """One row for a claim about several things, such as every task: the part that decides.

    That is one that does not hold, else one that is undecided, else one that is not tested, else the one nearest to its
    threshold. If all parts hold, each was tested at its own level (intersection-union test: Berger 1982, Multiparameter
    hypothesis testing and acceptance sampling); a part that refutes the claim is one of many, so the intervals of k parts have
    the coverage `level_of_parts(k)`.
    """
    order = (DOES_NOT_HOLD, UNDECIDED, NOT_TESTED, HOLDS)
    deciding = min(parts, key=lambda part: (order.index(part.verdict), _distance(part)))
    return replace(deciding, statement=statement, ours=ours)


def _distance(part: Claim) -> float:
    """How far the near end of the interval lies on the claim's side of the threshold; negative where it does not."""
    if not part.is_tested:
        return 0.0
    return part.ci_low - part.threshold if part.above else part.threshold - part.ci_high
