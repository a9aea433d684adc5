"""The pages of a comparison with a paper: every published value beside ours, and the paper's claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.tables import write_table
from attention_atlas.published.claims import CLAIM_COLUMNS, Claim
from attention_atlas.published.compare import NEVER, VERDICTS

CLAIM_FORMATS = dict.fromkeys(("value", "threshold", "ci_low", "ci_high", "level"), ".4g") | {"n": "d"}
VERDICT_NOTE = (
    "A claim holds where the whole interval of its statistic lies on the claim's side of the threshold, does not hold where it "
    "lies on the other side, and is undecided where it contains the threshold. Intervals resample the unit that is named; a "
    "claim about several things shows the one that decides."
)


def write_comparison(
    frame: pd.DataFrame, out: str | Path, html_out: str | Path, title: str, lines: Sequence[str], note: str
) -> None:
    """Write a frame of `compare.compare` as a table and as a page that counts its verdicts.

    Args:
        frame: one row a published value.
        out, html_out: files to write.
        title: heading of the page.
        lines: run, models and corpora.
        note: explanation of this comparison.
    """
    write_table(frame, out)
    verdicts = frame["verdict"].value_counts()
    counts = ", ".join(f"{verdicts[name]} {name}" for name in VERDICTS if name in verdicts)
    never = int((frame["scope"] == NEVER).sum())
    notes = [
        *lines,
        f"{len(frame)} published values: {counts}. {never} of them can never match, in no run; the column obstacle says why.",
        note,
    ]
    formats = dict.fromkeys(("ci_low", "ci_high"), ".4g") | {"n": "d"}
    write_html_table(frame, html_out, title, notes, formats=formats)


def write_claims(claims: Iterable[Claim], out: str | Path, html_out: str | Path, title: str, notes: list[str]) -> None:
    """Write claims as a table and as a page, columns `CLAIM_COLUMNS`."""
    frame = pd.DataFrame([_row(claim) for claim in claims], columns=list(CLAIM_COLUMNS)).astype({"n": "Int64"})
    write_table(frame, out)
    write_html_table(frame, html_out, title, [*notes, VERDICT_NOTE], formats=CLAIM_FORMATS)


def _row(claim: Claim) -> list[Any]:
    numbers = (claim.value, claim.threshold, claim.ci_low, claim.ci_high, claim.level)
    return [claim.statement, claim.ours, claim.verdict, claim.statistic, *numbers, claim.n, claim.unit]
