"""Published values beside ours, each with a verdict; claims of a paper, their verdicts, and which were fixed in advance."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from attention_atlas.io.files import RESOURCES
from attention_atlas.io.html_tables import BAD, GOOD, NONE, OPEN, Layout, Table
from attention_atlas.published.values import Number, Published, half_unit
from attention_atlas.stats.intervals import LEVEL

COLUMNS = tuple("id item quantity published ours ci_low ci_high n comparable why verdict obstacle".split())

# Kinds of comparison: all is the same; a retrained model, data made in the same way, or a value read off a figure; a choice of
# the run; a claim (order, threshold) that can be tested on any model; a number that cannot be compared.
EXACT, CLOSE, SETTING, QUALITATIVE, NO = "exact", "close", "setting", "qualitative", "no"

MATCH = "match"
COVERED = "covered by our interval"
DIFFERS = "differs"
NOT_COMPARABLE = "not comparable"
NOT_COMPUTED = "not computed"
HOLDS, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED = "holds", "does not hold", "undecided", "not tested"
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
"""Verdict -> what it means. Each published value has one; those of claims are also those of other claims."""
COLOURS = {
    **dict.fromkeys((MATCH, COVERED, HOLDS), GOOD),
    **dict.fromkeys((DIFFERS, DOES_NOT_HOLD), BAD),
    UNDECIDED: OPEN,
    **dict.fromkeys((NOT_COMPARABLE, NOT_COMPUTED, NOT_TESTED), NONE),
}
"""Verdict -> its colour on pages. Grey: the run's number and the published one are not the same quantity."""


@dataclass(frozen=True)
class Measured:
    """Our side of one published value, how it compares, and why."""

    value: Any  # a number, several (as list or by name), a text, or None
    comparable: str
    why: str
    ci_low: float | None = None
    ci_high: float | None = None
    n: int | None = None
    numbers: Sequence[Number] = ()  # the published numbers that ours correspond to; empty for all of the value
    obstacle: str = ""  # what this run lacks for a comparison, in a few words
    claimed: str = ""  # of a claim, its verdict


def compare(published: Mapping[str, Published], measured: Mapping[str, Measured]) -> pd.DataFrame:
    """One row for every published value, in the order of the list; columns `COLUMNS`."""
    rows = []
    for identifier, entry in published.items():
        ours = measured.get(identifier, Measured(None, NO, "nothing in this run measures it"))
        texts = (identifier, entry.item, f"{entry.quantity} [{entry.unit}]", as_text(entry.value), as_text(ours.value))
        numbers = (ours.ci_low, ours.ci_high, ours.n)
        rows.append((*texts, *numbers, ours.comparable, ours.why, verdict(entry, ours), obstacle(entry, ours)))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"ci_low": float, "ci_high": float, "n": "Int64"})


def verdict(entry: Published, ours: Measured) -> str:
    if ours.value is None:
        return NOT_COMPUTED
    if ours.comparable not in (EXACT, CLOSE):
        return ours.claimed or NOT_COMPARABLE
    numbers = ours.numbers or entry.numbers
    values = list(ours.value.values()) if isinstance(ours.value, dict) else ours.value
    values = values if isinstance(values, list) else [values]
    pairs = zip(numbers, values, strict=False)
    if len(values) == len(numbers) and all(_within_rounding(*pair, entry.tolerance) for pair in pairs):
        return MATCH
    if len(numbers) > 1 or ours.ci_low is None or ours.ci_high is None:
        return DIFFERS
    target = numbers[0].target
    return COVERED if isinstance(target, int | float) and ours.ci_low <= target <= ours.ci_high else DIFFERS


def _within_rounding(number: Number, value: Any, tolerance: float | None) -> bool:
    target = number.target
    if not isinstance(target, int | float) or not isinstance(value, int | float):
        return str(target) == str(value)
    # The last term is for values with as many digits as a floating-point number has.
    return abs(target - value) <= half_unit(number, tolerance) * (1 + 2e-6) + 1e-12 * abs(target)


def obstacle(entry: Published, ours: Measured) -> str:
    """Why a published value is not compared, in a few words; empty where it is, and of a claim that this run has."""
    if ours.value is not None and (ours.claimed or ours.comparable in (EXACT, CLOSE)):
        return ""
    is_setting = ours.value is not None and entry.comparable == SETTING
    return "a choice of the run" if is_setting else entry.never or ours.obstacle or "not measured"


def as_text(value: Any) -> str | None:
    """A value as the text of a table cell: numbers with at most four significant digits, several separated by semicolons."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return "; ".join(str(as_text(item)) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{name} {as_text(item)}" for name, item in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def value_table(frame: pd.DataFrame, notes: Sequence[str] = ()) -> Table:
    """Published values beside ours (`COLUMNS`), their verdicts counted; grouped by place in the paper (and study, if there)."""
    with_study = "study" in frame
    place = frame["study"] + ": " + frame["item"] if with_study else frame["item"]
    page = frame.assign(place=place, interval=intervals(frame))
    columns = ["place", "verdict", "quantity", "published", "ours", "interval", "n", "why", "obstacle", "id"]
    place_name = "study and place" if with_study else "place in the paper"
    names = {"ours": "this run", "interval": "95 % interval", "place": place_name}
    layout = Layout("place", {"verdict": COLOURS}, ("why", "published", "ours"))
    verdicts = frame["verdict"].value_counts()
    counts = ", ".join(f"{verdicts[name]} {name}" for name in VERDICTS if name in verdicts)
    notes = [f"{len(frame)} published values: {counts}.", *notes]
    return Table(frame, notes, page[columns], names, {"n": "d"}, layout)


def intervals(frame: pd.DataFrame) -> list[str | None]:
    """The interval of each row as one text; None where there is none."""
    ends = zip(frame["ci_low"], frame["ci_high"], strict=True)
    return [None if pd.isna(low) or pd.isna(high) else f"{low:.4g} to {high:.4g}" for low, high in ends]


# --- claims -------------------------------------------------------------------------------------------------------------

CLAIM_COLUMNS = tuple("claim ours verdict statistic value side threshold ci_low ci_high level n unit source fixed".split())
"""`side` of the threshold, above or below, is that on which the interval of a claim that holds lies; `source`: `paper`, or
`ADDED` for claims that it does not make; `fixed`: one of those in `GROUPS`."""
ADDED = "added"
VERDICT_NOTE = (
    "A claim holds if the whole interval of its statistic lies on the claim's side of the threshold, does not hold if it lies "
    "on the other side, and is undecided if it contains the threshold, or where a permutation test that it names is not "
    "significant. It is not tested if there is no interval, such as where the run lacks a part of it or a model that is good "
    "enough. Intervals resample the unit that the table names. A claim about several tasks, types or layers is represented by "
    "the one that decides it; “this run” has them all. Source “added”: controls and claims of others, which the paper does not "
    "make; they come last and are not counted as claims of the papers."
)
BEFORE_RESULTS, REWORDED, TEST_CHANGED, LATER = "fixed before results", "wording changed", "test changed", "added later"
GROUPS = {"Fixed in advance": (BEFORE_RESULTS, REWORDED), "Test changed later": (TEST_CHANGED,), "Added later": (LATER,)}
FIXED_NOTE = (
    "Fixed before results: listed before any result on real text was known, and tested as listed. Wording changed: the same "
    "test in other words. Test changed: later, in statistic, interval, threshold or condition. Added later: not listed."
)


@dataclass(frozen=True)
class Claim:
    """A claim that can be tested on any model: it holds if the statistic lies above (or below) the threshold.

    ours: what this run measured, in words; value and interval: NaN where they cannot be computed; n: independent units of the
    interval, whose coverage is `level`. is_significant: False if a further two-sided test that the claim needs finds no
    difference from the threshold; it is then undecided. of_paper: False for a control or a claim that the paper does not make.
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
    is_significant: bool = True
    of_paper: bool = True

    @property
    def is_tested(self) -> bool:
        return not (math.isnan(self.ci_low) or math.isnan(self.ci_high))

    @property
    def holds(self) -> bool | None:
        """Whether the whole interval lies on the claim's side of the threshold; None where nothing is decided."""
        if not (self.is_tested and self.is_significant):
            return None
        if self.threshold < self.ci_low:
            return self.above
        return not self.above if self.ci_high < self.threshold else None

    @property
    def verdict(self) -> str:
        """`holds`, `does not hold`, `undecided`, or `not tested` where there is no interval."""
        verdicts = {True: HOLDS, False: DOES_NOT_HOLD, None: UNDECIDED}
        return verdicts[self.holds] if self.is_tested else NOT_TESTED


def all_hold(statement: str, ours: str, parts: Sequence[Claim]) -> Claim:
    """One row for a claim about several things, such as every task: the part that decides.

    That is one that does not hold, else one that is undecided, else one that is not tested, else the one nearest to its
    threshold. If all parts hold, each was tested at its own level (intersection-union test: Berger 1982, Multiparameter
    hypothesis testing and acceptance sampling); a part that refutes the claim is one of many, so the intervals of k parts have
    the coverage `level_of_parts(k)`.
    """
    order = (DOES_NOT_HOLD, UNDECIDED, NOT_TESTED, HOLDS)

    def rank(part: Claim) -> tuple[int, float]:
        distance = part.ci_low - part.threshold if part.above else part.threshold - part.ci_high
        return order.index(part.verdict), distance if part.is_tested else 0.0

    return replace(min(parts, key=rank), statement=statement, ours=ours)


@functools.cache
def listed() -> dict[str, dict[Any, str]]:
    """The claims listed before any result on real text was known, and what was changed in them later, by `key`."""
    rows = pd.read_csv(RESOURCES / "published/fixed_claims.tsv", sep="\t", dtype=str, keep_default_na=False).to_dict("records")
    return {key(row["claim"]): row for row in rows}


def key(statement: str) -> str:
    """A claim without its numbers, and without a count at its end, such as of tasks: these are those of the run."""
    return re.sub(r" \(\d+ of \d+ [^)]*\)$|\d+(\.\d+)?", "#", statement).removesuffix("#")


def fixed(statement: str, threshold: float) -> str:
    """Whether a claim was fixed before results: it was if the list has its words, numbers aside, and its threshold. The list
    says where the words (`before`) or what is tested (`test`) were changed later.
    """
    row = listed().get(key(statement))
    if row is None:
        return LATER
    if row["test"] or float(row["threshold"]) != threshold:
        return TEST_CHANGED
    return REWORDED if row["before"] else BEFORE_RESULTS


def claim_frame(claims: Iterable[Claim]) -> pd.DataFrame:
    """Claims as a frame, columns `CLAIM_COLUMNS`; those of the paper come first."""
    rows = [
        vars(claim)
        | {"claim": claim.statement, "verdict": claim.verdict, "side": "above" if claim.above else "below"}
        | {"source": "paper" if claim.of_paper else ADDED, "fixed": fixed(claim.statement, claim.threshold)}
        for claim in sorted(claims, key=lambda claim: not claim.of_paper)
    ]
    return pd.DataFrame(rows, columns=list(CLAIM_COLUMNS)).astype({"n": "Int64"})


def claims_table(claims: Iterable[Claim]) -> Table:
    return shown_claims(claim_frame(claims))


def shown_claims(frame: pd.DataFrame) -> Table:
    """Claims (`CLAIM_COLUMNS`), with totals of each group; grouped by study if there is this column."""
    names = {"ours": "this run", "threshold": "holds if", "level": "coverage of the interval", "n": "n", "unit": "n counts"}
    formats = {"value": ".4g", "level": ".4g", "n": "d"}
    layout = Layout("study" if "study" in frame else "", {"verdict": COLOURS})
    return Table(frame, [*totals(frame), VERDICT_NOTE, FIXED_NOTE], claim_page(frame), names, formats, layout)


def claim_page(frame: pd.DataFrame) -> pd.DataFrame:
    """Claims as they are shown: with the interval, and the threshold with its side, as texts."""
    first = [name for name in ("study", "source", "fixed", "verdict", "claim", "ours", "statistic", "value") if name in frame]
    sides = zip(frame["side"], frame["threshold"], strict=True)
    return frame[first].assign(
        interval=intervals(frame),
        threshold=[f"{'>' if side == 'above' else '<'} {threshold:.4g}" for side, threshold in sides],
        **{name: frame[name] for name in ("level", "n", "unit")},
    )


def totals(claims: pd.DataFrame) -> list[str]:
    """Verdicts on the claims of each group, in words."""
    texts = []
    for title, group in GROUPS.items():
        verdicts = claims.loc[claims["fixed"].isin(group), "verdict"].value_counts()
        counts = ", ".join(f"{verdicts.get(name, 0)} {name}" for name in (HOLDS, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED))
        texts.append(f"{title}: {verdicts.sum()} claims ({counts.replace('holds', 'hold').replace('does', 'do')}).")
    return texts
