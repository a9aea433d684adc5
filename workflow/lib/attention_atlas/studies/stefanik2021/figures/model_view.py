"""Figure: attention of all heads over a pair of sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from attention_atlas.figures.quantities import HEAD, LAYER, WEIGHT
from attention_atlas.figures.style import PAGE, TALLEST, footnote, page_figure, plain, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_WIDTH, _HEIGHT = 0.84, 0.88
"""Size of a head's panel as a share of its square."""
_LEAST_WEIGHT = 0.02
"""Attention below this is not drawn."""
_ROW = 0.8
"""Largest height of a layer in inches."""
_LINE = 120
"""Largest number of letters in a line of tokens."""


def model_view(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw the attention of all heads over the first pair of sentences: one row for each layer, one column for each head.

    Args:
        path: table `views.MODEL_VIEW`.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["pair", "layer", "head", "query", "key", "query_token", "weight", "second"])
    table = table[table["pair"] == table["pair"].iloc[0]]
    layers, heads = int(table["layer"].max()), int(table["head"].max())
    of_first_head = table[(table["layer"] == 1) & (table["head"] == 1) & (table["key"] == 1)]
    tokens = [plain(str(token)) for token in of_first_head.sort_values("query")["query_token"]]
    figure, ((axis,),) = page_figure(1, 1, PAGE, min(_ROW * layers + 0.8, TALLEST - 1.2))
    _frames(axis, layers, heads)
    _lines(axis, table, len(tokens))
    axis.set_xlim(0.5, heads + 0.5)
    axis.set_ylim(layers + 0.5, 0.5)
    axis.set_xticks(range(1, heads + 1))
    axis.set_yticks(range(1, layers + 1))
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_xlabel(HEAD)
    axis.set_ylabel(LAYER)
    axis.set_title(fill("Tokens from top to bottom: " + " ".join(tokens), _LINE), fontsize=7)
    save_figure(figure, pictures, footnote(label, f"{len(tokens)} tokens"))


def _frames(axis: Axes, layers: int, heads: int) -> None:
    places = [(head - _WIDTH / 2, layer - _HEIGHT / 2) for layer in range(1, layers + 1) for head in range(1, heads + 1)]
    frames = [Rectangle(place, _WIDTH, _HEIGHT) for place in places]
    axis.add_collection(PatchCollection(frames, facecolor="none", edgecolor="#d0d0d0", linewidth=0.5))


def _lines(axis: Axes, table: pd.DataFrame, size: int) -> None:
    """Lines from each query (left side of a panel) to the keys (right side), as opaque as their weight."""
    strong = table[table["weight"] > _LEAST_WEIGHT]
    inset = 0.92 * _HEIGHT
    ends = []
    for side, column in ((-0.5, "query"), (0.5, "key")):
        x = strong["head"].to_numpy() + side * 0.9 * _WIDTH
        y = strong["layer"].to_numpy() + inset * ((strong[column].to_numpy() - 0.5) / size - 0.5)
        ends.append(np.column_stack([x, y]))
    colours = np.tile(to_rgba(WEIGHT.colour), (len(strong), 1))
    colours[:, 3] = np.clip(strong["weight"], 0, 1)
    axis.add_collection(LineCollection(list(np.stack(ends, axis=1)), colors=colours, linewidths=0.8))
