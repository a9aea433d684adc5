"""Reading dependency trees from CoNLL-U files (https://universaldependencies.org/format.html).

The `conllu` library parses a sentence; this module streams the file, keeps track of line numbers and reports every
fault of a file with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import conllu
from conllu.exceptions import ParseException

from attention_atlas.corpora.trees import Tree, several_roots, tree_fault
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import decoded, raw_lines

_COLUMNS = 10
_BOM = b"\xef\xbb\xbf"
_NOT_A_WORD = re.compile(r"\d+(-|\.)\d+")
_SPACES = re.compile(" {2,}")
_NEW_DOCUMENT = re.compile(rb"#\s*newdoc(?:\s+id\s*=\s*(.*?))?\s*")
_AS_TEXT = {name: lambda line, i: line[i] for name in ("id", "xpos", "feats", "head", "deps")}


@dataclass(frozen=True)
class SentenceBlock:
    """One sentence of a file.

    Attributes:
        first_line: the file's line number of its first line.
        lines: comments and token lines, undecoded.
        document: the document that it belongs to: the id in the last comment `newdoc`, or the number of that comment; None
            if there is no such comment so far.
        spaces: whether the file says SpaceAfter=No anywhere; otherwise spaces are unknown.
    """

    first_line: int
    lines: list[bytes]
    document: str | None = None
    spaces: bool = True


class SeveralRootsError(AtlasError):
    """A sentence with several words at ROOT, which some converters produce: `sentence` names it, `fault` the words."""

    def __init__(self, message: str, sentence: str, fault: str) -> None:
        super().__init__(message)
        self.sentence = sentence
        self.fault = fault


def read_conllu(path: str | Path, start: int = 0, stop: int | None = None) -> Iterator[Tree]:
    """Yield the sentences `start` to `stop` - 1 of a CoNLL-U file (0-indexed positions in the file) as trees.

    The file is read line by line; sentences before `start` are skipped without parsing, and reading ends at `stop`.
    Lines of multiword tokens ("1-2") and empty nodes ("1.1") are ignored: only syntactic words count. The id is the comment
    `sent_id`, otherwise "s" and the 1-indexed position. Windows line ends, a byte-order mark and a missing last blank line
    are accepted, and blocks of comments without words are skipped.

    Raises:
        AtlasError: the file cannot be read, has no sentence (checked when `start` is 0), or a line or a tree in the
            range is malformed; the message names the file and the 1-indexed line.
        ValueError: `start` is negative.
    """
    if start < 0:
        raise ValueError(f"start must not be negative: {start}")
    if stop is not None and stop <= start:
        return
    position = -1
    for position, block in enumerate(sentence_blocks(Path(path))):
        if position >= start:
            yield parse_block(block, position, path)
        if stop is not None and position + 1 >= stop:
            return
    if start == 0 and position < 0:
        raise AtlasError(f"{path}: there is no sentence in this file; give a CoNLL-U file with at least one sentence.")


def tree_builders(path: str | Path) -> Iterator[Callable[[], Tree]]:
    """Functions that parse the sentences of a CoNLL-U file, in order; when called, they raise the errors of `parse_block`."""
    return (partial(parse_block, block, position, path) for position, block in enumerate(sentence_blocks(Path(path))))


def count_sentences(path: str | Path) -> int:
    """Number of sentences in a CoNLL-U file, counted by blank lines without parsing.

    Raises:
        AtlasError: the file cannot be read.
    """
    return sum(1 for _ in sentence_blocks(Path(path)))


def sentence_blocks(path: Path) -> Iterator[SentenceBlock]:
    """Blocks between blank lines with at least one line that is not a comment."""
    spaces = any(b"SpaceAfter=No" in line for _, line in raw_lines(path))
    lines: list[bytes] = []
    number = documents = 0
    document: str | None = None
    for number, line in raw_lines(path):
        content = line.removeprefix(_BOM)
        if content.strip():
            lines.append(content)
            if content.startswith(b"#") and (new := _NEW_DOCUMENT.fullmatch(content.rstrip())):
                documents += 1
                document = decoded(new[1], f"{path}:{number}") if new[1] else f"document {documents}"
            continue
        if _has_words(lines):
            yield SentenceBlock(number - len(lines), lines, document, spaces)
        lines = []
    if _has_words(lines):
        yield SentenceBlock(number + 1 - len(lines), lines, document, spaces)


def _has_words(lines: list[bytes]) -> bool:
    return any(not line.startswith(b"#") for line in lines)


def parse_block(block: SentenceBlock, position: int, path: str | Path) -> Tree:
    """The tree of the sentence at a position (from 0) of a file.

    Raises:
        SeveralRootsError: the only fault is that several words are attached to ROOT.
        AtlasError: a line or tree is malformed; names file and line.
    """
    numbers, lines = [], []
    for number, raw in enumerate(block.lines, start=block.first_line):
        line = _decoded(raw, f"{path}:{number}")
        if not line.startswith("#"):
            _check_columns(line, f"{path}:{number}", cut_off=not raw.endswith(b"\n"))
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
        raise AtlasError(
            f"{path}:{numbers[0]}: this sentence has only multiword tokens or empty nodes and no word; "
            "add the words or remove the sentence."
        )
    for number, token in tokens:
        first, last = _word_range(token["id"])
        if not 1 <= first <= last:
            raise AtlasError(f"{path}:{number}: the id {token['id']!r} is not a range of words; write ranges as in 3-4.")
    for expected, (number, token) in enumerate(words, start=1):
        _check_word(token, expected, f"{path}:{number}")
    tree = Tree(
        id=sentence.metadata.get("sent_id") or f"s{position + 1}",
        words=tuple(token["form"] for _, token in words),
        heads=tuple(int(token["head"]) for _, token in words),
        relations=tuple(token["deprel"] for _, token in words),
        lemmas=tuple(token["lemma"] for _, token in words),
        upos=tuple(token["upos"] for _, token in words),
        xpos=tuple(token["xpos"] for _, token in words),
        feats=tuple(token["feats"] for _, token in words),
        text=sentence.metadata.get("text") or "",
        spaces=_spaces([token for _, token in tokens], [token["form"] for _, token in words]) if block.spaces else (),
        document=block.document,
    )
    if fault := tree_fault(tree):
        word, text = fault
        number = words[word - 1][0] if word else block.first_line
        message = f"{path}:{number}: {text}; correct column 7 (HEAD) or remove the sentence."
        raise SeveralRootsError(message, tree.id, text) if fault == several_roots(tree) else AtlasError(message)
    return tree


def _decoded(raw: bytes, where: str) -> str:
    if b"\0" in raw:
        raise AtlasError(f"{where}: NUL bytes; the file is damaged or in UTF-16, convert it to UTF-8.")
    return decoded(raw, where).rstrip("\r\n")


def _check_columns(line: str, where: str, cut_off: bool) -> None:
    columns = line.count("\t") + 1
    if columns == _COLUMNS:
        return
    if columns == 1 and len(line.split()) >= _COLUMNS:
        cause = "the columns are separated by spaces; put tabs in their place"
    elif columns < _COLUMNS and cut_off:
        cause = "the file ends within this line and seems to be cut off; fetch or write it again"
    else:
        cause = "give each word ten columns separated by tabs, with _ for empty ones"
    raise AtlasError(f"{where}: {columns} column{'s' if columns > 1 else ''} instead of {_COLUMNS}; {cause}.")


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


def _spaces(tokens: list[conllu.Token], words: list[str]) -> tuple[bool, ...]:
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
