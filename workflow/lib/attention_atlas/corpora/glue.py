"""Sentences and pairs of sentences with a label: the tasks of GLUE, as tab-separated text or one JSON object per line.

Quotation marks are ordinary text: in these files, quotes may be unbalanced. Columns are identified by their official names or
those of the hub. An object may contain `layers`, one entry per text: {"words": [...], "xpos": [...], "relations": [...]}, the
words of the text in order, each with its Penn tag and its relation; and "heads": [...], the position of each word's head in the
text, from 1, with 0 for a root and null if it is not annotated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import json_object, read_lines


@dataclass(frozen=True)
class Task:
    """A task: possible names of its columns, and whether its label is a number (regression)."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    label: tuple[str, ...]
    regression: bool = False


_PAIR = (("sentence1",), ("sentence2",))
TASKS = {
    "mrpc": Task(("#1 String", "sentence1"), ("#2 String", "sentence2"), ("Quality", "label")),
    "stsb": Task(*_PAIR, ("score", "label"), regression=True),
    "sst2": Task(("sentence",), (), ("label",)),
    "qqp": Task(("question1",), ("question2",), ("is_duplicate", "label")),
    "rte": Task(*_PAIR, ("label",)),
    "qnli": Task(("question",), ("sentence",), ("label",)),
    "mnli": Task(("sentence1", "premise"), ("sentence2", "hypothesis"), ("gold_label", "label")),
}
NO_HEAD = -1
"""Head of a word whose head is not annotated."""
_NO_LABEL = ("", "-", "-1", "nan")
"""Placeholders for a missing label: MNLI has "-" where its annotators disagreed, the hub -1 in the test sets of all tasks."""


@dataclass(frozen=True)
class Tagged:
    """Words of a text with Penn tags, relations and heads (from 1, `NO_HEAD` if unknown); empty without such layers."""

    words: tuple[str, ...]
    xpos: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()


@dataclass(frozen=True)
class Labelled:
    """A sentence or a pair.

    Attributes:
        id: its row in the file, from 1.
        texts: one or two texts.
        label: class, or the number as text.
        tagged: the texts in words, if the file has such layers.
    """

    id: str
    texts: tuple[str, ...]
    label: str
    tagged: tuple[Tagged, ...] = ()


@dataclass(frozen=True)
class Unusable:
    """A row that is not an example: its number in the file, from 1, and the reason (the original file of QQP has some)."""

    id: str
    reason: str
    detail: str = ""


def read_glue(path: str | Path, task: str) -> Iterator[Labelled | Unusable]:
    """Yield the examples of a file in order, with `Unusable` for rows that lack a label, a text or a column.

    Args:
        path: JSON lines (.jsonl), otherwise tab-separated with a header.
        task: one of `TASKS`.

    Raises:
        AtlasError: a column is missing, a row is longer than the header, or a score is not a number; names file and line.
    """
    wanted = TASKS[task]
    number = 0
    for where, row in _rows(path, task):
        number += 1
        if isinstance(row, str):
            yield Unusable(str(number), "incomplete row", row)
            continue
        texts = tuple(_cell(row, names, where, task) for names in (wanted.first, wanted.second) if names)
        label = _cell(row, wanted.label, where, task)
        if not all(texts):
            yield Unusable(str(number), "empty text")
            continue
        if _class_label(label) in _NO_LABEL:
            yield Unusable(str(number), "no label")
            continue
        if wanted.regression:
            _check_number(label, where)
        else:
            label = _class_label(label)
        yield Labelled(str(number), texts, label, _tagged(row["layers"], texts, where) if "layers" in row else ())


def _rows(path: str | Path, task: str) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    """The number of each row with its cells by name, or what is missing if it has fewer columns than the header."""
    lines = iter(read_lines(path))
    first = next(lines, None)
    if first is None:
        raise AtlasError(f"{path}: the file is empty.")
    if first[1].lstrip().startswith("{"):
        yield f"{path}:{first[0]}", json_object(first[1], f"{path}:{first[0]}")
        for number, line in lines:
            if line.strip():
                yield f"{path}:{number}", json_object(line, f"{path}:{number}")
        return
    header = first[1].split("\t")
    for names in (TASKS[task].first, TASKS[task].second, TASKS[task].label):
        if names:
            _cell(dict.fromkeys(header, ""), names, f"{path}:{first[0]}", task)
    for number, line in lines:
        cells = line.split("\t")
        if cells == [""]:
            continue
        if len(cells) < len(header):
            yield f"{path}:{number}", f"{len(cells)} of {len(header)} columns"
            continue
        if len(cells) > len(header):
            raise AtlasError(f"{path}:{number}: {len(cells)} columns instead of {len(header)}; separate columns by tabs.")
        yield f"{path}:{number}", dict(zip(header, cells, strict=True))


def _cell(row: Mapping[str, Any], names: tuple[str, ...], where: str, task: str) -> str:
    for name in names:
        if name in row:
            value = row[name]
            if isinstance(value, bool) or not isinstance(value, str | int | float | None):
                raise AtlasError(f"{where}: '{name}' is not text.")
            is_missing = value is None or (isinstance(value, float) and math.isnan(value))
            return "" if is_missing else str(value).strip()
    raise AtlasError(f"{where}: the task {task} needs a column {' or '.join(names)}. Found: {', '.join(map(str, row))}.")


def _class_label(text: str) -> str:
    """One spelling of a label: 1 for 1.0, which tables with missing labels have; nan for NaN."""
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)


def _tagged(layers: Any, texts: tuple[str, ...], where: str) -> tuple[Tagged, ...]:
    if not isinstance(layers, list) or len(layers) != len(texts):
        raise AtlasError(f"{where}: 'layers' must be a list with an entry for each of {len(texts)} texts.")
    tagged_texts = []
    for text, entry in zip(texts, layers, strict=True):
        words, xpos, relations = (_strings(entry, name, where) for name in ("words", "xpos", "relations"))
        if not len(words) == len(xpos) == len(relations) or "".join("".join(words).split()) != "".join(text.split()):
            raise AtlasError(
                f"{where}: the words in 'layers' differ from the text {text[:40]!r}, or in number from their tags."
            )
        tagged_texts.append(Tagged(words, xpos, relations, _heads(entry, len(words), where)))
    return tuple(tagged_texts)


def _strings(entry: Any, name: str, where: str) -> tuple[str, ...]:
    values = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise AtlasError(f"{where}: each entry of 'layers' needs the lists words, xpos and relations.")
    return tuple(values)


def _heads(entry: Any, words: int, where: str) -> tuple[int, ...]:
    if "heads" not in entry:
        return ()
    heads = [NO_HEAD if head is None else head for head in entry["heads"]] if isinstance(entry["heads"], list) else []
    if len(heads) != words or not all(type(head) is int and NO_HEAD <= head <= words for head in heads):
        raise AtlasError(f"{where}: 'heads' must be a list of {words} numbers from 0 to {words}, or null.")
    return tuple(heads)


def _check_number(label: str, where: str) -> None:
    try:
        number = float(label)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise AtlasError(f"{where}: the score {label!r} is not a number.")
