"""Figure A.3: mixing weights and differential scores of two models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.io.run_label import RunLabel
from attention_atlas.studies.tenney2019.layer_bars import draw_layer_bars
from attention_atlas.studies.tenney2019.summary import TaskFiles, bars_of_models


def figure_a3(
    models: Mapping[str, Mapping[str, TaskFiles]],
    resamples: int,
    seed: int,
    labels: Mapping[str, RunLabel],
    out: str | Path,
    pictures: Mapping[str, str | Path],
) -> None:
    """Write the bars of several models (`FIGURE2` of `summary`) and draw them.

    Args:
        models: name -> task -> its files.
        resamples, seed: of the bootstrap.
        labels: task -> run, model and corpus.
        out: table to write.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    bars_of_models(models, resamples, seed, out)
    draw_layer_bars(out, labels, pictures)
