"""Pairs of sentences on the sample corpus: paraphrases (as MRPC) and inferences (as MNLI).

Every label of a task gets the same changes of form (a phrase moved to the front, near-synonyms, phrases left out), so that no
form gives a label away; what differs is whether the meaning does.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attention_atlas.corpora.sample.generate import Document
from attention_atlas.corpora.sample.lexicon import collocations
from attention_atlas.corpora.sample.main_clauses import (
    Clause,
    Phrase,
    Piece,
    clause_of,
    is_plain,
    kind_of,
    plain_text,
    word_of,
    words_of,
)

MRPC_HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
MNLI_HEADER = "index\tsentence1\tsentence2\tgold_label\n"
PARAPHRASE, OTHER = "1", "0"
ENTAILED, NEUTRAL, CONTRADICTED = "entailment", "neutral", "contradiction"
_LONGEST = 34
_FRONTED = frozenset("after before during since in at near outside behind".split())
_MOVED = ("obl", "obl:tmod", "advcl")


@dataclass(frozen=True)
class _Told:
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


def mrpc_lines(documents: Iterable[Document], seed: int) -> Iterator[str]:
    """Rows in the columns of MRPC; about two in three are paraphrases, as there."""
    yield MRPC_HEADER
    for document in documents:
        rng = random.Random(f"mrpc-{seed}-{document.id}")
        told = _statements(document)
        for number, one in enumerate(told):
            same = rng.random() < 0.8
            changed = one if same else _exchanged(one, told, rng)
            if changed is None:
                continue
            first, second = _sentence(one, rng, keep=True), _sentence(changed, rng)
            if first == second:
                continue
            name = f"{document.id}-{number}"
            yield f"{PARAPHRASE if same else OTHER}\t{name}a\t{name}b\t{first}\t{second}\n"


def mnli_lines(documents: Iterable[Document], seed: int) -> Iterator[str]:
    """Rows in the columns of MNLI, the three labels alike often."""
    yield MNLI_HEADER
    for document in documents:
        rng = random.Random(f"mnli-{seed}-{document.id}")
        told = _statements(document)
        for number, one in enumerate(told):
            label = rng.choice((ENTAILED, NEUTRAL, CONTRADICTED))
            second = _hypothesis(one, told, label, rng)
            if second is not None:
                yield f"{document.id}-{number}\t{_sentence(one, rng, keep=True)}\t{second}\t{label}\n"


def _hypothesis(one: _Told, told: Sequence[_Told], label: str, rng: random.Random) -> str | None:
    others = [t for t in told if t is not one and t.subject != one.subject]
    if label == ENTAILED:
        return _sentence(one, rng, drop=True)
    if label == NEUTRAL:
        # What is said elsewhere, or said of somebody else, does not follow; some of it is denied, as contradictions are.
        changed = _exchanged(one, told, rng) if rng.random() < 0.5 else (rng.choice(others) if others else None)
        return _sentence(changed, rng, drop=True, deny=rng.random() < 0.4) if changed is not None else None
    numbers = _other_number(one, rng)
    if numbers is not None and rng.random() < 0.6:
        return _sentence(numbers, rng)
    return _sentence(one, rng, deny=True)


def _statements(document: Document) -> list[_Told]:
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


def _told(clause: Clause) -> _Told:
    sentence = clause.sentence
    before = [p for p in clause.others if p.stop <= clause.subject.start]
    between = [p for p in clause.others if clause.subject.stop <= p.start and p.stop <= clause.verb]
    after = [p for p in clause.others if p.start > clause.verb]
    verb = {clause.verb: (word_of(clause, clause.verb),)} | {i: (word_of(clause, i),) for i in clause.auxiliaries}
    verb |= {p.start: words_of(sentence, p) for p in between}
    return _Told(
        clause,
        words_of(sentence, clause.subject),
        tuple(word for place in sorted(verb) for word in verb[place]),
        tuple((p, words_of(sentence, p)) for p in (*after, *before)),
    )


def _exchanged(one: _Told, told: Sequence[_Told], rng: random.Random) -> _Told | None:
    """The statement with another subject, or another phrase of the same kind, from its document."""
    choices = []
    tokens = one.clause.sentence.tokens
    kind = kind_of(tokens[one.clause.subject.head])
    for other in told:
        theirs = other.clause.sentence.tokens
        if other.subject != one.subject and kind_of(theirs[other.clause.subject.head]) == kind:
            choices.append(_Told(one.clause, other.subject, one.verb, one.others))
        for place, (phrase, words) in enumerate(one.others):
            for new, replacing in other.others:
                same = phrase.relation == new.relation and phrase.relation in ("obj", *_MOVED)
                fits = same and words != replacing and (phrase.relation == "obj" or words[0].text == replacing[0].text)
                if fits and kind_of(tokens[phrase.head]) == kind_of(theirs[new.head]):
                    others = (*one.others[:place], (phrase, replacing), *one.others[place + 1 :])
                    choices.append(_Told(one.clause, one.subject, one.verb, others))
    return rng.choice(choices) if choices else None


def _other_number(one: _Told, rng: random.Random) -> _Told | None:
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
                        Piece(f"{number:,}" if "," in word.text else str(number), word.space),
                        *words[k + 1 :],
                    )
                    others = (*one.others[:place], (phrase, changed), *one.others[place + 1 :])
                    return _Told(one.clause, one.subject, one.verb, others)
    return None


def _in_order(told: _Told) -> list[Piece]:
    return [*told.subject, *told.verb, *(word for _, words in told.others for word in words)]


def _sentence(told: _Told, rng: random.Random, keep: bool = False, drop: bool = False, deny: bool = False) -> str:
    """The statement as a sentence: as it is (`keep`), else with near-synonyms, a phrase at the front, phrases left out."""
    others = list(told.others)
    front: tuple[Piece, ...] = ()
    if drop:
        others = [o for o in others if o[0].relation not in (*_MOVED, "advmod") or rng.random() < 0.4]
    movable = [o for o in others if _may_stand_first(told.clause, o[0])]
    if not keep and movable and rng.random() < 0.5:
        moved = rng.choice(movable)
        others.remove(moved)
        front = (*moved[1][:-1], Piece(moved[1][-1].text + ","))
    verb = _denied(told) if deny else told.verb
    words = [*front, *told.subject, *verb, *(word for _, phrase in others for word in phrase)]
    if not keep:
        words = [_near_synonym(word, rng) for word in words]
    text = plain_text(words)
    return text[0].upper() + text[1:] + "."


def _may_stand_first(clause: Clause, phrase: Phrase) -> bool:
    """Whether a phrase sounds well before the subject: a time, a place, or a clause."""
    if phrase.relation != "obl":
        return phrase.relation in _MOVED
    inside = range(phrase.start, phrase.stop)
    time = any(e.type in ("DATE", "TIME") and e.start in inside and e.stop - 1 in inside for e in clause.sentence.entities)
    return time or clause.sentence.tokens[phrase.start].lemma in _FRONTED


def _denied(told: _Told) -> tuple[Piece, ...]:
    clause = told.clause
    if clause.auxiliaries:
        first = word_of(clause, clause.auxiliaries[0])
        place = told.verb.index(first)
        return (*told.verb[: place + 1], Piece("not"), *told.verb[place + 1 :])
    verb = word_of(clause, clause.verb)
    lemma = clause.sentence.tokens[clause.verb].lemma
    return (Piece("did"), Piece("not"), *(Piece(lemma) if word == verb else word for word in told.verb))


def _near_synonym(word: Piece, rng: random.Random) -> Piece:
    # Words that take "a" stay with words that take "a".
    options = [o for o in collocations().synonyms["adjectives"].get(word.text, ()) if o[0] not in "aeiou"]
    if not options or word.text[0] in "aeiou" or rng.random() < 0.5:
        return word
    return Piece(rng.choice(options), word.space)
