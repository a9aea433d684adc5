"""Shared code for HTML pages of tables: their parts, and the links below their headings. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from attention_atlas.io.files import write_text

ASSETS = ("tables/table.css", "tables/short.js", "tables/long.js")
"""Parts of the pages below workflow/resources."""


Links = Iterable[tuple[str, str]]
"""Text and address of each link; an address is relative to the page, or on the web."""


def link_pages(files: Mapping[str, str | Path], links: Mapping[str, Links]) -> None:
    """Insert links below the headings of pages; pages without a heading are not changed."""
    for name, of_page in links.items():
        page = Path(files[name]).read_text(encoding="utf-8")
        items = "".join(f"<li><a href='{escape(address)}'>{escape(text)}</a></li>" for text, address in of_page)
        before, heading, after = page.partition("</h1>")
        if items and heading:
            write_text(files[name], f"{before}{heading}\n<nav aria-label='Files and sources'><ul>{items}</ul></nav>{after}")
