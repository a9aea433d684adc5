"""The scoreboard of a run as Markdown: verdicts by study, and every claim with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from attention_atlas.io.markdown import table
from attention_atlas.published.pages import VERDICT_NOTE
from attention_atlas.published.scoreboard import CLAIM_VERDICTS, SCOPE_COLUMNS, VERDICT_COLUMNS


def results_page(title: str, made_by: str, summary: pd.DataFrame, claims: pd.DataFrame) -> str:
    """Markdown of the results of a run.

    Args:
        title: of the run.
        made_by: the code that made the results.
        summary: columns `scoreboard.SUMMARY`.
        claims: columns `scoreboard.CLAIMS`.
    """
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
    value, low, high, number = (row[name] for name in ("value", "ci_low", "ci_high", "n"))
    interval = "" if pd.isna(low) else f"{low:.3g} to {high:.3g} ({100 * row['level']:.3g} %)"
    units = "" if pd.isna(number) else f"{int(number)} {row['unit']}"
    texts = [row[name] for name in ("study", "claim", "verdict", "statistic")]
    filled = ["" if pd.isna(text) else str(text) for text in texts]
    return [*filled, "" if pd.isna(value) else f"{value:.3g}", interval, units]


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return table(names, ([cell.replace("|", "\\|") for cell in row] for row in rows))
