"""Records that were dropped from the corpora of a study, and text that yielded no record, with the reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd

from attention_atlas.corpora.records import RECORD
from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.io.tables import read_parquet, read_table

CorpusRecords = tuple[pd.DataFrame, pd.DataFrame, int]
"""Records of a corpus: those kept (record, question), those dropped (record, unit, reason, n), and its limit."""


def read_records(files: tuple[Sequence[str | Path], Sequence[str | Path], int]) -> CorpusRecords:
    """The records of a corpus from its example files and its tables of dropped records; with its limit."""
    example_files, dropped_files, limit = files
    kept = [pd.DataFrame(columns=["record", "question"])]
    for path in example_files:
        examples = read_parquet(path, ["record", "question"])
        kept.append(examples.assign(question=[question and question["question"] for question in examples["question"]]))
    columns = ["record", "unit", "reason", "n"]
    dropped = [pd.DataFrame(columns=columns), *(read_table(path, columns)[columns] for path in dropped_files)]
    joined = [pd.concat([*filter(len, frames)] or frames[:1]) for frames in (kept, dropped)]
    return joined[0], joined[1], limit


RecordsByCorpus = Mapping[str, Annotated[CorpusRecords, read_records]]
"""Corpus -> its records, as a parameter of a function that a job calls."""


def dropped_records(corpora: RecordsByCorpus, scored: Mapping[str, tuple[int, str]] | None = None) -> Table:
    """corpus, outcome (kept, or the reason of dropping), unit, n and share (of the records) for every corpus of a study.

    scored: corpus -> number of its records that were scored, and why the others were not; default: all kept records.
    """
    rows: list[tuple[Any, ...]] = []
    for corpus, (examples, dropped, limit) in corpora.items():
        kept = examples[examples["record"] < limit]
        questions = int(kept["question"].nunique())
        counted = "window" if questions else RECORD
        # Text lost after the last record has that record's number, which is below the limit if the corpus ends first.
        dropped = dropped[dropped["record"] < limit]
        reasons = [(unit, reason, int(n)) for (unit, reason), n in dropped.groupby(["unit", "reason"])["n"].sum().items()]
        records = [("kept", len(kept)), *((reason, n) for unit, reason, n in reasons if unit == RECORD)]
        total = sum(n for _, n in records)
        counts = [(outcome, counted, n, n / total) for outcome, n in records]
        counts += [(reason, unit, n, math.nan) for unit, reason, n in reasons if unit != RECORD]
        if questions:
            counts.append(("kept", "question", questions, math.nan))
        if scored and corpus in scored:
            number, reason = scored[corpus]
            n = len(kept) - number
            counts.append((f"kept, but not scored: {reason}", counted, n, n / total))
        if total < limit:
            outcome = f"absent: the corpus has fewer {counted}s than its limit of {limit}"
            counts.append((outcome, counted, limit - total, math.nan))
        rows += [(corpus, *count) for count in counts]
    note = (
        "Shares are of the records up to the limit; text that became no record is counted in its own unit. In a corpus of "
        "questions a record is a window: a question on a long passage has several."
    )
    table = pd.DataFrame(rows, columns=["corpus", "outcome", "unit", "n", "share"])
    return Table(table, [note], formats={"n": "d", "share": ".2%"}, layout=Layout("corpus"))
