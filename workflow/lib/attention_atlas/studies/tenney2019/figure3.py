"""Figure 3: single targets in doubt, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.figures.style import BLUE, ORANGE, save_figure, use_style
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.tenney2019.traces import FIGURE3

_MOST_TARGETS = 4
"""Targets of a sentence that are drawn."""


def figure3(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw the predictions of probes for single targets by layer: the right label and the likeliest wrong one.

    Args:
        path: table of `traces.traced_sentences`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE3)
    use_style()
    groups = [(number, _drawn_targets(sentence_rows)) for number, sentence_rows in table.groupby("sentence")]
    if not groups:
        figure, axis = plt.subplots(figsize=(6, 1.2))
        axis.axis("off")
        axis.text(0.5, 0.5, "no sentence has more than one target in doubt", ha="center", va="center")
        save_figure(figure, pictures, "\n".join(joint_lines(labels.values())))
        return
    columns = max(len(targets) for _, targets in groups)
    figure = plt.figure(figsize=(2.45 * columns, 2.0 * len(groups)), constrained_layout=True)
    parts = figure.subfigures(len(groups), 1, squeeze=False)
    for part, (_, targets) in zip(parts[:, 0], groups, strict=True):
        words = shorten(str(targets[0]["words"].iloc[0]), 34 * columns, placeholder=" …")
        part.suptitle(words, x=0.01, ha="left", fontsize=8.5, style="italic")
        axes = part.subplots(1, columns, sharey=True, squeeze=False)[0]
        for axis in axes[len(targets) :]:
            axis.axis("off")
        for axis, target in zip(axes, targets, strict=False):
            _trace(axis, target)
        axes[0].set_ylabel("Probability")
    note = (
        "Blue: the right label; orange: the wrong one with the highest mean over layers. Probabilities divided by their sum "
        "over labels, mean over seeds. Sentences of the paper first, where the run has their labels; then those of the "
        "development set with the most targets in doubt (no label above 0.7 in the mean over layers)."
    )
    save_figure(figure, pictures, "\n".join([*joint_lines(labels.values()), note]))


def _drawn_targets(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Targets of a sentence, one of each task first, in the paper's order of tasks."""
    target_rows = [group for _, group in rows.groupby(["task", "target"], sort=False)]
    seen: dict[str, int] = {}
    ranked = []
    for group in target_rows:
        task = str(group["task"].iloc[0])
        seen[task] = seen.get(task, 0) + 1
        ranked.append((seen[task], list(EDGE_TASKS).index(task), group))
    chosen = sorted(range(len(ranked)), key=lambda k: ranked[k][:2])[:_MOST_TARGETS]
    return [ranked[k][2] for k in sorted(chosen, key=lambda k: (ranked[k][1], ranked[k][0]))]


def _trace(axis: Axes, rows: pd.DataFrame) -> None:
    for gold, colour, shift in ((1, BLUE, -0.2), (0, ORANGE, 0.2)):
        label_rows = rows[rows["gold"] == gold].sort_values("layer")
        label = str(label_rows["label"].iloc[0])
        axis.bar(label_rows["layer"] + shift, label_rows["probability"], width=0.4, color=colour, label=label)
    second = rows["span2"].iloc[0]
    span_words = shorten(str(rows["span1"].iloc[0]), 22, placeholder="…")
    if isinstance(second, str) and second:
        span_words += " → " + shorten(second, 22, placeholder="…")
    axis.set_title(f"{EDGE_TASKS[rows['task'].iloc[0]]}: {span_words}", fontsize=7.5)
    axis.set_ylim(0, 1.3)
    axis.set_yticks([0, 0.5, 1])
    axis.set_xlabel("Layer", fontsize=7.5)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.tick_params(labelsize=7)
    axis.legend(fontsize=7, loc="upper center", ncols=2, handlelength=1, columnspacing=1)
