"""Documents with tags, and attention over them by chance, for tests of the keyphrase study."""

from __future__ import annotations

import numpy as np

from attention_atlas.attention.cache import CachedExample
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import Keyphrase
from attention_atlas.models.card import ModelCard

LAYERS, HEADS = 2, 2
CARD = ModelCard("tiny", "here", "bert", LAYERS, HEADS, 64, "[CLS]", "[SEP]", 0, "", "random", 0, "float32")


def cached(record: int, size: int) -> CachedExample:
    """Attention over a document of `size` words."""
    chance = np.random.default_rng(record)
    maps = chance.random((LAYERS, HEADS, size + 2, size + 2)).astype(np.float16)
    word = (-1, *range(size), -1)
    return CachedExample(record, f"d{record}", "tokens", ("t",) * (size + 2), word, ("w",) * size, maps)


def tagged(record: int, size: int) -> Example:
    """The document."""
    tags = tuple("BIO"[(record + k) % 3] for k in range(size))
    word = (-1, *range(size), -1)
    phrases = (Keyphrase("w w", True), Keyphrase("x", False))
    ids = (0,) * (size + 2)
    return Example(record, f"d{record}", ids, ids, ("t",) * (size + 2), word, ("w",) * size, {"tags": tags}, keyphrases=phrases)
