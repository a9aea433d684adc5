"""A user's text: plain sentences, one per line, or sentences with trees in CoNLL-U."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_atlas.corpora.conllu import COLUMNS, SeveralRootsError, sentence_blocks, tree_builders
from attention_atlas.corpora.text import spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_lines

if TYPE_CHECKING:
    from attention_atlas.corpora.building import ExampleBuilder
    from attention_atlas.corpora.examples import Example
    from attention_atlas.corpora.records import Dropped

_CONLLU_SUFFIXES = (".conllu", ".conll")
_PACKED = (".gz", ".xz", ".bz2")
MOST_SENTENCES = 2000  # maximum number of sentences with trees that are measured
MOST_SHOWN = 100  # maximum number of plain sentences that are read; they are shown but not measured


@dataclass(frozen=True)
class UsersText:
    """Kind of text in a file."""

    path: Path
    has_trees: bool  # whether it is CoNLL-U; otherwise it has one sentence per line
    sentences: int

    @property
    def records(self) -> int:
        """Number of its sentences that are read, from the first."""
        return min(self.sentences, MOST_SENTENCES if self.has_trees else MOST_SHOWN)

    def entry(self) -> dict[str, Any]:
        """Its entry in the registry of corpora: all sentences in file order, in one shard."""
        return {
            "title": self.path.name,
            "reader": "conllu" if self.has_trees else "sentences",
            "source": {"path": str(self.path.resolve())},
            "order": "file",
            # Longer than any model's maximum, which then applies.
            "max_tokens": 512,
            "limit": self.records,
            "shard": self.records,
        }


def users_text(path: str | Path) -> UsersText:
    """Kind of text in a file; the sentences that will be read are parsed, and a tree with several roots will be dropped."""
    file = Path(path)
    if file.is_dir():
        raise AtlasError(f"{file}: this is a folder; name a file with one sentence per line, or in CoNLL-U.")
    if not file.is_file():
        raise AtlasError(f"{file}: there is no such file; name a file with one sentence per line, or in CoNLL-U.")
    plain_name = file.with_suffix("") if file.suffix in _PACKED else file
    if plain_name.suffix.lower() in _CONLLU_SUFFIXES or _has_columns(file):
        # Count first: only the sentences of a large treebank that are used are parsed.
        text = UsersText(file, True, sum(1 for _ in sentence_blocks(file)))
        faults = []
        for build in islice(tree_builders(file), text.records):
            try:
                build()
            except SeveralRootsError as error:
                faults.append(error)
        if len(faults) == text.records:
            raise faults[0] if faults else AtlasError(f"{file}: there is no sentence in this file; give one in CoNLL-U.")
        return text
    return UsersText(file, False, sum(1 for _ in read_sentences(file)))


def read_sentences(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines of a text, stripped, with their 1-indexed line numbers."""
    is_empty = True
    for number, line in read_lines(path):
        if sentence := line.strip():
            is_empty = False
            yield number, sentence
    if is_empty:
        raise AtlasError(f"{path}: the file has no text; write one sentence on each line.")


def sentences_records(entry: Mapping[str, Any], raw: str | Path, companion: str | Path | None) -> Iterator[tuple[int, str]]:
    return read_sentences(raw)


def sentences_examples(builder: ExampleBuilder, start: int, stop: int) -> Iterator[Example | Dropped]:
    for line, sentence in builder.records(start, stop):
        words = sentence.split()
        yield builder.example(f"line {line}", words, spaces_in(sentence, words))


def _has_columns(file: Path) -> bool:
    """Whether the first line of a file that is neither blank nor a comment has the columns of CoNLL-U, or no columns."""
    for number, line in read_lines(file):
        if "\0" in line:
            raise AtlasError(
                f"{file}:{number}: NUL bytes: this is not text in UTF-8. Give one sentence on each line, or CoNLL-U."
            )
        is_comment = line.startswith("#") and ("=" in line or line.lstrip("# ").startswith(("newdoc", "newpar")))
        if not line.strip() or is_comment:
            continue
        columns = line.count("\t") + 1
        if columns not in (1, COLUMNS):
            raise AtlasError(
                f"{file}:{number}: {columns} columns: this is neither plain text, one sentence on each line, nor CoNLL-U, "
                f"which has {COLUMNS} columns separated by tabs."
            )
        return columns == COLUMNS
    return False
