"""The published numbers, with their sources: workflow/resources/published/{study}.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_atlas.errors import AtlasError
from attention_atlas.io.files import read_yaml
from attention_atlas.io.tables import read_table

if TYPE_CHECKING:
    import pandas as pd

_FOLDER = Path(__file__).resolve().parents[3] / "resources" / "published"


def load_published(study: str) -> dict[str, dict[str, Any]]:
    """Published values of a study: id -> fields (item, quantity, value, unit, model, dataset, source, confidence, kind ...).

    Raises:
        AtlasError: no such study, or an id that is given twice.
    """
    path = _FOLDER / f"{study}.yaml"
    if not path.is_file():
        raise AtlasError(f"{path}: there are no published values of study {study}.")
    entries = read_yaml(path)
    by_id = {entry["id"]: entry for entry in entries}
    if len(by_id) != len(entries):
        raise AtlasError(f"{path}: an id is given twice.")
    return by_id


def load_digitised(name: str) -> pd.DataFrame:
    """Values that were read off a published figure, a head a row: published/digitised/{name}.csv.

    Raises:
        AtlasError: there is no such table.
    """
    return read_table(_FOLDER / "digitised" / f"{name}.csv", separator=",")
