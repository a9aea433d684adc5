"""The exception whose text is meant for the user."""

from __future__ import annotations

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
