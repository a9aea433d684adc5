"""Figure 6: attention to [SEP] and [CLS] after fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.figures.quantities import ATTENTION
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.published_maps import PUBLISHED, PUBLISHED_MODEL, digitised
from attention_atlas.studies.kovaleva2019.task_grids import count_range, task_grids

_ROWS = {
    "sep": "[SEP], largest",
    "sep_sum": "[SEP], sum",
    f"{PUBLISHED} SEP": f"[SEP], published\n{PUBLISHED_MODEL}",
    "cls": "[CLS]",
    f"{PUBLISHED} CLS": f"[CLS], published\n{PUBLISHED_MODEL}",
}


def figure6(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw attention to separators and to the first token after fine-tuning.

    Args:
        path: of `change_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, ["task", "feature", "layer", "head", "value", "n"]).rename(columns={"feature": "kind"})
    published = digitised("fig6_sep_cls").rename(columns={"mean_weight": "value"})
    published = published.assign(kind=f"{PUBLISHED} " + published["token"])
    rows = pd.concat([table, published], ignore_index=True)
    kinds = {kind: title for kind, title in _ROWS.items() if (rows["kind"] == kind).any()}
    task_grids(rows, kinds, ATTENTION.axis, labels, f"{count_range(table['n'])} examples per task", pictures)
