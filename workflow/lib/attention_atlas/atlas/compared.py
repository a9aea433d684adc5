"""The compared models: their measures of single heads, and means over heads with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.atlas.correlations import Draws, drawn_heads
from attention_atlas.atlas.measures import HeadMeasures, read_measures
from attention_atlas.stats.bootstrap import percentile_interval


@dataclass(frozen=True)
class ComparedModel:
    """One of the compared models.

    Attributes:
        name: name in the registry.
        layers, heads: number of layers, and of heads per layer.
        random_weights: whether its layers are randomly initialised: a control.
        tables: tables from `of_model.measure_model`: name as in `names.TABLES` -> file.
    """

    name: str
    layers: int
    heads: int
    random_weights: bool
    tables: Mapping[str, str | Path]


def read_compared(models: Sequence[Mapping[str, Any]]) -> tuple[list[ComparedModel], dict[str, pd.DataFrame]]:
    """The compared models, and model -> its measures with one row per head, in the order of the models.

    Args:
        models: attributes of `ComparedModel` for each model.

    Raises:
        AtlasError: a table cannot be used.
    """
    compared, measured = read_compared_measures(models)
    return compared, {name: measures.table for name, measures in measured.items()}


def read_compared_measures(models: Sequence[Mapping[str, Any]]) -> tuple[list[ComparedModel], dict[str, HeadMeasures]]:
    """The compared models, and model -> its measures with their chance values; see `read_compared`."""
    compared = [ComparedModel(**model) for model in models]
    return compared, {model.name: read_measures(model.tables, model.layers, model.heads) for model in compared}


def mean_over_heads(values: pd.Series, draws: Draws) -> tuple[float, float, float]:
    """Mean, ci_low, ci_high of a measure over the heads that have a value; interval by bootstrap over heads."""
    present = values.dropna().to_numpy(np.float64)
    low, high = percentile_interval(present[drawn_heads(len(present), draws)].mean(axis=1))
    return float(present.mean()), float(low), float(high)
