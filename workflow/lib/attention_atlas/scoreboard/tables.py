"""The scoreboard: every published value and claim of all studies beside ours, a summary, and the index page of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby
from pathlib import PurePosixPath
from string import Template
from typing import Any

import pandas as pd

from attention_atlas.io.files import RESOURCES
from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.io.tables import with_columns
from attention_atlas.models.card import Card
from attention_atlas.published.compare import (
    ADDED,
    CLAIM_COLUMNS,
    COLUMNS,
    DOES_NOT_HOLD,
    HOLDS,
    NOT_TESTED,
    UNDECIDED,
    VERDICTS,
    shown_claims,
    totals,
    value_table,
)
from attention_atlas.workflow.shown import page, table

VERDICT_COLUMNS = {verdict: verdict.replace(" ", "_") for verdict in VERDICTS}
CLAIM_VERDICTS = {HOLDS: "claims_hold", DOES_NOT_HOLD: "claims_do_not_hold"}
CLAIM_VERDICTS |= {verdict: f"claims_{VERDICT_COLUMNS[verdict]}" for verdict in (UNDECIDED, NOT_TESTED)}
SUMMARY = ["study", "values", *VERDICT_COLUMNS.values(), "obstacles", "claims", *CLAIM_VERDICTS.values()]
CLAIMS = ["study", *CLAIM_COLUMNS]
_LINKS = {".html": "page", ".tsv": "numbers (TSV)", ".svg": "figure (SVG)", ".png": "PNG", ".pdf": "PDF"}
_GENERATED = "A demonstration on generated text with a small model: it shows that the workflow works, not what papers found."


@table(
    number="Summary",
    title="Verdicts by study",
    reads=("comparison", "claims"),
    files=("comparison.tsv", "comparison.html", "claims.tsv", "claims.html"),
)
def scoreboard(comparison: pd.DataFrame, claims: pd.DataFrame, generated: bool) -> Table:
    """How many published values of each study match, differ, or are not comparable, with the reasons, and how many claims hold.
    comparison.tsv has every published value beside this run's, claims.tsv every claim.
    """
    glossary = "; ".join(f"{verdict}: {meaning}" for verdict, meaning in VERDICTS.items())
    notes = [
        _compared(generated),
        *totals(claims),
        f"Each value has one verdict. {glossary}. Obstacles: why values are not comparable or not computed, with their number.",
    ]
    formats = dict.fromkeys(set(SUMMARY) - {"study", "obstacles"}, "d")
    return Table(summary_rows(comparison, claims), notes, formats=formats, layout=Layout(folded=("obstacles",)))


@table(title="Published values of all studies and this run", part_of="scoreboard", gathers=("comparisons",))
def comparison(comparisons: Mapping[str, pd.DataFrame], generated: bool) -> Table:
    """Every published value of all studies beside this run's."""
    page = value_table(_joint(comparisons, list(COLUMNS)))
    return replace(page, notes=[_compared(generated), *page.notes])


@table(title="Claims of all studies and this run", part_of="scoreboard", gathers=("claims_of",))
def claims(claims_of: Mapping[str, pd.DataFrame], generated: bool) -> Table:
    """Every claim of all studies, tested on this run."""
    page = shown_claims(_joint(claims_of, CLAIMS[1:]))
    return replace(page, notes=[_compared(generated), *page.notes])


def _joint(frames: Mapping[str, pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """The tables of all studies, with a column study."""
    parts = [with_columns(frame, columns, study).assign(study=study) for study, frame in frames.items()]
    return pd.concat(parts or [pd.DataFrame(columns=["study", *columns])], ignore_index=True)[["study", *columns]]


def _compared(generated: bool) -> str:
    if generated:
        return (
            "The corpora are generated: no number is what the papers measured. Only claims, tested on any model, have verdicts."
        )
    return "A number is compared only with that of the same model on the same data; claims are tested on any model."


def summary_rows(values: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """One row for each study, and one for all; columns `SUMMARY`: verdicts on all values, and on all claims of the papers."""
    claims = claims[claims["source"] != ADDED]
    rows = []
    for study in [*dict.fromkeys(values["study"]), "all"]:
        study_values = values if study == "all" else values[values["study"] == study]
        study_claims = claims if study == "all" else claims[claims["study"] == study]
        verdicts = study_values["verdict"].value_counts().reindex(list(VERDICTS), fill_value=0)
        decided = study_claims["verdict"].value_counts().reindex(list(CLAIM_VERDICTS), fill_value=0)
        obstacles = study_values["obstacle"].replace("", None).value_counts()
        ordered = sorted(obstacles.items(), key=lambda item: (-item[1], str(item[0])))
        reasons = "; ".join(f"{reason} ({count})" for reason, count in ordered)
        rows.append([study, len(study_values), *verdicts, reasons, decided.sum(), *decided])
    return pd.DataFrame(rows, columns=SUMMARY)


@page(title="All tables and figures", reads=("scoreboard",), gathers=("built", "cards"), resources=("tables/index.html",))
def index(
    scoreboard: pd.DataFrame,
    built: Mapping[str, str],
    cards: Mapping[str, Card],
    entries: Sequence[Mapping[str, Any]],
    first_pages: Mapping[str, str],
    generated: bool,
    run_title: str,
) -> str:
    """The index page of a run: every artefact with links to its files, and figures with a thumbnail, by study. built: all files
    that it links; cards: of the run's model; entries: of the artefacts, see `study.entries`; first_pages: pages to read first
    -> title.
    """
    shown = [entry for entry in entries if not entry["skipped"]]
    skipped = [entry for entry in entries if entry["skipped"]]
    sections, menu = [], []
    for (study, title), group in groupby(shown, lambda entry: (entry["study"], entry["study_title"])):
        articles = [_card(entry) for entry in group]
        menu.append(f'<li><a href="#{study}">{escape(title)}</a> ({len(articles)})</li>')
        sections.append(f'<section id="{study}">\n<h2>{escape(title)}</h2>\n<div class="cards">\n' + "\n".join(articles))
        sections.append("</div>\n</section>")
    if skipped:
        menu.append(f'<li><a href="#skipped">Skipped</a> ({len(skipped)})</li>')
        sections.append(_skipped(skipped))
    made_with = "".join(f" Made with {escape(card.versions)}." for card in cards.values())
    return Template((RESOURCES / "tables/index.html").read_text(encoding="utf-8")).substitute(
        title=escape(run_title),
        counts=_counts(shown, skipped, scoreboard) + made_with,
        note=f'<p class="dim">{escape(_GENERATED)}</p>\n' if generated else "",
        first="".join(f'<li><a href="{escape(file)}">{escape(title)}</a></li>' for file, title in first_pages.items()),
        menu="".join(menu),
        sections="\n".join(sections),
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


def _card(entry: Mapping[str, Any]) -> str:
    """An artefact: the picture of a figure, its title, and links to its files."""
    suffixes, order = [PurePosixPath(file).suffix for file in entry["files"]], list(_LINKS)
    links = ""
    for suffix, file in sorted(zip(suffixes, entry["files"], strict=True), key=lambda pair: order.index(pair[0])):
        name = PurePosixPath(file).name if suffixes.count(suffix) > 1 else _LINKS[suffix]
        links += f'<li><a href="{escape(file)}">{escape(name)}</a></li>'
    thumbnail = ""
    if ".png" in suffixes:
        picture = entry["files"][suffixes.index(".png")]
        target = entry["files"][suffixes.index(".svg")] if ".svg" in suffixes else picture
        label = escape(f"{entry['number']}: {entry['title']}", quote=True)
        image = f'<img src="{escape(picture)}" alt="" loading="lazy">'
        thumbnail = f'<a class="thumbnail" href="{escape(target)}" aria-label="{label}">{image}</a>\n'
    heading = f"<h3>{escape(entry['number'])}<span>{escape(entry['title'])}</span></h3>"
    return f'<article>\n{thumbnail}{heading}\n<ul class="links">{links}</ul>\n</article>'


def _skipped(entries: Sequence[Mapping[str, Any]]) -> str:
    rows = "\n".join(
        f"<tr><th scope='row'>{escape(entry['study'])}: {escape(entry['number'])}</th><td>{escape(entry['skipped'])}</td></tr>"
        for entry in entries
    )
    return f'<section id="skipped">\n<h2>Skipped</h2>\n<table class="skipped">\n{rows}\n</table>\n</section>'
