"""Tables as self-contained HTML pages: sortable; long tables have filters and collapsible groups of rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import RESOURCES, write_text
from attention_atlas.io.tables import RunLabel, joint_lines, write_table

LONG = 50  # tables with more rows can be filtered and collapsed
GOOD, BAD, OPEN, NONE = "good", "bad", "open", "none"
"""Colours of marks: blue, orange, yellow and grey, each with a different sign before the word."""
_LINKS = "\n<nav aria-label='Files and sources'><ul>{}</ul></nav>"
Links = Iterable[tuple[str, str]]  # text and address of each link; an address is relative to the page, or on the web
_LIBRARY = "itables"  # package with a bundle of DataTables and jQuery, all under the MIT licence
_NUMBER = re.compile(r"([+−-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?)(?![\w.-])", re.IGNORECASE)
_HEAD = re.compile(r"(\d+)-(\d+)\b")
_EXPORT = re.compile(r"export\s*\{([^{}]*)\}")
_FEW_VALUES = 12
_SHORT_NOTES = 900  # number of characters of explanations that stay visible
_NARROW = 24  # maximum number of characters of cells in a column without line breaks
_FOLDED_FROM = 90  # number of characters above which a text is folded; its first words stay visible


@dataclass(frozen=True)
class Layout:
    group: str = ""  # column that defines collapsible groups, in the order in which its values first appear; empty for none
    # column of words -> colour of each word: `GOOD`, `BAD`, `OPEN` or `NONE`
    marks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    folded: Sequence[str] = ()  # columns with long texts, of which only the first words are shown at first


@dataclass(frozen=True)
class Table:
    frame: pd.DataFrame  # the numbers, written as TSV
    notes: Sequence[str] = ()  # paragraphs above the table, below the caption
    page: pd.DataFrame | None = None  # the columns of the page, with empty cells for missing values; default: the numbers
    names: Mapping[str, str] = field(default_factory=dict)  # column -> heading
    formats: Mapping[str, str] = field(default_factory=dict)  # column -> format of its numbers (".1%", "+d"); default: .3f
    layout: Layout = Layout()

    def write(
        self,
        files: Mapping[str, str | Path],
        labels: Mapping[str, RunLabel],
        heading: str,
        caption: str,
        links: Mapping[str, Links],
        run_title: str = "",
    ) -> None:
        """Write the numbers (`tsv`, if they are among the files) and the page (`html`)."""
        if "tsv" in files:
            write_table(self.frame, files["tsv"])
        notes = [*(joint_lines(labels.values()) or [run_title]), caption]
        self.write_page(files["html"], heading, notes, links.get("html", ()))

    def write_page(self, path: str | Path, heading: str, notes: Sequence[str], links: Links = ()) -> None:
        """Write the page alone: heading, links, the first note, further notes with those of the table, and the table."""
        frame = self.frame if self.page is None else self.page
        long = len(frame) > LONG
        columns = [_column(frame, name, self.formats.get(str(name)), self.layout, long) for name in frame.columns]
        headings = [self.names.get(name, str(name).replace("_", " ")) for name in frame.columns]
        head = "".join(f"<th{column[0]}>{escape(text)}</th>" for text, column in zip(headings, columns, strict=True))
        rows = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in zip(*(cells for _, cells in columns), strict=True))
        title, script = escape(heading), _long_script() if long else _asset("short.js")
        listed = "".join(f"<li><a href='{escape(address)}'>{escape(text)}</a></li>" for text, address in links)
        body = (
            f"<h1>{title}</h1>{listed and _LINKS.format(listed)}\n{_notes([*notes, *self.notes])}\n<div class='tools'></div>\n"
            f"<div class='box' tabindex='0' role='region' aria-label='{title}'>\n"
            f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>\n"
        )
        write_text(
            path,
            "<!doctype html>\n<html lang='en'>\n<head><meta charset='utf-8'>"
            f"<meta name='viewport' content='width=device-width, initial-scale=1'><title>{title}</title>"
            f"<style>{_asset('table.css')}</style></head>\n<body{' class=long' if long else ''}>\n{body}"
            f"<script type='module'>\n{script}</script>\n</body>\n</html>\n",
        )


def _notes(notes: Sequence[str]) -> str:
    """The first note unchanged (run, model, corpus), the explanations below it; collapsed if they would fill the screen."""
    first, *explanations = (f"<p>{escape(note)}</p>" for note in notes) if notes else ("",)
    if sum(map(len, explanations)) <= _SHORT_NOTES:
        return "\n".join([first, *explanations])
    return "\n".join([first, "<details class='notes'><summary>How to read this table</summary>", *explanations, "</details>"])


def _column(frame: pd.DataFrame, name: Any, spec: str | None, layout: Layout, long: bool) -> tuple[str, list[str]]:
    """HTML of a column: attributes of its heading, and its cells."""
    values = [None if missing else value for value, missing in zip(frame[name], frame[name].isna(), strict=True)]
    shown = ["" if value is None else _shown(value, spec) for value in values]
    attributes: dict[str, str] = {}
    cell_attributes = [""] * len(values)
    if name == layout.group and long:
        attributes["data-role"] = "group"
        order = {text: number for number, text in enumerate(dict.fromkeys(shown))}
        cell_attributes = [f" data-order='{order[text]}'" for text in shown]
    elif name in layout.marks:
        attributes |= {"data-role": "mark", "data-filter": ""}
    elif _is_numeric(values):
        attributes["class"] = "number" if max(map(len, shown)) <= _NARROW else "number lists"
        keys = [_sort_key(value) for value in values]
        cell_attributes = [f" class='{attributes['class']}' data-order='{'' if key is None else f'{key:.9g}'}'" for key in keys]
    elif long and name not in layout.folded and 1 < len(set(shown)) <= _FEW_VALUES and len(set(shown)) < len(shown) / 2:
        attributes["data-filter"] = ""
    if any(len(text) > 18 for text in shown) and "class" not in attributes:
        attributes["class"] = "text"
    html = [_marked(text, layout.marks[name]) if name in layout.marks else escape(text) for text in shown]
    if name in layout.folded:
        html = [_folded(text) for text in shown]
    cells = [f"<td{attribute}>{text}</td>" for attribute, text in zip(cell_attributes, html, strict=True)]
    return "".join(f" {key}='{value}'" if value else f" {key}" for key, value in attributes.items()), cells


def _shown(value: Any, spec: str | None) -> str:
    if isinstance(value, str):
        return value
    if spec is not None:
        return format(int(value) if spec.endswith("d") else float(value), spec)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _is_numeric(values: Sequence[Any]) -> bool:
    """Whether most values of a column are numbers, or texts that start with one."""
    present = [value for value in values if value is not None and value != ""]
    return bool(present) and 2 * sum(_sort_key(value) is not None for value in present) > len(present)


def _sort_key(value: Any) -> float | None:
    """The number by which a cell is sorted: its value, the first number of a text, or layer and head of `5-4`; else None."""
    if value is None:
        return None
    if not isinstance(value, str):
        return None if isinstance(value, bool) else float(value)
    if head := _HEAD.match(value):
        return int(head[1]) + int(head[2]) / 1000
    number = _NUMBER.match(value)
    return float(number[1].replace(",", "").replace("−", "-")) if number else None


def _marked(text: str, colours: Mapping[str, str]) -> str:
    return f"<span class='mark {colours.get(text, NONE)}'>{escape(text)}</span>" if text else ""


def _folded(text: str) -> str:
    """A long text as its first words, with the full text on demand."""
    if len(text) < _FOLDED_FROM:
        return escape(text)
    first = text[: _FOLDED_FROM - 30].rsplit(" ", 1)[0]
    return f"<details><summary>{escape(first)} …</summary><p>{escape(text)}</p></details>"


def _asset(name: str) -> str:
    return (RESOURCES / "tables" / name).read_text(encoding="utf-8")


def installed_text(package: str, name: str) -> str:
    """Text of a file of an installed package, without importing the package."""
    try:
        path = next(file for file in files(package) or () if file.name == name)
    except (PackageNotFoundError, StopIteration) as error:
        raise AtlasError(f"the package {package} with {name} is not installed: pip install {package}.") from error
    return Path(path.locate()).read_text(encoding="utf-8")


def _long_script() -> str:
    """The library with its licence, then the script of the page; the bundle is a module, whose exports become one variable."""
    licence = installed_text(_LIBRARY, "LICENSE").replace("*/", "")
    # A script must not close its script element.
    bundle = installed_text(_LIBRARY, "dt_bundle.js").replace("</script", "<\\/script")
    bundle, count = _EXPORT.subn(_exports_as_name, bundle)
    if count != 1:
        raise ValueError(f"{_LIBRARY}: dt_bundle.js has {count} export clauses instead of one.")
    return f"/*\n{_LIBRARY}, DataTables (datatables.net) and jQuery\n\n{licence}*/\n{bundle}\n{_asset('long.js')}"


def _exports_as_name(clause: re.Match[str]) -> str:
    pairs = (part.split() for part in clause[1].split(","))
    return f"const tableLibrary={{{','.join(f'{pair[-1]}:{pair[0]}' for pair in pairs)}}};"
