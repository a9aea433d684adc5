"""OntoNotes 5.0 from its hub data set, written in the column format of CoNLL-2012 for the readers.

A row of the data set is a document: its sentences with words, tags, parse, entities, arguments of predicates and mentions. The
data set was made from the gold files, so the columns are restored exactly, except lemmas, senses and speakers, which no reader
uses, and the parse of a sentence with a word or tag XX, which the data set lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from attention_atlas.errors import AtlasError

CHANGED = "The data set has changed: set the revision that the registry names."
_LEAF = re.compile(r"\(([^\s()]+) ([^\s()]+)\)", re.ASCII)
_NEEDED = ("document_id", "sentences")
_SENTENCE = ("part_id", "words", "pos_tags", "parse_tree", "named_entities", "srl_frames", "coref_spans")


def write_conll2012(
    rows: Iterable[Mapping[str, Any]], source: Mapping[str, Any], stream: Any, features: Mapping[str, Any]
) -> int:
    """Write documents of the data set in the format of CoNLL-2012; returns their number.

    Raises:
        AtlasError: columns are missing, or the layers of a sentence do not match its words; names data set and sentence.
    """
    written = 0
    for row in rows:
        _check(row, _NEEDED, source["hub"])
        names = _class_names(features)
        for part, sentences in groupby(row["sentences"], key=lambda sentence: sentence["part_id"]):
            stream.write(f"#begin document ({row['document_id']}); part {part:03d}\n")
            for place, sentence in enumerate(sentences, start=1):
                where = f"data set {source['hub']}: document {row['document_id']}, part {part}, sentence {place}"
                _check(sentence, _SENTENCE, where)
                for columns in zip(*_columns(sentence, names, where), strict=True):
                    stream.write("   ".join((row["document_id"], str(part), *columns)) + "\n")
                stream.write("\n")
            stream.write("#end document\n")
        written += 1
    return written


def _columns(sentence: Mapping[str, Any], names: Mapping[str, Sequence[str]], where: str) -> Iterator[Sequence[str]]:
    """The columns of a sentence from the third on, each with a value for every word.

    Raises:
        AtlasError: a layer does not have one value per word.
    """
    words = [str(word) for word in sentence["words"]]
    tags = [_named(tag, names.get("pos_tags")) for tag in sentence["pos_tags"]]
    nothing = ["-"] * len(words)
    entities = [_named(tag, names.get("named_entities")) for tag in sentence["named_entities"]]
    frames = [[str(tag) for tag in frame["frames"]] for frame in sentence["srl_frames"]]
    columns = [
        [str(number) for number in range(len(words))],
        words,
        tags,
        _parse_bits(sentence["parse_tree"], len(words), where),
        # Lemma, frame set, sense and speaker.
        *([nothing] * 4),
        # An entity of one word has no asterisk.
        [bit.replace("*)", ")") if bit.startswith("(") else bit for bit in _brackets(entities)],
        *map(_brackets, frames),
        _mentions(sentence["coref_spans"], len(words), where),
    ]
    if any(len(column) != len(words) for column in columns) or not all(words):
        raise AtlasError(f"{where}: a layer does not have one value for each of the {len(words)} words. {CHANGED}")
    yield from columns


def _parse_bits(tree: str | None, words: int, where: str) -> list[str]:
    """The parse split into one part per word, with `*` in place of tag and word; `-` if the sentence has no parse."""
    if not tree:
        return ["-"] * words
    # Text after a leaf up to the next opening bracket belongs to that word.
    bits: list[str] = []
    opened = ""
    for piece in re.split(r"(\s*\([^\s()]+ [^\s()]+\)\s*)", tree, flags=re.ASCII):
        if _LEAF.search(piece):
            bits.append(f"{opened}*")
            opened = ""
            continue
        closing = re.match(r"[\s)]*", piece)
        assert closing is not None
        rest = piece[closing.end() :]
        if bits:
            bits[-1] += closing[0].replace(" ", "")
        opened += "".join(rest.split())
    if len(bits) != words or opened:
        raise AtlasError(f"{where}: its parse has {len(bits)} leaves, but there are {words} words. {CHANGED}")
    return bits


def _brackets(tags: Sequence[str]) -> list[str]:
    """B, I and O tags as the brackets of a column."""
    column = []
    for place, tag in enumerate(tags):
        following = tags[place + 1] if place + 1 < len(tags) else "O"
        start = f"({tag[2:]}" if tag.startswith("B-") else ""
        stop = ")" if tag != "O" and following != f"I-{tag[2:]}" else ""
        column.append(f"{start}*{stop}")
    return column


def _mentions(spans: Iterable[Sequence[int]], words: int, where: str) -> list[str]:
    """Mentions (chain, first word, last word) as the column of chains."""
    opened: list[list[str]] = [[] for _ in range(words)]
    closed: list[list[str]] = [[] for _ in range(words)]
    # If several start at a word, the longest comes first; if several end there, it comes last.
    for chain, start, stop in sorted(spans, key=lambda span: (span[1], -span[2], span[0])):
        if not 0 <= start <= stop < words:
            raise AtlasError(f"{where}: a mention covers words {start} to {stop}, but there are {words} words. {CHANGED}")
        if start == stop:
            opened[start].append(f"({chain})")
        else:
            opened[start].append(f"({chain}")
            closed[stop].insert(0, f"{chain})")
    return ["|".join((*begin, *end)) or "-" for begin, end in zip(opened, closed, strict=True)]


def _named(value: Any, names: Sequence[str] | None) -> str:
    return names[value] if names is not None and isinstance(value, int) else str(value)


def _class_names(features: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Layer -> names of its classes, from the features of the data set."""
    layers = features.get("sentences")
    # A list of records, in either of the two notations of `datasets`.
    layers = layers[0] if isinstance(layers, list) else getattr(layers, "feature", layers)
    named = {}
    for layer in ("pos_tags", "named_entities"):
        feature = layers.get(layer) if isinstance(layers, Mapping) else None
        feature = feature[0] if isinstance(feature, list) else getattr(feature, "feature", feature)
        if classes := getattr(feature, "names", None):
            named[layer] = classes
    return named


def _check(row: Mapping[str, Any], needed: Sequence[str], what: str) -> None:
    for column in needed:
        if column not in row:
            raise AtlasError(f"{what}: there is no column '{column}'. Columns: {', '.join(sorted(row))}.")
