"""Sampled rows of a hub data set in the user's cache: they are downloaded once and shared by all jobs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DRAWING = 2
"""Version of sampling and file format: changing it invalidates cached rows."""


DRAWN = ("hub", "revision", "config", "split", "column", "rows")
"""Keys of a source that its rows depend on."""


def are_kept(source: Mapping[str, Any], commit: str, order: str, seed: int) -> bool:
    """Whether the sampled rows of a source are in the user's cache, so that they are not downloaded again.

    Args:
        source: a source of kind hub.
        commit: the commit that its revision stands for.
        order, seed: those of the corpus.
    """
    wanted = {key: source.get(key) for key in DRAWN if key != "revision"}
    wanted |= {"order": order, "seed": seed, "drawing": DRAWING}
    for described in _rows_folder().glob("*/drawing.json"):
        try:
            drawing = json.loads(described.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        is_same = drawing.pop("revision", None) in (source.get("revision"), commit)
        if is_same and wanted.items() <= drawing.items() and (described.parent / "rows.tsv").is_file():
            return True
    return False


def _rows_folder() -> Path:
    import pooch

    return Path(pooch.os_cache("attention-atlas"), "rows")


@contextmanager
def keeping(drawing: Mapping[str, Any]) -> Iterator[tuple[Path, Path]]:
    """The cached file of rows and the table of their origins, locked so that no other process samples the same rows.

    The caller writes missing files, the table last.

    Args:
        drawing: everything that the rows depend on: repository, commit, split, order, and so on; if empty, nothing is shared.
    """
    from filelock import FileLock

    described = json.dumps({**drawing, "drawing": DRAWING}, sort_keys=True)
    folder = _rows_folder() / hashlib.sha256(described.encode()).hexdigest()[:32]
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".guard"):
        # Describe the folder for people who inspect the cache.
        Path(folder, "drawing.json").write_text(described + "\n", encoding="utf-8")
        yield folder / "raw", folder / "rows.tsv"
