"""Tags, relations and heads of the words of an example: gold layers, or spaCy on the running text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.studies.kovaleva2019.taggers import missing_tagger


@dataclass(frozen=True)
class Token:
    """A token of an analysis.

    Attributes:
        words: positions of the example's words that belong to it; none where they belong to another token.
        tag: Penn tag.
        relation: to its head.
        head: place of its head among the tokens; None for a root, or where the head is unknown.
    """

    words: tuple[int, ...]
    tag: str
    relation: str
    head: int | None = None


Analysis = tuple[Token, ...]
Analyser = Callable[[Example], Analysis]


def gold_analysis(example: Example) -> Analysis | None:
    """The gold layers of an example, one token for each word; None where it has no tags or no relations."""
    if not {"xpos", "relations"} <= example.layers.keys():
        return None
    heads = example.layers.get("heads", (0,) * len(example.words))
    return tuple(
        Token((k,), tag, relation, head - 1 if head > 0 else None)
        for k, (tag, relation, head) in enumerate(zip(example.layers["xpos"], example.layers["relations"], heads, strict=True))
    )


def has_heads(analyses: Iterable[Analysis]) -> bool:
    """Whether any token has a head."""
    return any(token.head is not None for analysis in analyses for token in analysis)


def text_of_word(example: Example) -> tuple[int, ...]:
    """For each word the number of its text: special tokens separate the two texts of a pair."""
    numbers = [0] * len(example.words)
    text, previous = 0, SPECIAL
    for word in example.word:
        if word == SPECIAL:
            text += previous != SPECIAL
        else:
            numbers[word] = text
        previous = word
    return tuple(numbers)


def word_spans(example: Example) -> list[tuple[int, int, int]]:
    """For each word its text, and the start and end of its characters in it; words come in the order of the texts."""
    spans, cursors = [], [0] * len(example.texts)
    for form, text in zip(example.words, text_of_word(example), strict=True):
        start = example.texts[text].index(form, cursors[text])
        cursors[text] = start + len(form)
        spans.append((text, start, cursors[text]))
    return spans


def aligned(example: Example, documents: Sequence[Sequence[Any]]) -> Analysis:
    """Tokens of a pipeline on the texts of an example, each with the words most of whose characters lie in it.

    Args:
        example: with its running texts.
        documents: a sequence of spaCy tokens for each text (`idx`, `text`, `tag_`, `dep_`, `head.i`, `i`).
    """
    starts = np.cumsum([0, *map(len, documents)])
    words: list[list[int]] = [[] for _ in range(starts[-1])]
    for word, (text, start, stop) in enumerate(word_spans(example)):
        shared = [min(stop, t.idx + len(t.text)) - max(start, t.idx) for t in documents[text]]
        if shared and max(shared) > 0:
            words[starts[text] + int(np.argmax(shared))].append(word)
    return tuple(
        Token(
            tuple(words[starts[text] + token.i]),
            token.tag_,
            token.dep_,
            None if token.head.i == token.i else int(starts[text]) + token.head.i,
        )
        for text, document in enumerate(documents)
        for token in document
    )


def spacy_analyser(name: str) -> tuple[Analyser | None, str]:
    """spaCy on the running texts of an example; None, with the reason, where spaCy or the model is not installed."""
    reason = missing_tagger(name)
    if reason:
        return None, reason
    import spacy

    pipeline = spacy.load(name)
    return lambda example: aligned(example, [pipeline(text) for text in example.texts]), ""
