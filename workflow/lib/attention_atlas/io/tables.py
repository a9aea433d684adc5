"""Tables as files: tab-separated, byte-identical for the same numbers, and Parquet; and as Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.files import whole_file

_SPECIAL = re.compile(r"([\\`*_|\[\]])")


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


# --- Markdown ---------------------------------------------------------------------------------------------------------


def escaped(text: str) -> str:
    """A text that Markdown shows as it is, on one line."""
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(_SPECIAL.sub(r"\\\1", shown).split())


def shown_value(value: Any) -> str:
    """A cell of a table as text: numbers with three significant digits, whole ones in full, nothing for a missing value."""
    if isinstance(value, str):
        return escaped(value)
    if pd.isna(value):
        return ""
    if not isinstance(value, float) or math.isinf(value):
        return str(value)
    return str(int(value)) if value.is_integer() else f"{value:.3g}"


def markdown_table(names: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown without bare vertical bars."""
    titles = list(names)
    return "\n".join("| " + " | ".join(line) + " |" for line in (titles, ["---"] * len(titles), *rows))


def frame_table(frame: pd.DataFrame) -> str:
    """A frame as a table; underscores in the names of its columns become spaces."""
    names = [escaped(str(name).replace("_", " ")) for name in frame.columns]
    columns = [[shown_value(value) for value in frame[name].tolist()] for name in frame.columns]
    return markdown_table(names, zip(*columns, strict=True))
