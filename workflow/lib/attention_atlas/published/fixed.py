"""Which claims were fixed before any result on real text was known, and which were added or changed later."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from attention_atlas.io.files import RESOURCES
from attention_atlas.io.html_tables import Table
from attention_atlas.published import compare
from attention_atlas.published.compare import Claim, claim_frame, claim_page, claim_table

LIST = "published/fixed_claims.tsv"
COLUMNS = (*compare.CLAIM_COLUMNS, "fixed")
BEFORE_RESULTS, REWORDED, TEST_CHANGED, LATER = "fixed before results", "wording changed", "test changed", "added later"
GROUPS = {"Fixed in advance": (BEFORE_RESULTS, REWORDED), "Test changed later": (TEST_CHANGED,), "Added later": (LATER,)}
_VERDICTS = (compare.HOLDS, compare.DOES_NOT_HOLD, compare.UNDECIDED, compare.NOT_TESTED)
FIXED_NOTE = (
    "Fixed before results: listed before any result on real text was known, and tested as listed. Wording changed: the same "
    "test in other words. Test changed: later, in statistic, interval, threshold or condition. Added later: not listed."
)


@functools.cache
def listed() -> dict[str, dict[Any, str]]:
    """The rows of the list, by `key` of the claim."""
    rows = pd.read_csv(RESOURCES / LIST, sep="\t", dtype=str, keep_default_na=False).to_dict("records")
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


def claims_table(claims: Iterable[Claim]) -> Table:
    """The table of the claims of a study, with the column `fixed`."""
    frame = claim_frame(claims)
    return fixed_table(frame.assign(fixed=list(map(fixed, frame["claim"], frame["threshold"]))))


def fixed_table(frame: pd.DataFrame) -> Table:
    """Claims (`COLUMNS`), with totals of each group; grouped by study if there is this column."""
    table = claim_table(frame)
    return replace(table, frame=frame, page=fixed_page(frame), notes=[*totals(frame), *table.notes, FIXED_NOTE])


def fixed_page(frame: pd.DataFrame) -> pd.DataFrame:
    """Claims as they are shown."""
    page = claim_page(frame)
    page.insert(page.columns.get_loc("verdict"), "fixed", frame["fixed"])
    return page


def totals(claims: pd.DataFrame) -> list[str]:
    """Verdicts on the claims of each group, in words."""
    texts = []
    for title, group in GROUPS.items():
        verdicts = claims.loc[claims["fixed"].isin(group), "verdict"].value_counts()
        counts = ", ".join(f"{verdicts.get(verdict, 0)} {verdict}" for verdict in _VERDICTS)
        texts.append(f"{title}: {verdicts.sum()} claims ({counts.replace('holds', 'hold').replace('does', 'do')}).")
    return texts
