"""Values that were read off the paper's figures, under the names of this study."""

from __future__ import annotations

import pandas as pd

from attention_atlas.published.values import load_digitised
from attention_atlas.studies.kovaleva2019.names import TASK_TITLES

PUBLISHED = "published"
"""Kind of panel, and the label of all published values."""
PUBLISHED_MODEL = "BERT-base"
_TASKS = {title: task for task, title in TASK_TITLES.items()}


def digitised(name: str) -> pd.DataFrame:
    """A table of digitised values with the task names of this study.

    Raises:
        AtlasError: there is no such table.
    """
    table = load_digitised(name)
    return table.assign(task=table["task"].map(_TASKS)) if "task" in table else table
