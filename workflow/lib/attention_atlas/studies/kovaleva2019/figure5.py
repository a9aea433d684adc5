"""Figure 5: cosine between maps before and after fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import PADDED, REAL, REAL_SAME
from attention_atlas.studies.kovaleva2019.task_grids import task_grids

_ROWS = {PADDED: "As published (padded)", REAL_SAME: "Real length, same examples", REAL: "Real length"}


def figure5(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw the cosine between maps before and after fine-tuning, padded as published and of real length.

    Args:
        path: of `change_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["task", "crop", "layer", "head", "value", "n", "seeds"])
    kinds = {name: title for name, title in _ROWS.items() if (table["crop"] == name).any()}
    if REAL_SAME in kinds:
        sizes_by_task = table.drop_duplicates(["task", "crop"]).pivot(index="task", columns="crop", values="n")
        # One row is enough where the padded maps are of all examples.
        if (sizes_by_task[REAL_SAME] == sizes_by_task[REAL]).all():
            kinds.pop(REAL_SAME)
    counts = table.groupby("crop")["n"].agg(["min", "max"])
    count_range = {name: dict.fromkeys(map(str, counts.loc[name, ["min", "max"]])) for name in kinds}
    sizes = "; ".join(f"{title}: {' to '.join(count_range[name])}" for name, title in kinds.items())
    note = (
        f"Mean cosine over examples and seeds between the maps of one head before and after fine-tuning; n examples: {sizes}."
    )
    task_grids(path, "crop", kinds, "Cosine similarity", "Blues_r", (0.0, 1.0), labels, note, pictures)
