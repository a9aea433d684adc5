"""The pages of a comparison with a paper: every published value beside ours, and the paper's claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.html_tables import BAD, GOOD, NONE, OPEN, Layout, write_html_table
from attention_atlas.io.tables import write_table
from attention_atlas.published.claims import ABOVE, CLAIM_COLUMNS, Claim
from attention_atlas.published.compare import (
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
)

VERDICT_NOTE = (
    "A claim holds if the whole interval of its statistic lies on the claim's side of the threshold, does not hold if it lies "
    "on the other side, and is undecided if it contains the threshold. It is not tested if there is no interval, such as where "
    "the run lacks a part of the claim. Intervals resample the unit that the table names. A claim about several tasks, types "
    "or layers is represented by the one that decides it; “this run” has them all."
)
VALUE_NAMES = {
    "ours": "this run",
    "interval": "95 % interval",
    "scope": "can it match?",
}
"""Column of the page of published values -> heading."""


COLOURS = {
    **dict.fromkeys((MATCH, COVERED, HOLDS), GOOD),
    **dict.fromkeys((DIFFERS, DOES_NOT_HOLD), BAD),
    UNDECIDED: OPEN,
    **dict.fromkeys((NOT_COMPARABLE, NOT_COMPUTED, NOT_TESTED), NONE),
}
"""Verdict -> its colour on pages. Grey: the run's number and the published one are not the same quantity."""


def write_comparison(
    frame: pd.DataFrame, out: str | Path, html_out: str | Path, title: str, lines: Sequence[str], note: str
) -> None:
    """Write a frame of `compare.compare` as a table and as a page that counts its verdicts.

    Args:
        frame: one row for each published value.
        out, html_out: files to write.
        title: heading of the page.
        lines: run, models and corpora.
        note: explanation of this comparison.
    """
    write_table(frame, out)
    write_value_page(frame, html_out, title, [*lines, verdict_counts(frame), note])


def verdict_counts(frame: pd.DataFrame) -> str:
    """How many values have each verdict, and how many no run can match, in words."""
    verdicts = frame["verdict"].value_counts()
    counts = ", ".join(f"{verdicts[name]} {name}" for name in VERDICTS if name in verdicts)
    never = int((frame["scope"] == NEVER).sum())
    return f"{len(frame)} published values: {counts}. {never} of them can never match, see the column “obstacle”."


def write_value_page(frame: pd.DataFrame, path: str | Path, title: str, notes: Sequence[str]) -> None:
    """Write published values beside ours as a page: grouped by table or figure of the paper, with the verdict first.

    Args:
        frame: columns `compare.COLUMNS`; with a column study, values are grouped by study and place in the paper.
        path: file to write.
        title: heading of the page.
        notes: paragraphs above the table.
    """
    place = frame["study"] + ": " + frame["item"] if "study" in frame else frame["item"]
    shown = pd.DataFrame(
        {
            "place": place,
            "verdict": frame["verdict"],
            "quantity": frame["quantity"],
            "published": frame["published"],
            "ours": frame["ours"],
            "interval": [interval_text(low, high) for low, high in zip(frame["ci_low"], frame["ci_high"], strict=True)],
            "n": frame["n"],
            "why": frame["why"],
            "scope": frame["scope"],
            "obstacle": frame["obstacle"],
            "id": frame["id"],
        }
    )
    layout = Layout("place", {"verdict": COLOURS}, ("why", "published", "ours"))
    write_html_table(shown, path, title, notes, {**VALUE_NAMES, "place": _place_name(frame)}, {"n": "d"}, layout)


def _place_name(frame: pd.DataFrame) -> str:
    return "study and place" if "study" in frame else "place in the paper"


def interval_text(low: float | None, high: float | None) -> str | None:
    """The ends of an interval as one text; None where there is no interval."""
    return None if pd.isna(low) or pd.isna(high) else f"{low:.4g} to {high:.4g}"


def threshold_text(side: str, threshold: float) -> str:
    """The side of the threshold on which the interval of a claim that holds lies, such as `> 0.5`."""
    return f"{'>' if side == ABOVE else '<'} {threshold:.4g}"


def write_claims(claims: Iterable[Claim], out: str | Path, html_out: str | Path, title: str, notes: list[str]) -> None:
    """Write claims as a table and as a page, columns `CLAIM_COLUMNS`."""
    frame = pd.DataFrame([_row(claim) for claim in claims], columns=list(CLAIM_COLUMNS)).astype({"n": "Int64"})
    write_table(frame, out)
    write_claim_page(frame, html_out, title, notes)


def write_claim_page(frame: pd.DataFrame, path: str | Path, title: str, notes: Sequence[str]) -> None:
    """Write claims as a page, with the verdict first.

    Args:
        frame: columns `CLAIM_COLUMNS`; with a column study, claims are grouped by study.
        path: file to write.
        title: heading of the page.
        notes: paragraphs above the table.
    """
    first = [name for name in ("study", "verdict", "claim", "ours", "statistic", "value") if name in frame]
    shown = frame[first].assign(
        interval=[interval_text(low, high) for low, high in zip(frame["ci_low"], frame["ci_high"], strict=True)],
        threshold=[threshold_text(side, value) for side, value in zip(frame["side"], frame["threshold"], strict=True)],
        **{name: frame[name] for name in ("level", "n", "unit")},
    )
    names = {"ours": "this run", "threshold": "holds if", "level": "coverage of the interval", "n": "n", "unit": "n counts"}
    formats = {"value": ".4g", "level": ".4g", "n": "d"}
    layout = Layout("study" if "study" in frame else "", {"verdict": COLOURS})
    write_html_table(shown, path, title, [*notes, VERDICT_NOTE], names, formats, layout)


def _row(claim: Claim) -> list[Any]:
    tested = (claim.statistic, claim.value, claim.side, claim.threshold)
    return [claim.statement, claim.ours, claim.verdict, *tested, claim.ci_low, claim.ci_high, claim.level, claim.n, claim.unit]
