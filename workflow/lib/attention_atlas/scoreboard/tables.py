"""The scoreboard: every published value of all studies beside ours, a summary by study with reasons, and all claims."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.io.tables import markdown_table, with_columns
from attention_atlas.published.compare import (
    ANOTHER_RUN,
    CLAIM_COLUMNS,
    COLUMNS,
    DOES_NOT_HOLD,
    HOLDS,
    NEVER,
    NOT_TESTED,
    SCOPES,
    UNDECIDED,
    VERDICTS,
)
from attention_atlas.published.pages import VERDICT_NOTE, claim_table, value_table, verdict_counts
from attention_atlas.workflow.shown import table

VERDICT_COLUMNS = {verdict: verdict.replace(" ", "_") for verdict in VERDICTS}
SCOPE_COLUMNS = {scope: f"scope_{scope.replace(' ', '_')}" for scope in SCOPES}
CLAIM_VERDICTS = {
    HOLDS: "claims_hold",
    DOES_NOT_HOLD: "claims_do_not_hold",
    UNDECIDED: "claims_undecided",
    NOT_TESTED: "claims_not_tested",
}
SUMMARY = [
    *("study", "values"),
    *VERDICT_COLUMNS.values(),
    *SCOPE_COLUMNS.values(),
    *("why_never", "why_not_in_this_run"),
    *("claims", *CLAIM_VERDICTS.values()),
]
CLAIMS = ["study", *CLAIM_COLUMNS]


@table(
    id="scoreboard",
    number="Summary",
    title="Verdicts by study",
    reads=("comparison", "claims"),
    settings=("generated",),
    files=("comparison.tsv", "comparison.html", "claims.tsv", "claims.html"),
)
def scoreboard(comparison: pd.DataFrame, claims: pd.DataFrame, generated: bool) -> Table:
    """How many published values of each study match, differ, or are not comparable, with the reasons, and how many claims hold.
    comparison.tsv has every published value beside this run's, claims.tsv every claim.
    """
    notes = [
        _compared(generated),
        "Each value has one verdict. " + _glossary(VERDICTS),
        "Each value has one scope: whether this run could match it. " + _glossary(SCOPES),
        "A claim of claims.tsv that is also a published value is counted in both.",
    ]
    texts = ("study", "why_never", "why_not_in_this_run")
    counts = dict.fromkeys((name for name in SUMMARY if name not in texts), "d")
    return Table(summary_rows(comparison, claims), notes, formats=counts, layout=Layout(folded=texts[1:]))


@table(
    id="comparison",
    title="Published values of all studies and this run",
    part_of="scoreboard",
    gathers=("comparisons",),
    settings=("generated",),
)
def comparison(comparisons: Mapping[str, pd.DataFrame], generated: bool) -> Table:
    """Every published value of all studies beside this run's."""
    frame = _joint(comparisons, list(COLUMNS))
    return value_table(frame, [_compared(generated), verdict_counts(frame)])


@table(
    id="claims",
    title="Claims of all studies and this run",
    part_of="scoreboard",
    gathers=("claims_of",),
    settings=("generated",),
)
def claims(claims_of: Mapping[str, pd.DataFrame], generated: bool) -> Table:
    """Every claim of all studies, tested on this run."""
    page = claim_table(_joint(claims_of, CLAIMS[1:]))
    return replace(page, notes=[_compared(generated), *page.notes])


def _joint(frames: Mapping[str, pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """The tables of all studies, with a column study."""
    parts = [with_columns(frame, columns, study).assign(study=study) for study, frame in frames.items()]
    return pd.concat(parts or [pd.DataFrame(columns=["study", *columns])], ignore_index=True)[["study", *columns]]


def _compared(generated: bool) -> str:
    if not generated:
        same = "A number is compared only with that of the same model on the same data"
        return f"{same}; the claims of the papers are tested on any model."
    return (
        "The corpora are generated and the model is small, so no number measures what the papers measured. Only claims "
        "that can be tested on any model have a verdict."
    )


def summary_rows(values: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """One row for each study, and one for all of them; columns `SUMMARY`. Verdicts add up to all values, and so do scopes."""
    rows = []
    for study in [*dict.fromkeys(values["study"]), "all"]:
        study_values = values if study == "all" else values[values["study"] == study]
        study_claims = claims if study == "all" else claims[claims["study"] == study]
        verdicts = study_values["verdict"].value_counts()
        scopes = study_values["scope"].value_counts()
        decided = study_claims["verdict"].value_counts().reindex(list(CLAIM_VERDICTS), fill_value=0)
        rows.append(
            [
                *(study, len(study_values)),
                *(int(verdicts.get(verdict, 0)) for verdict in VERDICTS),
                *(int(scopes.get(scope, 0)) for scope in SCOPES),
                _reasons(study_values, NEVER),
                _reasons(study_values, ANOTHER_RUN),
                *(int(decided.sum()), *(int(count) for count in decided)),
            ]
        )
    return pd.DataFrame(rows, columns=SUMMARY)


def _reasons(values: pd.DataFrame, scope: str) -> str:
    """Obstacles to a comparison, most frequent first, with the number of values."""
    counts = values.loc[values["scope"] == scope, "obstacle"].value_counts()
    ordered = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return "; ".join(f"{reason} ({count})" for reason, count in ordered)


def _glossary(words: Mapping[str, str]) -> str:
    return "; ".join(f"{word}: {meaning}" for word, meaning in words.items()) + "."


# --- Markdown -----------------------------------------------------------------------------------------------------------


def results_page(title: str, made_by: str, summary: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Markdown of the results of a run: its title, the code that made it, columns `SUMMARY`, and columns `CLAIMS`."""
    parts = [
        f"# {title}",
        made_by,
        "## Published values by verdict",
        verdict_table(summary),
        "## Published values by scope: whether this run could match them",
        _count_table(summary, {column: scope for scope, column in SCOPE_COLUMNS.items()}),
        "## Claims",
        claim_counts(summary),
        VERDICT_NOTE,
        _table(("study", "claim", "verdict", "statistic", "value", "interval", "n"), map(_claim, claims.to_dict("records"))),
    ]
    return "\n\n".join(parts) + "\n"


def verdict_table(summary: pd.DataFrame) -> str:
    """Values of each study by verdict; verdicts without values are left out."""
    return _count_table(summary, {column: verdict for verdict, column in VERDICT_COLUMNS.items()})


def claim_counts(summary: pd.DataFrame) -> str:
    """Claims of each study by verdict."""
    columns = {column: verdict for verdict, column in CLAIM_VERDICTS.items()}
    return _count_table(summary, {"claims": "claims", **columns}, ())


def _count_table(summary: pd.DataFrame, columns: dict[str, str], before: Sequence[str] = ("values",)) -> str:
    total = summary.set_index("study").loc["all"]
    kept = {column: name for column, name in columns.items() if int(total[column]) > 0}
    names = ("study", *before, *kept.values())
    return _table(names, ([str(value) for value in row] for row in summary[["study", *before, *kept]].itertuples(index=False)))


def _claim(row: Mapping[Hashable, Any]) -> list[str]:
    low, high = row["ci_low"], row["ci_high"]
    interval = "" if pd.isna(low) else f"{low:.3g} to {high:.3g} ({100 * row['level']:.3g} %)"
    units = "" if pd.isna(row["n"]) else f"{int(row['n'])} {row['unit']}"
    texts = ["" if pd.isna(row[name]) else str(row[name]) for name in ("study", "claim", "verdict", "statistic")]
    return [*texts, "" if pd.isna(row["value"]) else f"{row['value']:.3g}", interval, units]


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown_table(names, ([cell.replace("|", "\\|") for cell in row] for row in rows))
