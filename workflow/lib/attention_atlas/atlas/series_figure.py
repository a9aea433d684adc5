"""Figure of a series of models: one curve for each measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import fill

import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from attention_atlas.atlas.measures import SOURCES
from attention_atlas.atlas.series import SERIES
from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLUE, GREY, PAGE, TALLEST, footnote, page_figure, plain, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_MEASURES = {measure.name: measure for source in SOURCES for measure in source.measures}
_FEW_PANELS, _MOST_PANELS = 16, 30
"""Maximum number of panels with four in a row (beyond it, five), and of all panels; series.tsv has all measures."""
_TITLE_LINES = {4: (27, 3), 5: (22, 4)}
"""Panels of a row -> characters per line of a title, and its maximum number of lines."""
_MOST_NAMES, _LONGEST_NAME = 6, 22
"""Maximum number of models named on the axis, and of characters in a name; longer series have every second name, and so on."""


def series_figure(series: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw one curve for each measure over the models of a series: the mean over heads with its interval, and the range.

    Args:
        series: table from `write_series`.
        label: label of run and sentences.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(series, SERIES)
    names = list(dict.fromkeys(table["measure"]))[:_MOST_PANELS]
    models = table.drop_duplicates("position").sort_values("position")
    columns = 4 if len(names) <= _FEW_PANELS else 5
    title_line, title_lines = _TITLE_LINES[columns]
    rows = -(-len(names) // columns)
    height = min(1.55 * rows + 1.4, TALLEST - 0.6)
    figure, axes = page_figure(rows, columns, PAGE - 0.25, height, sharex=True)
    for axis, name in zip(axes.flat, names, strict=False):
        of_measure = table[table["measure"] == name].sort_values("position")
        place = of_measure["position"]
        axis.fill_between(place, of_measure["smallest"], of_measure["largest"], color=GREY, alpha=0.2, linewidth=0)
        axis.fill_between(place, of_measure["ci_low"], of_measure["ci_high"], color=BLUE, alpha=0.35, linewidth=0)
        sns.lineplot(x=place, y=of_measure["mean"], color=BLUE, marker="o", markersize=3.5, linewidth=1.4, ax=axis)
        measure = _MEASURES.get(name)
        title = fill(measure.title if measure else name, title_line, max_lines=title_lines, placeholder="…")
        axis.set_title(plain(title), fontsize=6.5)
        axis.set_ylabel(measure.unit if measure else "", fontsize=7)
        axis.set_xlabel("")
    step = -(-len(models) // _MOST_NAMES)
    shown = models.iloc[::step]
    labels = [plain(name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}") for name in shown["model"]]
    for k, axis in enumerate(axes.flat):
        axis.set_visible(k < len(names))
        axis.set_xticks(shown["position"], labels, rotation=90, fontsize=6.5)
        axis.set_xlim(0.7, len(models) + 0.3)
        # Only the last panel of each column has model names.
        axis.tick_params(labelbottom=k + columns >= len(names))
    handles = [
        Line2D([], [], color=BLUE, marker="o", markersize=3.5, label="mean over heads"),
        Patch(color=BLUE, alpha=0.35, linewidth=0, label="its 95 % interval"),
        Patch(color=GREY, alpha=0.2, linewidth=0, label="range of heads"),
    ]
    legend_below(figure, [], 3, handles)
    count = f"{len(models)} models, n = {table['n'].max()} heads each"
    save_figure(figure, pictures, footnote(replace(label, model="a series of models"), count))
