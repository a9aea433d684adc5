"""Figure 5: cosine between maps before and after fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.figures.quantities import COSINE
from attention_atlas.figures.style import REVERSED
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import PADDED, REAL, REAL_SAME
from attention_atlas.studies.kovaleva2019.published_maps import PUBLISHED, PUBLISHED_MODEL, digitised
from attention_atlas.studies.kovaleva2019.task_grids import count_range, task_grids

_ROWS = {PADDED: "Padded", REAL_SAME: "Real length", REAL: "Real length"}


def figure5(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw the cosine between maps before and after fine-tuning, padded as published and of real length.

    Both rows are of the same examples; the table also has all examples at their real length.

    Args:
        path: of `change_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, ["task", "crop", "layer", "head", "value", "n", "seeds"]).rename(columns={"crop": "kind"})
    real = REAL_SAME if (table["kind"] == REAL_SAME).any() else REAL
    table = table[table["kind"].isin([PADDED, real])]
    kinds = {
        kind: f"{_ROWS[kind]}\n{count_range(table.loc[table['kind'] == kind, 'n'])}"
        for kind in (PADDED, real)
        if (table["kind"] == kind).any()
    }
    published = digitised("fig5_cosine").rename(columns={"cosine": "value"}).assign(kind=PUBLISHED)
    kinds[PUBLISHED] = f"Published\n{PUBLISHED_MODEL}"
    count = f"{count_range(table['n'])} examples per task"
    rows = pd.concat([table, published], ignore_index=True)
    task_grids(rows, kinds, COSINE.axis, labels, count, pictures, REVERSED)
