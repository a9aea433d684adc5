"""Figures 1 to 4 of Kovaleva et al. (2019)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch

from attention_atlas.corpora.marked_text import ELEMENT, TARGET
from attention_atlas.figures.marks import draw_cells, draw_head_grid
from attention_atlas.figures.quantities import HEAD, LAYER, SHARE_OF_MAPS, WEIGHT
from attention_atlas.figures.style import (
    BLUE,
    COLUMN,
    DIVERGING,
    GREEN,
    GREY,
    NOTE,
    ORANGE,
    PAGE,
    SEQUENTIAL,
    SKY,
    SMALLEST,
    DrawnFigure,
    page_figure,
    plain,
)
from attention_atlas.published.values import load_digitised, rows_of_column
from attention_atlas.studies.kovaleva2019.names import CLASS_TITLES, CLASSES, PUBLISHED_MODEL, TASK_TITLES, count_range
from attention_atlas.workflow.shown import figure

_COLUMNS = 3
COLOURS = dict(zip(CLASSES, (BLUE, ORANGE, SKY, GREEN, GREY), strict=True))
_TITLES = {"network": "By the network", "rules": "By the rules"}

_WORDS = {
    "fe_to_target": "from the element to the target",
    "target_to_fe": "from the target to the element",
    "both": "in both directions",
}
_PAIRING = {"zip": "tokens paired one by one", "all": "all pairs of tokens"}
_ROLE_COLOURS = {TARGET: ORANGE, ELEMENT: BLUE}
_ROLE_TITLES = {TARGET: "target", ELEMENT: "core element"}
_WIDTH, _GAP = 0.0096, 0.016
"""Width of a letter, and of the space between words, in inches for each point of the font size."""
_Run = tuple[str, str]
"""Words that belong together, and their role."""


@figure(
    id="figure1",
    number="Figure 1",
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
    rows = -(-len(CLASSES) // _COLUMNS)
    drawing, grid = page_figure(rows, _COLUMNS, PAGE, rows * 2.65)
    image: QuadMesh | None = None
    for place, name in enumerate(CLASSES):
        axes, cells = grid.flat[place], drawn[drawn["class"] == name]
        if cells.empty:
            axes.text(0.5, 0.5, "this example has\nno such map", ha="center", va="center", transform=axes.transAxes, color=NOTE)
            axes.set_title(CLASS_TITLES[name])
            axes.axis("off")
            continue
        image = _draw_map(axes, cells, place % _COLUMNS == 0)
        first = cells.iloc[0]
        axes.set_title(f"{CLASS_TITLES[name]}\nhead {first['layer']}-{first['head']}, probability {first['probability']:.2f}")
    for axes in grid.flat[len(CLASSES) :]:
        axes.axis("off")
    if image is not None:
        scale = grid.flat[-1].inset_axes((0.0, 0.1, 0.07, 0.8))
        bar = drawing.colorbar(image, cax=scale, label=f"{WEIGHT.axis}\n(square-root scale)")
        bar.set_ticks([0, 0.5, 0.5**0.5, 1], labels=["0", "0.25", "0.5", "1"])
    first = drawn.iloc[0]
    return DrawnFigure(drawing, drawn, f"one example of {TASK_TITLES[first['task']]} ({first['example']})")


def _draw_map(axes: Axes, cells: pd.DataFrame, outer: bool) -> QuadMesh:
    weights = cells.pivot(index="query", columns="key", values="weight").to_numpy(float)
    image = draw_cells(axes, weights**0.5, SEQUENTIAL, 0, 1)
    axes.set_aspect("equal")
    tokens = [plain(token[:12]) for token in cells.drop_duplicates("query")["query_token"].astype(str)]
    # As many token labels as fit below each other without touching: a map is about 1.85 inches wide.
    step = max(1, int(np.ceil(len(tokens) * 1.2 * SMALLEST / 72 / 1.85)))
    places = np.arange(0, len(tokens), step)
    names = [tokens[place] for place in places]
    axes.set_xticks(places + 0.5, names, rotation=90, fontsize=SMALLEST)
    axes.set_yticks(places + 0.5, names if outer else [""] * len(names), fontsize=SMALLEST)
    axes.tick_params(length=1.5, pad=1)
    axes.set(xlabel="Key token", ylabel="Query token" if outer else "")
    return image


@figure(
    id="figure2",
    number="Figure 2",
    title="Shares of the classes of maps in every task",
    reads=("changes/classes", "patterns"),
    labels=("tasks",),
    files=("changes/head_classes.tsv", "patterns.tsv"),
)
def figure2(classes: pd.DataFrame, patterns: pd.DataFrame) -> DrawnFigure:
    """Shares of the five classes among all maps of the fine-tuned models: by rules, by a network trained on labelled maps, and
    as published (Kovaleva et al. 2019, Figure 2). Macro F1: on labelled maps of layers that neither was tuned on. SST-2 has
    single sentences and so no blocks: blocks there are errors of the classifier.
    """
    macro = patterns[(patterns["class"] == "macro") & (patterns["folds"] == "layer")].set_index("annotator")["f1"]
    published = rows_of_column("kovaleva2019", "figure2", "share").rename(columns={"value": "share"})
    tasks = list(dict.fromkeys(classes["task"]))
    drawing, grid = page_figure(1, 3, PAGE, 3.1, sharey=True)
    for axis, annotator in zip(grid[0], ("rules", "network"), strict=False):
        _bars(axis, classes[classes["annotator"] == annotator], tasks)
        axis.set_title(f"{_TITLES[annotator]} (macro F1 {macro[annotator]:.2f})")
    _bars(grid[0, 2], published, [task for task in TASK_TITLES if (published["task"] == task).any()])
    grid[0, 2].set_title(f"Published ({PUBLISHED_MODEL})")
    grid[0, 0].set_ylabel(SHARE_OF_MAPS.axis)
    handles = [Patch(facecolor=COLOURS[name], label=CLASS_TITLES[name]) for name in CLASSES]
    drawing.legend(handles=handles, loc="outside upper center", ncols=len(CLASSES))
    maps = count_range(classes.drop_duplicates("task")["n"])
    return DrawnFigure(drawing, classes, f"{maps} examples per task, all heads")


def _bars(axes: Axes, rows: pd.DataFrame, tasks: list[str]) -> None:
    shares = rows.pivot(index="task", columns="class", values="share").reindex(index=tasks, columns=list(CLASSES)).fillna(0)

    tidy = (100 * shares).rename(index=TASK_TITLES).melt(ignore_index=False, var_name="class", value_name="share").reset_index()
    tidy["task"] = pd.Categorical(tidy["task"], [TASK_TITLES[task] for task in tasks])
    style = {"palette": COLOURS, "multiple": "stack", "shrink": 0.8, "alpha": 1, "linewidth": 0, "legend": False}
    # Seaborn stacks from the last one up.
    sns.histplot(tidy, x="task", weights="share", hue="class", hue_order=list(reversed(CLASSES)), ax=axes, **style)

    axes.set(xlabel="", ylabel="", ylim=(0, 100))
    axes.tick_params(axis="x", rotation=90)


@figure(
    id="figure3",
    number="Figure 3",
    title="Attention between frame targets and core frame elements",
    reads=("frame_heads",),
    settings=("direction", "pairing"),
    labels=("frames",),
    needs=("frames",),
    resources=("published/digitised/fig3_framenet.csv",),
)
def figure3(frame_heads: pd.DataFrame, direction: str, pairing: str) -> DrawnFigure:
    """For every head: the largest attention weight between the target of a frame and its core elements, averaged over
    sentences; the same minus that of pairs at the same distance; and the published weights (Kovaleva et al. 2019, Figure 3).
    Dots: the largest differences (at most a twentieth of all heads) whose simultaneous 95 % intervals exclude 0.
    """
    published = load_digitised("fig3_framenet").rename(columns={"mean_max_weight": "value"})
    bound = float(frame_heads["margin"].abs().max())
    sure = frame_heads[frame_heads["margin_all_low"] > 0].nlargest(max(1, len(frame_heads) // 20), "margin")
    marked = list(zip(sure["layer"], sure["head"], strict=True))
    height = max(1.9, 0.1 * int(frame_heads["layer"].max()) + 0.9)
    drawing, grid = page_figure(1, 3, PAGE, height + 0.3)
    largest = max(float(frame_heads["value"].max()), float(published["value"].max()))
    first = draw_head_grid(grid[0, 0], frame_heads, "value", SEQUENTIAL, 0, largest)
    second = draw_head_grid(grid[0, 1], frame_heads, "margin", DIVERGING, -bound, bound, marked)
    draw_head_grid(grid[0, 2], published, "value", SEQUENTIAL, 0, largest)
    panels = {
        "Mean largest weight": (first, WEIGHT.axis),
        "Minus pairs at the same distance": (second, "Difference of weights"),
        f"Published ({PUBLISHED_MODEL})": (first, WEIGHT.axis),
    }
    for axis, (title, (image, label)) in zip(grid[0], panels.items(), strict=True):
        axis.set(title=title, xlabel=HEAD, ylabel=LAYER)
        drawing.colorbar(image, ax=axis, label=label, location="bottom")
    n = int(frame_heads["n"].iloc[0])
    note = f"n = {n} sentences, {_WORDS[direction]}, {_PAIRING[pairing]}"
    return DrawnFigure(drawing, frame_heads.assign(unit="sentences"), note)


@figure(
    id="figure4",
    number="Figure 4",
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
    runs = role_runs(frame_sentence["word"].astype(str).tolist(), frame_sentence["role"].fillna("").tolist())
    # In inches for each point of the font size; sentences have at most 12 words.
    length = sum(_WIDTH * len(text) + _GAP + (_GAP if role else 0) for text, role in runs)
    size = min(10.0, max(SMALLEST, (PAGE - 0.5) / length))
    width = max(COLUMN, length * size + 0.5)
    drawing, grid = page_figure(1, 1, width, 1.5)
    axes = grid[0, 0]
    _draw_sentence(axes, runs, size)
    frame = frame_sentence["frame"].iloc[0]
    name = f"Frame {frame}" if isinstance(frame, str) and frame else "Frame-semantic relation"
    axes.set_title(name.replace("_", " "))
    axes.set_xlim(-0.25, width - 0.25)
    axes.set_ylim(-0.62, 0.7)
    axes.axis("off")
    return DrawnFigure(drawing, frame_sentence, f"sentence {frame_sentence['example'].iloc[0]}")


def role_runs(words: Sequence[str], roles: Sequence[str]) -> list[_Run]:
    """Adjacent words of one role as one text; words without a role one by one."""
    runs: list[_Run] = []
    for place, (word, role) in enumerate(zip(words, roles, strict=True)):
        if role and place and roles[place - 1] == role:
            runs[-1] = (f"{runs[-1][0]} {word}", role)
        else:
            runs.append((word, role))
    return runs


def _draw_sentence(axes: Axes, runs: Sequence[_Run], size: float) -> None:
    middles: dict[str, list[float]] = {}
    place = 0.0
    for text, role in runs:
        width = _WIDTH * len(text) * size
        margin = _GAP * size / 2 if role else 0.0
        middle = place + margin + width / 2
        axes.text(middle, 0, plain(text), ha="center", va="center", fontsize=size)
        if role in _ROLE_COLOURS:
            middles.setdefault(role, []).append(middle)
            box: dict[str, Any] = {"boxstyle": "round,pad=0.03", "fill": False, "linewidth": 1.4}
            axes.add_patch(FancyBboxPatch((place + margin, -0.14), width, 0.28, edgecolor=_ROLE_COLOURS[role], **box))
            axes.text(middle, -0.38, _ROLE_TITLES[role], ha="center", va="center", fontsize=7, color=_ROLE_COLOURS[role])
        place += width + 2 * margin + _GAP * size
    for target, element in product(middles.get(TARGET, []), middles.get(ELEMENT, [])):
        arc = f"arc3,rad={0.3 if target > element else -0.3}"
        axes.add_patch(FancyArrowPatch((target, 0.2), (element, 0.2), connectionstyle=arc, arrowstyle="-", color="#444444"))
