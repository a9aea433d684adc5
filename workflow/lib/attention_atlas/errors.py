"""The exception whose text is meant for the user, and a guess at what was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class AtlasError(Exception):
    """Something the user can mend: the message names the place (file, line, key) and what to do.

    Job stubs print it without a traceback; every other exception is a fault of the program and keeps its traceback.
    """


class DamagedFile(AtlasError):
    """A file of the workflow's own that cannot be used; `path` is the file. A job that meets it sets it aside."""

    def __init__(self, path: str | Path, what: str) -> None:
        super().__init__(f"{path}: {what}. Delete it and run again: only it is made anew.")
        self.path = Path(path)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence that names the known word nearest to `word`; empty where none is near."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'" if close else ""


def first_line(error: Exception, most: int) -> str:
    """The first line of what an exception of a library says, so many characters at the most."""
    said = str(error).strip()
    return said.splitlines()[0][:most] if said else "no message"
