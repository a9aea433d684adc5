"""Read the page of a table back: the run that it names, its notes, and its columns as the page shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import lxml.html

if TYPE_CHECKING:
    from lxml.html import HtmlElement


@dataclass(frozen=True)
class PageLayout:
    """A table as its page shows it.

    Attributes:
        run: run, model and corpus, the first note of the page.
        notes: explanations of the table and its columns.
        names: headings of the columns.
        rows: cells as texts, in the order of the page.
    """

    run: str
    notes: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def page_layout(path: str | Path) -> PageLayout | None:
    """Read a page of `io.html_tables.write_html_table`; None for a page without a table, such as a view of a head."""
    body = lxml.html.document_fromstring(Path(path).read_text(encoding="utf-8")).find("body")
    table = None if body is None else body.find("div[@class='box']/table")
    if body is None or table is None:
        return None
    paragraphs = [*body.findall("p"), *body.findall("details[@class='notes']/p")]
    run, *notes = [_text(paragraph) for paragraph in paragraphs] or [""]
    return PageLayout(
        run=run,
        notes=tuple(notes),
        names=tuple(_text(cell) for cell in table.findall("thead/tr/th")),
        rows=tuple(tuple(_cell(cell) for cell in row.findall("td")) for row in table.findall("tbody/tr")),
    )


def _cell(cell: HtmlElement) -> str:
    """The text of a cell; of a folded one the full text, which repeats the first words that stay visible."""
    full = cell.find("details/p")
    return _text(cell if full is None else full)


def _text(element: HtmlElement) -> str:
    return " ".join(str(element.text_content()).split())
