"""Figure 2: shares of the classes of maps in every task, by the network and by the rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from attention_atlas.figures.style import BLUE, GREEN, GREY, ORANGE, SKY, save_figure, use_style
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
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

COLOURS = {VERTICAL: BLUE, DIAGONAL: ORANGE, VERTICAL_DIAGONAL: SKY, BLOCK: GREEN, HETEROGENEOUS: GREY}
_TITLES = {NETWORK: "By the network", RULES: "By the rules"}
_SINGLE = "sst2"


def figure2(
    path: str | Path, patterns_path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]
) -> None:
    """Draw a stacked bar a task for each annotator.

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
    tasks = list(dict.fromkeys(table["task"]))
    use_style()
    figure, axes = plt.subplots(1, 2, figsize=(2.6 + 1.15 * len(tasks), 3.7), constrained_layout=True, sharey=True)
    for axis, annotator in zip(axes, (RULES, NETWORK), strict=True):
        _bars(axis, table[table["annotator"] == annotator], tasks)
        axis.set_title(f"{_TITLES[annotator]} (macro F1 {macro[annotator]:.2f})")
    axes[0].set_ylabel("Share of maps, %")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(CLASSES))
    counts = table.drop_duplicates("task").set_index("task")
    numbers = ", ".join(f"{TASK_TITLES[task]} {int(counts.loc[task, 'n'])}" for task in tasks)
    floor = ""
    if _SINGLE in tasks:
        block_share = table[(table["task"] == _SINGLE) & (table["class"] == BLOCK)].set_index("annotator")["share"]
        floor = (
            f" {TASK_TITLES[_SINGLE]} has one sentence and so no block: its share of {block_share[NETWORK]:.1%} (network) and "
            f"{block_share[RULES]:.1%} (rules) is error of the classifier."
        )
    lines = "\n".join(joint_lines(labels.values()))
    note = (
        f"n examples: {numbers}; all heads of the fine-tuned models. Macro F1: on labelled maps of other "
        f"layers.{floor} The text's 'up to 61 % heterogeneous' is "
        "heterogeneous and block together in the paper's own figure."
    )
    save_figure(figure, pictures, f"{lines}\n{note}")


def _bars(axes: Axes, rows: pd.DataFrame, tasks: list[str]) -> None:
    shares = rows.pivot(index="task", columns="class", values="share").reindex(index=tasks, columns=list(CLASSES)).fillna(0)
    bottom = 0.0
    for name in CLASSES:
        values = 100 * shares[name].to_numpy()
        bars = axes.bar(range(len(tasks)), values, bottom=bottom, color=COLOURS[name], label=CLASS_TITLES[name], width=0.75)
        ink = "white" if name == VERTICAL else "black"
        axes.bar_label(bars, [f"{v:.0f}" if v >= 4 else "" for v in values], label_type="center", fontsize=7, color=ink)
        bottom = bottom + values
    axes.set_xticks(range(len(tasks)), [TASK_TITLES[task] for task in tasks], rotation=45, ha="right")
    axes.set_ylim(0, 100)
