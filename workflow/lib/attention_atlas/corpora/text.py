"""Plain text as documents, paragraphs and sentences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import sentencex

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_lines

WORD = re.compile(r"\w+|[^\w\s]")
"""Words of running text that comes without any: runs of letters and digits, and single other characters."""
# WikiText marks hyphens and separators inside numbers and words as " @-@ ", " @,@ ", " @.@ ".
_JOINED = re.compile(r" @([-,.])@ ")
_TITLE = re.compile(r"= [^=].*[^=] =|= [^=] =")
_HEADING = re.compile(r"=( =)* .* (= )*=")


@dataclass(frozen=True)
class TextDocument:
    """A document.

    Attributes:
        paragraphs: each a tuple of sentences.
        closed: whether a blank line (or title) follows it.
        number: its number in the file, from 1.
    """

    paragraphs: tuple[tuple[str, ...], ...]
    closed: bool
    number: int = field(default=1, compare=False)

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence for paragraph in self.paragraphs for sentence in paragraph)


def spaces_in(text: str, words: Sequence[str]) -> tuple[bool, ...]:
    """Whether white space stands before each word of a text; the words must be the text without its white space."""
    ends = set(itertools.accumulate(map(len, text.split())))
    starts = [*itertools.accumulate(map(len, words), initial=0)]
    return tuple(start in ends for start in starts[:-1])


def read_documents(path: str | Path, lines: str, language: str = "en") -> Iterator[TextDocument]:
    """Yield the documents of a text file.

    Args:
        path: UTF-8 text, compressed or not.
        lines: `sentences` (one sentence per line, a blank line between documents, one paragraph per document),
            `paragraphs` (one paragraph per line, a blank line between documents) or `wikitext` (paragraphs;
            ` = Title = ` starts a document, deeper headings are skipped).
        language: language of the sentence splitter.

    Raises:
        AtlasError: the file is missing or empty, or is not UTF-8.
    """
    empty = True
    for number, (block, closed) in enumerate(_blocks(path, lines), start=1):
        empty = False
        yield replace(_document(block, lines, language, closed), number=number)
    if empty:
        raise AtlasError(f"{path}: the file has no text. A text corpus needs at least one line that is not blank.")


def read_sentences(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines of a text, stripped, with their 1-indexed line numbers.

    Raises:
        AtlasError: the file is missing, is not UTF-8, or has no such line.
    """
    empty = True
    for number, line in read_lines(path):
        if sentence := line.strip():
            empty = False
            yield number, sentence
    if empty:
        raise AtlasError(f"{path}: the file has no text; write one sentence on each line.")


def sentence_starts(text: str, language: str = "en") -> list[int]:
    """The character at which each sentence of a text starts; the space before its first word may be included."""
    return list(itertools.accumulate((len(sentence) for sentence in sentencex.segment(language, text)), initial=0))[:-1]


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


def _document(block: list[str], lines: str, language: str, closed: bool) -> TextDocument:
    if lines == "sentences":
        return TextDocument((tuple(block),), closed)
    paragraphs = ([s.strip() for s in sentencex.segment(language, line)] for line in block)
    return TextDocument(tuple(tuple(s for s in sentences if s) for sentences in paragraphs), closed)
