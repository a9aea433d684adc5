"""Attention maps of one example for Figures 1 and 5."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import CachedExample, read_attention
from attention_atlas.attention.half import widened
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.distance_features import FEATURES
from attention_atlas.methods.head_tables import map_rows
from attention_atlas.methods.head_type_names import shown_types

_SHORT, _LONG = 24, 64
"""Smallest and largest number of word pieces of the example. Without such an example the shortest is shown."""
_CELLS = 24
"""Largest number of rows and columns of a map of Figure 5."""
_PER_TYPE = 2


def draw_maps(shards: Sequence[str | Path], types_path: str | Path, limit: int, out: str | Path, grid_out: str | Path) -> None:
    """Write the maps of Figure 1 (the two heads nearest to the mean of each type) and of Figure 5 (all heads, smaller).

    Args:
        shards: the first shard or more of the questions' attention.
        types_path: head_types.tsv.
        limit: use at most this many records.
        out: type, rank, layer, head, example, query, key (from 1), query_token, key_token, weight.
        grid_out: layer, head, type, example, `pieces`, row, column (from 1), weight (mean over a block of cells).

    Raises:
        AtlasError: there is no example.
    """
    types = read_table(types_path, ["layer", "head", "type"])
    example = _example(shards, limit)
    maps = widened(example.maps)
    frames = []
    for row in typical_heads(types).itertuples():
        frames.append(map_rows(example.tokens, maps[row.layer - 1, row.head - 1]).assign(
            type=row.type, rank=row.rank, layer=row.layer, head=row.head, example=example.id
        ))  # fmt: skip
    order = ["type", "rank", "layer", "head", "example", "query", "key", "query_token", "key_token", "weight"]
    write_table(pd.concat(frames, ignore_index=True)[order], out)
    small = shrunk(maps, _CELLS)
    grid = []
    for row in types.itertuples():
        values = small[row.layer - 1, row.head - 1]
        places = np.indices(values.shape) + 1
        grid.append(
            pd.DataFrame({"row": places[0].ravel(), "column": places[1].ravel(), "weight": values.ravel()}).assign(
                layer=row.layer, head=row.head, type=row.type, example=example.id, pieces=len(example.tokens)
            )
        )
    columns = ["layer", "head", "type", "example", "pieces", "row", "column", "weight"]
    write_table(pd.concat(grid, ignore_index=True)[columns], grid_out)


def typical_heads(types: pd.DataFrame) -> pd.DataFrame:
    """The two heads of each type whose features are nearest to the type's mean: type, rank, layer, head."""
    rows = []
    for name in shown_types(types["type"]):
        type_heads = types[types["type"] == name].reset_index(drop=True)
        if type_heads.empty:
            continue
        values = type_heads[list(FEATURES)].to_numpy(float)
        nearest = np.argsort(np.square(values - values.mean(axis=0)).sum(axis=1), kind="stable")[:_PER_TYPE]
        rows += [
            (name, rank, int(type_heads["layer"][k]), int(type_heads["head"][k])) for rank, k in enumerate(nearest, start=1)
        ]
    return pd.DataFrame(rows, columns=["type", "rank", "layer", "head"])


def shrunk(maps: npt.NDArray[np.float32], cells: int) -> npt.NDArray[np.float64]:
    """[..., n, n] as [..., m, m] with m = min(n, cells): means over blocks of rows and columns of similar size."""
    n = maps.shape[-1]
    m = min(n, cells)
    edges = np.linspace(0, n, m + 1).astype(int)[:-1]
    sizes = np.diff([*edges, n])
    sums = np.add.reduceat(np.add.reduceat(maps.astype(np.float64), edges, axis=-2), edges, axis=-1)
    return sums / (sizes[:, None] * sizes[None, :])


def _example(shards: Sequence[str | Path], limit: int) -> CachedExample:
    """The first example of a suitable length, else the shortest."""
    shortest = None
    for example in read_attention(list(shards), limit):
        if _SHORT <= len(example.tokens) <= _LONG:
            return example
        if shortest is None or len(example.tokens) < len(shortest.tokens):
            shortest = example
    if shortest is None:
        raise AtlasError("there is no example to draw: every record of the first shard was dropped.")
    return shortest
