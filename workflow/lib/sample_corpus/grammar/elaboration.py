"""Variation that leaves the meaning in place: habitual modifiers, adverbs, near-synonyms, connecting adverbials."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from sample_corpus.grammar.base import GrammarState
from sample_corpus.lexicon import collocations, lexicon
from sample_corpus.notation import Group, Item, parse

_MODIFIER_RATE = 0.55
_DEFINITE_RATE = 0.22
_DEGREE_RATE = 0.35
_ADVERB_RATE = 0.55
_SYNONYM_RATE = 0.5
_CONNECTIVE_RATE = 0.1
_MOMENT_RATE = 0.5
_TIME_WORDS = frozenset(
    "t: after before since until when while during now still already once never always breakfast lunch supper".split()
)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_BARE_KINDS = frozenset({"substance"})


class Elaboration(GrammarState):
    """Draws on lexicon/collocations.yaml; `elaborating` switches it off for fixed wordings (names, dates)."""

    elaborating = True
    date: tuple[int, int] | None = None
    opened = -2

    @functools.cached_property
    def openings(self) -> list[str]:
        """Opening adverbials used so far in this document."""
        return []

    def modified_run(self, run: list[str], determiner: str, counted: bool) -> list[str]:
        """The content words of a noun phrase, sometimes with an adjective or noun that commonly stands there.

        Unchanged: noun phrases that already have adjectives, that continue an earlier mention, that name a member of
        the cast, and bare singulars such as "at night".
        """
        words, table = lexicon(), collocations().nouns
        head = run[-1]
        if not self.elaborating or head not in words.nouns or determiner in ("this", "these", "that", "those", "no", "another"):
            return run
        noun = words.nouns[head]
        options = table.get(noun.lemma)
        if options is None or any(form not in words.nouns for form in run) or len(run) > 2:
            return run
        if counted and noun.kind in ("time", "measure"):
            return run
        if not determiner and not noun.plural and noun.kind not in _BARE_KINDS:
            return run
        known = " ".join(run) in self.discourse.known_nouns or head in self.discourse.known_nouns
        if determiner == "the" and known:
            return run
        if any(entity.noun.split()[-1:] == [noun.lemma] for entity in self.discourse.cast.values()):
            return run
        if not self.chance(_MODIFIER_RATE if determiner in ("a", "an", "") else _DEFINITE_RATE):
            return run
        adjectives, nouns = options
        if nouns and len(run) == 1 and self.chance(0.5):
            compound = [self.rng.choice(nouns), *run]
            return [self.rng.choice(adjectives), *compound] if adjectives and self.chance(0.25) else compound
        return [self.rng.choice(adjectives), *run] if adjectives else run

    def synonym(self, kind: str, form: str) -> str:
        """A near-synonym of an adjective or verb lemma, or the word itself."""
        options = collocations().synonyms[kind].get(form)
        return self.rng.choice(options) if options and self.chance(_SYNONYM_RATE) else form

    def manner(self, lemma: str) -> str:
        """An adverb that goes with a verb, or ""."""
        options = collocations().verbs.get(lemma)
        return self.rng.choice(options) if options and self.elaborating and self.chance(_ADVERB_RATE) else ""

    def degree(self, adjective: str) -> str:
        """An adverb of degree for a predicative adjective that can be graded, or ""."""
        entry = lexicon().adjectives[adjective]
        if not self.elaborating or not self.chance(_DEGREE_RATE):
            return ""
        if entry.xpos == "JJR" and adjective != "more":
            return self.rng.choice(("far", "slightly", "even"))
        return self.rng.choice(("very", "quite", "rather")) if entry.xpos == "JJ" and entry.graded else ""

    def opening(self, clause: tuple[Item, ...]) -> tuple[Item, ...] | None:
        """An adverbial for the front of a sentence of the narrative, or None: a date that moves on through the document,
        a moment of a story, or a connecting phrase.

        A `clause` that already says when it happens gets no further time.
        """
        if self.discourse.sentence - self.opened < 2:
            return None
        choice = ""
        if self.discourse.opens_paragraph and self.chance(_MOMENT_RATE) and not _has_time(clause):
            moments = collocations().moments.get(self.discourse.domain)
            choice = self._unused(moments) if moments else self._next_date()
        elif self.chance(_CONNECTIVE_RATE):
            choice = self._unused(collocations().adverbials[self.discourse.domain])
        if not choice:
            return None
        self.opened = self.discourse.sentence
        return parse(choice)

    def _unused(self, options: list[str]) -> str:
        """One of the options that this document has not used yet, or ""."""
        unused = [option for option in options if option not in self.openings]
        if not unused:
            return ""
        self.openings.append(self.rng.choice(unused))
        return self.openings[-1]

    def _next_date(self) -> str:
        month, day = self.date or (self.rng.randrange(12), self.rng.randint(1, 20))
        if self.date:
            day += self.rng.randint(1, 9)
        if day > 28:
            month, day = (month + 1) % 12, day - 28
        self.date = (month, day)
        return f"on {_MONTHS[month]} {day}"


def _has_time(clause: tuple[Item, ...]) -> bool:
    """Whether the clause names a time: a time phrase, a clause of time, a weekday, month, year or time noun."""
    words = lexicon()
    for item in _flat(clause):
        if item in _TIME_WORDS or words.proper.get(item) in ("weekday", "month") or (item.isdigit() and len(item) == 4):
            return True
        if item in words.nouns and words.nouns[item].kind == "time":
            return True
    return False


def _flat(items: tuple[Item, ...]) -> Iterator[str]:
    for item in items:
        if isinstance(item, Group):
            yield from _flat(item.items)
        else:
            yield item
