"""Pages of a run's results in Markdown: one for each study with its artefacts, and an overview of all findings."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from attention_atlas.io.markdown import escaped, frame_table, shown_value, table
from attention_atlas.published.compare import (
    CONTRADICTS,
    NOT_COMPARABLE,
    NOT_COMPUTED,
    NOT_TESTED,
    RECOMPUTED,
    UNDECIDED,
    VERDICTS,
)
from attention_atlas.published.more_examples import outlook
from attention_atlas.published.page_layout import PageLayout
from attention_atlas.published.pages import VERDICT_NOTE, threshold_text
from attention_atlas.published.results_page import claim_counts, verdict_table

SHORT = 30
"""Tables with at most this many rows are shown in full."""
FIRST_ROWS = 8
"""Rows that a page shows of a longer table."""
_COMPARISON = ("item", "quantity", "published", "ours", "ci_low", "ci_high", "n", "verdict")
_NOT_COMPARED = (NOT_COMPARABLE, NOT_COMPUTED, RECOMPUTED, CONTRADICTS)
"""Verdicts of values that are not compared with the run's; two of them compare published values with each other."""
_SHRINKS = (
    "The half-width of an interval shrinks with the square root of the number n of examples, so that about "
    "n · (half-width / distance of the value from the threshold)² of them are needed. This is a rough guide: it assumes that "
    "the value stays the same, and a largest or a median value over heads moves with n."
)


@dataclass(frozen=True)
class TableFile:
    """A table of an artefact.

    Attributes:
        name: file below the folder of the study.
        frame: its content.
        link: file on the site, relative to the page; empty where it is too long for the site.
        size: bytes.
        layout: the table as its own page shows it; None where it has none.
    """

    name: str
    frame: pd.DataFrame
    link: str
    size: int
    layout: PageLayout | None = None


@dataclass(frozen=True)
class ShownArtifact:
    """An artefact on the page of its study.

    Attributes:
        id, number, title, caption: as declared.
        picture: file relative to the page; empty where there is none.
        note: remark above it, such as that it shows generated sentences; empty for none.
        tables: its tables, the main one first.
        pages: title -> file relative to the page, of pages to browse.
    """

    id: str
    number: str
    title: str
    caption: str
    picture: str
    note: str
    tables: Sequence[TableFile]
    pages: Mapping[str, str]


@dataclass(frozen=True)
class StudyPage:
    """What the page of a study shows.

    Attributes:
        id, title: of the study.
        paper: citation, with the paper's address where it has one; empty for an overview.
        artifacts: built ones in their order.
        absent: number and title of an artefact -> why it is not on the page.
    """

    id: str
    title: str
    paper: str
    artifacts: Sequence[ShownArtifact]
    absent: Mapping[str, str]


def study_page(study: StudyPage, run: str) -> str:
    """The page of a study.

    Args:
        study: what it shows.
        run: title of the run.
    """
    links = ", ".join(f"[{escaped(part.number)}](#{part.id.replace('_', '-')})" for part in study.artifacts)
    intro = f"{escaped(run)}." + (f" Paper: {study.paper}." if study.paper else "")
    parts = [f"# {escaped(study.title)}", intro, "[All findings of this run](index.md)", links]
    for artifact in study.artifacts:
        parts += _artifact(artifact, run_study=study.id)
    if study.absent:
        parts += ["## Not on this page", _reasons(study.absent)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _artifact(artifact: ShownArtifact, run_study: str) -> list[str]:
    anchor = artifact.id.replace("_", "-")
    parts = [f"## {escaped(artifact.number)}: {escaped(artifact.title)} {{: #{anchor} }}", artifact.caption]
    layout = artifact.tables[0].layout if artifact.tables else None
    if layout:
        parts += [escaped(layout.run), _explanations(layout)]
    if artifact.note:
        parts.append(f'!!! note "No text of the corpora"\n    {artifact.note}')
    if artifact.picture:
        parts.append(f"![{escaped(artifact.number)}: {escaped(artifact.title)}]({artifact.picture})")
    parts += [f"[{escaped(title)}]({link})" for title, link in artifact.pages.items()]
    if not artifact.tables:
        return parts
    main = artifact.tables[0]
    if artifact.id not in ("comparison", "dropped") and (number := examples_of(main.frame)):
        parts.append(f"n: {number}.")
    if artifact.id == "comparison":
        parts += _compared(main.frame)
    elif artifact.id == "claims":
        parts += [VERDICT_NOTE, claims_table(main.frame)]
    else:
        parts += _rows(main, with_picture=bool(artifact.picture))
    parts.append("Tables: " + "; ".join(_link(file, run_study) for file in artifact.tables) + ".")
    return parts


def _explanations(layout: PageLayout) -> str:
    """The notes of a table, collapsed."""
    if not layout.notes:
        return ""
    paragraphs = "".join(f"<p>{escape(note)}</p>" for note in layout.notes)
    return f"<details><summary>How to read it</summary>{paragraphs}</details>"


def _rows(file: TableFile, with_picture: bool) -> list[str]:
    """The rows of a table, as its own page shows them if it has one; of a long table the first, or none beside a picture."""
    if file.layout:
        names, rows = file.layout.names, file.layout.rows
        shown = table(map(escaped, names), ([escaped(cell) for cell in row] for row in rows[: _shown(len(rows))]))
        count = len(rows)
    else:
        count = len(file.frame)
        shown = frame_table(file.frame.head(_shown(count)))
    if count <= SHORT:
        return [shown]
    return [] if with_picture else [f"The first {FIRST_ROWS} of {count:,} rows:", shown]


def _shown(rows: int) -> int:
    return rows if rows <= SHORT else FIRST_ROWS


def _link(file: TableFile, study: str) -> str:
    rows = f"{len(file.frame):,} rows"
    if file.link:
        return f"[{escaped(file.name)}]({file.link}) ({rows})"
    return f"`{study}/{file.name}` ({rows}, {file.size / 1e6:.1f} MB: too long for the site; the run writes it)"


def examples_of(frame: pd.DataFrame) -> str:
    """Smallest and largest n of a table, with its unit; empty if the table has no such column.

    A table with a column `units` resamples these: its `unit` names them, and not the examples that `n` counts.
    """
    if "n" not in frame or not pd.api.types.is_numeric_dtype(frame["n"]) or frame["n"].isna().all():
        return ""
    if "units" in frame:
        resampled = _ranges_by_unit(frame["units"], frame["unit"])
        return "; ".join(filter(None, (_range(frame["n"]), resampled and f"intervals over {resampled}")))
    # In a table of measures, `unit` is that of the measure.
    unit_column = next((name for name in ("n_unit", "unit") if name in frame), "")
    return _ranges_by_unit(frame["n"], frame[unit_column] if unit_column else pd.Series("", frame.index))


def _ranges_by_unit(numbers: pd.Series, units: pd.Series) -> str:
    present = numbers > 0
    grouped = numbers[present].groupby(units[present].fillna(""), sort=False)
    return "; ".join(f"{_range(of_unit)} {escaped(str(unit))}".strip() for unit, of_unit in grouped)


def _range(numbers: pd.Series) -> str:
    low, high = f"{numbers.min():,.0f}", f"{numbers.max():,.0f}"
    return low if low == high else f"{low} to {high}"


def _compared(values: pd.DataFrame) -> list[str]:
    """Counts of verdicts, the published values that this run was compared with, and why the rest was not."""
    is_compared = ~values["verdict"].isin(_NOT_COMPARED)
    counts = values["verdict"].value_counts()
    rows = [[escaped(str(word)), f"{count:,}", escaped(VERDICTS.get(str(word), ""))] for word, count in counts.items()]
    parts = [f"{len(values):,} published values by verdict:", table(("verdict", "values", "meaning"), rows)]
    if is_compared.any():
        shown = values.loc[is_compared, [name for name in _COMPARISON if name in values]]
        parts += ["Published values that this run is compared with:", frame_table(shown)]
    obstacles = values.loc[~is_compared, "obstacle"].dropna().value_counts()
    if not obstacles.empty:
        rows = [[str(count), escaped(str(reason))] for reason, count in obstacles.items()]
        parts += ["Why the others are not compared:", table(("values", "reason"), rows)]
    return parts


def claims_table(claims: pd.DataFrame, linked: bool = False) -> str:
    """All claims with statistic, threshold, interval and n.

    Args:
        claims: columns `claims.CLAIM_COLUMNS`; with a column `study` where `linked`.
        linked: whether the rows begin with a link to the page of the study.
    """
    names = ["claim", "verdict", "this run", "statistic", "value", "holds if", "interval", "n"]
    rows = [_claim(row, linked) for row in claims.to_dict("records")]
    claims_class = "claims-of-studies" if linked else "claims"
    rows_table = table(["study", *names] if linked else names, rows)
    return f'<div class="{claims_class}" markdown>\n\n{rows_table}\n\n</div>'


def _claim(row: Mapping[Hashable, Any], linked: bool) -> list[str]:
    interval = ""
    if not pd.isna(row["ci_low"]) and not pd.isna(row["ci_high"]):
        interval = f"{shown_value(row['ci_low'])} to {shown_value(row['ci_high'])} ({100 * row['level']:.4g} %)"
    # A claim has no value if the run lacks a part of it, such as one of the tasks that it orders.
    units = f"{int(row['n']):,} {shown_value(row['unit'])}" if row["n"] > 0 else ""
    value = "not computed" if pd.isna(row["value"]) else shown_value(row["value"])
    verdict = f"**{row['verdict']}**"
    words = [shown_value(row["claim"]), verdict, shown_value(row["ours"]), shown_value(row["statistic"])]
    threshold = escaped(threshold_text(row["side"], row["threshold"]))
    study = [f"[{row['study']}]({row['study']}.md#claims)"] if linked else []
    return [*study, *words, value, threshold, interval, units]


@dataclass(frozen=True)
class Overview:
    """What the overview of a run shows.

    Attributes:
        question: its heading.
        run: title of the run.
        studies: id and title of each study that has a page.
        not_built: studies of the run without a page.
        summary: columns `scoreboard.SUMMARY`.
        claims: columns `scoreboard.CLAIMS`.
        atlas: file of the page of the atlas; empty where there is none.
        skipped: study and artefact -> why the run does not build it.
        not_named: (study, role, use) of corpora that the run does not name.
        lacking: what is missing -> artefacts that are built without it.
        dropped: columns study, corpus, outcome, unit, n.
        notes: paragraphs before all else, such as that the run is not complete.
        made: heading -> text of the section on how it was made; a text is Markdown.
    """

    question: str
    run: str
    studies: Mapping[str, str]
    not_built: Sequence[str]
    summary: pd.DataFrame
    claims: pd.DataFrame
    atlas: str
    skipped: Mapping[str, str]
    not_named: Sequence[tuple[str, str, str]]
    lacking: Mapping[str, str]
    dropped: pd.DataFrame
    notes: Sequence[str]
    made: Mapping[str, str]


def overview_page(overview: Overview) -> str:
    """The page of all findings."""
    pages = [f"[{escaped(title)}]({study}.md)" for study, title in overview.studies.items()]
    if overview.atlas:
        pages.append(f"[Atlas of all heads]({overview.atlas})")
    parts = [f"# {escaped(overview.question)}", f"{escaped(overview.run)}.", *overview.notes]
    if overview.not_built:
        parts.append(f"Not built yet, and not on these pages: {', '.join(overview.not_built)}.")
    parts.append("\n".join(f"- {page}" for page in pages))
    if overview.claims.empty:
        parts.append("No claim of the papers is tested yet.")
    else:
        parts += [
            "## Findings by study",
            claim_counts(overview.summary),
            "## All findings",
            VERDICT_NOTE,
            claims_table(overview.claims, linked=True),
            *_undecided(overview.claims),
            *_not_tested(overview.claims),
        ]
    if not overview.summary.empty:
        parts += [
            "## Published values",
            "Each published value has one verdict. It is compared only with that of the same model on the same data, but "
            "claims of the papers are tested on any model.",
            verdict_table(overview.summary),
        ]
    parts += [
        *_absent(overview),
        "## How it was made",
        *(f"### {escaped(heading)}\n\n{text}" for heading, text in overview.made.items()),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _undecided(claims: pd.DataFrame) -> list[str]:
    undecided = claims[claims["verdict"] == UNDECIDED]
    if undecided.empty:
        return []
    rows = [[str(row["study"]), shown_value(row["claim"]), escaped(outlook(row))] for row in undecided.to_dict("records")]
    names = ("study", "claim", "can more examples decide it?")
    return ["## Undecided: would more examples help?", _SHRINKS, table(names, rows)]


def _not_tested(claims: pd.DataFrame) -> list[str]:
    without = claims[claims["verdict"] == NOT_TESTED]
    if without.empty:
        return []
    rows = [[str(row["study"]), shown_value(row["claim"]), shown_value(row["ours"])] for row in without.to_dict("records")]
    return ["## Not tested, and why", table(("study", "claim", "this run"), rows)]


def _absent(overview: Overview) -> list[str]:
    parts = ["## What is absent, and why"]
    if overview.skipped:
        parts += ["Tables and figures that this run does not have:", _reasons(overview.skipped)]
    else:
        parts.append("The run has every table and figure of its studies.")
    if overview.not_named:
        rows = [[f"`{study}`", f"`{role}`", use.replace("|", "\\|")] for study, role, use in overview.not_named]
        parts += ["Corpora that the run does not name, and what they would be for:", table(("study", "role", "use"), rows)]
    if overview.lacking:
        rows = [[escaped(what), escaped(artifacts)] for what, artifacts in overview.lacking.items()]
        parts += ["Missing, and what is built without it:", table(("missing", "built without it"), rows)]
    if not overview.dropped.empty:
        parts += ["Dropped from the corpora:", frame_table(overview.dropped)]
    return parts


def _reasons(reasons: Mapping[str, str]) -> str:
    rows: Iterable[Sequence[str]] = ([escaped(name), escaped(reason)] for name, reason in reasons.items())
    return table(("artefact", "reason"), rows)
