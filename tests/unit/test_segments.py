"""Pairs of segments: the authors' recipe with its faults against a slow second writing of it, and the clean recipe."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_atlas.corpora.records import Dropped
from attention_atlas.corpora.text import Segment, TextDocument, authors_recipe, clean_recipe
from attention_atlas.errors import AtlasError


def spell(text: str) -> list:
    """Words as "name:number of pieces"; a piece is the word's name with its place, so that each is known again."""
    words = []
    for word in text.split():
        name, size = word.split(":")
        words.append((word, tuple(f"{name}.{place}" for place in range(int(size)))))
    return [word for word in words if word[1]]


def document(sizes: list[list[int]], name: str, closed: bool = True) -> TextDocument:
    """A document of one paragraph: pieces of each word of each sentence."""
    sentences = (" ".join(f"{name}-{i}-{j}:{n}" for j, n in enumerate(sentence)) for i, sentence in enumerate(sizes))
    return TextDocument((tuple(sentences),), closed)


def numbered(documents: list[TextDocument]) -> list[TextDocument]:
    """Documents with their places in a file."""
    return [replace(one, number=number) for number, one in enumerate(documents, start=1)]


def segments_of(items) -> list[Segment]:
    return [item for item in items if isinstance(item, Segment)]


def losses_of(items) -> list[tuple[str, str, str, int]]:
    return [(item.id, item.reason, item.unit, item.n) for item in items if isinstance(item, Dropped)]


def pieces(words: list) -> list[str]:
    return [piece for _, ids in words for piece in ids]


def check_words(words: list) -> None:
    """No word without pieces, no word twice, and each word's pieces are its own, neighbours, in order."""
    assert len({word for word, _ in words}) == len(words) > 0
    for word, ids in words:
        name, size = word.split(":")
        places = [int(piece.removeprefix(name + ".")) for piece in ids]
        assert places
        assert places == list(range(int(size)))[places[0] : places[-1] + 1]


def by_hand(documents: list[TextDocument], room: int, chance: random.Random) -> list[tuple[list[str], list[str]]]:
    """The published script, steps 1 to 4, on flat lists of pieces; the final shuffle left out."""
    segments = []
    for one in documents:
        if not one.closed:
            continue
        tokenized = [pieces(spell(sentence)) for sentence in one.sentences]
        waiting = [sentence for sentence in tokenized if sentence]
        while waiting:
            chunk = []
            while waiting and sum(map(len, chunk)) < room:
                chunk.append(waiting.pop(0))
            if len(chunk) == 1:
                break
            sentences_of_first = chance.randint(1, len(chunk) - 1)
            first = [piece for sentence in chunk[:sentences_of_first] for piece in sentence]
            second = [piece for sentence in chunk[sentences_of_first:] for piece in sentence]
            while len(first) + len(second) > room:
                longer = second if len(second) >= len(first) else first
                at_the_front = chance.random() < 0.5
                del longer[0 if at_the_front else len(longer) - 1]
            segments.append((first, second))
    return segments


DOCUMENTS = st.lists(
    st.tuples(st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=8), st.sampled_from([True, True, False])),
    min_size=1,
    max_size=5,
)


@settings(max_examples=150, deadline=None)
@given(sizes=DOCUMENTS, room=st.integers(2, 25), seed=st.integers(0, 5))
def test_the_authors_recipe_equals_a_second_writing_of_it(sizes, room, seed):
    documents = numbered([document(sentences, f"d{i}", closed) for i, (sentences, closed) in enumerate(sizes)])
    segments = segments_of(authors_recipe(iter(documents), spell, room, seed))
    assert [(pieces(s.first), pieces(s.second)) for s in segments] == by_hand(documents, room, random.Random(seed))
    for side in (side for segment in segments for side in (segment.first, segment.second)):
        check_words(side)
    assert len({segment.origin for segment in segments}) == len(segments)


def test_a_chunk_of_one_sentence_and_an_open_last_document_are_lost_and_counted():
    # The first sentence alone fills the room: nothing of this document is used, nor the next one's left-over sentence.
    one, two, three = document([[5], [1], [1]], "a"), document([[3], [3], [1]], "b"), document([[1], [1]], "c")
    documents = numbered([one, two, three, document([[1], [1], [1]], "d", closed=False)])
    items = list(authors_recipe(documents, spell, 5, 0))
    assert [s.origin for s in segments_of(items)] == ["document 2, sentence 1", "document 3, sentence 1"]
    lost = "chunk of one sentence ends its document"
    assert losses_of(items) == [
        ("document 1, sentence 1", lost, "sentence", 3),
        ("document 2, sentence 3", lost, "sentence", 1),
        ("document 4", "last document without a blank line after it", "sentence", 3),
    ]


def corpus(sizes: list[list[int]]) -> list[TextDocument]:
    """Documents of paragraphs, each given by its number of one-piece words, in sentences of three words."""
    documents = []
    for d, paragraphs in enumerate(sizes):
        built = []
        for p, count in enumerate(paragraphs):
            words = [f"{d}-{p}-{w}:1" for w in range(count)]
            built.append(tuple(" ".join(words[i : i + 3]) for i in range(0, count, 3)))
        documents.append(TextDocument(tuple(built), closed=False))
    return numbered(documents)


def place(word: tuple) -> tuple[int, int, int]:
    return tuple(int(part) for part in word[0].split(":")[0].split("-"))


PARAGRAPHS = st.lists(st.lists(st.integers(1, 12), max_size=4), min_size=1, max_size=4).filter(
    lambda sizes: any(len(paragraphs) > 1 for paragraphs in sizes)
)


@settings(max_examples=80, deadline=None)
@given(sizes=PARAGRAPHS, room=st.integers(2, 20), seed=st.integers(0, 5))
def test_clean_segments_are_neighbouring_paragraphs_that_adjoin_and_fit(sizes, room, seed):
    seen = []
    for segment in segments_of(clean_recipe(corpus(sizes), spell, room, seed)):
        first, second = [place(word) for word in segment.first], [place(word) for word in segment.second]
        d, p, _ = first[0]
        first_size, second_size = sizes[d][p], sizes[d][p + 1]
        while first_size + second_size > room:
            longer = first_size > second_size
            first_size, second_size = first_size - longer, second_size - (not longer)
        # The end of one and the start of the other are kept: nothing is missing where they meet.
        assert first == [(d, p, w) for w in range(sizes[d][p] - first_size, sizes[d][p])]
        assert second == [(d, p + 1, w) for w in range(second_size)]
        assert segment.origin == f"document {d + 1}, paragraph {p + 1}"
        seen.append((d, p))
    # Every pair of neighbours is a candidate, and each is used once.
    assert sorted(seen) == [(d, p) for d, paragraphs in enumerate(sizes) for p in range(len(paragraphs) - 1)]


def test_pairs_that_keep_nothing_on_one_side_are_left_out_with_a_count():
    # Words are cut whole: "b" goes as a whole although three of its pieces would have been enough.
    texts = [("a:0", "b:1"), ("a:9", "b:9"), ("a:1 b:5 c:1", "d:1 e:1")]
    documents = [TextDocument(((first,), (second,)), closed=True) for first, second in texts]
    items = list(clean_recipe(numbered(documents), spell, 6, 0))
    lost = {(f"document {k}, paragraph 1", "empty side", "pair of paragraphs", 1) for k in (1, 2)}
    assert set(losses_of(items)) == lost
    (segment,) = segments_of(items)
    assert (segment.first, segment.second) == (spell("c:1"), spell("d:1 e:1"))
    with pytest.raises(AtlasError, match="needs documents of at least two paragraphs, and this corpus has none"):
        next(clean_recipe(corpus([[3], [4], []]), spell, 5, 0))
