"""Compare two runs: published values and claims whose verdict, number or interval differs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.tables import read_table
from attention_atlas.published.scoreboard import CLAIMS

SAME, NUMBER, VERDICT, ONLY_FIRST, ONLY_SECOND = "same", "number changed", "verdict changed", "only in first", "only in second"
CHANGES = {
    VERDICT: "another verdict",
    NUMBER: "the same verdict; another number, interval or n",
    SAME: "verdict, number, interval and n are the same",
    ONLY_FIRST: "the second run has no such row",
    ONLY_SECOND: "the first run has no such row",
}
"""Change of a row -> what it means. Each row has one."""
APART, OVERLAP = "apart", "overlap"
VALUE_KEY, CLAIM_KEY = ["study", "id"], ["study", "claim"]
_SIDES = ("verdict", "value", "ci_low", "ci_high", "n")
COLUMNS = (
    *("kind", "study", "name", "quantity", "change"),
    *(f"{column}_{side}" for column in _SIDES for side in ("first", "second")),
    *("difference", "relative", "intervals"),
)
"""Columns of the table of differences: kind is value or claim; difference is second minus first, in the quantity's unit;
relative is that as a share of the first; intervals: apart or overlap, where both runs have one."""


def run_differences(first: str | Path, second: str | Path) -> pd.DataFrame:
    """Every published value and claim of two built runs; columns `COLUMNS`.

    Args:
        first, second: folders of runs, with the tables of the scoreboard.

    Raises:
        AtlasError: a table is missing or cannot be used.
    """
    rows: list[dict[str, Any]] = []
    for kind, read in (("value", _values), ("claim", _claims)):
        rows += _differences(kind, read(Path(first)), read(Path(second)))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"n_first": "Int64", "n_second": "Int64"})


def counts(differences: pd.DataFrame) -> pd.DataFrame:
    """Number of rows with each change, by kind and study (and over all studies); columns kind, study, `CHANGES`."""
    rows = []
    for kind, of_kind in differences.groupby("kind", sort=False):
        for study in [*dict.fromkeys(of_kind["study"]), "all"]:
            part = of_kind if study == "all" else of_kind[of_kind["study"] == study]
            counted = part["change"].value_counts()
            rows.append([kind, study, *(int(counted.get(change, 0)) for change in CHANGES)])
    return pd.DataFrame(rows, columns=["kind", "study", *CHANGES])


def _values(folder: Path) -> pd.DataFrame:
    """Published values: key, quantity, and what this run has."""
    needed = [*VALUE_KEY, "item", "quantity", "ours", "ci_low", "ci_high", "n", "verdict"]
    table = read_table(folder / "comparison.tsv", needed)
    return table.assign(name=table["id"], quantity=table["item"] + ": " + table["quantity"], value=table["ours"])


def _claims(folder: Path) -> pd.DataFrame:
    table = read_table(folder / "claims.tsv", CLAIMS)
    return table.assign(name=table["claim"], quantity=table["statistic"])


def _differences(kind: str, first: pd.DataFrame, second: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """Rows in the order of the first run, then those that only the second has."""
    one, two = _by_name(first), _by_name(second)
    for key in dict.fromkeys((*one, *two)):
        yield _row(kind, key, one.get(key), two.get(key))


def _by_name(table: pd.DataFrame) -> dict[tuple[str, str, int], Mapping[Hashable, Any]]:
    """(study, name, occurrence) -> row: a claim may be tested on two corpora, so that its name occurs twice."""
    again = table.groupby(["study", "name"]).cumcount()
    keys = zip(table["study"], table["name"], again, strict=True)
    return dict(zip(keys, table.to_dict("records"), strict=True))


def _row(
    kind: str, key: tuple[str, str, int], first: Mapping[Hashable, Any] | None, second: Mapping[Hashable, Any] | None
) -> dict[str, Any]:
    study, name, _ = key
    row: dict[str, Any] = {"kind": kind, "study": study, "name": name, "quantity": (first or second or {})["quantity"]}
    for side, entry in (("first", first), ("second", second)):
        row |= {f"{column}_{side}": None if entry is None or pd.isna(entry[column]) else entry[column] for column in _SIDES}
    one, two = _number(row["value_first"]), _number(row["value_second"])
    if one is not None and two is not None:
        row["difference"] = two - one
        row["relative"] = (two - one) / abs(one) if one else None
    bounds = [row[f"{bound}_{side}"] for side in ("first", "second") for bound in ("ci_low", "ci_high")]
    if None not in bounds:
        row["intervals"] = APART if max(bounds[0], bounds[2]) > min(bounds[1], bounds[3]) else OVERLAP
    return row | {"change": _change(row, first, second)}


def _change(row: Mapping[str, Any], first: object, second: object) -> str:
    if first is None or second is None:
        return ONLY_SECOND if first is None else ONLY_FIRST
    if row["verdict_first"] != row["verdict_second"]:
        return VERDICT
    return SAME if all(row[f"{column}_first"] == row[f"{column}_second"] for column in _SIDES) else NUMBER


def _number(cell: Any) -> float | None:
    """A cell as a number; None for texts, lists and missing values."""
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None
