"""Documents of the sample corpus with all gold layers; document k depends on the seed and k only."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sample_corpus.discourse import plan_document
from sample_corpus.grammar.base import Frame, Style
from sample_corpus.grammar.speech import English
from sample_corpus.notation import parse
from sample_corpus.reference import Discourse
from sample_corpus.structure import Node, finish_surface, head_word, read_layers, spaces_after


@dataclass(frozen=True)
class Token:
    """A word; heads are 1-indexed positions in the sentence, 0 is ROOT."""

    form: str
    lemma: str
    upos: str
    xpos: str
    sd_head: int
    sd_relation: str
    ud_head: int
    ud_relation: str
    space_after: bool
    slots: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EntitySpan:
    """Tokens start..stop-1 (0-indexed) of a sentence with an OntoNotes-like type."""

    start: int
    stop: int
    type: str


@dataclass(frozen=True)
class Mention:
    """A mention of a discourse entity: tokens start..stop-1 (0-indexed) of sentence `sentence` (0-indexed in the
    document), its head token (SD head), and its type: pronoun, proper or nominal. `singleton`: mentioned only once."""

    entity: str
    sentence: int
    start: int
    stop: int
    head: int
    type: str
    singleton: bool


@dataclass(frozen=True)
class Sentence:
    """A sentence with its layers; `constructions` are the names of the constructions used in it."""

    id: str
    tokens: tuple[Token, ...]
    brackets: str
    entities: tuple[EntitySpan, ...]
    constructions: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(t.form + (" " if t.space_after else "") for t in self.tokens).strip()


@dataclass(frozen=True)
class Document:
    """A document; `gender` gives the pronoun (he, she, it, they) of every member of the cast by entity id."""

    id: str
    domain: str
    scenario: str
    paragraphs: tuple[tuple[Sentence, ...], ...]
    mentions: tuple[Mention, ...]
    gender: dict[str, str]

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        return tuple(sentence for paragraph in self.paragraphs for sentence in paragraph)

    @property
    def text(self) -> str:
        """Running text, one paragraph per line."""
        return "\n".join(" ".join(sentence.text for sentence in paragraph) for paragraph in self.paragraphs)


def generate_documents(count: int, seed: int, start: int = 0) -> Iterator[Document]:
    """Documents start..start+count-1 of the corpus with this seed, the same in every process."""
    for number in range(start, start + count):
        yield _document(number, random.Random(f"{seed}-{number}"))


def _document(number: int, rng: random.Random) -> Document:
    plan = plan_document(rng)
    scenario = plan.scenario
    rate = {"news": 0.1, "science": 0.03, "stories": 0.5, "business": 0.12}.get(scenario.domain, 0.1)
    style = Style(rng.random() < 0.5, rate)
    grammar = English(rng, Discourse(plan.cast, scenario.domain), style, Frame(tense=scenario.tense))
    identifier = f"sample-{number:05d}"
    paragraphs: list[tuple[Sentence, ...]] = []
    mentions: list[Mention] = []
    position = 0
    for lines in plan.paragraphs:
        grammar.discourse.next_paragraph()
        sentences = []
        for line in lines:
            root = grammar.line(parse(line))
            finish_surface(root)
            sentence, sentence_mentions = _sentence(f"{identifier}-{position + 1}", root, position)
            sentences.append(sentence)
            mentions += sentence_mentions
            position += 1
        paragraphs.append(tuple(sentences))
    return Document(
        identifier,
        scenario.domain,
        scenario.name,
        tuple(paragraphs),
        _with_singletons(mentions),
        {key: entity.pronoun for key, entity in plan.cast.items()},
    )


def _sentence(identifier: str, root: Node, number: int) -> tuple[Sentence, list[Mention]]:
    layers = read_layers(root)
    spaces = spaces_after(layers.words)
    position = {id(leaf): index for index, leaf in enumerate(layers.words)}
    arcs = zip(layers.sd_heads, layers.sd_relations, layers.ud_heads, layers.ud_relations, spaces, strict=True)
    tokens = tuple(
        Token(leaf.form, leaf.lemma, leaf.upos, leaf.label, *arc, leaf.slots)
        for leaf, arc in zip(layers.words, arcs, strict=True)
    )
    entities = tuple(EntitySpan(s.start, s.stop, s.node.entity_type) for s in layers.spans if s.node.entity_type)
    mentions = []
    for span in layers.spans:
        if span.node.mention:
            head = position[id(head_word(span.node, "sd"))]
            mention = Mention(span.node.mention, number, span.start, span.stop, head, span.node.mention_type, False)
            mentions.append(mention)
    return Sentence(identifier, tokens, layers.brackets, entities, tuple(layers.constructions)), mentions


def _with_singletons(mentions: list[Mention]) -> tuple[Mention, ...]:
    counts = Counter(mention.entity for mention in mentions)
    ordered = sorted(mentions, key=lambda m: (m.sentence, m.start, -m.stop))
    return tuple(replace(mention, singleton=counts[mention.entity] == 1) for mention in ordered)
