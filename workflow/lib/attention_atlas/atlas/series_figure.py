"""Figure of a series of models: one curve for each measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from attention_atlas.atlas.measures import SOURCES
from attention_atlas.atlas.series import SERIES
from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLACK, BLUE, GREY, PAGE, TALLEST, footnote, page_figure, plain, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_MEASURES = {measure.name: measure for source in SOURCES for measure in source.measures}
_FEW_PANELS, _MOST_PANELS = 16, 30
"""Maximum number of panels with four in a row (beyond it, five), and of all panels; series.tsv has all measures."""
_TITLE_LINES = {4: (27, 3), 5: (22, 4)}
"""Panels of a row -> characters per line of a title, and its maximum number of lines."""
_MOST_NAMES, _LONGEST_NAME = 6, 22
"""Maximum number of models named on the axis, and of characters in a name; longer series have every second name, and so on."""

_RANGE, _INTERVAL = 0.2, 0.35
"""Opacities of the bands."""
_MARKER: dict[str, Any] = {"marker": "o", "markersize": 3.5}


def series_figure(series: str | Path, label: RunLabel, pictures: Mapping[str, str | Path], checkpoints: bool = False) -> None:
    """Draw each measure over the models of a series: the mean over heads with its interval, the range, and the chance value.

    Args:
        series: table from `write_series`.
        label: label of run and sentences.
        checkpoints: whether the models are checkpoints of one training: only then is there anything between two of them, and
            their means are joined by a line.
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
        _draw(axis, of_measure, checkpoints)
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
    legend_below(figure, [], 4, _handles(checkpoints, table["chance"].notna().any()))
    count = f"{len(models)} models, n = {table['n'].max()} heads each"
    save_figure(figure, pictures, footnote(replace(label, model="a series of models"), count))


def _draw(axis: Axes, rows: pd.DataFrame, checkpoints: bool) -> None:
    """One measure over the positions of a series: bands and a line for checkpoints, otherwise bars and points."""
    place = rows["position"]
    if checkpoints:
        axis.fill_between(place, rows["smallest"], rows["largest"], color=GREY, alpha=_RANGE, linewidth=0)
        axis.fill_between(place, rows["ci_low"], rows["ci_high"], color=BLUE, alpha=_INTERVAL, linewidth=0)
    else:
        axis.vlines(place, rows["smallest"], rows["largest"], color=GREY, alpha=2 * _RANGE, linewidth=3)
        axis.vlines(place, rows["ci_low"], rows["ci_high"], color=BLUE, linewidth=1.4)
    style = {"linestyle": "-" if checkpoints else "none", "linewidth": 1.4, **_MARKER}
    axis.plot(place, rows["mean"], color=BLUE, **style)
    known = rows.dropna(subset="chance")
    axis.hlines(known["chance"], known["position"] - 0.4, known["position"] + 0.4, color=BLACK, linestyle="--", linewidth=0.8)


def _handles(checkpoints: bool, with_chance: bool) -> list[Artist]:
    chance = (
        [Line2D([], [], color=BLACK, linestyle="--", linewidth=0.8, label="head without the effect")] if with_chance else []
    )
    if checkpoints:
        return [
            Line2D([], [], color=BLUE, label="mean over heads", **_MARKER),
            Patch(color=BLUE, alpha=_INTERVAL, linewidth=0, label="its 95 % interval"),
            Patch(color=GREY, alpha=_RANGE, linewidth=0, label="range of heads"),
            *chance,
        ]
    return [
        Line2D([], [], color=BLUE, linestyle="none", label="mean over heads", **_MARKER),
        Line2D([], [], color=BLUE, linewidth=1.4, label="its 95 % interval"),
        Line2D([], [], color=GREY, alpha=2 * _RANGE, linewidth=3, label="range of heads"),
        *chance,
    ]
