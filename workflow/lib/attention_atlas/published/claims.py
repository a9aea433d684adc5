"""Claims of a paper: the statistic that tests each of them, its interval, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from attention_atlas.published.compare import DOES_NOT_HOLD, HOLDS, NOT_TESTED, UNDECIDED, claim_verdict
from attention_atlas.stats.levels import LEVEL

CLAIM_COLUMNS = (
    *("claim", "ours", "verdict", "statistic", "value", "side", "threshold"),
    *("ci_low", "ci_high", "level", "n", "unit"),
)
ABOVE, BELOW = "above", "below"
"""Sides of the threshold on which the interval of a claim that holds lies."""


@dataclass(frozen=True)
class Claim:
    """A claim that can be tested on any model.

    Attributes:
        statement: the claim, with the place in the paper.
        ours: what this run measured, in words.
        statistic: what is measured, in a few words with its unit.
        value: of the statistic; NaN where it cannot be computed.
        ci_low, ci_high: its interval; NaN where there are too few examples for one.
        n: how many independent units the interval is over.
        unit: what they are: sentences, documents, examples, heads, random sets, ...
        threshold: the claim holds if the statistic lies above it.
        above: False where the claim holds if the statistic lies below the threshold.
        level: coverage of the interval.
        is_confirmed: False if a further test that the claim needs does not confirm it; it is then undecided unless the
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
        """Whether there is an interval."""
        return not (math.isnan(self.ci_low) or math.isnan(self.ci_high))

    @property
    def side(self) -> str:
        """The side of the threshold that the claim names: `ABOVE` or `BELOW`."""
        return ABOVE if self.above else BELOW

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
    """One row for a claim about several things, such as every task or every type.

    It holds if all parts hold and does not hold if one part does not. Otherwise it is undecided if one part is, and not
    tested if only parts without an interval stand in the way. The row shows the part that decides: one that does not hold,
    else one that is undecided, else one that is not tested, else the one nearest to its threshold. If all parts hold, each
    was tested at its own level (intersection-union test: Berger 1982, Multiparameter hypothesis testing and acceptance
    sampling); a part that refutes the claim is one of many, so the intervals of k parts have the coverage
    `level_of_parts(k)`.

    Raises:
        ValueError: no parts.
    """
    if not parts:
        raise ValueError("a claim needs a part.")
    order = (DOES_NOT_HOLD, UNDECIDED, NOT_TESTED, HOLDS)
    deciding = min(parts, key=lambda part: (order.index(part.verdict), _distance(part)))
    return replace(deciding, statement=statement, ours=ours)


def _distance(part: Claim) -> float:
    """How far the near end of the interval lies on the claim's side of the threshold; negative where it does not."""
    if not part.is_tested:
        return 0.0
    return part.ci_low - part.threshold if part.above else part.threshold - part.ci_high
