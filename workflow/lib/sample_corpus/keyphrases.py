"""Texts with keyphrases on the sample corpus: the first sentences of a document, and what the whole document is about.

Phrases come from all mentions of the document's entities, pronouns included, as an abstract has the keyphrases of a paper.
Neither a single word nor its frequency in the text predicts them, and some phrases are absent from the text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from sample_corpus.generate import Document, Mention, Token

SENTENCES = 3
"""First sentences of a document that are its text here."""
LEAST_MENTIONS = 3
"""Mentions of an entity that make it a subject of its document."""
_LEAST_PHRASES = 2
_PERSONS = ("he", "she")
_MODIFIERS = ("amod", "nn")


def keyphrase_lines(documents: Iterable[Document]) -> Iterator[str]:
    """One text per line, with its keyphrases."""
    for document in documents:
        text = " ".join(sentence.text for sentence in document.sentences[:SENTENCES])
        row = {"id": document.id, "text": text, "keyphrases": keyphrases_of(document)}
        yield json.dumps(row, ensure_ascii=False) + "\n"


def keyphrases_of(document: Document) -> list[str]:
    """Names of the entities that a document mentions `LEAST_MENTIONS` times or more, the most mentioned first.

    Persons are excluded. The name of an entity is the longest of its proper names, else the form that its nominal mentions have
    most often: the head with adjectives and nouns before it, no determiner. Entities of one name are one. Where fewer than two
    are mentioned so often, the two most mentioned.
    """
    forms: dict[str, Counter[str]] = {}
    proper: dict[str, set[str]] = {}
    persons = {mention.entity for mention in document.mentions if _is_person(document, mention)}
    for mention in document.mentions:
        if mention.entity in persons:
            continue
        if name := _name(document, mention):
            forms.setdefault(mention.entity, Counter())[name] += 1
            if mention.type == "proper":
                proper.setdefault(mention.entity, set()).add(name)
    counts = Counter(mention.entity for mention in document.mentions)
    totals: Counter[str] = Counter()
    for entity, names in forms.items():
        proper_names = sorted(proper.get(entity, ()), key=lambda name: (-len(name.split()), name))
        # Of equally frequent forms, the longer.
        best = proper_names[0] if proper_names else max(names, key=lambda name: (names[name], len(name.split())))
        totals[best] += counts[entity]
    ranked = [name for name, _ in totals.most_common()]
    often = sum(count >= LEAST_MENTIONS for count in totals.values())
    return ranked[: max(often, _LEAST_PHRASES)]


def _is_person(document: Document, mention: Mention) -> bool:
    spans = document.sentences[mention.sentence].entities
    named = any(span.type == "PERSON" and span.start <= mention.head < span.stop for span in spans)
    return named or document.gender.get(mention.entity) in _PERSONS


def _name(document: Document, mention: Mention) -> str:
    """Head of a mention with its modifiers; empty for a pronoun."""
    if mention.type == "pronoun":
        return ""
    tokens = document.sentences[mention.sentence].tokens
    first = mention.head
    while first > mention.start and _modifies(tokens[first - 1], mention):
        first -= 1
    words = [token.form for token in tokens[first : mention.head + 1]]
    # The first word of a sentence has a capital letter because of its place.
    if first == 0 and tokens[first].upos != "PROPN":
        words[0] = words[0][0].lower() + words[0][1:]
    return " ".join(words)


def _modifies(token: Token, mention: Mention) -> bool:
    """Whether a token is an adjective or noun that modifies the head of a mention."""
    return token.sd_relation in _MODIFIERS and token.sd_head == mention.head + 1
