"""The measurement of the example study: attention weight from each token to itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attention_atlas.attention.cache import read_attention
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table
from attention_atlas.methods.head_tables import mean_rows


def measure_self_attention(shards: Sequence[str | Path], limit: int, resamples: int, seed: int, out: str | Path) -> None:
    """Write the mean attention weight from a token to itself: layer, head, value, ci_low, ci_high, n.

    Args:
        shards: attention shards of the texts, in order.
        limit: use at most this many records of the corpus.
        resamples, seed: of the bootstrap over texts.
        out: table to write.

    Raises:
        AtlasError: a shard cannot be used, or there is no text.
    """
    # [layer, head] for each text: the mean over the diagonal of its maps.
    values = [
        np.diagonal(example.maps, axis1=-2, axis2=-1).mean(axis=-1, dtype=np.float64)
        for example in read_attention(shards, limit)
    ]
    if not values:
        raise AtlasError("there is no text to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    write_table(mean_rows(np.stack(values), resamples, seed), out)
