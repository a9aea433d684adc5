"""Texts of patterns: how a user specifies the pairs of tokens that heads are measured on.

    relation:nsubj              a word with relation nsubj and its head, in both directions
    relation:nsubj>head         from the dependent to its head; `>dependent` is from the head to the dependent
    pos:ADJ>NOUN                from an adjective to a noun; * is any part of speech
    my_patterns.py:same_letter  a function in a file, from an example to a boolean matrix [n, n], row = query token

Imports nothing heavy, since the workflow checks patterns at every start.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attention_atlas.errors import AtlasError, first_line

RELATION, POS, FUNCTION = "relation", "pos", "function"
ANY = "*"
TO_HEAD, TO_DEPENDENT = "head", "dependent"
_FORMS = "relation:NAME, relation:NAME>head, relation:NAME>dependent, pos:TAG>TAG, FILE.py:FUNCTION"


@dataclass(frozen=True)
class Pattern:
    """A pattern as specified by a user.

    Attributes:
        text: the pattern, such as `relation:nsubj>head`.
        kind: `relation`, `pos` or `function`.
        first, second: relation and direction (`head`, `dependent` or empty for both), parts of speech of query and key, or
            file and function.
    """

    text: str
    kind: str
    first: str
    second: str

    @property
    def measure(self) -> str:
        """Name of its measure, with letters, digits and underscores."""
        parts: tuple[str, ...]
        if self.kind == RELATION:
            parts = (self.kind, self.first, *(("to", self.second) if self.second else ()))
        elif self.kind == POS:
            parts = (self.kind, *(tag.replace(ANY, "any") for tag in (self.first, "to", self.second)))
        else:
            parts = (Path(self.first).stem, self.second)
        return "pattern_" + re.sub(r"[^a-z0-9]+", "_", "_".join(parts).lower()).strip("_")


def parse_pattern(text: str) -> Pattern:
    """Parse a pattern, and check that its file and function exist, if it names them.

    Raises:
        AtlasError: the text has none of these forms, the file does not exist, or the function is not in it.
    """
    kind, _, rest = text.partition(":")
    if kind == RELATION:
        relation, _, direction = rest.partition(">")
        if relation and direction in ("", TO_HEAD, TO_DEPENDENT) and not text.endswith(">"):
            return Pattern(text, kind, relation, direction)
    elif kind == POS:
        query, _, key = rest.partition(">")
        if query and key:
            return Pattern(text, kind, query, key)
    else:
        path, _, name = text.rpartition(":")
        if path.endswith(".py") and name.isidentifier():
            _check_function(text, Path(path), name)
            return Pattern(text, FUNCTION, path, name)
    raise AtlasError(f"pattern '{text}': write it in one of the forms {_FORMS}.")


def parse_patterns(texts: Iterable[str]) -> list[Pattern]:
    """Patterns from their texts, in order.

    Raises:
        AtlasError: as for `parse_pattern`, or two patterns have the same name.
    """
    by_name: dict[str, Pattern] = {}
    for pattern in map(parse_pattern, texts):
        if pattern.measure in by_name:
            raise AtlasError(
                f"pattern '{pattern.text}': its measure would be called {pattern.measure}, like that of "
                f"'{by_name[pattern.measure].text}': remove one of them, or rename its function."
            )
        by_name[pattern.measure] = pattern
    return list(by_name.values())


def _check_function(text: str, path: Path, name: str) -> None:
    """Check that a file defines a function, without running it."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AtlasError(f"pattern '{text}': there is no file {path}.") from error
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise AtlasError(f"pattern '{text}': {path}{line}: this is not Python ({first_line(error, 200)}).") from error
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if name not in defined:
        listed = ", ".join(defined) or "none"
        raise AtlasError(f"pattern '{text}': {path} defines no function '{name}' (its functions: {listed}).")
