"""Statements: clauses of a document that can be told again, changed in form or in meaning."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sample_corpus.generate import Document
from sample_corpus.lexicon import collocations
from sample_corpus.main_clauses import (
    Clause,
    Phrase,
    Piece,
    Text,
    clause_of,
    is_plain,
    kind_of,
    plain_text,
    text_of,
    word_of,
    words_of,
)

_LONGEST = 34
_FRONTED = frozenset("after before during since in at near outside behind".split())
_COMMA = Piece(",", xpos=",", relation="punct")
_NOT = Piece("not", xpos="RB", relation="neg")
_DID = Piece("did", xpos="VBD", relation="aux")
MOVED = ("obl", "obl:tmod", "advcl")
"""Relations of phrases that may stand elsewhere, or be left out."""


@dataclass(frozen=True)
class Told:
    """A clause as a statement in parts, each of which can be left out, moved or exchanged.

    Attributes:
        clause: where it comes from.
        subject, verb: their words; the verb with its auxiliaries and what stands between.
        others: further phrases by their place after the verb, fronted ones last, each with its words.
    """

    clause: Clause
    subject: tuple[Piece, ...]
    verb: tuple[Piece, ...]
    others: tuple[tuple[Phrase, tuple[Piece, ...]], ...]


def statements(document: Document) -> list[Told]:
    """The clauses of a document that can be told again: no pronouns, a verb form that any subject takes."""
    found = []
    for number, sentence in enumerate(document.sentences):
        clause = clause_of(sentence, number)
        if clause is None or not _any_subject(clause):
            continue
        phrases = (clause.subject, *clause.others)
        pronouns = (t for p in phrases for t in sentence.tokens[p.start : p.stop] if t.upos == "PRON" and t.xpos != "WP")
        marks = {piece.text for piece in words_of(sentence, clause.subject)} & {",", "(", ")"}
        if marks or any(pronouns) or not all(is_plain(document, clause, p) for p in phrases):
            continue
        told = _told(clause)
        if len(plain_text(_in_order(told)).split()) <= _LONGEST:
            found.append(told)
    return found


def _any_subject(clause: Clause) -> bool:
    """Whether the finite verb has one form for all subjects: a past tense that is not of "be", or a modal."""
    tokens = clause.sentence.tokens
    finite = tokens[clause.auxiliaries[0] if clause.auxiliaries else clause.verb]
    return (finite.xpos in ("VBD", "MD")) and finite.lemma != "be"


def _told(clause: Clause) -> Told:
    sentence = clause.sentence
    before = [p for p in clause.others if p.stop <= clause.subject.start]
    between = [p for p in clause.others if clause.subject.stop <= p.start and p.stop <= clause.verb]
    after = [p for p in clause.others if p.start > clause.verb]
    verb = {clause.verb: (word_of(clause, clause.verb),)} | {i: (word_of(clause, i),) for i in clause.auxiliaries}
    verb |= {p.start: words_of(sentence, p) for p in between}
    return Told(
        clause,
        words_of(sentence, clause.subject),
        tuple(word for place in sorted(verb) for word in verb[place]),
        tuple((p, words_of(sentence, p)) for p in (*after, *before)),
    )


def exchanged(one: Told, told: Sequence[Told], rng: random.Random) -> Told | None:
    """The statement with another subject, or another phrase of the same kind, from its document."""
    choices = []
    tokens = one.clause.sentence.tokens
    kind = kind_of(tokens[one.clause.subject.head])
    for other in told:
        theirs = other.clause.sentence.tokens
        if other.subject != one.subject and kind_of(theirs[other.clause.subject.head]) == kind:
            choices.append(replace(one, subject=other.subject))
        for place, (phrase, words) in enumerate(one.others):
            for new, replacing in other.others:
                same = phrase.relation == new.relation and phrase.relation in ("obj", *MOVED)
                fits = same and words != replacing and (phrase.relation == "obj" or words[0].text == replacing[0].text)
                if fits and kind_of(tokens[phrase.head]) == kind_of(theirs[new.head]):
                    others = (*one.others[:place], (phrase, replacing), *one.others[place + 1 :])
                    choices.append(replace(one, others=others))
    return rng.choice(choices) if choices else None


def other_number(one: Told, rng: random.Random) -> Told | None:
    """The statement with another number in one of its phrases; None where it has none in digits."""
    for place, (phrase, words) in enumerate(one.others):
        for k, word in enumerate(words):
            digits = word.text.replace(",", "")
            # Years stay years; small numbers stay plural.
            if digits.isdecimal() and 2 < int(digits) < 1800:
                number = max(3, int(digits) + rng.choice((-1, 1)) * rng.randint(1, max(2, int(digits) // 3)))
                if number != int(digits):
                    changed = (
                        *words[:k],
                        replace(word, text=f"{number:,}" if "," in word.text else str(number)),
                        *words[k + 1 :],
                    )
                    others = (*one.others[:place], (phrase, changed), *one.others[place + 1 :])
                    return replace(one, others=others)
    return None


def _in_order(told: Told) -> list[Piece]:
    return [*told.subject, *told.verb, *(word for _, words in told.others for word in words)]


def retold(told: Told, rng: random.Random, keep: bool = False, drop: bool = False, deny: bool = False) -> Text:
    """The statement as a sentence: as it is (`keep`), else with near-synonyms, a phrase at the front, phrases left out."""
    others = list(told.others)
    front: tuple[Piece, ...] = ()
    if drop:
        others = [o for o in others if o[0].relation not in (*MOVED, "advmod") or rng.random() < 0.4]
    if not keep:
        front, others = fronted(told.clause, others, rng)
    verb = _denied(told) if deny else told.verb
    words = [*front, *told.subject, *verb, *(word for _, phrase in others for word in phrase)]
    if not keep:
        words = [near_synonym(word, rng) for word in words]
    return text_of(words, ".")


def fronted(
    clause: Clause, others: list[tuple[Phrase, tuple[Piece, ...]]], rng: random.Random
) -> tuple[tuple[Piece, ...], list[tuple[Phrase, tuple[Piece, ...]]]]:
    """Half of the time a phrase with its comma for the front, where one may stand there, and the phrases that are left."""
    movable = [o for o in others if _may_stand_first(clause, o[0])]
    if not movable or rng.random() >= 0.5:
        return (), others
    moved = rng.choice(movable)
    left = [o for o in others if o is not moved]
    return (*moved[1][:-1], replace(moved[1][-1], space=False), _COMMA), left


def _may_stand_first(clause: Clause, phrase: Phrase) -> bool:
    """Whether a phrase sounds well before the subject: a time, a place, or a clause."""
    if phrase.relation != "obl":
        return phrase.relation in MOVED
    inside = range(phrase.start, phrase.stop)
    time = any(e.type in ("DATE", "TIME") and e.start in inside and e.stop - 1 in inside for e in clause.sentence.entities)
    return time or clause.sentence.tokens[phrase.start].lemma in _FRONTED


def _denied(told: Told) -> tuple[Piece, ...]:
    before, first, after = split_verb(told)
    return (*before, first, _NOT, *after)


def split_verb(told: Told) -> tuple[tuple[Piece, ...], Piece, tuple[Piece, ...]]:
    """What stands before the first auxiliary, it (or "did", with the verb in its plain form), and what follows it."""
    clause = told.clause
    if clause.auxiliaries:
        first = word_of(clause, clause.auxiliaries[0])
        place = told.verb.index(first)
        return told.verb[:place], first, told.verb[place + 1 :]
    verb = word_of(clause, clause.verb)
    base = Piece(clause.sentence.tokens[clause.verb].lemma, xpos="VB", relation=verb.relation)
    return (), _DID, tuple(base if word == verb else word for word in told.verb)


def near_synonym(word: Piece, rng: random.Random) -> Piece:
    """The word, or half of the time an adjective of like meaning in its place."""
    # Words that take "a" stay with words that take "a".
    options = [o for o in collocations().synonyms["adjectives"].get(word.text, ()) if o[0] not in "aeiou"]
    if not options or word.text[0] in "aeiou" or rng.random() < 0.5:
        return word
    return replace(word, text=rng.choice(options))
