"""The records of a corpus's file as its reader yields them, before tokenisation, and how many of them there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attention_atlas.corpora.conll2012 import read_conll2012
from attention_atlas.corpora.conllu import tree_builders
from attention_atlas.corpora.edge_converters import edge_record_builders
from attention_atlas.corpora.frames import read_frames
from attention_atlas.corpora.gap import read_gap
from attention_atlas.corpora.glue import read_glue
from attention_atlas.corpora.keyphrases import BOTH, read_keyphrases
from attention_atlas.corpora.parallel import read_parallel
from attention_atlas.corpora.squad import read_squad
from attention_atlas.corpora.text import read_documents, read_sentences
from attention_atlas.io.files import raw_lines, read_lines

_Entry = Mapping[str, Any]
_READERS: dict[str, Callable[[_Entry, str | Path, str | Path | None], Iterable[Any]]] = {
    "segments": lambda entry, raw, _: read_documents(raw, entry["lines"]),
    "conllu": lambda entry, raw, _: tree_builders(raw),
    "conll2012": lambda entry, raw, _: read_conll2012(raw, entry["files"], entry["language"]),
    "gap": lambda entry, raw, _: read_gap(raw),
    "squad": lambda entry, raw, _: read_squad(raw),
    "glue": lambda entry, raw, _: read_glue(raw, entry["task"]),
    "frames": lambda entry, raw, _: read_frames(raw),
    "parallel": lambda entry, raw, companion: read_parallel(raw, entry["languages"], companion),
    "edges": lambda entry, raw, companion: edge_record_builders(
        entry["format"], entry["edge_tasks"], raw, companion, entry["part"], entry["files"], entry["language"]
    ),
    "keyphrases": lambda entry, raw, _: read_keyphrases(
        raw, entry["stemmed"], entry.get("keyphrase_set", BOTH), entry["document_names"]
    ),
    "sentences": lambda entry, raw, _: read_sentences(raw),
    "lines": lambda entry, raw, _: read_lines(raw),
    "vectors": lambda entry, raw, _: raw_lines(raw),
}
# What a document or question is cut into has at least one word: readers whose records depend on the tokenizer.
_WORDS: dict[str, Callable[[Any], int]] = {
    "segments": lambda document: sum(len(sentence.split()) for sentence in document.sentences),
    "conll2012": lambda document: len(document.words),
    "squad": lambda question: len(getattr(question, "context", " ")),
}


def raw_records(entry: _Entry, raw: str | Path, companion: str | Path | None = None) -> Iterable[Any]:
    """What the reader of a corpus yields, in the order of the file; for trees and edge probing, functions that build a record.

    Args:
        entry: registry entry of the corpus.
        raw: its file.
        companion: its second file, see `build_shard`.

    Raises:
        AtlasError: (during iteration) the file is malformed; names file and line.
    """
    return _READERS[entry["reader"]](entry, raw, companion)


def most_records(entry: _Entry, raw: str | Path, companion: str | Path | None, limit: int) -> int:
    """Number of records of a file, counted up to `limit`; arguments and errors as for `raw_records`.

    It is an upper bound for segments, and for further windows of documents and passages, which depend on the tokenizer.
    """
    is_cut = entry["reader"] == "segments" or entry.get("windows") == "all"
    size = _WORDS[entry["reader"]] if is_cut else lambda record: 1
    total = 0
    for record in raw_records(entry, raw, companion):
        total += size(record)
        if total >= limit:
            return limit
    return total
