"""Figures 5 to 9 of Kovaleva et al. (2019), with panels for each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.marks import draw_cells, draw_head_grid, number_ticks
from attention_atlas.figures.quantities import ATTENTION, COSINE, HEAD, LAYER, LOSS, UNCHANGED
from attention_atlas.figures.style import (
    BLACK,
    DIVERGING,
    NOTE,
    PAGE,
    REVERSED,
    SEQUENTIAL,
    SMALLEST,
    TALLEST,
    DrawnFigure,
    minus_signs,
    page_figure,
)
from attention_atlas.figures.style import PUBLISHED as PUBLISHED_MARK
from attention_atlas.published.values import load_digitised
from attention_atlas.studies.kovaleva2019.names import LEVEL, POINTS, PUBLISHED_MODEL, TASK_TITLES, count_range
from attention_atlas.workflow.shown import figure

METRIC_TITLES = {"accuracy": "accuracy", "f1": "F1", "correlation": "Pearson/Spearman"}
_PANELS = 4
"""Largest number of panels side by side."""
_CROPS = {"padded": "Padded", "real_same": "Real length", "real": "Real length"}
_TOKENS = {
    "sep": "[SEP], largest",
    "sep_sum": "[SEP], sum",
    "published SEP": f"[SEP], published\n{PUBLISHED_MODEL}",
    "cls": "[CLS]",
    "published CLS": f"[CLS], published\n{PUBLISHED_MODEL}",
}
_FEATURES = {"pron": "pronoun", "noun": "noun", "verb": "verb", "obj": "object", "subj": "subject", "neg": "negation"}
_FEATURES |= {"punct": "punctuation", "cls": "[CLS]", "sep": "[SEP]"}
_KINDS = {"as_published": "By spelling", "corrected": "By word", "published": f"Published\n({PUBLISHED_MODEL})"}
_COLOURS = {f"p < {LEVEL}, adjusted for all layers": LOSS, "not significant": UNCHANGED}


def digitised(name: str) -> pd.DataFrame:
    """A table of values that were read off a figure, with the task names of this study."""
    table = load_digitised(name)
    return table.assign(task=table["task"].map({title: task for task, title in TASK_TITLES.items()}))


def task_panels(tasks: Sequence[str], height: float) -> tuple[Figure, dict[str, Axes]]:
    """A figure, and task -> panel; rows of panels have this height in inches, or less where the page is full."""
    columns = min(len(tasks), _PANELS)
    rows = -(-len(tasks) // columns)
    figure, axes = page_figure(rows, columns, PAGE, min(height * rows, TALLEST))
    for axis in axes.flat[len(tasks) :]:
        axis.axis("off")
    return figure, dict(zip(tasks, axes.flat, strict=False))


def panel_title(task: str, rows: pd.DataFrame) -> str:
    """Task, score of the full model, and examples of a panel, and whether no condition changes the score."""
    first = rows.iloc[0]
    seeds = "1 seed" if first["seeds"] == 1 else f"{first['seeds']} seeds"
    unchanged = "" if rows["delta"].any() else ": no change"
    return (
        f"{TASK_TITLES[task]}: {METRIC_TITLES[first['metric']]} {first['baseline']:.1f}\nn = {first['n']}, {seeds}{unchanged}"
    )


def task_grids(
    rows: pd.DataFrame, tasks: Sequence[str], kinds: Mapping[str, str], label: str, colours: str = SEQUENTIAL
) -> Figure:
    """Grids of values from 0 to 1 by layer and head: a row of panels for each kind (kind -> title), a column for each task."""
    heights = [max(1.1, 0.06 * int(rows.loc[rows["kind"] == kind, "layer"].max())) for kind in kinds]
    width = PAGE * min(1.0, max(len(tasks), 3) / _PANELS)
    drawing, axes = page_figure(len(kinds), len(tasks), width, sum(heights) + 0.7, height_ratios=heights)
    for panels, (kind, title) in zip(axes, kinds.items(), strict=True):
        for axis, task in zip(panels, tasks, strict=True):
            heads = rows[(rows["task"] == task) & (rows["kind"] == kind)]
            if heads.empty:
                axis.axis("off")
                continue
            image = draw_head_grid(axis, heads, "value", colours, 0, 1)
            if axis is not panels[0]:
                axis.tick_params(labelleft=False)
        panels[0].set_ylabel(f"{title}\n{LAYER}")
    for axis, task in zip(axes[0], tasks, strict=True):
        axis.set_title(TASK_TITLES[task])
    for axis in axes[-1]:
        axis.set_xlabel(HEAD)
    drawing.colorbar(image, ax=axes, label=label, shrink=0.6, aspect=30, pad=0.02)
    return drawing


@figure(
    id="figure5",
    number="Figure 5",
    title="Cosine between maps before and after fine-tuning",
    reads=("changes/cosine",),
    labels=("tasks",),
    resources=("published/digitised/fig5_cosine.csv",),
)
def figure5(cosine: pd.DataFrame) -> DrawnFigure:
    """Mean cosine, over examples and seeds, between the maps of each head before and after fine-tuning: padded to one length,
    as in the published code, with the rows of padding; the same examples at their real length; and the published values
    (Kovaleva et al. 2019, Figure 5). Darker: changed more. The table also has all examples at their real length.
    """
    table = cosine.rename(columns={"crop": "kind"})
    if (table["kind"] == "real_same").any():
        table = table[table["kind"] != "real"]
    counts = {kind: rows["n"] for kind, rows in table.groupby("kind")}
    kinds = {kind: f"{title}\n{count_range(counts[kind])}" for kind, title in _CROPS.items() if kind in counts}
    published = digitised("fig5_cosine").rename(columns={"cosine": "value"}).assign(kind="published")
    kinds["published"] = f"Published\n{PUBLISHED_MODEL}"
    rows = pd.concat([table, published], ignore_index=True)
    drawing = task_grids(rows, list(dict.fromkeys(table["task"])), kinds, COSINE.axis, REVERSED)
    return DrawnFigure(drawing, cosine, f"{count_range(table['n'])} examples per task")


@figure(
    id="figure6",
    number="Figure 6",
    title="Attention to [SEP] and [CLS] after fine-tuning",
    reads=("changes/special",),
    labels=("tasks",),
    resources=("published/digitised/fig6_sep_cls.csv",),
)
def figure6(special: pd.DataFrame) -> DrawnFigure:
    """Mean attention of every head of the fine-tuned models to [SEP] (the larger of two, or their sum) and to [CLS], over
    examples and seeds, beside the published values (Kovaleva et al. 2019, Figure 6). With a single separator, the largest and
    the sum are the same.
    """
    table = special.rename(columns={"feature": "kind"})
    published = digitised("fig6_sep_cls").rename(columns={"mean_weight": "value"})
    published = published.assign(kind="published " + published["token"])
    rows = pd.concat([table, published], ignore_index=True)
    kinds = {kind: title for kind, title in _TOKENS.items() if (rows["kind"] == kind).any()}
    drawing = task_grids(rows, list(dict.fromkeys(table["task"])), kinds, ATTENTION.axis)
    return DrawnFigure(drawing, special, f"{count_range(table['n'])} examples per task")


@figure(
    id="figure7",
    number="Figure 7",
    title="Attention of [CLS] in the last layer to tokens with a feature",
    reads=("changes/first_row",),
    labels=("tasks",),
    resources=("published/digitised/fig7_cls_last_layer.csv",),
)
def figure7(first_row: pd.DataFrame) -> DrawnFigure:
    """Last layer of the fine-tuned models: the largest attention weight of [CLS] on a token with a linguistic feature,
    averaged over the examples that have one and over seeds (Kovaleva et al. 2019, Figure 7). By spelling, as in the published
    code: all tokens spelled alike. By word: the tokens of these words alone. White: no value (column absent).
    """
    tasks, table = list(dict.fromkeys(first_row["task"])), first_row[first_row["value"].notna()]
    # The numbers of examples of the paper's values are unknown.
    published = digitised("fig7_cls_last_layer").rename(columns={"weight": "value"})
    published = published.assign(mode="published", feature=published["feature"].str.lower().str.strip("[]"))
    rows = pd.concat([table, published], ignore_index=True)
    features = [name for name in _FEATURES if (rows["feature"] == name).any()]
    columns = min(len(tasks), _PANELS)
    bands = [tasks[start : start + columns] for start in range(0, len(tasks), columns)]
    height = len(bands) * (len(_KINDS) * (0.125 * len(features) + 0.1) + 0.5) + 0.7
    drawing, grid = page_figure(len(_KINDS) * len(bands), columns, PAGE, min(height, TALLEST))
    image: QuadMesh | None = None
    for band, shown in enumerate(bands):
        panels = grid[len(_KINDS) * band : len(_KINDS) * (band + 1)]
        for row, (kind, title) in zip(panels, _KINDS.items(), strict=True):
            for axis, task in zip(row, shown, strict=False):
                cells = rows[(rows["task"] == task) & (rows["mode"] == kind)]
                image = _draw_features(axis, cells, features) or image
                axis.set_xlabel(HEAD if kind == "published" else "")
                if kind == "as_published":
                    axis.set_title(TASK_TITLES[task])
            row[0].set_yticks(np.arange(len(features)) + 0.5, [_FEATURES[name] for name in features], fontsize=SMALLEST + 0.5)
            row[0].set_ylabel(title)
            for axis in row[len(shown) :]:
                axis.axis("off")
    if image is not None:
        bar = drawing.colorbar(image, ax=grid, location="bottom", shrink=0.5, aspect=40, extend="max", pad=0.01)
        bar.set_label("Attention weight of [CLS]; beside each row: number of examples")
    examples = count_range(table.groupby("task")["n"].max()) if len(table) else ""
    return DrawnFigure(drawing, first_row, f"{examples} examples per task")


def _draw_features(axes: Axes, cells: pd.DataFrame, features: Sequence[str]) -> QuadMesh | None:
    """Draw a panel; None where there are no values."""
    if cells.empty:
        axes.text(0.5, 0.5, "no values", ha="center", va="center", color=NOTE, transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return None
    values = cells.pivot(index="feature", columns="head", values="value").reindex(features).to_numpy(float)
    # Weights above 0.5 have one colour.
    image = draw_cells(axes, values, SEQUENTIAL, 0, 0.5)
    heads = values.shape[1]
    number_ticks(axes, "x", heads, 4)
    for place, n in enumerate(cells.groupby("feature")["n"].max().reindex(features)):
        if pd.notna(n):
            axes.text(1.03 * heads, place + 0.5, f"{int(n)}", va="center", fontsize=SMALLEST, color=NOTE)
    return image


@figure(
    id="figure8",
    number="Figure 8",
    title="Change in score when one head is disabled",
    reads=("disabling_heads",),
    labels=("tasks",),
    resources=("published/digitised/fig8_disable_head.csv",),
)
def figure8(disabling_heads: pd.DataFrame) -> DrawnFigure:
    """Change in each task's score when one head attends uniformly to all real tokens, mean over seeds (Kovaleva et al. 2019,
    Figure 8). Dots: p < 0.05 by a paired permutation test over examples, adjusted for all heads. Above a panel: score of the
    full model; rank correlation of changes between seeds (ρ); largest loss and gain (layer-head); published values.
    """
    table = disabling_heads[disabling_heads["action"] == "uniform"]
    published = digitised("fig8_disable_head")
    layers = int(table["layer"].max())
    drawing, panels = task_panels(list(dict.fromkeys(table["task"])), 2.7 if layers <= 12 else 3.1)
    for task, axis in panels.items():
        heads = table[table["task"] == task]
        bound = colour_bound(heads["delta"])
        sure = heads[heads["p_adjusted"] < LEVEL]
        marked = list(zip(sure["layer"], sure["head"], strict=True))
        # A panel of zeros still needs a scale of some width.
        image = draw_head_grid(axis, heads, "delta", DIVERGING, -(bound or 1), bound or 1, marked)
        axis.set_title(_title(task, heads, published[published["task"] == task]), fontsize=SMALLEST)
        axis.set(xlabel=HEAD, ylabel=LAYER)
        if bound:
            drawing.colorbar(image, ax=axis, aspect=15, shrink=0.9, pad=0.03, extend="both")
    label = f"p < {LEVEL}, adjusted for all heads"
    dot = Line2D([], [], linestyle="none", marker="o", markersize=2.5, color=BLACK, label=label)
    title = f"Change in score, {POINTS}\neach panel on its own scale, which most heads lie within"
    drawing.legend(handles=[dot], title=title, loc="outside lower center")
    n = count_range(table.drop_duplicates("task")["n"])
    return DrawnFigure(drawing, disabling_heads, f"{n} examples per task")


def colour_bound(delta: pd.Series) -> float:
    """The absolute change that 95 % of the heads do not exceed, since a few large ones would leave the others white."""
    sizes = delta.abs()
    return float(sizes.quantile(0.95, interpolation="higher") or sizes.max())


def _title(task: str, heads: pd.DataFrame, published: pd.DataFrame) -> str:
    lines, rho = [panel_title(task, heads)], heads["seed_rho"].iloc[0]
    if heads["delta"].any():
        lines += [f"between seeds ρ = {rho:.2f}"] if pd.notna(rho) else []
        ends = (heads.loc[heads["delta"].idxmin()], heads.loc[heads["delta"].idxmax()])
        lines.append(", ".join(f"{head['delta']:+.1f} ({head['layer']:.0f}-{head['head']:.0f})" for head in ends))
    if len(published):
        changes = 100 * published["delta_vs_baseline"]
        baseline = 100 * float((published["score"] - published["delta_vs_baseline"]).mean())
        lines.append(f"published {baseline:.1f}, {changes.min():+.1f} to {changes.max():+.1f}")
    return minus_signs("\n".join(lines))


@figure(
    id="figure9",
    number="Figure 9",
    title="Change in score when a whole layer is disabled",
    reads=("disabling_layers",),
    labels=("tasks",),
    resources=("published/digitised/fig9_disable_layer.csv",),
)
def figure9(disabling_layers: pd.DataFrame) -> DrawnFigure:
    """Change in each task's score when all heads of a layer attend uniformly to all real tokens, mean over seeds (Kovaleva et
    al. 2019, Figure 9). Intervals are over examples and, with several, over seeds (Student's t). Orange: p < 0.05 by a paired
    permutation test over examples, adjusted for all layers, about these models. Diamonds: published.
    """
    table = disabling_layers[disabling_layers["action"] == "uniform"]
    published = digitised("fig9_disable_layer")
    # A row of each task is its baseline.
    published = published[published["layer"] != "baseline"].astype({"layer": int})
    published = published.assign(delta=100 * published["delta_vs_baseline"])
    drawing, panels = task_panels(list(dict.fromkeys(table["task"])), 2.1)
    for task, axis in panels.items():
        layers = table[table["task"] == task].sort_values("layer")
        _draw_layers(axis, layers, published[published["task"] == task])
        axis.set_title(panel_title(task, layers), fontsize=7)
    drawing.supylabel("Change in score", fontsize=8)
    handles = [
        *(Patch(facecolor=colour, label=name) for name, colour in _COLOURS.items()),
        Line2D([], [], color=BLACK, linewidth=0.8, label="95 % interval"),
        Line2D([], [], **PUBLISHED_MARK, linestyle="none", label=f"published ({PUBLISHED_MODEL}, 12 layers)"),
    ]
    drawing.legend(handles=handles, title=f"Change in score, {POINTS}", loc="outside lower center", ncols=3)
    n = count_range(table.drop_duplicates("task")["n"])
    return DrawnFigure(drawing, disabling_layers, f"{n} examples per task")


def _draw_layers(axes: Axes, layers: pd.DataFrame, published: pd.DataFrame) -> None:
    delta = layers["delta"]
    drawn = layers.assign(sure=np.where(layers["p_adjusted"] < LEVEL, *_COLOURS))
    style: dict[str, Any] = {"native_scale": True, "dodge": False, "errorbar": None, "legend": False, "linewidth": 0}
    sns.barplot(drawn, x="layer", y="delta", hue="sure", palette=_COLOURS, ax=axes, width=0.7, saturation=1, **style)
    interval = np.stack([delta - layers["ci_low"], layers["ci_high"] - delta]).clip(min=0)
    axes.errorbar(layers["layer"], delta, yerr=interval, fmt="none", ecolor=BLACK, elinewidth=0.8, capsize=1.5)
    axes.plot(published["layer"], published["delta"], **PUBLISHED_MARK, linestyle="none")
    axes.axhline(0, color=BLACK, linewidth=0.8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.set(xlabel=LAYER, ylabel="")
