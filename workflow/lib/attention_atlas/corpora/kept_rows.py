"""Sampled rows of a hub data set in the user's cache: they are downloaded once and shared by all jobs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DRAWING = 1
"""Version of sampling and file format: changing it invalidates cached rows."""


@contextmanager
def keeping(drawing: Mapping[str, Any]) -> Iterator[tuple[Path, Path]]:
    """The cached file of rows and the table of their origins, locked so that no other process samples the same rows.

    The caller writes missing files, the table last.

    Args:
        drawing: everything that the rows depend on: repository, commit, split, order, and so on; if empty, nothing is shared.
    """
    import pooch
    from filelock import FileLock

    described = json.dumps({**drawing, "drawing": DRAWING}, sort_keys=True)
    folder = Path(pooch.os_cache("attention-atlas"), "rows", hashlib.sha256(described.encode()).hexdigest()[:32])
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".guard"):
        # Describe the folder for people who inspect the cache.
        Path(folder, "drawing.json").write_text(described + "\n", encoding="utf-8")
        yield folder / "raw", folder / "rows.tsv"
