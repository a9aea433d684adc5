"""Figures of the study, each beside the table of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures.attention_lines import weighted_lines
from attention_atlas.figures.head_grid import draw_head_grid
from attention_atlas.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    panels,
    plain,
    save_figure,
    use_style,
)
from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import read_table
from attention_atlas.studies.stefanik2021.names import (
    EXACT,
    F1_5,
    F1_10,
    F1_M,
    HEAD,
    IMPORTANCE,
    MEAN,
    METHOD_TITLES,
    METRIC_TITLES,
    OPTIMISTIC,
    ORDER_TITLES,
    PHRASE,
    PRUNED,
    PRUNED_ON_TEST,
    RANDOM,
    REGRESSION,
    TAGGER,
    TEST,
    TOKEN,
    WHOLE,
    WORST,
)

Pictures = Mapping[str, str | Path]
Rows = pd.DataFrame
_LINES = {
    WORST: (BLUE, "-", "o"),
    IMPORTANCE: (GREEN, "--", "s"),
    OPTIMISTIC: (VERMILION, ":", "^"),
    RANDOM: (GREY, "-.", ""),
}
_METRICS = {
    F1_5: ("F1@5", SKY, "o"),
    F1_10: ("F1@10", BLUE, "s"),
    F1_M: ("F1@M", ORANGE, "^"),
    EXACT: ("Phrase F1", VERMILION, "D"),
}
_MODELS = {WHOLE: "Whole", PRUNED: "Pruned", PRUNED_ON_TEST: "Pruned on test\n(optimistic)"}
_SHOWN_HEADS = 20


def relative_attention(path: str | Path, setting: Setting, pictures: Pictures) -> None:
    """Draw how much more attention words of keyphrases receive than others, for each head, by mean and by maximum.

    Args:
        path: table `detection.RELATIVE`.
        setting: what was looked at.
        pictures: format -> file.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["way", "layer", "head", "value", "ci_low", "ci_high", "n"])
    figure, axes = panels(4.2, 3.4, 2)
    for axis, (way, own) in zip(axes, table.groupby("way", sort=False), strict=True):
        sure = own[(own["ci_low"] > 0) | (own["ci_high"] < 0)]
        _grid(axis, own.assign(value=100 * own["value"]), "Relative attention, points", "RdBu_r", sure)
        axis.set_title(f"Received attention: {way} over attending words")
    note = (
        "Attention that words of keyphrases receive minus that of other words, mean over documents, in hundredths; a dot: the "
        f"95 % interval by bootstrap over n = {table['n'].iloc[0]} documents leaves out 0."
    )
    save_figure(figure, pictures, f"{setting.line}\n{note}")


def head_ranking(path: str | Path, setting: Setting, pictures: Pictures) -> None:
    """Draw the best heads by calibrated cross-entropy, and how the slides' uncalibrated rank goes with AUC.

    Args:
        path: table `ranking.RANKING`.
        setting, pictures: see `relative_attention`.

    Raises:
        AtlasError: the table cannot be used.
    """
    names = ["layer", "head", "auc", "average_precision", "cross_entropy", "cross_entropy_none", "slide_rank", "share", "n"]
    table = read_table(path, names)
    figure, axes = panels(4.4, 4.2, 2)
    best = table.head(_SHOWN_HEADS)[::-1]
    places = np.arange(len(best))
    gained = best["cross_entropy_none"] - best["cross_entropy"]
    axes[0].barh(places, 1000 * gained, color=BLUE, height=0.7)
    axes[0].set_yticks(places, [f"{row.layer}-{row.head}" for row in best.itertuples()], fontsize=7.5)
    axes[0].set_ylabel("Layer-head")
    axes[0].set_xlabel("Cross-entropy saved, thousandths of a nat a word")
    axes[0].set_title(f"The {len(best)} best of {len(table)} heads, calibrated")
    axes[1].scatter(table["slide_rank"], table["auc"], s=16, color=VERMILION, linewidths=0)
    axes[1].axhline(0.5, color=GREY, linewidth=0.8, linestyle="--", label="chance")
    axes[1].set_xlabel("Rank by the slides' sum (uncalibrated)")
    axes[1].set_ylabel("AUC of the head's attention")
    axes[1].xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[1].legend(loc="best")
    axes[1].set_title("All heads")
    note = (
        "Left: log loss of the share of key words less that of a probability fitted to the head's attention, both from other "
        f"documents. n = {table['n'].iloc[0]} words, {table['share'].iloc[0]:.1%} of them of keyphrases."
    )
    save_figure(figure, pictures, f"{setting.line}\n{note}")


def logistic_regression(path: str | Path, setting: Setting, pictures: Pictures) -> None:
    """Draw coefficients, permutation importance and mixing weights of all heads.

    Args:
        path: table `regression.COEFFICIENTS`.
        setting, pictures: see `relative_attention`.

    Raises:
        AtlasError: the table cannot be used.
    """
    names = ["layer", "head", "coefficient", "ci_low", "ci_high", "permutation_importance", "mix_weight"]
    table = read_table(path, names)
    figure, axes = panels(3.7, 3.3, 3)
    sure = table[(table["ci_low"] > 0) | (table["ci_high"] < 0)]
    _grid(axes[0], table.assign(value=table["coefficient"]), "Coefficient", "RdBu_r", sure)
    axes[0].set_title("Logistic regression")
    # A head without use loses nothing but noise, above or below 0.
    lost = table.assign(value=1000 * table["permutation_importance"])
    _grid(axes[1], lost, "AUC lost, thousandths", "RdBu_r", table.iloc[:0])
    axes[1].set_title("Permutation importance")
    _grid(axes[2], table.assign(value=table["mix_weight"]), "Weight", "cividis", table.iloc[:0], low=0)
    axes[2].set_title("Softmax weights (scalar mix)")
    note = (
        "Coefficients of standardised attention; a dot: the 95 % interval over resampled documents leaves out 0. Permutation: "
        "AUC on other documents lost when the attention of a head is shuffled over words."
    )
    save_figure(figure, pictures, f"{setting.line}\n{note}")


def fine_tuning(path: str | Path, setting: Setting, pictures: Pictures) -> None:
    """Draw test scores of the taggers, whole and pruned: each seed, and the mean with its interval.

    Args:
        path: table `removal_tables.FINE_TUNING`.
        setting, pictures: see `relative_attention`.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["seed", "model", "split", "metric", "value", "ci_low", "ci_high", "documents"])
    table = table[table["split"] == TEST]
    figure, axes = panels(3.6, 3.4, 2)
    for axis, metric in zip(axes, (TOKEN, PHRASE), strict=True):
        for place, model in enumerate(_MODELS):
            own = table[(table["metric"] == metric) & (table["model"] == model)]
            seeds, mean = own[own["seed"] != MEAN], own[own["seed"] == MEAN].iloc[0]
            spread = np.linspace(-0.12, 0.12, len(seeds)) if len(seeds) > 1 else [0.0]
            axis.plot(place + spread, seeds["value"], "o", color=SKY, markersize=5, label="a seed" if place == 0 else None)
            ends = [[mean["value"] - mean["ci_low"]], [mean["ci_high"] - mean["value"]]]
            style = {"fmt": "D", "color": BLACK, "markersize": 5, "capsize": 3, "linewidth": 1}
            axis.errorbar([place + 0.28], [mean["value"]], yerr=ends, label="mean of seeds" if place == 0 else None, **style)
        axis.set_xticks(range(len(_MODELS)), list(_MODELS.values()), fontsize=8)
        axis.set_ylabel(METRIC_TITLES[metric])
        axis.set_xlim(-0.4, len(_MODELS) - 0.4)
        axis.set_ylim(0, 100)
    axes[0].legend(loc="lower left")
    note = (
        "Pruned: ranked and stopped on development documents. Bars: 95 % interval by bootstrap over "
        f"n = {table['documents'].iloc[0]} test documents."
    )
    save_figure(figure, pictures, f"{setting.line}\n{note}")


def ablation(path: str | Path, setting: Setting, pictures: Pictures) -> None:
    """Draw what removing each head does to token F1 on test documents: a map, and a histogram.

    Args:
        path: table `removal_tables.ABLATION`.
        setting, pictures: see `relative_attention`.

    Raises:
        AtlasError: the table cannot be used.
    """
    names = ["seed", "split", "layer", "head", "metric", "baseline", "value", "delta", "p", "p_holm", "documents"]
    table = read_table(path, names)
    table = table[(table["split"] == TEST) & (table["metric"] == TOKEN)]
    mean = table[table["seed"] == MEAN]
    figure, axes = panels(4.2, 3.4, 2)
    _grid(axes[0], mean.assign(value=mean["delta"]), "Difference of token F1, points", "RdBu_r", mean[mean["p_holm"] < 0.05])
    axes[0].set_title("Mean over seeds")
    deltas = [own["delta"].to_numpy() for _, own in table[table["seed"] != MEAN].groupby("seed")]
    low, high = min(map(np.min, deltas)), max(map(np.max, deltas))
    edges = np.linspace(low, high, 25) if high > low else np.array([low - 0.5, high + 0.5])
    colours = [plt.get_cmap("cividis")(shade) for shade in np.linspace(0.1, 0.9, len(deltas))]
    seeds = [f"seed {name}" for name, _ in table[table["seed"] != MEAN].groupby("seed")]
    axes[1].hist(deltas, bins=edges, stacked=True, color=colours, label=seeds)
    axes[1].axvline(0, color=BLACK, linewidth=0.8, linestyle="--")
    axes[1].set_xlabel("Difference of token F1, points")
    axes[1].set_ylabel("Heads")
    axes[1].yaxis.set_major_locator(MaxNLocator(integer=True))
    axes[1].legend(loc="best")
    axes[1].set_title("Each seed")
    note = (
        f"Token F1 with one head removed less that of the whole model ({mean['baseline'].iloc[0]:.1f}, mean of seeds), "
        f"n = {mean['documents'].iloc[0]} test documents. A dot: p < 0.05 after Holm over {len(mean)} heads "
        f"({(mean['p_holm'] < 0.05).sum()} of them; {(mean['p'] < 0.05).sum()} before)."
    )
    save_figure(figure, pictures, f"{setting.line}\n{note}")


def cumulative_ablation(path: str | Path, setting: Setting, pictures: Pictures) -> None:
    """Draw scores on test documents by heads removed, in each order.

    Args:
        path: table `removal_tables.CUMULATIVE`.
        setting, pictures: see `relative_attention`.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["seed", "order", "draw", "split", "heads_removed", "metric", "value", "documents"])
    table = table[table["split"] == TEST]
    figure, axes = panels(4.2, 3.6, 2)
    for axis, metric in zip(axes, (TOKEN, PHRASE), strict=True):
        of_metric = table[table["metric"] == metric]
        for order, (colour, dashes, mark) in _LINES.items():
            own = of_metric[of_metric["order"] == order]
            groups = own.groupby("heads_removed")["value"]
            mean = groups.mean()
            style = {"color": colour, "linestyle": dashes, "marker": mark, "markersize": 3.5, "linewidth": 1.3}
            axis.plot(mean.index, mean, label=ORDER_TITLES[order], **style)
            axis.fill_between(mean.index, groups.min(), groups.max(), color=colour, alpha=0.15, linewidth=0)
        axis.set_xlabel("Heads removed")
        axis.set_ylabel(METRIC_TITLES[metric])
        axis.set_ylim(bottom=0)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8)
    draws = table.loc[table["order"] == RANDOM, "draw"].nunique()
    note = (
        f"Lines: mean over {table['seed'].nunique()} seeds (and {draws} random orders); bands: least and most of them. "
        f"n = {table['documents'].iloc[0]} test documents."
    )
    save_figure(figure, pictures, f"{setting.line}\n{note}")


def baselines(path: str | Path, setting: Setting, pictures: Pictures) -> None:
    """Draw the scores of all ways to find keyphrases.

    Args:
        path: table `baselines.BASELINES`.
        setting, pictures: see `relative_attention`.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["method", "metric", "value", "ci_low", "ci_high", "documents"])
    methods = [name for name in METHOD_TITLES if (table["method"] == name).any()][::-1]
    use_style()
    figure, axis = plt.subplots(figsize=(7.0, 0.62 * len(methods) + 1.1), constrained_layout=True)
    for number, (metric, (label, colour, mark)) in enumerate(_METRICS.items()):
        own = table[table["metric"] == metric].set_index("method").loc[methods]
        places = np.arange(len(methods)) + 0.24 - 0.16 * number
        ends = np.array([own["value"] - own["ci_low"], own["ci_high"] - own["value"]]).clip(min=0)
        style = {"fmt": mark, "color": colour, "markersize": 4.5, "linewidth": 1}
        axis.errorbar(own["value"], places, xerr=ends, label=label, **style)
    for place, name in enumerate(methods):
        if name in (HEAD, REGRESSION, TAGGER):
            axis.axhspan(place - 0.45, place + 0.45, color=PURPLE, alpha=0.08, linewidth=0)
    axis.set_yticks(range(len(methods)), [METHOD_TITLES[name] for name in methods])
    axis.set_xlabel("F1, %")
    axis.set_xlim(0, 100)
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    note = (
        f"n = {table['documents'].iloc[0]} test documents with a keyphrase in their text; bars: 95 % interval by bootstrap "
        "over them. M: as many phrases as a method proposes (a ranker: the number that is best on development documents). "
        "Shaded: from this model's attention or weights."
    )
    save_figure(figure, pictures, f"{setting.line}\n{note}")


def model_view(path: str | Path, setting: Setting, pictures: Pictures) -> None:
    """Draw the attention of all heads over the first pair of sentences: a row a layer, a column a head.

    Args:
        path: table `views.MODEL_VIEW`.
        setting, pictures: see `relative_attention`.

    Raises:
        AtlasError: the table cannot be used.
    """
    table = read_table(path, ["pair", "layer", "head", "query", "key", "query_token", "weight", "second"])
    table = table[table["pair"] == table["pair"].iloc[0]]
    layers, heads, size = int(table["layer"].max()), int(table["head"].max()), int(table["query"].max())
    tokens = table[(table["layer"] == 1) & (table["head"] == 1) & (table["key"] == 1)].sort_values("query")["query_token"]
    use_style()
    figure, axes = plt.subplots(layers, heads + 1, figsize=(0.72 * (heads + 1) + 1.1, 1.2 * layers + 0.5), squeeze=False)
    figure.subplots_adjust(left=0.08, right=0.99, bottom=0.03, top=0.95, wspace=0.12, hspace=0.12)
    colours = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY)
    for (layer, head), own in table.groupby(["layer", "head"]):
        _lines(axes[layer - 1, head], own, size, colours[(layer - 1) % len(colours)])
        if layer == 1:
            axes[0, head].set_title(str(head), fontsize=8)
    second = int(table["second"].iloc[0])
    for layer in range(layers):
        _names(axes[layer, 0], [str(token) for token in tokens], second)
        axes[layer, 0].set_ylabel(f"Layer {layer + 1}", fontsize=8)
    axes[0, 0].set_title("Head:", fontsize=8, loc="right")
    note = (
        "Each panel: pieces that attend on the left, attended ones on the right, in the order of the text from the top; a "
        "line is as strong as the attention. Pieces of the second sentence are in italics."
    )
    save_figure(figure, pictures, f"{setting.line}\n{note}")


def _lines(axis: Axes, rows: Rows, size: int, colour: str) -> None:
    strong = rows[rows["weight"] > 0.02]
    heights = [size - strong[side].to_numpy() for side in ("query", "key")]
    axis.add_collection(weighted_lines(*heights, strong["weight"].to_numpy(), colour, (0, 1), 1.0))
    axis.set_xlim(-0.06, 1.06)
    axis.set_ylim(-0.6, size - 0.4)
    axis.set_xticks([])
    axis.set_yticks([])
    for side in axis.spines.values():
        side.set_visible(True)
        side.set_color("#d0d0d0")


def _names(axis: Axes, tokens: list[str], second: int) -> None:
    axis.set_xlim(0, 1)
    axis.set_ylim(-0.6, len(tokens) - 0.4)
    look = {"ha": "right", "va": "center", "fontsize": min(6.0, 66 / len(tokens))}
    for place, token in enumerate(tokens, start=1):
        kind = "italic" if second and place >= second else "normal"
        axis.text(1.0, len(tokens) - place, plain(token), fontstyle=kind, **look)
    axis.set_xticks([])
    axis.set_yticks([])
    for side in axis.spines.values():
        side.set_visible(False)


def _grid(axis: Axes, rows: Rows, label: str, colours: str, marked: Rows, low: float | None = None) -> None:
    """A grid of the column value with its colour bar; around 0 where no lower end is given."""
    most = float(np.nanmax(np.abs(rows["value"]))) or 1.0
    heads = [(int(row.layer), int(row.head)) for row in marked.itertuples()]
    image = draw_head_grid(axis, rows, "value", colours, -most if low is None else low, most, heads)
    axis.set_xlabel("Head")
    axis.set_ylabel("Layer")
    axis.figure.colorbar(image, ax=axis, shrink=0.85, label=label)


FIGURES: dict[str, Callable[[str | Path, Setting, Pictures], None]] = {
    "relative_attention": relative_attention,
    "head_ranking": head_ranking,
    "logistic_regression": logistic_regression,
    "fine_tuning": fine_tuning,
    "ablation": ablation,
    "cumulative_ablation": cumulative_ablation,
    "baselines": baselines,
    "model_view": model_view,
}
"""Figures by the names of their tables."""
