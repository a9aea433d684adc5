"""Variation that leaves the meaning in place: habitual modifiers, adverbs, near-synonyms, connecting adverbials."""

from __future__ import annotations

from collections.abc import Iterator

from attention_atlas.corpora.sample.grammar.base import GrammarState
from attention_atlas.corpora.sample.lexicon import collocations, lexicon
from attention_atlas.corpora.sample.notation import Group, Item, parse

_MODIFIER_RATE = 0.5
_ADVERB_RATE = 0.4
_SYNONYM_RATE = 0.5
_CONNECTIVE_RATE = 0.1
_MOMENT_RATE = 0.35
_TIME_WORDS = frozenset("t: after before since until when while during now still already once never always".split())
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_BARE_KINDS = frozenset({"substance"})


class Elaboration(GrammarState):
    """Draws on lexicon/collocations.yaml; `elaborating` switches it off for fixed wordings (names, dates)."""

    elaborating = True
    date: tuple[int, int] | None = None

    def modified_run(self, run: list[str], determiner: str, counted: bool) -> list[str]:
        """The content words of a noun phrase, sometimes with an adjective or noun that commonly stands there.

        Left alone: noun phrases that already have adjectives, that continue an earlier mention, that name a member of
        the cast, and bare singulars such as "at night".
        """
        words, table = lexicon(), collocations().nouns
        head = run[-1]
        if not self.elaborating or head not in words.nouns or determiner in ("this", "these", "that", "those", "no"):
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
        if not self.chance(_MODIFIER_RATE):
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

    def opening(self, body: list[tuple[Item, ...]]) -> tuple[Item, ...] | None:
        """An adverbial for the front of a sentence of the narrative, or None: a date that moves on through the document,
        a moment of a story, or a connecting phrase.

        `body` holds the segments of the clause; one that already says when it happens gets no further time.
        """
        if self.chance(_MOMENT_RATE) and not _has_time(body):
            moments = collocations().moments.get(self.discourse.domain)
            return parse(self.rng.choice(moments)) if moments else self._next_date()
        if self.chance(_CONNECTIVE_RATE):
            return parse(self.rng.choice(collocations().adverbials[self.discourse.domain]))
        return None

    def _next_date(self) -> tuple[Item, ...]:
        month, day = self.date or (self.rng.randrange(12), self.rng.randint(1, 20))
        if self.date:
            day += self.rng.randint(1, 9)
        if day > 28:
            month, day = (month + 1) % 12, day - 28
        self.date = (month, day)
        return parse(f"on {_MONTHS[month]} {day}")


def _has_time(body: list[tuple[Item, ...]]) -> bool:
    """Whether a segment names a time: a time phrase, a clause of time, a weekday, month, year or time noun."""
    words = lexicon()
    for item in (item for segment in body for item in _flat(segment)):
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
