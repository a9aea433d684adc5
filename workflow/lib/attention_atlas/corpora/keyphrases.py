"""Documents with keyphrases: positions of the phrases in the text as B, I and O tags.

Four formats are supported: an archive (zip, tar) or a folder with `docsutf8/*.txt` and `keys/*.key` (one phrase per line), or
with `*.abstr`, `*.uncontr` and `*.contr` (Hulth's Inspec: phrases separated by semicolons); JSON lines with `text` and
`keyphrases`; and JSON lines with words and tags, as in hub data sets (`document` and `doc_bio_tags`).
"""

from __future__ import annotations

import contextlib
import re
import tarfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard

from attention_atlas.corpora.layers import Keyphrase
from attention_atlas.corpora.text import WORD, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import DAMAGED, decoded, is_tar_archive, json_object, read_lines, without_mac_files

BEGIN, INSIDE, OUTSIDE = "B", "I", "O"
_TEXTS, _KEYS = "docsutf8", "keys"
UNCONTROLLED, CONTROLLED, BOTH = "uncontrolled", "controlled", "both"
"""Sets of keyphrases of Inspec: chosen freely by the indexers, or from a thesaurus."""
_SUFFIXES = {UNCONTROLLED: (".uncontr",), CONTROLLED: (".contr",), BOTH: (".uncontr", ".contr")}
_ABSTRACT = ".abstr"


@dataclass(frozen=True)
class KeyphraseDocument:
    """A document.

    Attributes:
        id: its name.
        words: the words.
        tags: for each word `BEGIN` or `INSIDE` of a keyphrase, or `OUTSIDE`.
        phrases: the gold phrases as given, without duplicates that differ only in case.
        absent: those of them that are not in the text.
        spaces: whether a space stands before each word; empty if unknown.
    """

    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    phrases: tuple[str, ...]
    absent: tuple[str, ...]
    spaces: tuple[bool, ...] = ()

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Words start .. stop - 1 of each tagged phrase."""
        return spans_of(self.tags)

    @property
    def keyphrases(self) -> tuple[Keyphrase, ...]:
        """All phrases, each with whether it is in the text."""
        return tuple(Keyphrase(phrase, phrase not in self.absent) for phrase in self.phrases)

    def shortened(self, count: int, stemmed: bool) -> KeyphraseDocument:
        """The document with its first words; phrases that occur only later are absent (`stemmed`: see `read_keyphrases`)."""
        words = self.words[:count]
        # Words and phrases of a file may be tokenised differently.
        truncated = located(self.id, WORD.findall(" ".join(words)), self.phrases, stemmed)
        absent = tuple(phrase for phrase in self.phrases if phrase in (*self.absent, *truncated.absent))
        return replace(self, words=words, tags=self.tags[:count], absent=absent, spaces=self.spaces[:count])


def without_words(document: KeyphraseDocument, removed: Collection[int]) -> KeyphraseDocument:
    """The document without some of its words; a phrase that loses its first word starts with the next one."""
    tags = list(document.tags)
    for place in sorted(removed):
        if tags[place] == BEGIN and place + 1 < len(tags) and tags[place + 1] == INSIDE:
            tags[place + 1] = BEGIN
    remaining = [place for place in range(len(tags)) if place not in removed]
    spaces = tuple(document.spaces[k] for k in remaining if document.spaces)
    words = tuple(document.words[k] for k in remaining)
    return replace(document, words=words, tags=tuple(tags[k] for k in remaining), spaces=spaces)


def read_keyphrases(
    path: str | Path, stemmed: bool = False, keyphrase_set: str = BOTH, names: Sequence[Sequence[str]] = ()
) -> Iterator[KeyphraseDocument]:
    """Yield the documents in the order of their names or lines.

    Args:
        path: archive, folder, or JSON lines.
        stemmed: match phrases by the Porter stems of their words instead of the words; case is always ignored. Existing tags
            of a file are used unchanged.
        keyphrase_set: set of keyphrases in Inspec's archive: `UNCONTROLLED`, `CONTROLLED` or `BOTH`.
        names: ranges (first and last, in alphabetical order) of document names; all documents if empty.

    Raises:
        AtlasError: there is no document, a text or its keys are missing, or a line is malformed; names the file.
    """
    place = Path(path)
    has_documents = False
    if place.is_dir() or zipfile.is_zipfile(place) or is_tar_archive(place):
        documents = _from_files(place, stemmed, keyphrase_set)
    elif keyphrase_set != BOTH:
        raise AtlasError(f"{path}: JSON lines have one set of keyphrases; keyphrase_set must be {BOTH}.")
    else:
        documents = _from_lines(place, stemmed)
    for document in documents:
        if not names or any(first <= document.id <= last for first, last in names):
            has_documents = True
            yield document
    if not has_documents:
        named = f" with a name from {' or from '.join(' to '.join(bounds) for bounds in names)}" if names else ""
        raise AtlasError(
            f"{path}: there is no document{named} here; use docsutf8/*.txt with keys/*.key, *{_ABSTRACT} with *.uncontr and "
            "*.contr, or JSON lines."
        )


def _from_files(path: Path, stemmed: bool, keyphrase_set: str) -> Iterator[KeyphraseDocument]:
    with _opened(path) as (names, read):
        files = {PurePosixPath(name): name for name in without_mac_files(path, names)}
        abstracts = [file for file in files if file.suffix == _ABSTRACT]
        if abstracts:
            suffixes = (_ABSTRACT, *_SUFFIXES[keyphrase_set])
            documents = {file.with_suffix(""): [file.with_suffix(suffix) for suffix in suffixes] for file in abstracts}
        elif keyphrase_set != BOTH:
            raise AtlasError(
                f"{path}: this archive has one set of keyphrases ({_KEYS}/*.key), not the {keyphrase_set} ones; use Hulth's "
                f"archive with *{_ABSTRACT}, *.uncontr and *.contr, or keyphrase_set: {BOTH}."
            )
        else:
            kinds = ((_TEXTS, ".txt"), (_KEYS, ".key"))
            places = [file.parent.parent / file.stem for file in files if (file.parent.name, file.suffix) in kinds]
            documents = {
                place: [place.parent / folder / f"{place.name}{suffix}" for folder, suffix in kinds] for place in places
            }
        for place, needed in documents.items():
            if absent := [file for file in needed if file not in files]:
                raise AtlasError(f"{path}: document {place} has no {absent[0]}; every document needs it.")
        # The folder is part of the name if documents of several folders have one name.
        is_unique = len({place.name for place in documents}) == len(documents)
        for name, place in sorted((place.name if is_unique else str(place), place) for place in documents):
            text, *keys = (read(files[file]) for file in documents[place])
            if abstracts:
                phrases = [" ".join(phrase.split()) for key in keys for phrase in key.split(";")]
            else:
                phrases = re.split(r"[\r\n]", keys[0])
            yield _from_text(name, text, phrases, stemmed)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[list[str], Callable[[str], str]]]:
    """Names of the files of an archive or a folder, and a function that reads one of them as text."""
    if path.is_dir():
        files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
        yield list(files), lambda name: decoded(files[name].read_bytes(), f"{path}: {name}")
        return
    if not zipfile.is_zipfile(path):
        with _archive(path), tarfile.open(path) as packed:
            contents = {file.name: packed.extractfile(file) for file in packed if file.isfile()}
            raw_by_name = {name: file.read() for name, file in contents.items() if file is not None}
        yield list(raw_by_name), lambda name: decoded(raw_by_name[name], f"{path}: {name}")
        return
    with contextlib.ExitStack() as opened:
        with _archive(path):
            archive = opened.enter_context(zipfile.ZipFile(path))

        def member(name: str) -> str:
            # Read in memory: since nothing is unpacked to disk, paths in the archive cannot do harm.
            with _archive(path):
                raw = archive.read(name)
            return decoded(raw, f"{path}: {name}")

        yield archive.namelist(), member


@contextlib.contextmanager
def _archive(path: Path) -> Iterator[None]:
    """Turn errors inside the block into an error that names the archive."""
    try:
        yield
    # The library raises the second for unknown compression methods, the third for encrypted members.
    except (zipfile.BadZipFile, tarfile.TarError, NotImplementedError, RuntimeError, *DAMAGED) as error:
        raise AtlasError(f"{path}: the archive is damaged ({error}); fetch it again.") from error


def _from_lines(path: Path, stemmed: bool) -> Iterator[KeyphraseDocument]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        row = json_object(line, where)
        name = str(row.get("id", number))
        if "text" in row:
            if not isinstance(row["text"], str) or not _strings(row.get("keyphrases")):
                raise AtlasError(f"{where}: 'text' must be a string and 'keyphrases' a list of phrases.")
            yield _from_text(name, row["text"], row["keyphrases"], stemmed)
        else:
            yield _tagged(row, name, where)


def _strings(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _tagged(row: Mapping[str, Any], name: str, where: str) -> KeyphraseDocument:
    """A document from words and tags."""
    words, tags = row.get("document"), row.get("doc_bio_tags")
    if not _strings(words) or not _strings(tags) or len(words) != len(tags):
        raise AtlasError(f"{where}: expected 'text' with 'keyphrases', or 'document' with as many 'doc_bio_tags'.")
    if wrong := [tag for tag in tags if tag not in (BEGIN, INSIDE, OUTSIDE)]:
        raise AtlasError(f"{where}: {wrong[0]!r} is not a tag; use {BEGIN}, {INSIDE} or {OUTSIDE}.")
    present = tuple(dict.fromkeys(" ".join(words[start:stop]) for start, stop in spans_of(tags)))
    absent = row.get("abstractive_keyphrases", [])
    if not _strings(absent):
        raise AtlasError(f"{where}: 'abstractive_keyphrases' must be a list of phrases.")
    return KeyphraseDocument(name, tuple(words), tuple(tags), (*present, *absent), tuple(absent))


def _from_text(name: str, text: str, phrases: Iterable[str], stemmed: bool) -> KeyphraseDocument:
    words = WORD.findall(text)
    return replace(located(name, words, phrases, stemmed), spaces=spaces_in(text, words))


def located(name: str, words: Sequence[str], phrases: Iterable[str], stemmed: bool) -> KeyphraseDocument:
    """A document with its phrases located in its words.

    All occurrences are tagged. If phrases overlap, the longest is tagged; ties go to the first in the text. A phrase that
    occurs only inside longer ones also counts as present.
    """
    norm = stem if stemmed else str.lower
    text = [norm(word) for word in words]
    phrase_by_words: dict[tuple[str, ...], str] = {}
    for phrase in filter(str.strip, phrases):
        phrase_by_words.setdefault(tuple(WORD.findall(phrase.lower())), phrase.strip())
    spans, absent = [], []
    for pieces, phrase in phrase_by_words.items():
        phrase_words = [norm(word) for word in pieces]
        size = len(phrase_words)
        starts = [start for start in range(len(text) - size + 1) if size and text[start : start + size] == phrase_words]
        spans += [(start, start + size) for start in starts]
        if not starts:
            absent.append(phrase)
    tags = [OUTSIDE] * len(words)
    for start, stop in sorted(set(spans), key=lambda span: (span[0] - span[1], span[0])):
        if all(tag == OUTSIDE for tag in tags[start:stop]):
            tags[start:stop] = [BEGIN, *[INSIDE] * (stop - start - 1)]
    return KeyphraseDocument(name, tuple(words), tuple(tags), tuple(phrase_by_words.values()), tuple(absent))


def spans_of(tags: Sequence[str]) -> list[tuple[int, int]]:
    """Words start .. stop - 1 of each phrase; an `INSIDE` outside of a phrase starts one."""
    spans: list[tuple[int, int]] = []
    for place, tag in enumerate(tags):
        if tag == OUTSIDE:
            continue
        if tag == INSIDE and spans and spans[-1][1] == place:
            spans[-1] = spans[-1][0], place + 1
        else:
            spans.append((place, place + 1))
    return spans


@cache
def _stemmer() -> Any:
    from nltk.stem import PorterStemmer

    return PorterStemmer()


def stem(word: str) -> str:
    """Porter stem of a word, in lower case."""
    return str(_stemmer().stem(word.lower()))
