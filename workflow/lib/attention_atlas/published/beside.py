"""Published values as a tidy table in the units of this project, to be drawn beside its numbers."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from attention_atlas.published.values import load_published


def published_points(study: str, artefact: str, column: str) -> pd.DataFrame:
    """The published values of one column of one of our tables.

    Args:
        study: of the paper.
        artefact, column: the table and its column, as the list of published values names them (`Cell`).

    Returns:
        One row a value: a column for each condition on a row of our table (`layer` and `head` are numbers), `item` (figure or
        table of the paper), and `published`, in our unit.
    """
    rows = []
    for value in load_published(study).values():
        for number in value.numbers:
            cell = number.cell
            if cell is None or (cell.artefact, cell.column) != (artefact, column) or not isinstance(number.target, int | float):
                continue
            rows.append({"item": value.item, **cell.where, "published": float(number.target / cell.scale)})
    points = pd.DataFrame(rows, columns=None if rows else ["item", "published"])
    for name in {"layer", "head"} & set(points.columns):
        points[name] = pd.to_numeric(points[name], errors="coerce")
    return points


def published_rows(study: str, ids: Iterable[str]) -> pd.DataFrame:
    """Published values by their ids.

    Args:
        study: of the paper.
        ids: of the values; those of several numbers are several rows.

    Returns:
        id, value (in our unit; a known slip corrected), and a column for each condition on the row of our table. Numbers that
        are lost are left out.

    Raises:
        AtlasError: the file of published values cannot be used.
        KeyError: there is no such value.
    """
    values = load_published(study)
    rows = [
        {"id": name, "value": float(number.target) / float(number.cell.scale)}
        | {key: int(text) if text.isdecimal() else text for key, text in number.cell.where.items()}
        for name in ids
        for number in values[name].numbers
        if number.cell is not None and number.target is not None
    ]
    return pd.DataFrame(rows, columns=None if rows else ["id", "value"])
