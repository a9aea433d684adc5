"""Edge probing: labelled spans of words in JSON lines (Tenney et al. 2019; jiant's schema).

    {"text": "The cat sleeps", "targets": [{"span1": [0, 2], "span2": [2, 3], "label": "nsubj"}], "info": {"id": "s1"}}

Spans are half-open over the words of the text, which are separated by spaces; `label` is a label or a list of labels. As an
extension of the schema, a target may name its task, so that a file can contain several tasks on the same texts, and `info` may
name the document of the text ("document": "d1").

Targets that follow from trees and mentions by rule are also made here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from string import whitespace
from typing import TYPE_CHECKING, Any

from attention_atlas.corpora.layers import EdgeTarget, WordSpan
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import json_object, read_lines

if TYPE_CHECKING:
    from nltk import Tree as Constituents

SAME, OTHER = "1", "0"  # labels of two mentions of one chain, and of different chains
_BRACKET_TAGS = ("-LRB-", "-RRB-", "-LCB-", "-RCB-", "-LSB-", "-RSB-")


@dataclass(frozen=True)
class EdgeRecord:
    """A text and its targets."""

    id: str
    words: tuple[str, ...]
    targets: tuple[EdgeTarget, ...]
    document: str | None = None  # the document that the text is taken from; None if unknown
    spaces: tuple[bool, ...] = ()  # whether a space stands before each word in the text; empty if unknown

    def __post_init__(self) -> None:
        for target in self.targets:
            for span in (target.span1, target.span2):
                if span is not None and not 0 <= span[0] < span[1] <= len(self.words):
                    raise AtlasError(
                        f"{self.id}: the span {list(span)} does not lie within the {len(self.words)} words: correct this "
                        "record."
                    )


def edge_line(record: EdgeRecord) -> str:
    """A record as a line of JSON, including the newline."""
    for word in record.words:
        if not _is_word(word):
            raise AtlasError(f"{record.id}: the word {word!r} contains a space, which separates words in this format.")
    targets = []
    for target in record.targets:
        spans: dict[str, Any] = {"span1": list(target.span1)}
        if target.span2 is not None:
            spans["span2"] = list(target.span2)
        label = target.labels[0] if len(target.labels) == 1 else list(target.labels)
        targets.append(spans | {"label": label} | ({"task": target.task} if target.task else {}))
    info = {"id": record.id} | ({} if record.document is None else {"document": record.document})
    return json.dumps({"text": " ".join(record.words), "targets": targets, "info": info}, ensure_ascii=False) + "\n"


def edge_line_builders(path: str | Path) -> Iterator[Callable[[], EdgeRecord]]:
    """Yield functions that read the records of a file, in its order."""
    pairs: dict[str, bool] = {}
    return (partial(_read, line, f"{path}:{number}", number, pairs) for number, line in read_lines(path) if line.strip())


def _read(line: str, where: str, number: int, pairs: dict[str, bool]) -> EdgeRecord:
    """The record of a line; `pairs` records for each task so far whether its targets have two spans."""
    row = json_object(line, where)
    text, targets, info = row.get("text"), row.get("targets"), row.get("info")
    if not isinstance(text, str) or not text.strip(whitespace):
        raise AtlasError(f"{where}: there is no text under 'text'.")
    words = text.split(" ")
    if not all(map(_is_word, words)):
        raise AtlasError(f"{where}: separate the words of a text by single spaces; spans count words.")
    if not isinstance(targets, list) or not all(isinstance(target, Mapping) for target in targets):
        raise AtlasError(f"{where}: expected a list of targets under 'targets'.")
    edge_targets = tuple(_target(target, where, len(words)) for target in targets)
    for target in edge_targets:
        if pairs.setdefault(target.task, target.span2 is not None) != (target.span2 is not None):
            raise AtlasError(
                f"{where}: some targets of a task have one span, others two: name the task of each target, or keep each "
                "task in a separate file."
            )
    about = info if isinstance(info, Mapping) else {}
    document = about.get("document")
    return EdgeRecord(str(about.get("id", number)), tuple(words), edge_targets, None if document is None else str(document))


def _is_word(text: str) -> bool:
    """Whether a text is one word: jiant splits at single spaces, and other ASCII white space would shift all spans after it."""
    return bool(text) and not set(whitespace) & set(text)


def _target(target: Mapping[str, Any], where: str, size: int) -> EdgeTarget:
    labels = target.get("label")
    labels = [labels] if isinstance(labels, str) else labels
    if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
        raise AtlasError(f"{where}: 'label' of a target must be a label or a list of labels, not {target.get('label')!r}.")
    first = _span(target.get("span1"), "span1", where, size)
    second = _span(target["span2"], "span2", where, size) if "span2" in target else None
    task = target.get("task", "")
    if not isinstance(task, str):
        raise AtlasError(f"{where}: 'task' of a target must be the name of a task, not {task!r}.")
    return EdgeTarget(first, second, tuple(dict.fromkeys(labels)), task)


def _span(value: Any, name: str, where: str, size: int) -> WordSpan:
    whole = isinstance(value, list) and len(value) == 2 and all(type(end) is int for end in value)
    if not whole or not 0 <= value[0] < value[1] <= size:
        raise AtlasError(
            f"{where}: '{name}' must be [start, stop] with 0 <= start < stop <= {size} (words of the text), not {value!r}."
        )
    return value[0], value[1]


def children(heads: Sequence[int]) -> list[list[int]]:
    """Dependents of every position in the order of the words: entry 0 lists the roots, entry k those of word k."""
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        dependents[head].append(word)
    return dependents


def subtree(below: Sequence[Sequence[int]], head: int) -> WordSpan:
    """Span from the first to the last word below a word (counted from 1), including the word itself."""
    first = last = head
    waiting = [head]
    while waiting:
        word = waiting.pop()
        first, last = min(first, word), max(last, word)
        waiting += below[word]
    return first - 1, last


def constituent_targets(parse: Constituents) -> Iterator[EdgeTarget]:
    """Constituents: every bracket except those of single tags, including the root; label: see `constituent_label`."""

    def walk(node: Constituents, start: int) -> Iterator[EdgeTarget]:
        size = len(node.leaves())
        inner = [child for child in node if not isinstance(child, str)]
        if inner and (label := constituent_label(node.label())):
            yield EdgeTarget((start, start + size), None, (label,), "constituents")
        place = start
        for child in node:
            if not isinstance(child, str):
                yield from walk(child, place)
                place += len(child.leaves())
            else:
                place += 1

    return walk(parse, 0)


def constituent_label(bracket: str) -> str:
    """The category of a bracket without functions and numbers, as in the published code: NP for NP-SBJ-1, but NP-S for NP-S.

    Labels of bracket tokens (-LRB-) are kept.
    """
    if bracket in _BRACKET_TAGS:
        return bracket
    category, *functions = re.split(r"[-=|]", bracket)
    return f"{category}-S" if functions[:1] == ["S"] else category


def coreference_targets(mentions: Sequence[tuple[WordSpan, str]]) -> list[EdgeTarget]:
    """Coreference within a sentence: every pair of annotated mentions (span, chain), "1" for the same chain, "0" otherwise."""
    return [
        EdgeTarget(span1, span2, (SAME if chain1 == chain2 else OTHER,), "coreference")
        for (span1, chain1), (span2, chain2) in combinations(mentions, 2)
    ]
