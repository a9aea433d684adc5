"""Mentions: spans of words that refer to something, with their head words by several rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

HEAD_RULES = ("constituents", "dependency", "surface", "last")
BEST_HEAD_RULE = ("dependency", "constituents", "surface", "last")
"""The same, the most reliable one first."""
PRONOUN, PROPER, NOMINAL = "pronoun", "proper", "nominal"
MENTION_TYPES = (PRONOUN, PROPER, NOMINAL)

PRONOUNS = frozenset(
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself "
    "it its itself they them their theirs themselves this that these those who whom whose which one oneself thou thee thy "
    "thine".split()
)
# Words that end the part of a noun phrase with its head, for text without parse and tags.
_AFTER_HEAD = frozenset(
    "of in on at by for from to with about into over after before between through without under against among near that who "
    "whom whose which where when , ; : ( - -- and or".split()
)
_NOUN = re.compile(r"\w")


@dataclass(frozen=True)
class Mention:
    """A mention in one example; positions are words of the example, counted from 0.

    Attributes:
        start, stop: its words, stop excluded.
        cluster: name of its chain, unique in the document.
        first: whether it is the chain's first in the whole document.
        singleton: whether the chain has no other mention in the whole document.
        heads: head rule -> position of the head word, for the rules that the source supports.
        role: pronoun, A or B in GAP; "" in coreference corpora.
        entity: type of the named entity that its head word belongs to; "" if there is none.
    """

    start: int
    stop: int
    cluster: str
    first: bool = False
    singleton: bool = False
    heads: dict[str, int] = field(default_factory=dict)
    role: str = ""
    entity: str = ""


def surface_head(words: Sequence[str]) -> int:
    """Head of a noun phrase by its surface: the last word before a preposition, relative word, comma or conjunction.

    A rule for sources without parse or tags. A possessive 's or a closing mark is never the head; for a phrase that starts with
    such a word, the head is the last word.
    """
    stop = next((k for k, word in enumerate(words) if k > 0 and word.lower() in _AFTER_HEAD), len(words))
    inside = [k for k in range(stop) if _NOUN.search(words[k]) and words[k].lower() not in ("'s", "’s")]
    return inside[-1] if inside else len(words) - 1


def dependency_head(start: int, stop: int, heads: Sequence[int]) -> int:
    """The word of a span whose head lies outside of it; if there are several, the one that dominates most of the span.

    Args:
        start, stop: the span, positions from 0, stop excluded.
        heads: for each word of the sentence the position of its head counted from 1, 0 for the root.
    """
    roots = [k for k in range(start, stop) if not start < heads[k] <= stop]
    if len(roots) == 1:
        return roots[0]
    below = dict.fromkeys(roots, 0)
    for k in range(start, stop):
        word = k
        while word not in below:
            word = heads[word] - 1
        below[word] += 1
    return max(roots, key=lambda root: (below[root], root))


def mention_type(head: str, tag: str, starts_sentence: bool, span: Sequence[str]) -> str:
    """pronoun, proper or nominal, by the tag of the head word (PRP, PRP$; NNP, NNPS), or by its surface if there is no tag.

    By surface: pronoun if it is in the closed class of pronouns; proper if it is capitalised other than at the start of the
    sentence; otherwise nominal.

    Args:
        head: the head word.
        tag: its part of speech in Penn's tag set, "_" or "" if unknown.
        starts_sentence: whether the head is the first word of its sentence.
        span: all words of the mention.
    """
    if tag not in ("", "_", "-"):
        return PRONOUN if tag.startswith("PRP") else PROPER if tag.startswith("NNP") else NOMINAL
    if head.lower() in PRONOUNS and len(span) == 1:
        return PRONOUN
    determined = len(span) > 1 and span[0].lower() in ("a", "an")
    return PROPER if head[:1].isupper() and not starts_sentence and not determined else NOMINAL
