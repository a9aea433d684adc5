"""A check that tables contain no text of a corpus, before they are published."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pandas as pd
import pyarrow.parquet as pq

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table

WORDS = 6
"""This many consecutive words of a corpus count as its text; shorter phrases occur in other texts, too."""
_WORD = re.compile(r"\w+")
_Phrase = tuple[str, ...]


def phrases(texts: Iterable[str]) -> set[_Phrase]:
    """All sequences of `WORDS` words within the texts, in lower case and without punctuation."""
    return {phrase for text in texts for phrase in _in_order(_WORD.findall(text.lower()))}


def table_texts(frame: pd.DataFrame) -> Iterator[str]:
    """The texts of a table: its cells, and each column read downwards, for tables with one token per row."""
    for name in frame.columns:
        column = frame[name].dropna()
        if pd.api.types.is_numeric_dtype(column):
            continue
        cells = column.astype(str)
        yield from cells.unique()
        yield " ".join(cells[cells != cells.shift()])


def check_no_corpus_text(
    tables: Sequence[Path], examples: Mapping[str, Sequence[Path]], allowed: Mapping[str, Sequence[Path]] = MappingProxyType({})
) -> None:
    """Check that no table holds a sequence of `WORDS` words of a corpus.

    Args:
        tables: TSV files.
        examples: corpus -> its examples (Parquet, with a column `words`).
        allowed: the same for corpora that may be redistributed: what they contain is no error, even if it is in another corpus,
            such as a sentence that a paper quotes.

    Raises:
        AtlasError: names the table, the corpus and the words.
    """
    tables_of: dict[_Phrase, Path] = {}
    for path in tables:
        tables_of |= dict.fromkeys(phrases(table_texts(read_table(path))), path)
    if not tables_of:
        return
    for files in allowed.values():
        for phrase in phrases(" ".join(words) for words in _sentences(files)):
            tables_of.pop(phrase, None)
    for corpus, files in examples.items():
        for words in _sentences(files):
            for phrase in _in_order(_WORD.findall(" ".join(words).lower())):
                if phrase in tables_of:
                    raise AtlasError(
                        f"{tables_of[phrase]}: this table holds text of the corpus {corpus} ('{' '.join(phrase)}'), which must "
                        "not be redistributed: add the file to text_files of its artefact."
                    )


def _sentences(files: Sequence[Path]) -> Iterator[Sequence[str]]:
    for path in files:
        for words in pq.read_table(path, columns=["words"]).column("words").to_pylist():
            yield words or ()


def _in_order(words: Sequence[str]) -> Iterator[_Phrase]:
    return zip(*(words[start:] for start in range(WORDS)), strict=False)
