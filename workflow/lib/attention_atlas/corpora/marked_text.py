"""Texts with marked phrases: GAP's ambiguous pronouns with two names, and FrameNet's targets with their frame elements.

GAP is a tab-separated file (Webster et al. 2018). Sentences with frames have a word (the target) that evokes a frame, and
phrases that fill its core elements, a JSON list as below, or the authors' notebook, which printed them (Kovaleva et al. 2019,
section 4.2):

    [{"sentence": "He was becoming agitated .", "target": "agitated", "links": ["He"]}, ...]
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attention_atlas.corpora.layers import Mention
from attention_atlas.corpora.records import Dropped, required_text
from attention_atlas.corpora.text import WORD, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_json, read_lines

if TYPE_CHECKING:
    from attention_atlas.corpora.examples import Example, ExampleBuilder

COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL")
_PRINTED = re.compile(r"(?m)^(.*\S) +(\S+) (\[['\"].*['\"]\]) ?$")
"""A line of the notebook: sentence, target, and elements as a list of Python."""
TARGET, ELEMENT = "target", "element"
LONGEST_SENTENCE, LONGEST_ELEMENT = 12, 3
"""Words in a sentence and in an element, by which the authors selected sentences of FrameNet."""


class Passage(NamedTuple):
    id: str
    words: tuple[str, ...]
    spaces: tuple[bool, ...]  # whether a space stands before each word
    mentions: tuple[Mention, ...]  # the pronoun and the names A and B; those that it refers to (maybe none) are in its cluster
    document: str | None  # address of the page that it is taken from; None if the file has none


class FrameSentence(NamedTuple):
    id: str
    sentence: str  # words separated by spaces
    target: str  # word that evokes the frame
    elements: tuple[str, ...]  # phrases that fill the frame's core elements
    frame: str = ""  # name of the frame, "" if unknown


def gap_records(path: str | Path) -> Iterator[Passage]:
    """Yield the passages of a tab-separated file with the columns `COLUMNS`; quotation marks are ordinary text."""
    rows = ((number, line.split("\t")) for number, line in read_lines(path) if line.strip())
    _, header = next(rows, (1, []))
    if absent := [name for name in COLUMNS[:-1] if name not in header]:
        raise AtlasError(f"{path}:1: the column '{absent[0]}' is missing. Found: {', '.join(header)}.")
    for number, row in rows:
        if len(row) != len(header):
            raise AtlasError(f"{path}:{number}: {len(row)} columns instead of {len(header)}; separate columns by tabs.")
        yield _passage(dict(zip(header, row, strict=True)), f"{path}:{number}")


def _passage(row: dict[str, str], where: str) -> Passage:
    text = row["Text"]
    matches = list(WORD.finditer(text))
    mentions = []
    for name in ("Pronoun", "A", "B"):
        offset = row[f"{name}-offset"]
        start = int(offset) if offset.isdecimal() else -1
        if start < 0 or text[start : start + len(row[name])] != row[name] or not row[name]:
            raise AtlasError(
                f"{where}: '{row[name]}' is not at character {offset} of the text; correct {name} or {name}-offset (characters "
                "count from 0)."
            )
        stop = start + len(row[name])
        inside = [k for k, match in enumerate(matches) if match.end() > start and match.start() < stop]
        role = "pronoun" if name == "Pronoun" else name
        refers = "TRUE" if name == "Pronoun" else row[f"{name}-coref"].upper()
        if refers not in ("TRUE", "FALSE"):
            raise AtlasError(f"{where}: {name}-coref is {row[f'{name}-coref']!r}; it must be TRUE or FALSE.")
        cluster = "pronoun" if refers == "TRUE" else role
        mentions.append(Mention(inside[0], inside[-1] + 1, cluster, heads={"last": inside[-1]}, role=role))
    words = tuple(match[0] for match in matches)
    return Passage(row["ID"], words, spaces_in(text, words), tuple(mentions), row.get("URL") or None)


def gap_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    for name, words, spaces, mentions, document in builder.records(start, stop):
        yield builder.example(name, words, spaces, mentions=mentions, document=document)


def frames_records(path: str | Path) -> Iterator[FrameSentence]:
    """Yield the sentences of a JSON list, or of a notebook."""
    content = read_json(path)
    if isinstance(content, dict) and "cells" in content:
        # Of what the notebook printed, the output with the most sentences; nothing in it is run.
        outputs = ["".join(output.get("text", ())) for cell in content["cells"] for output in cell.get("outputs", ())]
        printed = max((_PRINTED.findall(text) for text in outputs), key=len, default=[])
        content = [{"sentence": words, "target": word, "links": ast.literal_eval(links)} for words, word, links in printed]
    if not isinstance(content, list):
        raise AtlasError(f"{path}: expected a list of sentences with frames.")
    for number, entry in enumerate(content, start=1):
        where = f"{path}: sentence {number}"
        sentence, target = (required_text(entry, key, where).strip() for key in ("sentence", "target"))
        links = entry.get("links")
        if not isinstance(links, list) or not links:
            raise AtlasError(f"{where}: 'links' must be a list of the phrases that fill the frame's core elements.")
        elements = tuple(required_text({"links": link}, "links", where).strip() for link in links)
        yield FrameSentence(str(number), sentence, target, elements, str(entry.get("frame", "")))


def frames_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    """Sentences with their target and elements, each at its first occurrence."""
    for frame in builder.records(start, stop):
        words = frame.sentence.split()
        mentions = []
        for role, text in ((TARGET, frame.target), *((ELEMENT, text) for text in frame.elements)):
            phrase = text.split()
            first = next((k for k in range(len(words) - len(phrase) + 1) if words[k : k + len(phrase)] == phrase), None)
            if first is None:
                yield Dropped(frame.id, f"{role} not in the sentence", repr(text))
                break
            mentions.append(Mention(first, first + len(phrase), frame.frame, role=role))
        else:
            yield builder.example(frame.id, words, mentions=tuple(mentions))
