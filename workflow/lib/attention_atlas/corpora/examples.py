"""Examples: model inputs with their gold layers, one Parquet file per shard; records that were dropped, with the reasons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attention_atlas.corpora.layers import EdgeTarget, Keyphrase, QuestionAnnotation
from attention_atlas.corpora.mentions import HEAD_RULES, Mention
from attention_atlas.corpora.records import RECORD
from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.files import whole_file
from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.io.tables import read_table

# Gold layers over words: one value per word. Studies add the layers that they need here.
WORD_LAYERS: dict[str, pa.DataType] = {
    "heads": pa.int32(),
    "relations": pa.string(),
    "lemmas": pa.string(),
    "upos": pa.string(),
    "xpos": pa.string(),
    "sentence": pa.int32(),
    "tags": pa.string(),
}
_INTEGERS, _STRINGS = pa.list_(pa.int32()), pa.list_(pa.string())
_MENTION = pa.struct(
    [
        *((name, pa.int32()) for name in ("start", "stop")),
        ("cluster", pa.string()),
        *((name, pa.bool_()) for name in ("first", "singleton")),
        *((f"head_{rule}", pa.int32()) for rule in HEAD_RULES),
        ("role", pa.string()),
        ("entity", pa.string()),
    ]
)
_QUESTION = pa.struct(
    [
        *((name, pa.string()) for name in ("question", "context")),
        ("size", pa.int32()),
        *((name, _INTEGERS) for name in ("starts", "stops")),
        ("answers", _STRINGS),
        ("span", _INTEGERS),
    ]
)
_EDGE = pa.struct([("task", pa.string()), ("span1", _INTEGERS), ("span2", _INTEGERS), ("labels", _STRINGS)])
_KEYPHRASE = pa.struct([("text", pa.string()), ("present", pa.bool_())])
SCHEMA = pa.schema(
    [
        ("record", pa.int64()),
        ("id", pa.string()),
        ("document", pa.string()),
        ("input_ids", _INTEGERS),
        ("segment_ids", pa.list_(pa.int8())),
        ("tokens", _STRINGS),
        ("word", _INTEGERS),
        ("words", _STRINGS),
        *((name, pa.list_(kind)) for name, kind in WORD_LAYERS.items()),
        ("mentions", pa.list_(_MENTION)),
        ("question", _QUESTION),
        ("label", pa.string()),
        ("edges", pa.list_(_EDGE)),
        ("keyphrases", pa.list_(_KEYPHRASE)),
        ("texts", _STRINGS),
    ]
)


@dataclass(frozen=True)
class Example:
    """One model input with its words and gold layers."""

    record: int  # position in the corpus, counted from 0 over all records, dropped ones included
    id: str
    input_ids: tuple[int, ...]  # input_ids, segment_ids, tokens: n tokens, including special tokens
    segment_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    word: tuple[int, ...]  # for each token the position of its word, -1 for a special token
    words: tuple[str, ...]
    # gold layers by name, each with m values (`heads`: 1-indexed, 0 = ROOT, -1 = unknown); without absent ones
    layers: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    mentions: tuple[Mention, ...] | None = None  # spans of words that refer; None if the corpus has no such layer
    question: QuestionAnnotation | None = None  # question on a passage, with its answers; None without a question
    label: str | None = None  # class, a number as text, or the translation of the text; None if the corpus has none
    # targets of edge probing, spans over `words`; None if the corpus has no such layer
    edges: tuple[EdgeTarget, ...] | None = None
    # gold phrases of a document, including those not in its text; None if the corpus has no such layer
    keyphrases: tuple[Keyphrase, ...] | None = None
    document: str | None = None  # the document, article or text that the example is taken from; None if unknown
    # the complete running texts of the words, even if the example is truncated; empty if a corpus has only words
    texts: tuple[str, ...] = ()


def question_of(example: Example) -> QuestionAnnotation:
    """The question of an example, with its answers."""
    if example.question is None:
        raise AtlasError(f"example {example.id} has no question: use a corpus with reader squad.")
    return example.question


def write_examples(path: str | Path, examples: Sequence[Example]) -> None:
    """Write examples as Parquet, atomically."""
    columns: dict[str, list[Any]] = {
        name: [getattr(example, name) if name not in WORD_LAYERS else example.layers.get(name) for example in examples]
        for name in SCHEMA.names
    }
    columns["question"] = [None if e.question is None else asdict(e.question) for e in examples]
    for name, to_row in _TO_ROWS.items():
        columns[name] = [None if items is None else [to_row(item) for item in items] for items in columns[name]]
    with whole_file(path) as part:
        pq.write_table(pa.table(columns, schema=SCHEMA), part)


def read_examples(paths: Iterable[str | Path], limit: int | None = None) -> Iterator[Example]:
    """Yield the examples of shard files in order, up to record `limit` (exclusive)."""
    for path in paths:
        try:
            # Compare the schema too: with a schema, the reader fills missing columns with nulls.
            table = pq.read_table(path).cast(SCHEMA)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DamagedFile(path, f"not a readable table of examples ({error})") from error
        for row in table.to_pylist():
            if limit is not None and row["record"] >= limit:
                return
            for name, from_row in _FROM_ROWS.items():
                row[name] = None if row[name] is None else [from_row(item) for item in row[name]]
            gold = _with_tuples(row)
            layers = {name: gold.pop(name) for name in WORD_LAYERS}
            gold["layers"] = {name: values for name, values in layers.items() if values is not None}
            gold["question"] = None if row["question"] is None else QuestionAnnotation(**_with_tuples(row["question"]))
            yield Example(**gold | {"texts": gold["texts"] or ()})


def all_examples(paths: Iterable[str | Path], limit: int | None = None) -> list[Example]:
    """The same as a list."""
    return list(read_examples(paths, limit))


Examples = Annotated[Sequence[Example], all_examples]  # examples, as a parameter of a function that a job calls


class Corpus(NamedTuple):
    """Examples by shard, and the number of records that are used; batches of a shard do not depend on it."""

    shards: Sequence[Sequence[Example]]
    limit: int

    @property
    def examples(self) -> list[Example]:
        """The examples that are used, in order."""
        return [example for shard in self.shards for example in shard if example.record < self.limit]


def read_corpus(files: tuple[Sequence[str | Path], int]) -> Corpus:
    """A corpus from its shards and the number of records; errors as for `read_examples`."""
    return Corpus([all_examples([path]) for path in files[0]], files[1])


def _with_tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


def _mention_row(mention: Mention) -> dict[str, Any]:
    plain = {name: getattr(mention, name) for name in ("start", "stop", "cluster", "first", "singleton", "role", "entity")}
    return plain | {f"head_{rule}": mention.heads.get(rule) for rule in HEAD_RULES}


def _mention(row: Mapping[str, Any]) -> Mention:
    heads = {rule: row[f"head_{rule}"] for rule in HEAD_RULES if row[f"head_{rule}"] is not None}
    return Mention(row["start"], row["stop"], row["cluster"], row["first"], row["singleton"], heads, row["role"], row["entity"])


_TO_ROWS: dict[str, Callable[[Any], dict[str, Any]]] = {"mentions": _mention_row, "edges": asdict, "keyphrases": asdict}
"""Gold layer of several items -> function that converts an item to a row."""
_FROM_ROWS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "mentions": _mention,
    "edges": lambda row: EdgeTarget(**_with_tuples(row)),
    "keyphrases": lambda row: Keyphrase(**row),
}
"""The reverse."""


CorpusRecords = tuple[pd.DataFrame, pd.DataFrame, int]
"""Records of a corpus: those kept (record, question), those dropped (record, unit, reason, n), and its limit."""


def read_records(files: tuple[Sequence[str | Path], Sequence[str | Path], int]) -> CorpusRecords:
    """The records of a corpus from its example files and its tables of dropped records; with its limit."""
    example_files, dropped_files, limit = files
    kept = [pd.DataFrame(columns=["record", "question"])]
    for path in example_files:
        examples = pq.read_table(path, columns=["record", "question"])
        question = pc.struct_field(examples["question"], "question")
        kept.append(pd.DataFrame({"record": examples["record"].to_numpy(), "question": question.to_pandas()}))
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
    rows: list[dict[str, Any]] = []
    for corpus, (examples, dropped, limit) in corpora.items():
        kept = examples[examples["record"] < limit]
        questions = int(kept["question"].nunique())
        counted = "window" if questions else RECORD
        # Text lost after the last record has that record's number, which is below the limit if the corpus ends first.
        dropped = dropped[dropped["record"] < limit]
        reasons = dropped.groupby(["unit", "reason"])["n"].sum()
        outcomes = {(RECORD, "kept"): len(kept), **{key: int(n) for key, n in reasons.items()}}
        total = sum(n for (unit, _), n in outcomes.items() if unit == RECORD)
        for (unit, outcome), n in sorted(outcomes.items(), key=lambda item: item[0][0] != RECORD):
            unit, share = (counted, n / total) if unit == RECORD else (unit, math.nan)
            rows.append({"corpus": corpus, "outcome": outcome, "unit": unit, "n": n, "share": share})
        if questions:
            rows.append({"corpus": corpus, "outcome": "kept", "unit": "question", "n": questions})
        if scored and corpus in scored:
            number, reason = scored[corpus]
            n = len(kept) - number
            outcome = f"kept, but not scored: {reason}"
            rows.append({"corpus": corpus, "outcome": outcome, "unit": counted, "n": n, "share": n / total})
        if total < limit:
            outcome = f"absent: the corpus has fewer {counted}s than its limit of {limit}"
            rows.append({"corpus": corpus, "outcome": outcome, "unit": counted, "n": limit - total})
    notes = [
        "Records of each corpus up to its limit: those kept, and those dropped, by reason. Shares are of the records; text "
        "that became no record is counted in its own unit, without a share. In a corpus of questions a record is a window: a "
        "question on a long passage has several."
    ]
    return Table(pd.DataFrame(rows), notes, formats={"n": "d", "share": ".2%"}, layout=Layout("corpus"))
