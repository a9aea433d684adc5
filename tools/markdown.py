"""Tables of the documentation as Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

_SPECIAL = re.compile(r"([\\`*_|\[\]])")


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
