"""Find the measured value of each published one in a run's tables, and decide whether both are the same quantity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import RunLabel
from attention_atlas.published.compare import CLOSE, EXACT, NO, SETTING, Measured
from attention_atlas.published.values import Cell, Number, Published, Scalar, joined, scalar

_COLUMN = re.compile(r"(?:(mean|sum|max|min)\((\w+)\)|(\w+))")
STAND_INS = "generated stand-ins"
"""Obstacle of values that a run on the published models and corpora could compare."""
_OF_RELEASED = {"segments built by the same recipe, sampled again": "", "read off a figure": "; theirs is read off a figure"}
"""What differs of close values where maps are computed, and not where those of the authors are read -> what to say then."""
_DEFAULT = {SETTING: "a choice of this run", NO: "not the same quantity"}


class NotMeasured(Exception):
    """A run has no such number; the message says why."""


class SmallerModel(NotMeasured):
    """The run's model has no such layer or head."""


class Sameness(NamedTuple):
    """Whether a run measures the same quantity as a published value, why, and the obstacle."""

    comparable: str
    why: str
    obstacle: str = ""


class MeasuredNumber(NamedTuple):
    """The measured value of one published number: in the published unit, with its interval, its n, and its rows."""

    value: Scalar
    interval: tuple[float | None, float | None]
    n: int | None
    rows: pd.DataFrame


class Quantity(NamedTuple):
    """A number (or text) that is computed from a run's tables, since none of them holds it."""

    quantity: str
    value: Any
    n: int | None = None
    remark: str = ""


class Tables:
    """The tables of a run by name."""

    def __init__(self, frames: Mapping[str, pd.DataFrame]) -> None:
        self.frames = frames
        self._texts: dict[tuple[str, str], np.ndarray] = {}  # columns that select rows, as texts

    def rows(self, cell: Cell) -> pd.DataFrame:
        """The rows that a cell names, or NotMeasured."""
        if cell.artefact not in self.frames:
            raise NotMeasured(f"this run has no {cell.artefact}.tsv")
        frame = self.frames[cell.artefact]
        selected = np.ones(len(frame), np.bool_)
        for name, value in cell.where.items():
            if name not in frame:
                raise NotMeasured(f"no column {name} in {cell.artefact}.tsv")
            if (cell.artefact, name) not in self._texts:
                self._texts[cell.artefact, name] = _as_text(frame[name])
            choices = [f"{frame[name].max():g}"] if value == "last" else value.split("|")
            selected &= np.logical_or.reduce([self._texts[cell.artefact, name] == choice for choice in choices])
        if cell.where and not selected.any():
            for name, unit in (("layer", "layers"), ("head", "heads per layer")):
                if name in cell.where and cell.where[name].isdigit() and int(cell.where[name]) > frame[name].max():
                    raise SmallerModel(f"this run's model has {frame[name].max():.0f} {unit}")
            raise NotMeasured(f"no row with {in_words(cell.where)} in {cell.artefact}.tsv of this run")
        return frame.take(np.flatnonzero(selected))

    def number(self, number: Number) -> MeasuredNumber:
        """The measured value of a published number, in the published unit, or NotMeasured."""
        cell = number.cell
        if cell is None:
            raise NotMeasured("no table contains it")
        rows = self.rows(cell)
        match = _COLUMN.fullmatch(cell.column)
        if match is None:
            raise AtlasError(f"published values: '{cell.column}' is neither a column nor mean(), sum(), max() or min() of one.")
        aggregate, column = match[1], match[2] or match[3]
        interval_columns = [f"{cell.interval}_low", f"{cell.interval}_high"] if cell.interval else []
        if absent := [name for name in (column, *interval_columns, *([cell.n] if cell.n else [])) if name not in rows]:
            raise NotMeasured(f"no column {absent[0]} in {cell.artefact}.tsv")
        if rows[column].isna().all():
            raise NotMeasured("this run has no value for it")
        if aggregate in ("max", "min"):
            rows = rows.loc[[getattr(rows[column], f"idx{aggregate}")()]]
        elif aggregate is None and len(rows) > 1:
            place = f"{cell.artefact} has {len(rows)} rows with {in_words(cell.where)}"
            raise AtlasError(f"published values: {place}; name one, or mean({column}).")
        first = rows[column].iloc[0]
        n = int(rows[cell.n].iloc[0]) if cell.n and pd.notna(rows[cell.n].iloc[0]) else None
        if isinstance(first, str) and isinstance(scalar(first), str):
            return MeasuredNumber(first, (None, None), n, rows)

        def scaled(name: str) -> float:
            values = rows[name].astype(float)
            value = float(values.sum() if aggregate == "sum" else values.mean())
            return value * cell.scale.numerator / cell.scale.denominator

        value = scaled(column)
        whole = isinstance(number.target, int) and value.is_integer()
        low, high = (scaled(name) for name in interval_columns) if interval_columns else (None, None)
        return MeasuredNumber(int(value) if whole else value, (low, high), n, rows)


def measure(
    published: Mapping[str, Published], frames: Mapping[str, pd.DataFrame], labels: Mapping[str, RunLabel]
) -> dict[str, Measured]:
    """Our side of every published value, from the run's tables by name; labels: role -> model and corpus of the run."""
    tables = Tables(frames)
    return {value.id: _measured(value, tables, labels) for value in published.values()}


def quantities(rows: Iterable[Quantity]) -> pd.DataFrame:
    """A table of quantities, one row each."""
    return pd.DataFrame(list(rows), columns=list(Quantity._fields)).astype({"value": object, "n": "Int64"})


def sameness(value: Published, labels: Mapping[str, RunLabel]) -> Sameness:
    """Kind of comparison between a number of a run and a published one, and its reason; sample sizes are not considered."""
    role = next((role for role in value.role.split("|") if role in labels), None)
    if value.role and role is None:
        raise NotMeasured(f"this run names nothing for {value.role.replace('|', ' or ')}")
    if value.comparable not in (EXACT, CLOSE):
        return Sameness(value.comparable, value.why or _DEFAULT.get(value.comparable, ""))
    if role is not None:
        label = labels[role]
        model, corpus = (label.model_reference, label.model), (label.corpus_reference, label.corpus)
        different = [
            (f"{what} {ours} instead of {value.same[key]}", f"another {what}")
            for key, what, (reference, ours) in (("model", "model", model), ("data", "corpus", corpus))
            if key in value.same and reference != value.same[key]
        ]
        if different:
            return Sameness(NO, *map(" and ".join, zip(*different, strict=True)))
    same = [f"{name} {reference}" for name, reference in value.same.items()]
    if any(label.stand_in for label in labels.values()):
        named = " and ".join(same) or "its model or corpus"
        return Sameness(NO, f"would be compared, but {named} is a generated stand-in here", STAND_INS)
    if role is not None and labels[role].released and value.recipe in _OF_RELEASED:
        return Sameness(EXACT, f"the maps that the authors released{_OF_RELEASED[value.recipe]}")
    recipe = f"different recipe: {value.recipe}" if value.recipe else "same recipe"
    return Sameness(value.comparable, "; ".join([f"same {' and '.join(same)}", recipe] if same else [recipe]))


def _with_size(value: Published, kind: Sameness, n: int | None) -> tuple[str, str]:
    """Kind of comparison, and its reason with the number of units; an exact one needs the published number."""
    if kind.comparable not in (EXACT, CLOSE):
        return kind.comparable, kind.why
    if value.size is None:
        return kind.comparable, f"{kind.why}; size not published{'' if n is None else f' (here {n})'}"
    if n == value.size:
        return kind.comparable, f"{kind.why}; same size ({n})"
    size = f"size not measured (published {value.size})" if n is None else f"different size ({n}, published {value.size})"
    return CLOSE, f"{kind.why}; {size}"


def _measured(value: Published, tables: Tables, labels: Mapping[str, RunLabel]) -> Measured:
    compared = [number for number in value.numbers if number.cell is not None]
    if not compared:
        return Measured(None, NO, _sentences(value.why or "nothing in this run measures it", value.fault))
    try:
        kind = sameness(value, labels)
    except NotMeasured as error:
        return Measured(None, NO, _sentences(str(error), value.fault), obstacle="no such role in this run")
    ours: list[tuple[Number, MeasuredNumber]] = []
    obstacle, missing = kind.obstacle, ""
    for number in compared:
        try:
            ours.append((number, tables.number(number)))
        except NotMeasured as error:
            is_smaller = isinstance(error, SmallerModel)
            obstacle = obstacle or ("a smaller model" if is_smaller else "not measured")
            absent = value.absent or (value.why if value.comparable == NO else "")
            missing = missing or (str(error) if is_smaller or not absent else absent)
    if not ours:
        return Measured(None, NO, _sentences(missing, value.fault), obstacle=obstacle)
    first = ours[0][1]
    row = {name: first.rows[name].iloc[0] for name in first.rows} if value.remark else {}
    comparable, why = _with_size(value, kind, first.n)
    if missing:
        count_note = f"{len(ours)} of {len(compared)} values"
        why = _sentences(why, count_note) if comparable == NO else _sentences(count_note, missing)
        comparable = NO
    numbers, measured_numbers = zip(*ours, strict=True)
    parts, values = [number.part for number in numbers], [number.value for number in measured_numbers]
    return Measured(
        values if len(compared) > 1 and not parts[0] else joined(values, parts),
        comparable,
        _sentences(why, value.remark.format_map(row), value.fault),
        *(first.interval if len(compared) == 1 else (None, None)),
        first.n,
        numbers,
        obstacle,
    )


def in_words(where: Mapping[str, str]) -> str:
    """Conditions on columns as text."""
    return ", ".join(f"{name} {value}" for name, value in where.items())


def _as_text(column: pd.Series) -> np.ndarray:
    """A column as texts: whole numbers without a decimal point, whatever their type."""
    if pd.api.types.is_float_dtype(column):
        column = column.map(lambda number: "" if pd.isna(number) else f"{number:g}")
    return column.astype(str).to_numpy(dtype=object)


def _sentences(*parts: str) -> str:
    return ". ".join(part[:1].upper() + part[1:] if place else part for place, part in enumerate(filter(None, parts)))
