"""Heads as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.methods.units import UNIT_COLUMNS, Units, independent_units
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.stats.held_out import Bools


def head_rows(values: npt.NDArray[np.generic], name: str) -> pd.DataFrame:
    """Values [layer, head] as a frame with 1-indexed columns layer and head, one row for each head."""
    layers, heads = np.indices(values.shape)
    return pd.DataFrame({"layer": layers.ravel() + 1, "head": heads.ravel() + 1, name: values.ravel()})


def mean_rows(values: npt.NDArray[np.floating], resamples: int, seed: int, units: Units | None = None) -> pd.DataFrame:
    """Means of every head over items, [item, layer, head]: layer, head, value, ci_low, ci_high, n.

    Items without a value (NaN) are ignored; a head for which all items are NaN has no row.

    Args:
        values: [item, layer, head].
        resamples, seed: settings of the bootstrap.
        units: what the bootstrap resamples, reported in two more columns, `unit` and `units` (their number); default: items.
    """
    has_value = ~np.isnan(values[:, 0, 0])
    columns = ["layer", "head", "value", "ci_low", "ci_high", "n"]
    if not has_value.any():
        return pd.DataFrame(columns=columns if units is None else [*columns, *UNIT_COLUMNS])
    present = values[has_value]
    drawn = independent_units([None] * len(present), "") if units is None else units.at(has_value)
    low, high = bootstrap_ratio(drawn.sums(present), drawn.sizes()[:, None, None], resamples, seed)
    rows = head_rows(present.mean(axis=0), "value").assign(ci_low=low.ravel(), ci_high=high.ravel(), n=len(present))
    return rows if units is None else rows.assign(unit=drawn.name, units=drawn.count)


def accuracy_rows(right: Bools, directions: Sequence[str]) -> pd.DataFrame:
    """Accuracy of every head in every direction: layer, head, direction, n, correct, accuracy (NaN if n is 0).

    Args:
        right: [item, direction, layer, head].
        directions: names of the directions.
    """
    counts = right.sum(axis=0)
    frames = [head_rows(correct, "correct").assign(direction=name) for correct, name in zip(counts, directions, strict=True)]
    table = pd.concat(frames, ignore_index=True).assign(n=len(right))
    table["accuracy"] = table["correct"] / table["n"].where(table["n"] > 0)
    return table[["layer", "head", "direction", "n", "correct", "accuracy"]]


def map_rows(tokens: Sequence[str], weights: npt.NDArray[np.floating]) -> pd.DataFrame:
    """One map as rows: query, key (from 1), query_token, key_token, weight.

    Args:
        tokens: the n tokens.
        weights: [n, n], row = query token.
    """
    query, key = np.indices(weights.shape)
    names = np.asarray(tokens, dtype=object)
    return pd.DataFrame(
        {
            "query": query.ravel() + 1,
            "key": key.ravel() + 1,
            "query_token": names[query.ravel()],
            "key_token": names[key.ravel()],
            "weight": weights.ravel().astype(float),
        }
    )
