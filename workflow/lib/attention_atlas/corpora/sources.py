"""Sources of a corpus: a mirror folder, a pinned address, test sets of sacrebleu, or a hub of data sets (Parquet files).

Sampled rows of a hub data set are kept in the user's cache: they are downloaded once and shared by all jobs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.corpora.conll2012 import COREFERENCE_FILES, column_files
from attention_atlas.corpora.text import parallel_records
from attention_atlas.errors import AtlasError, first_line
from attention_atlas.io import hub_files
from attention_atlas.io.files import DAMAGED, open_binary, sha256, whole_file
from attention_atlas.io.messages import progress, redacted
from attention_atlas.io.tables import write_table

_log = logging.getLogger(__name__)
_KEPT_VERSION = 3  # version of sampling and file format: changing it invalidates cached rows
_ROW_READERS = ("glue", "conll2012", "edges")  # readers of rows; all others read documents
_DRAWN = ("hub", "revision", "config", "split", "column", "rows")  # keys of a source that its rows depend on
ROWS = ["number", "commit", "id", "title"]
"""Columns of the table of a data set's rows: place in the corpus's raw file, from 1; commit of the data set; the row's id and
title, if it has them."""
_BUFFER, _ROW_GROUPS = 100_000, 100
"""Rows of Parquet files that are shuffled at a time, and row groups that they are from: the hub's have 1,000 rows each."""


def fetch(
    source: Mapping[str, Any],
    target: str | Path,
    reader: str = "segments",
    order: str = "shuffled",
    seed: int = 0,
    rows_out: str | Path | None = None,
) -> None:
    """Copy or download a corpus's raw file to `target`, atomically; the mirror folder is searched first."""
    if "hub" in source:
        _from_hub(_at_commit(source), target, rows_out, reader, order, seed)
        return
    if "sacrebleu" in source:
        write_test_sets(source, target)
    else:
        _from_file(source, target)
    if rows_out is not None:
        write_table(pd.DataFrame([], columns=ROWS), rows_out)


def _from_file(source: Mapping[str, Any], target: str | Path) -> None:
    """Copy a file from the mirror or download it, after checking its checksum."""
    mirror_file = hub_files.in_mirror(source)
    file = mirror_file if mirror_file is not None and mirror_file.is_file() else _download(source, mirror_file)
    try:
        if "content_sha256" in source:
            check_content(file, source["content_sha256"], source.get("content_files", COREFERENCE_FILES))
        else:
            check_sha256(file, source["sha256"])
    except AtlasError:
        # Without this, an incomplete download without a checksum would be used again at the next start.
        if file != mirror_file:
            file.unlink(missing_ok=True)
        raise
    with whole_file(target) as part:
        shutil.copyfile(file, part)


def check_sha256(path: str | Path, expected: str) -> None:
    """Check that a file has the expected SHA-256, compressed or decompressed."""
    digest = sha256(path)
    if digest == expected:
        return
    unpacked = hashlib.sha256()
    # A compressed file that cannot be decompressed also has the wrong checksum.
    with contextlib.suppress(AtlasError, *DAMAGED), open_binary(path) as stream:
        while block := stream.read(1 << 20):
            unpacked.update(block)
    if unpacked.hexdigest() != expected:
        raise AtlasError(
            f"{path}: wrong checksum: expected sha256 {expected}, found {digest}. The file is damaged or a different version; "
            "delete it and fetch it again, or correct sha256 in the configuration if the change is intended."
        )


def check_content(path: str | Path, expected: str, files: str = COREFERENCE_FILES) -> None:
    """Check that some files of an archive, in the order of their names regardless of folders, have this SHA-256.

    `files`: PATTERN of their names, or FOLDER/PATTERN for those in folders of this name, if there are any.
    """
    digest = hashlib.sha256()
    folder, _, pattern = files.rpartition("/")
    for _, lines in column_files(Path(path), by_base_name=True, files=pattern, below=folder or None):
        for _, line in lines:
            digest.update(line)
    if digest.hexdigest() != expected:
        raise AtlasError(
            f"{path}: wrong checksum: expected content_sha256 {expected}, found {digest.hexdigest()}. The archive is damaged "
            "or has different files; delete it and fetch it again, or correct content_sha256 if the change is intended."
        )


def _download(source: Mapping[str, Any], mirror_file: Path | None) -> Path:
    import pooch

    folder = pooch.os_cache("attention-atlas")
    try:
        known_hash = f"sha256:{source['sha256']}" if "sha256" in source else None
        return Path(pooch.retrieve(source["url"], known_hash=known_hash, path=folder))
    except Exception as error:  # requests, urllib3 and the operating system raise different errors
        # For a wrong checksum, pooch raises a ValueError and removes the file; requests' errors are OSErrors too.
        if not isinstance(error, ValueError) or isinstance(error, OSError):
            where = f", and there is no {mirror_file}" if mirror_file else ""
            raise AtlasError(
                f"{source['url']}: could not be downloaded ({type(error).__name__}){where}. Without a network, put the file "
                f"under data_mirror (or {hub_files.MIRROR_VARIABLE}) as {source.get('mirror', Path(source['url']).name)}."
            ) from error
        raise AtlasError(
            f"{source['url']}: wrong checksum: expected sha256 {source.get('sha256')}, but the download has a different one. "
            "Try again, or correct sha256 in the configuration if the change is intended."
        ) from error


def _from_hub(
    source: Mapping[str, Any], target: str | Path, rows_out: str | Path | None, reader: str, order: str, seed: int
) -> None:
    """Copy sampled rows of a data set from the user's cache, or sample them; corpora with the same rows share one sample."""
    import pooch
    from filelock import FileLock

    as_rows = reader in _ROW_READERS
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        folder = Path(scratch)
        # A user's folder, which has no revision, may change: its rows are not cached.
        if source["revision"] is not None:
            drawing = {key: source.get(key) for key in _DRAWN} | {"order": order, "seed": seed, "as_rows": as_rows}
            described = json.dumps({**drawing, "drawing": _KEPT_VERSION}, sort_keys=True)
            folder = Path(pooch.os_cache("attention-atlas"), "rows") / hashlib.sha256(described.encode()).hexdigest()[:32]
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(folder / ".guard"))
        files = folder / "raw", folder / "rows.tsv"
        if not files[1].is_file():
            write_table(pd.DataFrame(_draw(source, files[0], as_rows, order, seed), columns=ROWS), files[1])
        for file, copy in zip(files, (target, rows_out), strict=True):
            if copy is not None:
                with whole_file(copy) as part:
                    shutil.copyfile(file, part)


def _draw(source: Mapping[str, Any], target: Path, as_rows: bool, order: str, seed: int) -> list[dict[str, Any]]:
    """Write the first `rows` rows of a data set in an order; returns their origins, one row of the table `ROWS` each.

    Rows are written as one JSON object per line, or their texts as one paragraph per line, with a blank line after each.
    """
    name, column = source["hub"], source["column"]
    commit = source["revision"] or hub_files.placed_commit(Path(name))
    origins: list[dict[str, Any]] = []
    with whole_file(target) as part, part.open("w", encoding="utf-8", newline="\n") as stream:
        for row in progress(_rows(source, order, seed), total=source["rows"], label=name):
            if as_rows:
                text = json.dumps(row, ensure_ascii=False) + "\n"
            elif column in row:
                lines = (line.strip() for line in re.split(r"[\r\n]", str(row[column] or "")))
                text = "".join(f"{line}\n" for line in lines if line)
                text += "\n" if text else ""
            else:
                raise AtlasError(f"data set {name}: there is no column '{column}'. Columns: {', '.join(sorted(row))}.")
            if text:
                stream.write(text)
                origins.append({"number": len(origins) + 1, "commit": commit, "id": row.get("id"), "title": row.get("title")})
        if not origins:  # before the file gets its name, so that no empty file remains
            raise AtlasError(f"data set {name}: split {source['split']} has no row with text.")
    _log.info("%s at %s: %d rows are used, in the order %s with seed %d", name, commit, len(origins), order, seed)
    return origins


def _rows(source: Mapping[str, Any], order: str, seed: int) -> Iterator[dict[str, Any]]:
    """The first rows of a data set in an order, with the names of classes."""
    name = source["hub"]
    try:
        rows = hub_rows(source, order, seed)
        yield from (_with_class_names(row, rows.features) for row in islice(rows, source["rows"]))
    except Exception as error:  # the hub client raises many kinds of errors; row groups are downloaded while they are read
        raise AtlasError(
            f"data set {name}: could not be read ({type(error).__name__}: {redacted(first_line(error, 200))}). Check "
            "repository, revision, config and split, or start again; without a network put the repository's files under "
            f"data_mirror (or {hub_files.MIRROR_VARIABLE}) as hub/datasets/{name}, or use a source of kind path."
        ) from error


def _with_class_names(value: Any, feature: Any) -> Any:
    """A value of a row with the names of its classes in place of their numbers, "-" for none."""
    if isinstance(value, int) and hasattr(feature, "int2str"):
        return feature.int2str(value) if value >= 0 else "-"
    if isinstance(value, Mapping):
        features = feature if isinstance(feature, Mapping) else {}
        return {key: _with_class_names(item, features.get(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_class_names(item, getattr(feature, "feature", None)) for item in value]
    return value


def hub_rows(source: Mapping[str, Any], order: str, seed: int) -> Any:
    """Rows of a split (an iterable with `features`) in file order, or in one order that the seed determines.

    Parquet files are streamed: the row groups of all files in random order, and the rows of `_ROW_GROUPS` of them at a time in
    random order. A larger sample contains the smaller ones.
    """
    import datasets

    where = {"path": source["hub"], "name": source.get("config"), "revision": source.get("revision")}
    rows = datasets.load_dataset(**where, split=source["split"], streaming=True)
    if order == "file":
        return rows
    return rows.reshard().shuffle(seed=seed, buffer_size=_BUFFER, max_buffer_input_shards=_ROW_GROUPS)


def _at_commit(source: Mapping[str, Any]) -> dict[str, Any]:
    """A source of kind hub with the folder of the user's files, or with its commit."""
    if hub_files.is_placed(hub_files.DATASETS, source):
        folder = hub_files.at_hand(hub_files.DATASETS, source)
        assert folder is not None
        hub_files.check_placed_files(folder)
        _log.info("taken from the folder %s", folder)
        return {**source, "hub": str(folder), "revision": None}
    return {**source, "revision": hub_files.resolved_commit(hub_files.DATASETS, source)}


def write_test_sets(source: Mapping[str, Any], target: str | Path) -> None:
    """Write test sets one after the other, one JSON object with both languages per line; sacrebleu checks its downloads."""
    import sacrebleu
    from sacrebleu.utils import SACREBLEU_DIR, get_md5sum, get_reference_files, get_source_file

    # sacrebleu does not check member paths, so reject archives with members outside the folder.
    tarfile.TarFile.extraction_filter = staticmethod(tarfile.data_filter)
    pair = source["pair"]
    languages = pair.split("-")
    with whole_file(target) as part, part.open("w", encoding="utf-8", newline="\n") as stream:
        for name in source["sacrebleu"]:
            try:
                files = (get_source_file(name, pair), get_reference_files(name, pair)[0])
            except (Exception, SystemExit) as error:  # many errors are possible; sacrebleu exits on a wrong checksum
                dataset = sacrebleu.DATASETS.get(name)
                for url, md5 in zip(dataset.data or (), dataset.md5 or (), strict=False) if dataset else ():
                    archive = Path(SACREBLEU_DIR, name, "raw", f"{name.replace('/', '_')}.{os.path.basename(url)}")
                    if archive.is_file() and md5 not in (None, get_md5sum(archive)):
                        archive.unlink()  # sacrebleu would use it unchecked at the next start
                raise AtlasError(
                    f"test set {name} ({pair}): sacrebleu could not provide it ({type(error).__name__}: "
                    f"{redacted(first_line(error, 200))}). Check its name; without a network copy the folder ~/.sacrebleu (or "
                    "SACREBLEU) of a machine that has one."
                ) from error
            for translated in parallel_records(files[0], languages, files[1]):
                row = dict(zip(languages, (translated.source, translated.target), strict=True))
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
