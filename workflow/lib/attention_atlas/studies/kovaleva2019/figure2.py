"""Figure 2: shares of the classes of maps in every task, by the rules, by the network and in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from attention_atlas.figures.quantities import SHARE_OF_MAPS
from attention_atlas.figures.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PAGE,
    SKY,
    SMALLEST,
    footnote,
    page_figure,
    save_figure,
)
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.published.drawn import published_column
from attention_atlas.studies.kovaleva2019.names import (
    BLOCK,
    CLASS_TITLES,
    CLASSES,
    DIAGONAL,
    HETEROGENEOUS,
    LAYER,
    NETWORK,
    RULES,
    TASK_TITLES,
    VERTICAL,
    VERTICAL_DIAGONAL,
)
from attention_atlas.studies.kovaleva2019.published_maps import PUBLISHED, PUBLISHED_MODEL
from attention_atlas.studies.kovaleva2019.task_grids import count_range

COLOURS = {VERTICAL: BLUE, DIAGONAL: ORANGE, VERTICAL_DIAGONAL: SKY, BLOCK: GREEN, HETEROGENEOUS: GREY}
_TITLES = {NETWORK: "By the network", RULES: "By the rules"}
_NUMBERED = 6
"""Smallest share in percent whose part of a bar has space for its number."""


def figure2(
    path: str | Path, patterns_path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]
) -> None:
    """Draw a stacked bar for each task, by annotator and for the paper.

    Args:
        path: of `change_tables`.
        patterns_path: of `train_patterns`: how well the annotators agree with labels.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: a table cannot be used.
    """
    table = read_table(path, ["task", "annotator", "class", "share", "maps", "n"])
    patterns = read_table(patterns_path, ["annotator", "folds", "class", "f1"])
    macro = patterns[(patterns["class"] == "macro") & (patterns["folds"] == LAYER)].set_index("annotator")["f1"]
    published = published_column("kovaleva2019", "figure2", "share").rename(columns={"value": "share"})
    tasks = list(dict.fromkeys(table["task"]))
    figure, grid = page_figure(1, 3, PAGE, 3.1, sharey=True)
    for axis, annotator in zip(grid[0], (RULES, NETWORK), strict=False):
        _bars(axis, table[table["annotator"] == annotator], tasks)
        axis.set_title(f"{_TITLES[annotator]} (macro F1 {macro[annotator]:.2f})")
    _bars(grid[0, 2], published, [task for task in TASK_TITLES if (published["task"] == task).any()])
    grid[0, 2].set_title(f"{PUBLISHED.capitalize()} ({PUBLISHED_MODEL})")
    grid[0, 0].set_ylabel(SHARE_OF_MAPS.axis)
    handles = [Patch(facecolor=COLOURS[name], label=CLASS_TITLES[name]) for name in CLASSES]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(CLASSES))
    maps = count_range(table.drop_duplicates("task")["n"])
    save_figure(figure, pictures, footnote(labels.values(), f"{maps} examples per task, all heads"))


def _bars(axes: Axes, rows: pd.DataFrame, tasks: list[str]) -> None:
    shares = rows.pivot(index="task", columns="class", values="share").reindex(index=tasks, columns=list(CLASSES)).fillna(0)
    tops = 100 * shares.cumsum(axis=1)
    tidy = (100 * shares).rename(index=TASK_TITLES).melt(ignore_index=False, var_name="class", value_name="share").reset_index()
    tidy["task"] = pd.Categorical(tidy["task"], [TASK_TITLES[task] for task in tasks])
    sns.histplot(
        tidy,
        x="task",
        weights="share",
        hue="class",
        # Seaborn stacks from the last one up.
        hue_order=list(reversed(CLASSES)),
        palette=COLOURS,
        multiple="stack",
        shrink=0.8,
        alpha=1,
        linewidth=0,
        legend=False,
        ax=axes,
    )
    for place, task in enumerate(tasks):
        for name in CLASSES:
            share = 100 * float(shares.loc[task, name])
            if share >= _NUMBERED:
                ink = "white" if name == VERTICAL else "black"
                middle = float(tops.loc[task, name]) - share / 2
                axes.text(place, middle, f"{share:.0f}", ha="center", va="center", fontsize=SMALLEST, color=ink)
    axes.set(xlabel="", ylabel="", ylim=(0, 100))
    axes.tick_params(axis="x", rotation=90)
