"""Data of the page on several models: the measures of each, and the comparison of the run's model with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.atlas.compared import ComparedModel
from attention_atlas.atlas.matching import AGREEMENT, MATCHES
from attention_atlas.atlas.measures import HeadMeasures, inside_null, numeric, read_measures
from attention_atlas.atlas.models import MODEL_FINDINGS, MODELS
from attention_atlas.atlas.series import SERIES
from attention_atlas.io.tables import read_table
from attention_atlas.methods.head_measures import null_of

_DIGITS = 5


@dataclass(frozen=True)
class PageModel:
    """A compared model with the files of its sentences and evidence; see `ComparedModel`.

    Attributes:
        compared: shape and tables of the model.
        sentences: shard, examples and dropped for `page.ShownSentences`.
        evidence: pairs and kinds for `page.Evidence`.
    """

    compared: ComparedModel
    sentences: Mapping[str, str | Path]
    evidence: Mapping[str, str | Path]


@dataclass(frozen=True)
class Comparison:
    """Tables of the comparison; None if the run compares no models, or has no series.

    Attributes:
        matches, agreement: from `matching.write_matching`.
        means, findings: from `models.write_models`.
        series: from `series.write_series`.
    """

    matches: str | Path | None
    agreement: str | Path | None
    means: str | Path | None
    findings: str | Path | None
    series: str | Path | None


def page_model(values: Mapping[str, Any]) -> PageModel:
    """A compared model from the parameters of the page's job."""
    shape = {name: values[name] for name in ("name", "layers", "heads", "random_weights", "tables")}
    return PageModel(ComparedModel(**shape), values["sentences"], values["evidence"])


def comparison_data(models: Sequence[PageModel], comparison: Comparison, checkpoints: bool = False) -> dict[str, Any]:
    """Data of the page on the compared models side by side; empty without compared models.

    models: name, shape, values of each measure by head, on the same sentences for all models, and what they are compared with,
    see `_nulls`. means, agreement: model ->
    measure -> numbers. matches: model -> [head of the run's model] the index of the matched head and their distance, or None.
    findings: one row per finding, with value and verdict by model. series: names of its models in order.
    checkpoints: whether these are of one training, so that their means are joined by a line.

    Raises:
        AtlasError: a table cannot be used.
    """
    if comparison.matches is None or comparison.agreement is None or comparison.means is None or comparison.findings is None:
        return {}
    first = models[0].compared
    return {
        "models": [_values(model.compared) for model in models],
        "means": _by_model(read_table(comparison.means, MODELS), ["mean", "ci_low", "ci_high"]),
        "agreement": _by_model(
            read_table(comparison.agreement, AGREEMENT), ["agreement", "null_low", "null_high", "p", "matched_by"]
        ),
        "matches": _matches(read_table(comparison.matches, MATCHES), models, first.layers * first.heads),
        "findings": _findings(read_table(comparison.findings, MODEL_FINDINGS)),
        "series": _series(comparison.series),
        "checkpoints": checkpoints,
    }


def _values(model: ComparedModel) -> dict[str, Any]:
    measured = read_measures(model.tables, model.layers, model.heads)
    table = measured.table
    return {
        "name": model.name,
        "layers": model.layers,
        "heads": model.heads,
        "random": model.random_weights,
        "values": {name: [_number(value) for value in table[name]] for name in numeric(table)},
        "nulls": _nulls(measured),
    }


def _nulls(measured: HeadMeasures) -> dict[str, list[float | None]]:
    """Measure -> ends of 95 % of its null distribution (or twice the value without the effect), number of heads unlike it."""
    table = measured.table
    known = measured.known_chances()
    nulls = {}
    for name in numeric(table):
        low, high, _ = null_of(name)
        inside = inside_null(table, name, known.get(name))
        if inside is None:
            continue
        drawn = low in table and table[low].notna().any()
        ends = (table[low].min(), table[high].max()) if drawn else (known.get(name), known.get(name))
        nulls[name] = [*map(_number, ends), int((~inside & table[name].notna()).sum())]
    return nulls


def _by_model(table: pd.DataFrame, columns: Sequence[str]) -> dict[str, dict[str, list[float | None]]]:
    """Model -> measure -> numbers of these columns."""
    return {
        str(model): {str(row["measure"]): [_number(row[column]) for column in columns] for _, row in rows.iterrows()}
        for model, rows in table.groupby("model", sort=False)
    }


def _matches(table: pd.DataFrame, models: Sequence[PageModel], places: int) -> dict[str, list[list[float] | None]]:
    matches: dict[str, list[list[float] | None]] = {}
    first, *others = (model.compared for model in models)
    for model in others:
        partners: list[list[float] | None] = [None] * places
        for row in table[table["model"] == model.name].itertuples():
            index = (row.layer - 1) * first.heads + row.head - 1
            partners[index] = [
                int((row.matched_layer - 1) * model.heads + row.matched_head - 1), round(float(row.distance), _DIGITS)
            ]  # fmt: skip
        matches[model.name] = partners
    return matches


def _findings(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {
            "finding": finding,
            "statistic": rows["statistic"].iloc[0],
            "models": {row.model: [_number(row.value), row.verdict] for row in rows.itertuples()},
        }
        for finding, rows in table.groupby("finding", sort=False)
    ]


def _series(path: str | Path | None) -> list[str]:
    if path is None:
        return []
    table = read_table(path, SERIES).drop_duplicates("position").sort_values("position")
    return [str(model) for model in table["model"]]


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(f"{np.float64(value):.{_DIGITS}g}")
