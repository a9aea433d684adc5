"""Tables as small self-contained HTML pages."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.io.files import write_text

_CSS = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff; max-width: 90rem; }
h1 { font-size: 1.3rem; margin: 0 0 .2rem; } p { margin: .2rem 0 1rem; color: #444; max-width: 60rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid #ddd; vertical-align: top; }
th { border-bottom: 2px solid #444; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #e6e6e6; } p { color: #b8b8b8; } th, td { border-color: #444; }
}
"""


def write_html_table(
    frame: pd.DataFrame,
    path: str | Path,
    title: str,
    notes: list[str],
    names: Mapping[str, str] | None = None,
    formats: Mapping[str, str] | None = None,
) -> None:
    """Write a frame as one HTML page.

    Args:
        frame: the table; a missing value becomes an empty cell.
        path: file to write.
        title: heading of the page.
        notes: paragraphs above the table (run, model, corpus, what the columns are).
        names: column -> heading.
        formats: column -> format specification of its numbers, such as ".1%" or "+d"; three decimals otherwise.
    """
    names, formats = names or {}, formats or {}
    shown = frame.rename(columns={c: names.get(c, c.replace("_", " ")) for c in frame.columns})
    cells = [functools.partial(_cell, spec=formats.get(c)) for c in frame.columns]
    # `na_rep` stands for NaN alone: pandas prints None and pd.NA by their names and never shows them to a formatter.
    filled = shown.astype(object).where(shown.notna().to_numpy(), float("nan"))
    table = filled.to_html(index=False, border=0, formatters=cells, na_rep="", justify="left")
    paragraphs = "\n".join(f"<p>{escape(note)}</p>" for note in notes)
    page = (
        f"<!doctype html>\n<html lang='en'>\n<head><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<style>{_CSS}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n{paragraphs}\n{table}\n</body>\n</html>\n"
    )
    write_text(path, page)


def _cell(value: Any, spec: str | None) -> str:
    if isinstance(value, str):
        return value
    if spec is not None:
        return format(int(value) if spec.endswith("d") else float(value), spec)
    return f"{value:.3f}" if isinstance(value, float) else str(value)
