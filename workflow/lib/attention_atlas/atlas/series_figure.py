"""Figure of a series of models: a curve a measure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt

from attention_atlas.atlas.measures import SOURCES
from attention_atlas.atlas.series import SERIES
from attention_atlas.figures.style import BLUE, GREY, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_MEASURES = {measure.name: measure for source in SOURCES for measure in source.measures}
_COLUMNS = 4
_WIDTH = 38
"""Characters of a title on one line."""
_MOST_NAMES = 8
"""Models that the axis names; of longer series it names every second one, every third one, and so on."""


def series_figure(series: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw a curve a measure over the models of a series: the mean over heads with its interval, and the range of heads.

    Args:
        series: table of `write_series`.
        label: run and sentences.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(series, SERIES)
    use_style()
    names = list(dict.fromkeys(table["measure"]))
    models = table.drop_duplicates("position").sort_values("position")
    height = -(-len(names) // _COLUMNS)
    figure, axes = plt.subplots(
        height, _COLUMNS, figsize=(10.4, 2.2 * height + 0.6), constrained_layout=True, squeeze=False, sharex=True
    )
    for axis, name in zip(axes.flat, names, strict=False):
        rows = table[table["measure"] == name].sort_values("position")
        at = rows["position"]
        axis.fill_between(at, rows["smallest"], rows["largest"], color=GREY, alpha=0.2, linewidth=0)
        axis.fill_between(at, rows["ci_low"], rows["ci_high"], color=BLUE, alpha=0.35, linewidth=0)
        axis.plot(at, rows["mean"], "o-", color=BLUE, markersize=3.5, linewidth=1.4)
        measure = _MEASURES.get(name)
        axis.set_title(fill(measure.title if measure else name, _WIDTH), fontsize=7.5)
        axis.set_ylabel(measure.unit if measure else "", fontsize=7.5)
        axis.tick_params(labelsize=7.5)
    step = -(-len(models) // _MOST_NAMES)
    for axis in axes.flat:
        axis.set_xticks(models["position"][::step], models["model"][::step], rotation=40, ha="right")
        axis.set_xlim(0.7, len(models) + 0.3)
    for k, axis in enumerate(axes.flat):
        axis.set_visible(k < len(names))
        # The last panel of each column names the models.
        axis.tick_params(labelbottom=k + _COLUMNS >= len(names))
    note = (
        "Line: mean over heads; blue: its 95 % interval (bootstrap over heads); grey: smallest to largest value of any head. "
        f"{len(models)} models, {table['n'].max()} heads each."
    )
    save_figure(figure, pictures, f"{label.line}\n{note}")
