"""Whether heads of a type are in the lower or in the upper half of the layers (Guan et al. 2020, section 4)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from attention_atlas.stats.extremes import widths


def shares_by_half(
    layer: npt.NDArray[np.integer], of_kind: npt.NDArray[np.bool_], draws: int, seed: int, level: float
) -> tuple[float, float, float, float]:
    """Share of heads of a type in the lower and in the upper half of the layers, and the interval of the difference.

    Heads of one layer resemble each other, so that layers are the independent units: all heads of a layer move together when
    layers change places. The interval contains 0 where the test by these permutations does not reject (`extremes.widths`):
    always with six layers or fewer, where the halves can be drawn in at most 20 ways.

    Args:
        layer: of each head.
        of_kind: [head] whether it has the type.
        draws, seed: of the permutations.
        level: coverage of the interval.
    """
    layers, of_head, heads = np.unique(layer, return_inverse=True, return_counts=True)
    counts = np.bincount(of_head, weights=of_kind)
    lower = layers <= layers[-1] / 2
    if lower.all() or not lower.any():
        return math.nan, math.nan, math.nan, math.nan
    places = np.tile(np.arange(len(layers)), (draws + 1, 1))
    # The first row is the order of the model.
    order = np.concatenate([places[:1], np.random.default_rng(seed).permuted(places[1:], axis=1)])
    shares = [counts[order][:, half].sum(axis=1) / heads[order][:, half].sum(axis=1) for half in (lower, ~lower)]
    differences = shares[0] - shares[1]
    half_width = widths(differences[None, 1:], level)[0]
    low, high = np.clip([differences[0] - half_width, differences[0] + half_width], -1, 1)
    return float(shares[0][0]), float(shares[1][0]), float(low), float(high)
