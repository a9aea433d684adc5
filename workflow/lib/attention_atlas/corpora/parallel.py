"""Sentences with their translations: one JSON object per line, or two files with one sentence per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import json_object, read_lines


@dataclass(frozen=True)
class Translated:
    """A sentence and its translation, unchanged from the file: either may be empty.

    Attributes:
        id: number of its line, from 1.
        source, target: texts without space around them.
    """

    id: str
    source: str
    target: str


def read_parallel(path: str | Path, languages: Sequence[str], translations: str | Path | None = None) -> Iterator[Translated]:
    """Yield the pairs of a file in its order.

    Args:
        path: one JSON object per line with both languages as keys (or under "translation", as on the hub), otherwise the
            sentences of the first language, one per line.
        languages: languages of the sentences and of the translations.
        translations: the file with the translations, line by line; None if `path` contains both.

    Raises:
        AtlasError: a line is not a JSON object, a language is missing, or the files differ in length; names file and line.
    """
    if translations is None:
        for number, line in read_lines(path):
            if line.strip():
                yield _of_object(line, f"{path}:{number}", str(number), languages)
        return
    for (number, source), (_, target) in _together(path, translations):
        yield Translated(str(number), source.strip(), target.strip())


def _together(path: str | Path, translations: str | Path) -> Iterator[tuple[tuple[int, str], tuple[int, str]]]:
    for count, (source, target) in enumerate(zip_longest(read_lines(path), read_lines(translations))):
        if source is None or target is None:
            longer, shorter = (translations, path) if source is None else (path, translations)
            raise AtlasError(
                f"{shorter}: the file ends after line {count}, but {longer} continues: a translation must have the same line "
                "number as its sentence. Use two files of the same release."
            )
        yield source, target


def _of_object(line: str, where: str, name: str, languages: Sequence[str]) -> Translated:
    content = json_object(line, where, " For plain text name the file with the translations (translations: ...).")
    row = content.get("translation", content)
    if not isinstance(row, Mapping):
        raise AtlasError(f"{where}: expected one JSON object per line.")
    return Translated(name, *(_text(row, language, where) for language in languages))


def _text(row: Mapping[str, Any], language: str, where: str) -> str:
    value = row.get(language)
    if not isinstance(value, str):
        raise AtlasError(f"{where}: there is no text under '{language}'. Keys: {', '.join(map(str, row))}.")
    return value.strip()
