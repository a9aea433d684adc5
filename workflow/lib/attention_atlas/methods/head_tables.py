"""Heads as rows of tables, and the units that their intervals resample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.stats.held_out import Bools, Resampling
from attention_atlas.stats.intervals import Floats, bootstrap_ratio, expanded_level

DOCUMENTS = "documents"
UNIT_COLUMNS = ("unit", "units")
"""What an interval resamples, and how many of them: columns beside an interval."""


@dataclass(frozen=True)
class Units:
    """The independent units of a list of items: [item] number of its unit, from 0; how many; and what they are.

    Sentences, segments and windows of one document resemble each other: resampling them individually is too narrow.
    """

    of_item: npt.NDArray[np.intp]
    count: int
    name: str

    def sums(self, values: npt.ArrayLike) -> Floats:
        """[unit, ...] sums of [item, ...] over the items of each unit."""
        array = np.asarray(values, dtype=np.float64)
        sums = np.zeros((self.count, *array.shape[1:]))
        np.add.at(sums, self.of_item, array)
        return sums

    def sizes(self) -> Floats:
        """[unit] number of items of each unit."""
        return np.bincount(self.of_item, minlength=self.count).astype(np.float64)

    def at(self, items: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Units:
        """The units of a subset of the items, such as those with a value; units without any of these items are dropped."""
        present, numbers = np.unique(self.of_item[items], return_inverse=True)
        return Units(numbers.astype(np.intp), len(present), self.name)


def independent_units(documents: Iterable[str | None], items: str) -> Units:
    """Documents [item] as units; the items themselves (called `items`) if any is None, or all come from one document."""
    numbers, names = pd.factorize(np.asarray(list(documents), dtype=object))
    if (numbers < 0).any() or len(names) < 2:
        return Units(np.arange(len(numbers)), len(numbers), items)
    return Units(numbers, len(names), DOCUMENTS)


def head_rows(values: npt.NDArray[np.generic], name: str) -> pd.DataFrame:
    """Values [layer, head] as a frame with 1-indexed columns layer and head, one row for each head."""
    layers, heads = np.indices(values.shape)
    return pd.DataFrame({"layer": layers.ravel() + 1, "head": heads.ravel() + 1, name: values.ravel()})


def mean_rows(values: npt.NDArray[np.floating], resamples: int, seed: int, units: Units | None = None) -> pd.DataFrame:
    """Means of every head over items, [item, layer, head]: layer, head, value, ci_low, ci_high, n; items of NaN are ignored.

    units: what the bootstrap resamples, reported in two more columns, `UNIT_COLUMNS`; default: items. No rows if all are NaN.
    """
    some = ~np.isnan(values).all(axis=(1, 2))
    columns = ["layer", "head", "value", "ci_low", "ci_high", "n"]
    if not some.any():
        return pd.DataFrame(columns=columns if units is None else [*columns, *UNIT_COLUMNS])
    has_value = ~np.isnan(values[some])
    drawn = independent_units([None] * len(has_value), "") if units is None else units.at(some)
    sums, sizes = drawn.sums(np.where(has_value, values[some], 0.0)), drawn.sums(has_value)
    low, high = bootstrap_ratio(sums, sizes, resamples, seed)
    n = has_value.sum(axis=0)
    with np.errstate(invalid="ignore"):
        means = np.nansum(values[some], axis=0) / n
    rows = head_rows(means, "value").assign(ci_low=low.ravel(), ci_high=high.ravel(), n=n.ravel())
    return rows if units is None else rows.assign(unit=drawn.name, units=drawn.count)


def accuracy_rows(right: Bools, directions: Sequence[str]) -> pd.DataFrame:
    """layer, head, direction, n, correct, accuracy (NaN if n is 0) of every head, from [item, direction, layer, head]."""
    counts = right.sum(axis=0)
    frames = [head_rows(correct, "correct").assign(direction=name) for correct, name in zip(counts, directions, strict=True)]
    table = pd.concat(frames, ignore_index=True).assign(n=len(right))
    table["accuracy"] = table["correct"] / table["n"].where(table["n"] > 0)
    return table[["layer", "head", "direction", "n", "correct", "accuracy"]]


def map_rows(tokens: Sequence[str], weights: npt.NDArray[np.floating]) -> pd.DataFrame:
    """One map [n, n], row = query token, as rows: query, key (from 1), query_token, key_token, weight."""
    query, key = np.indices(weights.shape).reshape(2, -1)
    names = np.asarray(tokens, dtype=object)
    places = {"query": query + 1, "key": key + 1, "query_token": names[query], "key_token": names[key]}
    return pd.DataFrame(places | {"weight": weights.ravel().astype(float)})


def interval_of_mean(values: npt.NDArray[np.float64], units: Units, resampling: Resampling, level: float) -> dict[str, float]:
    """ci_low and ci_high of the mean of values [item], by bootstrap over units, widened if they are few; empty for one unit."""
    if units.count < 2:
        return {}
    expanded = expanded_level(level, units.count)
    sums, sizes = units.sums(values[:, None]), units.sizes()[:, None]
    low, high = bootstrap_ratio(sums, sizes, resampling.resamples, resampling.seed, expanded)
    return {"ci_low": float(low[0]), "ci_high": float(high[0])}
