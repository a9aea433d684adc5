"""Words of documents with the attention that they receive from every head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import CachedExample, read_attention
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.corpora.keyphrases import OUTSIDE
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_parquet, write_parquet
from attention_atlas.studies.stefanik2021.names import FEATURE_KEYS, feature
from attention_atlas.studies.stefanik2021.received import REDUCTIONS, received_attention

Floats = npt.NDArray[np.float64]


def write_words(
    shards: Sequence[str | Path], example_files: Sequence[str | Path], limit: int, diagonal: bool, out: str | Path
) -> None:
    """Write one row for each word: `FEATURE_KEYS`, then the attention received from each head by each reduction.

    Args:
        shards, example_files: attention and examples of a corpus with keyphrases.
        limit: largest number of records to use.
        diagonal: whether a word's attention to itself counts.
        out: Parquet file.

    Raises:
        AtlasError: a file cannot be used, or there is no document with tags.
    """
    frames = list(_frames(read_attention(list(shards), limit), read_examples(example_files, limit), diagonal))
    if not frames:
        raise AtlasError("there is no document with attention: raise the limit of the corpus, or its max_tokens.")
    write_parquet(pd.concat(frames, ignore_index=True), out)


def _frames(maps: Iterable[CachedExample], examples: Iterable[Example], diagonal: bool) -> Iterable[pd.DataFrame]:
    for cached, example in zip(maps, examples, strict=True):
        if cached.record != example.record or "tags" not in example.layers:
            raise AtlasError(f"example {example.id}: attention and tags do not belong together: use a corpus with keyphrases.")
        key = [tag != OUTSIDE for tag in example.layers["tags"]]
        columns = {
            "record": example.record,
            "document": example.id,
            "place": np.arange(len(key)),
            "word": example.words,
            "key": key,
        }
        word_maps = cached.word_maps()
        for reduction in REDUCTIONS:
            received = received_attention(word_maps, cached.special_units, reduction, diagonal)
            columns |= {
                feature(layer + 1, head + 1, reduction): received[layer, head].astype(np.float32)
                for layer, head in np.ndindex(received.shape[:2])
            }
        yield pd.DataFrame(columns)


def read_words(path: str | Path, layers: int, heads: int, reduction: str) -> tuple[pd.DataFrame, Floats]:
    """The `FEATURE_KEYS` of all words, and [word, layer, head] attention that they receive, by a reduction.

    Raises:
        AtlasError: the table cannot be used.
    """
    names = [feature(layer + 1, head + 1, reduction) for layer, head in np.ndindex(layers, heads)]
    table = read_parquet(path, [*FEATURE_KEYS, *names])
    return table[FEATURE_KEYS], table[names].to_numpy(np.float64).reshape(-1, layers, heads)
