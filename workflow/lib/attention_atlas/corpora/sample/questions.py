"""Questions on the paragraphs of the sample corpus, with their answers, made from the UD trees.

A clause is taken apart into its verb and the phrases that depend on it; one phrase is asked for, the others are kept. A pronoun
as subject becomes the name of whom it refers to, so that the sentence that answers need not hold a word of its subject.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from attention_atlas.corpora.sample.generate import Document, Mention, Sentence, Token
from attention_atlas.corpora.sample.lexicon import find_verb, lexicon

_DROPPED = frozenset({"punct", "cc", "conj", "parataxis", "cc:preconj"})
_SUBJECTS = ("nsubj", "nsubj:pass")
_AUXILIARIES = ("aux", "aux:pass")
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_WHEN = frozenset("on in at before after by during".split())
_WHERE = frozenset("in at near beside behind on inside outside under".split())
_PERSONS = ("person", "group")
_LONGEST, _PER_SENTENCE = 22, 2


@dataclass(frozen=True)
class _Piece:
    """A word of a question, and whether a space follows."""

    text: str
    space: bool = True


@dataclass(frozen=True)
class _Phrase:
    """A dependent of the verb with all that depends on it: tokens start .. stop - 1 (from 0), all of one stretch."""

    relation: str
    head: int
    start: int
    stop: int


@dataclass(frozen=True)
class _Clause:
    """The main clause of a sentence.

    Attributes:
        sentence: the sentence; number: its place in the document.
        verb: its main verb.
        auxiliaries: positions of its auxiliaries.
        subject: its subject.
        others: further phrases in order, without coordination and punctuation.
    """

    sentence: Sentence
    number: int
    verb: int
    auxiliaries: tuple[int, ...]
    subject: _Phrase
    others: tuple[_Phrase, ...]


@dataclass(frozen=True)
class _Asked:
    """A question and its answers: tokens of the clause's sentence, the whole phrase first where a shorter one will do."""

    words: tuple[_Piece, ...]
    answers: tuple[tuple[int, int], ...]


def squad_json(documents: Iterable[Document], seed: int) -> str:
    """Documents as a file of SQuAD v1.1, a paragraph of the text a passage; paragraphs without a question are left out."""
    articles = []
    for document in documents:
        paragraphs = [entry for entry in _paragraphs(document, random.Random(f"{seed}-{document.id}")) if entry["qas"]]
        if paragraphs:
            articles.append({"title": document.id, "paragraphs": paragraphs})
    return json.dumps({"version": "1.1", "data": articles}, ensure_ascii=False, indent=0) + "\n"


def _paragraphs(document: Document, rng: random.Random) -> Iterator[dict[str, Any]]:
    number = 0
    for place, sentences in enumerate(document.paragraphs, start=1):
        context, starts = "", []
        for sentence in sentences:
            starts.append(len(context))
            context += sentence.text + " "
        questions = []
        for sentence, start in zip(sentences, starts, strict=True):
            clause = _clause(sentence, number)
            number += 1
            found = list(_questions(document, clause)) if clause is not None else []
            for asked in rng.sample(found, min(len(found), _PER_SENTENCE)):
                spans = [_characters(sentence, *span) for span in asked.answers]
                answers = [{"text": context[start + a : start + b], "answer_start": start + a} for a, b in spans]
                name = f"{document.id}-{place}-{len(questions) + 1}"
                questions.append({"id": name, "question": _written(asked.words), "answers": answers})
        yield {"context": context.rstrip(), "qas": questions}


def _clause(sentence: Sentence, number: int) -> _Clause | None:
    """The main clause, None where the sentence is none that can be asked about: quoted, negated, without a verb or subject."""
    tokens = sentence.tokens
    if any(t.xpos in ("``", "''", "EX") or t.lemma in ("not", "n't", "neither", "nor", "never") for t in tokens):
        return None
    verb = next(i for i, t in enumerate(tokens) if t.ud_head == 0)
    if tokens[verb].upos != "VERB" or tokens[-1].form != ".":
        return None
    below = [i for i, t in enumerate(tokens) if t.ud_head == verb + 1]
    relations = [tokens[i].ud_relation for i in below]
    if "expl" in relations or sum(r in _SUBJECTS for r in relations) != 1:
        return None
    auxiliaries = tuple(i for i in below if tokens[i].ud_relation in _AUXILIARIES)
    finite = auxiliaries[0] if auxiliaries else verb
    if tokens[finite].xpos not in ("VBD", "VBZ", "VBP", "MD"):
        return None
    phrases = []
    for i in below:
        if i not in auxiliaries and tokens[i].ud_relation not in _DROPPED:
            phrase = _phrase(tokens, i)
            if phrase is None:
                return None
            phrases.append(phrase)
    subject = next(p for p in phrases if p.relation in _SUBJECTS)
    if subject.start > verb:
        return None
    return _Clause(sentence, number, verb, auxiliaries, subject, tuple(p for p in phrases if p is not subject))


def _phrase(tokens: Sequence[Token], head: int) -> _Phrase | None:
    """The phrase of a head without the commas at its ends, None where other words stand in its midst."""
    inside = {head}
    grown = True
    while grown:
        more = {i for i, t in enumerate(tokens) if t.ud_head - 1 in inside} - inside
        inside |= more
        grown = bool(more)
    start, stop = min(inside), max(inside) + 1
    if len(inside) != stop - start:
        return None
    while tokens[start].upos == "PUNCT":
        start += 1
    while tokens[stop - 1].upos == "PUNCT":
        stop -= 1
    return _Phrase(tokens[head].ud_relation, head, start, stop)


def _questions(document: Document, clause: _Clause) -> Iterator[_Asked]:
    """All questions on a clause that can be put into good English."""
    tokens = clause.sentence.tokens
    if not _plain(document, clause, clause.subject) or "," in (
        t.form for t in tokens[clause.subject.start : clause.subject.stop]
    ):
        subject = None
    else:
        subject = _words(clause.sentence, clause.subject)
    if tokens[clause.subject.head].upos != "PRON":
        words = (_Piece(_who(document, clause, clause.subject)), *_finite_third(clause), *_rest(clause))
        yield from _kept(document, clause, clause.subject, words, ((clause.subject.start, clause.subject.stop),))
        name = subject
    else:
        name = _name(document, clause)
    if name is None:
        return
    for phrase in clause.others:
        for opening, answers, left in _openings(document, clause, phrase):
            words = (*opening, *_inverted(clause, name), *_rest(clause, phrase, left))
            yield from _kept(document, clause, phrase, words, answers)


def _kept(
    document: Document, clause: _Clause, asked: _Phrase, words: Sequence[_Piece], answers: tuple[tuple[int, int], ...]
) -> Iterator[_Asked]:
    """The question, unless it is long, or a pronoun in it or in its answer refers to somebody that it does not name."""
    others = [p for p in (clause.subject, *clause.others) if p is not asked and p is not clause.subject]
    if len(words) <= _LONGEST and all(_plain(document, clause, p) for p in (*others, asked)):
        yield _Asked(tuple(words), answers)


def _plain(document: Document, clause: _Clause, phrase: _Phrase) -> bool:
    """Whether all pronouns of a phrase refer to the subject of the clause (a personal pronoun as object never does)."""
    tokens = clause.sentence.tokens
    subject = _mention(document, clause, clause.subject)
    for i in range(phrase.start, phrase.stop):
        if tokens[i].xpos in ("PRP", "PRP$", "WP", "DT") and tokens[i].upos == "PRON":
            own = [m for m in document.mentions if (m.sentence, m.start, m.stop) == (clause.number, i, i + 1)]
            bound = tokens[i].xpos == "PRP$" or tokens[i].lemma.endswith(("self", "selves"))
            if tokens[i].xpos == "WP":
                continue
            if not bound or subject is None or not own or own[0].entity != subject.entity:
                return False
    return True


def _openings(
    document: Document, clause: _Clause, phrase: _Phrase
) -> Iterator[tuple[tuple[_Piece, ...], tuple[tuple[int, int], ...], tuple[_Piece, ...]]]:
    """Question words for a phrase, the answers that they ask for, and what of the phrase stays at its place."""
    tokens = clause.sentence.tokens
    whole = (phrase.start, phrase.stop)
    first = tokens[phrase.start]
    if phrase.relation == "obj":
        if tokens[phrase.head].upos == "PRON":
            return
        yield (_Piece(_who(document, clause, phrase)),), (whole,), ()
        number = next((i for i, t in enumerate(tokens) if t.ud_head - 1 == phrase.head and t.ud_relation == "nummod"), None)
        counted = _phrase(tokens, number) if number is not None else None
        if counted and tokens[phrase.head].xpos == "NNS" and first.form != "$" and counted.start == phrase.start:
            noun = _words(clause.sentence, _Phrase("", phrase.head, counted.stop, phrase.stop))
            if len(noun) <= 4:
                yield (
                    (_Piece("how"), _Piece("many"), *noun),
                    ((counted.start, counted.stop), (counted.stop - 1, counted.stop)),
                    (),
                )
    elif phrase.relation in ("obl", "obl:tmod"):
        inner = (phrase.start + 1, phrase.stop)
        case = first.lemma if first.ud_relation == "case" else ""
        types = {e.type for e in clause.sentence.entities if (e.start, e.stop) in (whole, inner)}
        kind = _kind(tokens[phrase.head])
        if types & {"DATE", "TIME"} and (case in _WHEN or (not case and first.lemma not in ("every", "each"))):
            yield (_Piece("when"),), (whole, inner) if case else (whole,), ()
        elif case in _WHERE and (types & {"GPE", "LOC", "FAC"} or kind == "place"):
            yield (_Piece("where"),), (whole, inner), ()


def _who(document: Document, clause: _Clause, phrase: _Phrase) -> str:
    tokens = clause.sentence.tokens
    mention = _mention(document, clause, phrase)
    gender = document.gender.get(mention.entity) if mention is not None else None
    named = any(e.type == "PERSON" and e.start <= phrase.head < e.stop for e in clause.sentence.entities)
    return "who" if gender in ("he", "she") or named or _kind(tokens[phrase.head]) in _PERSONS else "what"


def _kind(token: Token) -> str:
    noun = lexicon().nouns.get(token.lemma)
    return noun.kind if noun is not None and token.upos == "NOUN" else ""


def _mention(document: Document, clause: _Clause, phrase: _Phrase) -> Mention | None:
    """The mention that begins where a phrase begins and holds its head, the longest of them."""
    found = [
        m
        for m in document.mentions
        if m.sentence == clause.number and m.start == phrase.start and m.start <= phrase.head < m.stop
    ]
    return max(found, key=lambda m: m.stop, default=None)


def _name(document: Document, clause: _Clause) -> tuple[_Piece, ...] | None:
    """The name of whom the subject, a personal pronoun, refers to; or a short phrase with "the" for what it refers to."""
    pronoun = _mention(document, clause, clause.subject)
    if pronoun is None:
        return None
    for kind in ("proper", "nominal"):
        for mention in document.mentions:
            if mention.entity != pronoun.entity or mention.type != kind:
                continue
            sentence = document.sentences[mention.sentence]
            stop = mention.start
            while stop < mention.stop and sentence.tokens[stop].xpos.startswith("NNP"):
                stop += 1
            if kind == "proper" and stop > mention.start:
                return _words(sentence, _Phrase("", mention.start, mention.start, stop))
            short = mention.stop - mention.start <= 4 and sentence.tokens[mention.start].form in ("the", "The")
            if kind == "nominal" and short:
                return _words(sentence, _Phrase("", mention.head, mention.start, mention.stop))
    return None


def _words(sentence: Sentence, phrase: _Phrase) -> tuple[_Piece, ...]:
    """The words of a phrase; the first of a sentence loses its capital letter unless it is a name."""
    words = []
    for i in range(phrase.start, phrase.stop):
        token = sentence.tokens[i]
        lowered = i == 0 and token.upos != "PROPN" and token.form != "I"
        form = token.form[0].lower() + token.form[1:] if lowered else token.form
        words.append(_Piece(form, token.space_after or i == phrase.stop - 1))
    return tuple(words)


def _word(clause: _Clause, place: int) -> _Piece:
    return _words(clause.sentence, _Phrase("", place, place, place + 1))[0]


def _finite_third(clause: _Clause) -> tuple[_Piece, ...]:
    """Auxiliaries, adverbs between, and the verb, in the singular that "who" and "what" take."""
    tokens = clause.sentence.tokens
    first = clause.auxiliaries[0] if clause.auxiliaries else clause.verb
    form = tokens[first].form
    if first == clause.verb and tokens[first].xpos == "VBP":
        form = find_verb(tokens[first].lemma).third
    words = [_Piece(_SINGULAR.get(form, form) if clause.auxiliaries else form)]
    for place in range(first + 1, clause.verb + 1):
        if place == clause.verb or place in clause.auxiliaries:
            words.append(_word(clause, place))
        else:
            words += [w for p in clause.others if p.head == place and p.stop <= clause.verb for w in _words(clause.sentence, p)]
    before = [p for p in clause.others if clause.subject.stop <= p.start and p.stop <= first]
    return tuple([w for p in before for w in _words(clause.sentence, p)] + words)


def _inverted(clause: _Clause, name: Sequence[_Piece]) -> tuple[_Piece, ...]:
    """The first auxiliary, or a form of "do", then the subject, and the verb with what stands between."""
    tokens = clause.sentence.tokens
    between = [p for p in clause.others if clause.subject.stop <= p.start and p.stop <= clause.verb]
    middle = {p.start: _words(clause.sentence, p) for p in between}
    middle |= {i: (_word(clause, i),) for i in clause.auxiliaries[1:]}
    if clause.auxiliaries:
        first, verb = _word(clause, clause.auxiliaries[0]), _word(clause, clause.verb)
    else:
        first = _Piece({"VBD": "did", "VBZ": "does", "VBP": "do"}[tokens[clause.verb].xpos])
        verb = _Piece(tokens[clause.verb].lemma)
    return (first, *name, *(w for place in sorted(middle) for w in middle[place]), verb)


def _rest(clause: _Clause, asked: _Phrase | None = None, left: Sequence[_Piece] = ()) -> tuple[_Piece, ...]:
    """What follows the verb in its order, then what stands before the subject."""
    after = [p for p in clause.others if p.start > clause.verb and p is not asked]
    before = [p for p in clause.others if p.stop <= clause.subject.start and p is not asked]
    return (*left, *(w for p in (*after, *before) for w in _words(clause.sentence, p)))


def _written(words: Sequence[_Piece]) -> str:
    text = "".join(piece.text + (" " if piece.space else "") for piece in words).strip()
    return text[0].upper() + text[1:] + "?"


def _characters(sentence: Sentence, start: int, stop: int) -> tuple[int, int]:
    """Characters of tokens start .. stop - 1 in the sentence's text."""
    place, first, last = 0, 0, 0
    for i, token in enumerate(sentence.tokens):
        if i == start:
            first = place
        place += len(token.form)
        if i == stop - 1:
            last = place
        place += token.space_after
    return first, last
