"""Sentences and pairs of sentences with a label: the tasks of GLUE, as tab-separated text or one JSON object per line.

Quotation marks are ordinary text: in these files, quotes may be unbalanced. Columns are identified by their official names or
those of the hub. An object may contain `layers`, one entry per text: {"words": [...], "xpos": [...], "relations": [...]}, the
words of the text in order, each with its Penn tag and its relation; and "heads": [...], the position of each word's head in the
text, from 1, with 0 for a root and null if it is not annotated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attention_atlas.corpora.records import Dropped
from attention_atlas.corpora.text import WORD, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import json_object, read_lines

if TYPE_CHECKING:
    from attention_atlas.corpora.examples import Example, ExampleBuilder


@dataclass(frozen=True)
class Task:
    """A task: possible names of its columns, and whether its label is a number (regression)."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    label: tuple[str, ...]
    regression: bool = False

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """The possible names of the columns that it has: texts, and label."""
        return tuple(filter(None, (self.first, self.second, self.label)))


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
NO_HEAD = -1  # head of a word whose head is not annotated
_NO_LABEL = ("", "-", "-1", "nan")
"""Placeholders for a missing label: MNLI has "-" where its annotators disagreed, the hub -1 in the test sets of all tasks."""


class Tagged(NamedTuple):
    """Words of a text with Penn tags, relations and heads (from 1, `NO_HEAD` if unknown); empty without such layers."""

    words: tuple[str, ...]
    xpos: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()


class Labelled(NamedTuple):
    id: str  # its row in the file, from 1
    texts: tuple[str, ...]
    label: str  # class, or the number as text
    tagged: tuple[Tagged, ...] = ()  # the texts in words, if the file has such layers


def glue_records(path: str | Path, task: str) -> Iterator[Labelled | Dropped]:
    """Yield the examples of a file in order; rows that lack a label, a text or a column (QQP has some) as dropped records."""
    for number, (where, row) in enumerate(_rows(path, task), start=1):
        if isinstance(row, str):
            yield Dropped(str(number), "incomplete row", row)
            continue
        *texts, text = (_cell(row, names, where, task) for names in TASKS[task].columns)
        label = _class_label(text)
        if not all(texts):
            yield Dropped(str(number), "empty text")
            continue
        if label in _NO_LABEL:
            yield Dropped(str(number), "no label")
            continue
        if TASKS[task].regression:
            score = _number(text)
            if score is None or not math.isfinite(score):
                raise AtlasError(f"{where}: the score {text!r} is not a number.")
            label = text
        tagged = _tagged(row["layers"], texts, where) if "layers" in row else ()
        yield Labelled(str(number), tuple(texts), label, tagged)


def _rows(path: str | Path, task: str) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    """The place of each row with its cells by name, or what is missing if it has fewer columns than the header."""
    lines = ((f"{path}:{number}", line) for number, line in read_lines(path))
    start, first = next(lines, ("", ""))
    if not start:
        raise AtlasError(f"{path}: the file is empty.")
    if first.lstrip().startswith("{"):
        yield start, json_object(first, start)
        yield from ((where, json_object(line, where)) for where, line in lines if line.strip())
        return
    header = first.split("\t")
    for names in TASKS[task].columns:
        _cell(dict.fromkeys(header, ""), names, start, task)
    for where, line in lines:
        cells = line.split("\t")
        if len(cells) > len(header):
            raise AtlasError(f"{where}: {len(cells)} columns instead of {len(header)}; separate columns by tabs.")
        if len(cells) == len(header) and line:
            yield where, dict(zip(header, cells, strict=True))
        elif line:
            yield where, f"{len(cells)} of {len(header)} columns"


def _cell(row: Mapping[str, Any], names: tuple[str, ...], where: str, task: str) -> str:
    for name in names:
        if name in row:
            value = row[name]
            if isinstance(value, bool) or not isinstance(value, str | int | float | None):
                raise AtlasError(f"{where}: '{name}' is not text.")
            return "" if value is None or value != value else str(value).strip()
    raise AtlasError(f"{where}: the task {task} needs a column {' or '.join(names)}. Found: {', '.join(map(str, row))}.")


def _class_label(text: str) -> str:
    """One spelling of a label: 1 for 1.0, which tables with missing labels have; nan for NaN."""
    number = _number(text)
    if number is None:
        return text
    return str(int(number)) if number.is_integer() else str(number)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _tagged(layers: Any, texts: Sequence[str], where: str) -> tuple[Tagged, ...]:
    if not isinstance(layers, list) or len(layers) != len(texts):
        raise AtlasError(f"{where}: 'layers' must be a list with an entry for each of {len(texts)} texts.")
    tagged_texts = []
    for text, entry in zip(texts, layers, strict=True):
        columns = [entry.get(name) if isinstance(entry, dict) else None for name in ("words", "xpos", "relations")]
        if not all(isinstance(c, list) and all(isinstance(value, str) for value in c) for c in columns):
            raise AtlasError(f"{where}: each entry of 'layers' needs the lists words, xpos and relations.")
        words, xpos, relations = (tuple(column or ()) for column in columns)
        heads = tuple(NO_HEAD if head is None else head for head in entry.get("heads", ()))
        if not len(words) == len(xpos) == len(relations) or "".join("".join(words).split()) != "".join(text.split()):
            raise AtlasError(
                f"{where}: the words in 'layers' differ from the text {text[:40]!r}, or in number from their tags."
            )
        if heads and (len(heads) != len(words) or not all(type(h) is int and NO_HEAD <= h <= len(words) for h in heads)):
            raise AtlasError(f"{where}: 'heads' must be a list of {len(words)} numbers from 0 to {len(words)}, or null.")
        tagged_texts.append(Tagged(words, xpos, relations, heads))
    return tuple(tagged_texts)


def glue_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    for item in builder.records(start, stop):
        yield item if isinstance(item, Dropped) else labelled_example(builder, item)


def labelled_example(builder: ExampleBuilder, item: Labelled) -> Example | Dropped:
    """A sentence or a pair as model input; if too long, it is dropped, or its longer text truncated by tokens (`overlong`)."""
    pieces = builder.pieces
    tagged = item.tagged or tuple(Tagged(tuple(WORD.findall(text))) for text in item.texts)
    spelled = [pieces.pieces(t.words, spaces_in(text, t.words)) for t, text in zip(tagged, item.texts, strict=True)]
    room = builder.bound - (pieces.single if len(tagged) == 1 else pieces.pair).specials
    length = sum(len(ids) for text in spelled for ids in text)
    if length > room:
        if builder.entry["overlong"] == "drop":
            return Dropped(item.id, "too long", f"{length + builder.bound - room} tokens, {builder.bound} allowed")
        spelled = _truncated(spelled, room)
    positions = [[k for k, ids in enumerate(text) if ids] for text in spelled]
    if not all(positions):
        return Dropped(item.id, "text without tokens", repr(item.texts[0][:40]))
    texts = [[text[k] for k in places] for text, places in zip(spelled, positions, strict=True)]

    def layer(name: str) -> tuple[Any, ...]:
        columns = [getattr(text, name) for text in tagged]
        if not all(columns):
            return ()
        return tuple(values[k] for values, places in zip(columns, positions, strict=True) for k in places)

    layers = {name: layer(name) for name in ("xpos", "relations")} | {"heads": _kept_heads(tagged, positions)}
    layers = {name: values for name, values in layers.items() if values}
    return builder.assembled(item.id, texts, layer("words"), layers=layers, label=item.label, texts=item.texts)


def _kept_heads(texts: Sequence[Tagged], positions: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Heads of the kept words of one or two texts, as positions among all kept words, from 1; empty if a text has no heads."""
    if not all(text.heads for text in texts):
        return ()
    heads: list[int] = []
    for text, places in zip(texts, positions, strict=True):
        kept = {place: len(heads) + k for k, place in enumerate(places, start=1)}
        heads += [0 if text.heads[k] == 0 else kept.get(text.heads[k] - 1, NO_HEAD) for k in places]
    return tuple(heads)


def _truncated(texts: Sequence[Sequence[Sequence[int]]], room: int) -> list[list[tuple[int, ...]]]:
    """Word pieces of one or two texts, truncated to `room` by removing the last one of the longer text (Devlin et al. 2019)."""
    sizes = [sum(map(len, text)) for text in texts]
    while sum(sizes) > room:
        sizes[int(len(sizes) == 2 and sizes[1] >= sizes[0])] -= 1
    truncated = []
    for text, remaining in zip(texts, sizes, strict=True):
        words: list[tuple[int, ...]] = []
        for ids in text:
            words.append(tuple(ids[:remaining]))
            remaining -= len(words[-1])
        truncated.append(words)
    return truncated
