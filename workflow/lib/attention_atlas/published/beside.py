"""Published values as a tidy table in the units of this project, to be drawn beside its numbers."""

from __future__ import annotations

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
