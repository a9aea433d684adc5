"""A small treebank with cached attention, for tests of what reads both."""

from pathlib import Path

import numpy as np
from small_shards import write_shard

from attention_atlas.corpora.examples import Example, write_examples
from attention_atlas.models.card import ModelCard, write_card


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
