"""Figure 6: attention to [SEP] and [CLS] after fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.io.run_label import RunLabel
from attention_atlas.studies.kovaleva2019.task_grids import task_grids

_ROWS = {"sep": "[SEP], largest", "sep_sum": "[SEP], sum", "cls": "[CLS]"}


def figure6(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw attention to separators and to the first token after fine-tuning.

    Args:
        path: of `change_tables`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    note = (
        "Fine-tuned models: mean attention (over all rows of a map) to [SEP], the larger of two or their sum, and to [CLS]; "
        "means over examples and seeds. With one separator, largest and sum are the same."
    )
    task_grids(path, "feature", _ROWS, "Attention", "Greens", (0.0, 1.0), labels, note, pictures)
