"""Which heads go first, and how many: orders of heads and steps of pruning (Michel et al. 2019, section 4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from attention_atlas.studies.michel2019.names import CLASSIFICATION


def ascending(values: npt.ArrayLike) -> list[int]:
    """Places of values from the smallest to the largest; of equal ones the earlier first."""
    return [int(place) for place in np.argsort(np.asarray(values), kind="stable")]


def steps(heads: int, step: int, experiment: str) -> list[tuple[int, int]]:
    """(percent, heads masked) from 0 to 100 %: rounded down for classification, up for translation (published code)."""
    percents = [*range(0, 100, step), 100]
    if experiment == CLASSIFICATION:
        return [(percent, percent * heads // 100) for percent in percents]
    return [(percent, -(-percent * heads // 100)) for percent in percents]


def random_orders(heads: int, draws: int, seed: int) -> list[list[int]]:
    """Orders of all heads by chance, the same for the same seed."""
    generator = np.random.default_rng(seed)
    return [[int(place) for place in generator.permutation(heads)] for _ in range(draws)]


def next_places(values: npt.ArrayLike, masked: Sequence[int], count: int) -> list[int]:
    """The masked places, and those with the smallest values among the others, until there are `count`."""
    gone = set(masked)
    others = [place for place in ascending(values) if place not in gone]
    return [*masked, *others[: count - len(masked)]]
