"""What measures of heads have to do with each other, beyond what the depth of a layer explains.

Heads of one layer resemble each other, so that two measures that both grow with depth correlate whatever heads do. Beside the
rank correlation over all heads stands that of the ranks less their means by layer, and a permutation test in which heads change
places within their layer alone.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata
from statsmodels.stats.multitest import multipletests

from attention_atlas.atlas.measures import numeric
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.stats.bootstrap import percentile_interval

Floats = npt.NDArray[np.float64]
CORRELATIONS = ["one", "other", "spearman", "ci_low", "ci_high", "within_layers", "p", "p_holm", "n"]
LEAST = 8
"""Heads with both measures at the least."""


def spearman(one: Floats, other: Floats) -> Floats:
    """[...] rank correlation over the last axis; NaN where one does not vary."""
    return _pearson(rankdata(one, axis=-1), rankdata(other, axis=-1))


def _pearson(one: Floats, other: Floats) -> Floats:
    one = one - one.mean(axis=-1, keepdims=True)
    other = other - other.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (one * other).sum(axis=-1) / np.sqrt((one**2).sum(axis=-1) * (other**2).sum(axis=-1))


def centred_ranks(values: Floats, layer: npt.NDArray[np.intp]) -> Floats:
    """[head] ranks less the mean rank of their layer."""
    ranks = rankdata(values)
    sums, counts = np.bincount(layer, weights=ranks), np.bincount(layer)
    return ranks - (sums / np.maximum(counts, 1))[layer]


def shuffles_within(layer: npt.NDArray[np.intp], draws: int, seed: int) -> npt.NDArray[np.intp]:
    """[draw, head] places of heads that change places within their layer."""
    return _shuffles(tuple(map(int, layer)), draws, seed)


# Most pairs of measures have the same heads: their shuffles, and the ranks of each measure's resamples, are made once.
@functools.lru_cache(maxsize=8)
def _shuffles(layer: tuple[int, ...], draws: int, seed: int) -> npt.NDArray[np.intp]:
    chance = np.random.default_rng(seed).random((draws, len(layer)))
    found = np.empty(chance.shape, dtype=np.intp)
    # Sorted by layer first, then by chance: a shuffle of each layer by itself.
    found[:, np.argsort(layer, kind="stable")] = np.argsort(np.asarray(layer) + chance, axis=1)
    return found


@functools.lru_cache(maxsize=64)
def _drawn_ranks(values: tuple[float, ...], draws: Draws) -> Floats:
    """[resample, head] ranks of heads drawn anew."""
    return rankdata(np.asarray(values)[drawn_heads(len(values), draws)], axis=-1)


@dataclass(frozen=True)
class Draws:
    """How often heads are drawn anew (intervals) and shuffled within their layers (p), and the seed of both.

    With few shuffles no p is small enough to be one of many: p is never below 1 / (shuffles + 1).
    """

    resamples: int
    shuffles: int
    seed: int


def drawn_heads(heads: int, draws: Draws) -> npt.NDArray[np.intp]:
    """[resample, head] places of as many heads, drawn anew with replacement."""
    return np.random.default_rng(draws.seed).integers(heads, size=(draws.resamples, heads))


def correlation(one: Floats, other: Floats, layer: npt.NDArray[np.intp], draws: Draws) -> list[float]:
    """[spearman, ci_low, ci_high, within_layers, p] of two measures of the same heads.

    ci: by bootstrap over heads. within_layers: correlation of ranks less their means by layer. p: share of shuffles within
    layers whose correlation within layers is as far from 0 or farther, two-sided; NaN where nothing varies within layers.
    """
    ranks = [_drawn_ranks(tuple(values.tolist()), draws) for values in (one, other)]
    low, high = percentile_interval(_pearson(*ranks))
    first, second = centred_ranks(one, layer), centred_ranks(other, layer)
    within = float(_pearson(first, second))
    # Heads that change places change neither the means (0) nor the spread.
    with np.errstate(invalid="ignore", divide="ignore"):
        changed = (
            first[shuffles_within(layer, draws.shuffles, draws.seed)] @ second / np.sqrt((first**2).sum() * (second**2).sum())
        )
    beyond = int((np.abs(changed) >= abs(within) - 1e-12).sum())
    p = (beyond + 1) / (draws.shuffles + 1) if np.isfinite(within) else np.nan
    return [float(spearman(one, other)), float(low), float(high), within, p]


def correlation_rows(table: pd.DataFrame, names: Sequence[str], draws: Draws) -> pd.DataFrame:
    """A row a pair of measures, columns `CORRELATIONS`; pairs with too few heads, or one that does not vary, are left out."""
    rows = []
    for one, other in combinations(names, 2):
        kept = table.dropna(subset=[one, other])
        if len(kept) < LEAST or kept[one].nunique() < 2 or kept[other].nunique() < 2:
            continue
        values = kept[one].to_numpy(np.float64), kept[other].to_numpy(np.float64)
        rows.append([one, other, *correlation(*values, kept["layer"].to_numpy(np.intp), draws), len(kept)])
    found = pd.DataFrame(rows, columns=[name for name in CORRELATIONS if name != "p_holm"])
    tested = found["p"].notna()
    holm = pd.Series(np.nan, index=found.index)
    if tested.any():
        holm[tested] = multipletests(found.loc[tested, "p"], method="holm")[1]
    return found.assign(p_holm=holm)[CORRELATIONS]


def write_correlations(heads: str | Path, draws: Draws, out: str | Path) -> None:
    """Write a row a pair of the measures by number of heads.tsv.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(heads, ["layer", "head"])
    write_table(correlation_rows(table, numeric(table), draws), out)
