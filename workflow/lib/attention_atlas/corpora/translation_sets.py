"""Translation test sets by their names in sacrebleu: from its folder, the mirror, or downloaded."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attention_atlas.corpora.parallel import read_parallel
from attention_atlas.errors import AtlasError, first_line
from attention_atlas.io.files import whole_file
from attention_atlas.io.mirror import in_mirror
from attention_atlas.io.redaction import redacted


def write_test_sets(source: Mapping[str, Any], target: str | Path, mirror: str | Path | None = None) -> None:
    """Write test sets one after the other, one JSON object with both languages per line; sacrebleu checks its downloads.

    Args:
        source: names (`sacrebleu`) and languages (`pair`).
        target: file to write.
        mirror: folder that is searched first, below sacrebleu/ in the layout of ~/.sacrebleu.

    Raises:
        AtlasError: sacrebleu does not know a name, cannot download it, or its archive has a wrong checksum.
    """
    from sacrebleu.utils import get_reference_files, get_source_file

    # sacrebleu does not check member paths, so reject archives with members outside the folder.
    tarfile.TarFile.extraction_filter = staticmethod(tarfile.data_filter)
    pair = source["pair"]
    languages = pair.split("-")
    with whole_file(target) as part, part.open("w", encoding="utf-8", newline="\n") as stream:
        for name in source["sacrebleu"]:
            with _refusals(name, pair):
                _take_from_mirror(name, mirror)
                files = (get_source_file(name, pair), get_reference_files(name, pair)[0])
            for translated in read_parallel(files[0], languages, files[1]):
                row = dict(zip(languages, (translated.source, translated.target), strict=True))
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")


@contextlib.contextmanager
def _refusals(name: str, pair: str) -> Iterator[None]:
    try:
        yield
    except AtlasError:
        raise
    except (Exception, SystemExit) as error:  # many errors are possible; sacrebleu exits on a wrong checksum
        _forget_damaged(name)
        reason = redacted(first_line(error, 200))
        raise AtlasError(
            f"test set {name} ({pair}): sacrebleu could not provide it ({type(error).__name__}: {reason}). Check its name; "
            "without a network copy the folder ~/.sacrebleu (or SACREBLEU) of a machine that has one, or put that folder under "
            "data_mirror as sacrebleu."
        ) from error


def _archives(name: str) -> list[tuple[Path, str | None]]:
    """Archives of a test set in sacrebleu's folder, and their MD5 if known; empty for an unknown test set."""
    from sacrebleu import DATASETS
    from sacrebleu.utils import SACREBLEU_DIR

    if name not in DATASETS:
        return []
    dataset = DATASETS[name]
    names = [f"{name.replace('/', '_')}.{os.path.basename(url)}" for url in dataset.data or ()]
    sums: list[str | None] = [None] * len(names)
    if dataset.md5:
        sums[:] = dataset.md5
    return [(Path(SACREBLEU_DIR, name, "raw", file), md5) for file, md5 in zip(names, sums, strict=True)]


def _take_from_mirror(name: str, mirror: str | Path | None) -> None:
    """Copy a test set's archives from the mirror to sacrebleu's folder."""
    from sacrebleu.utils import extract_tarball

    for archive, md5 in _archives(name):
        mirrored = in_mirror({"mirror": f"sacrebleu/{name}/raw/{archive.name}"}, mirror)
        if archive.is_file() or mirrored is None or not mirrored.is_file():
            continue
        if md5 is not None and _md5(mirrored) != md5:
            raise AtlasError(f"{mirrored}: wrong checksum: sacrebleu expects md5 {md5}. The file is damaged; fetch it again.")
        with whole_file(archive) as part:
            shutil.copyfile(mirrored, part)
        extract_tarball(str(archive), str(archive.parent))


def _forget_damaged(name: str) -> None:
    """Remove archives with a wrong checksum, which sacrebleu would use unchecked at the next start."""
    for archive, md5 in _archives(name):
        if md5 is not None and archive.is_file() and _md5(archive) != md5:
            archive.unlink()


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
