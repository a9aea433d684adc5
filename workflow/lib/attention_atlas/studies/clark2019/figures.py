"""Figures of Clark et al. (2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from string import ascii_lowercase
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attention_atlas.errors import AtlasError
from attention_atlas.figures import style
from attention_atlas.figures.marks import draw_attention_lines, label_points, shortened
from attention_atlas.figures.style import BLACK, GREY, LAYER, NOTE, PAGE, PUBLISHED, DrawnFigure, Quantity, page_figure
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD
from attention_atlas.methods.surface import TARGETS
from attention_atlas.published.values import rows_of_column
from attention_atlas.studies.clark2019 import PREDICTED
from attention_atlas.workflow.shown import figure

_KINDS = {
    "broad": "entropy {0:.2f} nats",
    "next token": "{1:.0f} % of its attention to the next token",
    "[SEP]": "{1:.0f} % of its attention to [SEP]",
    "punctuation": "{1:.0f} % of its attention to . and ,",
}
"""Kind -> title of a head, of the mean of its measure as a number and in %."""
PUBLISHED_MODEL = "BERT-base"
PANELS = {
    **{"cls": style.TO_CLS, "sep": style.TO_SEP, "punct": style.TO_PUNCTUATION},
    **{"rest_sep": style.OTHERS_TO_SEP, "sep_sep": style.SEP_TO_SEP},
}
"""Target (a measure of the surface) -> how it is drawn."""
_SERIES = (*((target, PANELS[target]) for target in ("sep", "cls", "punct")), ("other", style.TO_OTHERS))
_GRADIENTS = (
    ("masked", "per_weight", "Masked tokens, mean over weights", "Gradient |dL/dA| (nats)"),
    ("unmasked", "per_weight", "All tokens, mean over weights", "Gradient |dL/dA| (nats)"),
    ("masked", "per_query", "Masked tokens, sum over the class", "Gradient |dL/dA| (nats)"),
    ("masked", "gradient_x_attention", "Masked tokens, gradient × attention", "|A dL/dA| (nats)"),
)
_SOURCES = {"entropy": "all", "entropy_cls": "cls"}
_RELATIONS = {
    "dobj": ("direct objects", "verbs"),
    "det": ("determiners", "nouns"),
    "poss": ("possessors", "nouns"),
    "auxpass": ("passive auxiliaries", "verbs"),
    "pobj": ("objects", "prepositions"),
    "coreference": ("mentions", "antecedents"),
}
_FORWARD = (DEPENDENT_TO_HEAD, "mention_to_antecedent")
_LINE, _TITLE = 0.125, 0.52
"""Height of a word, and of a title with the space below a panel, in inches."""
BEHAVIOURS = {
    "none": ("no clear behaviour", style.GREY, "o"),
    "next": (f"to the {style.TO_NEXT.name}", style.TO_NEXT.colour, style.TO_NEXT.marker),
    "previous": (f"to the {style.TO_PREVIOUS.name}", style.TO_PREVIOUS.colour, style.TO_PREVIOUS.marker),
    "broad": ("broad attention", style.SKY, "X"),
    "cls": ("to [CLS]", style.TO_CLS.colour, "D"),
    "sep": ("to [SEP]", style.TO_SEP.colour, style.TO_SEP.marker),
    "punctuation": ("to . and ,", style.TO_PUNCTUATION.colour, style.TO_PUNCTUATION.marker),
}


@figure(
    title="Four example heads",
    reads=("figure1_weights",),
    labels=("segments",),
    needs=("segments",),
    text_files=("figure1.svg", "figure1.png", "figure1.pdf", "figure1.tsv"),
)
def figure1(figure1_weights: pd.DataFrame) -> DrawnFigure:
    """Heads with the largest mean entropy, or attention to the next token, to [SEP], to punctuation (Clark et al. 2019, Figure
    1). The title gives this mean over all segments. Drawn: the last fifteen tokens of one segment, rows renormalised; the
    first token stands for all earlier ones.
    """
    table = figure1_weights
    if table.empty:
        raise AtlasError("no segment has 15 tokens, so Figure 1 cannot be drawn.")
    panels = list(table.groupby("kind", sort=False))
    size = int(table["from_position"].max())
    rows = -(-len(panels) // 2)
    drawn, grid = page_figure(rows, 2, PAGE, rows * (0.145 * size + 0.45))
    _without_axes(grid)
    for axes, (kind, panel) in zip(grid.flat, panels, strict=False):
        first = panel.iloc[0]
        weights = panel["weight"].to_numpy().reshape(size, size)
        tokens = [shortened(token) for token in panel["from_token"].astype(str).to_numpy()[::size]]
        draw_attention_lines(axes, tokens, weights, style.BLUE)
        title = _KINDS[str(kind)].format(first["value"], 100 * first["value"])
        axes.set_title(f"Head {first['layer']}-{first['head']}: {title}")
    return DrawnFigure(drawn, table, f"one segment ({table['example'].iloc[0]})")


@figure(
    title="Attention to [CLS], [SEP] and punctuation, by layer",
    reads=("surface",),
    optional={"random": ("random_model", "variants/random/surface.tsv")},
    labels=("segments",),
    needs=("segments",),
    files=("surface.tsv",),
)
def figure2(surface: pd.DataFrame, random: pd.DataFrame | None = None) -> DrawnFigure:
    """Mean attention of heads, over queries, then over segments (Clark et al. 2019, Figure 2). Dots are heads, lines their
    means; grey: the range over heads with random weights. Hollow marks: read off the paper's figure, for BERT-base on
    Wikipedia, by absolute layer; comparable only in a run of the same model and corpus. Some models attend to [CLS] instead.
    """
    table = _targets(surface).assign(weights="trained")
    control = None if random is None else _targets(random).assign(weights="random")
    every = table if control is None else pd.concat([table, control], ignore_index=True)
    published = rows_of_column("clark2019", "surface", "mean(value)").rename(columns={"measure": "target"})
    published = published[published["target"].isin(PANELS)]
    drawn, grid = page_figure(2, 3, PAGE, 4.2, sharex=True, sharey=True)
    for axes, (target, quantity) in zip(grid.flat, PANELS.items(), strict=False):
        if control is not None:
            draw_range(axes, control[control["target"] == target], "mean_attention")
        draw_by_layer(axes, table, [(target, quantity)], "target", "mean_attention", published)
        axes.set_title(quantity.title)
    values_from_zero(grid[0, 0], [*every["mean_attention"], *published["value"]])
    for row in grid:
        row[0].set_ylabel(style.ATTENTION.axis)
    # The last slot of the grid holds the legend; the panel above it shows its layers.
    grid[0, -1].tick_params(labelbottom=True)
    grid[0, -1].xaxis.label.set_visible(True)
    grid[-1, -1].axis("off")
    handles = layer_legend([style.TO_SEP], control is not None, PUBLISHED_MODEL)
    for handle in [*handles[:2], handles[-1]]:
        handle.set_color(style.BLACK)
    grid[-1, -1].legend(handles=handles, loc="center left", bbox_to_anchor=(0, 0.5))
    return DrawnFigure(drawn, every, _count(table))


def _targets(surface: pd.DataFrame) -> pd.DataFrame:
    return surface[surface["measure"].isin(TARGETS)].rename(columns={"measure": "target", "value": "mean_attention"})


def _count(table: pd.DataFrame) -> str:
    return f"n = {int(table['n'].max())} segments, {len(table[['layer', 'head']].drop_duplicates())} heads"


@figure(
    title="Gradient of the masked-language-model loss with respect to attention, by target",
    reads=("gradients",),
    labels=("segments",),
    needs=("segments", "gradients"),
    files=("gradients.tsv",),
)
def figure3(gradients: pd.DataFrame) -> DrawnFigure:
    """Magnitude of the derivative of the masked-language-model loss with respect to attention weights (Clark et al. 2019,
    Figure 3). Marks are heads, lines their means. The paper does not say which tokens are masked or how it averages: four
    readings, each over the predicted tokens as queries in all layers. Other tokens include [CLS].
    """
    table = gradients[gradients["rows"] == PREDICTED]
    drawn, grid = page_figure(2, 2, PAGE, 5.0, sharex=True)
    if table.empty:
        _without_axes(grid)
        grid[0, 0].text(0, 0.5, "The model has no [MASK]: there is no such loss.", color=style.NOTE)
        return DrawnFigure(drawn, gradients)
    for axes, (masking, measure, title, quantity) in zip(grid.flat, _GRADIENTS, strict=True):
        panel_rows = table[(table["masking"] == masking) & (table["measure"] == measure)]
        draw_by_layer(axes, panel_rows, _SERIES, "target", "value")
        axes.set(title=title, ylabel=quantity, yscale="log")
    for axes in grid[0]:
        axes.set_xlabel("")
    handles = layer_legend([target for key, target in _SERIES if (table["target"] == key).any()])
    drawn.legend(handles=handles, loc="outside upper center", ncols=4, title="Attention to")
    return DrawnFigure(drawn, gradients, _count(table))


@figure(
    title="Entropy of attention, from all tokens and from [CLS]",
    reads=("surface", "surface_summary"),
    labels=("segments",),
    needs=("segments",),
)
def figure4(surface: pd.DataFrame, surface_summary: pd.DataFrame) -> DrawnFigure:
    """Entropy of attention over all tokens (left) and from [CLS] alone (right), by layer (Clark et al. 2019, Figure 4). Dots
    are heads, lines their means. Hollow marks: read off the paper's figure, for BERT-base on Wikipedia segments, by absolute
    layer (12 layers); lengths of segments differ between corpora.
    """
    table = surface[surface["measure"].isin(_SOURCES)].rename(columns={"measure": "source", "value": "entropy"})
    table = table.assign(source=table["source"].map(_SOURCES))
    published = rows_of_column("clark2019", "surface", "mean(value)")
    published = published.assign(source=published["measure"].map(_SOURCES)).dropna(subset=["source"])
    # One value is of the last layer of any model; the same is read off the figure for layer 12.
    published = published[published["layer"] != "last"].astype({"layer": int})
    uniform = float(surface_summary.set_index("quantity")["value"]["uniform_entropy"])
    drawn, grid = page_figure(1, 2, PAGE, 2.9, sharey=True)
    panels = (("all", "From all tokens", style.ENTROPY), ("cls", "From [CLS]", style.ENTROPY_OF_CLS))
    for axes, (source, title, quantity) in zip(grid[0], panels, strict=True):
        draw_by_layer(axes, table, [(source, quantity)], "source", "entropy", published)
        axes.axhline(uniform, color=style.GREY, linestyle="--", linewidth=1.0, zorder=1)
        axes.set_title(title)
    values_from_zero(grid[0, 0], [uniform, *table["entropy"], *published["value"]])
    grid[0, 0].set_ylabel(style.ENTROPY.axis)
    handles = layer_legend([style.ENTROPY], published=PUBLISHED_MODEL)
    for handle in handles[:3]:
        handle.set_color(style.BLACK)
    label = f"uniform attention ({uniform:.2f} nats)"
    handles.append(Line2D([], [], color=style.GREY, linestyle="--", linewidth=1.0, label=label))
    drawn.legend(handles=handles, loc="outside lower center", ncols=4)
    return DrawnFigure(drawn, table, _count(table))


@figure(
    title="Heads that follow a dependency relation",
    reads=("figure5_dependencies",),
    optional={"figure5_coreference": ("coreference", "figure5_coreference.tsv")},
    labels=("dependencies",),
    titles=("coreference",),
    needs=("dependencies",),
    uses=("coreference",),
    text_files=("figure5.svg", "figure5.png", "figure5.pdf", "figure5.tsv"),
)
def figure5(
    figure5_dependencies: pd.DataFrame, titles: Mapping[str, str], figure5_coreference: pd.DataFrame | None = None
) -> DrawnFigure:
    """The best head of each relation on two sentences (Clark et al. 2019, Figure 5). Orange: the relation; grey: all other
    attention. The sentences are ones on which the head is right; the title gives how often. [CLS] and
    [SEP] are left out for pobj, other sentences for coreference: rows are renormalised.
    """
    frames = [frame for frame in (figure5_dependencies, figure5_coreference) if frame is not None and len(frame)]
    if not frames:
        raise AtlasError("no sentence of 6 to 12 words has a relation that Figure 5 draws.")
    table = pd.concat(frames, ignore_index=True)
    relations = table["relation"].unique()
    columns = min(3, len(relations))
    # Relations side by side, one example of each: a row of panels as tall as its longest sentence.
    rows = []
    for start in range(0, len(relations), columns):
        band = relations[start : start + columns]
        of_band = table[table["relation"].isin(band)]
        rows += [(band, example, longest) for example, longest in of_band.groupby("example")["from_position"].max().items()]
    heights = [_LINE * longest + _TITLE for _, _, longest in rows]
    drawn, grid = page_figure(len(rows), columns, PAGE, sum(heights), height_ratios=heights)
    _without_axes(grid)
    for row, (band, example, _) in zip(grid, rows, strict=True):
        for axes, relation in zip(row, band, strict=False):
            frame = table[table["relation"] == relation]
            panel = frame[frame["example"] == example]
            if panel.empty:
                continue
            n = int(panel["from_position"].max())
            marked = panel["marked"].to_numpy().reshape(n, n).astype(bool)
            forward = panel["direction"].iloc[0] in _FORWARD
            bold = [i for i in range(n) if (marked[i].all() if forward else marked[:, i].all())]
            words = [shortened(word) for word in panel["from_word"].astype(str).to_numpy()[::n]]
            weights, size = panel["weight"].to_numpy().reshape(n, n), style.SMALLEST + 0.5
            draw_attention_lines(axes, words, weights, style.GREY, marked, style.VERMILION, bold, size=size)
            if example == frame["example"].min():
                first, ends = frame.iloc[0], _RELATIONS.get(str(relation), ("dependents", "heads"))
                accuracy = f", {100 * first['accuracy']:.1f} % right" if pd.notna(first["accuracy"]) else ""
                title = f"Head {first['layer']}-{first['head']}: {relation}{accuracy}\n"
                axes.set_title(title + " to ".join(ends if forward else ends[::-1]), fontsize=7.5)
    corpora = f"; coreference: {titles['coreference']}" if titles else ""
    return DrawnFigure(drawn, table, f"n = {table.groupby(['relation', 'example']).ngroups} sentences{corpora}")


def _without_axes(grid: Any) -> None:
    for axes in grid.flat:
        axes.axis("off")


@figure(
    title="Heads in the plane by their Jensen-Shannon divergences",
    reads=("clustering", "clustering_test", "surface_summary"),
    labels=("segments",),
    needs=("segments",),
    uses=("dependencies", "coreference"),
    files=("head_distances.tsv", "clustering_test.tsv"),
)
def figure6(clustering: pd.DataFrame, clustering_test: pd.DataFrame, surface_summary: pd.DataFrame) -> DrawnFigure:
    """Multidimensional scaling of the Jensen-Shannon divergences of all pairs of heads (Clark et al. 2019, Figure 6), by
    behaviour and by layer; hollow: best heads of relations. Axes have no meaning of their own: other random starts give other
    layouts (below the legend: how far heads move). The test of layers does not use them.
    """
    heads, segments = clustering, int(surface_summary.set_index("quantity")["value"]["segments"])
    drawn, grid = page_figure(1, 2, PAGE, 3.9)
    handles = _by_behaviour(grid[0, 0], heads)
    layers = int(heads["layer"].max())
    # The lightest colour is still visible on white.
    colours = ListedColormap(plt.get_cmap("viridis")(np.linspace(0, 0.9, layers)))
    norm = BoundaryNorm(np.arange(0.5, layers + 1), layers)
    places = heads["x"], heads["y"], 22, heads["layer"]
    points_by_layer = grid[0, 1].scatter(*places, cmap=colours, norm=norm, linewidth=0.3, edgecolors="white")
    ticks = range(1, layers + 1, max(1, layers // 12))
    drawn.colorbar(points_by_layer, ax=grid[0, 1], label=style.LAYER, ticks=ticks, pad=0.02)
    grid[0, 1].set_title("By layer")
    for axes in grid[0]:
        axes.set_aspect("equal", adjustable="datalim")
        axes.set(xlabel="MDS axis 1 (nats per token)", ylabel="MDS axis 2 (nats per token)")
        axes.locator_params(nbins=5)
    marked = heads[heads["relation"].notna()].sort_values(["layer", "head"], ignore_index=True)
    for letter, marker, row in zip(ascii_lowercase, cycle("osD^v"), marked.itertuples(), strict=False):
        name = f"{letter}: {row.relation} ({row.layer}-{row.head})"
        hollow = {"marker": marker, "markersize": 8, "color": "none", "mec": style.BLACK, "linestyle": "none"}
        handles += grid[0, 0].plot(row.x, row.y, **hollow, label=name)
    drawn.legend(handles=handles, loc="outside lower center", ncols=3, columnspacing=1.0)
    points, marks = (list(zip(table["x"], table["y"], strict=True)) for table in (marked, heads))
    letters = list(ascii_lowercase[: len(points)])
    label_points(grid[0, 0], points, letters, 8, 3.5, marks, lines=True, fontweight="bold")
    moved, radius = clustering_test.set_index("quantity").loc[["displacement", "radius"], "value"]
    note = f"other starts move heads by {moved:.2f}, at a radius of the plane of {radius:.2f} nats per token"
    note += ": unstable" if moved > radius / 2 else ""
    return DrawnFigure(drawn, heads, f"n = {segments} segments, {len(heads)} heads; {note}")


def _by_behaviour(axes: Axes, heads: pd.DataFrame) -> list[Line2D]:
    handles = []
    for name, (title, colour, marker) in BEHAVIOURS.items():
        alike = heads[heads["behaviour"] == name]
        if len(alike):
            axes.scatter(alike["x"], alike["y"], s=22, linewidth=0.3, edgecolors="white", color=colour, marker=marker)
            handles.append(Line2D([], [], linestyle="none", marker=marker, color=colour, label=title))
    axes.set_title("By behaviour")
    return handles


def draw_by_layer(
    axes: Axes,
    frame: pd.DataFrame,
    series: Sequence[tuple[str, Quantity]],
    column: str,
    value: str,
    published: pd.DataFrame | None = None,
) -> None:
    """Draw every head as a mark and the mean over the heads of a layer as a line.

    In a panel of one series the marks are dots. frame: one row per head: `column`, layer, head, `value`; series: (value of
    `column`, how it is drawn), skipped if missing from `frame`; published: `column`, layer, value, drawn as hollow marks.
    """
    present = [(key, drawn) for key, drawn in series if (frame[column] == key).any()]
    if not present:
        axes.text(0.5, 0.5, "the model has no such token", transform=axes.transAxes, ha="center", color=NOTE)
    for place, (key, drawn) in enumerate(present):
        heads = frame[frame[column] == key]
        # The heads of a layer are drawn side by side, in order, so that they do not overlap: over half the way to the next.
        width = 0.5 / len(present)
        rank = heads.groupby("layer")["head"].rank()
        beside = (rank - 0.5) / rank.max() - 0.5
        dots = heads.assign(layer=heads["layer"] + width * (beside + place - (len(present) - 1) / 2))
        look = {"color": drawn.colour, "ax": axes, "legend": False}
        marker = "o" if len(present) == 1 else drawn.marker
        sns.scatterplot(dots, x="layer", y=value, s=9, marker=marker, alpha=0.55, linewidth=0, zorder=3, **look)
        sns.lineplot(heads, x="layer", y=value, estimator="mean", errorbar=None, zorder=2, label=drawn.name, **look)
    layers = int(frame["layer"].max())
    if published is not None and not published.empty:
        layers = max(layers, int(published["layer"].max()))
        for key, drawn in present:
            points = published[published[column] == key].sort_values("layer")
            axes.plot(points["layer"], points["value"], **PUBLISHED | {"color": drawn.colour}, linestyle=":", linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=min(layers, 12)))
    axes.set(xlabel=LAYER, ylabel="", xlim=(0.4, layers + 0.6))


def draw_range(axes: Axes, heads: pd.DataFrame, value: str) -> None:
    """Draw the range over the heads of a layer as a grey band and their mean as a dashed line; nothing without heads."""
    if heads.empty:
        return
    look = {"color": GREY, "linestyle": "--", "linewidth": 1.0, "zorder": 1, "ax": axes, "legend": False}
    sns.lineplot(heads, x="layer", y=value, errorbar=("pi", 100), err_kws={"alpha": 0.3, "linewidth": 0}, **look)


def layer_legend(series: Sequence[Quantity], random: bool = False, published: str = "") -> list[Line2D]:
    """Handles of a legend for what `draw_by_layer` and `draw_range` draw; a single series is labelled as head and mean.

    random: whether there are bands; published: source of the published values; empty if there are none.
    """
    handles: list[Line2D] = []
    if len(series) == 1:
        drawn = series[0]
        dot: dict[str, Any] = {"linestyle": "none", "alpha": 0.55, "markersize": 3.5, "markeredgewidth": 0}
        handles += [Line2D([], [], color=drawn.colour, marker="o", label="one head", **dot)]
        handles += [Line2D([], [], color=drawn.colour, label="mean of the layer")]
    else:
        handles += [Line2D([], [], color=drawn.colour, marker=drawn.marker, label=drawn.name) for drawn in series]
    if random:
        label = "random weights: mean and range"
        handles.append(Line2D([], [], color=GREY, linestyle="--", linewidth=1.0, label=label))
    if published:
        look = PUBLISHED | {"color": series[0].colour if len(series) == 1 else BLACK}
        handles.append(Line2D([], [], **look, linestyle=":", linewidth=0.8, label=f"published ({published})"))
    return handles


def values_from_zero(axes: Axes, values: Sequence[float]) -> None:
    """Make a vertical axis run from 0 to slightly above the largest value."""
    top = max([0.0, *(float(value) for value in values if np.isfinite(value))])
    axes.set_ylim(0, 1.06 * top if top else 1)
