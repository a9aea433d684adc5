"""Records that were dropped from the corpora of a study, and text that yielded no record, with the reasons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attention_atlas.corpora.examples import RECORD
from attention_atlas.io.html_tables import Layout, write_html_table
from attention_atlas.io.tables import read_table, write_table

WINDOW = "window"
"""The unit of a record in a corpus of questions: a stretch of the passage, with the question."""


def dropped_table(
    corpora: Mapping[str, tuple[Sequence[str | Path], Sequence[str | Path], int]],
    line: str,
    title: str,
    out: str | Path,
    html_out: str | Path,
    scored_path: str | Path | None = None,
    scored_corpus: str = "",
    scored_reason: str = "",
) -> None:
    """Write corpus, outcome (kept, or the reason of dropping), unit, n and share for every corpus of a study.

    Shares are relative to the records, which are windows in a corpus of questions: the kept questions have a further row,
    without a share. Text from which segments yield no record is counted in its own unit, without a share.

    Args:
        corpora: corpus -> its example files, its tables of dropped records, and its limit.
        line: run, model and corpus, above the table.
        title: heading of the page.
        out, html_out: files to write.
        scored_path: a table with the column n, the number of records of one corpus that were scored, at its largest over the
            rows; None where all kept records are.
        scored_corpus: that corpus.
        scored_reason: why the others were not scored.
    """
    rows = []
    for corpus, (example_files, dropped_files, limit) in corpora.items():
        records, questions = _records(example_files, limit)
        counted = WINDOW if questions else RECORD
        reasons: Counter[tuple[str, str]] = Counter()
        for path in dropped_files:
            for row in read_table(path).itertuples():
                # Text lost after the last record has that record's number, which is below the limit if the corpus ends first.
                if int(row.record) < limit:
                    reasons[str(row.unit), str(row.reason)] += int(row.n)
        outcomes = {(RECORD, "kept"): records, **dict(sorted(reasons.items()))}
        total = sum(n for (unit, _), n in outcomes.items() if unit == RECORD)
        for (unit, outcome), n in sorted(outcomes.items(), key=lambda item: item[0][0] != RECORD):
            share = n / total if unit == RECORD else math.nan
            rows.append(
                {"corpus": corpus, "outcome": outcome, "unit": counted if unit == RECORD else unit, "n": n, "share": share}
            )
        if questions:
            rows.append({"corpus": corpus, "outcome": "kept", "unit": "question", "n": questions})
        if scored_path is not None and corpus == scored_corpus:
            n = outcomes[RECORD, "kept"] - int(read_table(scored_path, ["n"])["n"].max())
            outcome = f"kept, but not scored: {scored_reason}"
            rows.append({"corpus": corpus, "outcome": outcome, "unit": counted, "n": n, "share": n / total})
        if total < limit:
            outcome = f"absent: the corpus has fewer {counted}s than its limit of {limit}"
            rows.append({"corpus": corpus, "outcome": outcome, "unit": counted, "n": limit - total})
    table = pd.DataFrame(rows)
    write_table(table, out)
    notes = [
        line,
        "Records of each corpus up to its limit: those kept, and those dropped, by reason. Shares are of the records; text "
        "that became no record is counted in its own unit, without a share. In a corpus of questions a record is a window: a "
        "question on a long passage has several.",
    ]
    write_html_table(table, html_out, title, notes, formats={"n": "d", "share": ".2%"}, layout=Layout("corpus"))


def _records(example_files: Sequence[str | Path], limit: int) -> tuple[int, int]:
    """Number of kept records up to the limit, and of their questions: 0 in a corpus without questions."""
    frames = []
    for path in example_files:
        examples = pq.read_table(path, columns=["record", "question"])
        question = pc.struct_field(examples["question"], "question")
        frames.append(pd.DataFrame({"record": examples["record"].to_numpy(), "question": question.to_pandas()}))
    kept = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["record", "question"])
    kept = kept[kept["record"] < limit]
    return len(kept), int(kept["question"].nunique())
