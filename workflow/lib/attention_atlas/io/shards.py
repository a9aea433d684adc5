"""Shards: one safetensors file with an array a record and a JSON description beside it, which holds its checksum.

The caches of attention and of hidden states are made of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash
from safetensors import SafetensorError
from safetensors.numpy import save_file

from attention_atlas.errors import DamagedFile
from attention_atlas.io.files import whole_file, write_text

FORMAT = 1


def tensor_name(record: int) -> str:
    """Name of a record's array."""
    return f"{record:08d}"


def write_shard(
    path: str | Path, description: str | Path, arrays: Mapping[int, npt.NDArray[np.float16]], facts: Mapping[str, Any]
) -> None:
    """Write one shard and its description; each is whole or not there, and the description comes last.

    Args:
        path: the safetensors file.
        description: the JSON file.
        arrays: record -> float16, such as maps [layer, head, n, n].
        facts: what they are; must hold `examples`, a list with record, id, tokens, word and words of each.

    Raises:
        AtlasError: the disk is full.
    """
    # safetensors cannot hold a file without tensors; a shard behind the end of a corpus has none.
    tensors = {tensor_name(record): array for record, array in arrays.items()} or {"empty": np.zeros(0, np.float16)}
    with whole_file(path) as part:
        _save(tensors, part)
        checksum = _checksum(part)
    write_text(description, json.dumps({"format": FORMAT, **facts, "xxh3_128": checksum}, ensure_ascii=False) + "\n")


def _save(tensors: dict[str, npt.NDArray[np.float16]], path: Path) -> None:
    try:
        save_file(tensors, path)
    except SafetensorError as error:
        # The library hides the operating system's error in its text; a full disk has to be known as one.
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), str(error)) from error


def read_description(path: str | Path) -> dict[str, Any]:
    """The description beside a shard.

    Raises:
        AtlasError: it is missing, damaged, or of another format.
    """
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
    """Compare a shard with the checksum in its description.

    Raises:
        AtlasError: they differ, or the file is not there.
    """
    if not Path(path).is_file():
        raise damaged(path, "the file is not there")
    if _checksum(path) != facts["xxh3_128"]:
        raise damaged(path, "the checksum is wrong")


def _checksum(path: str | Path) -> str:
    digest = xxhash.xxh3_128()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def damaged(path: str | Path, what: str) -> DamagedFile:
    """The error of a shard that cannot be used."""
    return DamagedFile(path, f"this shard cannot be used ({what})")
