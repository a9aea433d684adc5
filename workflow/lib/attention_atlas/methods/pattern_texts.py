"""Names of patterns, `my_patterns.py:same_letter`: a function in a file that says which pairs of tokens count.

It gets an example and returns a boolean matrix [n, n], row = query token. Imports nothing heavy, since the workflow checks
patterns at every start.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attention_atlas.errors import AtlasError, first_line


@dataclass(frozen=True)
class Pattern:
    """A pattern as specified by a user: FILE.py:FUNCTION."""

    text: str

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.text.rpartition(":")[0])

    @property
    def function(self) -> str:
        """Name of the function."""
        return self.text.rpartition(":")[2]

    @property
    def measure(self) -> str:
        """Name of its measure, with letters, digits and underscores."""
        return "pattern_" + re.sub(r"[^a-z0-9]+", "_", f"{self.path.stem}_{self.function}".lower()).strip("_")


def parse_pattern(text: str) -> Pattern:
    """Parse a pattern, and check that its file and function exist.

    Raises:
        AtlasError: the text has another form, the file does not exist, or the function is not in it.
    """
    pattern = Pattern(text)
    if pattern.path.suffix != ".py" or not pattern.function.isidentifier():
        raise AtlasError(f"pattern '{text}': write it as FILE.py:FUNCTION (see docs/atlas.md).")
    _check_function(text, pattern.path, pattern.function)
    return pattern


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
