"""Shards: a safetensors file with one array per record, and a JSON description beside it with the checksum of both.

The caches of attention and of hidden states consist of shards.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import xxhash

from attention_atlas.errors import DamagedFile
from attention_atlas.io.files import whole_file, write_text

FORMAT = 2
_HALF = np.dtype("<f2")
_DESCRIBED = ("record", "id", "document", "tokens", "word", "words")  # facts about each example in a description


def tensor_name(record: int) -> str:
    return f"{record:08d}"


class ShardWriter:
    """Writes the arrays of one shard, in any order, each at its position in the file; see `new_shard`."""

    def __init__(self, stream: BinaryIO, shapes: Mapping[int, tuple[int, ...]]) -> None:
        self._stream = stream
        # safetensors does not allow files without tensors; a shard after the end of a corpus has none.
        header, self._starts = _header({tensor_name(record): shape for record, shape in shapes.items()} or {"empty": (0,)})
        self.missing = dict(shapes)
        stream.write(header)

    def write(self, record: int, array: npt.NDArray[np.float16]) -> None:
        """Write the array of a record; its memory can then be reused."""
        shape = self.missing.pop(record, None)
        if array.shape != shape or array.dtype != np.float16:
            raise ValueError(f"record {record}: expected float16 {shape}, got {array.dtype} {array.shape}")
        self._stream.seek(self._starts[tensor_name(record)])
        self._stream.write(np.ascontiguousarray(array, _HALF).data)


def cache_facts(card: Mapping[str, Any], corpus: str, level: str, examples: Iterable[Any]) -> dict[str, Any]:
    """The description of a shard of attention maps, see `new_shard`; card: facts of a model card."""
    return {
        "model": {name: card[name] for name in ("name", "origin", "weights_sha256", "init")},
        **{"corpus": corpus, "level": level, "layers": card["layers"], "heads": card["heads"]},
        "examples": [{name: getattr(e, name) for name in _DESCRIBED} for e in examples],
    }


@contextlib.contextmanager
def new_shard(
    path: str | Path, description: str | Path, shapes: Mapping[int, tuple[int, ...]], facts: Mapping[str, Any]
) -> Iterator[ShardWriter]:
    """Write one shard and its description atomically, the description last.

    The file equals that of `safetensors.numpy.save_file`, byte for byte, but only one array is in memory at a time.

    `shapes`: record -> shape of its float16 array; each must be written within the block; `facts`: description of the arrays;
    must contain `examples`, a list with record, id, tokens, word and words of each.
    """
    with whole_file(path) as part:
        with part.open("wb") as stream:
            writer = ShardWriter(stream, shapes)
            yield writer
            if writer.missing:
                raise ValueError(f"no array was written for records {sorted(writer.missing)}")
        # Arrays arrive in any order, but a checksum needs file order; the file is still in the page cache.
        described = {"format": FORMAT, **facts}
        described |= {"xxh3_128": _checksum(part, described)}
    write_text(description, json.dumps(described, ensure_ascii=False) + "\n")


def _header(shapes: Mapping[str, tuple[int, ...]]) -> tuple[bytes, dict[str, int]]:
    """The header of a safetensors file with float16 arrays of these names, and the byte at which each array starts."""
    entries, starts, end = {}, {}, 0
    for name in sorted(shapes):
        start, end = end, end + _HALF.itemsize * math.prod(shapes[name])
        entries[name] = {"dtype": "F16", "shape": shapes[name], "data_offsets": (start, end)}
        starts[name] = start
    text = json.dumps(entries, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    header = len(text).to_bytes(8, "little") + text
    return header, {name: len(header) + start for name, start in starts.items()}


def read_description(path: str | Path) -> dict[str, Any]:
    """The description beside a shard."""
    description = Path(path).with_suffix(".json")
    try:
        facts = json.loads(description.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise damaged(path, f"its description {description.name} cannot be read: {error}") from error
    shard_format = facts.get("format") if isinstance(facts, dict) else None
    if shard_format != FORMAT:
        raise damaged(path, f"format {shard_format} instead of {FORMAT}")
    return facts


def check_shard(path: str | Path, facts: Mapping[str, Any]) -> None:
    """Compare a shard and its description with their checksum."""
    if not Path(path).is_file():
        raise damaged(path, "the file does not exist")
    if _checksum(path, facts) != facts.get("xxh3_128"):
        raise damaged(path, "the checksum is wrong")


def _checksum(path: str | Path, facts: Mapping[str, Any]) -> str:
    """XXH3 of the description without the checksum, then the arrays."""
    described = json.dumps({name: fact for name, fact in facts.items() if name != "xxh3_128"}).encode()
    with open(path, "rb", buffering=0) as stream:
        return hashlib.file_digest(stream, lambda: xxhash.xxh3_128(described)).hexdigest()


def damaged(path: str | Path, what: str) -> DamagedFile:
    return DamagedFile(path, f"this shard cannot be used ({what})")
