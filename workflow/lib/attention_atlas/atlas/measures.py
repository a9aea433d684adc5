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

MEASURES = ["measure", "title", "study", "item", "unit", "more", "model", "kind", "heads", "note"]
SOURCES: tuple[Source, ...] = tuple(source for module in study_modules("head_measures") for source in module.MEASURES)
"""Where the measures of the atlas come from, in the order of its columns."""


def read_measures(
    tables: Mapping[str, str | Path], layers: int, heads: int, left_out: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """One row a head with all measures whose tables are there, and why others are not.

    Args:
        tables: `study/name` -> file, for those that the run has.
        layers, heads: shape of the model.
        left_out: table -> why it is not among them, where it is not for want of the study.

    Returns:
        layer, head (from 1) and a column a measure in the order of `SOURCES`; and measure -> the reason why it is left out.

    Raises:
        AtlasError: a table cannot be used, or is that of a model of another shape.
    """
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    found = pd.DataFrame({"layer": layer, "head": head})
    absent: dict[str, str] = {}
    for source in SOURCES:
        names = [measure.name for measure in source.measures]
        if not source.tables.keys() <= tables.keys():
            reason = (left_out or {}).get(source.table, f"this run does not build {source.table}")
            absent |= dict.fromkeys(names, reason)
            continue
        own = source.select(*(read_table(tables[name], list(columns)) for name, columns in source.tables.items()))
        _check(own, layers, heads, tables[source.table])
        for name in names:
            if name not in own or own[name].isna().all():
                absent[name] = f"{source.table} has no value: this model or corpus has nothing of the kind"
        kept = own[[*PLACE, *(name for name in names if name not in absent)]]
        found = found.merge(kept, on=PLACE, how="left", validate="one_to_one")
    return found, absent


def _check(own: pd.DataFrame, layers: int, heads: int, path: str | Path) -> None:
    if own.duplicated(PLACE).any():
        raise AtlasError(f"{path}: several rows for one head: this table cannot become a column of the atlas.")
    if len(own) and (own["layer"].max() > layers or own["head"].max() > heads):
        raise AtlasError(
            f"{path}: this table names layer {own['layer'].max()} and head {own['head'].max()}, but the model has {layers} "
            f"layers of {heads} heads: the atlas of a run is of one model and those trained from it."
        )


def measure_rows(table: pd.DataFrame, absent: Mapping[str, str], models: Mapping[str, str]) -> pd.DataFrame:
    """A row a measure, columns `MEASURES`: what it is, of which model (by table), of how many heads, or why it is left out."""
    rows = []
    for source in SOURCES:
        for measure in source.measures:
            there = measure.name in table
            kind = "" if not there else ("number" if pd.api.types.is_numeric_dtype(table[measure.name]) else "name")
            count = int(table[measure.name].notna().sum()) if there else 0
            facts = (measure.name, measure.title, source.study, measure.item, measure.unit, measure.more)
            rows.append([*facts, models.get(source.table, "") if there else "", kind, count, absent.get(measure.name, "")])
    return pd.DataFrame(rows, columns=MEASURES)


def write_heads(
    tables: Mapping[str, str | Path],
    model: str,
    shape: Sequence[int],
    models: Mapping[str, str],
    left_out: Mapping[str, str],
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
        left_out: see `read_measures`.
        out, measures_out, html_out: files to write.
        run: title of the run.

    Raises:
        AtlasError: see `read_measures`; or no table is there.
    """
    if not tables:
        raise AtlasError("the run builds no study that measures single heads: name one in the run.")
    layers, heads = shape
    found, absent = read_measures(tables, layers, heads, left_out)
    write_table(found.assign(model=model)[["model", *found.columns]], out)
    rows = measure_rows(found, absent, models)
    write_table(rows, measures_out)
    notes = [
        f"{run}: {model}, {layers} layers of {heads} heads.",
        f"Columns of heads.tsv: {(rows['note'] == '').sum()} of {len(rows)} measures; the others are left out, with the "
        "reason. A measure of a model that was trained further is that of the head at the same place.",
    ]
    write_html_table(rows, html_out, "The atlas: measures of single heads", notes, formats={"heads": "d"})


_PARTS = frozenset(measure.name for source in SOURCES for measure in source.measures if measure.part)


def numeric(table: pd.DataFrame) -> list[str]:
    """Columns of heads.tsv that are measures by number; parts of others are left out."""
    return [
        name
        for name in table.columns
        if name not in (*PLACE, "model") and name not in _PARTS and pd.api.types.is_numeric_dtype(table[name])
    ]
