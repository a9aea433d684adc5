"""Measures of single heads from the tables of all studies: the columns of the atlas.

Each study declares in its module `head_measures` which of its tables contain measures of single heads. Measures of a fine-tuned
model belong to the head with the same layer and number: training does not reorder heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pandas as pd

from attention_atlas.atlas.head_measures import MEASURES as ATLAS_MEASURES
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import with_columns
from attention_atlas.methods.head_measures import PLACE, Measure, Source, ends_of, null_of, parts_of
from attention_atlas.stats.significance import LEVEL, p_of_intervals
from attention_atlas.stats.simultaneous import corrected_p
from attention_atlas.studies import study_modules

MEASURES = [
    *("measure", "title", "group", "study", "item", "unit", "higher_means", "model", "kind", "heads", "n", "n_unit"),
    *("null", "chance", "inside_null", "about", "note", "warning", "calibration"),
]
SOURCES: tuple[Source, ...] = (
    *(source for module in study_modules("head_measures") for source in module.MEASURES),
    *ATLAS_MEASURES,
)
LEAST_VALUES = 5
"""Minimum number of distinct values over heads of a measure that is ranked: ranks of ties say little."""
MOST_HEADS = 0.9
"""Share of heads inside the null above which a measure is not ranked: an order of noise is meaningless."""


@dataclass
class HeadMeasures:
    """One row per head: layer and head from 1, and each measure with its interval, null distribution and q, in columns.

    By measure: why it is missing, the smallest number of examples of any head, why it says nothing about heads, and its value
    for a head without the effect where this depends on the examples.
    """

    table: pd.DataFrame
    absent: dict[str, str] = field(default_factory=dict)
    examples: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)

    def chance_of(self, measure: Measure) -> float | None:
        return self.chances.get(measure.name, measure.chance)


def takes_few_values(values: pd.Series | Sequence[float]) -> bool:
    return int(pd.Series(values).nunique()) < LEAST_VALUES


def why_not_ranked(values: pd.Series, inside: pd.Series | None = None) -> str:
    """Why ranks of heads say nothing: few values, most heads tied, or nearly all heads inside the null; else empty."""
    present = values.dropna()
    if takes_few_values(present):
        return "fewer than five different values"
    if present.duplicated(keep=False).mean() > 0.5:
        return "most heads are tied with another head"
    if inside is not None and inside[present.index].mean() >= MOST_HEADS:
        count = int(inside[present.index].sum())
        return f"{count} of {len(present)} heads cannot be distinguished from heads without the effect"
    return ""


def unranked(table: pd.DataFrame, names: Sequence[str], chances: Mapping[str, float | None]) -> dict[str, str]:
    """Measure -> why its ranks say nothing, for those of some numeric measures of heads.tsv that cannot be ranked."""
    reasons = {name: why_not_ranked(table[name], inside_null(table, name, chances.get(name))) for name in names}
    return {name: reason for name, reason in reasons.items() if reason}


def chances_of(measures: pd.DataFrame) -> dict[str, float]:
    """Measure -> value of a head without the effect, of measures.tsv."""
    return measures.set_index("measure")["chance"].dropna().astype(float).to_dict()


def read_measures(
    tables: Mapping[str, pd.DataFrame], layers: int, heads: int, skip_reasons: Mapping[str, str] = MappingProxyType({})
) -> HeadMeasures:
    """Measures of all tables (`study/name` -> table) of a model of this shape; `skip_reasons`: why the run lacks a table."""
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    measured = HeadMeasures(pd.DataFrame({"layer": layer, "head": head}))
    for source in SOURCES:
        if source.tables.keys() <= tables.keys():
            frames = {name: with_columns(tables[name], columns, name) for name, columns in source.tables.items()}
            _add_source(measured, source, frames, layers, heads)
        else:
            reason = skip_reasons.get(source.table, f"this run does not build {source.table}")
            measured.absent |= {measure.name: reason for measure in source.measures}
    return measured


def _add_source(measured: HeadMeasures, source: Source, frames: Mapping[str, pd.DataFrame], layers: int, heads: int) -> None:
    table = frames[source.table]
    names = [measure.name for measure in source.measures]
    if source.chances:
        measured.chances |= {name: value for name, value in source.chances(table).items() if name in names}
    source_rows = source.select(table)
    if source_rows.duplicated(PLACE).any():
        raise AtlasError(f"{source.table}: several rows for one head, but the atlas needs one. Delete the table and run again.")
    if len(source_rows) and (source_rows["layer"].max() > layers or source_rows["head"].max() > heads):
        raise AtlasError(
            f"{source.table}: this table names layer {source_rows['layer'].max()} and head {source_rows['head'].max()}, but "
            f"the model has {layers} layers of {heads} heads: an atlas covers one model and the models fine-tuned from it."
        )
    source_rows = source_rows[[*PLACE, *source_rows.columns[source_rows.notna().any()].difference(PLACE, sort=False)]]
    reasons = source.reasons(table) if source.reasons else {}
    nothing = f"{source.table} has no values: this measure does not apply to this model or corpus"
    measured.absent |= {name: reasons.get(name) or nothing for name in names if name not in source_rows}
    if source.attention_alone:
        # Such as attention to the next token in a causal model.
        zero = [name for name in numeric(source_rows) if (source_rows[name] == 0).all()]
        measured.absent |= dict.fromkeys(zero, "all heads have the value 0")
    present = [name for name in names if name not in measured.absent]
    columns = [column for name in present for column in (name, *parts_of(name)) if column in source_rows]
    measured.table = measured.table.merge(source_rows[[*PLACE, *columns]], on=PLACE, how="left", validate="one_to_one")
    _add_q_by_interval(measured, source)
    if source.examples:
        numbers = source.examples.select(table)
        measured.examples |= {
            name: int(numbers[name].min()) for name in present if name in numbers and numbers[name].notna().any()
        }
    if source.caution and (reason := source.caution.reason(frames[source.caution.table])):
        measured.warnings |= dict.fromkeys(present, reason)


def _add_q_by_interval(measured: HeadMeasures, source: Source) -> None:
    """Add q over heads to the measures of a source that have intervals and a chance value, but no null distribution."""
    for measure in source.measures:
        null_low, _, q = null_of(measure.name)
        low, high = ends_of(measure.name)
        chance, table = measured.chance_of(measure), measured.table
        if chance is None or not {measure.name, low, high} <= set(table) or {null_low, q} & set(table):
            continue
        p = p_of_intervals(table[measure.name], table[low], table[high], chance)
        if (tested := np.isfinite(p)).any():
            p[tested] = corrected_p(p[tested], "bh", 0, LEVEL)
            # Not inserted: pandas warns of tables with columns inserted one by one.
            measured.table = pd.concat([table, pd.DataFrame({q: p}, index=table.index)], axis=1)


def measure_rows(measured: HeadMeasures, models: Mapping[str, str]) -> pd.DataFrame:
    """One row per measure, columns `MEASURES`; its interval, null distribution and q are further columns of heads.tsv.

    n: number of examples (n_unit), the smallest of any head; chance: value of a head without the effect; inside_null: number of
    heads that cannot be distinguished from such heads; note: why it is missing; warning: why it says nothing about heads;
    calibration: what its values are compared with, or why they are not compared, and why they are not ranked.
    """
    table, rows = measured.table, []
    chances = {measure.name: measured.chance_of(measure) for source in SOURCES for measure in source.measures}
    unrankable = unranked(table, numeric(table), chances)
    for source in SOURCES:
        for measure in source.measures:
            name, chance = measure.name, chances[measure.name]
            present = name in table
            inside = inside_null(table, name, chance) if present else None
            text = calibration(measure, source, table, chance)
            rows.append(
                {
                    "measure": name,
                    **{key: getattr(measure, key) for key in ("title", "item", "unit", "higher_means", "null", "about")},
                    **{"group": source.group, "study": source.study},
                    "model": models.get(source.table, "") if present else "",
                    "kind": "" if not present else ("number" if pd.api.types.is_numeric_dtype(table[name]) else "name"),
                    "heads": int(table[name].notna().sum()) if present else 0,
                    "n": measured.examples.get(name),
                    "n_unit": source.examples.unit if source.examples and name in measured.examples else "",
                    "chance": chance,
                    "inside_null": None if inside is None else int(inside.sum()),
                    "note": measured.absent.get(name, ""),
                    "warning": measured.warnings.get(name, ""),
                    "calibration": f"{text} Not ranked or correlated: {unrankable[name]}." if name in unrankable else text,
                }
            )
    return pd.DataFrame(rows, columns=MEASURES).astype({"n": "Int64", "inside_null": "Int64"})


def calibration(measure: Measure, source: Source, table: pd.DataFrame, chance: float | None = None) -> str:
    """What the values of a measure are compared with, or why they are not, and why it has no interval, in sentences."""
    if measure.name not in table:
        return "Not measured: see the note."
    if not pd.api.types.is_numeric_dtype(table[measure.name]):
        return "Categorical: not tested."
    null_low, _, q_name = null_of(measure.name)
    has_q = q_name in table and table[q_name].notna().any()
    q = "" if not has_q else ("p adjusted for all heads." if measure.adjusted else "q over all heads.")
    if measure.null and null_low in table:
        said = f"Compared with {measure.null}; {q or 'too few draws for q.'}"
    elif chance is not None and not pd.isna(chance):
        said = f"Compared with {chance:.4g}, the value of a head without the effect: {q or 'without a test.'}"
    else:
        said = f"No null: {source.no_null[:1].lower()}{source.no_null[1:]}" if source.no_null else "No null."
    if not all(end in table for end in ends_of(measure.name)):
        said += " No interval."
    return f"{said} Interval: {measure.interval}." if measure.interval else said


def by_definition(first: str, second: str) -> bool:
    """Whether two measures correlate by definition (`Measure.shares`)."""
    return second in _SHARES.get(first, ()) or first in _SHARES.get(second, ())


def inside_null(table: pd.DataFrame, name: str, chance: float | None = None) -> pd.Series | None:
    """Which heads with a value cannot be distinguished from heads without the effect; None if this is unknown.

    By q, if the measure has it: q is not below `LEVEL`, or is missing. Otherwise by the interval: it contains `chance`.
    """
    *_, q = null_of(name)
    if q in table and table[q].notna().any():
        return table[name].notna() & ~(table[q] < LEVEL)
    low, high = ends_of(name)
    if chance is not None and not pd.isna(chance) and low in table and high in table:
        return (table[low] <= chance) & (table[high] >= chance)
    return None


_SHARES = {measure.name: measure.shares for source in SOURCES for measure in source.measures}


def numeric(table: pd.DataFrame) -> list[str]:
    """Columns of heads.tsv that are numeric measures, without their intervals, null distributions and q."""
    parts = {part for name in table.columns for part in parts_of(name)}
    return [
        name
        for name in table.columns
        if name not in (*PLACE, "model") and name not in parts and pd.api.types.is_numeric_dtype(table[name])
    ]
