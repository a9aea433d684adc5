"""Figure 2: mixing weights and differential scores of each task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.io.run_label import RunLabel
from attention_atlas.studies.tenney2019.layer_bars import draw_layer_bars


def figure2(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw mixing weights and differential scores of each task.

    Args:
        path: table `FIGURE2` of `summary`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    draw_layer_bars(path, labels, pictures)
