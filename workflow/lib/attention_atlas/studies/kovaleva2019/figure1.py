"""Figure 1: a map of each class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh

from attention_atlas.figures.head_grid import draw_cells
from attention_atlas.figures.quantities import WEIGHT
from attention_atlas.figures.style import NOTE, PAGE, SEQUENTIAL, SMALLEST, footnote, page_figure, plain, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import CLASS_TITLES, CLASSES, TASK_TITLES

_COLUMNS = 3
_SIDE = 1.85
"""Approximate width of a map in inches."""
_LONGEST = 12
"""Largest number of letters of a token label."""


def figure1(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw a map of each class, all of one example.

    Args:
        path: of `draw_patterns`.
        label: run, model and corpus of the example.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    columns = ["class", "probability", "task", "example", "layer", "head", "query", "key", "query_token", "weight"]
    table = read_table(path, columns)
    rows = -(-len(CLASSES) // _COLUMNS)
    figure, grid = page_figure(rows, _COLUMNS, PAGE, rows * 2.65)
    image: QuadMesh | None = None
    for place, name in enumerate(CLASSES):
        axes = grid.flat[place]
        cells = table[table["class"] == name]
        if cells.empty:
            axes.text(0.5, 0.5, "this example has\nno such map", ha="center", va="center", transform=axes.transAxes, color=NOTE)
            axes.set_title(CLASS_TITLES[name])
            axes.axis("off")
            continue
        image = _draw(axes, cells, place % _COLUMNS == 0)
        first = cells.iloc[0]
        probability = f"probability {first['probability']:.2f}"
        axes.set_title(f"{CLASS_TITLES[name]}\nhead {first['layer']}-{first['head']}, {probability}")
    for axes in grid.flat[len(CLASSES) :]:
        axes.axis("off")
    if image is not None:
        scale = grid.flat[-1].inset_axes((0.0, 0.1, 0.07, 0.8))
        bar = figure.colorbar(image, cax=scale, label=f"{WEIGHT.axis}\n(square-root scale)")
        bar.set_ticks([0, 0.5, 0.5**0.5, 1], labels=["0", "0.25", "0.5", "1"])
    first = table.iloc[0]
    save_figure(figure, pictures, footnote(label, f"one example of {TASK_TITLES[first['task']]} ({first['example']})"))


def _draw(axes: Axes, cells: pd.DataFrame, outer: bool) -> QuadMesh:
    weights = cells.pivot(index="query", columns="key", values="weight").to_numpy(float)
    image = draw_cells(axes, weights**0.5, SEQUENTIAL, 0, 1)
    axes.set_aspect("equal")
    tokens = [plain(token[:_LONGEST]) for token in cells.drop_duplicates("query")["query_token"].astype(str)]
    # As many token labels as fit below each other without touching.
    step = max(1, int(np.ceil(len(tokens) * 1.2 * SMALLEST / 72 / _SIDE)))
    places = np.arange(0, len(tokens), step)
    names = [tokens[place] for place in places]
    axes.set_xticks(places + 0.5, names, rotation=90, fontsize=SMALLEST)
    axes.set_yticks(places + 0.5, names if outer else [""] * len(names), fontsize=SMALLEST)
    axes.tick_params(length=1.5, pad=1)
    axes.set(xlabel="Key token", ylabel="Query token" if outer else "")
    return image
