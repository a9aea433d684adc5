"""Small attention caches with random maps, for tests of what reads them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attention_atlas.io.shards import new_shard


def write_shard(path, description, arrays, facts):
    """Write one shard and its description from arrays in memory, record -> float16; see `new_shard`."""
    with new_shard(path, description, {record: array.shape for record, array in arrays.items()}, facts) as shard:
        for record, array in arrays.items():
            shard.write(record, array)


def write_example_shards(
    folder: Path, sizes: Sequence[int], layers: int, heads: int, seed: int = 0, documents: Sequence[str | None] | None = None
) -> tuple[list[Path], list[np.ndarray]]:
    """Write a shard of two examples at a time, with [CLS] first and [SEP] last; paths and the maps as they are read back."""
    generator = np.random.default_rng(seed)
    maps = {}
    for record, n in enumerate(sizes):
        raw = generator.random((layers, heads, n, n)) ** 3
        maps[record] = (raw / raw.sum(axis=-1, keepdims=True)).astype(np.float16)
    paths = []
    for shard, start in enumerate(range(0, len(sizes), 2)):
        shard_records = list(range(start, min(start + 2, len(sizes))))
        examples = [
            {
                "record": record,
                "id": f"e{record}",
                "document": documents[record] if documents else None,
                "tokens": ["[CLS]", *(f"w{k}" for k in range(sizes[record] - 2)), "[SEP]"],
                "word": [-1, *range(sizes[record] - 2), -1],
                "words": [f"w{k}" for k in range(sizes[record] - 2)],
            }
            for record in shard_records
        ]
        path = folder / f"{shard}.safetensors"
        facts = {"level": "tokens", "layers": layers, "heads": heads, "examples": examples}
        write_shard(path, path.with_suffix(".json"), {record: maps[record] for record in shard_records}, facts)
        paths.append(path)
    return paths, [maps[record] for record in range(len(sizes))]
