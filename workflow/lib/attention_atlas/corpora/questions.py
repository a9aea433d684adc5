"""Questions on passages: SQuAD v1.1 (and XQuAD, MLQA) as JSON, flat lists, and their windows as model inputs.

{"data": [{"paragraphs": [{"context": ..., "qas": [{"id": ..., "question": ..., "answers": [{"text", "answer_start"}]}]}]}]}
    [{"context": ..., "question": ..., "answer": ...}, ...]

Offsets count characters, as in the official files; without an offset, the answer is its first occurrence in the context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attention_atlas.corpora.layers import QuestionAnnotation
from attention_atlas.corpora.records import Dropped, in_record_order, required_text
from attention_atlas.corpora.text import WORD, last_that_fits, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_json

if TYPE_CHECKING:
    from attention_atlas.corpora.alignment import WordPieces
    from attention_atlas.corpora.examples import Example, ExampleBuilder


class Answer(NamedTuple):
    """A stretch of the context: its text and its first character."""

    text: str
    start: int


class Question(NamedTuple):
    id: str  # its name, or its number in the file, from 1, if it has none
    question: str  # question, context: the texts
    context: str
    answers: tuple[Answer, ...]  # all reference answers, at least one


def squad_records(path: str | Path) -> Iterator[Question | Dropped]:
    """Yield the questions of a file in its order, those without an answer, or with one at another place, as dropped records."""
    seen: set[str] = set()
    for number, (place, entry) in enumerate(_entries(path), start=1):
        context, question = required_text(entry, "context", place), required_text(entry, "question", place)
        name = str(number if entry.get("id") in (None, "") else entry["id"])
        if name in seen:
            raise AtlasError(f"{place}: the id {name!r} is used twice; give each question a unique id.")
        seen.add(name)
        answers = tuple(_answers(entry, context, place))
        misplaced = [answer for answer in answers if answer.start < 0 or not context.startswith(answer.text, answer.start)]
        if misplaced:
            yield Dropped(name, "answer not at its offset", f"{misplaced[0].text[:40]!r} at character {misplaced[0].start}")
        elif not answers:
            yield Dropped(name, "no answer")
        else:
            yield Question(name, question, context, answers)


def _entries(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and content of each question, with its context."""
    content = read_json(path)
    if isinstance(content, list):
        yield from ((f"{path}: question {number}", entry) for number, entry in enumerate(content, start=1))
        return
    for a, article in enumerate(_listed(content, "data", str(path)), start=1):
        for p, paragraph in enumerate(_listed(article, "paragraphs", f"{path}: article {a}"), start=1):
            where = f"{path}: article {a}, paragraph {p}"
            context = required_text(paragraph, "context", where)
            for q, entry in enumerate(_listed(paragraph, "qas", where), start=1):
                yield f"{where}, question {q}", {"context": context} | (entry if isinstance(entry, dict) else {})


def _answers(entry: Mapping[str, Any], context: str, place: str) -> Iterator[Answer]:
    """The answers of a question with their offsets, unchecked; -1 for what is no offset."""
    answers = entry.get("answers")
    if "answer" in entry and answers is None:
        answers = [{"text": str(entry["answer"]), "answer_start": context.find(str(entry["answer"]))}]
    for answer in _listed({"answers": answers}, "answers", place):
        text = answer.get("text") if isinstance(answer, dict) else None
        if not isinstance(text, str):
            raise AtlasError(f"{place}: an answer has no text.")
        start = answer.get("answer_start")
        if text.strip():
            yield Answer(text, start if type(start) is int else -1)


def _listed(entry: Any, key: str, where: str) -> list[Any]:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, list):
        raise AtlasError(f"{where}: there is no list '{key}' here; is this a SQuAD file?")
    return value


def squad_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    """The windows of all questions, in the order of the corpus."""
    questions = in_record_order(list(builder.all_records()), builder.entry["order"], builder.entry["seed"])
    windows = (window for question in questions for window in question_windows(builder, question))
    return islice(windows, start, stop)


def question_windows(builder: ExampleBuilder, question: Question | Dropped) -> Iterator[Example | Dropped]:
    """A question with each of the windows of its passage that fit with it into the longest input.

    Of the corpus's entry, `windows` is first (only the beginning of the passage) or all (also further windows, each `stride`
    tokens after the last).
    """
    if isinstance(question, Dropped):
        yield question
        return
    words = _spelled(question.question, builder.pieces)
    passage = _spelled(question.context, builder.pieces)
    room = builder.bound - builder.pieces.pair.specials - sum(len(ids) for _, ids in words)
    cuts = list(_cuts([len(ids) for _, ids in passage], room, builder.entry["windows"], builder.entry["stride"]))
    for number, (first, stop) in enumerate(cuts, start=1):
        inside = passage[first:stop]
        annotation = QuestionAnnotation(
            question=question.id,
            context=question.context,
            size=len(words),
            starts=tuple(match.start() for match, _ in inside),
            stops=tuple(match.end() for match, _ in inside),
            answers=tuple(answer.text for answer in question.answers),
            span=_span(question.answers[0], [match for match, _ in inside], len(words)),
        )
        texts = [[ids for _, ids in words], [ids for _, ids in inside]]
        name = question.id if number == 1 else f"{question.id}#{number}"
        yield builder.assembled(name, texts, [match[0] for match, _ in (*words, *inside)], question=annotation)
    if not cuts:
        yield Dropped(question.id, "question too long", f"no room beside it in {builder.bound} tokens")


def _spelled(text: str, pieces: WordPieces) -> list[tuple[re.Match[str], tuple[int, ...]]]:
    """The words of a text that have word pieces, each with their ids."""
    matches = list(WORD.finditer(text))
    words = [match[0] for match in matches]
    spelled = pieces.pieces(words, spaces_in(text, words))
    return [(match, ids) for match, ids in zip(matches, spelled, strict=True) if ids]


def _cuts(sizes: Sequence[int], room: int, windows: str, stride: int) -> Iterator[tuple[int, int]]:
    """First and last (exclusive) word of each window of at most `room` tokens."""
    first = 0
    while first < len(sizes):
        stop = last_that_fits(sizes, first, room)
        if stop == first:
            return  # no word fits
        yield first, stop
        if windows == "first" or stop == len(sizes):
            return
        moved = 0
        while first < stop and moved < stride:
            moved += sizes[first]
            first += 1


def _span(answer: Answer, words: Sequence[re.Match[str]], size: int) -> tuple[int, int] | None:
    """Words of the example with the answer, if all of it lies in the window."""
    end = answer.start + len(answer.text)
    inside = [k for k, word in enumerate(words) if word.end() > answer.start and word.start() < end]
    if not inside or words[inside[0]].start() > answer.start or words[inside[-1]].end() < end:
        return None
    return size + inside[0], size + inside[-1] + 1
