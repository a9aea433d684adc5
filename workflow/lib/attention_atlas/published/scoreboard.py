"""The scoreboard: every published value of all studies beside ours, a summary by study, and all claims."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.published.compare import COLUMNS
from attention_atlas.published.pages import DOES_NOT_HOLD, HOLDS

VERDICTS = ("match", "differs", "holds", "does not hold", "not comparable", "not computed")
SUMMARY = ["study", "values", *(name.replace(" ", "_") for name in VERDICTS), "claims", "claims_hold"]
CLAIMS = ["study", "claim", "ours", "verdict"]


_GENERATED = (
    "Generated text and a small model: hardly any number is the papers' quantity, so that almost all are marked as not "
    "comparable; what is judged are settings, recomputed values, and claims that can be tested on any model."
)
_REAL = "A number is compared only with the same model on the same data."


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
    """Write the tables of all studies as one, and their summary.

    Args:
        comparisons: study -> its comparison.tsv.
        claims: study -> its claims.tsv, for those that have one.
        run: title of the run.
        generated: whether its corpora are generated text.
        out, html_out: values of all studies.
        summary_out, summary_html: counts of verdicts by study.
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
    formats = dict.fromkeys(("ci_low", "ci_high"), ".4g") | {"n": "d"}
    write_html_table(values, html_out, "Published values of all studies and this run", lines, formats=formats)
    write_table(summary, summary_out)
    verdict_note = (
        "match: the published value within tolerance, or within our interval; differs: neither; holds: a claim that can be put "
        "to any model; not comparable: another model or corpus than the paper's, with the reason in comparison.tsv; not "
        "computed: nothing in this run measures it."
    )
    counts = dict.fromkeys(SUMMARY[1:], "d")
    write_html_table(summary, summary_html, "Scoreboard", [*lines, verdict_note], formats=counts)
    write_table(all_claims, claims_out)
    write_html_table(all_claims, claims_html, "Claims of all studies and this run", lines)


def summary_rows(values: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """A row for each study, and one for all: number of values with each verdict, and of claims that hold; columns `SUMMARY`."""
    rows = []
    for study in [*dict.fromkeys(values["study"]), "all"]:
        study_values = values if study == "all" else values[values["study"] == study]
        study_claims = claims if study == "all" else claims[claims["study"] == study]
        counts = [int((study_values["verdict"] == name).sum()) for name in VERDICTS]
        decided = study_claims[study_claims["verdict"].isin((HOLDS, DOES_NOT_HOLD))]
        rows.append([study, len(study_values), *counts, len(decided), int((decided["verdict"] == HOLDS).sum())])
    return pd.DataFrame(rows, columns=SUMMARY)
