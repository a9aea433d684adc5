"""The tasks of GLUE on the sample corpus: pairs of sentences (and of questions) with labels, and the tags of their words.

Every label of a task gets the same changes of form (a phrase moved to the front, near-synonyms, phrases left out), so that no
form gives a label away; what differs is whether the meaning does.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attention_atlas.corpora.glue import TASKS
from sample_corpus.generate import Document, Sentence
from sample_corpus.lexicon import lexicon
from sample_corpus.main_clauses import Piece, Text, text_of
from sample_corpus.questions import questions_of
from sample_corpus.reviews import reviews
from sample_corpus.statements import MOVED, Told, exchanged, fronted, near_synonym, other_number, retold, split_verb
from sample_corpus.statements import statements as statements_of

SAME, OTHER = "1", "0"
ENTAILED, NEUTRAL, CONTRADICTED, NOT_ENTAILED = "entailment", "neutral", "contradiction", "not_entailment"
Row = tuple[tuple[Text, ...], str]
"""One or two texts, and their label."""


def task_lines(task: str, documents: Iterable[Document], seed: int) -> Iterator[str]:
    """A task of GLUE as a JSON object a line: texts and label under the names of the hub's columns, and the texts' layers.

    Args:
        task: one of `glue.TASKS`.
        documents: what is talked about.
        seed: of the choices.
    """
    columns = TASKS[task]
    names = [own[-1] for own in (columns.first, columns.second) if own]
    for document in documents:
        for texts, label in _MAKERS[task](document, random.Random(f"{task}-{seed}-{document.id}")):
            row: dict[str, Any] = {name: text.text for name, text in zip(names, texts, strict=True)}
            row[columns.label[-1]] = label
            row["layers"] = [{"words": t.words, "xpos": t.xpos, "relations": t.relations} for t in texts]
            yield json.dumps(row, ensure_ascii=False) + "\n"


def _paraphrases(document: Document, rng: random.Random) -> Iterator[Row]:
    """As MRPC: about two in three say the same."""
    told = statements_of(document)
    for one in told:
        same = rng.random() < 0.8
        changed = one if same else exchanged(one, told, rng)
        if changed is None:
            continue
        first, second = retold(one, rng, keep=True), retold(changed, rng)
        if first != second:
            yield (first, second), SAME if same else OTHER


def _inferences(document: Document, rng: random.Random) -> Iterator[Row]:
    """As MNLI: the three labels alike often."""
    told = statements_of(document)
    for one in told:
        label = rng.choice((ENTAILED, NEUTRAL, CONTRADICTED))
        second = _hypothesis(one, told, label, rng)
        if second is not None:
            yield (retold(one, rng, keep=True), second), label


def _entailments(document: Document, rng: random.Random) -> Iterator[Row]:
    """As RTE: what follows from one of two statements, or does not."""
    told = statements_of(document)
    for one, other in zip(told, told[1:] + told[:1], strict=True):
        label = rng.choice((ENTAILED, ENTAILED, NEUTRAL, CONTRADICTED))
        second = _hypothesis(one, told, label, rng)
        if second is not None and one is not other:
            both = [retold(told_one, rng, keep=True) for told_one in rng.sample((one, other), 2)]
            yield (_joined(both), second), ENTAILED if label == ENTAILED else NOT_ENTAILED


def _hypothesis(one: Told, told: Sequence[Told], label: str, rng: random.Random) -> Text | None:
    others = [t for t in told if t is not one and t.subject != one.subject]
    if label == ENTAILED:
        return retold(one, rng, drop=True)
    if label == NEUTRAL:
        # What is said elsewhere, or said of somebody else, does not follow; some of it is denied, as contradictions are.
        changed = exchanged(one, told, rng) if rng.random() < 0.5 else (rng.choice(others) if others else None)
        return retold(changed, rng, drop=True, deny=rng.random() < 0.4) if changed is not None else None
    numbers = other_number(one, rng)
    if numbers is not None and rng.random() < 0.6:
        return retold(numbers, rng)
    return retold(one, rng, deny=True)


def _joined(texts: Sequence[Text]) -> Text:
    layers = (tuple(word for text in texts for word in getattr(text, name)) for name in ("words", "xpos", "relations"))
    return Text(" ".join(text.text for text in texts), *layers)


def _similarities(document: Document, rng: random.Random) -> Iterator[Row]:
    """As STS-B: 5 for the same, less for every phrase that is left out or exchanged, near 0 for something else."""
    told = statements_of(document)
    for one in told:
        level = rng.randrange(6)
        second = _likened(one, told, level, rng)
        if second is not None:
            # A mean over annotators is seldom a whole number.
            score = min(5.0, max(0.0, level + rng.choice((-0.4, -0.2, 0, 0, 0.2, 0.4))))
            yield (retold(one, rng, keep=True), second), f"{score:.1f}"


def _likened(one: Told, told: Sequence[Told], level: int, rng: random.Random) -> Text | None:
    """A statement that is like another one to a level from 0 to 5."""
    others = [t for t in told if t is not one and t.subject != one.subject]
    if level == 5:
        return retold(one, rng)
    if level == 4:
        shorter = [o for o in one.others if o[0].relation not in (*MOVED, "advmod")]
        return retold(one, rng, drop=True) if len(shorter) < len(one.others) else None
    if level >= 2:
        changed: Told | None = one
        for _ in range(4 - level):
            changed = exchanged(changed, told, rng) if changed is not None else None
        return retold(changed, rng) if changed is not None and changed != one else None
    if level == 1:
        same = [t for t in told if t is not one and t.subject == one.subject]
        return retold(rng.choice(same), rng) if same else None
    return retold(rng.choice(others), rng) if others else None


def _duplicates(document: Document, rng: random.Random) -> Iterator[Row]:
    """As QQP: questions that ask the same, or something near to it; more that do not."""
    told = statements_of(document)
    for one in told:
        same = rng.random() < 0.45
        kinds = [kind for kind in (_SUBJECT, _OBJECT) if _question(one, kind, None) is not None]
        kind = rng.choice(kinds)
        if same:
            second = _question(one, kind, rng)
        elif len(kinds) == 2 and rng.random() < 0.5:
            second = _question(one, next(k for k in kinds if k != kind), rng)
        else:
            changed = exchanged(one, told, rng)
            second = _question(changed, kind, rng) if changed is not None else None
        first = _question(one, kind, None)
        if first is not None and second is not None and first != second:
            yield (first, second), SAME if same else OTHER


_SUBJECT, _OBJECT = "subject", "object"


def _question(told: Told, kind: str, rng: random.Random | None) -> Text | None:
    """The question for the subject or the object of a statement, changed in form where there is something to choose by.

    None where the statement has no object.
    """
    tokens = told.clause.sentence.tokens
    others = list(told.others)
    asked = next((o for o in others if o[0].relation == "obj"), None)
    if kind == _OBJECT and asked is None:
        return None
    head = tokens[told.clause.subject.head if kind == _SUBJECT or asked is None else asked[0].head]
    noun = lexicon().nouns.get(head.lemma)
    person = head.upos == "PROPN" or (noun is not None and noun.kind in ("person", "group"))
    word = Piece("who" if person else "what", xpos="WP", relation="nsubj" if kind == _SUBJECT else "dobj")
    if kind == _SUBJECT:
        words: tuple[Piece, ...] = (word, *told.verb)
    else:
        others.remove(asked)  # type: ignore[arg-type]
        before, first, after = split_verb(told)
        words = (word, first, *told.subject, *before, *after)
    front: tuple[Piece, ...] = ()
    if rng is not None:
        front, others = fronted(told.clause, others, rng)
    words = (*front, *words, *(w for _, own in others for w in own))
    return text_of(words if rng is None else [near_synonym(w, rng) for w in words], "?")


def _answered(document: Document, rng: random.Random) -> Iterator[Row]:
    """As QNLI: a question with the sentence that answers it, or with another one of its paragraph."""
    for sentences, place, words in questions_of(document, rng):
        right = rng.random() < 0.5
        others = [s for k, s in enumerate(sentences) if k != place]
        if right or others:
            sentence = sentences[place] if right else rng.choice(others)
            yield (text_of(words, "?"), _as_text(sentence)), ENTAILED if right else NOT_ENTAILED


def _as_text(sentence: Sentence) -> Text:
    layers = (tuple(getattr(t, name) for t in sentence.tokens) for name in ("form", "xpos", "sd_relation"))
    return Text(sentence.text, *layers)


def _reviews(document: Document, rng: random.Random) -> Iterator[Row]:
    """As SST-2: sentences of reviews, three for a document."""
    for text, good in reviews(3, rng):
        yield (text,), SAME if good else OTHER


_MAKERS = {
    "mrpc": _paraphrases,
    "mnli": _inferences,
    "rte": _entailments,
    "stsb": _similarities,
    "qqp": _duplicates,
    "qnli": _answered,
    "sst2": _reviews,
}
