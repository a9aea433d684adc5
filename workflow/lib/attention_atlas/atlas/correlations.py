"""Correlations between measures of heads beyond what the depth of a layer explains.

Heads of one layer resemble each other, so two measures that both grow with depth correlate even if they are unrelated within
layers. The table therefore has the rank correlation over all heads, the correlation of ranks minus their means by layer, and a
permutation test that shuffles heads within their layers.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from attention_atlas.atlas.measures import (
    by_definition,
    chances_of,
    heads,
    numeric,
    takes_few_values,
    unranked,
)
from attention_atlas.stats.intervals import percentile_interval
from attention_atlas.stats.ranks import pearson, spearman
from attention_atlas.stats.simultaneous import corrected_p

Floats = npt.NDArray[np.float64]
CORRELATIONS = ["measure_a", "measure_b", "spearman", "ci_low", "ci_high", "within_layers", "p", "p_holm", "n", "definitional"]
LEVEL = 0.05
"""Level of significance for marks in figure and page."""
LEAST = 8
"""Minimum number of heads with both measures."""
ROUNDING = 1e-12
"""Correlations that differ by less are equal: they differ by rounding."""


@dataclass(frozen=True)
class Draws:
    """Numbers of bootstrap resamples of heads (intervals) and of shuffles within layers (p), and the seed of both.

    p is never below 1 / (shuffles + 1): with few shuffles p_holm stays empty (`simultaneous.corrected_p`).
    """

    resamples: int
    shuffles: int
    seed: int


def centred_ranks(values: Floats, layer: npt.NDArray[np.intp]) -> Floats:
    """[head] ranks minus the mean rank of their layer."""
    ranks = rankdata(values)
    sums, counts = np.bincount(layer, weights=ranks), np.bincount(layer)
    return ranks - (sums / np.maximum(counts, 1))[layer]


def shuffles_within(layer: npt.NDArray[np.intp], draws: int, seed: int) -> npt.NDArray[np.intp]:
    """[draw, head] permuted positions of heads, within their layers."""
    return _shuffles(tuple(map(int, layer)), draws, seed)


# Most pairs of measures have the same heads: compute their shuffles, and the ranks of a measure's resamples, only once.
@functools.lru_cache(maxsize=8)
def _shuffles(layer: tuple[int, ...], draws: int, seed: int) -> npt.NDArray[np.intp]:
    chance = np.random.default_rng(seed).random((draws, len(layer)))
    shuffled = np.empty(chance.shape, dtype=np.intp)
    # Sort by layer, then by a random number: this shuffles each layer separately.
    shuffled[:, np.argsort(layer, kind="stable")] = np.argsort(np.asarray(layer) + chance, axis=1)
    return shuffled


@functools.lru_cache(maxsize=64)
def _drawn_ranks(values: tuple[float, ...], draws: Draws) -> Floats:
    """[resample, head] ranks of bootstrap resamples of heads."""
    return rankdata(np.asarray(values)[drawn_heads(len(values), draws)], axis=-1)


def drawn_heads(heads: int, draws: Draws) -> npt.NDArray[np.intp]:
    """[resample, head] positions of heads in bootstrap resamples."""
    return np.random.default_rng(draws.seed).integers(heads, size=(draws.resamples, heads))


def correlation(first: Floats, second: Floats, layer: npt.NDArray[np.intp], draws: Draws) -> list[float]:
    """[spearman, ci_low, ci_high, within_layers, p] of two measures of the same heads.

    ci: by bootstrap over heads. within_layers: correlation of ranks minus their means by layer. p: two-sided, share of shuffles
    within layers whose correlation within layers is at least as far from 0; NaN if a measure does not vary within layers.
    """
    within, shuffled = within_layers(first, second, layer, draws)
    return [*spearman_interval(first, second, draws), within, shuffle_p(within, shuffled)]


def spearman_interval(first: Floats, second: Floats, draws: Draws) -> tuple[float, float, float]:
    """Rank correlation over all heads, and the ends of its 95 % interval by bootstrap over heads."""
    ranks = [_drawn_ranks(tuple(values.tolist()), draws) for values in (first, second)]
    low, high = percentile_interval(pearson(*ranks))
    return float(spearman(first, second)), float(low), float(high)


def within_layers(first: Floats, second: Floats, layer: npt.NDArray[np.intp], draws: Draws) -> tuple[float, Floats]:
    """Correlation of the ranks of two measures minus their means by layer, and [shuffle] its values after shuffles.

    Shuffles within layers give its exact distribution if the two measures are independent given the layer: heads of one layer
    are then exchangeable. NaN if a measure does not vary within any layer.
    """
    first_ranks, second_ranks = centred_ranks(first, layer), centred_ranks(second, layer)
    # Permutations change neither the means (0) nor the variance.
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt((first_ranks**2).sum() * (second_ranks**2).sum())
        shuffled = first_ranks[shuffles_within(layer, draws.shuffles, draws.seed)] @ second_ranks / spread
    return float(pearson(first_ranks, second_ranks)), shuffled


def shuffle_p(observed: float, shuffled: Floats) -> float:
    """Share of shuffles at least as far from 0 as the observed value, which counts as one of them; NaN if it is NaN."""
    if not np.isfinite(observed):
        return np.nan
    beyond = int((np.abs(shuffled) >= abs(observed) - ROUNDING).sum())
    return (beyond + 1) / (len(shuffled) + 1)


def correlation_rows(
    table: pd.DataFrame, names: Sequence[str], draws: Draws, chances: Mapping[str, float] = MappingProxyType({})
) -> pd.DataFrame:
    """One row per pair of measures, columns `CORRELATIONS`: pairs with enough heads, of measures that can be ranked.

    definitional: whether the two measures correlate by definition; such a pair is not tested. `table`: heads.tsv.
    """
    rows = []
    unusable = unranked(table, names, chances)
    for first, second in combinations([name for name in names if name not in unusable], 2):
        complete = table.dropna(subset=[first, second])
        if len(complete) < LEAST or takes_few_values(complete[first]) or takes_few_values(complete[second]):
            continue
        values = complete[first].to_numpy(np.float64), complete[second].to_numpy(np.float64)
        *statistics, p = correlation(*values, complete["layer"].to_numpy(np.intp), draws)
        definitional = by_definition(first, second)
        rows.append([first, second, *statistics, np.nan if definitional else p, np.nan, len(complete), definitional])
    frame = pd.DataFrame(rows, columns=CORRELATIONS)
    tested = frame["p"].notna()
    frame.loc[tested, "p_holm"] = corrected_p(frame.loc[tested, "p"], "holm", 1 / (1 + draws.shuffles), LEVEL)
    return frame


def heads_and_correlations(
    tables: Mapping[str, pd.DataFrame],
    model: str,
    shape: Sequence[int],
    table_models: Mapping[str, str],
    skip_reasons: Mapping[str, str],
    resamples: int,
    shuffles: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """The tables of `measures.heads`, and `correlations` of their measures."""
    measured = heads(tables, model, shape, table_models, skip_reasons)
    return measured | {"correlations": correlations(**measured, resamples=resamples, shuffles=shuffles, seed=seed)}


def correlations(heads: pd.DataFrame, measures: pd.DataFrame, resamples: int, shuffles: int, seed: int) -> pd.DataFrame:
    """One row per pair of the numeric measures in heads.tsv that can be ranked; measures.tsv says why others cannot."""
    return correlation_rows(heads, numeric(heads), Draws(resamples, shuffles, seed), chances_of(measures))
