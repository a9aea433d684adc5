"""Figure: attention of all heads over a pair of sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from attention_atlas.figures.attention_lines import weighted_lines
from attention_atlas.figures.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, plain, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table


def model_view(path: str | Path, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw the attention of all heads over the first pair of sentences: a row a layer, a column a head.

    Args:
        path: table `views.MODEL_VIEW`.
        label: model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["pair", "layer", "head", "query", "key", "query_token", "weight", "second"])
    table = table[table["pair"] == table["pair"].iloc[0]]
    layers, heads, size = int(table["layer"].max()), int(table["head"].max()), int(table["query"].max())
    tokens = table[(table["layer"] == 1) & (table["head"] == 1) & (table["key"] == 1)].sort_values("query")["query_token"]
    use_style()
    figure, axes = plt.subplots(layers, heads + 1, figsize=(0.72 * (heads + 1) + 1.1, 1.2 * layers + 0.5), squeeze=False)
    figure.subplots_adjust(left=0.08, right=0.99, bottom=0.03, top=0.95, wspace=0.12, hspace=0.12)
    colours = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY)
    for (layer, head), weights in table.groupby(["layer", "head"]):
        _lines(axes[layer - 1, head], weights, size, colours[(layer - 1) % len(colours)])
        if layer == 1:
            axes[0, head].set_title(str(head), fontsize=8)
    second = int(table["second"].iloc[0])
    for layer in range(layers):
        _names(axes[layer, 0], [str(token) for token in tokens], second)
        axes[layer, 0].set_ylabel(f"Layer {layer + 1}", fontsize=8)
    axes[0, 0].set_title("Head:", fontsize=8, loc="right")
    note = (
        "Each panel: pieces that attend on the left, attended ones on the right, in the order of the text from the top; a "
        "line is as strong as the attention. Pieces of the second sentence are in italics."
    )
    save_figure(figure, pictures, f"{label.line}\n{note}")


def _lines(axis: Axes, rows: pd.DataFrame, size: int, colour: str) -> None:
    strong = rows[rows["weight"] > 0.02]
    queries, keys = (size - strong[side].to_numpy() for side in ("query", "key"))
    axis.add_collection(weighted_lines(queries, keys, strong["weight"].to_numpy(), colour, (0, 1), 1.0))
    axis.set_xlim(-0.06, 1.06)
    axis.set_ylim(-0.6, size - 0.4)
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set_visible(True)
        spine.set_color("#d0d0d0")


def _names(axis: Axes, tokens: list[str], second: int) -> None:
    axis.set_xlim(0, 1)
    axis.set_ylim(-0.6, len(tokens) - 0.4)
    size = min(6.0, 66 / len(tokens))
    for place, token in enumerate(tokens, start=1):
        slant = "italic" if second and place >= second else "normal"
        axis.text(1.0, len(tokens) - place, plain(token), fontstyle=slant, ha="right", va="center", fontsize=size)
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set_visible(False)
