"""Figure 2: average attention to [CLS], [SEP] and punctuation, and from [SEP] to [SEP]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from attention_atlas.figures.by_layer import Series, draw_by_layer
from attention_atlas.figures.style import BLUE, GREEN, PURPLE, VERMILION, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.surface import TARGETS

TOP = [
    Series("cls", "[CLS]", VERMILION, "o"),
    Series("sep", "[SEP]", BLUE, "s"),
    Series("punct", "full stop or comma", PURPLE, "^"),
]
BOTTOM = [
    Series("rest_sep", "other tokens → [SEP]", BLUE, "s"),
    Series("sep_sep", "[SEP] → [SEP]", GREEN, "D"),
]


def figure2(surface_path: str | Path, label: RunLabel, out: str | Path, pictures: Mapping[str, str | Path]) -> None:
    """Write the plotted numbers (target, layer, head, mean_attention, ci_low, ci_high, n, unit, units) and draw both panels."""
    surface = read_table(surface_path, ["measure", "layer", "head", "value", "ci_low", "ci_high", "n"])
    table = surface[surface["measure"].isin(TARGETS)].rename(columns={"measure": "target", "value": "mean_attention"})
    write_table(table, out)
    use_style()
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.6, 6.2), sharex=True, constrained_layout=True)
    for axes, series, title in ((top, TOP, "Attention to special tokens"), (bottom, BOTTOM, "Attention to [SEP] by source")):
        draw_by_layer(axes, table, series, "target", "mean_attention")
        axes.set_ylim(0, 1)
        axes.set_ylabel("Mean attention (share of mass)")
        axes.set_title(title, loc="left")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper right")
        axes.label_outer()
    heads = len(table[["layer", "head"]].drop_duplicates())
    n = int(table["n"].max())
    save_figure(figure, pictures, f"{label.line}\nDots: {heads} heads; lines: mean of a layer. n = {n} segments.")
