"""Sentences of reviews that praise or blame, on the sample corpus (as SST-2).

Positive and negative words occur in sentences of both labels: a sentence may negate its judgement, apply it to something else,
or withdraw it, so that no single word predicts the label.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sample_corpus.lexicon import read_lexicon_file
from sample_corpus.main_clauses import Text, Word, text_of


def reviews(count: int, rng: random.Random) -> Iterator[tuple[Text, bool]]:
    """Sentences and whether they praise; both labels are equally frequent."""
    data = read_lexicon_file("reviews.yaml")
    patterns = [(pattern, kind == "denied") for kind in ("said", "denied") for pattern in data[kind]]
    slots = {name: (xpos, choices) for name, entry in data["slots"].items() for xpos, *choices in [entry.split()]}
    judging = {kind: ("JJ", data[kind].split()) for kind in ("praise", "blame")}
    for _ in range(count):
        good = rng.random() < 0.5
        pattern, denied = rng.choice(patterns)
        polarity, opposite = ("praise", "blame") if good != denied else ("blame", "praise")
        chosen = slots | {"x": judging[polarity], "y": judging[opposite]}
        words = [_word(place, part, chosen, rng) for place, part in enumerate(pattern.split(), start=1)]
        for place in range(1, len(words)):
            if words[place].text == ",":
                words[place - 1] = replace(words[place - 1], space=False)
        yield text_of(words, "."), good


def _word(place: int, part: str, slots: Mapping[str, tuple[str, list[str]]], rng: random.Random) -> Word:
    form, *rest = part.split("/")
    slot = form.strip("{}")
    xpos, choices = slots[slot] if form.startswith("{") else (rest.pop(0), [form])
    relation, head = rest if len(rest) == 2 else (rest[0], None)
    text = rng.choice(choices) if form.startswith("{") else form
    return Word(text, xpos=xpos, relation=relation, key=place, head=head and int(head))
