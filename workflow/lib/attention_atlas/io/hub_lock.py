"""The lock file: the commit to which each hub repository was resolved, and the shape of a model at that commit.

A source that names a repository without a commit (or by a branch or tag) is resolved once, by the job that downloads it or by
`make lock`, and recorded here. From then on every machine with this file uses the same commit. The file is read at every start,
so nothing heavy is imported.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_yaml, write_text

LOCK_VARIABLE = "ATLAS_LOCK"
LOCK_PLACE = "config/lock.yaml"
"""Path of the lock file, beside the registries, unless the environment variable names another path."""
MODELS, DATASETS = "models", "datasets"
"""Kinds of repositories, which are the keys of the lock file."""
SHAPE = ("layers", "heads", "hidden_size")
"""Keys of a model's shape in a record, as in the registry."""
_HEADER = (
    "# Written by the jobs that fetch from the hub and by `make lock` (tools/lock.py): repository -> branch, tag or commit\n"
    "# that is asked for -> the commit that is used; of models also shape and longest input at that commit. Commit this file.\n"
)
_COMMIT = re.compile("[0-9a-f]{40}")
Record = dict[str, Any]
"""commit; for models `SHAPE` and longest_input; replaces: the commit that `make lock` replaced by this one."""
Lock = Mapping[str, Mapping[str, Mapping[str, Record]]]
"""Kind -> repository -> reference -> record."""


def is_commit(reference: str) -> bool:
    """Whether a reference is a commit (40 hex digits), not a branch or tag."""
    return _COMMIT.fullmatch(reference) is not None


def reference_of(source: Mapping[str, Any]) -> str:
    """The commit, branch or tag that a source names."""
    return str(source.get("revision", "main"))


def lock_path() -> Path:
    """The lock file of this workflow."""
    return Path(os.environ.get(LOCK_VARIABLE, LOCK_PLACE))


def read_lock(path: str | Path | None = None) -> Lock:
    """The content of the lock file; empty if there is none. It is read thousands of times per start, and parsed once.

    Raises:
        AtlasError: the file is not a lock file; names it.
    """
    file = lock_path() if path is None else Path(path)
    try:
        state = file.stat()
    except OSError:
        return {}
    # Recording a commit replaces the file, so its inode changes.
    return _parsed(file.absolute(), (state.st_ino, state.st_mtime_ns, state.st_size)) if file.is_file() else {}


@functools.lru_cache(maxsize=4)
def _parsed(file: Path, state: tuple[int, ...]) -> Lock:
    """The content of a lock file in a state (inode, time of last change, size); do not modify it."""
    try:
        lock = read_yaml(file) or {}
        for kind, repositories in lock.items():
            for references in repositories.values():
                commits = [record["commit"] for record in references.values()]
                if kind not in (MODELS, DATASETS) or not all(map(is_commit, commits)):
                    raise ValueError(f"unknown kind {kind} or a commit without 40 hex digits")
    except (OSError, ValueError, AttributeError, KeyError, TypeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        raise AtlasError(
            f"{file}: this is not a lock file ({reason}). Restore it from version control, or write a new one: make lock."
        ) from error
    return cast("Lock", lock)


def locked(lock: Lock, kind: str, source: Mapping[str, Any]) -> Record | None:
    """The lock file's record of a source of kind hub; None if there is none."""
    return lock.get(kind, {}).get(str(source["hub"]), {}).get(reference_of(source))


def commit_of(lock: Lock, kind: str, source: Mapping[str, Any]) -> str | None:
    """The commit of a source of kind hub: the one that it names, or the one in the lock file; None if unknown."""
    reference = reference_of(source)
    if is_commit(reference):
        return reference
    record = locked(lock, kind, source)
    return str(record["commit"]) if record else None


def replacing_commit(lock: Lock, kind: str, source: Mapping[str, Any]) -> str:
    """The commit with which `make lock` replaced an earlier one; empty if the recorded commit is the first.

    It is a parameter of download jobs: their outputs stay valid when the commit is first recorded, and only a refreshed commit
    makes them run again.
    """
    record = None if is_commit(reference_of(source)) else locked(lock, kind, source)
    return str(record["commit"]) if record and "replaces" in record else ""


def record(kind: str, source: Mapping[str, Any], resolve: Callable[[], Record], refresh: bool = False) -> Record:
    """The lock file's record of a source; if there is none, it is resolved and recorded first, by one process at a time.

    Args:
        kind: models or datasets.
        source: a source of kind hub.
        resolve: function that returns the record.
        refresh: whether to resolve recorded sources again, and record changes.

    Raises:
        AtlasError: the lock file cannot be written, or `resolve` raises it.
    """
    from filelock import FileLock

    path = lock_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A separate hidden file, since the lock file itself is replaced.
        guard = FileLock(path.with_name(f".{path.name}.guard"))
        with guard:
            lock = {k: {r: dict(refs) for r, refs in repositories.items()} for k, repositories in read_lock(path).items()}
            known = locked(lock, kind, source)
            if known is not None and not refresh:
                return known
            new = resolve()
            if known is not None and new["commit"] != known["commit"]:
                new = new | {"replaces": known["commit"]}
            elif known is not None and "replaces" in known:
                new = new | {"replaces": known["replaces"]}
            if new != known:
                lock.setdefault(kind, {}).setdefault(str(source["hub"]), {})[reference_of(source)] = new
                write_text(path, _HEADER + yaml.safe_dump(lock, default_flow_style=None, width=200))
            return new
    except OSError as error:
        raise AtlasError(
            f"{path}: the commit of {source['hub']} cannot be recorded here ({error.strerror or error}). Make the file "
            f"writable, or name another one in the environment variable {LOCK_VARIABLE}."
        ) from error
