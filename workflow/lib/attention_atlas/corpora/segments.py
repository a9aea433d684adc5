"""Pairs of text segments, [CLS] A [SEP] B [SEP]: the input of Clark et al. (2019), section 3, for Figures 1 to 4."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from attention_atlas.corpora.sampling import in_record_order
from attention_atlas.corpora.text import TextDocument
from attention_atlas.errors import AtlasError

_log = logging.getLogger(__name__)

# One word: its spelling and the ids of those of its pieces that are left.
Word = tuple[str, tuple[int, ...]]


@dataclass
class Segment:
    """Two runs of words.

    Attributes:
        first, second: the words.
        origin: document and place in it.
        lost: what was left out on the way here, with counts.
        document: name of the document.
    """

    first: list[Word]
    second: list[Word]
    origin: str
    lost: dict[str, int] = field(default_factory=dict)
    document: str | None = None


Speller = Callable[[str], list[Word]]
Recipe = Callable[[Iterable[TextDocument], Speller, int, int], Iterator[Segment]]


def authors_recipe(documents: Iterable[TextDocument], spell: Speller, room: int, seed: int) -> Iterator[Segment]:
    """Segments as the authors' script makes them, with its known faults.

    Sentences are joined until they fill `room` pieces, the chunk is split at a random sentence and pieces are dropped from
    either end of the longer side until it fits. Faults kept: the segments are the first ones of the documents in their
    order (the script's is that of the file); a chunk of one sentence ends its document, whose rest is lost; a last document
    without a blank line after it is lost. The script's final shuffle changes no statistic and is left out, so that a larger
    limit begins with the same segments.

    Args:
        documents: documents in the order of the corpus.
        spell: text -> words with their pieces.
        room: pieces that fit beside the special tokens (the authors: 128 - 3).
        seed: of the splits and cuts (the authors: 0, in another generator).
    """
    chance = random.Random(seed)
    lost: dict[str, int] = {}
    for document in documents:
        if not document.closed:
            _count(lost, "sentences of a last document without a blank line after it", len(document.sentences))
            continue
        spelled = [words for words in map(spell, document.sentences) if _size(words)]
        position = 0
        while position < len(spelled):
            start, size = position, 0
            while position < len(spelled) and size < room:
                size += _size(spelled[position])
                position += 1
            chunk = spelled[start:position]
            if len(chunk) == 1:
                _count(lost, "sentences after a chunk of one", len(spelled) - start)
                break
            split = chance.randint(1, len(chunk) - 1)
            first, second = _flat(chunk[:split]), _flat(chunk[split:])
            _cut_at_random(first, second, room, chance)
            name = f"document {document.number}"
            yield Segment(_words(first), _words(second), f"{name}, sentence {start + 1}", lost, name)
            lost = {}
    _report(lost)


def clean_recipe(documents: Iterable[TextDocument], spell: Speller, room: int, seed: int) -> Iterator[Segment]:
    """Segments as the paper's text describes them: two consecutive paragraphs, drawn at random from the whole corpus.

    Every pair of neighbouring paragraphs is a candidate and the order is a random permutation of all of them. Where a pair is
    too long, the first paragraph loses words at its start and the second at its end (the longer one first), so that they still
    adjoin. Arguments as for `authors_recipe`.

    Raises:
        AtlasError: no document has two paragraphs.
    """
    by_document = {document.number: [" ".join(p) for p in document.paragraphs] for document in documents}
    candidates = [(number, i) for number, paragraphs in by_document.items() for i in range(len(paragraphs) - 1)]
    if not candidates:
        raise AtlasError(
            "the clean recipe needs documents of at least two paragraphs, and this corpus has none (lines: paragraphs)."
        )
    lost: dict[str, int] = {}
    for number, i in in_record_order(candidates, "shuffled", seed):
        first, second = spell(by_document[number][i]), spell(by_document[number][i + 1])
        _cut_apart(first, second, room)
        # A paragraph without a piece, or of a single word longer than the room.
        if not (_size(first) and _size(second)):
            _count(lost, "pairs with an empty side", 1)
            continue
        name = f"document {number}"
        yield Segment(first, second, f"{name}, paragraph {i + 1}", lost, name)
        lost = {}
    _report(lost)


RECIPES: dict[str, Recipe] = {"authors": authors_recipe, "clean": clean_recipe}

_Piece = tuple[int, str, int]  # number of the word, its spelling, the piece


def _count(lost: dict[str, int], what: str, number: int) -> None:
    lost[what] = lost.get(what, 0) + number


def _report(lost: dict[str, int]) -> None:
    """Log what was lost behind the last segment, to which no segment can bear witness."""
    for what, number in lost.items():
        _log.info("behind the last segment %d %s were lost", number, what)


def _size(words: list[Word]) -> int:
    return sum(len(pieces) for _, pieces in words)


def _flat(sentences: list[list[Word]]) -> list[_Piece]:
    words = [word for sentence in sentences for word in sentence]
    return [(number, spelling, piece) for number, (spelling, pieces) in enumerate(words) for piece in pieces]


def _words(pieces: list[_Piece]) -> list[Word]:
    words: dict[int, tuple[str, tuple[int, ...]]] = {}
    for number, spelling, piece in pieces:
        words[number] = (spelling, (*words.get(number, (spelling, ()))[1], piece))
    return list(words.values())


def _cut_at_random(first: list[_Piece], second: list[_Piece], room: int, chance: random.Random) -> None:
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        longer.pop(0 if chance.random() < 0.5 else -1)


def _cut_apart(first: list[Word], second: list[Word], room: int) -> None:
    sizes = [_size(first), _size(second)]
    while sum(sizes) > room:
        longer, end = (0, 0) if sizes[0] > sizes[1] else (1, -1)
        _, pieces = (first, second)[longer].pop(end)
        sizes[longer] -= len(pieces)
