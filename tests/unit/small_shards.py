"""Small attention caches, with random maps or with those of a treebank, for tests of what reads them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attention_atlas.corpora.examples import Example, write_examples
from attention_atlas.io.shards import new_shard
from attention_atlas.models.card import ModelCard, write_card


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


def write_treebank(folder: Path, level: str = "tokens", sentences: int = 12, words: int = 5) -> None:
    """Sentences "w w w ..." in which head 2-1 attends from every word to its head and head 1-1 to the next word."""
    examples, arrays, facts = [], {}, []
    for record in range(sentences):
        tokens = ("[CLS]", *(f"w{i}" for i in range(words)), "[SEP]")
        word = (-1, *range(words), -1)
        heads = tuple(0 if i == 2 else (record + i) % words + 1 for i in range(words))
        heads = tuple(h if h != i + 1 else (i + 1) % words + 1 for i, h in enumerate(heads))
        layers = {"heads": heads, "relations": tuple("root" if h == 0 else "det" for h in heads)}
        examples.append(Example(record, f"s{record}", (0,) * 7, (0,) * 7, tokens, word, tokens[1:-1], layers))
        maps = np.full((2, 2, words + 2, words + 2), 0.05)
        for i in range(words):
            maps[0, 0, i + 1, min(i + 2, words + 1)] = 0.7
            maps[1, 0, i + 1, heads[i] if heads[i] else words + 1] = 0.7
        arrays[record] = maps.astype(np.float16)
        facts.append({"record": record, "id": f"s{record}", "tokens": tokens, "word": word, "words": tokens[1:-1]})
    write_examples(folder / "0.parquet", examples)
    write_shard(folder / "0.safetensors", folder / "0.json", arrays, {"level": level, "examples": facts})
    write_card(ModelCard("m", "", "bert", 2, 2, 64, "[CLS]", "[SEP]", 0, "", "random", 0, "float32"), folder / "card.json")
