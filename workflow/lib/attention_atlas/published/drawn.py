"""Published values as tables to draw: the paper's numbers beside those of a run."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from attention_atlas.published.values import load_published


def published_rows(study: str, ids: Iterable[str]) -> pd.DataFrame:
    """Published numbers, each with the place of our number.

    Args:
        study: id of the study.
        ids: of published values; one row for each number.

    Returns:
        id, published_model (that of the paper), value (in our unit; known misprints corrected), and a column for each key of
        the numbers' places, such as task and layer. Missing numbers are left out.

    Raises:
        AtlasError: the file of published values cannot be used.
        KeyError: there is no such value.
    """
    values = load_published(study)
    rows = [
        {"id": name, "published_model": values[name].model, "value": float(number.target) / float(number.cell.scale)}
        | {key: _number(text) for key, text in number.cell.where.items()}
        for name in ids
        for number in values[name].numbers
        if number.cell is not None and number.target is not None
    ]
    return pd.DataFrame(rows, columns=None if rows else ["id", "published_model", "value"])


def published_column(study: str, artefact: str, column: str) -> pd.DataFrame:
    """Published numbers that correspond to a column of one of our tables.

    Args:
        study: id of the study.
        artefact, column: the table and its column, as the list of published values names them (`Cell`).

    Returns:
        The columns of `published_rows`.

    Raises:
        AtlasError: the file of published values cannot be used.
    """
    values = load_published(study)
    ids = [
        name
        for name, value in values.items()
        if (cell := value.numbers[0].cell) is not None and (cell.artefact, cell.column) == (artefact, column)
    ]
    return published_rows(study, ids)


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
