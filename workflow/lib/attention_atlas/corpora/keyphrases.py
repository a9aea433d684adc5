"""Documents with keyphrases: positions of the phrases in the text as B, I and O tags.

Three formats are supported: an archive (zip, tar) or a folder with `docsutf8/*.txt` and `keys/*.key` (one phrase per line), or
with `*.abstr` and `*.uncontr` (Hulth's Inspec: the phrases that its indexers chose freely, separated by semicolons; those of
its thesaurus, `*.contr`, are not read); and JSON lines with `text` and `keyphrases`.
"""

from __future__ import annotations

import logging
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from attention_atlas.corpora.layers import Keyphrase
from attention_atlas.corpora.records import Dropped, packed_files
from attention_atlas.corpora.text import WORD, last_that_fits, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import decoded, is_tar_archive, json_object, read_lines, without_mac_files

if TYPE_CHECKING:
    from attention_atlas.corpora.examples import Example, ExampleBuilder

_log = logging.getLogger(__name__)
BEGIN, INSIDE, OUTSIDE = "B", "I", "O"
_KINDS = (("docsutf8", ".txt"), ("keys", ".key"))
_ABSTRACT, _UNCONTROLLED = ".abstr", ".uncontr"
_READ = (".txt", ".key", _ABSTRACT, _UNCONTROLLED)


@dataclass(frozen=True)
class KeyphraseDocument:
    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]  # for each word `BEGIN` or `INSIDE` of a keyphrase, or `OUTSIDE`
    phrases: tuple[str, ...]  # the gold phrases as given, without duplicates that differ only in case
    absent: tuple[str, ...]  # those of them that are not in the text
    spaces: tuple[bool, ...] = ()  # whether a space stands before each word; empty if unknown


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


def keyphrases_records(
    path: str | Path, stemmed: bool = False, document_names: Sequence[Sequence[str]] = ()
) -> Iterator[KeyphraseDocument]:
    """Yield the documents in the order of their names or lines.

    `stemmed`: match phrases by the Porter stems of their words instead of the words; case is always ignored. `document_names`:
    ranges (first and last, in alphabetical order); all documents if empty.
    """
    place = Path(path)
    is_packed = place.is_dir() or zipfile.is_zipfile(place) or is_tar_archive(place)
    is_empty = True
    for document in (_from_files if is_packed else _from_lines)(place, stemmed):
        if not document_names or any(first <= document.id <= last for first, last in document_names):
            is_empty = False
            yield document
    if is_empty:
        ranges = " or from ".join(map(" to ".join, document_names))
        named = f" with a name from {ranges}" if ranges else ""
        raise AtlasError(
            f"{path}: there is no document{named} here; use docsutf8/*.txt with keys/*.key, *.abstr with *.uncontr, or JSON "
            "lines."
        )


def _from_files(path: Path, stemmed: bool) -> Iterator[KeyphraseDocument]:
    contents = dict(packed_files(path, lambda names: [name for name in names if name.endswith(_READ)]))
    files = {PurePosixPath(name): name for name in without_mac_files(path, contents)}
    if abstracts := [file for file in files if file.suffix == _ABSTRACT]:
        documents = {file.with_suffix(""): [file, file.with_suffix(_UNCONTROLLED)] for file in abstracts}
    else:
        places = [file.parent.parent / file.stem for file in files if (file.parent.name, file.suffix) in _KINDS]
        documents = {place: [place.parent / folder / f"{place.name}{suffix}" for folder, suffix in _KINDS] for place in places}
    for place, needed in documents.items():
        if absent := [file for file in needed if file not in files]:
            raise AtlasError(f"{path}: document {place} has no {absent[0]}; every document needs it.")
    # The folder is part of the name if documents of several folders have one name.
    is_unique = len({place.name for place in documents}) == len(documents)
    for name, place in sorted((place.name if is_unique else str(place), place) for place in documents):
        text, keys = (decoded(contents[files[file]], f"{path}: {files[file]}") for file in documents[place])
        phrases = [" ".join(phrase.split()) for phrase in keys.split(";")] if abstracts else re.split(r"[\r\n]", keys)
        yield _from_text(name, text, phrases, stemmed)


def _from_lines(path: Path, stemmed: bool) -> Iterator[KeyphraseDocument]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        row = json_object(line, where)
        text, phrases = row.get("text"), row.get("keyphrases")
        if not (isinstance(text, str) and isinstance(phrases, list) and all(isinstance(phrase, str) for phrase in phrases)):
            raise AtlasError(f"{where}: 'text' must be a string and 'keyphrases' a list of phrases.")
        yield _from_text(str(row.get("id", number)), text, phrases, stemmed)


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
    starts = [k for k, tag in enumerate(tags) if tag == BEGIN or (tag == INSIDE and (k == 0 or tags[k - 1] == OUTSIDE))]
    stops = [k for k, tag in enumerate(tags, start=1) if tag != OUTSIDE and (k == len(tags) or tags[k] != INSIDE)]
    return list(zip(starts, stops, strict=True))


@cache
def stem(word: str) -> str:
    """Porter stem of a word, in lower case."""
    from nltk.stem import PorterStemmer

    return str(PorterStemmer().stem(word.lower()))


def keyphrases_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    return (document_example(builder, document) for document in builder.records(start, stop))


def document_example(builder: ExampleBuilder, document: KeyphraseDocument) -> Example | Dropped:
    """A document with its keyphrases; if too long, it is dropped, or truncated after the last word that fits (`overlong`)."""
    if not document.phrases:
        return Dropped(document.id, "no keyphrases")
    sizes = [len(ids) for ids in builder.pieces.pieces(document.words, document.spaces)]
    # Symbols that the tokenizer drops must not cause the whole document to be dropped.
    if unread := {place for place, size in enumerate(sizes) if not size}:
        _log.info("%s: %d words have no tokens and are skipped", document.id, len(unread))
        document, sizes = without_words(document, unread), list(filter(None, sizes))
    if not sizes:
        return Dropped(document.id, "text without tokens")
    if builder.entry["overlong"] == "truncate":
        fitting = last_that_fits(sizes, 0, builder.bound - builder.pieces.single.specials)
        if fitting < len(sizes):
            # A phrase that occurs only after the cut is absent. Words and phrases of a file may be tokenised differently.
            words = WORD.findall(" ".join(document.words[:fitting]))
            absent = (*document.absent, *located(document.id, words, document.phrases, builder.entry["stemmed"]).absent)
            document = without_words(replace(document, absent=absent), range(fitting, len(sizes)))
    gold = {
        "layers": {"tags": document.tags},
        "keyphrases": tuple(Keyphrase(phrase, phrase not in document.absent) for phrase in document.phrases),
    }
    return builder.example(document.id, document.words, document.spaces, **gold)
