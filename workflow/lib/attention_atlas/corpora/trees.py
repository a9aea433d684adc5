"""Dependency trees: the record shared by all readers and studies of syntax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attention_atlas.errors import AtlasError

UNKNOWN = "_"
"""Value of a missing lemma, tag or feature."""


@dataclass(frozen=True)
class Tree:
    """One sentence with its dependency tree. Word positions are 1-indexed, 0 is ROOT; entry k describes word k + 1.

    Attributes:
        id: name of the sentence in the source.
        words: the n words.
        heads: position of each word's head, 0 for the root.
        relations: label of the arc from each word to its head.
        lemmas, upos, xpos, feats: n entries each; missing or empty entries are stored as "_".
        text: the original text of the sentence, "" if unknown.
        spaces: whether a space stands before each word in the text; empty if unknown.
        document: the document that the sentence belongs to; None if unknown.
    """

    id: str
    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    lemmas: tuple[str, ...] = ()
    upos: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    feats: tuple[str, ...] = ()
    text: str = ""
    spaces: tuple[bool, ...] = ()
    document: str | None = None

    def __post_init__(self) -> None:
        size = len(self.words)
        for name in ("lemmas", "upos", "xpos", "feats"):
            values = getattr(self, name) or (UNKNOWN,) * size
            object.__setattr__(self, name, tuple(entry or UNKNOWN for entry in values))

    def __len__(self) -> int:
        return len(self.words)


def children(heads: Sequence[int]) -> list[list[int]]:
    """Dependents of every position in the order of the words: entry 0 lists the roots, entry k those of word k."""
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        dependents[head].append(word)
    return dependents


def root_of(heads: Sequence[int]) -> int:
    """Position of the (first) word whose head is ROOT.

    Raises:
        ValueError: no word is attached to ROOT.
    """
    return list(heads).index(0) + 1


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Positions on one cycle, from dependent to head; empty if every word reaches ROOT."""
    reaches_root = [False] * (len(heads) + 1)
    reaches_root[0] = True
    for start in range(1, len(heads) + 1):
        path: list[int] = []
        place: dict[int, int] = {}
        word = start
        while not reaches_root[word]:
            if word in place:
                return path[place[word] :]
            place[word] = len(path)
            path.append(word)
            word = heads[word - 1]
        for word in path:
            reaches_root[word] = True
    return []


def tree_fault(tree: Tree) -> tuple[int, str] | None:
    """The first reason why `tree` is not a tree: (position of the word at fault, 0 for none, sentence).

    A tree has one word at ROOT (see `several_roots`), and every other word reaches it through heads inside the sentence.
    """
    size = len(tree.words)
    if size == 0:
        return 0, "the sentence has no words"
    for name in ("heads", "relations", "lemmas", "upos", "xpos", "feats"):
        if len(getattr(tree, name)) != size:
            return 0, f"the sentence has {size} words, but {len(getattr(tree, name))} {name}"
    for word, head in enumerate(tree.heads, start=1):
        if not 0 <= head <= size:
            return word, f"word {_named(tree, word)} has head {head}, outside of 0 to {size}"
        if head == word:
            return word, f"word {_named(tree, word)} is its own head"
    if cycle := find_cycle(tree.heads):
        circle = " -> ".join(_named(tree, word) for word in [*cycle, cycle[0]])
        return cycle[0], f"the heads run in a circle: {circle}"
    return several_roots(tree)


def several_roots(tree: Tree) -> tuple[int, str] | None:
    """The second word attached to ROOT and a sentence that names all such words; None if there is at most one."""
    roots = [word for word, head in enumerate(tree.heads, start=1) if head == 0]
    if len(roots) < 2:
        return None
    named = " and ".join(_named(tree, word) for word in roots)
    return roots[1], f"several words have head 0: {named}"


def check_tree(tree: Tree, where: str) -> None:
    """Check that `tree` is a well-formed tree with one root.

    Raises:
        AtlasError: the message starts with `where` (such as "file:line") and names the word or the cycle.
    """
    if fault := tree_fault(tree):
        raise AtlasError(f"{where}: sentence {tree.id!r}: {fault[1]}; correct the heads or remove the sentence.")


def _named(tree: Tree, word: int) -> str:
    return f"{word} '{tree.words[word - 1]}'"
