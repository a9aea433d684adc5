"""Questions on passages: SQuAD v1.1 (and XQuAD, MLQA) as JSON, and flat lists of context, question and answer.

    {"data": [{"paragraphs": [{"context": ..., "qas": [{"id": ..., "question": ..., "answers": [{"text", "answer_start"}]}]}]}]}
    [{"context": ..., "question": ..., "answer": ...}, ...]

Offsets count characters, as in the official files. A flat list has none: the answer is its first occurrence in the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_json


@dataclass(frozen=True)
class Answer:
    """A stretch of the context: its text and its first character."""

    text: str
    start: int


@dataclass(frozen=True)
class Question:
    """A question on a passage.

    Attributes:
        id: its name; in a flat list, its number, from 1.
        question, context: the texts.
        answers: all reference answers, at least one.
    """

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...]


def read_squad(path: str | Path) -> Iterator[Question]:
    """Yield the questions of a file in its order.

    Raises:
        AtlasError: the file is not JSON or in neither format, or an answer is not at its offset; names the place.
    """
    content = read_json(path)
    if isinstance(content, dict):
        yield from _official(content, str(path))
    elif isinstance(content, list):
        yield from _flat(content, str(path))
    else:
        raise AtlasError(f"{path}: neither an object with the key 'data' nor a list of questions; is this a SQuAD file?")


def _official(content: dict[str, Any], path: str) -> Iterator[Question]:
    seen: set[str] = set()
    for a, article in enumerate(_listed(content, "data", path), start=1):
        for p, paragraph in enumerate(_listed(article, "paragraphs", f"{path}: article {a}"), start=1):
            where = f"{path}: article {a}, paragraph {p}"
            context = _text(paragraph, "context", where)
            for q, entry in enumerate(_listed(paragraph, "qas", where), start=1):
                place = f"{where}, question {q}"
                name = _text(entry, "id", place)
                if name in seen:
                    raise AtlasError(f"{place}: the id {name!r} is used twice; give each question a unique id.")
                seen.add(name)
                answers = tuple(_answer(item, context, place) for item in _listed(entry, "answers", place))
                if not answers:
                    raise AtlasError(
                        f"{place}: there is no answer; this reader is for SQuAD v1.1, where each question has one."
                    )
                yield Question(name, _text(entry, "question", place), context, answers)


def _flat(content: list[Any], path: str) -> Iterator[Question]:
    for number, entry in enumerate(content, start=1):
        place = f"{path}: question {number}"
        context, text = _text(entry, "context", place), _text(entry, "answer", place)
        start = context.find(text)
        if start < 0:
            raise AtlasError(f"{place}: the answer {text[:40]!r} is not in its context.")
        yield Question(str(number), _text(entry, "question", place), context, (Answer(text, start),))


def _answer(item: Any, context: str, place: str) -> Answer:
    text = _text(item, "text", place)
    start = item.get("answer_start")
    if not isinstance(start, int) or isinstance(start, bool):
        raise AtlasError(f"{place}: answer_start is {start!r}, not a number of characters.")
    if start < 0 or context[start : start + len(text)] != text:
        raise AtlasError(f"{place}: the answer {text[:40]!r} is not at character {start} of its context.")
    return Answer(text, start)


def _listed(entry: Any, key: str, where: str) -> list[Any]:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, list):
        raise AtlasError(f"{where}: there is no list '{key}' here; is this a SQuAD v1.1 file?")
    return value


def _text(entry: Any, key: str, where: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise AtlasError(f"{where}: '{key}' is missing or empty.")
    return value
