"""Axis labels and sample sizes as text, shared by the figures and pages of the study."""

from __future__ import annotations

from textwrap import fill

import pandas as pd

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.methods.units import DOCUMENTS

LAYER_LABEL = "Layer (0: embeddings)"
NOISE = "gain within noise"
"""Shown in place of statistics of a gain that the bootstrap does not distinguish from 0."""


def task_label(table: pd.DataFrame, task: str, width: int = 40) -> str:
    """A task with the number of sentences that it is evaluated on.

    Args:
        table: task, sentences; rows of one task have the same number.
        task: one of the table's.
        width: largest number of letters in a line.
    """
    sentences = table.loc[table["task"] == task, "sentences"].iloc[0]
    return f"{fill(EDGE_TASKS[task], width, break_long_words=False)}\nn = {sentences}"


def counted(table: pd.DataFrame) -> str:
    """The meaning of n, for a footnote.

    Args:
        table: seeds, one number for all rows.
    """
    return f"n: sentences evaluated; probes of {table['seeds'].iloc[0]} seeds"


def evaluated(table: pd.DataFrame) -> str:
    """How many sentences (of how many documents) each task is evaluated on.

    Args:
        table: task, sentences, unit, units; the same in all rows of a task.
    """
    sizes = []
    for row in table.drop_duplicates("task").itertuples():
        documents = f" of {row.units} documents" if row.unit == DOCUMENTS else ""
        sizes.append(f"{EDGE_TASKS[str(row.task)]} {row.sentences}{documents}")
    return f"Sentences evaluated: {', '.join(sizes)}."
