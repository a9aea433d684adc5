"""Labels of axes, and words on sizes, that figures and pages of the study share."""

from __future__ import annotations

import pandas as pd

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.methods.units import DOCUMENTS

LAYER_LABEL = "Layer (0: input of the first layer)"


def evaluated(table: pd.DataFrame) -> str:
    """How many sentences (of how many documents) each task is evaluated on.

    Args:
        table: task, sentences, unit, units; rows of one task have the same of these.
    """
    sizes = []
    for row in table.drop_duplicates("task").itertuples():
        documents = f" of {row.units} documents" if row.unit == DOCUMENTS else ""
        sizes.append(f"{EDGE_TASKS[str(row.task)]} {row.sentences}{documents}")
    return f"Sentences evaluated: {', '.join(sizes)}."
