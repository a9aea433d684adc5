"""Reading coreference in the column format of CoNLL-2012, and in that of OntoNotes on the hub.

    #begin document (name); part 000
    name  0  0  The  DT  (TOP(S(NP*  ...  (12
    ...
    #end document

Twelve or more columns are separated by tabs, or by spaces: word (4), part of speech (5), parse (6), named entities (11), one
for each predicate (from 12 to the last but one) and chains, as (3|(4 (the last). The source is a file, a folder or a tar
archive; documents are sorted by file name. CoNLL-2012 has each document with gold and automatic annotation, in three languages:
only files whose names match a pattern are read, and none in folders called chinese or arabic.

The documents of OntoNotes 5.0 on the hub are one JSON object per line; sentences with a word or tag XX have no parse.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import accumulate, chain, groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from attention_atlas.corpora.records import packed_files
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import columns_of, decoded, is_tar_archive, json_object, raw_lines, without_mac_files

if TYPE_CHECKING:
    from nltk import Tree as Constituents

GOLD_FILES = "*gold_conll"  # pattern of the names of files with gold annotation, as CoNLL-2012 calls them
COREFERENCE_FILES = "*conll"  # pattern of the names of all files with coreference columns
_OTHER_LANGUAGES = {"chinese", "arabic"}  # folders of CoNLL-2012 that are not read
_BEGIN = re.compile(r"#begin document \((.*?)\);(?: part (\d+))?[ \t]*$")
_CHAIN = re.compile(r"(\()?([^()|]+)(\))?")
_BRACKET = re.compile(r"\(([^()*]+)|(\))")
_NOTHING = {"-", "_", "", "*"}
_COLUMNS = 12
_ENTITY = 10  # column of the named entities; those of the predicates follow
PREDICATE = "V"  # label of the span of a predicate itself
_CHANGED = "The data set has changed: set the revision that the registry names."


class Span(NamedTuple):
    """Words start .. stop - 1 of a document (from 0) with a label: of a mention, its chain."""

    start: int
    stop: int
    label: str


@dataclass(frozen=True)
class Document:
    """One part of a document."""

    id: str  # name, with the part if there are several
    words: tuple[str, ...]
    sentence: tuple[int, ...]  # for each word the number of its sentence, from 0
    tags: tuple[str, ...]  # part of speech of each word, "_" if the file has none
    parses: tuple[str, ...]  # for each sentence its bracketed parse, "" if the file has none
    spans: tuple[Span, ...]  # mentions ordered by start, longer ones first
    entities: tuple[Span, ...] = ()  # named entities with their types, ordered by end
    propositions: tuple[tuple[Span, ...], ...] = ()  # for each predicate its arguments and itself (`PREDICATE`)


def conll2012_records(path: str | Path, files: str = GOLD_FILES) -> Iterator[Document]:
    """Yield the documents of a file, a folder or an archive, of which files whose names match a pattern are read."""
    file_of: dict[str, str] = {}
    for name, lines in column_files(Path(path), files=files):
        for document in _documents(name, lines):
            if document.id in file_of:
                other = f"in {file_of[document.id]} and in {name}" if file_of[document.id] != name else f"twice in {name}"
                raise AtlasError(f"{path}: document {document.id} is {other}; remove one, or choose fewer files with `files`.")
            file_of[document.id] = name
            yield document
    if not file_of:
        raise AtlasError(f"{path}: there is no document in this source; it needs files in the column format of CoNLL-2012.")


def column_files(
    path: Path, by_base_name: bool = False, files: str = COREFERENCE_FILES, below: str | None = None
) -> Iterator[tuple[str, Iterable[tuple[int, bytes]]]]:
    """Name and numbered lines of each file in a source, in the order of the names (`by_base_name`: without their folders).

    `below`: read only files in folders of this name, if there are such folders.
    """

    if not (path.is_dir() or is_tar_archive(path)):
        yield str(path), raw_lines(path)
        return

    def choose(names: Sequence[str]) -> list[str]:
        names = without_mac_files(path, [name for name in names if below in PurePath(name).parts[:-1]] or names)
        named = [name for name in names if fnmatchcase(PurePath(name).name, files)]
        chosen = [name for name in named if not _OTHER_LANGUAGES & set(PurePath(name).parts[:-1])]
        if not chosen:
            raise AtlasError(f"{path}: there is no file here whose name matches {files!r}, only {', '.join(names[:3])} ...")
        # Files of one name in several folders are in the order of these, not in that of the archive.
        return sorted(chosen, key=lambda name: (name.rsplit("/", 1)[-1] if by_base_name else "", name))

    for name, content in packed_files(path, choose):
        yield f"{path}{'/' if path.is_dir() else ':'}{name}", enumerate(io.BytesIO(content), start=1)


class _Sentence(NamedTuple):
    """The layers of a sentence as in `Document`, at positions in the sentence."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    parse: str
    spans: list[Span]
    entities: list[Span]
    propositions: list[list[Span]]


def _documents(name: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[Document]:
    title: tuple[str, int] | None = None  # name and part of the document
    sentences: list[_Sentence] = []
    rows: list[tuple[str, list[str]]] = []
    for number, raw in chain(lines, [(0, b"#end document")]):
        where = f"{name}:{number}"
        line = decoded(raw, where).rstrip("\r\n")
        is_end = line.startswith("#end")
        if is_end or not line.strip(" \t"):
            if rows:
                sentences.append(_of_columns(rows))
            if is_end and title is not None and sentences:
                yield _document(*title, sentences)
            title, sentences, rows = (None, [], []) if is_end else (title, sentences, [])
        elif line.startswith("#begin"):
            if rows or sentences:
                raise AtlasError(f"{where}: a document starts before the previous one has ended; add #end document.")
            match = _BEGIN.match(line)
            if match is None:
                raise AtlasError(f"{where}: expected '#begin document (name); part 000', found {line!r}.")
            title = match[1], int(match[2] or 0)
        elif line.startswith("{") and title is None:
            yield from _of_hub(json_object(line, where), where)
        elif not line.startswith("#"):
            columns = columns_of(line)
            if len(columns) < _COLUMNS:
                raise AtlasError(f"{where}: {len(columns)} columns, but CoNLL-2012 has at least {_COLUMNS}.")
            if title is None:
                raise AtlasError(f"{where}: a word outside of a document; add '#begin document (name); part 000'.")
            rows.append((where, columns))


def _document(name: str, part: int, sentences: Sequence[_Sentence]) -> Document:
    starts = list(accumulate((len(sentence.words) for sentence in sentences), initial=0))

    def moved(spans: Iterable[Span], start: int) -> list[Span]:
        return [Span(span.start + start, span.stop + start, span.label) for span in spans]

    placed = list(zip(sentences, starts, strict=False))
    spans = {span for sentence, start in placed for span in moved(sentence.spans, start)}
    return Document(
        f"{name}/{part}" if part else name,
        words=tuple(word for sentence in sentences for word in sentence.words),
        sentence=tuple(number for number, sentence in enumerate(sentences) for _ in sentence.words),
        tags=tuple("_" if tag in _NOTHING else tag for sentence in sentences for tag in sentence.tags),
        parses=tuple(sentence.parse for sentence in sentences),
        spans=tuple(sorted(spans, key=lambda span: (span.start, -span.stop, span.label))),
        entities=tuple(span for sentence, start in placed for span in moved(sentence.entities, start)),
        propositions=tuple(tuple(moved(p, start)) for sentence, start in placed for p in sentence.propositions if p),
    )


def _of_columns(rows: Sequence[tuple[str, list[str]]]) -> _Sentence:
    """A sentence of lines in columns, each with its place."""
    places = [where for where, _ in rows]
    if len({len(cells) for _, cells in rows}) > 1:
        raise AtlasError(f"{places[0]}: the lines of this sentence have different numbers of columns.")
    columns = list(zip(*(cells for _, cells in rows), strict=True))
    words, tags, bits = columns[3:6]
    if not all(words):
        raise AtlasError(f"{places[words.index('')]}: the word is empty; fill it in.")
    parse = []
    for word, tag, bit in zip(words, tags, bits, strict=True):
        # A bracket as a word would start a constituent, white space within it (U+00A0) a second leaf.
        leaf = re.sub(r"\s", "_", word).replace("(", "-LRB-").replace(")", "-RRB-")
        parse.append(bit.replace("*", f"({'_' if tag in _NOTHING else tag} {leaf})") if "*" in bit else "")
    entities, *propositions = (_bracketed(column, places) for column in columns[_ENTITY:-1])
    return _Sentence(words, tags, "".join(parse) if all(parse) else "", _chains(columns[-1], places), entities, propositions)


def _chains(column: Sequence[str], places: Sequence[str]) -> list[Span]:
    """Mentions of a sentence: an end closes the last open start of its chain."""
    spans: list[Span] = []
    open_starts: dict[str, list[int]] = {}
    for place, (text, where) in enumerate(zip(column, places, strict=True)):
        for part in () if text in _NOTHING else text.split("|"):
            match = _CHAIN.fullmatch(part.strip(" "))
            if match is None or not (match[1] or match[3]):
                raise AtlasError(f"{where}: the last column is {text!r} instead of chains such as (3, 3) or (3)|(5.")
            starts = open_starts.setdefault(match[2], [])
            if match[1]:
                starts.append(place)
            if match[3]:
                if not starts:
                    raise AtlasError(f"{where}: a mention of chain {match[2]} ends here but has no start in its sentence.")
                spans.append(Span(starts.pop(), place + 1, match[2]))
    for label, starts in open_starts.items():
        if starts:
            raise AtlasError(f"{places[starts[-1]]}: the mention of chain {label} that starts here has no end in its sentence.")
    return spans


def _bracketed(column: Sequence[str], places: Sequence[str]) -> list[Span]:
    """Spans of a column such as (ARG0* * *), ordered by end."""
    spans: list[Span] = []
    open_brackets: list[tuple[int, str]] = []
    for place, (cell, where) in enumerate(zip(column, places, strict=True)):
        for opened, closed in _BRACKET.findall(cell):
            if opened:
                open_brackets.append((place, opened))
            elif closed and open_brackets:
                start, label = open_brackets.pop()
                spans.append(Span(start, place + 1, label))
            else:
                raise AtlasError(f"{where}: {cell!r} closes a bracket that is not open in this sentence.")
    if open_brackets:
        start, label = open_brackets[-1]
        raise AtlasError(f"{places[start]}: the bracket of {label} does not close in its sentence.")
    return spans


def _of_hub(row: Mapping[str, Any], where: str) -> Iterator[Document]:
    """The documents of a row of the hub's data set, one for each part."""
    try:
        for part, sentences in groupby(row["sentences"], key=lambda sentence: sentence["part_id"]):
            about = f"{where}: document {row['document_id']}, part {part}, sentence"
            read = [_of_layers(sentence, f"{about} {number}") for number, sentence in enumerate(sentences, start=1)]
            yield _document(row["document_id"], part, read)
    except (KeyError, TypeError, ValueError) as error:
        raise AtlasError(f"{where}: this is not a document of OntoNotes ({error!r}). {_CHANGED}") from error


def _of_layers(sentence: Mapping[str, Any], where: str) -> _Sentence:
    """A sentence of the hub's data set: mentions are (chain, first word, last word), other spans B, I and O tags."""
    words, tags, entities = (sentence[name] for name in ("words", "pos_tags", "named_entities"))
    frames = [frame["frames"] for frame in sentence["srl_frames"]]
    if not all(words) or any(len(layer) != len(words) for layer in (tags, entities, *frames)):
        raise AtlasError(f"{where}: a layer does not have one value for each of the {len(words)} words. {_CHANGED}")
    spans = [Span(start, last + 1, str(chain)) for chain, start, last in sentence["coref_spans"]]
    for start, stop, _ in spans:
        if not 0 <= start < stop <= len(words):
            raise AtlasError(f"{where}: a mention covers words {start} to {stop - 1} of {len(words)} words. {_CHANGED}")
    # Without white space around brackets, and none (U+00A0) within a leaf.
    parse = re.sub(r"[^\S ]", "_", re.sub(r"\s*([()])\s*", r"\1", sentence["parse_tree"] or "", flags=re.ASCII))
    return _Sentence(tuple(words), tuple(tags), parse, spans, tagged_spans(entities), list(map(tagged_spans, frames)))


def tagged_spans(tags: Sequence[str]) -> list[Span]:
    """Spans of B-, I- and O tags; an I- tag after a tag of another type starts one, as in IOB1 and in the scorer of CoNLL."""
    spans = []
    for start, tag in enumerate(tags):
        if tag.startswith("B-") or (tag.startswith("I-") and (start == 0 or tags[start - 1][2:] != tag[2:])):
            stop = start + 1
            while stop < len(tags) and tags[stop] == f"I-{tag[2:]}":
                stop += 1
            spans.append(Span(start, stop, tag[2:]))
    return spans


def sentence_starts(document: Document) -> list[tuple[int, int]]:
    """First word of each sentence of a document, and the word after its last."""
    starts = [k for k, number in enumerate(document.sentence) if k == 0 or number != document.sentence[k - 1]]
    return list(zip(starts, [*starts[1:], len(document.words)], strict=True))


def sentence_parse(document: Document, number: int) -> Constituents:
    """The constituents of a sentence, counted from 0."""
    # Imported here because it is slow and needed only for parses.
    from nltk import Tree as Constituents

    text = document.parses[number]
    size = document.sentence.count(number)
    where = f"document {document.id}: the parse of sentence {number + 1}"
    try:
        tree = Constituents.fromstring(text)
    except ValueError as error:
        message = " ".join(str(error).split())
        raise AtlasError(f"{where} cannot be read ({message}). Correct the file, or take it out.") from error
    if len(tree.leaves()) != size:
        raise AtlasError(f"{where} has {len(tree.leaves())} of {size} words. Correct the file, or take it out.")
    return tree
