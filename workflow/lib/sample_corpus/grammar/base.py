"""State and small builders shared by the construction families of the grammar."""

from __future__ import annotations

import contextlib
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypedDict, TypeGuard, Unpack

from attention_atlas.errors import AtlasError
from sample_corpus.notation import Group, Item, split
from sample_corpus.reference import Discourse
from sample_corpus.structure import Node, comma, phrase, word


@dataclass(frozen=True)
class Frame:
    """Where a clause stands: base tense, who speaks to whom (direct speech), whether tenses are shifted back, and its
    subject (as a member of the cast and as the phrase that a pronoun written in the line refers to)."""

    tense: str = "past"
    speaker: str = ""
    addressee: str = ""
    shifted: bool = False
    subject: str = ""
    antecedent: Node | None = None


class FrameChanges(TypedDict, total=False):
    """Fields of a `Frame` to replace."""

    tense: str
    speaker: str
    addressee: str
    shifted: bool
    subject: str
    antecedent: Node | None


@dataclass(frozen=True)
class Style:
    """Habits of one document: comma before the last conjunct, how often forms are contracted, tense of the narrative."""

    oxford_comma: bool
    contraction: float


@dataclass
class Predicate:
    """A finished verb phrase; `subject_suffix` is "pass" when its subject is a passive one."""

    node: Node
    subject_suffix: str


@dataclass
class GrammarState(ABC):
    """What all families share while one document is written: its state, and the builders that one family calls of another.

    The families are a chain of subclasses that ends in `English`. A family may call the builders of the families before it, and
    those declared here, which a later family defines.
    """

    rng: random.Random
    discourse: Discourse
    style: Style
    frame: Frame = field(default_factory=Frame)

    @contextlib.contextmanager
    def within(self, **changes: Unpack[FrameChanges]) -> Iterator[None]:
        """Change the frame for the clauses built inside the block."""
        before = self.frame
        self.frame = replace(before, **changes)
        try:
            yield
        finally:
            self.frame = before

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    @abstractmethod
    def adjective(self, form: str) -> Node:
        """An adjective, or a participle used as one."""

    @abstractmethod
    def adverb(self, form: str) -> Node:
        """An adverb as a leaf."""

    @abstractmethod
    def modified_run(self, run: list[str], determiner: str, counted: bool) -> list[str]:
        """The content words of a noun phrase, sometimes with an adjective or noun that commonly stands there."""

    @abstractmethod
    def noun_modifier(self, noun_phrase: Node, items: tuple[Item, ...]) -> Node:
        """A bracketed modifier after the noun."""

    @abstractmethod
    def gerund_phrase(self, preposition: str, group: Group) -> Node:
        """A preposition with a gerund clause."""

    @abstractmethod
    def clause_complement(self, group: Group, verb: str = "", subject: bool = False) -> tuple[Node, str, str]:
        """A clause in round brackets with its relations as complement."""

    @abstractmethod
    def finite(self, items: tuple[Item, ...], fronting: bool = False) -> Node:
        """S with subject and finite predicate."""

    @abstractmethod
    def nonfinite(self, items: tuple[Item, ...], form: str) -> Node:
        """S of an infinitive, gerund or past participle."""

    @abstractmethod
    def inverted(self, items: tuple[Item, ...]) -> Node:
        """SQ: the first auxiliary or the copula before the subject."""

    @abstractmethod
    def predicate(self, segments: list[tuple[Item, ...]], plural: bool, person: int = 3, form: str = "finite") -> Predicate:
        """Predicate from its verb segment and complements."""


def show(items: tuple[Item, ...]) -> str:
    """Items as notation again, for messages."""
    closing = {"(": ")", "[": "]", "<": ">"}
    return " ".join(f"{i.kind}{show(i.items)}{closing[i.kind]}" if isinstance(i, Group) else i for i in items)


def fault(reason: str, items: tuple[Item, ...]) -> AtlasError:
    """The error for a scenario line that the grammar cannot read."""
    return AtlasError(f"sample scenario: {reason} in {show(items)!r}; see notation.py for how lines are written.")


def is_group(item: Item | None, *kinds: str) -> TypeGuard[Group]:
    """Whether `item` is a bracketed part of one of these kinds."""
    return isinstance(item, Group) and item.kind in kinds


def word_in(item: Item | None, items: tuple[Item, ...]) -> str:
    """`item`, which must be a word of the segment `items`."""
    if not isinstance(item, str):
        raise fault("a word is missing", items)
    return item


def group_in(item: Item, items: tuple[Item, ...]) -> Group:
    """`item`, which must be a bracketed part of the segment `items`."""
    if not isinstance(item, Group):
        raise fault(f"no bracket opens where {item!r} stands", items)
    return item


def marker_and_content(items: tuple[Item, ...]) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The wh-phrase before the colon of a gapped clause, and the clause after it."""
    parts = split(items, ":")
    if len(parts) != 2:
        raise fault("a wh-clause needs one colon between its wh-phrase and its subject", items)
    return parts[0], parts[1]


def coordinate(label: str, parts: list[Node], conjunction: str, oxford: bool, name: str) -> Node:
    """`a, b(,) and c`. SD hangs commas, conjunction and conjuncts on the first conjunct; UD hangs the commas and the
    conjunction on the conjunct that follows them."""
    node = phrase(label, parts[0], name, f"{name} of three" if len(parts) > 2 else f"{name} of two")
    for position, part in enumerate(parts[1:], start=1):
        last = position == len(parts) - 1
        if len(parts) > 2 and (not last or oxford):
            node.add(comma(), "punct", "punct", ud_to=part)
        if last:
            node.add(word(conjunction, conjunction, "CCONJ", "CC"), "cc", "cc", ud_to=part)
        node.add(part, "conj", "conj")
    return node


def adverb_phrase(*adverbs: Node) -> Node:
    """ADVP; earlier adverbs modify the last one."""
    node = Node("ADVP")
    for adverb in adverbs[:-1]:
        node.add(adverb, "advmod", "advmod")
    return node.add(adverbs[-1], None, None)
