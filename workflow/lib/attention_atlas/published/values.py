"""The published numbers, with their sources: workflow/resources/published/{study}.csv, one row per number."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import RESOURCES
from attention_atlas.io.tables import read_table

_FOLDER = RESOURCES / "published"
Scalar = int | float | str
Value = Scalar | list[Scalar] | dict[str, Scalar] | None
"""A number or a text; several, in their order or by name; None where the paper's cell is lost."""


@dataclass(frozen=True)
class Cell:
    """The place of a number in this project's tables, see workflow/resources/published/README.md."""

    artefact: str
    where: Mapping[str, str]
    column: str
    interval: str
    n: str
    scale: Fraction


@dataclass(frozen=True)
class Number:
    """One published number (or text), as printed or read off a figure (None where it is lost), and the place of ours."""

    value: Scalar | None
    part: str
    corrected: Scalar | None
    cell: Cell | None
    decimals: int | None = None  # as printed, with trailing zeros; None where they are those of the shortest text

    @property
    def target(self) -> Scalar | None:
        """The value to compare with."""
        return self.value if self.corrected is None else self.corrected


@dataclass(frozen=True)
class Published:
    """One published value: a number, or several that belong together; fields: workflow/resources/published/README.md."""

    id: str
    item: str
    quantity: str
    unit: str
    tolerance: float | None
    role: str
    same: Mapping[str, str]
    comparable: str
    recipe: str
    size: int | None
    never: str
    why: str
    absent: str
    remark: str
    fault: str
    model: str
    dataset: str
    kind: str
    confidence: str
    source: str
    note: str
    details: Mapping[str, str]
    numbers: tuple[Number, ...]

    @property
    def value(self) -> Value:
        """The number; several as a list, or by name."""
        return joined([number.value for number in self.numbers], [number.part for number in self.numbers])


_OF_CELL = ("artefact", "where", "column", "interval", "n", "scale")
_OF_NUMBER = (*_OF_CELL, "value", "part", "corrected")
_OF_VALUE = tuple(field.name for field in fields(Published) if field.name != "numbers")
COLUMNS = ("id", "item", "quantity", *_OF_NUMBER, *_OF_VALUE[3:])


def load_published(study: str) -> dict[str, Published]:
    """Published values of a study: id -> value, in the order of the file."""
    path = _FOLDER / f"{study}.csv"
    if not path.is_file():
        raise AtlasError(f"{path}: there are no published values of study {study}.")
    values: dict[str, Published] = {}
    for line, row in _rows(path):
        try:
            value = _value(row)
        except ValueError as error:
            raise AtlasError(f"{path}:{line}: {error}.") from error
        earlier = values.get(value.id)
        if earlier is not None:
            if value.id != next(reversed(values)):
                raise AtlasError(f"{path}:{line}: the rows of id {value.id} must be consecutive.")
            if differing := [name for name in _OF_VALUE if getattr(value, name) != getattr(earlier, name)]:
                raise AtlasError(f"{path}:{line}: {differing[0]} differs from that of the other rows of {value.id}.")
            value = replace(value, numbers=earlier.numbers + value.numbers)
        values[value.id] = value
    return values


def printed(published: Mapping[str, Published], item: str, column: str, **where: object) -> Published | None:
    """The published value of one cell of our tables (some columns and values of it), or None where nothing is printed."""
    conditions = {name: str(value) for name, value in where.items()}.items()
    cells = ((value, value.numbers[0].cell) for value in published.values() if value.item == item)
    return next((value for value, cell in cells if cell and cell.column == column and conditions <= cell.where.items()), None)


def published_column(
    published: Mapping[str, Published], item: str, artefact: str, column: str, frame: pd.DataFrame
) -> list[float | None]:
    """The published number of every row of one of our tables (`frame`), in our unit; None where none is printed. item: of the
    paper; artefact, column: our table, and its column beside which the numbers are shown.
    """
    numbers: dict[tuple[tuple[str, str], ...], float] = {}
    for number in (number for value in published.values() if value.item == item for number in value.numbers):
        cell, printed_number = number.cell, number.value
        if cell and (cell.artefact, cell.column) == (artefact, column) and not isinstance(printed_number, str | None):
            for choice in product(*(text.split("|") for text in cell.where.values())):
                numbers.setdefault(tuple(zip(cell.where, choice, strict=True)), float(printed_number / cell.scale))
    names = dict.fromkeys(tuple(name for name, _ in key) for key in numbers)
    rows = [{name: str(text) for name, text in row.items()} for row in frame.to_dict("records")]
    keys = [[tuple((name, row[name]) for name in of if name in row) for of in names] for row in rows]
    return [next((numbers[key] for key in row_keys if key in numbers), None) for row_keys in keys]


def published_rows(study: str, ids: Iterable[str]) -> pd.DataFrame:
    """Published numbers to draw, one row each: id, published_model, value (in our unit; misprints corrected), and the keys of
    their places, such as task and layer.
    """
    values = load_published(study)
    rows = [
        {"id": name, "published_model": values[name].model, "value": float(number.target) / float(number.cell.scale)}
        | {key: int(text) if text.isdecimal() else text for key, text in number.cell.where.items()}
        for name in ids
        for number in values[name].numbers
        if number.cell is not None and number.target is not None
    ]
    return pd.DataFrame(rows, columns=None if rows else ["id", "published_model", "value"])


def rows_of_column(study: str, artefact: str, column: str) -> pd.DataFrame:
    """`published_rows` of the values whose place is this column of one of our tables."""
    cells = ((name, value.numbers[0].cell) for name, value in load_published(study).items())
    return published_rows(study, [name for name, cell in cells if cell and (cell.artefact, cell.column) == (artefact, column)])


def load_digitised(name: str) -> pd.DataFrame:
    """Values that were read off a published figure, one row for each head: published/digitised/{name}.csv."""
    return read_table(_FOLDER / "digitised" / f"{name}.csv", separator=",")


def joined(values: Sequence[Scalar | None], parts: Sequence[str]) -> Value:
    """A single value unchanged; several as a list, or by name where they have names."""
    if len(values) == 1 and not parts[0]:
        return values[0]
    present = [value for value in values if value is not None]
    return dict(zip(parts, present, strict=True)) if any(parts) else present


def scalar(text: str) -> Scalar | None:
    """A number where the text is one; None for an empty text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def half_unit(number: Number, tolerance: float | None) -> float:
    """Half a unit of the last digit of the printed (or corrected) number; or the tolerance of a value read off a figure."""
    if tolerance is not None:
        return tolerance
    decimals = (_decimals(str(number.target)) or 0) if number.decimals is None else number.decimals
    return 0.5 * 10.0**-decimals


def _decimals(text: str) -> int | None:
    """Digits after the decimal point of a number as written (5e-05 has five); None for other texts."""
    try:
        exponent = Decimal(text).as_tuple().exponent
    except InvalidOperation:
        return None
    return max(-exponent, 0) if isinstance(exponent, int) else None


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Number of the line and cells of each row, as texts."""
    with path.open(encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle, restval="")
        if absent := set(COLUMNS) - set(reader.fieldnames or []):
            raise AtlasError(f"{path}:1: the column '{min(absent)}' is missing.")
        for row in reader:
            if None in row:
                raise AtlasError(f"{path}:{reader.line_num}: this row has more cells than there are columns.")
            yield reader.line_num, row


def _value(row: Mapping[str, str]) -> Published:
    cell = None
    if row["artefact"]:
        if not row["column"]:
            raise ValueError(f"the table {row['artefact']} is named without a column")
        where, scale = _pairs(row["where"]), Fraction(row["scale"] or 1)
        cell = Cell(row["artefact"], where, row["column"], row["interval"], row["n"], scale)
    decimals = _decimals(row["corrected"] or row["value"])
    number = Number(scalar(row["value"]), row["part"], scalar(row["corrected"]), cell, decimals)
    fields_of_row: dict[str, Any] = {name: row[name] for name in _OF_VALUE}
    fields_of_row |= {"same": _pairs(row["same"]), "details": _pairs(row["details"]), "numbers": (number,)}
    fields_of_row |= {name: kind(row[name]) if row[name] else None for name, kind in (("tolerance", float), ("size", int))}
    return Published(**fields_of_row)


def _pairs(text: str) -> dict[str, str]:
    """`name=value; name=value` as a mapping."""
    pairs = [part.partition("=") for part in text.split("; ") if part]
    if any(not sign for _, sign, _ in pairs):
        raise ValueError(f"'{text}' is not of the form name=value; name=value")
    return {name: value for name, _, value in pairs}
