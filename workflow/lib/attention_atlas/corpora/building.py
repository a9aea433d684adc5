"""Build examples: the records of a corpus as model inputs, one shard at a time, and a table of the dropped records."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import Example, write_examples
from attention_atlas.corpora.records import RECORD, Dropped, raw_records, reader_function, sampled
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table

_log = logging.getLogger(__name__)
_DROPPED_COLUMNS = ["record", "id", "reason", "detail", "unit", "n"]


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
        empty = [word for word, ids in zip(words, spelled, strict=True) if not ids]
        if empty:
            return Dropped(name, "word without tokens", repr(empty[0]))
        example = self.assembled(name, [spelled], words, **gold)
        if len(example.input_ids) > self.bound:
            return Dropped(name, "too long", f"{len(example.input_ids)} tokens, {self.bound} allowed")
        return example

    def assembled(self, name: str, spelled: Sequence[Sequence[tuple[int, ...]]], words: Sequence[str], **gold: Any) -> Example:
        """An example of one or two texts, each the word pieces of its words, and of the words of both."""
        pieces = self.pieces.assemble(spelled)
        return Example(0, name, pieces.input_ids, pieces.segment_ids, pieces.tokens, pieces.word, tuple(words), **gold)


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
    builder = ExampleBuilder(entry, raw, WordPieces(tokenizer), min(entry["max_tokens"], max_tokens), companion)
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
    if record < stop:
        # Whether this is before the limit of a run is not known here: shards are the same for all limits.
        _log.info("%s: the corpus ends after record %d, within this shard", raw, record - 1)
    write_examples(out, examples)
    write_table(pd.DataFrame([asdict(item) for item in dropped], columns=_DROPPED_COLUMNS), dropped_out)


def _reasons(dropped: Iterable[Dropped]) -> list[str]:
    """How many of what were dropped for each reason, as "2 sentences: too long"."""
    counts: Counter[tuple[str, str]] = Counter()
    for item in dropped:
        counts[item.unit, item.reason] += item.n
    return [f"{count} {unit}{'' if count == 1 else 's'}: {reason}" for (unit, reason), count in counts.items()]
