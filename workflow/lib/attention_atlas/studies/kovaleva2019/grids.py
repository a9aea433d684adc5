"""Figures 5, 6, 7, 8 and 9: a panel a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.style import BLUE, VERMILION, save_figure, use_style
from attention_atlas.io.setting import Setting, joint_lines
from attention_atlas.io.tables import read_table
from attention_atlas.studies.kovaleva2019.names import TASK_TITLES

_ROWS5 = {"padded": "As published (padded)", "real": "Real length"}
_ROWS6 = {"sep": "[SEP], largest", "sep_sum": "[SEP], sum", "cls": "[CLS]"}
_ROWS7 = {
    "pron": "pronoun",
    "noun": "noun",
    "verb": "verb",
    "obj": "object",
    "subj": "subject",
    "neg": "negation",
    "punct": "punctuation",
    "cls": "[CLS]",
    "sep": "[SEP]",
}
_METRICS = {"accuracy": "accuracy", "f1": "F1", "correlation": "Pearson/Spearman"}
Pictures = Mapping[str, str | Path]
_LEAST = 0.1
"""Points that a scale reaches at the least."""


def _lines(settings: Mapping[str, Setting]) -> str:
    return "\n".join(joint_lines(settings.values()))


def figure5(path: str | Path, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw the cosine between maps before and after fine-tuning, padded as published and of real length.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["task", "crop", "layer", "head", "value", "n", "seeds"])
    kinds = {name: title for name, title in _ROWS5.items() if (table["crop"] == name).any()}
    counts = table.groupby("crop")["n"].agg(["min", "max"])
    ends = {name: dict.fromkeys(map(str, counts.loc[name, ["min", "max"]])) for name in kinds}
    sizes = "; ".join(f"{title}: {' to '.join(ends[name])}" for name, title in kinds.items())
    note = (
        f"Mean cosine over examples and seeds between the maps of one head before and after fine-tuning; n examples: {sizes}."
    )
    _panels(path, "crop", kinds, "Cosine similarity", "Blues_r", (0.0, 1.0), settings, note, pictures)


def figure6(path: str | Path, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw attention to separators and to the first token after fine-tuning.

    Raises:
        AtlasError: the table cannot be used.
    """
    note = (
        "Fine-tuned models: mean attention (over all rows of a map) to [SEP], the larger of two or their sum, and to [CLS]; "
        "means over examples and seeds. With one separator, largest and sum are the same."
    )
    _panels(path, "feature", _ROWS6, "Attention", "Greens", (0.0, 1.0), settings, note, pictures)


def _panels(
    path: str | Path,
    column: str,
    kinds: Mapping[str, str],
    label: str,
    colours: str,
    ends: tuple[float, float],
    settings: Mapping[str, Setting],
    note: str,
    pictures: Pictures,
) -> None:
    """A row of panels a kind, a column a task."""
    table = read_table(path, ["task", column, "layer", "head", "value"])
    tasks = list(dict.fromkeys(table["task"]))
    layers, heads = int(table["layer"].max()), int(table["head"].max())
    use_style()
    width = max(1.3, 0.105 * heads)
    figure, axes = plt.subplots(
        len(kinds),
        len(tasks),
        figsize=(width * len(tasks) + 1.4, len(kinds) * max(1.3, 0.125 * layers) + 0.9),
        constrained_layout=True,
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for row, (kind, title) in enumerate(kinds.items()):
        for place, task in enumerate(tasks):
            own = table[(table["task"] == task) & (table[column] == kind)]
            image = draw_head_grid(axes[row, place], own, "value", colours, *ends)
            if row == 0:
                axes[row, place].set_title(TASK_TITLES[task])
        axes[row, 0].set_ylabel(f"{title}\nLayer")
    for axis in axes[-1]:
        axis.set_xlabel("Head")
    figure.colorbar(image, ax=axes, label=label, shrink=0.8)
    save_figure(figure, pictures, f"{_lines(settings)}\n{note}")


def figure7(path: str | Path, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw the attention of [CLS] in the last layer to pieces with a feature.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["task", "feature", "head", "value", "n"])
    tasks = list(dict.fromkeys(table["task"]))
    present = [name for name in _ROWS7 if (table["feature"] == name).any()]
    heads = int(table["head"].max())
    use_style()
    figure, axes = plt.subplots(
        1,
        len(tasks),
        figsize=(max(1.3, 0.11 * heads) * len(tasks) + 1.8, 0.22 * len(present) + 1.2),
        constrained_layout=True,
        squeeze=False,
        sharey=True,
    )
    for axis, task in zip(axes[0], tasks, strict=True):
        own = table[table["task"] == task]
        grid = own.pivot(index="feature", columns="head", values="value").reindex(present).to_numpy(float)
        image = axis.imshow(
            grid, cmap="YlGn", vmin=0, vmax=0.5, aspect="auto", extent=(0.5, heads + 0.5, len(present) - 0.5, -0.5)
        )
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        axis.set_title(TASK_TITLES[task])
        axis.set_xlabel("Head")
    axes[0, 0].set_yticks(range(len(present)), [_ROWS7[name] for name in present])
    figure.colorbar(image, ax=axes, label="Attention of [CLS]", shrink=0.8, extend="max")
    note = (
        "Last layer of the fine-tuned models: the largest weight of the row of [CLS] on a piece with the feature, mean "
        f"over the examples that have it (up to n = {int(table['n'].max())}) and seeds. White: no example, or no tags."
    )
    save_figure(figure, pictures, f"{_lines(settings)}\n{note}")


def _task_panels(
    tasks: Sequence[str], size: tuple[float, float], margin: tuple[float, float]
) -> tuple[Figure, dict[str, Axes]]:
    """A figure with a panel a task, up to four in a row; size of a panel and of what is around them all, in inches."""
    columns = min(4, len(tasks))
    rows = -(-len(tasks) // columns)
    use_style()
    inches = (size[0] * columns + margin[0], size[1] * rows + margin[1])
    figure, axes = plt.subplots(rows, columns, figsize=inches, constrained_layout=True, squeeze=False)
    for axis in axes.flat[len(tasks) :]:
        axis.axis("off")
    return figure, dict(zip(tasks, axes.flat, strict=False))


def figure8(path: str | Path, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw what disabling each head does to the score of each task.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["task", "action", "layer", "head", "metric", "baseline", "delta", "p_holm", "n", "seeds"])
    table = table[table["action"] == "uniform"]
    tasks = list(dict.fromkeys(table["task"]))
    layers, heads = int(table["layer"].max()), int(table["head"].max())
    figure, panels = _task_panels(tasks, (max(2.1, 0.17 * heads), max(1.4, 0.15 * layers) + 0.9), (0.6, 0))
    for task, axis in panels.items():
        own = table[table["task"] == task]
        bound = float(max(own["delta"].abs().max(), _LEAST))
        sure = own[own["p_holm"] < 0.05]
        marked = list(zip(sure["layer"], sure["head"], strict=True))
        image = draw_head_grid(axis, own, "delta", "PuOr_r", -bound, bound, marked)
        first = own.iloc[0]
        axis.set_title(
            f"{TASK_TITLES[task]}: {_METRICS[first['metric']]} {first['baseline']:.1f}\nn = {first['n']}, "
            f"{'1 seed' if first['seeds'] == 1 else str(first['seeds']) + ' seeds'}",
            fontsize=8.5,
        )
        axis.set_xlabel("Head")
        axis.set_ylabel("Layer")
        figure.colorbar(image, ax=axis, label="Change, points")
    note = (
        "Change of the score when one head attends to all real tokens alike; each panel on its own scale around 0. "
        "Dots: p < 0.05 by a paired permutation test, corrected by Holm over all heads."
    )
    save_figure(figure, pictures, f"{_lines(settings)}\n{note}")


def figure9(path: str | Path, settings: Mapping[str, Setting], pictures: Pictures) -> None:
    """Draw what disabling a whole layer does to the score of each task.

    Raises:
        AtlasError: the table cannot be used.
    """
    columns = ["task", "action", "layer", "metric", "baseline", "delta", "ci_low", "ci_high", "p_holm", "n", "seeds"]
    table = read_table(path, columns)
    table = table[table["action"] == "uniform"]
    tasks = list(dict.fromkeys(table["task"]))
    figure, panels = _task_panels(tasks, (2.5, 2.15), (0.4, 0.5))
    for task, axis in panels.items():
        own = table[table["task"] == task].sort_values("layer")
        ends = np.stack([own["delta"] - own["ci_low"], own["ci_high"] - own["delta"]]).clip(min=0)
        colours = [VERMILION if p < 0.05 else BLUE for p in own["p_holm"]]
        axis.bar(own["layer"], own["delta"], color=colours, width=0.7)
        axis.errorbar(own["layer"], own["delta"], yerr=ends, fmt="none", ecolor="#444444", elinewidth=0.9, capsize=2)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
        first = own.iloc[0]
        axis.set_title(
            f"{TASK_TITLES[task]}: {_METRICS[first['metric']]} {first['baseline']:.1f}, n = {first['n']}", fontsize=8.5
        )
        axis.set_xlabel("Layer")
        axis.set_ylabel("Change, points")
    note = (
        "Change of the score when all heads of a layer attend to all real tokens alike, with 95 % intervals by bootstrap over "
        "examples. Red: p < 0.05 by a paired permutation test, corrected by Holm over the layers."
    )
    save_figure(figure, pictures, f"{_lines(settings)}\n{note}")


FIGURES = {"figure5": figure5, "figure6": figure6, "figure7": figure7, "figure8": figure8, "figure9": figure9}
