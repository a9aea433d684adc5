"""Examples: what a model is fed and the gold layers that belong to it, one Parquet file a shard."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from attention_atlas.corpora.alignment import Pieces, WordPieces
from attention_atlas.corpora.conllu import read_conllu
from attention_atlas.corpora.segments import RECIPES, Segment, Word
from attention_atlas.corpora.stanford import to_stanford
from attention_atlas.corpora.text import read_documents
from attention_atlas.corpora.trees import Tree
from attention_atlas.errors import AtlasError
from attention_atlas.files import whole_file
from attention_atlas.tables import write_table

_log = logging.getLogger(__name__)

# Gold layers over words: a value a word. Studies that need further layers add theirs here.
WORD_LAYERS: dict[str, pa.DataType] = {
    "heads": pa.int32(),
    "relations": pa.string(),
    "lemmas": pa.string(),
    "upos": pa.string(),
    "xpos": pa.string(),
}
SCHEMA = pa.schema(
    [
        ("record", pa.int64()),
        ("id", pa.string()),
        ("input_ids", pa.list_(pa.int32())),
        ("segment_ids", pa.list_(pa.int8())),
        ("tokens", pa.list_(pa.string())),
        ("word", pa.list_(pa.int32())),
        ("words", pa.list_(pa.string())),
        *((name, pa.list_(kind)) for name, kind in WORD_LAYERS.items()),
    ]
)


@dataclass(frozen=True)
class Example:
    """One model input with its words and gold layers.

    Attributes:
        record: position in the corpus, counted from 0 over all records, dropped ones included.
        id: name of the example in the corpus.
        input_ids, segment_ids, tokens: n word pieces, special tokens included.
        word: for each piece the position of its word, -1 for a special token.
        words: the m words.
        layers: gold layers by name, each with m values (`heads`: 1-indexed, 0 = ROOT); absent layers are left out.
    """

    record: int
    id: str
    input_ids: tuple[int, ...]
    segment_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    word: tuple[int, ...]
    words: tuple[str, ...]
    layers: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Dropped:
    """A record that became no example, and why."""

    record: int
    id: str
    reason: str
    detail: str = ""


def build_shard(
    entry: Mapping[str, Any],
    raw: str | Path,
    tokenizer: str | Path,
    max_tokens: int,
    start: int,
    out: str | Path,
    dropped_out: str | Path,
) -> None:
    """Write the examples of records start .. start + shard - 1 of a corpus, and the table of those dropped.

    Args:
        entry: registry entry of the corpus.
        raw: its file.
        tokenizer: the model's tokenizer.json.
        max_tokens: longest input of the model, in pieces; the corpus's own bound counts as well.
        start: first record.
        out: Parquet file to write (columns: `SCHEMA`).
        dropped_out: tab-separated table to write: record, id, reason, detail.

    Raises:
        AtlasError: bad input, or a corpus that gives no example in its first shard.
    """
    pieces = WordPieces(tokenizer)
    bound = min(entry["max_tokens"], max_tokens)
    stop = start + entry["shard"]
    examples: list[Example] = []
    dropped: list[Dropped] = []
    for item in _records(entry, raw, pieces, bound, start, stop):
        (examples if isinstance(item, Example) else dropped).append(item)
    if not examples and start == 0:
        reasons = "; ".join(f"{n} {reason}" for reason, n in Counter(d.reason for d in dropped).items()) or "it has no records"
        raise AtlasError(f"{raw}: no usable example among the first {entry['shard']} records ({reasons}).")
    _report(examples, dropped, start, stop, raw)
    write_examples(out, examples)
    columns = [name.name for name in fields(Dropped)]
    write_table(pd.DataFrame([astuple(record) for record in dropped], columns=columns), dropped_out)


def write_examples(path: str | Path, examples: Sequence[Example]) -> None:
    """Write examples as Parquet, whole or not at all."""
    columns = {
        name: [getattr(example, name) if name not in WORD_LAYERS else example.layers.get(name) for example in examples]
        for name in SCHEMA.names
    }
    with whole_file(path) as part:
        pq.write_table(pa.table(columns, schema=SCHEMA), part)


def read_examples(paths: Iterable[str | Path], limit: int | None = None) -> Iterator[Example]:
    """Yield the examples of shard files in order, up to record `limit` (exclusive).

    Raises:
        AtlasError: a file is missing or is not a table of examples.
    """
    for path in paths:
        try:
            # The schema is compared as well: given one, the reader fills missing columns with nothing.
            table = pq.read_table(path).cast(SCHEMA)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise AtlasError(f"{path}: not a readable table of examples ({error}). Delete it and run again.") from error
        for row in table.to_pylist():
            if limit is not None and row["record"] >= limit:
                return
            layers = {name: tuple(row[name]) for name in WORD_LAYERS if row[name] is not None}
            fixed = {name: tuple(row[name]) for name in ("input_ids", "segment_ids", "tokens", "word", "words")}
            yield Example(record=row["record"], id=row["id"], layers=layers, **fixed)


def _records(
    entry: Mapping[str, Any], raw: str | Path, pieces: WordPieces, bound: int, start: int, stop: int
) -> Iterator[Example | Dropped]:
    if entry["reader"] == "conllu":
        for number, tree in enumerate(read_conllu(raw, start, stop), start=start):
            yield _from_tree(to_stanford(tree) if entry["view"] == "stanford" else tree, number, pieces, bound)
        return
    room = bound - len(pieces.pair.before) - len(pieces.pair.between) - len(pieces.pair.after)
    documents = read_documents(raw, entry["lines"])
    segments = RECIPES[entry["recipe"]](documents, _speller(pieces), room, entry["seed"])
    lost: Counter[str] = Counter()
    for number, segment in enumerate(islice(segments, stop)):
        if number >= start:
            lost.update(segment.lost)
            yield _from_segment(segment, number, pieces, entry["segment_ids"])
    for reason, count in lost.items():
        _log.info("%s: %d %s were lost before these segments", raw, count, reason)


def _from_tree(tree: Tree, record: int, pieces: WordPieces, bound: int) -> Example | Dropped:
    spelled = pieces.pieces(tree.words)
    empty = [word for word, ids in zip(tree.words, spelled, strict=True) if not ids]
    if empty:
        return Dropped(record, tree.id, "word without pieces", repr(empty[0]))
    assembled = pieces.assemble([spelled])
    if len(assembled.input_ids) > bound:
        return Dropped(record, tree.id, "too long", f"{len(assembled.input_ids)} pieces, {bound} allowed")
    layers = {name: getattr(tree, name) for name in WORD_LAYERS if any(v not in ("_", "") for v in getattr(tree, name))}
    return _example(record, tree.id, assembled, tree.words, layers)


def _from_segment(segment: Segment, record: int, pieces: WordPieces, segment_ids: str) -> Example:
    texts = [[ids for _, ids in words] for words in (segment.first, segment.second) if words]
    assembled = pieces.assemble(texts)
    if segment_ids == "zeros":
        assembled = Pieces(assembled.input_ids, assembled.tokens, (0,) * len(assembled.input_ids), assembled.word)
    words = tuple(spelling for spelling, _ in (*segment.first, *segment.second))
    return _example(record, segment.origin, assembled, words, {})


def _example(record: int, name: str, pieces: Pieces, words: Sequence[str], layers: Mapping[str, tuple[Any, ...]]) -> Example:
    return Example(record, name, pieces.input_ids, pieces.segment_ids, pieces.tokens, pieces.word, tuple(words), dict(layers))


def _speller(pieces: WordPieces) -> Any:
    def spell(text: str) -> list[Word]:
        words = text.split()
        return [(word, ids) for word, ids in zip(words, pieces.pieces(words), strict=True) if ids]

    return spell


def _report(examples: Sequence[Example], dropped: Sequence[Dropped], start: int, stop: int, raw: str | Path) -> None:
    _log.info("%s: records %d to %d: %d examples, %d dropped", raw, start, stop - 1, len(examples), len(dropped))
    for reason, count in Counter(d.reason for d in dropped).items():
        _log.warning("%s: dropped %d: %s", raw, count, reason)
    if len(examples) + len(dropped) < stop - start:
        _log.warning("%s: the corpus ends after record %d, before the limit", raw, start + len(examples) + len(dropped) - 1)
