"""Plain text as documents, paragraphs and sentences, sentences with their translations, and a user's sentences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import sentencex

from attention_atlas.corpora.records import Dropped
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import json_object, read_lines

if TYPE_CHECKING:
    from attention_atlas.corpora.examples import Example, ExampleBuilder

WORD = re.compile(r"\w+|[^\w\s]")
"""Words of running text that comes without any: runs of letters and digits, and single other characters."""
# WikiText marks hyphens and separators inside numbers and words as " @-@ ", " @,@ ", " @.@ ".
_JOINED = re.compile(r" @([-,.])@ ")
_TITLE = re.compile(r"= [^=].*[^=] =|= [^=] =")
_HEADING = re.compile(r"=( =)* .* (= )*=")


@dataclass(frozen=True)
class TextDocument:
    """A document."""

    paragraphs: tuple[tuple[str, ...], ...]  # each a tuple of sentences
    closed: bool  # whether a blank line (or title) follows it
    number: int = field(default=1, compare=False)  # its number in the file, from 1

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence for paragraph in self.paragraphs for sentence in paragraph)


@dataclass(frozen=True)
class Translated:
    """A sentence and its translation without space around them, either may be empty; `id`: number of its line, from 1."""

    id: str
    source: str
    target: str


def spaces_in(text: str, words: Sequence[str]) -> tuple[bool, ...]:
    """Whether white space stands before each word of a text; the words must be the text without its white space."""
    ends = set(itertools.accumulate(map(len, text.split())))
    starts = [*itertools.accumulate(map(len, words), initial=0)]
    return tuple(start in ends for start in starts[:-1])


def last_that_fits(sizes: Sequence[int], start: int, room: int) -> int:
    """End (exclusive) of the longest run of words from `start` that fits into `room` word pieces; `sizes`: those of words."""
    stop, used = start, 0
    while stop < len(sizes) and used + sizes[stop] <= room:
        used += sizes[stop]
        stop += 1
    return stop


def read_documents(path: str | Path, lines: str) -> Iterator[TextDocument]:
    """Yield the documents of a text file.

    `lines`: `sentences` (one sentence per line, a blank line between documents, one paragraph per document), `paragraphs` (one
    paragraph per line, a blank line between documents) or `wikitext` (paragraphs; ` = Title = ` starts a document, deeper
    headings are skipped).
    """
    number = 0
    for number, (block, closed) in enumerate(_blocks(path, lines), start=1):
        paragraphs = [block]
        if lines != "sentences":
            paragraphs = [[s.strip() for s in sentencex.segment("en", line) if s.strip()] for line in block]
        yield TextDocument(tuple(map(tuple, paragraphs)), closed, number)
    if not number:
        raise AtlasError(f"{path}: the file has no text. A text corpus needs at least one line that is not blank.")


def sentence_starts(text: str) -> list[int]:
    """The character at which each sentence of a text starts; the space before its first word may be included."""
    return list(itertools.accumulate((len(sentence) for sentence in sentencex.segment("en", text)), initial=0))[:-1]


def _blocks(path: str | Path, lines: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the lines of each document, and whether a blank line or a title follows it."""
    block: list[str] = []
    for _, raw in read_lines(path):
        line = raw.strip()
        if lines == "wikitext":
            is_break, is_text = bool(_TITLE.fullmatch(line)), bool(line) and not _HEADING.fullmatch(line)
        else:
            is_break, is_text = not line, bool(line)
        if is_break and block:
            yield block, True
            block = []
        if is_text:
            block.append(_JOINED.sub(r"\1", line) if lines == "wikitext" else line)
    if block:
        yield block, lines != "sentences"


def parallel_records(path: str | Path, languages: Sequence[str], companion: str | Path | None = None) -> Iterator[Translated]:
    """Yield the pairs of a file in its order.

    `path`: one JSON object per line with both languages as keys, or the sentences of the first language, one per line, whose
    translations are in the `companion`, line by line.
    """
    if companion is None:
        for number, line in read_lines(path):
            if line.strip():
                where = f"{path}:{number}"
                row = json_object(line, where, " For plain text name the file with the translations (translations: ...).")
                for language in languages:
                    if not isinstance(row.get(language), str):
                        raise AtlasError(f"{where}: there is no text under '{language}'. Keys: {', '.join(map(str, row))}.")
                yield Translated(str(number), *(row[language].strip() for language in languages))
        return
    for count, (source, target) in enumerate(itertools.zip_longest(read_lines(path), read_lines(companion))):
        if source is None or target is None:
            longer, shorter = (companion, path) if source is None else (path, companion)
            raise AtlasError(
                f"{shorter}: the file ends after line {count}, but {longer} continues: a translation must have the same line "
                "number as its sentence. Use two files of the same release."
            )
        yield Translated(str(source[0]), source[1].strip(), target[1].strip())


def parallel_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    """Sentences in words, each with its translation as label."""
    for pair in builder.records(start, stop):
        if pair.source and pair.target:
            words = pair.source.split()
            yield builder.example(pair.id, words, spaces_in(pair.source, words), label=pair.target)
        else:
            yield Dropped(pair.id, "empty sentence or translation")


def sentences_records(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines of a text, stripped, with their 1-indexed line numbers."""
    is_empty = True
    for number, line in read_lines(path):
        if "\t" in line or "\0" in line:
            raise AtlasError(f"{path}:{number}: a tab or NUL byte: this is not plain text. Call CoNLL-U *.conllu.")
        if sentence := line.strip():
            is_empty = False
            yield number, sentence
    if is_empty:
        raise AtlasError(f"{path}: the file has no text; write one sentence on each line.")


def sentences_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    for line, sentence in builder.records(start, stop):
        words = sentence.split()
        yield builder.example(f"line {line}", words, spaces_in(sentence, words))
