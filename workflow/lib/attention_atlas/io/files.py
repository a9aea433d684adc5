"""Data files of the library; atomic writing (under a temporary name, then renamed), reading of text and JSON, checksums."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import hashlib
import json
import logging
import lzma
import os
import re
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from attention_atlas.errors import AtlasError

_PACKAGE, _CHECKOUT = Path(__file__).resolve().parents[1], "workflow/resources"


def data_folder(name: str) -> Path:
    """The folder `resources` or `schemas`: beside `lib` in a checkout, inside the package in a wheel (see setup.py)."""
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parents[1] / name


RESOURCES, SCHEMAS = data_folder("resources"), data_folder("schemas")
"""Published values, annotated maps and parts of pages; schemas of the configuration and of the settings of each study."""
ASSETS = ("tables/table.css", "tables/short.js", "tables/long.js")  # parts of the pages of tables, below the resources


def with_data_file(path: Path) -> Path:
    """A path of the configuration; a path below workflow/resources is resolved to the library's file from any directory."""
    return RESOURCES / path.relative_to(_CHECKOUT) if path.is_relative_to(_CHECKOUT) else path


_log = logging.getLogger(__name__)
# Errors of decompressing damaged data; bzip2 raises an OSError without errno.
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)
SCRATCH = "ATLAS_SCRATCH"  # environment variable: where jobs put what they need while they run; by default beside their outputs
_PART = ".part"  # ending of temporary names
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_PACKED: dict[bytes, Callable[..., IO[bytes]]] = {
    b"\x1f\x8b": gzip.open,  # type: ignore[dict-item]  # in typeshed a GzipFile is no IO[bytes]
    b"\xfd7zXZ\x00": lzma.open,
    b"BZh": bz2.open,
}


def without_mac_files(path: Path, names: Iterable[str]) -> list[str]:
    """Names of files without the attribute files that macOS adds to an archive (__MACOSX/, ._NAME); their number is logged."""
    names = list(names)
    kept = [name for name in names if not re.search(r"(^|/)(__MACOSX/|\._[^/]*$)", name)]
    if len(kept) < len(names):
        _log.info("%s: %d attribute files of macOS (._*) are ignored", path, len(names) - len(kept))
    return kept


def is_tar_archive(path: Path) -> bool:
    """Whether a file is a tar archive, compressed or not; False for a damaged one, whose fault is reported when it is read."""
    try:
        return tarfile.is_tarfile(path)
    except DAMAGED:
        return False


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name beside `path`; rename it to `path` if the block succeeds, otherwise remove it.

    The data is flushed to disk before the rename, so a file with its final name is always complete. The next attempt overwrites
    what a killed process left: at any time, one job writes a file.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}{_PART}")
    try:
        part.write_bytes(b"")
        mode = part.stat().st_mode
        yield part
        # Some libraries write another file in its place, which only its owner can read.
        part.chmod(mode)
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(part, target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise AtlasError(
                f"{target}: no space left to write this file; nothing was left behind. "
                "Free some space (or move results/ to a larger disk) and start again: finished files are kept."
            ) from error
        raise
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_files(folder: str | Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a temporary folder in `folder`; if the block succeeds, move the named files out of it, in order.

    A lock beside the folder keeps out the job of the next start while a job lives on whose Snakemake was killed.
    """
    from filelock import FileLock, Timeout

    scratch = Path(folder, f".files{_PART}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    lock = FileLock(Path(folder).with_name(f".{Path(folder).name}.lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise AtlasError(
            f"{folder}: another process still works in this folder, such as a job of a Snakemake that was killed: end it, or "
            "wait for it, and start again."
        ) from error
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        yield scratch
        for name in names:
            # As for a new file: some libraries write files that only their owner can read.
            Path(scratch, name).chmod(scratch.stat().st_mode & 0o666)
            os.replace(scratch / name, Path(folder, name))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        lock.release()


@contextlib.contextmanager
def scratch_folder(path: str | Path) -> Iterator[Path]:
    """Yield an empty folder for what a job needs while it runs; it is removed at the end, as is what a killed job left there.

    It is `path`, or a folder of that name below the one in the environment variable `SCRATCH`, such as a disk of the node.
    """
    folder = Path(path)
    if scratch := os.environ.get(SCRATCH):
        folder = Path(scratch, folder.as_posix().replace("/", "-").strip("-"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        size = sum(file.stat().st_size for file in folder.iterdir())
        _log.info("%s held %.3g GB until the end of this job", folder, size / 1e9)
        shutil.rmtree(folder, ignore_errors=True)


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends, atomically."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def sha256(path: str | Path) -> str:
    """SHA-256 of a file as 64 hex digits."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def open_binary(path: str | Path) -> IO[bytes]:
    """Open a file for reading bytes; gzip, xz and bzip2 are recognised by their first bytes and decompressed."""
    path = Path(path)
    if path.is_dir():
        raise AtlasError(f"{path}: this is a directory, but a file is needed here.")
    if not path.is_file():
        raise AtlasError(f"{path}: there is no such file. Check the path in the configuration.")
    with path.open("rb") as stream:
        magic = stream.read(6)
    for start, opener in _PACKED.items():
        if magic.startswith(start):
            return opener(path, "rb")
    if magic.startswith(b"PK\x03\x04"):
        raise AtlasError(f"{path}: this is a zip archive; unpack it and name the file in it, or compress that file with gzip.")
    return path.open("rb")


def raw_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line with its end) of a file, compressed or not, one line at a time."""
    number = 0
    with open_binary(path) as stream:
        try:
            for number, line in enumerate(stream, start=1):
                yield number, line
        except DAMAGED as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of the disk, not of the compression
            raise AtlasError(
                f"{path}:{number + 1}: the compressed file is damaged or incomplete here. Fetch it again."
            ) from error


def decoded(raw: bytes, where: str | Path) -> str:
    """A text or line in UTF-8 without its byte-order mark, which joined files have at the start of any line."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AtlasError(
            f"{where}: byte {error.start + 1} ({error.object[error.start]:#04x}) is not UTF-8; convert the file, for example "
            "with iconv -f latin1 -t utf-8."
        ) from error


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a UTF-8 text, compressed or not."""
    return ((number, decoded(raw, f"{path}:{number}").rstrip("\r\n")) for number, raw in raw_lines(path))


def columns_of(line: str) -> list[str]:
    """Cells of a line, separated by tabs, otherwise by spaces; other white space, such as U+00A0, belongs to a cell."""
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def read_json(path: str | Path) -> Any:
    """The content of a JSON file in UTF-8, compressed or not."""
    try:
        with open_binary(path) as stream:
            return _parsed(decoded(stream.read(), path))
    except json.JSONDecodeError as error:
        raise AtlasError(f"{path}:{error.lineno}: invalid JSON ({error.msg}); the file is damaged or cut off.") from error
    # A number with thousands of digits raises a plain ValueError.
    except (RecursionError, ValueError, *DAMAGED) as error:
        raise AtlasError(f"{path}: this file is damaged or incomplete ({error}); fetch it again.") from error


def read_yaml(path: Path) -> Any:
    """The content of a YAML file of this project, read by libyaml if it is installed, which is ten times as fast."""
    import yaml

    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _parsed(text: str) -> Any:
    """JSON; half a surrogate pair, which no UTF-8 text can have, is a ValueError."""
    parsed = json.loads(text)
    if _SURROGATE.search(text):
        json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


def json_object(line: str, where: str, remedy: str = "") -> dict[str, Any]:
    """The JSON object in a line."""
    try:
        parsed = _parsed(line)
    except (ValueError, RecursionError) as error:
        raise AtlasError(f"{where}: not a JSON object ({error}).{remedy}") from error
    if not isinstance(parsed, dict):
        raise AtlasError(f"{where}: expected one JSON object per line.")
    return parsed
