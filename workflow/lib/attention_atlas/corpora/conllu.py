"""Dependency trees, and their readers: CoNLL-U (https://universaldependencies.org/format.html) and Universal PropBank.

The `conllu` library parses a sentence; this module streams the file and reports every fault with its line. In Universal
PropBank the ten columns of CoNLL-U are followed by the roleset of a predicate ("_" for other words), and by one column per
predicate of the sentence with the roles of the head words of its arguments ("V" for the predicate itself).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import conllu
from conllu.exceptions import ParseException

from attention_atlas.corpora.records import Dropped
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import decoded, raw_lines

UNKNOWN = "_"  # value of a missing lemma, tag or feature
COLUMNS = 10
_PREDICATE = "V"
_BOM = b"\xef\xbb\xbf"
_NOT_A_WORD = re.compile(r"\d+(-|\.)\d+")
_SPACES = re.compile(" {2,}")
_NEW_DOCUMENT = re.compile(rb"#\s*newdoc(?:\s+id\s*=\s*(.*?))?\s*")
_AS_TEXT = {name: lambda line, i: line[i] for name in ("id", "xpos", "feats", "head", "deps")}


@dataclass(frozen=True)
class Tree:
    """One sentence with its dependency tree. Word positions are 1-indexed, 0 is ROOT; entry k describes word k + 1."""

    id: str
    words: tuple[str, ...]
    heads: tuple[int, ...]  # position of each word's head, 0 for the root
    relations: tuple[str, ...]  # label of the arc from each word to its head
    lemmas: tuple[str, ...] = ()  # lemmas, upos, xpos, feats: n entries each; missing or empty entries are stored as "_"
    upos: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    feats: tuple[str, ...] = ()
    spaces: tuple[bool, ...] = ()  # whether a space stands before each word in the text; empty if unknown
    document: str | None = None  # the document that the sentence belongs to; None if unknown

    def __post_init__(self) -> None:
        size = len(self.words)
        for name in ("lemmas", "upos", "xpos", "feats"):
            values = getattr(self, name) or (UNKNOWN,) * size
            object.__setattr__(self, name, tuple(entry or UNKNOWN for entry in values))


Proposition = tuple[int, tuple[tuple[int, str], ...]]
"""A predicate and its arguments (head word, role) in the order of the words, without itself; words count from 1."""


class SentenceBlock(NamedTuple):
    first_line: int  # the file's line number of its first line
    lines: list[bytes]  # comments and token lines, undecoded
    document: str | None = None  # id in the last comment `newdoc`, or the number of that comment; None without one
    spaces: bool = True  # whether the file says SpaceAfter=No anywhere; otherwise spaces are unknown


class SeveralRootsError(AtlasError):
    """A sentence with several words at ROOT, which some converters produce; `dropped` names it and the words."""

    def __init__(self, message: str, dropped: Dropped) -> None:
        super().__init__(message)
        self.dropped = dropped


def read_conllu(path: str | Path) -> Iterator[Tree]:
    """Yield the sentences of a CoNLL-U file as trees.

    Lines of multiword tokens ("1-2") and empty nodes ("1.1") are ignored: only syntactic words count. The id is the comment
    `sent_id`, otherwise "s" and the 1-indexed position. Blocks of comments without words are skipped.
    """
    is_empty = True
    for build in tree_builders(path):
        is_empty = False
        yield build()
    if is_empty:
        raise AtlasError(f"{path}: there is no sentence in this file; give a CoNLL-U file with at least one sentence.")


def tree_builders(path: str | Path) -> Iterator[Callable[[], Tree]]:
    """Functions that parse the sentences of a CoNLL-U file, in order; when called, they raise the errors of `parse_block`."""
    return (partial(parse_block, block, position, path) for position, block in enumerate(sentence_blocks(Path(path))))


def sentence_blocks(path: Path) -> Iterator[SentenceBlock]:
    """Blocks between blank lines with at least one line that is not a comment."""
    spaces = any(b"SpaceAfter=No" in line for _, line in raw_lines(path))
    lines: list[bytes] = []
    first = documents = 0
    document: str | None = None
    for number, line in chain(raw_lines(path), [(0, b"\n")]):
        content = line.removeprefix(_BOM)
        if content.strip():
            first = first if lines else number
            lines.append(content)
            if content.startswith(b"#") and (new := _NEW_DOCUMENT.fullmatch(content.rstrip())):
                documents += 1
                document = decoded(new[1], f"{path}:{number}") if new[1] else f"document {documents}"
        else:
            if any(not line.startswith(b"#") for line in lines):
                yield SentenceBlock(first, lines, document, spaces)
            lines = []


def parse_block(block: SentenceBlock, position: int, path: str | Path) -> Tree:
    """The tree of the sentence at a position (from 0) of a file."""
    numbers, lines = [], []
    for number, raw in enumerate(block.lines, start=block.first_line):
        if b"\0" in raw:
            raise AtlasError(f"{path}:{number}: NUL bytes; the file is damaged or in UTF-16, convert it to UTF-8.")
        line = decoded(raw, f"{path}:{number}").rstrip("\r\n")
        if not line.startswith("#"):
            if (columns := line.count("\t") + 1) != COLUMNS:
                cut_off = "; the file seems to be cut off within this line" if not raw.endswith(b"\n") else ""
                raise AtlasError(
                    f"{path}:{number}: expected {COLUMNS} columns separated by tabs, found {columns}{cut_off}; write _ for "
                    "empty ones, or fetch the file again."
                )
            numbers.append(number)
        # The library treats two spaces as a column break, but CoNLL-U allows spaces in some columns.
        lines.append(_SPACES.sub(" ", line))
    try:
        sentence = conllu.parse("\n".join(lines), field_parsers=_AS_TEXT)[0]
    except ParseException as error:
        raise AtlasError(f"{path}:{block.first_line}: {error}; correct the sentence that starts here.") from error
    tokens = list(zip(numbers, sentence, strict=True))
    words = [(number, token) for number, token in tokens if not _NOT_A_WORD.fullmatch(token["id"])]
    if not words:
        raise AtlasError(f"{path}:{numbers[0]}: this sentence has only multiword tokens or empty nodes and no word.")
    for number, token in tokens:
        first, last = _word_range(token["id"])
        if not 1 <= first <= last:
            raise AtlasError(f"{path}:{number}: the id {token['id']!r} is not a range of words; write ranges as in 3-4.")
    for expected, (number, token) in enumerate(words, start=1):
        _check_word(token, expected, f"{path}:{number}")

    def column(name: str) -> tuple[Any, ...]:
        return tuple(token[name] for _, token in words)

    tree = Tree(
        id=sentence.metadata.get("sent_id") or f"s{position + 1}",
        words=column("form"),
        heads=tuple(map(int, column("head"))),
        relations=column("deprel"),
        lemmas=column("lemma"),
        upos=column("upos"),
        xpos=column("xpos"),
        feats=column("feats"),
        spaces=_spaces([token for _, token in tokens], column("form")) if block.spaces else (),
        document=block.document,
    )
    if fault := tree_fault(tree):
        word, text = fault
        message = f"{path}:{words[word - 1][0]}: {text}; correct column 7 (HEAD) or remove the sentence."
        if tree.heads[word - 1] == 0:
            raise SeveralRootsError(message, Dropped(tree.id, "several roots", text))
        raise AtlasError(message)
    return tree


def _check_word(token: conllu.Token, expected: int, where: str) -> None:
    if token["id"] != str(expected):
        raise AtlasError(
            f"{where}: the word id is {token['id']!r} where {expected} was expected; number the words of a sentence 1, 2, 3, "
            "and separate sentences by a blank line."
        )
    if not token["form"]:
        raise AtlasError(f"{where}: the word (column 2, FORM) is empty; fill it in.")
    if not (token["head"].isascii() and token["head"].isdigit()):
        raise AtlasError(
            f"{where}: the head (column 7) is {token['head']!r}, not a number; write the position of the head, "
            "0 for the root, or use a treebank with dependency trees."
        )
    if not token["deprel"] or token["deprel"] == "_":
        raise AtlasError(f"{where}: the relation (column 8, DEPREL) is empty; fill it in.")


def _word_range(identifier: str) -> tuple[int, int]:
    """First and last word of a range such as 3-4; (1, 1) for anything else."""
    first, dash, last = identifier.partition("-")
    return (int(first), int(last)) if dash and first.isdecimal() and last.isdecimal() else (1, 1)


def _spaces(tokens: list[conllu.Token], words: Sequence[str]) -> tuple[bool, ...]:
    """Whether a space stands before each word.

    The words of a multiword token have none between them if they make up its form (do and n't of don't), otherwise they have
    one (zu and dem of zum: zudem is another word). The line of the token says whether one follows it.
    """
    after = [True] * len(words)
    held_until = 0
    for token in tokens:
        # The library omits an empty column at the end of the text.
        follows = (token.get("misc") or {}).get("SpaceAfter") != "No"
        identifier = token["id"]
        if "-" in identifier:
            first, last = _word_range(identifier)
            held_until = min(last, len(words))
            apart = "".join(words[first - 1 : last]) != token["form"]
            after[first - 1 : held_until] = [apart] * (held_until - first + 1)
            after[held_until - 1] = follows
        elif identifier.isdigit() and int(identifier) > held_until:
            after[int(identifier) - 1] = follows
    return (False, *after[:-1])


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Positions on one cycle, from dependent to head; empty if every word reaches ROOT."""
    reach_root = {0}
    for start in range(1, len(heads) + 1):
        path: list[int] = []
        word = start
        while word not in reach_root:
            if word in path:
                return path[path.index(word) :]
            path.append(word)
            word = heads[word - 1]
        reach_root.update(path)
    return []


def tree_fault(tree: Tree) -> tuple[int, str] | None:
    """The first reason why `tree` is not a tree: (position of the word at fault, sentence)."""
    size = len(tree.words)
    named = {word: f"{word} '{form}'" for word, form in enumerate(tree.words, start=1)}
    for word, head in enumerate(tree.heads, start=1):
        if not 0 <= head <= size:
            return word, f"word {named[word]} has head {head}, outside of 0 to {size}"
    if cycle := find_cycle(tree.heads):
        return cycle[0], f"the heads run in a circle: {' -> '.join(named[word] for word in [*cycle, cycle[0]])}"
    roots = [word for word, head in enumerate(tree.heads, start=1) if head == 0]
    if len(roots) > 1:
        return roots[1], f"several words have head 0: {' and '.join(named[word] for word in roots)}"
    return None


def children(heads: Sequence[int]) -> list[list[int]]:
    """Dependents of every position in the order of the words: entry 0 lists the roots, entry k those of word k."""
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        dependents[head].append(word)
    return dependents


def subtree(below: Sequence[Sequence[int]], head: int) -> tuple[int, int]:
    """Span from the first to the last word below a word (counted from 1), including the word itself; `below`: `children`."""
    first = last = head
    waiting = [head]
    while waiting:
        word = waiting.pop()
        first, last = min(first, word), max(last, word)
        waiting += below[word]
    return first - 1, last


def proposition_builders(path: str | Path) -> Iterator[Callable[[], tuple[Tree, tuple[Proposition, ...]]]]:
    """Functions that parse the sentences of a file, in order."""
    return (partial(_parsed, block, position, path) for position, block in enumerate(sentence_blocks(Path(path))))


def _parsed(block: SentenceBlock, position: int, path: str | Path) -> tuple[Tree, tuple[Proposition, ...]]:
    # Lines with the ten columns of CoNLL-U, and for each word its columns of predicates and roles.
    plain, predicate_columns = [], []
    for number, line in enumerate(block.lines, start=block.first_line):
        if line.startswith(b"#"):
            plain.append(line)
            continue
        columns = line.rstrip(b"\r\n").split(b"\t")
        if len(columns) <= COLUMNS:
            raise AtlasError(
                f"{path}:{number}: {len(columns)} columns; Universal PropBank has ten of CoNLL-U, one of predicates and one "
                "for each predicate."
            )
        plain.append(b"\t".join(columns[:COLUMNS]) + b"\n")
        if columns[0].isdigit():
            # The published files leave some of these columns empty.
            predicate_columns.append([decoded(cell, f"{path}:{number}") or UNKNOWN for cell in columns[COLUMNS:]])
    tree = parse_block(block._replace(lines=plain), position, path)
    return tree, _propositions(predicate_columns, f"{path}:{block.first_line}")


def _propositions(rows: list[list[str]], where: str) -> tuple[Proposition, ...]:
    predicates = [word for word, cells in enumerate(rows, start=1) if cells[0] != UNKNOWN]
    sizes = {len(cells) - 1 for cells in rows}
    if all(set(cells) == {UNKNOWN} for cells in rows):
        return ()
    if sizes != {len(predicates)}:
        raise AtlasError(
            f"{where}: this sentence has {len(predicates)} predicates but {' or '.join(map(str, sorted(sizes)))} columns of "
            "roles; there must be one for each predicate."
        )
    propositions = []
    for column, predicate in enumerate(predicates, start=1):
        roles = ((word, cells[column]) for word, cells in enumerate(rows, start=1))
        propositions.append((predicate, tuple(item for item in roles if item[1] not in (UNKNOWN, _PREDICATE))))
    return tuple(propositions)
