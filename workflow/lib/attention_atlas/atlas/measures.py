"""Measures of single heads from the tables of all studies: the columns of the atlas.

Each study declares in its module `head_measures` which of its tables contain measures of single heads. Measures of a fine-tuned
model belong to the head with the same layer and number: training does not reorder heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from attention_atlas.atlas.head_measures import MEASURES as ATLAS_MEASURES
from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import Layout, write_html_table
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.head_measures import ADJUSTED, PLACE, Measure, Q, Source, ends_of, null_of, parts_of
from attention_atlas.stats.interval_tests import p_of_intervals
from attention_atlas.stats.pooled_null import LEVEL
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
"""Sources of the atlas's measures, in the order of its columns."""
LEAST_VALUES = 5
"""Minimum number of distinct values over heads of a measure that is ranked.

With few examples most heads are tied: a rank, and a correlation of ranks, would say little but how many they are.
"""
MOST_HEADS = 0.9
"""Share of heads inside the null above which a measure is not ranked: an order of noise is meaningless."""


@dataclass
class HeadMeasures:
    """Measures of single heads.

    Attributes:
        table: one row per head: layer, head (from 1) and one column per measure in the order of `SOURCES`.
        absent: measure -> the reason why it is missing.
        examples: measure -> number of examples behind it, the smallest of any head, if its table has this number.
        warnings: measure -> why it says nothing about heads, for measures to which a caution applies.
        chances: measure -> its value for a head without the effect, if this depends on the examples.
        further: measures that a table declares, by its source, and q of the measures in `by_interval`.
        by_interval: measures with a chance value whose q follows from the intervals of the heads.
    """

    table: pd.DataFrame
    absent: dict[str, str] = field(default_factory=dict)
    examples: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)
    further: dict[Source, tuple[Measure, ...]] = field(default_factory=dict)
    by_interval: set[str] = field(default_factory=set)

    def of(self, source: Source) -> tuple[Measure, ...]:
        """All measures of a source; one that its table declares replaces the measure of the same name."""
        further = {measure.name: measure for measure in self.further.get(source, ())}
        declared = tuple(further.pop(measure.name, measure) for measure in source.measures)
        return (*declared, *further.values())

    def chance_of(self, measure: Measure) -> float | None:
        """The value of a measure for a head without the effect; None if it is unknown."""
        return self.chances.get(measure.name, measure.chance)

    def known_chances(self) -> dict[str, float]:
        """Measure -> its value for a head without the effect, where that is known."""
        values = {measure.name: self.chance_of(measure) for source in SOURCES for measure in self.of(source)}
        return {name: float(value) for name, value in values.items() if value is not None and not pd.isna(value)}


def takes_few_values(values: pd.Series | Sequence[float]) -> bool:
    """Whether a measure takes fewer than `LEAST_VALUES` distinct values over heads."""
    return int(pd.Series(values).nunique()) < LEAST_VALUES


def can_be_ranked(values: pd.Series, inside: pd.Series | None = None) -> bool:
    """Whether ranks of heads are informative, see `why_not_ranked`."""
    return not why_not_ranked(values, inside)


def why_not_ranked(values: pd.Series, inside: pd.Series | None = None) -> str:
    """Why ranks of heads say nothing: few values, most heads tied, or nearly all heads inside the null; empty if they do.

    Args:
        values: values of a measure, NaN for heads without one.
        inside: from `inside_null`.
    """
    present = values.dropna()
    if takes_few_values(present):
        return "fewer than five different values"
    if present.duplicated(keep=False).mean() > 0.5:
        return "most heads are tied with another head"
    if inside is not None and inside[present.index].mean() >= MOST_HEADS:
        return (
            f"{int(inside[present.index].sum())} of {len(present)} heads cannot be distinguished from heads without the effect"
        )
    return ""


def unranked(table: pd.DataFrame, names: Sequence[str], chances: Mapping[str, float]) -> dict[str, str]:
    """Measure -> why its ranks say nothing, for those of some measures that cannot be ranked.

    Args:
        table: heads.tsv.
        names: its numeric columns to judge.
        chances: measure -> value of a head without the effect, as in measures.tsv.
    """
    reasons = {name: why_not_ranked(table[name], inside_null(table, name, chances.get(name))) for name in names}
    return {name: reason for name, reason in reasons.items() if reason}


def read_chances(path: str | Path) -> dict[str, float]:
    """Measure -> value of a head without the effect, of measures.tsv.

    Raises:
        AtlasError: the table cannot be used.
    """
    return read_table(path, MEASURES).set_index("measure")["chance"].dropna().astype(float).to_dict()


def read_measures(
    tables: Mapping[str, str | Path], layers: int, heads: int, skip_reasons: Mapping[str, str] | None = None
) -> HeadMeasures:
    """One row per head with all measures whose tables exist, and the properties of each measure.

    Args:
        tables: `study/name` -> file, for the tables of the run.
        layers, heads: shape of the model.
        skip_reasons: table -> why the run has no such table; for studies that the run lacks there is a default reason.

    Raises:
        AtlasError: a table cannot be used, or its model has a different shape.
    """
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    measured = HeadMeasures(pd.DataFrame({"layer": layer, "head": head}))
    for source in SOURCES:
        names = [measure.name for measure in source.measures]
        if not source.tables.keys() <= tables.keys():
            reason = (skip_reasons or {}).get(source.table, f"this run does not build {source.table}")
            measured.absent |= dict.fromkeys(names, reason)
            continue
        source_table = read_table(tables[source.table], list(source.tables[source.table]))
        if source.further:
            measured.further[source] = source.further(source_table)
            names = [measure.name for measure in measured.of(source)]
        if source.chances:
            measured.chances |= {name: value for name, value in source.chances(source_table).items() if name in names}
        reasons = {
            part: reason
            for name, reason in (source.reasons(source_table) if source.reasons else {}).items()
            for part in (name, *parts_of(name))
        }
        source_rows = source.select(source_table)
        _check(source_rows, layers, heads, tables[source.table])
        for name in names:
            if name not in source_rows or source_rows[name].isna().all():
                measured.absent[name] = reasons.get(name) or _why_empty(name, source_rows, source.table)
        for name in numeric(source_rows[[name for name in names if name not in measured.absent]]):
            # Such as attention to the next token in a causal model.
            if source.attention_alone and (source_rows[name] == 0).all():
                measured.absent |= dict.fromkeys((name, *set(parts_of(name)) & set(names)), "all heads have the value 0")
        present = [name for name in names if name not in measured.absent]
        measured.table = measured.table.merge(source_rows[[*PLACE, *present]], on=PLACE, how="left", validate="one_to_one")
        _add_q_by_interval(measured, source)
        if source.examples:
            numbers = source.examples.select(source_table)
            measured.examples |= {
                name: int(numbers[name].min()) for name in present if name in numbers and numbers[name].notna().any()
            }
        if caution := source.caution:
            reason = caution.reason(read_table(tables[caution.table], list(caution.columns)))
            parts = {part for name in names for part in parts_of(name)}
            measured.warnings |= {name: reason for name in present if reason and name not in parts}
    return measured


def _add_q_by_interval(measured: HeadMeasures, source: Source) -> None:
    """Add q over heads to the measures of a source that have intervals and a chance value, but no null distribution.

    With a null distribution, q is that of its draws or missing: a head differs from uniform attention without being unlike
    heads with random weights. A simultaneous interval of two directions gives the p of the better one, corrected for the
    choice.
    """
    for measure in measured.of(source):
        null_low, _, q = null_of(measure.name)
        low, high = ends_of(measure.name)
        chance = measured.chance_of(measure)
        if chance is None or not {measure.name, low, high} <= set(measured.table) or {null_low, q} & set(measured.table):
            continue
        table = measured.table
        p = p_of_intervals(table[measure.name], table[low], table[high], chance)
        tested = np.isfinite(p)
        if not tested.any():
            continue
        p[tested] = corrected_p(p[tested], "bh", 0, LEVEL)
        # Not inserted: pandas warns of tables with columns inserted one by one.
        measured.table = pd.concat([table, pd.DataFrame({q: p}, index=table.index)], axis=1)
        title = f"{measure.title}: q over heads, from the intervals"
        measured.further[source] = (*measured.further.get(source, ()), Measure(q, title, measure.item, "", part=True))
        measured.by_interval.add(measure.name)


def _why_empty(name: str, source_rows: pd.DataFrame, table: str) -> str:
    """Why a column of a source has no value; q can be missing although its measure has values."""
    scored = name.removesuffix(Q)
    if scored != name and scored in source_rows and source_rows[scored].notna().any():
        return "the null distribution has too few draws: with so many heads, q could not fall below its level"
    return f"{table} has no values: this measure does not apply to this model or corpus"


def _check(source_rows: pd.DataFrame, layers: int, heads: int, path: str | Path) -> None:
    if source_rows.duplicated(PLACE).any():
        raise AtlasError(f"{path}: several rows for one head, but the atlas needs one. Delete the table and run again.")
    if len(source_rows) and (source_rows["layer"].max() > layers or source_rows["head"].max() > heads):
        raise AtlasError(
            f"{path}: this table names layer {source_rows['layer'].max()} and head {source_rows['head'].max()}, but the model "
            f"has {layers} layers of {heads} heads: an atlas covers one model and the models fine-tuned from it."
        )


def measure_rows(measured: HeadMeasures, models: Mapping[str, str]) -> pd.DataFrame:
    """One row per measure, columns `MEASURES`.

    Description, model (by table) and number of heads; n: number of examples (n_unit), the smallest of any head; null: source of
    the values in its null distribution; chance: its value for a head without the effect; inside_null: number of heads that
    cannot be distinguished from such heads; about: the measure that names the object of a value; note: why it is missing;
    warning: why it says nothing about heads; calibration: what its values are compared with, or why they are not compared, and
    why they are not ranked.
    """
    table, rows = measured.table, []
    reasons = unranked(table, numeric(table), measured.known_chances())
    for source in SOURCES:
        for measure in measured.of(source):
            present = measure.name in table
            kind = "" if not present else ("number" if pd.api.types.is_numeric_dtype(table[measure.name]) else "name")
            count = int(table[measure.name].notna().sum()) if present else 0
            facts = (measure.name, measure.title, source.group, source.study, measure.item, measure.unit, measure.higher_means)
            n = measured.examples.get(measure.name)
            n_unit = source.examples.unit if source.examples and n is not None else ""
            chance = measured.chance_of(measure)
            inside = inside_null(table, measure.name, chance) if present else None
            null = (measure.null, chance, None if inside is None else int(inside.sum()))
            rows.append(
                [*facts, models.get(source.table, "") if present else "", kind, count, n, n_unit, *null, measure.about]
                + [known.get(measure.name, "") for known in (measured.absent, measured.warnings)]
                + [
                    calibration(measure, source, table, chance, measure.name in measured.by_interval)
                    + (f" Not ranked or correlated: {reasons[measure.name]}." if measure.name in reasons else "")
                ]
            )
    return pd.DataFrame(rows, columns=MEASURES).astype({"n": "Int64", "inside_null": "Int64"})


def calibration(
    measure: Measure, source: Source, table: pd.DataFrame, chance: float | None = None, by_interval: bool = False
) -> str:
    """What the values of a measure are compared with, or why they are not, and why it has no interval: one to three sentences.

    Args:
        measure: one of the measures of `source`.
        source: source of the measure.
        table: heads.tsv.
        chance: value of a head without the effect.
        by_interval: whether its q follows from the intervals of the heads.
    """
    if measure.name not in table:
        return "Not measured: see the note."
    if not pd.api.types.is_numeric_dtype(table[measure.name]):
        return "Categorical: not tested."
    names = {one.name: one.title for one in source.measures}
    if of := next((name for name in (*names, *table.columns) if measure.name in parts_of(name)), ""):
        return f"Belongs to {of}."
    ends = all(end in table for end in ends_of(measure.name))
    tested = null_of(measure.name)[-1] in table and table[null_of(measure.name)[-1]].notna().any()
    adjusted = names.get(null_of(measure.name)[-1], "").endswith(ADJUSTED)
    q = "" if not tested else f"{ADJUSTED}." if adjusted else "q over all heads."
    q = "q over all heads, from their intervals." if by_interval else q
    if measure.null and null_of(measure.name)[0] in table:
        said = f"Compared with {measure.null}; {q or 'too few draws for q.'}"
    elif chance is not None and not pd.isna(chance):
        said = f"Compared with {chance:.4g}, the value of a head without the effect: {q or 'without a test.'}"
    else:
        said = f"No null: {_lower(source.no_null)}" if source.no_null else "No null: the table has none."
    if not ends:
        said += f" No interval: {_lower(source.no_interval or 'The table has none.')}"
    return said


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def by_definition(first: str, second: str) -> bool:
    """Whether two measures correlate by definition (`Measure.shares`)."""
    return second in _SHARES.get(first, ()) or first in _SHARES.get(second, ())


def inside_null(table: pd.DataFrame, name: str, chance: float | None = None) -> pd.Series | None:
    """Which heads cannot be distinguished from heads without the effect; None if this is unknown for the measure.

    By q, if the measure has it: q is not below `LEVEL`, or is missing. Otherwise by the interval: it contains the value
    `chance`. A head without a value is not among them.

    Args:
        table: heads.tsv.
        name: one of its columns.
        chance: value of a head without the effect; None or NaN if unknown.
    """
    *_, q = null_of(name)
    if q in table and table[q].notna().any():
        return table[name].notna() & ~(table[q] < LEVEL)
    low, high = ends_of(name)
    if chance is not None and not pd.isna(chance) and low in table and high in table:
        return (table[low] <= chance) & (table[high] >= chance)
    return None


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
    """Write heads.tsv (model, layer, head and one column per measure), measures.tsv (`MEASURES`) and its page.

    Args:
        tables: see `read_measures`.
        model: the run's model, by its name in the registry.
        shape: its number of layers, and of heads per layer.
        models: table -> the model whose heads it measures: the run's model, or one trained from it.
        skip_reasons: see `read_measures`.
        out, measures_out, html_out: files to write.
        run: title of the run.

    Raises:
        AtlasError: as for `read_measures`, or the run has no table.
    """
    if not tables:
        raise AtlasError("the run builds no study that measures single heads: name one in the run.")
    layers, heads = shape
    measured = read_measures(tables, layers, heads, skip_reasons)
    write_table(pd.concat([pd.Series(model, measured.table.index, name="model"), measured.table], axis=1), out)
    rows = measure_rows(measured, models)
    write_table(rows, measures_out)
    notes = [
        f"{run}: {model}, {layers} layers of {heads} heads.",
        f"Columns of heads.tsv: {(rows['note'] == '').sum()} of {len(rows)} measures; the others are left out, with the "
        "reason. A measure of a model that was trained further is that of the head with the same layer and number. n: examples "
        "that it is taken over, the smallest number of any head.",
    ]
    formats = {"heads": "d", "n": "d", "inside_null": "d"}
    write_html_table(rows, html_out, "The atlas: measures of single heads", notes, formats=formats, layout=Layout("group"))


_SHARES = {measure.name: measure.shares for source in SOURCES for measure in source.measures}
_PARTS = frozenset(measure.name for source in SOURCES for measure in source.measures if measure.part)


def numeric(table: pd.DataFrame) -> list[str]:
    """Columns of heads.tsv that are numeric measures, without the parts of other measures."""
    parts = _PARTS.union(part for name in table.columns for part in parts_of(name))
    return [
        name
        for name in table.columns
        if name not in (*PLACE, "model") and name not in parts and pd.api.types.is_numeric_dtype(table[name])
    ]
