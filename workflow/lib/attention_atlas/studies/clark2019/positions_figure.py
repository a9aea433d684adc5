"""Section 3.1 as a figure: attention to the next, the previous and the current token, by layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.lines import Line2D

from attention_atlas.figures.by_layer import draw_by_layer, layer_legend, values_from_zero
from attention_atlas.figures.quantities import ATTENTION, TO_NEXT, TO_PREVIOUS, TO_SELF
from attention_atlas.figures.style import BLACK, GREY, PAGE, PUBLISHED, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.published.drawn import published_column
from attention_atlas.studies.clark2019.names import PUBLISHED_MODEL

_PANELS = {"previous": TO_PREVIOUS, "next": TO_NEXT, "current": TO_SELF}


def positions_figure(positions_path: str | Path, threshold: float, label: RunLabel, pictures: Mapping[str, str | Path]) -> None:
    """Draw a panel for each position.

    Args:
        positions_path: table of `positions`.
        threshold: share of attention above which the run calls a head positional.
        label: run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(positions_path, ["position", "layer", "head", "mean_attention", "n"])
    published = published_column("clark2019", "surface", "max(value)").rename(columns={"measure": "position"})
    published = published[published["position"].isin(_PANELS)]
    figure, grid = page_figure(1, len(_PANELS), PAGE, 2.7, sharex=True, sharey=True)
    for axes, (position, drawn) in zip(grid[0], _PANELS.items(), strict=True):
        draw_by_layer(axes, table, [(position, drawn)], "position", "mean_attention")
        points = published[published["position"] == position]
        axes.plot(points["layer"], points["value"], **PUBLISHED | {"color": drawn.colour}, linestyle="none")
        axes.axhline(threshold, color=GREY, linestyle="--", linewidth=1.0, zorder=1)
        axes.set_title(drawn.title)
    layers = int(max(table["layer"].max(), published["layer"].max()))
    grid[0, 0].set_xlim(0.4, layers + 0.6)
    values_from_zero(grid[0, 0], [threshold, *table["mean_attention"], *published["value"]])
    grid[0, 0].set_ylabel(ATTENTION.axis)
    handles = layer_legend([TO_SELF])
    for handle in handles:
        handle.set_color(BLACK)
    style = PUBLISHED | {"linestyle": "none"}
    handles.append(Line2D([], [], **style, label=f"published: largest head ({PUBLISHED_MODEL})"))
    handles.append(Line2D([], [], color=GREY, linestyle="--", linewidth=1.0, label=f"positional above {threshold:g}"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    heads = len(table[["layer", "head"]].drop_duplicates())
    save_figure(figure, pictures, footnote(label, f"n = {int(table['n'].max())} segments, {heads} heads"))
