"""Measures of single heads from the tables of all studies: the columns of the atlas.

Each study says in its module `head_measures` which of its tables hold measures of single heads. A measure of a model that was
trained further is that of the head at the same place: a head keeps its place in training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.head_measures import PLACE, Source
from attention_atlas.studies import study_modules

MEASURES = ["measure", "title", "study", "item", "unit", "higher_means", "model", "kind", "heads", "note"]
SOURCES: tuple[Source, ...] = tuple(source for module in study_modules("head_measures") for source in module.MEASURES)
"""Where the measures of the atlas come from, in the order of its columns."""


def read_measures(
    tables: Mapping[str, str | Path], layers: int, heads: int, skip_reasons: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """One row a head with all measures whose tables exist, and the reasons for those that are missing.

    Args:
        tables: `study/name` -> file, for those that the run has.
        layers, heads: shape of the model.
        skip_reasons: table -> why the run has no such table; for studies that the run lacks there is a default reason.

    Returns:
        layer, head (from 1) and a column a measure in the order of `SOURCES`; and measure -> the reason why it is missing.

    Raises:
        AtlasError: a table cannot be used, or is that of a model of another shape.
    """
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    head_table = pd.DataFrame({"layer": layer, "head": head})
    absent: dict[str, str] = {}
    for source in SOURCES:
        names = [measure.name for measure in source.measures]
        if not source.tables.keys() <= tables.keys():
            reason = (skip_reasons or {}).get(source.table, f"this run does not build {source.table}")
            absent |= dict.fromkeys(names, reason)
            continue
        source_rows = source.select(*(read_table(tables[name], list(columns)) for name, columns in source.tables.items()))
        _check(source_rows, layers, heads, tables[source.table])
        for name in names:
            if name not in source_rows or source_rows[name].isna().all():
                absent[name] = f"{source.table} has no value: this model or corpus has nothing of the kind"
        source_columns = source_rows[[*PLACE, *(name for name in names if name not in absent)]]
        head_table = head_table.merge(source_columns, on=PLACE, how="left", validate="one_to_one")
    return head_table, absent


def _check(source_rows: pd.DataFrame, layers: int, heads: int, path: str | Path) -> None:
    if source_rows.duplicated(PLACE).any():
        raise AtlasError(f"{path}: several rows for one head: this table cannot become a column of the atlas.")
    if len(source_rows) and (source_rows["layer"].max() > layers or source_rows["head"].max() > heads):
        raise AtlasError(
            f"{path}: this table names layer {source_rows['layer'].max()} and head {source_rows['head'].max()}, but the model "
            f"has {layers} layers of {heads} heads: the atlas of a run is of one model and those trained from it."
        )


def measure_rows(table: pd.DataFrame, absent: Mapping[str, str], models: Mapping[str, str]) -> pd.DataFrame:
    """A row a measure, columns `MEASURES`: what it is, of which model (by table), of how many heads, or why it is missing."""
    rows = []
    for source in SOURCES:
        for measure in source.measures:
            present = measure.name in table
            kind = "" if not present else ("number" if pd.api.types.is_numeric_dtype(table[measure.name]) else "name")
            count = int(table[measure.name].notna().sum()) if present else 0
            facts = (measure.name, measure.title, source.study, measure.item, measure.unit, measure.higher_means)
            rows.append([*facts, models.get(source.table, "") if present else "", kind, count, absent.get(measure.name, "")])
    return pd.DataFrame(rows, columns=MEASURES)


def write_heads(
    tables: Mapping[str, str | Path],
    model: str,
    shape: Sequence[int],
    models: Mapping[str, str],
    skip_reasons: Mapping[str, str],
    out: str | Path,
    measures_out: str | Path,
    html_out: str | Path,
    run: str,
) -> None:
    """Write heads.tsv (model, layer, head and a column a measure), measures.tsv (`MEASURES`) and its page.

    Args:
        tables: see `read_measures`.
        model: the run's model, by its name in the registry.
        shape: its layers, and heads a layer.
        models: table -> the model that its measures are of: that one, or one that is trained from it.
        skip_reasons: see `read_measures`.
        out, measures_out, html_out: files to write.
        run: title of the run.

    Raises:
        AtlasError: see `read_measures`; or the run has no table.
    """
    if not tables:
        raise AtlasError("the run builds no study that measures single heads: name one in the run.")
    layers, heads = shape
    head_table, absent = read_measures(tables, layers, heads, skip_reasons)
    write_table(head_table.assign(model=model)[["model", *head_table.columns]], out)
    rows = measure_rows(head_table, absent, models)
    write_table(rows, measures_out)
    notes = [
        f"{run}: {model}, {layers} layers of {heads} heads.",
        f"Columns of heads.tsv: {(rows['note'] == '').sum()} of {len(rows)} measures; the others are left out, with the "
        "reason. A measure of a model that was trained further is that of the head at the same place.",
    ]
    write_html_table(rows, html_out, "The atlas: measures of single heads", notes, formats={"heads": "d"})


_PARTS = frozenset(measure.name for source in SOURCES for measure in source.measures if measure.part)


def numeric(table: pd.DataFrame) -> list[str]:
    """Columns of heads.tsv that are numeric measures, without those that are a part of another measure."""
    return [
        name
        for name in table.columns
        if name not in (*PLACE, "model") and name not in _PARTS and pd.api.types.is_numeric_dtype(table[name])
    ]
