"""The scoreboard: every published value of all studies beside ours, a summary by study with reasons, and all claims."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import Layout, write_html_table
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.published.claim_counts import CLAIM_COUNTS
from attention_atlas.published.claims import CLAIM_COLUMNS
from attention_atlas.published.compare import (
    ANOTHER_RUN,
    COLUMNS,
    DOES_NOT_HOLD,
    HOLDS,
    NEVER,
    NOT_TESTED,
    SCOPES,
    UNDECIDED,
    VERDICTS,
)
from attention_atlas.published.pages import verdict_counts, write_claim_page, write_value_page


def _name(words: str) -> str:
    return words.replace(" ", "_")


VERDICT_COLUMNS = {verdict: _name(verdict) for verdict in VERDICTS}
SCOPE_COLUMNS = {scope: f"scope_{_name(scope)}" for scope in SCOPES}
CLAIM_VERDICTS = dict(zip((HOLDS, DOES_NOT_HOLD, UNDECIDED, NOT_TESTED), CLAIM_COUNTS, strict=True))
SUMMARY = [
    *("study", "values"),
    *VERDICT_COLUMNS.values(),
    *SCOPE_COLUMNS.values(),
    *("why_never", "why_not_in_this_run"),
    *("claims", *CLAIM_VERDICTS.values()),
]
CLAIMS = ["study", *CLAIM_COLUMNS]

_GENERATED = (
    "The corpora are generated and the model is small, so no number measures what the papers measured. Only claims "
    "that can be tested on any model have a verdict."
)
_REAL = (
    "A number is compared only with that of the same model on the same data; the claims of the papers are tested on any model."
)


def write_scoreboard(
    comparisons: Mapping[str, str | Path],
    claims: Mapping[str, str | Path],
    run: str,
    generated: bool,
    out: str | Path,
    html_out: str | Path,
    summary_out: str | Path,
    summary_html: str | Path,
    claims_out: str | Path,
    claims_html: str | Path,
) -> None:
    """Write the comparisons and claims of all studies as one table each, and their summary.

    Args:
        comparisons: study -> its comparison.tsv.
        claims: study -> its claims.tsv, for those that have one.
        run: title of the run.
        generated: whether its corpora are generated text.
        out, html_out: values of all studies.
        summary_out, summary_html: counts of verdicts and scopes by study, with the reasons why values cannot be compared.
        claims_out, claims_html: claims of all studies.

    Raises:
        AtlasError: a table cannot be used.
    """
    value_frames = [read_table(path, list(COLUMNS)).assign(study=study) for study, path in comparisons.items()]
    values = pd.concat(value_frames, ignore_index=True)[["study", *COLUMNS]]
    claim_frames = [read_table(path, CLAIMS[1:]).assign(study=study)[CLAIMS] for study, path in claims.items()]
    all_claims = pd.concat(claim_frames, ignore_index=True) if claim_frames else pd.DataFrame(columns=CLAIMS)
    summary = summary_rows(values, all_claims)
    lines = [f"{run}. {_GENERATED if generated else _REAL}"]
    write_table(values, out)
    write_value_page(values, html_out, "Published values of all studies and this run", [*lines, verdict_counts(values)])
    write_table(summary, summary_out)
    notes = [
        *lines,
        "Each value has one verdict. " + _glossary(VERDICTS),
        "Each value has one scope: whether this run could match it. " + _glossary(SCOPES),
        "A claim of claims.tsv that is also a published value is counted in both.",
    ]
    texts = ("study", "why_never", "why_not_in_this_run")
    counts = dict.fromkeys((name for name in SUMMARY if name not in texts), "d")
    layout = Layout(folded=texts[1:])
    write_html_table(summary, summary_html, "Scoreboard", notes, formats=counts, layout=layout)
    write_table(all_claims, claims_out)
    write_claim_page(all_claims, claims_html, "Claims of all studies and this run", lines)


def summary_rows(values: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """One row for each study, and one for all of them; columns `SUMMARY`.

    The numbers of values with each verdict add up to all values, and so do those with each scope.
    """
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
