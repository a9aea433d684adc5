"""Questions on the paragraphs of the sample corpus, with their answers: each question asks for one phrase of a clause.

A pronoun as subject becomes the name of its antecedent, so that the answer may stand in a sentence that shares no word with
the subject of the question.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sample_corpus.generate import Document, Sentence
from sample_corpus.lexicon import find_verb
from sample_corpus.main_clauses import (
    MAIN,
    Clause,
    Phrase,
    Word,
    clause_of,
    inverted,
    is_plain,
    kind_of,
    mention_of,
    name_of,
    phrase_of,
    rest,
    text_of,
    word_of,
    words_of,
)

_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_WHEN = frozenset("on in at before after by during".split())
_WHERE = frozenset("in at near beside behind on inside outside under".split())
_PERSONS = ("person", "group")
_LONGEST, _PER_SENTENCE = 22, 2


@dataclass(frozen=True)
class _Question:
    """A question and its answers: tokens of the clause's sentence, the whole phrase before a shorter one that also answers."""

    words: tuple[Word, ...]
    answers: tuple[tuple[int, int], ...]


def squad_json(documents: Iterable[Document], seed: int) -> str:
    """Documents as a file of SQuAD v1.1: each paragraph is a passage; paragraphs without a question are skipped."""
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
        questions: list[dict[str, Any]] = []
        for sentence, start in zip(sentences, starts, strict=True):
            clause = clause_of(sentence, number)
            number += 1
            candidates = list(_questions(document, clause)) if clause is not None else []
            for question in rng.sample(candidates, min(len(candidates), _PER_SENTENCE)):
                spans = [_characters(sentence, *span) for span in question.answers]
                answers = [{"text": context[start + a : start + b], "answer_start": start + a} for a, b in spans]
                name = f"{document.id}-{place}-{len(questions) + 1}"
                questions.append({"id": name, "question": text_of(question.words, "?").text, "answers": answers})
        yield {"context": context.rstrip(), "qas": questions}


def questions_of(document: Document, rng: random.Random) -> Iterator[tuple[Sequence[Sentence], int, tuple[Word, ...]]]:
    """One question for every sentence that allows one: the sentences of its paragraph, its place there, its words."""
    number = 0
    for sentences in document.paragraphs:
        for place, sentence in enumerate(sentences):
            clause = clause_of(sentence, number)
            number += 1
            candidates = list(_questions(document, clause)) if clause is not None else []
            if candidates:
                yield sentences, place, rng.choice(candidates).words


def _questions(document: Document, clause: Clause) -> Iterator[_Question]:
    """All questions on a clause that are good English."""
    tokens = clause.sentence.tokens
    if not is_plain(document, clause, clause.subject) or "," in (
        t.form for t in tokens[clause.subject.start : clause.subject.stop]
    ):
        subject = None
    else:
        subject = words_of(clause.sentence, clause.subject)
    if tokens[clause.subject.head].upos != "PRON":
        words = (_who(document, clause, clause.subject, "nsubj"), *_finite_third(clause), *rest(clause))
        yield from _usable(document, clause, clause.subject, words, ((clause.subject.start, clause.subject.stop),))
        name = subject
    else:
        name = name_of(document, clause)
    if name is None:
        return
    for phrase in clause.dependents:
        for opening, answers, remainder in _openings(document, clause, phrase):
            words = (*opening, *inverted(clause, name), *rest(clause, phrase, remainder))
            yield from _usable(document, clause, phrase, words, answers)


def _usable(
    document: Document, clause: Clause, questioned: Phrase, words: Sequence[Word], answers: tuple[tuple[int, int], ...]
) -> Iterator[_Question]:
    """The question, unless it is long, or a pronoun in it or in its answer refers to somebody that it does not name."""
    context = [p for p in clause.dependents if p is not questioned]
    if len(words) <= _LONGEST and all(is_plain(document, clause, p) for p in (*context, questioned)):
        yield _Question(tuple(words), answers)


def _openings(
    document: Document, clause: Clause, phrase: Phrase
) -> Iterator[tuple[tuple[Word, ...], tuple[tuple[int, int], ...], tuple[Word, ...]]]:
    """Question words for a phrase, the answers to them, and the words of the phrase that stay at its place."""
    tokens = clause.sentence.tokens
    whole = (phrase.start, phrase.stop)
    first = tokens[phrase.start]
    if phrase.relation == "obj":
        if tokens[phrase.head].upos == "PRON":
            return
        yield (_who(document, clause, phrase, "dobj"),), (whole,), ()
        number = next((i for i, t in enumerate(tokens) if t.ud_head - 1 == phrase.head and t.ud_relation == "nummod"), None)
        counted = phrase_of(tokens, number) if number is not None else None
        if counted and tokens[phrase.head].xpos == "NNS" and first.form != "$" and counted.start == phrase.start:
            noun = words_of(clause.sentence, Phrase("", phrase.head, counted.stop, phrase.stop))
            if len(noun) <= 4:
                yield (
                    (Word("how", xpos="WRB", relation="advmod"), Word("many", xpos="JJ", relation="amod"), *noun),
                    ((counted.start, counted.stop), (counted.stop - 1, counted.stop)),
                    (),
                )
    elif phrase.relation in ("obl", "obl:tmod"):
        inner = (phrase.start + 1, phrase.stop)
        case = first.lemma if first.ud_relation == "case" else ""
        types = {e.type for e in clause.sentence.entities if (e.start, e.stop) in (whole, inner)}
        kind = kind_of(tokens[phrase.head])
        if types & {"DATE", "TIME"} and (case in _WHEN or (not case and first.lemma not in ("every", "each"))):
            yield (Word("when", xpos="WRB", relation="advmod", head=MAIN),), (whole, inner) if case else (whole,), ()
        elif case in _WHERE and (types & {"GPE", "LOC", "FAC"} or kind == "place"):
            yield (Word("where", xpos="WRB", relation="advmod", head=MAIN),), (whole, inner), ()


def _who(document: Document, clause: Clause, phrase: Phrase, relation: str) -> Word:
    tokens = clause.sentence.tokens
    mention = mention_of(document, clause, phrase)
    gender = document.gender.get(mention.entity) if mention is not None else None
    named = any(e.type == "PERSON" and e.start <= phrase.head < e.stop for e in clause.sentence.entities)
    person = gender in ("he", "she") or named or kind_of(tokens[phrase.head]) in _PERSONS
    return Word("who" if person else "what", xpos="WP", relation=relation, head=MAIN)


def _finite_third(clause: Clause) -> tuple[Word, ...]:
    """Auxiliaries, adverbs between, and the verb, in the singular that "who" and "what" take."""
    tokens = clause.sentence.tokens
    first = clause.auxiliaries[0] if clause.auxiliaries else clause.verb
    form, xpos = tokens[first].form, tokens[first].xpos
    if first == clause.verb and xpos == "VBP":
        form = find_verb(tokens[first].lemma).third
    singular = _SINGULAR.get(form, form) if clause.auxiliaries else form
    words = [replace(word_of(clause, first), text=singular, space=True, xpos="VBZ" if xpos == "VBP" else xpos)]
    for place in range(first + 1, clause.verb + 1):
        if place == clause.verb or place in clause.auxiliaries:
            words.append(word_of(clause, place))
        else:
            words += [
                w for p in clause.dependents if p.head == place and p.stop <= clause.verb for w in words_of(clause.sentence, p)
            ]
    before = [p for p in clause.dependents if clause.subject.stop <= p.start and p.stop <= first]
    return tuple([w for p in before for w in words_of(clause.sentence, p)] + words)


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
