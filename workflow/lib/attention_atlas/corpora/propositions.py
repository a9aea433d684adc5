"""Reading predicates and their arguments from Universal PropBank: CoNLL-U with additional columns.

The ten columns of CoNLL-U are followed by the roleset of a predicate ("_" for other words), and by one column per predicate of
the sentence with the roles of the head words of its arguments ("V" for the predicate itself).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from attention_atlas.corpora.conllu import SentenceBlock, parse_block, sentence_blocks
from attention_atlas.corpora.trees import UNKNOWN, Tree
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import decoded

_COLUMNS = 10
PREDICATE = "V"
"""Role of the predicate itself."""


@dataclass(frozen=True)
class Proposition:
    """A predicate and its arguments; words count from 1, as in `Tree`.

    Attributes:
        predicate: the word.
        roleset: its sense.
        arguments: (head word, role), in the order of the words, without the predicate itself.
    """

    predicate: int
    roleset: str
    arguments: tuple[tuple[int, str], ...]


def read_propositions(path: str | Path) -> Iterator[tuple[Tree, tuple[Proposition, ...]]]:
    """Yield the sentences of a file with their predicates, in the order of the columns.

    Raises:
        AtlasError: a line or tree is malformed, or columns do not match the predicates; names file and line.
    """
    is_empty = True
    for build in proposition_builders(path):
        is_empty = False
        yield build()
    if is_empty:
        raise AtlasError(f"{path}: there is no sentence in this file; use a Universal PropBank file with at least one.")


def proposition_builders(path: str | Path) -> Iterator[Callable[[], tuple[Tree, tuple[Proposition, ...]]]]:
    """Functions that parse the sentences of a file, in order; when called, they raise the errors of `read_propositions`."""
    return (partial(_parsed, block, position, path) for position, block in enumerate(sentence_blocks(Path(path))))


def _parsed(block: SentenceBlock, position: int, path: str | Path) -> tuple[Tree, tuple[Proposition, ...]]:
    plain, predicate_columns = _split_columns(block, path)
    tree = parse_block(replace(block, lines=plain), position, path)
    return tree, _propositions(predicate_columns, f"{path}:{block.first_line}")


def _split_columns(block: SentenceBlock, path: str | Path) -> tuple[list[bytes], list[list[str]]]:
    """Lines with the ten columns of CoNLL-U, and for each word its columns of predicates and roles."""
    plain, predicate_columns = [], []
    for number, line in enumerate(block.lines, start=block.first_line):
        if line.startswith(b"#"):
            plain.append(line)
            continue
        columns = line.rstrip(b"\r\n").split(b"\t")
        if len(columns) <= _COLUMNS:
            raise AtlasError(
                f"{path}:{number}: {len(columns)} columns; Universal PropBank has ten of CoNLL-U, one of predicates and one "
                "for each predicate."
            )
        plain.append(b"\t".join(columns[:_COLUMNS]) + b"\n")
        if columns[0].isdigit():
            # The published files leave some of these columns empty.
            predicate_columns.append([decoded(cell, f"{path}:{number}") or UNKNOWN for cell in columns[_COLUMNS:]])
    return plain, predicate_columns


def _propositions(rows: list[list[str]], where: str) -> tuple[Proposition, ...]:
    predicates = [(word, cells[0]) for word, cells in enumerate(rows, start=1) if cells[0] != UNKNOWN]
    sizes = {len(cells) - 1 for cells in rows}
    if not predicates and all(set(cells) == {UNKNOWN} for cells in rows):
        return ()
    if sizes != {len(predicates)}:
        raise AtlasError(
            f"{where}: this sentence has {len(predicates)} predicates but {' or '.join(map(str, sorted(sizes)))} columns of "
            "roles; there must be one for each predicate."
        )
    propositions = []
    for column, (predicate, roleset) in enumerate(predicates, start=1):
        roles = [(word, cells[column]) for word, cells in enumerate(rows, start=1) if cells[column] != UNKNOWN]
        arguments = tuple((word, role) for word, role in roles if role != PREDICATE)
        propositions.append(Proposition(predicate, roleset, arguments))
    return tuple(propositions)
