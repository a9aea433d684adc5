"""State and small builders shared by the construction families of the grammar."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from attention_atlas.errors import AtlasError
from sample_corpus.notation import Group, Item
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


@dataclass(frozen=True)
class Style:
    """Habits of one document: comma before the last conjunct, how often forms are contracted, tense of the narrative."""

    oxford_comma: bool
    contraction: float


@dataclass
class GrammarState:
    """What all families share while one document is written."""

    rng: random.Random
    discourse: Discourse
    style: Style
    frame: Frame = field(default_factory=Frame)

    @contextlib.contextmanager
    def within(self, **changes: object) -> Iterator[None]:
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


def show(items: tuple[Item, ...]) -> str:
    """Items as notation again, for messages."""
    closing = {"(": ")", "[": "]", "<": ">"}
    return " ".join(f"{i.kind}{show(i.items)}{closing[i.kind]}" if isinstance(i, Group) else i for i in items)


def fault(reason: str, items: tuple[Item, ...]) -> AtlasError:
    """The error for a scenario line that the grammar cannot read."""
    return AtlasError(f"sample scenario: {reason} in {show(items)!r}; see notation.py for how lines are written.")


def is_group(item: Item | None, *kinds: str) -> bool:
    """Whether `item` is a bracketed part of one of these kinds."""
    return isinstance(item, Group) and item.kind in kinds


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
