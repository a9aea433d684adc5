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
from attention_atlas.methods.head_measures import PARTS, PLACE, Measure, Source
from attention_atlas.stats.significance import LEVEL, p_of_intervals
from attention_atlas.stats.simultaneous import corrected_p
from attention_atlas.studies import study_modules

MEASURES = [
    *("measure", "title", "group", "study", "item", "unit", "higher_means", "lower_means", "model", "kind", "heads", "n"),
    *("n_unit", "null", "chance", "inside_null", "about", "note", "warning", "calibration", "not_ranked"),
]
LONG = ["measure", *PLACE, "value", *PARTS, "verdict"]
BEYOND, INSIDE = "beyond the null", "not beyond the null"
"""Verdicts on a head: whether it can be distinguished from heads without the effect; empty where this was not tested."""
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
    """heads: one row per head, layer and head from 1, and a column per measure; long: one row per head and measure that is a
    number (`LONG`).

    By measure: why it is missing, why it says nothing about heads, and its value for a head without the effect.
    """

    heads: pd.DataFrame
    long: pd.DataFrame
    absent: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
    chances: dict[str, float] = field(default_factory=dict)


def takes_few_values(values: pd.Series | Sequence[float]) -> bool:
    return int(pd.Series(values).nunique()) < LEAST_VALUES


def why_not_ranked(values: pd.Series, inside: int) -> str:
    """Why ranks of heads say nothing: few values, most heads tied, or nearly all heads `inside` the null; else empty."""
    present = values.dropna()
    if takes_few_values(present):
        return "fewer than five different values"
    if present.duplicated(keep=False).mean() > 0.5:
        return "most heads are tied with another head"
    if inside >= MOST_HEADS * len(present):
        return f"{inside} of {len(present)} heads cannot be distinguished from heads without the effect"
    return ""


def read_measures(
    tables: Mapping[str, pd.DataFrame], layers: int, heads: int, skip_reasons: Mapping[str, str] = MappingProxyType({})
) -> HeadMeasures:
    """Measures of all tables (`study/name` -> table) of a model of this shape; `skip_reasons`: why the run lacks a table."""
    layer, head = np.indices((layers, heads)).reshape(2, -1) + 1
    table = pd.DataFrame({"layer": layer, "head": head})
    measured = HeadMeasures(table, pd.DataFrame(columns=LONG))
    columns, frames = [table], []
    for source in SOURCES:
        if not source.tables.keys() <= tables.keys():
            reason = skip_reasons.get(source.table, f"this run does not build {source.table}")
            measured.absent |= {measure.name: reason for measure in source.measures}
            continue
        frames_of_source = {name: with_columns(tables[name], needed, name) for name, needed in source.tables.items()}
        rows = _rows_of(source, frames_of_source, measured, layers, heads)
        for measure in source.measures:
            of_measure = rows[rows["measure"] == measure.name]
            if measure.name in measured.absent:
                continue
            values = table.merge(of_measure.drop(columns="measure"), on=PLACE, how="left", validate="one_to_one")
            columns.append(values["value"].infer_objects().rename(measure.name))
            if measure.unit:
                frames.append(_tested(values.assign(measure=measure.name), measure, measured.chances.get(measure.name)))
    measured.heads = pd.concat(columns, axis=1)
    if frames:
        measured.long = pd.concat(frames, ignore_index=True)
    return measured


def _rows_of(
    source: Source, frames: Mapping[str, pd.DataFrame], measured: HeadMeasures, layers: int, heads: int
) -> pd.DataFrame:
    """The rows of a source's measures; adds to `measured` which are absent, their warnings, and their chance values."""
    table = frames[source.table]
    rows = source.select(table).reindex(columns=["measure", *PLACE, "value", *PARTS])
    if rows.duplicated(["measure", *PLACE]).any():
        raise AtlasError(f"{source.table}: several rows for one head, but the atlas needs one. Delete the table and run again.")
    if len(rows) and (rows["layer"].max() > layers or rows["head"].max() > heads):
        raise AtlasError(
            f"{source.table}: this table names layer {rows['layer'].max()} and head {rows['head'].max()}, but "
            f"the model has {layers} layers of {heads} heads: an atlas covers one model and the models fine-tuned from it."
        )
    reasons = source.reasons(table) if source.reasons else {}
    nothing = f"{source.table} has no values: this measure does not apply to this model or corpus"
    present = {str(name): values for name, values in rows.groupby("measure")["value"] if values.notna().any()}
    names = [measure.name for measure in source.measures]
    measured.absent |= {name: reasons.get(name) or nothing for name in names if name not in present}
    if source.attention_alone:
        # Such as attention to [SEP] of a causal model that cannot see it.
        measured.absent |= {name: "all heads have the value 0" for name, values in present.items() if (values == 0).all()}
    chances = {measure.name: measure.chance for measure in source.measures if measure.chance is not None}
    chances |= source.chances(table) if source.chances else {}
    measured.chances |= {name: float(chances[name]) for name in names if name in chances}
    if source.caution and (reason := source.caution.reason(frames[source.caution.table])):
        measured.warnings |= dict.fromkeys(present, reason)
    return rows


def _tested(rows: pd.DataFrame, measure: Measure, chance: float | None) -> pd.DataFrame:
    """The rows of all heads on a measure, columns `LONG`.

    q is that of the table; without one, and without a null distribution, it follows from intervals and the chance value. The
    verdict is by q, if the measure has it, otherwise by the interval. Where only high values mean anything, a head below the
    chance value is not beyond the null.
    """
    rows = rows.astype(dict.fromkeys(("value", *PARTS), float))
    if chance is not None and not rows[["null_low", "q"]].notna().any(axis=None):
        p = p_of_intervals(rows["value"], rows["low"], rows["high"], chance, measure.one_sided)
        if (tested := np.isfinite(p)).any():
            p[tested] = corrected_p(p[tested], "bh", 0, LEVEL)
            rows["q"] = p
    beyond = None
    if rows["q"].notna().any():
        beyond = rows["q"] < LEVEL
    elif chance is not None and rows["low"].notna().any() and rows["null_low"].isna().all():
        beyond = (rows["low"] > chance) | (rows["high"] < chance)
    if beyond is None:
        return rows.assign(verdict="")[LONG]
    if measure.one_sided and chance is not None:
        beyond &= rows["value"] > chance
    verdict = np.where(rows["value"].isna(), "", np.where(beyond, BEYOND, INSIDE))
    return rows.assign(verdict=verdict)[LONG]


def measure_rows(measured: HeadMeasures, models: Mapping[str, str]) -> pd.DataFrame:
    """One row per measure, columns `MEASURES`.

    n: number of examples (n_unit), the smallest of any head; chance: value of a head without the effect; inside_null: number of
    heads that cannot be distinguished from such heads; note: why it is missing; warning: why it says nothing about heads;
    calibration: what its values are compared with, or why they are not compared; not_ranked: why its ranks say nothing.
    """
    rows = []
    for source in SOURCES:
        for measure in source.measures:
            name, chance = measure.name, measured.chances.get(measure.name)
            present, numbers = name in measured.heads, measured.long[measured.long["measure"] == name]
            inside = int((numbers["verdict"] == INSIDE).sum())
            facts = ("title", "item", "unit", "higher_means", "lower_means", "null", "about")
            n = numbers.loc[numbers["value"].notna(), "n"].min()
            rows.append(
                {
                    "measure": name,
                    **{key: getattr(measure, key) for key in facts},
                    **{"group": source.group, "study": source.study},
                    "model": models.get(source.table, "") if present else "",
                    "kind": ("number" if measure.unit else "name") if present else "",
                    "heads": int(measured.heads[name].notna().sum()) if present else 0,
                    "n": n,
                    "n_unit": "" if pd.isna(n) else source.n_unit,
                    "chance": chance,
                    "inside_null": inside if (numbers["verdict"] != "").any() else None,
                    "note": measured.absent.get(name, ""),
                    "warning": measured.warnings.get(name, ""),
                    "calibration": calibration(measure, source, numbers, chance) if present else "Not measured: see the note.",
                    "not_ranked": why_not_ranked(numbers["value"], inside) if len(numbers) else "",
                }
            )
    return pd.DataFrame(rows, columns=MEASURES).astype({"n": "Int64", "inside_null": "Int64"})


def calibration(measure: Measure, source: Source, rows: pd.DataFrame, chance: float | None) -> str:
    """What the values of a measure are compared with, or why they are not, and why it has no interval, in sentences."""
    if not measure.unit:
        return "Categorical: not tested."
    has = rows.notna().any()
    q = "" if not has["q"] else ("p adjusted for all heads." if measure.adjusted else "q over all heads.")
    side = "only higher values count; " if measure.one_sided else ""
    if has["null_low"]:
        said = f"Compared with {measure.null}: {side}{q or 'too few draws for q.'}"
    elif chance is not None:
        said = f"Compared with {chance:.4g}, the value of a head without the effect: {side}{q or 'without a test.'}"
    else:
        said = f"No null: {source.no_null[:1].lower()}{source.no_null[1:]}" if source.no_null else "No null."
    if not has["low"]:
        said += " No interval."
    return f"{said} Interval: {measure.interval}." if measure.interval else said


def by_definition(first: str, second: str) -> bool:
    """Whether two measures correlate by definition (`Measure.shares`)."""
    return second in _SHARES.get(first, ()) or first in _SHARES.get(second, ())


_SHARES = {measure.name: measure.shares for source in SOURCES for measure in source.measures}


def numeric(heads: pd.DataFrame) -> list[str]:
    """Measures of heads.tsv that are numbers."""
    return [str(name) for name in heads.select_dtypes("number").columns if name not in PLACE]
