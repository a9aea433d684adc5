"""Figure 5: the maps of all heads on one example, framed by type."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.patches import Patch, Rectangle

from attention_atlas.figures.quantities import HEAD, LAYER
from attention_atlas.figures.style import COLUMN, PAGE, TALLEST, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.methods.head_type_names import TITLES, shown_types
from attention_atlas.studies.guan2020.type_styles import COLOURS

_GAP = 0.16
"""Space between two maps, as a share of the distance of their centres."""
_FRAME, _WHITE = 0.05, 0.02
"""Widths, likewise, of the frame around a map, and of the white between them: without it a dark first column, of a vertical
head, would look like a part of the frame."""


def figure5(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw all maps as one image, a row for each layer, with a frame in the colour of the head's type.

    Args:
        path: of `draw_maps`.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["layer", "head", "type", "example", "pieces", "row", "column", "weight"])
    layers, heads, cells = (int(table[name].max()) for name in ("layer", "head", "row"))
    values = np.zeros((layers, heads, cells, cells))
    places = [table[name].to_numpy(int) - 1 for name in ("layer", "head", "row", "column")]
    values[tuple(places)] = table["weight"].to_numpy(float)
    # Cells are means over blocks of different numbers of tokens: each map is shown on its own scale.
    values = np.sqrt(values / values.max(axis=(2, 3), keepdims=True))
    side = min(0.62, (PAGE - 0.5) / heads, (TALLEST - 1.4) / layers)
    figure, grid = page_figure(1, 1, max(COLUMN, side * heads + 0.5), side * layers + 0.8)
    axes = grid[0, 0]
    types = table.drop_duplicates(["layer", "head"]).set_index(["layer", "head"])["type"]
    shown = shown_types(types)
    inner = 1 - _GAP
    for layer in range(1, layers + 1):
        for head in range(1, heads + 1):
            extent = (head - inner / 2, head + inner / 2, layer + inner / 2, layer - inner / 2)
            axes.imshow(
                values[layer - 1, head - 1], cmap="Greys", vmin=0, vmax=1, extent=extent, interpolation="nearest", zorder=1
            )
            # Behind the map and larger than it, so that it covers no row or column.
            for around, colour in ((_FRAME + _WHITE, COLOURS[str(types[layer, head])]), (_WHITE, "white")):
                size = inner + 2 * around
                corner = (extent[0] - around, extent[3] - around)
                axes.add_patch(Rectangle(corner, size, size, linewidth=0, facecolor=colour, zorder=0))
    axes.set(xlim=(0.45, heads + 0.55), ylim=(layers + 0.55, 0.45), aspect="equal")
    axes.set_xticks(range(1, heads + 1))
    axes.set_yticks(range(1, layers + 1))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(xlabel=HEAD, ylabel=LAYER)
    figure.legend(
        handles=[Patch(facecolor="none", edgecolor=COLOURS[name], linewidth=2, label=TITLES[name]) for name in shown],
        loc="outside upper center",
        ncols=len(shown),
    )
    pieces = table["pieces"].iloc[0]
    save_figure(
        figure, pictures, footnote(label, f"example {table['example'].iloc[0]}, {pieces} tokens as {cells} x {cells} cells")
    )
