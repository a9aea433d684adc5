"""Records of corpora: their readers by name, their order, samples of them, and those that are dropped.

Records are numbered in a seeded random order of the whole file (or of the corpus's part of it), or in file order. A sample of
size N is the first N records of that order, so a larger sample contains the smaller ones.
"""

from __future__ import annotations

import importlib
import inspect
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import DAMAGED, is_tar_archive, raw_lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Record = TypeVar("_Record")
_Entry = Mapping[str, Any]
RECORD = "record"  # the unit in which examples and dropped records are counted
READERS = {
    "segments": "text",
    "conllu": "stanford",
    "conll2012": "windows",
    "gap": "marked_text",
    "squad": "questions",
    "glue": "glue",
    "frames": "marked_text",
    "parallel": "text",
    "edges": "edges",
    "keyphrases": "keyphrases",
    "sentences": "text",
    "released_maps": "released_maps",
}
"""Reader -> its module in this package, imported by its name, so that examples of a corpus depend on no other reader's code.

It has two functions: `{reader}_records` reads a file, with the keys of the corpus's entry that are called like its parameters;
`{reader}_examples` makes model inputs of the records."""
# What a document or question is cut into has at least one word: readers whose records depend on the tokenizer.
_WORDS: dict[str, Callable[[Any], int]] = {
    "segments": lambda document: sum(len(sentence.split()) for sentence in document.sentences),
    "conll2012": lambda document: len(document.words),
    "squad": lambda question: len(getattr(question, "context", " ")),
}


@dataclass(frozen=True)
class Dropped:
    """A dropped record and the reason, or text that yielded no record."""

    id: str  # its name, or where the text starts
    reason: str  # reason, detail: reason and details
    detail: str = ""
    unit: str = RECORD  # unit, n: what was dropped: one record, or a number of sentences or pairs of paragraphs
    n: int = 1
    record: int = 0  # number of the record; for text without a record, number of the next one


def required_text(entry: Any, key: str, where: str) -> str:
    """A text in an entry of a JSON file; an entry without it is an error that names its place."""
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise AtlasError(f"{where}: '{key}' is missing or empty.")
    return value


MOST_BYTES = 1 << 28
"""Size of the largest file that is read from an archive: texts are smaller, and it is held in memory."""


def packed_files(path: Path, choose: Callable[[Sequence[str]], Iterable[str]]) -> Iterator[tuple[str, bytes]]:
    """Name and content of the chosen files of a folder or an archive (zip, tar), one at a time.

    Nothing is unpacked to disk, so paths in an archive cannot do harm.
    """

    def small(name: str, size: int) -> str:
        if size > MOST_BYTES:
            raise AtlasError(f"{path}: {name} has {size:,} bytes; at most {MOST_BYTES:,} are read. Split the file.")
        return name

    try:
        if path.is_dir():
            names = [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]
            yield from ((name, (path / name).read_bytes()) for name in choose(names))
        elif is_tar_archive(path):
            with tarfile.open(path) as packed:
                members = {member.name: packed.extractfile(member) for member in packed if member.isfile()}
                sizes = {member.name: member.size for member in packed.getmembers()}
                chosen = (small(name, sizes[name]) for name in choose([*members]))
                yield from ((name, member.read()) for name in chosen if (member := members[name]))
        else:
            with zipfile.ZipFile(path) as archive:
                chosen = (small(name, archive.getinfo(name).file_size) for name in choose(archive.namelist()))
                yield from ((name, archive.read(name)) for name in chosen)
    # The library raises the third for unknown compression methods, the fourth for encrypted members.
    except (zipfile.BadZipFile, tarfile.TarError, NotImplementedError, RuntimeError, *DAMAGED) as error:
        raise AtlasError(f"{path}: the archive is damaged ({error}); fetch it again.") from error


def reader_module(reader: str) -> str:
    """Import name of the module of a reader."""
    return f"attention_atlas.corpora.{READERS[reader]}"


def reader_function(reader: str, kind: str) -> Any:
    """One of the two functions of a reader: records or examples."""
    return getattr(importlib.import_module(reader_module(reader)), f"{reader}_{kind}")


def raw_records(entry: _Entry, raw: str | Path, companion: str | Path | None = None) -> Iterable[Any]:
    """What the reader of a corpus yields, in the order of the file; for trees and edges, functions that build a record."""
    if entry["reader"] in ("lines", "vectors"):
        return raw_lines(raw)
    read: Callable[..., Iterable[Any]] = reader_function(entry["reader"], "records")
    options = {**entry, "companion": companion}
    return read(raw, **{name: options[name] for name in inspect.signature(read).parameters if name in options})


def most_records(entry: _Entry, raw: str | Path, companion: str | Path | None, limit: int) -> int:
    """Number of records of a file, counted up to `limit`; arguments and errors as for `raw_records`.

    It is an upper bound for segments, and for further windows of documents and passages, which depend on the tokenizer.
    """
    is_cut = entry["reader"] == "segments" or entry.get("windows") == "all"
    size = _WORDS[entry["reader"]] if is_cut else lambda record: 1
    total = 0
    for record in raw_records(entry, raw, companion):
        total += size(record)
        if total >= limit:
            return limit
    return total


def record_order(size: int, order: str, seed: int) -> NDArray[np.int64]:
    """Position in the file of record 0, 1, ... of a corpus with `size` records."""
    import numpy as np

    positions = np.arange(size, dtype=np.int64)
    return positions if order == "file" else np.random.default_rng(seed).permutation(positions)


def in_record_order(items: Sequence[_Record], order: str, seed: int) -> Iterator[_Record]:
    """All items of a file in the order of their records, see `record_order`."""
    return (items[position] for position in record_order(len(items), order, seed).tolist())


def sampled(
    read: Callable[[], Iterable[_Record]], order: str, seed: int, start: int, stop: int
) -> Iterator[tuple[int, _Record]]:
    """Records start .. stop - 1 of a corpus, each with its position in the file; there may be fewer.

    In random order, `read` is called twice, so that only the requested records are in memory.
    """
    if order == "file":
        yield from islice(enumerate(read()), start, stop)
        return
    size = sum(1 for _ in read())
    positions = record_order(size, order, seed)[start:stop].tolist()
    wanted = frozenset(positions)
    last = max(positions, default=-1)
    records = {position: record for position, record in enumerate(islice(read(), last + 1)) if position in wanted}
    yield from ((position, records[position]) for position in positions)
