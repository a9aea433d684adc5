"""Figures of Kovaleva et al. (2019)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby, product
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from attention_atlas.corpora.marked_text import ELEMENT, TARGET
from attention_atlas.figures import style
from attention_atlas.figures.marks import draw_cells, draw_head_grid, number_ticks
from attention_atlas.figures.style import DrawnFigure, minus_signs, page_figure, plain
from attention_atlas.published.values import load_digitised, rows_of_column
from attention_atlas.studies.kovaleva2019 import CLASS_TITLES, CLASSES, LEVEL, POINTS, TASK_TITLES
from attention_atlas.workflow.shown import figure

_COLUMNS, _PANELS = 3, 4
"""Number of maps of Figure 1, and largest number of tasks of Figures 8 and 9, side by side."""
COLOURS = dict(zip(CLASSES, (style.BLUE, style.ORANGE, style.YELLOW, style.GREEN, style.GREY), strict=True))
_PUBLISHED_TITLE = "Published\n(BERT-base)"
_WORDS = {
    "fe_to_target": "from the element to the target",
    "target_to_fe": "from the target to the element",
    "both": "in both directions",
}
_PAIRING = {"zip": "tokens paired one by one", "all": "all pairs of tokens"}
_ROLES = {TARGET: ("target", style.ORANGE), ELEMENT: ("core element", style.BLUE)}
_METRICS = {"accuracy": "accuracy", "f1": "F1", "correlation": "Pearson/Spearman"}
_CROPS = {"padded": "Padded", "real_same": "Real length", "real": "Real length"}
_TOKENS = {
    "sep": "[SEP], largest",
    "sep_sum": "[SEP], sum",
    "published SEP": f"[SEP]\n{_PUBLISHED_TITLE}",
    "cls": "[CLS]",
    "published CLS": f"[CLS]\n{_PUBLISHED_TITLE}",
}
_FEATURES = {"pron": "pronoun", "noun": "noun", "verb": "verb", "obj": "object", "subj": "subject", "neg": "negation"}
_FEATURES |= {"punct": "punctuation", "cls": "[CLS]", "sep": "[SEP]"}
_KINDS = {"as_published": "By spelling", "corrected": "By word", "published": _PUBLISHED_TITLE}


def count_range(counts: pd.Series) -> str:
    """`n = 40`, or the smallest and the largest where tasks differ."""
    least, most = int(counts.min()), int(counts.max())
    return f"n = {least}" if least == most else f"n = {least} to {most}"


def digitised(name: str) -> pd.DataFrame:
    """A table of values that were read off a figure, with the task names of this study."""
    table = load_digitised(name)
    return table.assign(task=table["task"].map({title: task for task, title in TASK_TITLES.items()}))


@figure(
    title="A map of each class",
    reads=("drawn",),
    labels=("drawn",),
    text_files=("figure1.svg", "figure1.png", "figure1.pdf", "figure1.tsv"),
)
def figure1(drawn: pd.DataFrame) -> DrawnFigure:
    """One attention map of each class, all of one example and the fine-tuned model (Kovaleva et al. 2019, Figure 1): of the
    maps that the rules put into the class, the one with the highest probability of the network, or, for blocks, with most
    attention within the segments away from the diagonal. Rows are query tokens, columns key tokens.
    """
    drawing, grid = page_figure(2, _COLUMNS, style.PAGE, 5.3)
    for place, (name, title) in enumerate(CLASS_TITLES.items()):
        axes, cells = grid.flat[place], drawn[drawn["class"] == name]
        if cells.empty:
            axes.set_title(f"{title}\nnone in this example")
            axes.axis("off")
            continue
        weights, outer = cells.pivot(index="query", columns="key", values="weight").to_numpy(float), place % _COLUMNS == 0
        image = draw_cells(axes, weights**0.5, style.SEQUENTIAL, 0, 1)
        axes.set_aspect("equal")
        tokens = [plain(token[:12]) for token in cells.drop_duplicates("query")["query_token"].astype(str)]
        # As many token labels as fit below each other without touching: a map is about 1.85 inches wide.
        step = max(1, int(np.ceil(len(tokens) * 1.2 * style.SMALLEST / 72 / 1.85)))
        places, names = np.arange(0, len(tokens), step) + 0.5, tokens[::step]
        axes.set_xticks(places, names, rotation=90, fontsize=style.SMALLEST)
        axes.set_yticks(places, names if outer else [""] * len(names), fontsize=style.SMALLEST)
        axes.tick_params(length=1.5, pad=1)
        axes.set(xlabel="Key token", ylabel="Query token" if outer else "")
        first = cells.iloc[0]
        axes.set_title(f"{title}\nhead {first['layer']}-{first['head']}, probability {first['probability']:.2f}")
    grid.flat[-1].axis("off")
    scale = grid.flat[-1].inset_axes((0.0, 0.1, 0.07, 0.8))
    bar = drawing.colorbar(image, cax=scale, label=f"{style.WEIGHT.axis}\n(square-root scale)")
    bar.set_ticks([0, 0.5, 0.5**0.5, 1], labels=["0", "0.25", "0.5", "1"])
    first = drawn.iloc[0]
    return DrawnFigure(drawing, drawn, f"one example of {TASK_TITLES[first['task']]} ({first['example']})")


@figure(
    title="Shares of the classes of maps in every task",
    reads=("changes/classes", "patterns"),
    labels=("tasks",),
    files=("changes/head_classes.tsv", "patterns.tsv"),
    uses=("tagged",),
)
def figure2(classes: pd.DataFrame, patterns: pd.DataFrame) -> DrawnFigure:
    """Shares of the five classes among all maps of the fine-tuned models: by rules, by a network trained on labelled maps, and
    as published (Kovaleva et al. 2019, Figure 2). Macro F1: on labelled maps of layers that neither was tuned on. SST-2 has
    single sentences and so no blocks: blocks there are errors of the classifier.
    """
    macro = patterns[(patterns["class"] == "macro") & (patterns["folds"] == "layer")].set_index("annotator")["f1"]
    published = rows_of_column("kovaleva2019", "figure2", "share").rename(columns={"value": "share"})
    tasks = list(dict.fromkeys(classes["task"]))
    drawing, grid = page_figure(1, 3, style.PAGE, 3.1, sharey=True)
    for axis, annotator in zip(grid[0], ("rules", "network"), strict=False):
        _bars(axis, classes[classes["annotator"] == annotator], tasks)
        axis.set_title(f"By the {annotator} (macro F1 {macro[annotator]:.2f})")
    _bars(grid[0, 2], published, [task for task in TASK_TITLES if (published["task"] == task).any()])
    grid[0, 2].set_title(_PUBLISHED_TITLE.replace("\n", " "))
    grid[0, 0].set_ylabel(style.SHARE_OF_MAPS.axis)
    handles = [Patch(facecolor=COLOURS[name], label=CLASS_TITLES[name]) for name in CLASSES]
    drawing.legend(handles=handles, loc="outside upper center", ncols=len(CLASSES))
    maps = count_range(classes.drop_duplicates("task")["n"])
    return DrawnFigure(drawing, classes, f"{maps} examples per task, all heads")


def _bars(axes: Axes, rows: pd.DataFrame, tasks: list[str]) -> None:
    shares = rows.pivot(index="task", columns="class", values="share").reindex(index=tasks, columns=list(CLASSES)).fillna(0)
    stacked = (100 * shares).rename(index=TASK_TITLES)
    stacked.plot.bar(stacked=True, ax=axes, color=COLOURS, width=0.8, legend=False, xlabel="", ylim=(0, 100))


@figure(
    title="Attention between frame targets and core frame elements",
    reads=("frame_heads",),
    labels=("frames",),
    needs=("frames",),
    resources=("published/digitised/fig3_framenet.csv",),
)
def figure3(frame_heads: pd.DataFrame, direction: str, pairing: str) -> DrawnFigure:
    """For every head: the largest attention weight between the target of a frame and its core elements, averaged over
    sentences; the same minus that of pairs at the same distance; and the published weights (Kovaleva et al. 2019, Figure 3).
    """
    published = load_digitised("fig3_framenet").rename(columns={"mean_max_weight": "value"})
    bound = float(frame_heads["margin"].abs().max())
    height = max(1.9, 0.1 * int(frame_heads["layer"].max()) + 0.9)
    drawing, grid = page_figure(1, 3, style.PAGE, height + 0.3)
    largest = max(float(frame_heads["value"].max()), float(published["value"].max()))
    first = draw_head_grid(grid[0, 0], frame_heads, "value", style.SEQUENTIAL, 0, largest)
    second = draw_head_grid(grid[0, 1], frame_heads, "margin", style.DIVERGING, -bound, bound)
    draw_head_grid(grid[0, 2], published, "value", style.SEQUENTIAL, 0, largest)
    panels = {
        "Mean largest weight": (first, style.WEIGHT.axis),
        "Minus pairs at the same distance": (second, "Difference of weights"),
        _PUBLISHED_TITLE.replace("\n", " "): (first, style.WEIGHT.axis),
    }
    for axis, (title, (image, label)) in zip(grid[0], panels.items(), strict=True):
        axis.set(title=title, xlabel=style.HEAD, ylabel=style.LAYER)
        drawing.colorbar(image, ax=axis, label=label, location="bottom")
    note = f"n = {int(frame_heads['n'].iloc[0])} sentences, {_WORDS[direction]}, {_PAIRING[pairing]}"
    return DrawnFigure(drawing, frame_heads.assign(unit="sentences"), note)


@figure(
    title="How a frame is annotated",
    reads=("frame_sentence",),
    labels=("frames",),
    needs=("frames",),
    text_files=("figure4.svg", "figure4.png", "figure4.pdf", "figure4.tsv"),
)
def figure4(frame_sentence: pd.DataFrame) -> DrawnFigure:
    """An annotated sentence: the word that evokes the frame (target) and its core frame elements (Kovaleva et al. 2019,
    Figure 4). Figure 3 measures attention along the link.
    """
    words = zip(frame_sentence["word"].astype(str), frame_sentence["role"].fillna(""), strict=True)
    runs = [(role, " ".join(word for word, _ in run)) for role, run in groupby(words, key=itemgetter(1))]
    letters = sum(len(text) + 2 for _, text in runs)
    # A letter of the monospaced font is 0.6 of its size wide; in points, 72 an inch. Sentences have at most 12 words.
    size = min(10.0, max(style.SMALLEST, (style.PAGE - 0.5) * 72 / (0.6 * letters)))
    width = 0.6 * size / 72
    drawing, grid = page_figure(1, 1, max(style.COLUMN, letters * width + 0.5), 1.5)
    axes, place = grid[0, 0], 0.0
    middles: dict[str, list[float]] = {TARGET: [], ELEMENT: []}
    for role, text in runs:
        middle = place + len(text) * width / 2
        place += (len(text) + 2) * width
        drawn = axes.text(middle, 0, plain(text), ha="center", va="center", fontsize=size, family="monospace")
        if role:
            title, colour = _ROLES[role]
            drawn.set_bbox({"boxstyle": "round,pad=0.2", "fill": False, "linewidth": 1.4, "edgecolor": colour})
            axes.text(middle, -0.38, title, ha="center", va="center", fontsize=7, color=colour)
            middles[role].append(middle)
    for target, element in product(middles[TARGET], middles[ELEMENT]):
        arc = {"arrowstyle": "-", "color": style.BLACK, "connectionstyle": f"arc3,rad={0.3 if target > element else -0.3}"}
        axes.annotate("", (element, 0.2), (target, 0.2), arrowprops=arc)
    frame = frame_sentence["frame"].iloc[0]
    axes.set_title(f"Frame {frame}".replace("_", " ") if isinstance(frame, str) else "Frame-semantic relation")
    axes.set(xlim=(-0.25, place + 0.25), ylim=(-0.62, 0.7))
    axes.axis("off")
    return DrawnFigure(drawing, frame_sentence, f"sentence {frame_sentence['example'].iloc[0]}")


def task_grids(
    rows: pd.DataFrame,
    kinds: Mapping[str, str],
    label: str,
    colours: str = style.SEQUENTIAL,
    features: Mapping[str, str] | None = None,
    largest: float = 1.0,
) -> Figure:
    """Grids of values of heads: a row of panels for each kind (kind -> title), a column for each task; the rows of a panel are
    features (name -> title), or layers. largest: end of the scale.
    """
    tasks = list(dict.fromkeys(rows.loc[~rows["kind"].str.startswith("published"), "task"]))
    heights = [1.1 if features else max(1.1, 0.06 * int(rows.loc[rows["kind"] == kind, "layer"].max())) for kind in kinds]
    width = style.PAGE * min(1.0, max(len(tasks), 3) / _PANELS)
    drawing, axes = page_figure(len(kinds), len(tasks), width, sum(heights) + 0.7, height_ratios=heights)
    for (row, (kind, title)), (column, task) in product(enumerate(kinds.items()), enumerate(tasks)):
        axis, heads = axes[row, column], rows[(rows["task"] == task) & (rows["kind"] == kind)]
        values = heads.pivot(index="feature" if features else "layer", columns="head", values="value")
        if heads.empty:
            axis.set(xticks=[], yticks=[])
            continue
        if kind.startswith("published"):
            # Behind the cells: what the paper does not show.
            axis.patch.set(hatch="//////", edgecolor=style.GREY, linewidth=0)
        image = draw_cells(axis, values.reindex(list(features) if features else None).to_numpy(float), colours, 0, largest)
        number_ticks(axis, "x", values.shape[1], 4)
        if features:
            axis.set_yticks(np.arange(len(features)) + 0.5, features.values(), fontsize=style.SMALLEST)
        else:
            number_ticks(axis, "y", len(values), 8)
        axis.tick_params(labelleft=column == 0)
        axis.set(title="" if row else TASK_TITLES[task], xlabel=style.HEAD if row == len(kinds) - 1 else "")
        axis.set_ylabel("" if column else title if features else f"{title}\n{style.LAYER}")
    ends = "max" if largest < 1 else "neither"
    drawing.colorbar(image, ax=axes, label=label, shrink=0.6, aspect=30, pad=0.02, extend=ends)
    return drawing


@figure(
    title="Cosine between maps before and after fine-tuning",
    reads=("changes/cosine",),
    labels=("tasks",),
    resources=("published/digitised/fig5_cosine.csv",),
    uses=("tagged",),
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
    rows = pd.concat([table, published], ignore_index=True)
    drawing = task_grids(rows, kinds | {"published": _PUBLISHED_TITLE}, style.COSINE.axis, style.REVERSED)
    return DrawnFigure(drawing, cosine, f"{count_range(table['n'])} examples per task")


@figure(
    title="Attention to [SEP] and [CLS] after fine-tuning",
    reads=("changes/special",),
    labels=("tasks",),
    resources=("published/digitised/fig6_sep_cls.csv",),
    uses=("tagged",),
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
    drawing = task_grids(rows, kinds, style.ATTENTION.axis)
    return DrawnFigure(drawing, special, f"{count_range(table['n'])} examples per task")


@figure(
    title="Attention of [CLS] in the last layer to tokens with a feature",
    reads=("changes/first_row",),
    labels=("tasks", "tagged"),
    uses=("tagged",),
    resources=("published/digitised/fig7_cls_last_layer.csv",),
)
def figure7(first_row: pd.DataFrame) -> DrawnFigure:
    """Last layer of the fine-tuned models: the largest attention weight of [CLS] on a token with a linguistic feature,
    averaged over the examples that have one and over seeds (Kovaleva et al. 2019, Figure 7). By spelling, as in the published
    code: all tokens spelled alike. By word: these words alone. White: in no example; hatched: not in the paper.
    """
    published = digitised("fig7_cls_last_layer").rename(columns={"weight": "value"})
    published = published.assign(mode="published", feature=published["feature"].str.lower().str.strip("[]"))
    rows = pd.concat([first_row, published], ignore_index=True).rename(columns={"mode": "kind"})
    features = {name: title for name, title in _FEATURES.items() if (rows["feature"] == name).any()}
    drawing = task_grids(rows, _KINDS, "Attention weight of [CLS]", features=features, largest=0.5)
    counts = [f"{count_range(rows.groupby('task')['n'].max())} {unit}" for unit, rows in first_row.groupby("unit")]
    return DrawnFigure(drawing, first_row, f"{' or '.join(counts)} per task")


@figure(
    title="Change in score when one head is disabled",
    reads=("disabling_heads",),
    labels=("tasks",),
    resources=("published/digitised/fig8_disable_head.csv",),
    uses=("tagged",),
)
def figure8(disabling_heads: pd.DataFrame) -> DrawnFigure:
    """Change in each task's score when one head attends uniformly to all real tokens, mean over seeds (Kovaleva et al. 2019,
    Figure 8). Dots: p < 0.05 by a paired permutation test over examples, adjusted for all heads. Numbers: changes beyond the
    colours. Above a panel: score of the full model; largest loss and gain; published values.
    """
    published = digitised("fig8_disable_head")
    drawing, panels = task_panels(disabling_heads, 2.7 if disabling_heads["layer"].max() <= 12 else 3.1)
    for task, axis in panels.items():
        heads, of_paper = disabling_heads[disabling_heads["task"] == task], published[published["task"] == task]
        sizes = heads["delta"].abs()
        # 95 % of the heads do not exceed it: a few large changes would leave the others white. A panel of zeros needs one.
        bound = float(sizes.quantile(0.95, interpolation="higher") or sizes.max() or 1)
        sure = heads[heads["p_adjusted"] < LEVEL]
        marked = list(zip(sure["layer"], sure["head"], strict=True))
        image = draw_head_grid(axis, heads, "delta", style.DIVERGING, -bound, bound, marked)
        beyond = heads[sizes > bound] if len(panels) <= 2 else heads[(sizes > bound) & (sizes == sizes.max())]
        for head in beyond.itertuples():
            place = "bottom" if head.p_adjusted < LEVEL else "center"
            number: dict[str, Any] = {"fontsize": style.SMALLEST, "color": "white", "ha": "center", "va": place}
            axis.text(head.head - 0.5, head.layer - 0.5, f"{head.delta:+.0f}".replace("-", "−"), **number)
        title = [panel_title(task, heads), f"{heads['delta'].min():+.1f} to {heads['delta'].max():+.1f}"]
        if len(of_paper):
            changes = 100 * of_paper["delta_vs_baseline"]
            baseline = 100 * float((of_paper["score"] - of_paper["delta_vs_baseline"]).mean())
            title.append(f"published {baseline:.1f}, {changes.min():+.1f} to {changes.max():+.1f}")
        axis.set_title(minus_signs("\n".join(title)), fontsize=style.SMALLEST)
        axis.set(xlabel=style.HEAD, ylabel=style.LAYER)
        drawing.colorbar(image, ax=axis, aspect=15, shrink=0.9, pad=0.03, extend="both")
    label = f"p < {LEVEL}, adjusted for all heads"
    dot = Line2D([], [], linestyle="none", marker="o", markersize=2.5, color=style.BLACK, label=label)
    title_of_scale = f"Change in score, {POINTS}\neach panel on its own scale, which most heads lie within"
    drawing.legend(handles=[dot], title=title_of_scale, loc="outside lower center")
    n = count_range(disabling_heads.drop_duplicates("task")["n"])
    return DrawnFigure(drawing, disabling_heads, f"{n} examples per task")


@figure(
    title="Change in score when a whole layer is disabled",
    reads=("disabling_layers",),
    labels=("tasks",),
    resources=("published/digitised/fig9_disable_layer.csv",),
    uses=("tagged",),
)
def figure9(disabling_layers: pd.DataFrame) -> DrawnFigure:
    """Change in each task's score when all heads of a layer attend uniformly to all real tokens, mean over seeds (Kovaleva et
    al. 2019, Figure 9). Intervals are over examples and, with several, over seeds (Student's t). Orange: the interval excludes
    0, and p < 0.05 by a paired permutation test over examples, adjusted for all layers. Diamonds: published.
    """
    published = digitised("fig9_disable_layer")
    # A row of each task is its baseline.
    published = published[published["layer"] != "baseline"].astype({"layer": int})
    drawing, panels = task_panels(disabling_layers, 2.1)
    for task, axis in panels.items():
        layers, of_paper = disabling_layers[disabling_layers["task"] == task], published[published["task"] == task]
        sure = (layers["p_adjusted"] < LEVEL) & ((layers["ci_low"] > 0) | (layers["ci_high"] < 0))
        delta, colours = layers["delta"], np.where(sure, style.LOSS, style.UNCHANGED)
        interval = np.stack([delta - layers["ci_low"], layers["ci_high"] - delta]).clip(min=0)
        error: dict[str, Any] = {"ecolor": style.BLACK, "elinewidth": 0.8, "capsize": 1.5}
        axis.bar(layers["layer"], delta, width=0.7, color=colours, linewidth=0, yerr=interval, error_kw=error)
        axis.plot(of_paper["layer"], 100 * of_paper["delta_vs_baseline"], **style.PUBLISHED, linestyle="none")
        axis.axhline(0, color=style.BLACK, linewidth=0.8)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        axis.set(xlabel=style.LAYER, ylabel="")
        axis.set_title(panel_title(task, layers), fontsize=7)
    drawing.supylabel("Change in score", fontsize=8)
    handles = [
        Patch(facecolor=style.LOSS, label=f"interval without 0, p < {LEVEL}"),
        Patch(facecolor=style.UNCHANGED, label="undecided"),
        Line2D([], [], color=style.BLACK, linewidth=0.8, label="95 % interval"),
        Line2D([], [], **style.PUBLISHED, linestyle="none", label="published (BERT-base, 12 layers)"),
    ]
    drawing.legend(handles=handles, title=f"Change in score, {POINTS}", loc="outside lower center", ncols=3)
    n = count_range(disabling_layers.drop_duplicates("task")["n"])
    return DrawnFigure(drawing, disabling_layers, f"{n} examples per task")


def task_panels(table: pd.DataFrame, height: float) -> tuple[Figure, dict[str, Axes]]:
    """A figure, and task -> panel; rows of panels have this height in inches, or less where the page is full."""
    tasks = list(dict.fromkeys(table["task"]))
    columns = min(len(tasks), _PANELS)
    rows = -(-len(tasks) // columns)
    drawing, axes = page_figure(rows, columns, style.PAGE, min(height * rows, style.TALLEST))
    for axis in axes.flat[len(tasks) :]:
        axis.axis("off")
    return drawing, dict(zip(tasks, axes.flat, strict=False))


def panel_title(task: str, rows: pd.DataFrame) -> str:
    """Task, score of the full model, and examples of a panel, and whether no condition changes the score."""
    first = rows.iloc[0]
    seeds = "1 seed" if first["seeds"] == 1 else f"{first['seeds']} seeds"
    unchanged = "" if rows["delta"].any() else ": no change"
    return f"{TASK_TITLES[task]}: {_METRICS[first['metric']]} {first['baseline']:.1f}\nn = {first['n']}, {seeds}{unchanged}"
