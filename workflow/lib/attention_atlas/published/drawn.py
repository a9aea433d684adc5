"""Published values in the form of a table to be drawn: the paper's numbers beside those of a run."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from attention_atlas.published.values import load_published


def published_rows(study: str, ids: Iterable[str]) -> pd.DataFrame:
    """Published numbers with the place of ours beside each.

    Args:
        study: id of the study.
        ids: of published values; each becomes a row a number.

    Returns:
        id, published_model (that of the paper), value (in our unit; a known slip corrected), and a column for each key of the
        numbers' places, such as task and layer. Numbers that are lost are left out.

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


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
