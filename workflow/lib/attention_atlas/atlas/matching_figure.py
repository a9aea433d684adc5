"""Figure of matched heads: agreement on measures left out of the matching, compared with random matchings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from attention_atlas.atlas.matching import AGREEMENT, DEPTH, MEAN
from attention_atlas.atlas.measures import SOURCES
from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLUE, GREY, ORANGE, PAGE, footnote, page_figure, plain, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_TITLES = {measure.name: measure.title for source in SOURCES for measure in source.measures}
_TITLES |= {DEPTH: "Layer", MEAN: "Mean of the measures"}
_COLUMNS = 3
_LINE, _LONG_LINE, _NAME_LINE = 34, 44, 22
"""Characters per line of a measure's title, of one that has a single line, and of a model's name."""


def matching_figure(agreement: str | Path, first: str, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw one panel per compared model: a point for the agreement on each measure, a bar for random matchings.

    Args:
        agreement: table of `matching.write_matching`.
        first: the model that the others are compared with.
        label: label of run and sentences.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(agreement, AGREEMENT)
    models = list(dict.fromkeys(table["model"]))
    names = [name for name in dict.fromkeys(table["measure"]) if name != MEAN] + [MEAN]
    columns = min(len(models), _COLUMNS) or 1
    rows = -(-max(len(models), 1) // columns)
    # Several rows of panels leave room for one line per measure.
    line, lines = (_LINE, 2) if rows == 1 else (_LONG_LINE, 1)
    titles = [plain(fill(_TITLES.get(name, name), line, max_lines=lines, placeholder="…")) for name in names]
    height = rows * (0.26 * len(names) + 0.5) + 0.6
    figure, axes = page_figure(rows, columns, PAGE - 0.05, height, sharex=True, sharey=True)
    for axis, model in zip(axes.flat, models, strict=False):
        of_model = table[table["model"] == model].set_index("measure").reindex(names)
        is_random = (of_model["random_weights"].dropna() == True).any()  # noqa: E712
        place = np.arange(len(names))
        width = of_model["null_high"] - of_model["null_low"]
        axis.barh(place, width, left=of_model["null_low"], height=0.72, color=GREY, alpha=0.35, linewidth=0)
        colour = ORANGE if is_random else BLUE
        sns.scatterplot(x=of_model["agreement"].to_numpy(), y=place, s=22, color=colour, linewidth=0, ax=axis)
        axis.axvline(0, color=GREY, linewidth=0.8)
        axis.set_title(plain(fill(model, _NAME_LINE)))
        axis.set_yticks(place, titles)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlim(-1.05, 1.05)
        axis.set_xticks([-1, 0, 1])
        axis.tick_params(axis="y", labelsize=6.5, length=0)
    for axis in axes.flat[len(models) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("Rank correlation\nover matched heads")
    handles = [
        Line2D([], [], linestyle="none", marker="o", color=BLUE, label=f"matched with {plain(first)}"),
        Line2D([], [], linestyle="none", marker="o", color=ORANGE, label="the same, random weights"),
        Patch(color=GREY, alpha=0.35, linewidth=0, label="95 % of random matchings"),
    ]
    legend_below(figure, [], 3, handles)
    save_figure(figure, pictures, footnote(label))
