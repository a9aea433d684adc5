"""Figure A.3: mixing weights and differential scores of two models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.studies.tenney2019.layer_bars import draw_layer_bars
from attention_atlas.studies.tenney2019.summary import FIGURE2


def figure_a3(
    second: str | Path,
    first: str | Path,
    labels: Mapping[str, RunLabel],
    out: str | Path,
    pictures: Mapping[str, str | Path],
) -> None:
    """Write the bars of two models (`FIGURE2` of `summary`) and draw them.

    Args:
        second, first: tables of the run's second model, which is drawn first, and of its main model.
        labels: task -> run, model and corpus.
        out: table to write.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    write_table(pd.concat([read_table(path, FIGURE2) for path in (second, first)])[FIGURE2], out)
    draw_layer_bars(out, labels, pictures)
