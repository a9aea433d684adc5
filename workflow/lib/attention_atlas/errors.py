"""The exception whose text is for the user, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class AtlasError(Exception):
    """Something the user can fix: the message names the place (file, line, key) and what to do.

    Jobs print it without a traceback; every other exception is a bug and keeps its traceback.
    """


class DamagedFile(AtlasError):
    """A file written by the workflow that cannot be used; `path` is the file, which a job that reads it renames."""

    def __init__(self, path: str | Path, what: str) -> None:
        super().__init__(f"{path}: {what}. Delete it and run again: only this file is rebuilt.")
        self.path = Path(path)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence with the known word most similar to `word`; empty if none is similar."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'" if close else ""


def first_line(error: BaseException, most: int) -> str:
    """The first line of the message of a library's exception, at most `most` characters."""
    message = str(error).strip()
    return message.splitlines()[0][:most] if message else "no message"
