"""An ordered series of models, such as training checkpoints or seeds: each measure of heads by model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.atlas.compared import mean_over_heads, read_compared_measures
from attention_atlas.atlas.correlations import Draws
from attention_atlas.atlas.measures import numeric
from attention_atlas.io.tables import write_table

SERIES = ["position", "model", "measure", "mean", "ci_low", "ci_high", "smallest", "largest", "n", "chance"]


def series_rows(
    tables: Mapping[str, pd.DataFrame], draws: Draws, chance: Mapping[str, Mapping[str, float]] = MappingProxyType({})
) -> pd.DataFrame:
    """One row per model and measure, columns `SERIES`.

    position: position of the model in the series, from 1. mean: over heads, with its interval by bootstrap over heads.
    smallest, largest: over heads. n: number of heads with a value. chance: value of a head without the effect,
    if it is known.

    Args:
        tables: model -> one row per head, in the order of the series.
        draws: settings of the bootstrap.
        chance: model -> measure -> value of a head without the effect.
    """
    rows = []
    for position, (model, table) in enumerate(tables.items(), start=1):
        for name in numeric(table):
            values = table[name].dropna()
            if len(values):
                facts = (position, model, name, *mean_over_heads(table[name], draws))
                rows.append([*facts, values.min(), values.max(), len(values), chance.get(model, {}).get(name, np.nan)])
    return pd.DataFrame(rows, columns=SERIES)


def write_series(models: Sequence[Mapping[str, Any]], series: Sequence[str], draws: Draws, out: str | Path) -> None:
    """Write `series_rows` of the models of a series.

    Args:
        models: attributes of `ComparedModel` for each compared model.
        series: names of the models in the series, in order.
        draws: settings of the bootstrap.
        out: file to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    _, measured = read_compared_measures([model for model in models if model["name"] in series])
    tables = {name: measured[name].table for name in series}
    write_table(series_rows(tables, draws, {name: measured[name].known_chances() for name in series}), out)
