"""Records that were dropped from the corpora of a study, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.tables import read_table, write_table


def dropped_table(
    corpora: Mapping[str, tuple[Sequence[str | Path], Sequence[str | Path], int]],
    line: str,
    title: str,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write corpus, outcome (kept, or the reason of dropping), n and share for every corpus of a study.

    Args:
        corpora: corpus -> its example files, its tables of dropped records, and its limit.
        line: run, model and corpus, above the table.
        title: heading of the page.
        out, html_out: files to write.
    """
    rows = []
    for corpus, (example_files, dropped_files, limit) in corpora.items():
        records = [record for path in example_files for record in pq.read_table(path, columns=["record"])["record"].to_pylist()]
        reasons = Counter(
            str(row.reason) for path in dropped_files for row in read_table(path).itertuples() if int(row.record) < limit
        )
        outcomes = {"kept": sum(record < limit for record in records), **dict(sorted(reasons.items()))}
        total = sum(outcomes.values())
        rows += [{"corpus": corpus, "outcome": name, "n": n, "share": n / total} for name, n in outcomes.items()]
        if total < limit:
            rows.append(
                {"corpus": corpus, "outcome": f"not there: the corpus ends before its limit of {limit}", "n": limit - total}
            )
    table = pd.DataFrame(rows)
    write_table(table, out)
    write_html_table(table, html_out, title, [line], formats={"n": "d", "share": ".2%"})
