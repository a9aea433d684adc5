"""Figure 1 of the example study: the share of attention to the same token, by head."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.style import panels, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table


def figure1(path: str | Path, label: RunLabel, out: str | Path, pictures: Mapping[str, str | Path]) -> None:
    """Write the plotted numbers (layer, head, share) and draw them.

    Args:
        path: self_attention.tsv.
        label: model and texts.
        out: the plotted numbers.
        pictures: format (svg, png, pdf) -> file.
    """
    heads = read_table(path, ["layer", "head", "value", "n"])
    table = heads.rename(columns={"value": "share"})[["layer", "head", "share"]]
    write_table(table, out)
    figure, (axes,) = panels(4.6, 3.2, count=1)
    image = draw_head_grid(axes, table, "share", "viridis", 0, float(table["share"].max()))
    axes.set_xlabel("Head")
    axes.set_ylabel("Layer")
    figure.colorbar(image, ax=axes, label="Attention to the same token (share)")
    save_figure(figure, pictures, f"{label.line}\nn = {int(heads['n'].max())} texts.")
