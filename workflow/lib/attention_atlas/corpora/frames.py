"""Sentences with frames: a word (the target) that evokes a frame, and the phrases that fill its core elements.

    [{"sentence": "He was becoming agitated .", "target": "agitated", "links": ["He"]}, ...]      a JSON list
    fndata-1.7/ or framenet_v17/ with frame, lu, luIndex.xml                                      FrameNet, by NLTK's reader

Sentences of FrameNet are selected as in Kovaleva et al. (2019, section 4.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_json

TARGET, ELEMENT = "target", "element"
LONGEST_SENTENCE, LONGEST_ELEMENT, GAP = 12, 3, 2
"""Maximum number of words in a sentence and in an element; words on each side of the target without words of an element."""


@dataclass(frozen=True)
class FrameSentence:
    """A sentence with a frame.

    Attributes:
        id: its name.
        sentence: words separated by spaces.
        target: word that evokes the frame.
        elements: phrases that fill the frame's core elements.
        frame: name of the frame, "" if unknown.
    """

    id: str
    sentence: str
    target: str
    elements: tuple[str, ...]
    frame: str = ""


def read_frames(path: str | Path) -> Iterator[FrameSentence]:
    """Yield the sentences of a JSON list, or those of a FrameNet folder that meet the paper's rules.

    Raises:
        AtlasError: the source is neither, or an entry lacks a key; names the entry.
    """
    if Path(path).is_dir():
        yield from _from_framenet(Path(path))
        return
    content = read_json(path)
    if not isinstance(content, list):
        raise AtlasError(f"{path}: expected a list of sentences with frames.")
    for number, entry in enumerate(content, start=1):
        where = f"{path}: sentence {number}"
        if not isinstance(entry, dict):
            raise AtlasError(f"{where}: expected an object with sentence, target and links.")
        sentence, target = (_text(entry.get(key), key, where) for key in ("sentence", "target"))
        links = entry.get("links")
        if not isinstance(links, list) or not links:
            raise AtlasError(f"{where}: 'links' must be a list of the phrases that fill the frame's core elements.")
        elements = tuple(_text(link, "links", where) for link in links)
        yield FrameSentence(str(number), sentence, target, elements, str(entry.get("frame", "")))


def first_occurrence(words: Sequence[str], phrase: Sequence[str]) -> int | None:
    """Position of the first occurrence of a phrase, None if it does not occur."""
    size = len(phrase)
    return next((k for k in range(len(words) - size + 1) if list(words[k : k + size]) == list(phrase)), None)


def _text(value: Any, key: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise AtlasError(f"{where}: '{key}' is missing or empty.")
    return value.strip()


def _from_framenet(folder: Path) -> Iterator[FrameSentence]:
    import nltk.data
    from nltk.corpus.reader.framenet import FramenetCorpusReader
    from nltk.tokenize import NLTKWordTokenizer

    if not (folder / "luIndex.xml").is_file():
        raise AtlasError(f"{folder}: this is not a FrameNet folder (it has no luIndex.xml); name the folder that contains lu/.")
    # NLTK only reads below its own folders.
    if str(folder.resolve()) not in nltk.data.path:
        nltk.data.path.append(str(folder.resolve()))
    reader, tokenizer = FramenetCorpusReader(str(folder.resolve()), []), NLTKWordTokenizer()
    try:
        for unit in reader.lus():
            cores = {name.name for group in unit.frame.FEcoreSets for name in group}
            for part in unit.subCorpus:
                for number, sentence in enumerate(part.sentence, start=1):
                    selection = _chosen(sentence, cores, tokenizer.tokenize)
                    if selection is not None:
                        name = f"{unit.ID}-{part.name}-{number}"
                        words, target, elements = selection
                        yield FrameSentence(name, " ".join(words), target, elements, unit.frame.name)
    except (OSError, SyntaxError, AttributeError, KeyError) as error:  # what NLTK raises for a damaged folder
        raise AtlasError(
            f"{folder}: FrameNet cannot be read here ({type(error).__name__}: {str(error)[:100]}). Unpack the release again."
        ) from error


def _chosen(sentence: Any, cores: set[str], tokenize: Any) -> tuple[list[str], str, tuple[str, ...]] | None:
    """Words, target and core elements of a sentence, None if it does not meet the paper's rules."""
    text = sentence.text
    words = tokenize(text)
    targets, spans = sentence.get("Target") or [], (sentence.get("FE") or [[]])[0]
    if len(words) > LONGEST_SENTENCE or len(targets) != 1:
        return None
    target = text[targets[0][0] : targets[0][1]]
    if target not in words:
        return None
    place = words.index(target)
    near = set(words[max(0, place - GAP) : place + GAP + 1])
    elements = []
    for start, stop, name in spans:
        inside = tokenize(text[start:stop])
        if len(inside) > LONGEST_ELEMENT or near & set(inside):
            return None
        if name in cores:
            elements.append(" ".join(inside))
    return (words, target, tuple(elements)) if elements else None
