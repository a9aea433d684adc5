"""Figures of Tenney et al. (2019)."""

from __future__ import annotations

import re
from textwrap import fill, shorten
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.figures import style
from attention_atlas.published.values import load_published, published_rows
from attention_atlas.studies.tenney2019.summary import MOST_AT_LIMIT, RISING
from attention_atlas.workflow.shown import figure

LAYER_LABEL = "Layer (0: embeddings)"
NOISE = "gain within noise"  # in place of statistics of a gain that the bootstrap does not distinguish from 0
_KINDS = {
    "expected_layer": ("expected", "expected_layer", style.BLUE, "o", -0.16, "Expected layer (cumulative scores)"),
    "centre": ("centre", "cog", style.ORANGE, "s", 0.16, "Centre of gravity (mixing weights)"),
}
"""Column -> columns of its interval, end of the published ids, colour, marker, place in its row, label."""
_LINE: dict[str, Any] = {"color": style.BLACK, "linestyle": "-", "linewidth": 0.8}  # published layers: no room for marks
_BAR: dict[str, Any] = {"saturation": 1, "native_scale": True, "linewidth": 0, "legend": False}
_SMALL = 6.5  # font size of the texts of small panels
_MOST_TARGETS, _MOST_SENTENCES = 4, 5  # targets per sentence, and sentences, that are drawn; the table has all
_SPAN, _LABEL_LINE = 26, 30  # letters in a line above a panel: of a target's span, and of a label
_COREFERENCE = {"1": "coreferent", "0": "not coreferent"}
_COLOURS = {1: style.BLUE, 0: style.ORANGE}  # whether a label is the right one -> its colour


@figure(title="Expected layer, centre of gravity and F1 of each task", reads=("summary/tasks",), labels=("tasks",))
def figure1(summary_tasks: pd.DataFrame) -> style.DrawnFigure:
    """Expected layer by cumulative scores and centre of gravity of the mixing weights of each task, with 95 % intervals, and F1
    on layer 0 and on all layers (Tenney et al. 2019, Figure 1). Hollow diamonds: published values of BERT, at the same relative
    depth.
    """
    table = summary_tasks
    published = PublishedModel(layers := int(table["layers"].max()))
    titles = {str(task): _task_label(table, str(task)) for task in table["task"]}
    drawn, ((axis,),) = style.page_figure(1, 1, style.PAGE - 0.1, 0.5 * len(table) + 1.0)
    rows = []
    for column, (interval, *_, kind) in _KINDS.items():
        # Intervals are cut at the ends of the axis.
        ends = {f"ci_{end}": table[f"{interval}_{end}"].clip(-0.5, layers + 0.5) for end in ("low", "high")}
        rows.append(pd.DataFrame({"title": table["task"].map(titles), "kind": kind, "value": table[column], **ends}))
    _, _, colours, markers, _, kinds = (list(values) for values in zip(*_KINDS.values(), strict=True))
    of_kinds: dict[str, Any] = {"hue": "kind", "hue_order": kinds, "palette": colours, "markers": markers, "dodge": 0.32}
    drawing: dict[str, Any] = {"errorbar": style.INTERVAL, "err_kws": {"linewidth": 1.4}, "markersize": 5, "linestyle": "none"}
    points = style.interval_rows(pd.concat(rows, ignore_index=True))
    order = list(titles.values())
    sns.pointplot(points, x="value", y="title", order=order, estimator=style.VALUE, **of_kinds, **drawing, ax=axis)
    for place, (noise, limited) in enumerate(table[["within_noise", "at_step_limit"]].to_numpy()):
        if note := RISING if limited > MOST_AT_LIMIT else NOISE if noise else "":
            axis.text(layers + 0.45, place - 0.16, note, color=style.BLUE, fontsize=7, ha="right", va="center", style="italic")
    for column, (_, quantity, colour, _, shift, _) in _KINDS.items():
        marks = published.values(quantity)
        marks = marks[marks["task"].isin(titles)]
        depth = published.depth_of_gains if column == "expected_layer" else published.depth
        heights = [list(titles).index(task) + shift for task in marks["task"]]
        axis.plot(depth(marks["value"]), heights, linestyle="none", zorder=4, **(style.PUBLISHED | {"color": colour}))
    ours = table.set_index("task")
    of_paper = [published.values(f"f1_l{layer}").set_index("task")["value"] for layer in (0, published.layers)]
    _ends_of_scores(axis, 1.02, f"F1 at 0\nand {layers}", ours[["f1_first", "f1_last"]], list(titles), "black")
    _ends_of_scores(axis, 1.16, f"published\n0 and {published.layers}", pd.concat(of_paper, axis=1), list(titles), style.NOTE)
    axis.set(xlim=(-0.5, layers + 0.5), ylim=(len(table) - 0.5, -0.5), xlabel=LAYER_LABEL, ylabel="")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axis.set_axisbelow(True)
    style.legend_below(drawn, [axis], 3, [Line2D([], [], linestyle="none", label=published.label, **style.PUBLISHED)])
    return style.DrawnFigure(drawn, table, _counted(table))


def _ends_of_scores(axis: Axes, x: float, title: str, scores: pd.DataFrame, tasks: list[str], colour: str) -> None:
    """F1 at layer 0 and at the last layer of each task, as a column on the right."""
    drawing: dict[str, Any] = {"transform": axis.get_yaxis_transform(), "color": colour, "fontsize": 7}
    axis.text(x, -0.6, title, va="bottom", **drawing)
    for place, task in enumerate(tasks):
        if task in scores.index:
            first, last = scores.loc[task]
            axis.text(x, place, f"{first:.1f}   {last:.1f}", va="center", **drawing)


@figure(
    title="Mixing weights and differential scores of each task",
    reads=("summary/layers",),
    labels=("tasks",),
    files=("summary/mixing_weights.tsv", "summary/probe_scores.tsv"),
)
def figure2(summary_layers: pd.DataFrame) -> style.DrawnFigure:
    """Left: mixing weights of a probe on all layers. Right: gain of each layer in F1 (differential score), as a share of the
    largest gain over layer 0. Error bars: 95 % intervals. K: divergence from equal weights or shares, in bits. Black line:
    published values of BERT, at the same relative depth (Tenney et al. 2019, Figure 2).
    """
    return _layer_bars(summary_layers)


@figure(
    number="Figure A.3",
    title="Mixing weights and differential scores of two models",
    reads=("second_model/layers", "summary/layers"),
    labels=("tasks",),
    needs=("second_model",),
)
def figure_a3(second_model_layers: pd.DataFrame, summary_layers: pd.DataFrame) -> style.DrawnFigure:
    """Mixing weights and differential scores of two models, aligned at their last layers, drawn as in Figure 2 (Tenney et al.
    2019, Figure A.3).
    """
    return _layer_bars(pd.concat([second_model_layers, summary_layers]))


def _layer_bars(table: pd.DataFrame) -> style.DrawnFigure:
    """Mixing weights and differential scores of each task, for one model or several, aligned at their last layers."""
    models = {str(model): model_rows for model, model_rows in table.groupby("model", sort=False)}
    tasks = [task for task in EDGE_TASKS if (table["task"] == task).any()]
    most = int(table["layer"].max())
    style.use_style()
    drawn = plt.figure(figsize=(style.PAGE, min(0.86 * len(tasks) + 0.9, style.TALLEST - 0.7)), layout="constrained")
    parts = drawn.subfigures(1, len(models), squeeze=False)[0]
    beside = {}
    for part, (model, rows) in zip(parts, models.items(), strict=True):
        axes = part.subplots(len(tasks), 2, squeeze=False, sharex=True)
        published = PublishedModel(int(rows["layer"].max()))
        beside[published.label] = Line2D([], [], label=published.label, **_LINE)
        weights, shares = published.weights(), published.shares()
        for (weight_axis, score_axis), task in zip(axes, tasks, strict=True):
            task_rows = rows[rows["task"] == task].sort_values("layer")
            _weights(weight_axis, task_rows, weights[weights["task"] == task])
            _shares(score_axis, task_rows, shares[shares["task"] == task])
        for axis, title in zip(axes[0], ("Mixing weights s", "Share of the gain by layer"), strict=True):
            axis.set_title(title, pad=14, fontsize=7)
        layers = int(rows["layer"].max())
        step = 1 if layers <= 8 else 3 if layers <= 12 else 6
        scaled = "" if layers == published.layers else f"\npublished: {published.layers} layers, scaled to {layers}"
        for axis in axes[-1]:
            axis.set_xlabel(LAYER_LABEL + scaled, fontsize=7)
            axis.set(xlim=(layers - most - 0.6, layers + 0.6), xticks=range(0, layers + 1, step))
        for axis in axes.flat:
            axis.tick_params(labelsize=_SMALL)
            axis.yaxis.set_major_locator(MaxNLocator(nbins=2))
        if len(models) > 1:
            part.suptitle(style.plain(fill(model, 44)), fontsize=8, fontweight="bold")
        if part is parts[0]:
            for axis, task in zip(axes[:, 0], tasks, strict=True):
                axis.set_ylabel(_task_label(table, task, 12), rotation=0, ha="right", va="center", labelpad=4, fontsize=7)
    equal = Line2D([], [], color=style.GREY, linewidth=0.8, linestyle="--", label="equal weights")
    noise = Line2D([], [], linestyle="none", label=f"(noise): {NOISE}, no shares drawn")
    style.legend_below(drawn, [], 2, [equal, *beside.values(), noise])
    return style.DrawnFigure(drawn, table, _counted(table))


def _weights(axis: Axes, rows: pd.DataFrame, published: pd.DataFrame) -> None:
    _bars(axis, rows, "weight", style.BLUE)
    axis.axhline(1 / len(rows), color=style.GREY, linewidth=0.8, linestyle="--")
    axis.plot(published["layer"], published["value"], **_LINE)
    axis.set_ylim(0, 1.08 * max(rows["weight_high"].max(), rows["weight"].max(), published["value"].max(), 1 / len(rows)))
    _above(axis, f"K(s) = {rows['k_s'].iloc[0]:.2f}")


def _shares(axis: Axes, rows: pd.DataFrame, published: pd.DataFrame) -> None:
    f1_range = f"F1 {rows['f1'].iloc[0]:.1f} → {rows['f1'].iloc[-1]:.1f}"
    # A share of a gain that is noise can be of any size and sign.
    if rows["within_noise"].iloc[0] or not np.isfinite(rows["k_delta"].iloc[0]):
        _above(axis, f"{f1_range} (noise)")
    else:
        _bars(axis, rows[rows["layer"] > 0], "share", style.ORANGE)
        _above(axis, f"K(Δ) = {rows['k_delta'].iloc[0]:.2f}   {f1_range}")
    axis.plot(published["layer"], published["value"], **_LINE)
    axis.axhline(0, color=style.BLACK, linewidth=0.6)


def _bars(axis: Axes, rows: pd.DataFrame, name: str, colour: str) -> None:
    bars = rows.rename(columns={name: "value", f"{name}_low": "ci_low", f"{name}_high": "ci_high"})
    bars = style.interval_rows(bars[["layer", "value", "ci_low", "ci_high"]])
    error_bars: dict[str, Any] = {"errorbar": style.INTERVAL, "err_kws": {"color": style.BLACK, "linewidth": 0.8}}
    sns.barplot(bars, x="layer", y="value", width=0.78, estimator=style.VALUE, ax=axis, color=colour, **_BAR, **error_bars)
    axis.set(xlabel="", ylabel="")


def _above(axis: Axes, words: str) -> None:
    # Higher than half a tick label, which may stand at the top of the axis.
    place: dict[str, Any] = {"xycoords": "axes fraction", "xytext": (0, 4), "textcoords": "offset points"}
    axis.annotate(words, (1, 1), **place, fontsize=_SMALL, ha="right", va="bottom")


@figure(
    title="Predictions for ambiguous targets, layer by layer",
    reads=("traces",),
    labels=("tasks",),
    text_files=("figure3.svg", "figure3.png", "figure3.pdf", "figure3.tsv"),
)
def figure3(traces: pd.DataFrame) -> style.DrawnFigure:
    """Probability by layer of the gold label and of the likeliest wrong one, mean over seeds, normalised over labels (Tenney et
    al. 2019, Figure 3): all targets of the paper's sentences, then targets of development sentences for which no label has a
    mean probability above 0.7. At most five sentences and four targets of each are drawn.
    """
    style.use_style()
    groups = [_drawn_targets(sentence_rows) for _, sentence_rows in traces.groupby("sentence")][:_MOST_SENTENCES]
    if not groups:
        drawn, axis = plt.subplots(figsize=(style.COLUMN, 0.8))
        axis.axis("off")
        axis.text(0.5, 0.5, "no sentence has more than one target in doubt", ha="center", va="center")
        return style.DrawnFigure(drawn, traces)
    columns = max(len(targets) for targets in groups)
    size = (min(style.PAGE, 1.75 * columns), min(1.55 * len(groups) + 0.5, style.TALLEST - 0.6))
    drawn = plt.figure(figsize=size, layout="constrained")
    parts = drawn.subfigures(len(groups), 1, squeeze=False)[:, 0]
    for part, targets in zip(parts, groups, strict=True):
        words = shorten(str(targets[0]["words"].iloc[0]), 26 * columns, placeholder=" …")
        part.suptitle(style.plain(words), x=0.01, ha="left", fontsize=7.5, style="italic")
        axes = part.subplots(1, columns, sharey=True, squeeze=False)[0]
        for axis in axes[len(targets) :]:
            axis.axis("off")
        for axis, target in zip(axes, targets, strict=False):
            _trace(axis, target, last=part is parts[-1])
        axes[0].set_ylabel("Probability", fontsize=7)
    kinds = ("gold label", style.BLUE), ("likeliest wrong label", style.ORANGE)
    squares = [Line2D([], [], color=colour, marker="s", linestyle="none", label=label) for label, colour in kinds]
    style.legend_below(drawn, [], 2, squares)
    return style.DrawnFigure(drawn, traces, f"{len(groups)} of {traces['sentence'].nunique()} sentences")


def _drawn_targets(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Targets of a sentence, one of each task first, in the paper's order of tasks."""
    targets = rows[["task", "target"]].drop_duplicates()
    targets = targets.assign(in_task=targets.groupby("task").cumcount(), of_paper=targets["task"].map([*EDGE_TASKS].index))
    drawn = targets.sort_values(["in_task", "of_paper"]).head(_MOST_TARGETS).sort_values(["of_paper", "in_task"])
    return [rows[(rows["task"] == row.task) & (rows["target"] == row.target)] for row in drawn.itertuples()]


def _trace(axis: Axes, rows: pd.DataFrame, last: bool) -> None:
    colours: dict[str, Any] = {"hue": "gold", "hue_order": list(_COLOURS), "palette": list(_COLOURS.values())}
    sns.barplot(rows, x="layer", y="probability", errorbar=None, ax=axis, **_BAR, **colours)
    axis.set(ylim=(0, 1), yticks=[0, 0.5, 1], ylabel="")
    axis.set_xlabel(LAYER_LABEL if last else "", fontsize=7)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axis.tick_params(labelsize=_SMALL)
    task = str(rows["task"].iloc[0])
    for height, (gold, colour) in zip((11, 2), _COLOURS.items(), strict=True):
        label = str(rows.loc[rows["gold"] == gold, "label"].iloc[0])
        label = shorten(_COREFERENCE.get(label, label), _LABEL_LINE, placeholder="…")
        place: dict[str, Any] = {"xycoords": "axes fraction", "xytext": (0, height), "textcoords": "offset points"}
        axis.annotate(style.plain(label), (0, 1), **place, color=colour, fontsize=_SMALL, fontweight="bold", va="bottom")
    first, second = rows["span1"].iloc[0], rows["span2"].iloc[0]
    spans = [str(first), *([f"→ {second}"] if isinstance(second, str) and second else [])]
    lines = [EDGE_TASKS[task], *(shorten(span, _SPAN, placeholder=" …") for span in spans)]
    axis.set_title(style.plain("\n".join(lines)), fontsize=_SMALL, pad=20)


def _task_label(table: pd.DataFrame, task: str, width: int = 40) -> str:
    """A task, in lines of at most `width` letters, with the number of sentences that it is evaluated on."""
    sentences = table.loc[table["task"] == task, "sentences"].iloc[0]
    return f"{fill(EDGE_TASKS[task], width, break_long_words=False)}\nn = {sentences}"


def _counted(table: pd.DataFrame) -> str:
    return f"n: sentences evaluated; probes of {table['seeds'].iloc[0]} seeds"


class PublishedModel:
    """The published model drawn beside a model of a run: that with as many layers, else BERT-large, as in the paper."""

    def __init__(self, drawn_layers: int) -> None:
        self.size, self.layers = ("base", 12) if drawn_layers == 12 else ("large", 24)
        self.drawn_layers = drawn_layers

    @property
    def label(self) -> str:
        place = "" if self.layers == self.drawn_layers else f", {self.layers} layers scaled to {self.drawn_layers}"
        return f"published: BERT-{self.size}{place}"

    def depth(self, layers: pd.Series) -> pd.Series:
        """Layers of the published model, from 0 on, at the same relative depth of the drawn one."""
        return layers * self.drawn_layers / self.layers

    def depth_of_gains(self, layers: pd.Series) -> pd.Series:
        """The same for layers that gain F1 and for expected layers: there is none below 1, so layer 1 is drawn at layer 1."""
        return 1 + (layers - 1) * (self.drawn_layers - 1) / (self.layers - 1)

    def values(self, quantity: str) -> pd.DataFrame:
        """Published values of a quantity of all tasks: task, value, and layer where it has one."""
        ids = [name for name in load_published("tenney2019") if re.fullmatch(rf"t19\.{self.size}\..*\.{quantity}", name)]
        return published_rows("tenney2019", ids).reindex(columns=["value", "task", "layer"])

    def weights(self) -> pd.DataFrame:
        """Mixing weights: task, layer and value as drawn, so that equal weights of both models are the same height."""
        rows = self.values("mix_weights")
        return rows.assign(layer=self.depth(rows["layer"]), value=rows["value"] * (self.layers + 1) / (self.drawn_layers + 1))

    def shares(self) -> pd.DataFrame:
        """Gains of layers in F1 as a share of the largest gain over layer 0, drawn likewise."""
        rows = self.values("f1_by_layer").sort_values(["task", "layer"])
        scores = rows.groupby("task")["value"]
        span = scores.transform("max") - scores.transform("first")
        rows["value"] = scores.diff() / span * self.layers / self.drawn_layers
        return rows[rows["layer"] > 0].assign(layer=lambda frame: self.depth_of_gains(frame["layer"]))
