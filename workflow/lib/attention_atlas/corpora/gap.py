"""Reading GAP: passages with an ambiguous pronoun and two names (Webster et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from attention_atlas.corpora.text import WORD, spaces_in
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_lines

COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref", "URL")
_TRUTH = {"TRUE": True, "FALSE": False}


@dataclass(frozen=True)
class Passage:
    """One passage.

    Attributes:
        id: its name.
        words: words and punctuation marks of the text.
        pronoun, a, b: words start .. stop - 1 (from 0) of the pronoun and the two names.
        a_coreferent, b_coreferent: whether the pronoun refers to them; both may be false.
        document: address of the page that it is taken from; None if the file has none.
        spaces: whether a space stands before each word.
    """

    id: str
    words: tuple[str, ...]
    pronoun: tuple[int, int]
    a: tuple[int, int]
    b: tuple[int, int]
    a_coreferent: bool
    b_coreferent: bool
    document: str | None = None
    spaces: tuple[bool, ...] = ()


def read_gap(path: str | Path) -> Iterator[Passage]:
    """Yield the passages of a tab-separated file with the columns `COLUMNS`; quotation marks are ordinary text.

    Raises:
        AtlasError: a column is missing, or offsets do not point at the names; names file and line.
    """
    rows = ((number, line.split("\t")) for number, line in read_lines(path) if line.strip())
    _, header = next(rows, (1, []))
    absent = [name for name in COLUMNS[:-1] if name not in header]
    if absent:
        raise AtlasError(f"{path}:1: the column '{absent[0]}' is missing. Found: {', '.join(header)}.")
    for number, row in rows:
        if len(row) != len(header):
            raise AtlasError(f"{path}:{number}: {len(row)} columns instead of {len(header)}; separate columns by tabs.")
        yield _passage(dict(zip(header, row, strict=True)), f"{path}:{number}")


def _passage(row: dict[str, str], where: str) -> Passage:
    text = row["Text"]
    matches = list(WORD.finditer(text))
    spans = {}
    for name in ("Pronoun", "A", "B"):
        offset = row[f"{name}-offset"]
        start = int(offset) if offset.isdecimal() else -1
        if start < 0 or text[start : start + len(row[name])] != row[name] or not row[name]:
            raise AtlasError(
                f"{where}: '{row[name]}' is not at character {offset} of the text; correct {name} or {name}-offset (characters "
                "count from 0)."
            )
        stop = start + len(row[name])
        inside = [k for k, match in enumerate(matches) if match.end() > start and match.start() < stop]
        spans[name] = (inside[0], inside[-1] + 1)
    for name in ("A-coref", "B-coref"):
        if row[name].upper() not in _TRUTH:
            raise AtlasError(f"{where}: {name} is {row[name]!r}; it must be TRUE or FALSE.")
    return Passage(
        id=row["ID"],
        words=tuple(match[0] for match in matches),
        pronoun=spans["Pronoun"],
        a=spans["A"],
        b=spans["B"],
        a_coreferent=_TRUTH[row["A-coref"].upper()],
        b_coreferent=_TRUTH[row["B-coref"].upper()],
        document=row.get("URL") or None,
        spaces=spaces_in(text, [match[0] for match in matches]),
    )
