"""The index page of a run: every artefact with a thumbnail and links to its files, by study. It works without a network."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby, islice
from pathlib import PurePosixPath
from typing import Annotated, Any

import pandas as pd

from attention_atlas.scoreboard.tables import CLAIM_VERDICTS
from attention_atlas.workflow.shown import page

_ROWS, _COLUMNS, _CHARACTERS = 6, 5, 18
"""Size of the thumbnail of a table."""
_LINKS = {".html": "page", ".tsv": "numbers (TSV)", ".svg": "figure (SVG)", ".png": "PNG", ".pdf": "PDF"}
_KINDS = {".html": "page", ".tsv": "TSV"}
"""Kinds of which an artefact may have several files."""
_GENERATED = (
    "A demonstration on generated text with a small model: it shows that the workflow works, and nothing about the papers."
)
_CSS = """
:root { color-scheme: light dark; --ink: #1a1a1a; --dim: #595959; --line: #d9d9d9; --paper: #fff; --card: #fafafa;
  --link: #0b57a4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --dim: #b0b0b0; --line: #3c4047; --paper: #16181c; --card: #1e2126; --link: #8ab8ec; }
}
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1.2rem; max-width: 90rem; color: var(--ink);
  background: var(--paper); overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .8rem; padding-top: .8rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0; } h3 span { display: block; font-weight: 400; color: var(--dim); font-size: .87rem; }
p { margin: .3rem 0; max-width: 60rem; } .dim { color: var(--dim); }
a { color: var(--link); }
nav ul, .links { list-style: none; padding: 0; margin: .6rem 0; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; }
.links { margin: .5rem 0 0; font-size: .87rem; gap: .2rem .9rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: 1rem; }
article { border: 1px solid var(--line); border-radius: 6px; background: var(--card); padding: .8rem; display: flex;
  flex-direction: column; min-width: 0; }
article .links { margin-top: auto; padding-top: .6rem; }
.thumbnail { display: block; height: 11rem; margin: 0 0 .7rem; border-radius: 4px; overflow: hidden; background: #fff;
  border: 1px solid var(--line); text-decoration: none; }
.thumbnail img { width: 100%; height: 100%; object-fit: contain; display: block; }
.thumbnail table { font-size: .68rem; line-height: 1.35; border-collapse: collapse; color: #333; width: 100%; }
.thumbnail th, .thumbnail td { text-align: left; padding: .18rem .4rem; border-bottom: 1px solid #e4e4e4; white-space: nowrap; }
.skipped td, .skipped th { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; font-weight: 400; }
"""


def preview(path: str) -> list[list[str]]:
    """First rows of a table; none of another file."""
    if not path.endswith(".tsv"):
        return []
    with open(path, encoding="utf-8", newline="") as lines:
        return [row[:_COLUMNS] for row in islice(csv.reader(lines, delimiter="\t"), _ROWS + 1)]


@page(
    id="index",
    title="All tables and figures",
    reads=("scoreboard",),
    gathers=("built",),
    settings=("entries", "first_pages", "generated"),
)
def index(
    scoreboard: pd.DataFrame,
    built: Mapping[str, Annotated[list[list[str]], preview]],
    entries: Sequence[Mapping[str, Any]],
    first_pages: Mapping[str, str],
    generated: bool,
    run_title: str,
) -> str:
    """The index page of a run.

    built: file below the folder of the run -> its preview; entries: of the artefacts, see `study.entries`; first_pages: pages
    to read first -> title; generated: whether its corpora are generated text.
    """
    shown = [entry for entry in entries if not entry["skipped"]]
    skipped = [entry for entry in entries if entry["skipped"]]
    sections, menu = [], []
    for (study, title), group in groupby(shown, lambda entry: (entry["study"], entry["study_title"])):
        cards = [_card(entry, built) for entry in group]
        menu.append(f'<li><a href="#{study}">{escape(title)}</a> ({len(cards)})</li>')
        sections.append(f'<section id="{study}">\n<h2>{escape(title)}</h2>\n<div class="cards">\n' + "\n".join(cards))
        sections.append("</div>\n</section>")
    if skipped:
        menu.append(f'<li><a href="#skipped">Skipped</a> ({len(skipped)})</li>')
        sections.append(_skipped(skipped))
    note = f'<p class="dim">{escape(_GENERATED)}</p>\n' if generated else ""
    first = "".join(f'<li><a href="{escape(file)}">{escape(title)}</a></li>' for file, title in first_pages.items())
    return (
        "<!doctype html>\n<html lang='en'>\n<head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(run_title)}: tables and figures</title><style>{_CSS}</style></head>\n<body>\n<header>\n"
        f"<h1>{escape(run_title)}</h1>\n<p>{_counts(shown, skipped, scoreboard)}</p>\n{note}"
        f"<ul class='links'>{first}</ul>\n</header>\n<nav aria-label='Studies'><ul>{''.join(menu)}</ul></nav>\n<main>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def _counts(built: Sequence[Mapping[str, Any]], skipped: Sequence[Mapping[str, Any]], scoreboard: pd.DataFrame) -> str:
    """Artefacts, and verdicts on the claims of all studies."""
    figures = sum(entry["kind"] == "figure" for entry in built)
    numbers = {"table": len(built) - figures, "figure": figures}
    artefacts = " and ".join(f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in numbers.items())
    skips = f"; {len(skipped)} skipped" if skipped else ""
    total = scoreboard.set_index("study").loc["all"]
    verdicts = (f"{total[name]} {name.removeprefix('claims_').replace('_', ' ')}" for name in CLAIM_VERDICTS.values())
    return f'{artefacts}{skips}. Of {total["claims"]} <a href="claims.html">claims of the papers</a>, {", ".join(verdicts)}.'


def _card(entry: Mapping[str, Any], previews: Mapping[str, Sequence[Sequence[str]]]) -> str:
    files = list(entry["files"])
    order = {suffix: number for number, suffix in enumerate(_LINKS)}
    ordered = sorted(files, key=lambda file: order.get(PurePosixPath(file).suffix, len(order)))
    heading = f"<h3>{escape(entry['number'])}<span>{escape(entry['title'])}</span></h3>"
    links = "".join(f'<li><a href="{escape(file)}">{escape(_link(file, files))}</a></li>' for file in ordered)
    return f'<article>\n{_thumbnail(entry, files, previews)}{heading}\n<ul class="links">{links}</ul>\n</article>'


def _link(file: str, files: Sequence[str]) -> str:
    """Text of the link to a file: its kind, with its name where the artefact has several of that kind."""
    path = PurePosixPath(file)
    kind = _LINKS.get(path.suffix, path.suffix.lstrip(".").upper())
    is_one_of_several = sum(PurePosixPath(name).suffix == path.suffix for name in files) > 1
    return f"{path.stem} ({_KINDS.get(path.suffix, kind)})" if is_one_of_several else kind


def _thumbnail(entry: Mapping[str, Any], files: Sequence[str], previews: Mapping[str, Sequence[Sequence[str]]]) -> str:
    """The figure, or the first rows of the table, as a link to the full artefact."""
    by_suffix = {PurePosixPath(file).suffix: file for file in reversed(files)}
    label = escape(f"{entry['number']}: {entry['title']}", quote=True)
    if picture := by_suffix.get(".png"):
        target = by_suffix.get(".svg", picture)
        content = f'<img src="{escape(picture)}" alt="" loading="lazy">'
    elif numbers := by_suffix.get(".tsv"):
        marked = [("td" if number else "th", row) for number, row in enumerate(previews[numbers])]
        rows = ("".join(f"<{mark}>{escape(_short(cell))}</{mark}>" for cell in row) for mark, row in marked)
        target, content = by_suffix.get(".html", numbers), f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
    else:
        return ""
    return f'<a class="thumbnail" href="{escape(target)}" aria-label="{label}">{content}</a>\n'


def _short(cell: str) -> str:
    try:
        return cell if cell.lstrip("-").isdigit() else f"{float(cell):.3g}"
    except ValueError:
        shown = cell.replace("_", " ")
        return shown if len(shown) <= _CHARACTERS else f"{shown[: _CHARACTERS - 1]}…"


def _skipped(entries: Sequence[Mapping[str, Any]]) -> str:
    rows = "\n".join(
        f"<tr><th scope='row'>{escape(entry['study'])}: {escape(entry['number'])}</th><td>{escape(entry['skipped'])}</td></tr>"
        for entry in entries
    )
    return f'<section id="skipped">\n<h2>Skipped</h2>\n<table class="skipped">\n{rows}\n</table>\n</section>'
