"""The pages of a comparison with a paper: every published value beside ours, and the paper's claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from attention_atlas.io.html_tables import BAD, GOOD, NONE, OPEN, Layout, Table
from attention_atlas.published.compare import (
    CLAIM_COLUMNS,
    COVERED,
    DIFFERS,
    DOES_NOT_HOLD,
    HOLDS,
    MATCH,
    NEVER,
    NOT_COMPARABLE,
    NOT_COMPUTED,
    NOT_TESTED,
    UNDECIDED,
    VERDICTS,
    Claim,
)

VERDICT_NOTE = (
    "A claim holds if the whole interval of its statistic lies on the claim's side of the threshold, does not hold if it lies "
    "on the other side, and is undecided if it contains the threshold. It is not tested if there is no interval, such as where "
    "the run lacks a part of the claim. Intervals resample the unit that the table names. A claim about several tasks, types "
    "or layers is represented by the one that decides it; “this run” has them all."
)
COLOURS = {
    **dict.fromkeys((MATCH, COVERED, HOLDS), GOOD),
    **dict.fromkeys((DIFFERS, DOES_NOT_HOLD), BAD),
    UNDECIDED: OPEN,
    **dict.fromkeys((NOT_COMPARABLE, NOT_COMPUTED, NOT_TESTED), NONE),
}
"""Verdict -> its colour on pages. Grey: the run's number and the published one are not the same quantity."""


def verdict_counts(frame: pd.DataFrame) -> str:
    """How many values have each verdict, and how many no run can match, in words."""
    verdicts = frame["verdict"].value_counts()
    counts = ", ".join(f"{verdicts[name]} {name}" for name in VERDICTS if name in verdicts)
    never = int((frame["scope"] == NEVER).sum())
    return f"{len(frame)} published values: {counts}. {never} of them can never match, see the column “obstacle”."


def value_table(frame: pd.DataFrame, notes: Sequence[str] = ()) -> Table:
    """Published values beside ours (`compare.COLUMNS`), grouped by place in the paper (and study, if there is this column)."""
    with_study = "study" in frame
    page = frame.assign(
        place=frame["study"] + ": " + frame["item"] if with_study else frame["item"],
        interval=[interval_text(low, high) for low, high in zip(frame["ci_low"], frame["ci_high"], strict=True)],
    )
    columns = ["place", "verdict", "quantity", "published", "ours", "interval", "n", "why", "scope", "obstacle", "id"]
    names = {"ours": "this run", "interval": "95 % interval", "scope": "can it match?"}
    names["place"] = "study and place" if with_study else "place in the paper"
    layout = Layout("place", {"verdict": COLOURS}, ("why", "published", "ours"))
    return Table(frame, notes, page[columns], names, {"n": "d"}, layout)


def interval_text(low: float | None, high: float | None) -> str | None:
    """The ends of an interval as one text; None where there is no interval."""
    return None if pd.isna(low) or pd.isna(high) else f"{low:.4g} to {high:.4g}"


def threshold_text(side: str, threshold: float) -> str:
    """The side of the threshold on which the interval of a claim that holds lies, such as `> 0.5`."""
    return f"{'>' if side == 'above' else '<'} {threshold:.4g}"


def claim_frame(claims: Iterable[Claim]) -> pd.DataFrame:
    """Claims as a frame, columns `CLAIM_COLUMNS`."""
    rows = [
        vars(claim) | {"claim": claim.statement, "verdict": claim.verdict, "side": "above" if claim.above else "below"}
        for claim in claims
    ]
    return pd.DataFrame(rows, columns=list(CLAIM_COLUMNS)).astype({"n": "Int64"})


def claim_table(frame: pd.DataFrame) -> Table:
    """Claims (`CLAIM_COLUMNS`), grouped by study if there is this column."""
    first = [name for name in ("study", "verdict", "claim", "ours", "statistic", "value") if name in frame]
    page = frame[first].assign(
        interval=[interval_text(low, high) for low, high in zip(frame["ci_low"], frame["ci_high"], strict=True)],
        threshold=[threshold_text(side, value) for side, value in zip(frame["side"], frame["threshold"], strict=True)],
        **{name: frame[name] for name in ("level", "n", "unit")},
    )
    names = {"ours": "this run", "threshold": "holds if", "level": "coverage of the interval", "n": "n", "unit": "n counts"}
    formats = {"value": ".4g", "level": ".4g", "n": "d"}
    layout = Layout("study" if "study" in frame else "", {"verdict": COLOURS})
    return Table(frame, [VERDICT_NOTE], page, names, formats, layout)
