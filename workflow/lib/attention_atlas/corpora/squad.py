"""Questions on passages: SQuAD v1.1 (and XQuAD, MLQA) as JSON, and flat lists of questions, or one on each line.

    {"data": [{"paragraphs": [{"context": ..., "qas": [{"id": ..., "question": ..., "answers": [{"text", "answer_start"}]}]}]}]}
    [{"context": ..., "question": ..., "answer": ...}, ...]
    {"id": ..., "context": ..., "question": ..., "answers": {"text": [...], "answer_start": [...]}}

The last is a row of the hub. Offsets count characters, as in the official files; without an offset, the answer is its first
occurrence in the context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from attention_atlas.corpora.glue import Unusable
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import json_object, read_json, read_lines


@dataclass(frozen=True)
class Answer:
    """A stretch of the context: its text and its first character."""

    text: str
    start: int


@dataclass(frozen=True)
class Question:
    """A question on a passage.

    Attributes:
        id: its name, or its number in the file, from 1, if it has none.
        question, context: the texts.
        answers: all reference answers, at least one.
    """

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...]


def read_squad(path: str | Path) -> Iterator[Question | Unusable]:
    """Yield the questions of a file in its order, with `Unusable` for one without an answer, or with one at another place.

    Raises:
        AtlasError: the file is not JSON or in none of these formats, or an id occurs twice; names the place.
    """
    seen: set[str] = set()
    for number, (place, entry) in enumerate(_entries(path), start=1):
        context, question = _text(entry, "context", place), _text(entry, "question", place)
        name = str(number if entry.get("id") in (None, "") else entry["id"])
        if name in seen:
            raise AtlasError(f"{place}: the id {name!r} is used twice; give each question a unique id.")
        seen.add(name)
        answers = tuple(_answers(entry, context, place))
        misplaced = [answer for answer in answers if answer.start < 0 or not context.startswith(answer.text, answer.start)]
        if misplaced:
            yield Unusable(name, "answer not at its offset", f"{misplaced[0].text[:40]!r} at character {misplaced[0].start}")
        elif not answers:
            yield Unusable(name, "no answer")
        else:
            yield Question(name, question, context, answers)


def _entries(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and content of each question, with its context."""
    first = next((line.strip() for _, line in read_lines(path) if line.strip()), "")
    if first.startswith("{") and first.endswith("}") and '"context"' in first and '"data"' not in first:
        yield from ((f"{path}:{n}", json_object(line, f"{path}:{n}")) for n, line in read_lines(path) if line.strip())
        return
    content = read_json(path)
    if isinstance(content, list):
        yield from ((f"{path}: question {number}", entry) for number, entry in enumerate(content, start=1))
        return
    for a, article in enumerate(_listed(content, "data", str(path)), start=1):
        for p, paragraph in enumerate(_listed(article, "paragraphs", f"{path}: article {a}"), start=1):
            where = f"{path}: article {a}, paragraph {p}"
            context = _text(paragraph, "context", where)
            for q, entry in enumerate(_listed(paragraph, "qas", where), start=1):
                yield f"{where}, question {q}", {"context": context} | (entry if isinstance(entry, dict) else {})


def _answers(entry: Mapping[str, Any], context: str, place: str) -> Iterator[Answer]:
    """The answers of a question with their offsets, unchecked; -1 for what is no offset."""
    answers = entry.get("answers")
    if "answer" in entry and answers is None:
        answers = [{"text": str(entry["answer"]), "answer_start": context.find(str(entry["answer"]))}]
    elif isinstance(answers, dict):  # rows of the hub
        columns = zip_longest(*(_listed(answers, key, place) for key in ("text", "answer_start")))
        answers = [{"text": text, "answer_start": start} for text, start in columns]
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


def _text(entry: Any, key: str, where: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise AtlasError(f"{where}: '{key}' is missing or empty.")
    return value
