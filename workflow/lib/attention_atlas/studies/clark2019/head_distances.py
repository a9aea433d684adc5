"""Dissimilarity of heads: Jensen-Shannon divergence between all pairs, averaged over the tokens of all segments (section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import cached_documents, read_attention
from attention_atlas.attention.divergence import head_divergence
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.units import independent_units
from attention_atlas.models.devices import pick_device

COLUMNS = ["layer_a", "head_a", "layer_b", "head_b", "js"]
Floats = npt.NDArray[np.float64]


def measure_head_distances(
    shards: Sequence[str | Path],
    limit: int,
    smoothing: float,
    blocks: int,
    threads: int,
    out: str | Path,
    blocks_out: str | Path,
) -> None:
    """Measure all pairs of heads on all segments and write the tables.

    Args:
        shards: attention shards of the segments, in order.
        limit: use at most this many records of the corpus.
        smoothing: share of the uniform distribution mixed into every row.
        blocks: number of groups with separate sums, for the bootstrap; documents (segments where the corpus names no documents)
            are assigned in turn, so that no document is in two groups.
        threads: threads of the computation.
        out: layer_a, head_a, layer_b, head_b, js: every unordered pair once, a before b; js in nats, mean over all tokens.
        blocks_out: block, layer_distance, pairs, tokens, js: mean divergence of pairs at each distance of layers; unit: what a
            block is (documents, segments, or groups of them).

    Raises:
        AtlasError: a shard cannot be used, or there is no segment.
    """
    sums: Floats | None = None
    tokens = np.zeros(blocks)
    shape = (0, 0)
    units = independent_units(cached_documents(shards, limit), "segments")
    gpu = "cuda" if pick_device() == "cuda" else None
    for number, example in enumerate(progress(read_attention(shards, limit), total=limit, label="segments")):
        layers, heads, n = example.maps.shape[:3]
        divergence = head_divergence(example.maps.reshape(layers * heads, n, n), smoothing, threads, gpu)
        if sums is None:
            shape = (layers, heads)
            sums = np.zeros((blocks, layers * heads, layers * heads))
        block = units.of_item[number] % blocks
        sums[block] += divergence
        tokens[block] += n
    if sums is None:
        raise AtlasError(
            "there is no segment to compare heads on: every record was dropped (see dropped.tsv), or `limit` is too small."
        )
    filled = tokens > 0
    write_table(pairs_frame(sums.sum(axis=0) / tokens.sum(), shape[1]), out)
    unit = units.name if units.count <= blocks else f"groups of {units.name}"
    write_table(_blocks_frame(sums[filled], tokens[filled], shape[1]).assign(unit=unit), blocks_out)


def pairs_frame(distances: Floats, heads: int) -> pd.DataFrame:
    """[head, head] over all heads of all layers as a frame of the pairs above the diagonal, columns `COLUMNS`."""
    a, b = np.triu_indices(len(distances), 1)
    columns = (a // heads + 1, a % heads + 1, b // heads + 1, b % heads + 1, distances[a, b])
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def read_distances(path: str | Path) -> tuple[Floats, pd.DataFrame]:
    """Read head_distances.tsv back as a square matrix.

    Returns:
        [head, head], symmetric with a zero diagonal, in nats; and the heads of its rows: layer, head (1-indexed).

    Raises:
        AtlasError: the table cannot be read, or lacks pairs.
    """
    table = read_table(path, COLUMNS)
    heads_of_pairs = [table[[f"layer_{side}", f"head_{side}"]].set_axis(["layer", "head"], axis=1) for side in "ab"]
    names = pd.concat(heads_of_pairs).drop_duplicates().sort_values(["layer", "head"], ignore_index=True)
    size = len(names)
    if len(table) != size * (size - 1) // 2:
        raise AtlasError(f"{path}: {len(table)} pairs of {size} heads; delete the file and run again.")
    index = {head: k for k, head in enumerate(names.itertuples(index=False, name=None))}
    rows, columns = ([index[head] for head in heads.itertuples(index=False, name=None)] for heads in heads_of_pairs)
    matrix = np.zeros((size, size))
    matrix[rows, columns] = matrix[columns, rows] = table["js"]
    return matrix, names


def _blocks_frame(sums: Floats, tokens: Floats, heads: int) -> pd.DataFrame:
    """Mean divergence of the pairs at each distance of layers, for each block of segments."""
    a, b = np.triu_indices(sums.shape[1], 1)
    layer_distances = np.abs(a // heads - b // heads)
    rows = [
        {
            "block": block + 1,
            "layer_distance": distance,
            "pairs": int((layer_distances == distance).sum()),
            "tokens": int(tokens[block]),
            "js": float(sums[block, a[layer_distances == distance], b[layer_distances == distance]].mean() / tokens[block]),
        }
        for block in range(len(sums))
        for distance in np.unique(layer_distances)
    ]
    return pd.DataFrame(rows)
