"""Reading and writing coreference in the column format of CoNLL-2012.

    #begin document (name); part 000
    name  0  0  The  DT  (TOP(S(NP*  ...  (12
    ...
    #end document

Twelve or more columns are separated by tabs, or by spaces: word (4), part of speech (5), parse (6), named entities (11), one
for each predicate (from 12 to the last but one) and chains, as (3|(4 (the last). The source is a file, a folder or a tar
archive, compressed or not; documents are sorted by file name. CoNLL-2012 contains each document several times, with gold and
automatic annotation, in three languages: v4/data/development/data/english/annotations/bc/cctv/00/cctv_0000.v4_gold_conll. Of a
folder or an archive, only files whose names match a pattern are read, and none in folders called chinese or arabic.

The documents of OntoNotes 5.0 on the hub are written in this format, without lemmas, senses and speakers, which no reader uses,
and without the parse of a sentence with a word or tag XX, which that data set lacks.
"""

from __future__ import annotations

import logging
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import DAMAGED, columns_of, decoded, is_tar_archive, raw_lines, without_mac_files

if TYPE_CHECKING:
    from nltk import Tree as Constituents

_log = logging.getLogger(__name__)
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
_LEAF = re.compile(r"\(([^\s()]+) ([^\s()]+)\)", re.ASCII)


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
    # for each predicate its arguments and itself (`PREDICATE`), in the order of the columns
    propositions: tuple[tuple[Span, ...], ...] = ()


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

    def order(name: str) -> str:
        return name.rsplit("/", 1)[-1] if by_base_name else name

    if path.is_dir():
        inside = [str(p.relative_to(path)) for p in path.rglob("*") if p.is_file()]
        for name in sorted(_chosen(path, inside, files, below), key=order):
            yield str(path / name), raw_lines(path / name)
    elif path.is_file() and is_tar_archive(path):
        try:
            with tarfile.open(path) as archive:
                members = {m.name: m for m in archive.getmembers() if m.isfile()}
                for name in sorted(_chosen(path, members, files, below), key=order):
                    # Read in memory: since nothing is unpacked to disk, paths in the archive cannot do harm.
                    stream = archive.extractfile(members[name])
                    assert stream is not None
                    yield f"{path}:{name}", list(enumerate(stream, start=1))
        except (tarfile.TarError, *DAMAGED) as error:
            raise AtlasError(f"{path}: the archive is damaged ({error}); fetch it again.") from error
    else:
        yield str(path), raw_lines(path)


def _chosen(path: Path, names: Iterable[str], files: str, below: str | None) -> list[str]:
    """The files that `column_files` reads; `names` are paths below the source."""
    names = list(names)
    names = without_mac_files(path, [name for name in names if below in PurePath(name).parts[:-1]] or names)
    named = [name for name in names if fnmatchcase(PurePath(name).name, files)]
    chosen = [name for name in named if not _OTHER_LANGUAGES & set(PurePath(name).parts[:-1])]
    columns = sum(fnmatchcase(name, COREFERENCE_FILES) for name in names)
    if not chosen:
        other = f" It has {columns} other files whose names end in conll; name them by `files`." if columns else ""
        raise AtlasError(f"{path}: there is no file here whose name matches {files!r}.{other}")
    _log.info("%s: %d files match %s, of %d with coreference columns", path, len(chosen), files, columns)
    return chosen


class _Builder:
    """Collects one document."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.words: list[str] = []
        self.sentence: list[int] = []
        self.tags: list[str] = []
        self.parses: list[str] = []
        self.spans: list[Span] = []
        self.entities: list[Span] = []
        self.propositions: list[tuple[Span, ...]] = []
        # Of the current sentence: place and further columns of each line, parts of the parse, and mentions that have not ended.
        self._columns: list[tuple[str, list[str]]] = []
        self._bits: list[str] = []
        self._open: dict[str, list[tuple[int, str]]] = {}

    def add(self, columns: list[str], where: str) -> None:
        word, tag, bit = columns[3:6]
        if not word:
            raise AtlasError(f"{where}: the word is empty; fill it in.")
        self.words.append(word)
        self.sentence.append(len(self.parses))
        self.tags.append("_" if tag in _NOTHING else tag)
        # A bracket as a word would start a constituent, white space within it (U+00A0) a second leaf.
        leaf = re.sub(r"\s", "_", word).replace("(", "-LRB-").replace(")", "-RRB-")
        self._bits.append(bit.replace("*", f"({self.tags[-1]} {leaf})") if "*" in bit else "")
        self._columns.append((where, columns[_ENTITY:-1]))
        if columns[-1] not in _NOTHING:
            self._chains(columns[-1], len(self.words) - 1, where)

    def _chains(self, text: str, place: int, where: str) -> None:
        for part in text.split("|"):
            match = _CHAIN.fullmatch(part.strip(" "))
            if match is None or not (match[1] or match[3]):
                raise AtlasError(f"{where}: the last column is {text!r} instead of chains such as (3, 3) or (3)|(5.")
            chain = match[2]
            if match[1]:
                self._open.setdefault(chain, []).append((place, where))
            if match[3]:
                if not self._open.get(chain):
                    raise AtlasError(
                        f"{where}: a mention of chain {chain} ends here but has no start; correct the last column."
                    )
                start, _ = self._open[chain].pop()
                self.spans.append(Span(start, place + 1, chain))

    def end_sentence(self) -> None:
        if not self._bits:
            return
        for chain, starts in self._open.items():
            if starts:
                raise AtlasError(
                    f"{starts[-1][1]}: the mention of chain {chain} that starts here does not end in its sentence; "
                    "correct the last column."
                )
        self.parses.append("".join(self._bits) if all(self._bits) else "")
        if len({len(cells) for _, cells in self._columns}) > 1:
            raise AtlasError(
                f"{self._columns[0][0]}: the lines of this sentence have different numbers of columns; each predicate has one "
                "in every line."
            )
        columns = [self._bracketed(column) for column in zip(*(cells for _, cells in self._columns), strict=True)]
        self.entities += columns[0] if columns else ()
        self.propositions += filter(None, columns[1:])
        self._bits, self._columns = [], []

    def _bracketed(self, column: tuple[str, ...]) -> tuple[Span, ...]:
        """Spans of a column of the finished sentence, such as (ARG0* * *)."""
        first = len(self.words) - len(column)
        spans: list[Span] = []
        open_brackets: list[tuple[int, str, str]] = []
        for place, ((where, _), cell) in enumerate(zip(self._columns, column, strict=True), start=first):
            for opened, closed in _BRACKET.findall(cell):
                if opened:
                    open_brackets.append((place, opened, where))
                elif closed and open_brackets:
                    start, label, _ = open_brackets.pop()
                    spans.append(Span(start, place + 1, label))
                else:
                    raise AtlasError(f"{where}: {cell!r} closes a bracket that is not open in this sentence.")
        if open_brackets:
            raise AtlasError(f"{open_brackets[-1][2]}: the bracket of {open_brackets[-1][1]} does not close in its sentence.")
        return tuple(spans)

    def done(self) -> Document:
        spans = sorted(set(self.spans), key=lambda s: (s.start, -s.stop, s.label))
        layers: tuple[list[Any], ...] = (self.words, self.sentence, self.tags, self.parses, spans)
        return Document(self.name, *map(tuple, (*layers, self.entities, self.propositions)))


def _documents(name: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[Document]:
    builder: _Builder | None = None
    for number, raw in lines:
        where = f"{name}:{number}"
        line = decoded(raw, where).rstrip("\r\n")
        if line.startswith("#begin"):
            if builder is not None and builder.words:
                raise AtlasError(f"{where}: a document starts before the previous one has ended; add #end document.")
            match = _BEGIN.match(line)
            if match is None:
                raise AtlasError(f"{where}: expected '#begin document (name); part 000', found {line!r}.")
            part = int(match[2] or 0)
            builder = _Builder(f"{match[1]}/{part}" if part else match[1])
        elif line.startswith("#end"):
            yield from _finished(builder)
            builder = None
        elif not line.strip(" \t"):
            if builder is not None:
                builder.end_sentence()
        elif not line.startswith("#"):
            columns = columns_of(line)
            if len(columns) < _COLUMNS:
                raise AtlasError(f"{where}: {len(columns)} columns, but CoNLL-2012 has at least {_COLUMNS}.")
            if builder is None:
                raise AtlasError(f"{where}: a word outside of a document; add '#begin document (name); part 000'.")
            builder.add(columns, where)
    yield from _finished(builder)


def _finished(builder: _Builder | None) -> Iterator[Document]:
    """The document of a builder, if it has words."""
    if builder is not None:
        builder.end_sentence()
        if builder.words:
            yield builder.done()


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


def write_conll2012(
    rows: Iterable[Mapping[str, Any]], source: Mapping[str, Any], stream: Any, features: Mapping[str, Any]
) -> int:
    """Write documents of the hub's data set in the format of CoNLL-2012; returns their number."""
    written = 0
    for row in rows:
        names = _class_names(features)
        for part, sentences in groupby(row["sentences"], key=lambda sentence: sentence["part_id"]):
            stream.write(f"#begin document ({row['document_id']}); part {part:03d}\n")
            for place, sentence in enumerate(sentences, start=1):
                where = f"data set {source['hub']}: document {row['document_id']}, part {part}, sentence {place}"
                for columns in zip(*_columns(sentence, names, where), strict=True):
                    stream.write("   ".join((row["document_id"], str(part), *columns)) + "\n")
                stream.write("\n")
            stream.write("#end document\n")
        written += 1
    return written


def _columns(sentence: Mapping[str, Any], names: Mapping[str, Sequence[str]], where: str) -> list[Sequence[str]]:
    """The columns of a sentence from the third on, each with a value for every word."""
    words = [str(word) for word in sentence["words"]]
    tags, entities = (
        [names[layer][tag] if layer in names and isinstance(tag, int) else str(tag) for tag in sentence[layer]]
        for layer in ("pos_tags", "named_entities")
    )
    columns: list[Sequence[str]] = [
        [str(number) for number in range(len(words))],
        words,
        tags,
        _parse_bits(sentence["parse_tree"], len(words), where),
        # Lemma, frame set, sense and speaker.
        *([["-"] * len(words)] * 4),
        # An entity of one word has no asterisk.
        [bit.replace("*)", ")") if bit.startswith("(") else bit for bit in _brackets(entities)],
        *(_brackets([str(tag) for tag in frame["frames"]]) for frame in sentence["srl_frames"]),
        _mentions(sentence["coref_spans"], len(words), where),
    ]
    if any(len(column) != len(words) for column in columns) or not all(words):
        raise AtlasError(f"{where}: a layer does not have one value for each of the {len(words)} words. {_CHANGED}")
    return columns


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
        raise AtlasError(f"{where}: its parse has {len(bits)} leaves, but there are {words} words. {_CHANGED}")
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
            raise AtlasError(f"{where}: a mention covers words {start} to {stop}, but there are {words} words. {_CHANGED}")
        if start == stop:
            opened[start].append(f"({chain})")
        else:
            opened[start].append(f"({chain}")
            closed[stop].insert(0, f"{chain})")
    return ["|".join((*begin, *end)) or "-" for begin, end in zip(opened, closed, strict=True)]


def _class_names(features: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """Layer -> names of its classes, from the features of the data set."""
    classes = {
        layer: getattr(getattr(kind, "feature", None), "names", None) for layer, kind in features["sentences"].feature.items()
    }
    return {layer: names for layer, names in classes.items() if names}
