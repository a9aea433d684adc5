"""Locating and downloading the files of a hub repository: a local folder, the mirror, the hub's cache, the hub.

`at_hand` works without a network and imports nothing heavy, since it runs at every start and in every job with a model. Only
jobs that download call `fetch`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from attention_atlas.errors import AtlasError, first_line
from attention_atlas.io.files import read_json, sha256
from attention_atlas.io.messages import redacted

MIRROR_VARIABLE = "ATLAS_DATA"
_log = logging.getLogger(__name__)
MODELS, DATASETS = "models", "datasets"  # kinds of repositories
_COMMIT = re.compile("[0-9a-f]{40}")
_REPOSITORY = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")
_REFUSALS = {
    "RevisionNotFoundError": "the hub has this repository, but no such commit, branch or tag. Correct the key `revision`.",
    "GatedRepoError": "its owner asks for an account. Accept the terms on its page and set HF_TOKEN.",
    "RepositoryNotFoundError": "the hub has no such repository, or it is private. Correct the key `hub`, or set HF_TOKEN.",
}
_METADATA = Path(".cache", "huggingface", "download")
"""Folder in which `hf download --local-dir` records commit and checksum of each file."""
_LOCAL_MODELS = "models"
"""Folder of the working directory in which a user may put a model under its name on the hub, without its owner."""


def in_mirror(source: Mapping[str, Any], mirror: str | Path | None = None) -> Path | None:
    """Path of a source in the mirror folder (default: from the environment), None without a mirror or a path in it."""
    folder = mirror or os.environ.get(MIRROR_VARIABLE)
    return Path(folder, source["mirror"]) if folder and "mirror" in source else None


def is_commit(reference: str) -> bool:
    return _COMMIT.fullmatch(reference) is not None


def reference_of(source: Mapping[str, Any]) -> str:
    """The commit, branch or tag that a source names."""
    return str(source.get("revision", "main"))


def commit_of(kind: str, source: Mapping[str, Any]) -> str | None:
    """The commit of a source: `_pinned`, else the one that the hub's cache has for its branch or tag; None if it has none."""
    note = _cached(kind, str(source["hub"])) / "refs" / reference_of(source)
    return _pinned(source) or (note.read_text(encoding="ascii").strip() if note.is_file() else None)


def _pinned(source: Mapping[str, Any]) -> str | None:
    """The commit that a source names, or that the model's card names since it was fetched; None if there is neither.

    The card counts before the cache, in which other programs move branches on while a run lasts.
    """
    if is_commit(reference_of(source)):
        return reference_of(source)
    card = Path(source.get("card", ""))
    fetched = str(read_json(card)["origin"]).rpartition(" ")[2] if card.is_file() else ""
    return fetched if is_commit(fetched) else None


def at_hand(kind: str, source: Mapping[str, Any], mirror: str | Path | None = None) -> Path | None:
    """The folder with the files of a source of kind hub if they are on this machine; never downloads.

    `mirror`: folder that is searched before the hub's cache; default: from the environment.
    """
    for folder in _placed(kind, source, mirror):
        _check_commit(folder, source)
        return folder
    commit = commit_of(kind, source)
    snapshot = commit and _cached(kind, str(source["hub"])) / "snapshots" / commit
    return snapshot if snapshot and snapshot.is_dir() else None


def is_placed(kind: str, source: Mapping[str, Any], mirror: str | Path | None = None) -> bool:
    """Whether a user placed the files of a source of kind hub on this machine, in a folder or the mirror."""
    return bool(_placed(kind, source, mirror))


def fetch(kind: str, source: Mapping[str, Any], needed: Collection[str]) -> Path:
    """The folder with the files of a source of kind hub; files that are not on this machine are downloaded.

    Files of the mirror are compared with their recorded checksums.
    """
    for folder in _placed(kind, source):
        _check_commit(folder, source)
        check_placed_files(folder)
        return folder
    commit = resolved_commit(kind, source)
    try:
        from huggingface_hub import snapshot_download

        files: dict[str, Any] = {"repo_type": kind.removesuffix("s"), "revision": commit, "allow_patterns": list(needed)}
        return Path(snapshot_download(str(source["hub"]), **files))
    except Exception as error:  # the hub client raises a dozen kinds
        raise refusal(kind, source, error) from error


def resolved_commit(kind: str, source: Mapping[str, Any]) -> str:
    """The commit of a source of kind hub; the hub is asked if `commit_of` does not know it, and its cache keeps the answer."""
    if commit := commit_of(kind, source):
        return commit
    try:
        from huggingface_hub import HfApi

        name, reference = str(source["hub"]), reference_of(source)
        return str(HfApi().resolve_revision(name, repo_type=kind.removesuffix("s"), revision=reference).resolved)
    except Exception as error:  # the hub client raises a dozen kinds
        raise refusal(kind, source, error) from error


def refusal(kind: str, source: Mapping[str, Any], error: Exception) -> AtlasError:
    """One sentence on why a repository cannot be downloaded, and what to do."""
    repository, reference = str(source["hub"]), reference_of(source)
    what = f"{'model' if kind == MODELS else 'data set'} {repository} at {reference[:8] if is_commit(reference) else reference}"
    name = type(error).__name__
    if name in _REFUSALS:
        return AtlasError(f"{what}: {_REFUSALS[name]}")
    place = f"hub/{kind}/{repository}"
    return AtlasError(
        f"{what}: not in the hub's cache, and it could not be downloaded ({name}: {redacted(first_line(error, 200))}). "
        f"Run the same target on a machine with a network first (the cache is HF_HOME), or put the files under data_mirror (or "
        f"{MIRROR_VARIABLE}) as {place}, or name their folder: source: {{path: FOLDER}}."
    )


def check_placed_files(folder: Path) -> None:
    """Compare the files of a folder with the checksums recorded by `hf download --local-dir`, if there are any."""
    notes = sorted(Path(folder, _METADATA).rglob("*.metadata"))
    for note in notes:
        file = Path(folder, note.relative_to(folder / _METADATA).with_suffix(""))
        expected = _noted(note)[1]
        if file.is_file() and expected and expected not in (sha256(file), _git_checksum(file)):
            raise AtlasError(
                f"{file}: wrong checksum: the download of this folder recorded {expected}. The file is damaged or was changed; "
                "fetch the folder again with `hf download --local-dir`."
            )
    if not notes:
        _log.warning(
            "%s: these files have no recorded checksums (hf download --local-dir writes them); they are used unchecked", folder
        )


def placed_commit(folder: Path) -> str | None:
    """The commit that `hf download --local-dir` recorded in a folder; None if there is no record."""
    commits = {_noted(note)[0] for note in Path(folder, _METADATA).rglob("*.metadata")}
    return commits.pop() if len(commits) == 1 else None


def _check_commit(folder: Path, source: Mapping[str, Any]) -> None:
    wanted, placed = _pinned(source), placed_commit(folder)
    if wanted and placed and wanted != placed:
        raise AtlasError(
            f"{folder}: this is {source['hub']} at commit {placed[:8]}, but {wanted[:8]} is needed. Download it "
            f"(hf download --revision {wanted} --local-dir), or remove the folder."
        )


def _placed(kind: str, source: Mapping[str, Any], mirror: str | Path | None = None) -> list[Path]:
    """Folders in which a user placed a repository's files, in order of precedence."""
    repository = str(source["hub"])
    folders = [Path(repository)]
    if _REPOSITORY.fullmatch(repository):
        if kind == MODELS and "revision" not in source:
            folders.append(Path(_LOCAL_MODELS, repository.rpartition("/")[2]))
        mirrored = in_mirror({"mirror": f"hub/{kind}/{repository}"}, mirror)
        folders += [mirrored] if mirrored is not None else []
    return [folder for folder in folders if folder.is_dir()]


def _cached(kind: str, repository: str) -> Path:
    """Folder of a repository in the hub's cache, found without importing huggingface_hub, which takes too long."""
    home = os.environ.get("HF_HOME") or str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface"))
    cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or str(Path(home, "hub"))
    return Path(os.path.expandvars(cache)).expanduser() / "--".join((kind, *repository.split("/")))


def _noted(note: Path) -> tuple[str, str]:
    """Commit and checksum of a file, as recorded when it was downloaded."""
    lines = [*note.read_text(encoding="utf-8").splitlines(), "", ""]
    return lines[0].strip(), lines[1].strip()


def _git_checksum(file: Path) -> str:
    content = file.read_bytes() if file.stat().st_size < 1 << 26 else b""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
