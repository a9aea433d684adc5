"""Figures of Guan et al. (2020)."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures import style
from attention_atlas.figures.marks import draw_cells, label_points, number_ticks
from attention_atlas.figures.style import DrawnFigure, page_figure
from attention_atlas.methods.head_types import DENSE, DENSE_VERTICAL, DIAGONAL, FEATURES, TITLES, UNNAMED, VERTICAL, shown_types
from attention_atlas.published.values import rows_of_column
from attention_atlas.studies.guan2020.rows import MODEL_TITLES
from attention_atlas.workflow.shown import figure

COLOURS = {DENSE: style.SKY, DENSE_VERTICAL: style.PURPLE, VERTICAL: style.BLUE, DIAGONAL: style.ORANGE}
COLOURS |= {UNNAMED: style.GREY}
"""Type of heads -> its colour in all figures of this study; vertical and diagonal have that of these maps in others."""
_MARKERS = {DENSE: "o", DENSE_VERTICAL: "P", VERTICAL: "D", DIAGONAL: "s", UNNAMED: "X"}
_LABELS = {"cls": "[CLS]", "sep": "[SEP]", "comma": "comma", "period": "stop", "self": "self"}
_ALL = tuple(TITLES)
_FIT_TITLES = {"reused": "SQuAD types", "refitted": "Refitted clusters"}


@figure(
    title="Typical maps and distance features of each type of head",
    reads=("maps", "head_types"),
    labels=("questions",),
    text_files=("figure1.tsv",),
)
def figure1(maps: pd.DataFrame, head_types: pd.DataFrame) -> DrawnFigure:
    """For each type: the maps, on one example, of the two heads nearest to the mean of the type, on a square-root colour
    scale, and box plots of the 21 distance features of all heads of the type (Guan et al. 2020, Figure 1). Features are means
    over questions; window 1 holds the tokens nearest to the query token.
    """
    present = [name for name in shown_types(head_types["type"]) if (head_types["type"] == name).any()]
    sizes = {"height_ratios": [1, 1, 1.55]}
    drawn, axes = page_figure(3, len(present), min(style.PAGE, 1.75 * len(present) + 0.7), 6.4, **sizes)
    for column, name in enumerate(present):
        type_heads = head_types[head_types["type"] == name]
        for row, rank in enumerate((1, 2)):
            _draw_map(axes[row, column], maps[(maps["type"] == name) & (maps["rank"] == rank)], column == 0)
        _draw_features(axes[2, column], type_heads, COLOURS[name], column == 0)
        first = axes[0, column].get_title(loc="left")
        axes[0, column].set_title("\n".join(filter(None, [TITLES[name], f"{len(type_heads)} heads", first])))
    top = max(axis.get_xlim()[1] for axis in axes[2])
    for axis in axes[2]:
        axis.set_xlim(0, top)
    scale: dict[str, Any] = {"shrink": 0.3, "anchor": (0.0, 0.9), "aspect": 15}
    image = next(axis.collections[-1] for axis in axes[0] if axis.collections)
    bar = drawn.colorbar(image, ax=axes, label=f"{style.WEIGHT.axis}\n(square-root scale)", **scale)
    bar.set_ticks([0, 0.5, 1], labels=["0", "0.25", "1"])
    note = f"maps: one example of {int(maps['query'].max())} tokens; boxes: heads of a type (n above), each a mean over "
    return DrawnFigure(drawn, maps, f"{note}{head_types['n'].iloc[0]} questions")


def _draw_map(axes: Axes, cells: pd.DataFrame, outer: bool) -> None:
    if cells.empty:
        axes.axis("off")
        return
    weights = cells.pivot(index="query", columns="key", values="weight")
    size = len(weights)
    draw_cells(axes, weights.to_numpy(float) ** 0.5, style.SEQUENTIAL, 0, 1)
    axes.set_aspect("equal")
    axes.set_title(f"head {cells['layer'].iloc[0]}-{cells['head'].iloc[0]}")
    axes.set_xticks([0.5, size - 0.5], ["1", str(size)], fontsize=style.SMALLEST)
    axes.set_yticks([0.5, size - 0.5], ["1", str(size)] if outer else ["", ""], fontsize=style.SMALLEST)
    axes.set(xlabel="Key token", ylabel="Query token" if outer else "")


def _draw_features(axes: Axes, type_heads: pd.DataFrame, colour: str, outer: bool) -> None:
    names = {name: _LABELS.get(name) or str(int(name.removeprefix("window_")) + 1) for name in FEATURES}
    tidy = type_heads[list(FEATURES)].melt(var_name="feature", value_name="share")
    box = {"linewidth": 0.5, "fliersize": 1.2, "width": 0.7, "saturation": 1}
    sns.boxplot(tidy, x="share", y="feature", order=list(FEATURES), color=colour, ax=axes, **box)
    axes.set_yticks(range(len(FEATURES)), list(names.values()) if outer else [""] * len(FEATURES), fontsize=style.SMALLEST)
    axes.set(xlabel="Share of attention", ylabel="Special tokens, self, windows 1 to 16" if outer else "")


@figure(
    title="Heads in the plane by their distance features",
    reads=("head_type_plane", "head_type_agreement", "head_types"),
    labels=("questions",),
    files=("head_types.tsv",),
)
def figure2(head_type_plane: pd.DataFrame, head_type_agreement: pd.DataFrame, head_types: pd.DataFrame) -> DrawnFigure:
    """Heads in the plane by t-SNE of their distance features, which are not scaled, coloured by type (Guan et al. 2020, Figure
    2). The types are clusters of the features, not of the plane; distances between groups in such a plane have no meaning.
    Heads are named (layer-head) where there is space.
    """
    plane = head_type_plane
    silhouette = head_type_agreement["silhouette"].iloc[0]
    drawn, grid = page_figure(1, 1, 5.2, 4.6)
    axes = grid[0, 0]
    names = shown_types(plane["type"])
    of_types = {"hue": "type", "style": "type", "palette": COLOURS, "markers": _MARKERS}
    sns.scatterplot(plane, x="x", y="y", **of_types, s=24, linewidth=0, legend=False, ax=axes)
    axes.set(xticks=[], yticks=[], xlabel="t-SNE axis 1 (no unit)", ylabel="t-SNE axis 2 (no unit)")
    handles = []
    for name in names:
        text = f"{TITLES[name]} ({(plane['type'] == name).sum()})"
        handles.append(Line2D([], [], linestyle="none", marker=_MARKERS[name], color=COLOURS[name], label=text))
    drawn.legend(handles=handles, loc="outside lower center", ncols=3)
    points = list(zip(plane["x"], plane["y"], strict=True))
    labels = [f"{row.layer}-{row.head}" for row in plane.itertuples()]
    label_points(axes, points, labels, style.SMALLEST, radius=2.6, color=style.NOTE)
    note = f"n = {head_types['n'].iloc[0]} questions, {len(plane)} heads, silhouette {silhouette:.2f}"
    return DrawnFigure(drawn, plane, note)


@figure(title="Types of heads by layer", reads=("head_types",), labels=("questions",))
def figure3(head_types: pd.DataFrame) -> DrawnFigure:
    """How many heads of each type every layer has (Guan et al. 2020, Figure 3). The legend gives the share of each type beside
    the published one, of BERT-large fine-tuned on SQuAD. Clusters are named by the assignment with the largest total fit over
    all 24 namings; one that does not fit its name is unnamed.
    """
    names = shown_types(head_types["type"])
    counts = pd.crosstab(head_types["layer"], head_types["type"]).reindex(columns=list(names), fill_value=0)
    published = rows_of_column("guan2020", "quantities", "value").drop_duplicates("quantity").set_index("quantity")["value"]
    tidy = counts.melt(ignore_index=False, var_name="type", value_name="heads").reset_index()
    drawn, grid = page_figure(1, 1, style.PAGE if len(counts) > 12 else 5.2, 2.6)
    axes = grid[0, 0]
    # Seaborn stacks from the last one up.
    stacked = {"multiple": "stack", "hue_order": list(reversed(names)), "palette": COLOURS, "alpha": 1, "linewidth": 0}
    sns.histplot(tidy, x="layer", weights="heads", hue="type", discrete=True, shrink=0.8, legend=False, ax=axes, **stacked)
    handles = []
    for name in names:
        share = f"{counts[name].sum() / counts.to_numpy().sum():.1%}".replace("%", " %")
        printed = f", published {100 * published[f'share_{name}']:.1f} %" if f"share_{name}" in published else ""
        handles.append(Patch(facecolor=COLOURS[name], label=f"{TITLES[name]}: {share}{printed}"))
    axes.set(xlabel=style.LAYER, ylabel="Heads", xlim=(0.4, len(counts) + 0.6))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    drawn.legend(handles=handles, loc="outside lower center", ncols=2)
    note = f"n = {head_types['n'].iloc[0]} questions, {int(counts.to_numpy().sum())} heads"
    by_layer = counts.rename_axis(columns="type").stack().rename("heads").reset_index()
    by_layer["share"] = by_layer["heads"] / by_layer.groupby("layer")["heads"].transform("sum")
    return DrawnFigure(drawn, by_layer, note)


@figure(title="Types of the same heads in models trained for different tasks", reads=("models",), labels=("compared",))
def figure4(models: pd.DataFrame) -> DrawnFigure:
    """The type of every head in models trained for different tasks (Guan et al. 2020, Figure 4). Upper row: nearest type of
    the SQuAD model; lower row: clusters of each model. Above a panel: share of heads with the same type as in the SQuAD model,
    among those with a type in both. Models are measured on their tasks.
    """
    names = list(dict.fromkeys(models["model"]))
    shown = shown_types(models["type"])
    layers, heads = int(models["layer"].max()), int(models["head"].max())
    height = 2 * max(0.9, 0.1 * layers) + 1.5
    drawn, axes = page_figure(2, len(names), min(style.PAGE, 1.75 * max(len(names), 3)), height)
    colours = ListedColormap([COLOURS[name] for name in _ALL])
    for row, fit in zip(axes, _FIT_TITLES, strict=True):
        for axis, name in zip(row, names, strict=True):
            panel = models[(models["model"] == name) & (models["fit"] == fit)]
            numbers = panel.assign(number=panel["type"].map(_ALL.index)).pivot(index="layer", columns="head", values="number")
            draw_cells(axis, numbers.to_numpy(float), colours, -0.5, len(_ALL) - 0.5)
            number_ticks(axis, "x", heads, 4)
            number_ticks(axis, "y", layers, 8)
            share, number = same_type(models, name, fit)
            same = f"same as SQuAD:\n{100 * share:.0f} % of {number}" if number else "no head has\na type in both"
            title = MODEL_TITLES.get(name, name) + (f"\n{same}" if name != "squad" else "")
            axis.set_title(title, fontsize=7 if len(names) <= 4 else style.SMALLEST)
        row[0].set_ylabel(f"{_FIT_TITLES[fit]}\n{style.LAYER}")
    for axis in axes[-1]:
        axis.set_xlabel(style.HEAD)
    handles = [Patch(color=COLOURS[name], label=TITLES[name]) for name in shown]
    drawn.legend(handles=handles, loc="outside upper center", ncols=len(shown))
    note = "percentages: of the heads whose clusters have a name in both models"
    return DrawnFigure(drawn, models, f"n = {layers * heads} heads of each model; {note}")


def same_type(table: pd.DataFrame, name: str, fit: str) -> tuple[float, int]:
    """Share of heads with the same type as in the study's model, among those that have a type in both; their number."""
    keyed = table[table["fit"] == fit].set_index(["layer", "head"])
    reference = keyed.loc[keyed["model"] == "squad", "type"]
    compared = keyed.loc[keyed["model"] == name, "type"].reindex(reference.index)
    named = (reference != UNNAMED) & (compared != UNNAMED)
    return float((reference == compared)[named].mean()), int(named.sum())


@figure(title="The maps of all heads on one example, framed by type", reads=("map_grid",), labels=("questions",))
def figure5(map_grid: pd.DataFrame) -> DrawnFigure:
    """The attention maps of all heads on one example, each in a frame of the colour of its type (Guan et al. 2020, Figure 5).
    Rows are query tokens, columns key tokens; maps are reduced to means over blocks of tokens. Each map has its own
    square-root grey scale.
    """
    layers, heads, cells = (int(map_grid[name].max()) for name in ("layer", "head", "row"))
    values = np.zeros((layers, heads, cells, cells))
    places = [map_grid[name].to_numpy(int) - 1 for name in ("layer", "head", "row", "column")]
    values[tuple(places)] = map_grid["weight"].to_numpy(float)
    # Cells are means over blocks of different numbers of tokens: each map is shown on its own scale.
    values = np.sqrt(values / values.max(axis=(2, 3), keepdims=True))
    side = min(0.62, (style.PAGE - 0.5) / heads, (style.TALLEST - 1.4) / layers)
    drawn, grid = page_figure(1, 1, max(style.COLUMN, side * heads + 0.5), side * layers + 0.8)
    axes = grid[0, 0]
    types = map_grid.drop_duplicates(["layer", "head"]).set_index(["layer", "head"])["type"]
    shown = shown_types(types)
    image: dict[str, Any] = {"cmap": "Greys", "vmin": 0, "vmax": 1, "interpolation": "nearest", "zorder": 1}
    for layer, head in product(range(1, layers + 1), range(1, heads + 1)):
        axes.imshow(values[layer - 1, head - 1], extent=(head - 0.42, head + 0.42, layer + 0.42, layer - 0.42), **image)
        # Behind the map and larger than it, with white between them, so that it is not taken for a column.
        for half, colour in ((0.49, COLOURS[str(types[layer, head])]), (0.44, "white")):
            corner = (head - half, layer - half)
            axes.add_patch(Rectangle(corner, 2 * half, 2 * half, linewidth=0, facecolor=colour, zorder=0))
    axes.set(xlim=(0.45, heads + 0.55), ylim=(layers + 0.55, 0.45), aspect="equal", xlabel=style.HEAD, ylabel=style.LAYER)
    axes.set(xticks=range(1, heads + 1), yticks=range(1, layers + 1))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    handles = [Patch(facecolor="none", edgecolor=COLOURS[name], linewidth=2, label=TITLES[name]) for name in shown]
    drawn.legend(handles=handles, loc="outside upper center", ncols=len(shown))
    note = f"example {map_grid['example'].iloc[0]}, {map_grid['pieces'].iloc[0]} tokens as {cells} x {cells} cells"
    return DrawnFigure(drawn, map_grid, note)
