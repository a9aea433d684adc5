"""Figure 4: entropy of attention, over all tokens and from [CLS]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from attention_atlas.figures.by_layer import Series, draw_by_layer
from attention_atlas.figures.style import BLUE, GREY, VERMILION, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table, write_table

_SOURCES = {"entropy": "all", "entropy_cls": "cls"}


def figure4(
    surface_path: str | Path, summary_path: str | Path, label: RunLabel, out: str | Path, pictures: Mapping[str, str | Path]
) -> None:
    """Write the plotted numbers in nats (source, layer, head, entropy, ci_low, ci_high, n, unit, units); draw both panels."""
    surface = read_table(surface_path, ["measure", "layer", "head", "value", "ci_low", "ci_high", "n"])
    summary = read_quantities(summary_path)
    table = surface[surface["measure"].isin(_SOURCES)].rename(columns={"measure": "source", "value": "entropy"})
    table = table.assign(source=table["source"].map(_SOURCES))
    write_table(table, out)
    use_style()
    uniform = float(summary["uniform_entropy"])
    figure, panels = plt.subplots(1, 2, figsize=(8.2, 3.5), sharey=True, constrained_layout=True)
    panel_series = (
        (Series("all", "mean of the layer's heads", BLUE, "o"), "From all tokens"),
        (Series("cls", "mean of the layer's heads", VERMILION, "s"), "From [CLS]"),
    )
    for axes, (series, title) in zip(panels, panel_series, strict=True):
        draw_by_layer(axes, table, [series], "source", "entropy")
        axes.axhline(uniform, color=GREY, linestyle="--", linewidth=1.2, label=f"uniform attention ({uniform:.2f})")
        axes.set_title(title, loc="left")
        axes.set_ylim(0, 1.36 * uniform)
        axes.legend(loc="upper left")
    panels[0].set_ylabel("Entropy of attention (nats)")
    heads = len(table[["layer", "head"]].drop_duplicates())
    save_figure(figure, pictures, f"{label.line}\nDots: {heads} heads. n = {int(table['n'].max())} segments.")
