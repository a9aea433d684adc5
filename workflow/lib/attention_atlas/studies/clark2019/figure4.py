"""Figure 4: entropy of attention, over all tokens and from [CLS]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.lines import Line2D

from attention_atlas.figures.by_layer import draw_by_layer, layer_legend, values_from_zero
from attention_atlas.figures.quantities import ENTROPY, ENTROPY_OF_CLS
from attention_atlas.figures.style import BLACK, GREY, PAGE, footnote, page_figure, save_figure
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_quantities, read_table, write_table
from attention_atlas.published.drawn import published_column
from attention_atlas.studies.clark2019.names import PUBLISHED_MODEL

_SOURCES = {"entropy": "all", "entropy_cls": "cls"}
_PANELS = {"all": ("From all tokens", ENTROPY), "cls": ("From [CLS]", ENTROPY_OF_CLS)}


def figure4(
    surface_path: str | Path, summary_path: str | Path, label: RunLabel, out: str | Path, pictures: Mapping[str, str | Path]
) -> None:
    """Write the plotted numbers in nats (source, layer, head, entropy, ci_low, ci_high, n, unit, units); draw both panels."""
    surface = read_table(surface_path, ["measure", "layer", "head", "value", "ci_low", "ci_high", "n"])
    summary = read_quantities(summary_path)
    table = surface[surface["measure"].isin(_SOURCES)].rename(columns={"measure": "source", "value": "entropy"})
    table = table.assign(source=table["source"].map(_SOURCES))
    write_table(table, out)
    published = published_column("clark2019", "surface", "mean(value)")
    published = published.assign(source=published["measure"].map(_SOURCES)).dropna(subset=["source"])
    # One value is of the last layer of any model; the same is read off the figure for layer 12.
    published = published[published["layer"] != "last"].astype({"layer": int})
    uniform = float(summary["uniform_entropy"])
    figure, grid = page_figure(1, 2, PAGE, 2.9, sharey=True)
    for axes, (source, (title, drawn)) in zip(grid[0], _PANELS.items(), strict=True):
        draw_by_layer(axes, table, [(source, drawn)], "source", "entropy", published)
        axes.axhline(uniform, color=GREY, linestyle="--", linewidth=1.0, zorder=1)
        axes.set_title(title)
    values_from_zero(grid[0, 0], [uniform, *table["entropy"], *published["value"]])
    grid[0, 0].set_ylabel(ENTROPY.axis)
    handles = layer_legend([ENTROPY], published=PUBLISHED_MODEL)
    for handle in handles[:3]:
        handle.set_color(BLACK)
    handles.append(Line2D([], [], color=GREY, linestyle="--", linewidth=1.0, label=f"uniform attention ({uniform:.2f} nats)"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    heads = len(table[["layer", "head"]].drop_duplicates())
    save_figure(figure, pictures, footnote(label, f"n = {int(table['n'].max())} segments, {heads} heads"))
