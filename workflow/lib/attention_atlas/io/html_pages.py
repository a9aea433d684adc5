"""What all HTML pages of tables share: their parts, and the links below their headings. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from attention_atlas.io.files import write_text

ASSETS = ("tables/table.css", "tables/short.js", "tables/long.js")
"""Parts of the pages below workflow/resources."""


@dataclass(frozen=True)
class Link:
    """A link of a page: its text and its address, relative to the page or on the web."""

    text: str
    address: str


def add_links(path: str | Path, links: Iterable[Link]) -> None:
    """Put links below the heading of a page; nothing where it has no heading.

    Raises:
        OSError: there is no such page.
    """
    items = "".join(f"<li><a href='{escape(link.address)}'>{escape(link.text)}</a></li>" for link in links)
    page = Path(path).read_text(encoding="utf-8")
    before, heading, after = page.partition("</h1>")
    if items and heading:
        write_text(path, f"{before}{heading}\n<nav aria-label='Files and sources'><ul>{items}</ul></nav>{after}")
