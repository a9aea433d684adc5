"""Figure 3: the attention of every head between words that evoke a frame and elements of its core."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.style import save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table

_WORDS = {
    "fe_to_target": "from the element to the target",
    "target_to_fe": "from the target to the element",
    "both": "either way",
}


def figure3(path: str | Path, direction: str, pairing: str, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw the mean largest weights, and their differences to pairs at the same distance.

    Args:
        path: of `frame_heads`.
        direction, pairing: of the figure.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["layer", "head", "value", "control", "margin", "margin_all_low", "n"])
    layers, heads = int(table["layer"].max()), int(table["head"].max())
    use_style()
    size = (max(3.2, 0.3 * heads), max(2.4, 0.27 * layers + 0.9))
    figure, axes = plt.subplots(1, 2, figsize=(2 * size[0] + 1.2, size[1]), constrained_layout=True)
    value_range = float(table["value"].min()), float(table["value"].max())
    bound = float(table["margin"].abs().max())
    sure = table[table["margin_all_low"] > 0].nlargest(max(1, len(table) // 20), "margin")
    marked = list(zip(sure["layer"], sure["head"], strict=True))
    first = draw_head_grid(axes[0], table, "value", "YlOrRd", *value_range)
    second = draw_head_grid(axes[1], table, "margin", "PuOr_r", -bound, bound, marked)
    for axis, title in zip(axes, ("Mean of the largest weight", "Above pairs at the same distance"), strict=True):
        axis.set_title(title)
        axis.set_xlabel("Head")
        axis.set_ylabel("Layer")
    figure.colorbar(first, ax=axes[0], label="Attention weight")
    figure.colorbar(second, ax=axes[1], label="Difference of weights")
    best = table.nlargest(2, "value")
    tops = " and ".join(f"{row.layer}-{row.head} ({row.value:.2f}, control {row.control:.2f})" for row in best.itertuples())
    note = (
        f"n = {int(table['n'].iloc[0])} sentences; pieces paired by {pairing}, attention {_WORDS[direction]}. Largest: {tops}. "
        "Dots: largest differences (at most a twentieth of the heads) whose intervals (95 % for all heads together) exclude 0."
    )
    save_figure(figure, pictures, f"{label.line}\n{note}")
