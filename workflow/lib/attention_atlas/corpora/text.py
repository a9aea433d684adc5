"""Plain text as documents, paragraphs and sentences; its segments; sentences with translations; a user's sentences.

Segments are pairs, [CLS] A [SEP] B [SEP]: the input of Clark et al. (2019), section 3, for Figures 1 to 4.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import sentencex

from attention_atlas.corpora.records import Dropped, in_record_order
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


def segments_records(path: str | Path, lines: str) -> Iterator[TextDocument]:
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
    """Yield the pairs of a file: one JSON object per line with both languages as keys, or the sentences of the first language,
    one per line, whose translations are in the `companion`, line by line.
    """
    if companion is None:
        for number, line in read_lines(path):
            if line.strip():
                where = f"{path}:{number}"
                row = json_object(line, where, " For plain text name the file with the translations (translations: ...).")
                if absent := [language for language in languages if not isinstance(row.get(language), str)]:
                    raise AtlasError(f"{where}: there is no text under '{absent[0]}'. Keys: {', '.join(map(str, row))}.")
                yield Translated(str(number), *(row[language].strip() for language in languages))
        return
    for count, (source, target) in enumerate(itertools.zip_longest(read_lines(path), read_lines(companion))):
        if source is None or target is None:
            longer, shorter = (companion, path) if source is None else (path, companion)
            raise AtlasError(
                f"{shorter}: the file ends after line {count}, but {longer} continues. Use two files of the same release."
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


# One word: its text and the ids of its remaining tokens.
Word = tuple[str, tuple[int, ...]]


@dataclass
class Segment:
    """Two runs of words of a document; `origin` is the sentence or paragraph in which the first one starts."""

    first: list[Word]
    second: list[Word]
    origin: str
    document: str | None = None


Speller = Callable[[str], list[Word]]
Recipe = Callable[[Iterable[TextDocument], Speller, int, int, int | None, str], Iterator[Segment | Dropped]]


def authors_recipe(
    documents: Iterable[TextDocument],
    spell: Speller,
    room: int,
    seed: int,
    per_document: int | None = None,
    order: str = "file",
) -> Iterator[Segment | Dropped]:
    """Segments as built by the authors' script, with its known faults.

    Sentences are joined until they fill `room` tokens, the chunk is split at a random sentence and tokens are dropped from
    either end of the longer side until it fits. Faults kept: a chunk of one sentence ends its document, whose rest is lost; a
    last document without a blank line after it is lost. The script's final shuffle changes no statistic and is omitted.

    `room`: maximum number of tokens without special tokens (the authors: 128 - 3); `per_document`: maximum number of segments
    of a document, drawn at random; None keeps all, as the authors do; `order`: file, as the authors, or shuffled (after all
    losses), see `record_order`.
    """
    items: Iterable[Segment | Dropped] = _in_file_order(documents, spell, random.Random(seed), room, per_document)
    if order != "file":
        made = list(items)
        yield from (item for item in made if isinstance(item, Dropped))
        items = in_record_order([item for item in made if isinstance(item, Segment)], order, seed)
    yield from items


def _in_file_order(
    documents: Iterable[TextDocument], spell: Speller, chance: random.Random, room: int, per_document: int | None
) -> Iterator[Segment | Dropped]:
    for document in documents:
        if not document.closed:
            reason = "last document without a blank line after it"
            yield Dropped(f"document {document.number}", reason, unit="sentence", n=len(document.sentences))
            continue
        segments, lost = _segments_of(document, spell, room, chance)
        if per_document is not None and len(segments) > per_document:
            segments = [segments[k] for k in sorted(chance.sample(range(len(segments)), per_document))]
        yield from segments
        yield from lost


def _segments_of(
    document: TextDocument, spell: Speller, room: int, chance: random.Random
) -> tuple[list[Segment], list[Dropped]]:
    """The authors' segments of one document, and the text lost at its end."""
    segments: list[Segment] = []
    sized = [(sentence, size) for sentence in document.sentences if (size := _size(spell(sentence)))]
    position = 0
    while position < len(sized):
        start, size = position, 0
        while position < len(sized) and size < room:
            size += sized[position][1]
            position += 1
        chunk = [sentence for sentence, _ in sized[start:position]]
        origin = f"document {document.number}, sentence {start + 1}"
        if len(chunk) == 1:
            reason = "chunk of one sentence ends its document"
            return segments, [Dropped(origin, reason, unit="sentence", n=len(sized) - start)]
        split = chance.randint(1, len(chunk) - 1)
        # Joined, since a sentence after another one has a space before it.
        first, second = (_flat(spell(" ".join(side))) for side in (chunk[:split], chunk[split:]))
        while len(first) + len(second) > room:
            longer = first if len(first) > len(second) else second
            longer.pop(0 if chance.random() < 0.5 else -1)
        segments.append(Segment(_words(first), _words(second), origin, f"document {document.number}"))
    return segments, []


def clean_recipe(
    documents: Iterable[TextDocument],
    spell: Speller,
    room: int,
    seed: int,
    per_document: int | None = None,
    order: str = "shuffled",
) -> Iterator[Segment | Dropped]:
    """Segments as the paper's text describes them: two consecutive paragraphs, drawn at random from the whole corpus.

    If a pair is too long, the first paragraph loses words at its start and the second at its end (the longer one first), so
    that they stay adjacent. Arguments as for `authors_recipe`.
    """
    by_document = {document.number: [" ".join(p) for p in document.paragraphs] for document in documents}
    candidates = [(number, i) for number, paragraphs in by_document.items() for i in range(len(paragraphs) - 1)]
    if not candidates:
        raise AtlasError("the clean recipe needs documents of at least two paragraphs, and this corpus has none.")
    kept: Counter[int] = Counter()
    for number, i in in_record_order(candidates, order, seed):
        if kept[number] == per_document:
            continue
        origin = f"document {number}, paragraph {i + 1}"
        first, second = spell(by_document[number][i]), spell(by_document[number][i + 1])
        sizes = [_size(first), _size(second)]
        while sum(sizes) > room:
            longer, end = (0, 0) if sizes[0] > sizes[1] else (1, -1)
            _, ids = (first, second)[longer].pop(end)
            sizes[longer] -= len(ids)
        # A paragraph without tokens, or of a single word that is too long.
        if not all(sizes):
            yield Dropped(origin, "empty side", unit="pair of paragraphs")
            continue
        kept[number] += 1
        yield Segment(first, second, origin, f"document {number}")


RECIPES: dict[str, Recipe] = {"authors": authors_recipe, "clean": clean_recipe}


def segments_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    """Segments, and the text lost before them: that before the first segment of the next shard belongs to that shard."""
    entry, pieces = builder.entry, builder.pieces
    room = builder.bound - pieces.pair.specials

    def spell(text: str) -> list[Word]:
        words = text.split()
        # WikiText has spaces around punctuation.
        spaces = () if entry["lines"] == "wikitext" else spaces_in(text, words)
        return [(word, ids) for word, ids in zip(words, pieces.pieces(words, spaces), strict=True) if ids]

    documents, recipe, number = builder.all_records(), RECIPES[entry["recipe"]], 0
    for item in recipe(documents, spell, room, entry["seed"], entry.get("per_document"), entry["order"]):
        if number >= stop:
            return
        if isinstance(item, Dropped):
            if number >= start:
                yield item
            continue
        if number >= start:
            texts = [[ids for _, ids in words] for words in (item.first, item.second) if words]
            words = [word for word, _ in (*item.first, *item.second)]
            example = builder.assembled(item.origin, texts, words, document=item.document)
            if entry["segment_ids"] == "zeros":
                example = replace(example, segment_ids=(0,) * len(example.input_ids))
            yield example
        number += 1


_Piece = tuple[int, str, int]  # number of the word, its text, the token


def _size(words: list[Word]) -> int:
    return sum(len(pieces) for _, pieces in words)


def _flat(words: list[Word]) -> list[_Piece]:
    return [(number, spelling, piece) for number, (spelling, pieces) in enumerate(words) for piece in pieces]


def _words(pieces: list[_Piece]) -> list[Word]:
    words: dict[int, tuple[str, tuple[int, ...]]] = {}
    for number, spelling, piece in pieces:
        words[number] = (spelling, (*words.get(number, (spelling, ()))[1], piece))
    return list(words.values())
