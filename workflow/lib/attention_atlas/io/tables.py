"""Tidy tables: tab-separated files, byte-identical for the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.files import whole_file


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame as TSV: header in snake_case, six significant digits, empty cell for a missing value."""
    with whole_file(path) as part:
        frame.to_csv(part, sep="\t", index=False, float_format="%.6g", lineterminator="\n")


def write_parquet(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a frame as Parquet, for tables with one row per example, atomically."""
    with whole_file(path) as part:
        frame.to_parquet(part, index=False)


def read_parquet(path: str | Path, columns: Sequence[str], equal: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read columns of a Parquet table.

    `equal`: column -> value: read only rows with these values; others are never in memory.
    """
    try:
        filters = [(name, "==", value) for name, value in equal.items()] if equal else None
        return pd.read_parquet(path, columns=list(columns), filters=filters)
    except (OSError, ValueError, KeyError) as error:
        raise DamagedFile(path, f"this table cannot be read ({error})") from error


def read_table(path: str | Path, columns: list[str] | None = None, separator: str = "\t") -> pd.DataFrame:
    """Read a TSV (or a table with other separators) that must have `columns`."""
    try:
        # "null" and "nan" can be names of relations; only an empty cell is a missing value.
        frame = pd.read_csv(path, sep=separator, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        raise DamagedFile(path, f"this table cannot be read ({error})") from error
    return with_columns(frame, columns or [], path)


def with_columns(frame: pd.DataFrame, columns: Sequence[str], name: str | Path) -> pd.DataFrame:
    """The frame; raises an AtlasError with the name of the table if it lacks a column."""
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise AtlasError(f"{name}: the column '{absent[0]}' is missing. Found: {', '.join(frame.columns)}.")
    return frame
