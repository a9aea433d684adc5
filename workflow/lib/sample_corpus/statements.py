"""Statements: clauses of a document that can be reused in a new sentence, changed in form or in meaning."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sample_corpus.generate import Document
from sample_corpus.lexicon import collocations
from sample_corpus.main_clauses import (
    MAIN,
    Clause,
    Phrase,
    Text,
    Word,
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
_COMMA = Word(",", xpos=",", relation="punct", head=MAIN)
_NOT = Word("not", xpos="RB", relation="neg", head=MAIN)
_DID = Word("did", xpos="VBD", relation="aux", head=MAIN)
MOVED = ("obl", "obl:tmod", "advcl")
"""Relations of phrases that may move or be omitted."""


@dataclass(frozen=True)
class Statement:
    """A clause in parts, each of which can be omitted, moved or replaced.

    Attributes:
        clause: the clause.
        subject, verb: their words; the verb with its auxiliaries and the words between them.
        dependents: further dependents of the verb by their place after it, fronted ones last, each with its words.
    """

    clause: Clause
    subject: tuple[Word, ...]
    verb: tuple[Word, ...]
    dependents: tuple[tuple[Phrase, tuple[Word, ...]], ...]


def statements_of(document: Document) -> list[Statement]:
    """The clauses of a document without pronouns and with a verb form that any subject takes."""
    statements = []
    for number, sentence in enumerate(document.sentences):
        clause = clause_of(sentence, number)
        if clause is None or not _any_subject(clause):
            continue
        phrases = (clause.subject, *clause.dependents)
        pronouns = (t for p in phrases for t in sentence.tokens[p.start : p.stop] if t.upos == "PRON" and t.xpos != "WP")
        marks = {word.text for word in words_of(sentence, clause.subject)} & {",", "(", ")"}
        if marks or any(pronouns) or not all(is_plain(document, clause, p) for p in phrases):
            continue
        statement = _statement(clause)
        if len(plain_text(_in_order(statement)).split()) <= _LONGEST:
            statements.append(statement)
    return statements


def _any_subject(clause: Clause) -> bool:
    """Whether the finite verb has one form for all subjects: a past tense that is not of "be", or a modal."""
    tokens = clause.sentence.tokens
    finite = tokens[clause.auxiliaries[0] if clause.auxiliaries else clause.verb]
    return (finite.xpos in ("VBD", "MD")) and finite.lemma != "be"


def _statement(clause: Clause) -> Statement:
    sentence = clause.sentence
    before = [p for p in clause.dependents if p.stop <= clause.subject.start]
    between = [p for p in clause.dependents if clause.subject.stop <= p.start and p.stop <= clause.verb]
    after = [p for p in clause.dependents if p.start > clause.verb]
    verb: dict[int, tuple[Word, ...]] = {i: (word_of(clause, i),) for i in (clause.verb, *clause.auxiliaries)}
    verb |= {p.start: words_of(sentence, p) for p in between}
    return Statement(
        clause,
        words_of(sentence, clause.subject),
        tuple(word for place in sorted(verb) for word in verb[place]),
        tuple((p, words_of(sentence, p)) for p in (*after, *before)),
    )


def with_substitution(statement: Statement, statements: Sequence[Statement], rng: random.Random) -> Statement | None:
    """The statement with the subject, or a phrase of the same kind, of another statement of its document.

    None where no statement has one that fits.
    """
    variants = []
    tokens = statement.clause.sentence.tokens
    kind = kind_of(tokens[statement.clause.subject.head])
    for source in statements:
        source_tokens = source.clause.sentence.tokens
        if source.subject != statement.subject and kind_of(source_tokens[source.clause.subject.head]) == kind:
            variants.append(replace(statement, subject=source.subject))
        for place, (phrase, words) in enumerate(statement.dependents):
            for new, new_words in source.dependents:
                same = phrase.relation == new.relation and phrase.relation in ("obj", *MOVED)
                fits = same and words != new_words and (phrase.relation == "obj" or words[0].text == new_words[0].text)
                if fits and kind_of(tokens[phrase.head]) == kind_of(source_tokens[new.head]):
                    variants.append(_with_words(statement, place, new_words))
    return rng.choice(variants) if variants else None


def _with_words(statement: Statement, place: int, words: tuple[Word, ...]) -> Statement:
    """The statement with other words for the dependent at a place."""
    dependents = list(statement.dependents)
    dependents[place] = (dependents[place][0], words)
    return replace(statement, dependents=tuple(dependents))


def with_changed_number(statement: Statement, rng: random.Random) -> Statement | None:
    """The statement with another number in one of its phrases; None where it has none in digits."""
    for place, (_, words) in enumerate(statement.dependents):
        for k, word in enumerate(words):
            digits = word.text.replace(",", "")
            # Years stay years; small numbers stay plural.
            if digits.isdecimal() and 2 < int(digits) < 1800:
                number = max(3, int(digits) + rng.choice((-1, 1)) * rng.randint(1, max(2, int(digits) // 3)))
                if number != int(digits):
                    changed = replace(word, text=f"{number:,}" if "," in word.text else str(number))
                    return _with_words(statement, place, (*words[:k], changed, *words[k + 1 :]))
    return None


def _in_order(statement: Statement) -> list[Word]:
    return [*statement.subject, *statement.verb, *(word for _, words in statement.dependents for word in words)]


def realise(statement: Statement, rng: random.Random, keep: bool = False, drop: bool = False, negate: bool = False) -> Text:
    """The statement as a sentence.

    Args:
        statement: the statement.
        rng: for the choices.
        keep: change no word and no order; else near-synonyms replace words, and a phrase may move to the front.
        drop: omit some of the phrases that may be omitted.
        negate: negate the verb.
    """
    dependents = list(statement.dependents)
    front: tuple[Word, ...] = ()
    if drop:
        dependents = [d for d in dependents if d[0].relation not in (*MOVED, "advmod") or rng.random() < 0.4]
    if not keep:
        front, dependents = fronted(statement.clause, dependents, rng)
    verb = _negated_verb(statement) if negate else statement.verb
    words = [*front, *statement.subject, *verb, *(word for _, phrase in dependents for word in phrase)]
    if not keep:
        words = [near_synonym(word, rng) for word in words]
    return text_of(words, ".")


def fronted(
    clause: Clause, dependents: list[tuple[Phrase, tuple[Word, ...]]], rng: random.Random
) -> tuple[tuple[Word, ...], list[tuple[Phrase, tuple[Word, ...]]]]:
    """Half of the time a phrase that may stand at the front, with its comma; and the phrases that stay at their places."""
    movable = [d for d in dependents if _may_stand_first(clause, d[0])]
    if not movable or rng.random() >= 0.5:
        return (), dependents
    moved = rng.choice(movable)
    remaining = [d for d in dependents if d is not moved]
    return (*moved[1][:-1], replace(moved[1][-1], space=False), _COMMA), remaining


def _may_stand_first(clause: Clause, phrase: Phrase) -> bool:
    """Whether a phrase sounds well before the subject: a time, a place, or a clause."""
    if phrase.relation != "obl":
        return phrase.relation in MOVED
    inside = range(phrase.start, phrase.stop)
    time = any(e.type in ("DATE", "TIME") and e.start in inside and e.stop - 1 in inside for e in clause.sentence.entities)
    return time or clause.sentence.tokens[phrase.start].lemma in _FRONTED


def _negated_verb(statement: Statement) -> tuple[Word, ...]:
    before, first, after = split_verb(statement)
    return (*before, first, _NOT, *after)


def split_verb(statement: Statement) -> tuple[tuple[Word, ...], Word, tuple[Word, ...]]:
    """The words before the first auxiliary, the auxiliary (or "did", with the verb in its base form), and those after it."""
    clause = statement.clause
    if clause.auxiliaries:
        first = word_of(clause, clause.auxiliaries[0])
        place = statement.verb.index(first)
        return statement.verb[:place], first, statement.verb[place + 1 :]
    verb = word_of(clause, clause.verb)
    base = replace(verb, text=clause.sentence.tokens[clause.verb].lemma, xpos="VB")
    return (), _DID, tuple(base if word == verb else word for word in statement.verb)


def near_synonym(word: Word, rng: random.Random) -> Word:
    """The word, or half of the time an adjective of similar meaning in its place."""
    # Words that take "a" stay with words that take "a".
    options = [o for o in collocations().synonyms["adjectives"].get(word.text, ()) if o[0] not in "aeiou"]
    if not options or word.text[0] in "aeiou" or rng.random() < 0.5:
        return word
    return replace(word, text=rng.choice(options))
