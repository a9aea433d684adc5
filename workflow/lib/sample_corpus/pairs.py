"""The tasks of GLUE on the sample corpus: pairs of sentences (and of questions) with labels, and the tags of their words.

Every label of a task gets the same changes of form (a phrase moved to the front, near-synonyms, omitted phrases), so that the
form does not predict the label; labels differ only in meaning.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from attention_atlas.corpora.glue import TASKS
from sample_corpus.generate import Document, Sentence
from sample_corpus.lexicon import lexicon
from sample_corpus.main_clauses import MAIN, Text, Word, text_of
from sample_corpus.questions import questions_of
from sample_corpus.reviews import reviews
from sample_corpus.statements import (
    MOVED,
    Statement,
    fronted,
    near_synonym,
    realise,
    split_verb,
    statements_of,
    with_changed_number,
    with_substitution,
)

SAME, OTHER = "1", "0"
ENTAILED, NEUTRAL, CONTRADICTED, NOT_ENTAILED = "entailment", "neutral", "contradiction", "not_entailment"
_LAYERS = ("words", "xpos", "relations")
Row = tuple[tuple[Text, ...], str]
"""One or two texts, and their label."""


def task_lines(task: str, documents: Iterable[Document], seed: int) -> Iterator[str]:
    """A task of GLUE as one JSON object per line: texts and label under the names of the hub's columns, and their layers."""
    *names, label_name = (aliases[-1] for aliases in TASKS[task].columns)
    for document in documents:
        for texts, label in _MAKERS[task](document, random.Random(f"{task}-{seed}-{document.id}")):
            row: dict[str, Any] = {name: text.text for name, text in zip(names, texts, strict=True)}
            row[label_name] = label
            row["layers"] = [{name: getattr(text, name) for name in (*_LAYERS, "heads")} for text in texts]
            yield json.dumps(row, ensure_ascii=False) + "\n"


def _paraphrases(document: Document, rng: random.Random) -> Iterator[Row]:
    """As MRPC: about two in three pairs have the same meaning."""
    statements = statements_of(document)
    for statement in statements:
        same = rng.random() < 0.8
        changed = statement if same else with_substitution(statement, statements, rng)
        if changed is None:
            continue
        first, second = realise(statement, rng, keep=True), realise(changed, rng)
        if first != second:
            yield (first, second), SAME if same else OTHER


def _inferences(document: Document, rng: random.Random) -> Iterator[Row]:
    """As MNLI: the three labels are equally frequent."""
    statements = statements_of(document)
    for statement in statements:
        label = rng.choice((ENTAILED, NEUTRAL, CONTRADICTED))
        hypothesis = _hypothesis(statement, statements, label, rng)
        if hypothesis is not None:
            yield (realise(statement, rng, keep=True), hypothesis), label


def _entailments(document: Document, rng: random.Random) -> Iterator[Row]:
    """As RTE: two statements, and a hypothesis that follows from one of them or does not."""
    statements = statements_of(document)
    for statement, distractor in zip(statements, statements[1:] + statements[:1], strict=True):
        label = rng.choice((ENTAILED, ENTAILED, NEUTRAL, CONTRADICTED))
        hypothesis = _hypothesis(statement, statements, label, rng)
        if hypothesis is not None and statement is not distractor:
            premises = [realise(premise, rng, keep=True) for premise in rng.sample((statement, distractor), 2)]
            yield (_concatenated(premises), hypothesis), ENTAILED if label == ENTAILED else NOT_ENTAILED


def _other_subjects(statement: Statement, statements: Sequence[Statement]) -> list[Statement]:
    return [s for s in statements if s is not statement and s.subject != statement.subject]


def _hypothesis(statement: Statement, statements: Sequence[Statement], label: str, rng: random.Random) -> Text | None:
    unrelated = _other_subjects(statement, statements)
    if label == ENTAILED:
        return realise(statement, rng, drop=True)
    if label == NEUTRAL:
        # Another statement, or the statement with a substitution, does not follow. Some are negated, as contradictions are.
        if rng.random() < 0.5:
            changed = with_substitution(statement, statements, rng)
        else:
            changed = rng.choice(unrelated) if unrelated else None
        return realise(changed, rng, drop=True, negate=rng.random() < 0.4) if changed is not None else None
    renumbered = with_changed_number(statement, rng)
    if renumbered is not None and rng.random() < 0.6:
        return realise(renumbered, rng)
    return realise(statement, rng, negate=True)


def _concatenated(texts: Sequence[Text]) -> Text:
    words, xpos, relations = (tuple(word for text in texts for word in getattr(text, name)) for name in _LAYERS)
    starts = accumulate((len(text.words) for text in texts), initial=0)
    heads = (start + head if head else head for start, text in zip(starts, texts, strict=False) for head in text.heads)
    return Text(" ".join(text.text for text in texts), words, xpos, relations, tuple(heads))


def _similarities(document: Document, rng: random.Random) -> Iterator[Row]:
    """As STS-B: 5 for the same meaning, less for every omitted or replaced phrase, near 0 for an unrelated statement."""
    statements = statements_of(document)
    for statement in statements:
        level = rng.randrange(6)
        second = _similar(statement, statements, level, rng)
        if second is not None:
            # A mean over annotators is seldom a whole number.
            score = min(5.0, max(0.0, level + rng.choice((-0.4, -0.2, 0, 0, 0.2, 0.4))))
            yield (realise(statement, rng, keep=True), second), f"{score:.1f}"


def _similar(statement: Statement, statements: Sequence[Statement], level: int, rng: random.Random) -> Text | None:
    """A sentence of a similarity from 0 to 5 to a statement; None where the document has none."""
    if level == 5:
        return realise(statement, rng)
    if level == 4:
        required = [d for d in statement.dependents if d[0].relation not in (*MOVED, "advmod")]
        return realise(statement, rng, drop=True) if len(required) < len(statement.dependents) else None
    if level >= 2:
        changed: Statement | None = statement
        for _ in range(4 - level):
            changed = with_substitution(changed, statements, rng) if changed is not None else None
        return realise(changed, rng) if changed is not None and changed != statement else None
    if level == 1:
        same_subject = [s for s in statements if s is not statement and s.subject == statement.subject]
        return realise(rng.choice(same_subject), rng) if same_subject else None
    unrelated = _other_subjects(statement, statements)
    return realise(rng.choice(unrelated), rng) if unrelated else None


def _duplicates(document: Document, rng: random.Random) -> Iterator[Row]:
    """As QQP: fewer than half of the pairs have the same meaning; the others ask for another phrase or statement."""
    statements = statements_of(document)
    for statement in statements:
        same = rng.random() < 0.45
        kinds = [kind for kind in (_SUBJECT, _OBJECT) if _question(statement, kind, None) is not None]
        kind = rng.choice(kinds)
        if same:
            second = _question(statement, kind, rng)
        elif len(kinds) == 2 and rng.random() < 0.5:
            second = _question(statement, next(k for k in kinds if k != kind), rng)
        else:
            changed = with_substitution(statement, statements, rng)
            second = _question(changed, kind, rng) if changed is not None else None
        first = _question(statement, kind, None)
        if first is not None and second is not None and first != second:
            yield (first, second), SAME if same else OTHER


_SUBJECT, _OBJECT = "subject", "object"


def _question(statement: Statement, kind: str, rng: random.Random | None) -> Text | None:
    """The question for the subject or the object of a statement; with `rng`, changed in form.

    None where the statement has no object.
    """
    tokens = statement.clause.sentence.tokens
    dependents = list(statement.dependents)
    if kind == _SUBJECT:
        questioned = statement.clause.subject
    else:
        place = next((k for k, (phrase, _) in enumerate(dependents) if phrase.relation == "obj"), None)
        if place is None:
            return None
        questioned, _ = dependents.pop(place)
    head = tokens[questioned.head]
    noun = lexicon().nouns.get(head.lemma)
    person = head.upos == "PROPN" or (noun is not None and noun.kind in ("person", "group"))
    word = Word("who" if person else "what", xpos="WP", relation="nsubj" if kind == _SUBJECT else "dobj", head=MAIN)
    if kind == _SUBJECT:
        words: tuple[Word, ...] = (word, *statement.verb)
    else:
        before, first, after = split_verb(statement)
        words = (word, first, *statement.subject, *before, *after)
    front: tuple[Word, ...] = ()
    if rng is not None:
        front, dependents = fronted(statement.clause, dependents, rng)
    words = (*front, *words, *(w for _, phrase_words in dependents for w in phrase_words))
    return text_of(words if rng is None else [near_synonym(w, rng) for w in words], "?")


def _answered(document: Document, rng: random.Random) -> Iterator[Row]:
    """As QNLI: a question with the sentence that answers it, or with another one of its paragraph."""
    for sentences, place, words in questions_of(document, rng):
        right = rng.random() < 0.5
        distractors = [s for k, s in enumerate(sentences) if k != place]
        if right or distractors:
            sentence = sentences[place] if right else rng.choice(distractors)
            yield (text_of(words, "?"), _as_text(sentence)), ENTAILED if right else NOT_ENTAILED


def _as_text(sentence: Sentence) -> Text:
    layers = (tuple(getattr(t, name) for t in sentence.tokens) for name in ("form", "xpos", "sd_relation", "sd_head"))
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
