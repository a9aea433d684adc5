"""Figure: attention that keyphrase words receive minus that of other words, for each head."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.figures.style import DIVERGING, PAGE, footnote, panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.figures.head_map import draw_head_map

_TITLES = {"mean": "Mean over query words", "max": "Maximum over query words"}


def relative_attention(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw attention that keyphrase words receive minus that of other words, for each head, by mean and by maximum.

    Args:
        path: table `detection.RELATIVE`.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["reduction", "layer", "head", "value", "adjusted_low", "adjusted_high", "n"])
    figure, axes = panels(PAGE / 2, 3.0)
    for axis, (reduction, head_rows) in zip(axes, table.groupby("reduction", sort=False), strict=True):
        significant = head_rows[(head_rows["adjusted_low"] > 0) | (head_rows["adjusted_high"] < 0)]
        percent = head_rows.assign(value=100 * head_rows["value"])
        draw_head_map(axis, percent, "Relative attention (percentage points)", DIVERGING, significant)
        axis.set_title(_TITLES[str(reduction)])
    save_figure(figure, pictures, footnote(label, f"n = {table['n'].iloc[0]} documents"))
