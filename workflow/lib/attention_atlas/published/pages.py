"""The pages of a comparison with a paper: every published value beside ours, and the paper's claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.tables import write_table
from attention_atlas.published.compare import DOES_NOT_HOLD, HOLDS, NEVER, VERDICTS


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


def write_claims(
    claims: Iterable[tuple[str, str, str]], out: str | Path, html_out: str | Path, title: str, notes: list[str]
) -> None:
    """Write claims (claim, ours, verdict of `claim_verdict`) as a table and as a page."""
    frame = pd.DataFrame(list(claims), columns=["claim", "ours", "verdict"])
    write_table(frame, out)
    write_html_table(frame, html_out, title, notes)


def claim_verdict(holds: bool) -> str:
    """The verdict on a claim."""
    return HOLDS if holds else DOES_NOT_HOLD
