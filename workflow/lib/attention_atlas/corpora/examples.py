"""Examples: model inputs with their gold layers, made of the records of a corpus, one Parquet file per shard."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.layers import HEAD_RULES, EdgeTarget, Keyphrase, Mention, QuestionAnnotation
from attention_atlas.corpora.records import RECORD, Dropped, raw_records, reader_function, sampled
from attention_atlas.errors import AtlasError, DamagedFile
from attention_atlas.io.files import whole_file
from attention_atlas.io.tables import write_table

_log = logging.getLogger(__name__)
_DROPPED_COLUMNS = ["record", "id", "reason", "detail", "unit", "n"]
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
    edges: tuple[EdgeTarget, ...] | None = None  # targets of edge probing, over `words`; None without such a layer
    keyphrases: tuple[Keyphrase, ...] | None = None  # those in the text of a document or not; None without such a layer
    document: str | None = None  # the document, article or text that the example is taken from; None if unknown
    texts: tuple[str, ...] = ()  # the running texts, even if the example is truncated; empty if a corpus has only words


def question_of(example: Example) -> QuestionAnnotation:
    if example.question is None:
        raise AtlasError(f"example {example.id} has no question: use a corpus with reader squad.")
    return example.question


def write_examples(path: str | Path, examples: Sequence[Example]) -> None:
    rows = [asdict(example) | dict(example.layers) for example in examples]
    for row in rows:
        for mention in row["mentions"] or ():
            mention |= {f"head_{rule}": head for rule, head in mention["heads"].items()}
    with whole_file(path) as part:
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), part, write_page_checksum=True)


def read_examples(paths: Iterable[str | Path], limit: int | None = None) -> Iterator[Example]:
    """Yield the examples of shard files in order, up to record `limit` (exclusive)."""
    for path in paths:
        try:
            # Compare the schema too: with a schema, the reader fills missing columns with nulls.
            table = pq.read_table(path, page_checksum_verification=True).cast(SCHEMA)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DamagedFile(path, f"not a readable table of examples ({error})") from error
        for row in table.to_pylist():
            if limit is not None and row["record"] >= limit:
                return
            fields = _with_tuples(row)
            for name, of_row in _LISTS.items():
                if fields[name] is not None:
                    fields[name] = tuple(of_row(**_with_tuples(item)) for item in fields[name])
            fields["layers"] = {name: layer for name in WORD_LAYERS if (layer := fields.pop(name)) is not None}
            if fields["question"] is not None:
                fields["question"] = QuestionAnnotation(**_with_tuples(fields["question"]))
            yield Example(**fields)


def all_examples(paths: Iterable[str | Path], limit: int | None = None) -> list[Example]:
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


def _mention(**row: Any) -> Mention:
    heads = {rule: head for rule in HEAD_RULES if (head := row.pop(f"head_{rule}")) is not None}
    return Mention(**row, heads=heads)


# Gold layer of several items -> what makes an item of a row.
_LISTS: dict[str, Callable[..., Any]] = {"mentions": _mention, "edges": EdgeTarget, "keyphrases": Keyphrase}


@dataclass(frozen=True)
class ExampleBuilder:
    """What readers make examples with: a corpus, see `build_shard`, and a tokenizer; `bound`: longest input in tokens."""

    entry: Mapping[str, Any]
    raw: str | Path
    pieces: WordPieces
    bound: int
    companion: str | Path | None = None

    def all_records(self) -> Iterable[Any]:
        return raw_records(self.entry, self.raw, self.companion)

    def records(self, start: int, stop: int) -> Iterator[Any]:
        """Records start .. stop - 1 of the corpus, counted in its order after the skipped records."""
        skip = self.entry["skip"]
        order = self.entry["order"], self.entry["seed"]
        return (record for _, record in sampled(self.all_records, *order, skip + start, skip + stop))

    def example(self, name: str, words: Sequence[str], spaces: Sequence[bool] = (), **gold: Any) -> Example | Dropped:
        """An example with one text, of words and the spaces before them (by rule if empty); `gold`: fields of `Example`."""
        spelled = self.pieces.pieces(words, spaces)
        if empty := [word for word, ids in zip(words, spelled, strict=True) if not ids]:
            return Dropped(name, "word without tokens", repr(empty[0]))
        example = self.assembled(name, [spelled], words, **gold)
        if len(example.input_ids) > self.bound:
            return Dropped(name, "too long", f"{len(example.input_ids)} tokens, {self.bound} allowed")
        return example

    def assembled(self, name: str, spelled: Sequence[Sequence[tuple[int, ...]]], words: Sequence[str], **gold: Any) -> Example:
        """An example of one or two texts, each the word pieces of its words, and of the words of both."""
        return Example(0, name, *self.pieces.assemble(spelled), tuple(words), **gold)


def build_shard(
    entry: Mapping[str, Any],
    raw: str | Path,
    tokenizer: str | Path,
    max_tokens: int,
    start: int,
    out: str | Path,
    dropped_out: str | Path,
    companion: str | Path | None = None,
) -> None:
    """Write the examples of records start .. start + shard - 1 of a corpus, and the table of dropped records."""
    pieces: Any = None if entry["reader"] == "released_maps" else WordPieces(tokenizer)
    builder = ExampleBuilder(entry, raw, pieces, min(entry["max_tokens"], max_tokens), companion)
    stop, record = start + entry["shard"], start
    examples: list[Example] = []
    dropped: list[Dropped] = []
    for item in reader_function(entry["reader"], "examples")(builder, start, stop):
        numbered = replace(item, record=record)
        (examples if isinstance(item, Example) else dropped).append(numbered)
        record += isinstance(item, Example) or item.unit == RECORD
    if not examples and start == 0:
        reasons = "; ".join(_reasons(dropped)) or "it has no records"
        raise AtlasError(f"{raw}: no usable example among the first {entry['shard']} records ({reasons}).")
    counts = len(examples), record - start - len(examples)
    _log.info("%s: records %d to %d: %d examples, %d dropped", raw, start, stop - 1, *counts)
    for reason in _reasons(dropped):
        _log.warning("%s: dropped %s", raw, reason)
    write_examples(out, examples)
    write_table(pd.DataFrame([asdict(item) for item in dropped], columns=_DROPPED_COLUMNS), dropped_out)


def _reasons(dropped: Iterable[Dropped]) -> list[str]:
    """How many of what were dropped for each reason, as "2 sentences: too long"."""
    counts: Counter[tuple[str, str]] = Counter()
    for item in dropped:
        counts[item.unit, item.reason] += item.n
    return [f"{count} {unit}{'' if count == 1 else 's'}: {reason}" for (unit, reason), count in counts.items()]
