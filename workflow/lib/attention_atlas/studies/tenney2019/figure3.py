"""Figure 3: predictions for single ambiguous targets, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.figures.legends import legend_below
from attention_atlas.figures.style import BLUE, COLUMN, ORANGE, PAGE, TALLEST, footnote, plain, save_figure, use_style
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table
from attention_atlas.studies.tenney2019.figure_labels import LAYER_LABEL
from attention_atlas.studies.tenney2019.traces import FIGURE3

_MOST_TARGETS, _MOST_SENTENCES = 4, 5
"""Largest number of targets per sentence, and of sentences, that are drawn; the table has all."""
_SPAN, _LABEL_LINE = 26, 30
"""Largest number of letters in a line above a panel: of a target's span, and of a label."""
_LABELS = {
    "coreference": {"1": "coreferent", "0": "not coreferent"},
    "pos": {"``": "`` (opening quotation mark)", "''": "'' (closing quotation mark)"},
}
"""Task -> labels of its corpora that do not speak for themselves -> what they mean."""
_SMALL = 6.5
_COLOURS = {1: BLUE, 0: ORANGE}
"""Whether a label is the right one -> its colour."""


def figure3(path: str | Path, labels: Mapping[str, RunLabel], pictures: Mapping[str, str | Path]) -> None:
    """Draw the predictions of probes for single targets by layer: the gold label and the likeliest wrong one.

    Args:
        path: table of `traces.traced_sentences`.
        labels: task -> run, model and corpus.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, FIGURE3)
    use_style()
    groups = [_drawn_targets(sentence_rows) for _, sentence_rows in table.groupby("sentence")][:_MOST_SENTENCES]
    if not groups:
        figure, axis = plt.subplots(figsize=(COLUMN, 0.8))
        axis.axis("off")
        axis.text(0.5, 0.5, "no sentence has more than one target in doubt", ha="center", va="center")
        save_figure(figure, pictures, footnote(list(labels.values())))
        return
    columns = max(len(targets) for targets in groups)
    size = (min(PAGE, 1.75 * columns), min(1.55 * len(groups) + 0.5, TALLEST - 0.6))
    figure = plt.figure(figsize=size, layout="constrained")
    parts = figure.subfigures(len(groups), 1, squeeze=False)[:, 0]
    for part, targets in zip(parts, groups, strict=True):
        words = shorten(str(targets[0]["words"].iloc[0]), 26 * columns, placeholder=" …")
        part.suptitle(plain(words), x=0.01, ha="left", fontsize=7.5, style="italic")
        axes = part.subplots(1, columns, sharey=True, squeeze=False)[0]
        for axis in axes[len(targets) :]:
            axis.axis("off")
        for axis, target in zip(axes, targets, strict=False):
            _trace(axis, target, last=part is parts[-1])
        axes[0].set_ylabel("Probability", fontsize=7)
    kinds = {1: "gold label", 0: "likeliest wrong label"}
    squares = [Line2D([], [], color=_COLOURS[gold], marker="s", linestyle="none", label=kinds[gold]) for gold in kinds]
    legend_below(figure, [], 2, squares)
    of_table = table["sentence"].nunique()
    shown = f"{len(groups)} of {of_table}" if of_table > len(groups) else str(of_table)
    sentences = f"{shown} sentences" if of_table > 1 else "1 sentence"
    save_figure(figure, pictures, footnote(list(labels.values()), sentences))


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


def _trace(axis: Axes, rows: pd.DataFrame, last: bool) -> None:
    sns.barplot(
        rows,
        x="layer",
        y="probability",
        hue="gold",
        hue_order=list(_COLOURS),
        palette=list(_COLOURS.values()),
        saturation=1,
        native_scale=True,
        errorbar=None,
        linewidth=0,
        legend=False,
        ax=axis,
    )
    axis.set_ylim(0, 1)
    axis.set_yticks([0, 0.5, 1])
    axis.set_xlabel(LAYER_LABEL if last else "", fontsize=7)
    axis.set_ylabel("")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axis.tick_params(labelsize=_SMALL)
    task = str(rows["task"].iloc[0])
    for height, (gold, colour) in zip((11, 2), _COLOURS.items(), strict=True):
        label = shorten(_label(task, str(rows.loc[rows["gold"] == gold, "label"].iloc[0])), _LABEL_LINE, placeholder="…")
        place: dict[str, Any] = {
            "xy": (0, 1),
            "xycoords": "axes fraction",
            "xytext": (0, height),
            "textcoords": "offset points",
        }
        axis.annotate(plain(label), **place, color=colour, fontsize=_SMALL, fontweight="bold", va="bottom")
    axis.set_title(plain("\n".join([EDGE_TASKS[task], *_spans(rows)])), fontsize=_SMALL, pad=20)


def _label(task: str, label: str) -> str:
    """A label in words, where it is a sign of the corpus."""
    return _LABELS.get(task, {}).get(label, label)


def _spans(rows: pd.DataFrame) -> list[str]:
    """The spans of a target, a line each; the second one after an arrow."""
    first, second = rows["span1"].iloc[0], rows["span2"].iloc[0]
    return [_ends(str(first)), *([f"→ {_ends(second)}"] if isinstance(second, str) and second else [])]


def _ends(span: str) -> str:
    """A span, or where it is long its first and last word, which show how far it reaches, with the punctuation beyond them."""
    if len(span) <= _SPAN:
        return span
    words = span.split()
    places = [place for place, word in enumerate(words) if any(map(str.isalnum, word))]
    if len(places) < 2:
        return _cut(span)
    first, last = " ".join(words[: places[0] + 1]), " ".join(words[places[-1] :])
    return f"{_cut(first, (_SPAN - 3) // 2)} … {_cut(last, (_SPAN - 3) // 2)}"


def _cut(text: str, letters: int = _SPAN) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
