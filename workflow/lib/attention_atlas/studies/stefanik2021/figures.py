"""Figures of Štefánik's study."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_atlas.figures import style
from attention_atlas.figures.marks import draw_head_grid
from attention_atlas.figures.style import PAGE, DrawnFigure, page_figure
from attention_atlas.published.values import published_rows
from attention_atlas.studies.stefanik2021.head_measures import ATTENTION_METHODS, METHOD_TITLES, removal_caution
from attention_atlas.workflow.shown import figure

METRIC_TITLES = {"token_f1": "Token F1 (%)", "phrase_f1": "Phrase F1 (%)"}
ORDERS = {
    "worst_to_best": ("Worst to best (ranked on development)", style.BLUE, "o"),
    "importance": ("Least important first", style.GREEN, "s"),
    "worst_to_best_on_test": ("Worst to best, ranked on test (optimistic)", style.VERMILION, "^"),
    "random": ("Random orders", style.GREY, "D"),
}
"""Order in which heads are removed -> its title, colour and marker."""
_REDUCTIONS = {"mean": "Mean over query words", "max": "Maximum over query words"}
_MODELS = {"pruned": "Pruned", "pruned_on_test": "Pruned on test\n(optimistic)"}
_METRICS = {
    "f1_at_5": ("F1@5", style.SKY, "o"),
    "f1_at_10": ("F1@10", style.BLUE, "s"),
    "f1_at_m": ("F1@M", style.ORANGE, "^"),
    "phrase_f1_all_occurrences": ("phrase F1, all occurrences", style.VERMILION, "D"),
}


@figure(
    title="Attention received by keyphrase words, by head",
    reads=("detection/relative_attention",),
    labels=("documents",),
    needs=("documents",),
)
def relative_attention(relative_attention: pd.DataFrame) -> DrawnFigure:
    """Attention received by keyphrase words minus that received by other words, for each head, mean over documents (Štefánik,
    heat map). Left: mean over query words; right: maximum. A dot: the 95 % interval over documents, simultaneous for all heads,
    excludes 0.
    """
    drawn, axes = style.panels(PAGE / 2, 3.0)
    for axis, (reduction, heads) in zip(axes, relative_attention.groupby("reduction", sort=False), strict=True):
        significant = heads[(heads["adjusted_low"] > 0) | (heads["adjusted_high"] < 0)]
        percent = heads.assign(value=100 * heads["value"])
        dot = "95 % interval, for all heads at once, excludes 0"
        _draw_heads(axis, percent, "Relative attention (percentage points)", significant, dot)
        axis.set_title(_REDUCTIONS[str(reduction)])
    style.legend_below(drawn, axes, 1)
    return DrawnFigure(drawn, relative_attention, f"n = {relative_attention['n'].iloc[0]} documents")


def _draw_heads(
    axis: Axes, heads: pd.DataFrame, label: str, marked: pd.DataFrame, dot: str = "", positive: bool = False
) -> None:
    """Draw the column `value` of all heads, in colours from 0 if positive, else around 0; dots on `marked` mean `dot`."""
    most = float(np.nanmax(np.abs(heads["value"]))) or 1.0
    colours, least = (style.SEQUENTIAL, 0) if positive else (style.DIVERGING, -most)
    dots = list(marked[["layer", "head"]].itertuples(index=False, name=None))
    cells = draw_head_grid(axis, heads, "value", colours, least, most, dots)
    axis.figure.colorbar(cells, ax=axis, label=label, shrink=0.85)
    axis.set(xlabel=style.HEAD, ylabel=style.LAYER)
    if dot:
        axis.plot([], [], "o", color=style.BLACK, markersize=2.2, label=dot)


@figure(
    number="Ranking of heads",
    title="How well each head alone detects keyphrase words",
    reads=("detection/head_ranking",),
    labels=("documents",),
    needs=("documents",),
)
def head_ranking(head_ranking: pd.DataFrame) -> DrawnFigure:
    """Left: the best heads by the held-out log loss saved over predicting the base rate, with a probability fitted to a head's
    attention on other documents. Right: AUC of each head's attention, with its 95 % interval over documents, against the rank
    of the slides, which sum uncalibrated cross-entropies (Štefánik, weighting of attention heads).
    """
    heads = head_ranking
    drawn, axes = style.panels(PAGE / 2, 3.6)
    best = heads.head(20).assign(
        name=lambda rows: [f"{row.layer}-{row.head}" for row in rows.itertuples()],
        saved=lambda rows: 1000 * (rows["cross_entropy_none"] - rows["cross_entropy"]),
    )
    sns.barplot(best, x="saved", y="name", color=style.BLUE, errorbar=None, width=0.7, saturation=1, ax=axes[0])
    axes[0].axvline(0, color=style.GREY, linewidth=0.6)
    axes[0].set(ylabel="Layer-head", xlabel="Held-out log loss saved (0.001 nats per word)")
    axes[0].set_title(f"The {len(best)} best of {len(heads)} heads, calibrated")
    interval = [heads["auc"] - heads["auc_low"], heads["auc_high"] - heads["auc"]]
    look: dict[str, Any] = {"fmt": "o", "markersize": 3, "color": style.BLUE, "ecolor": style.GREY, "elinewidth": 0.5}
    axes[1].errorbar(heads["slide_rank"], heads["auc"], yerr=interval, label="one head, 95 % interval", **look)
    axes[1].axhline(0.5, color=style.GREY, linewidth=0.8, linestyle="--", label="chance")
    axes[1].set(xlabel="Rank by the slides' sum (uncalibrated)", ylabel="AUC of the head's attention")
    axes[1].xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
    axes[1].set_title("All heads")
    style.legend_below(drawn, axes, 2)
    first = heads.iloc[0]
    note = f"n = {first['n']:,.0f} words ({100 * first['share']:.1f} % in keyphrases) of {first['documents']:.0f} documents"
    return DrawnFigure(drawn, heads, note)


@figure(
    title="All heads together: coefficients, permutation importance, softmax weights",
    reads=("detection/logistic_regression",),
    labels=("documents",),
    needs=("documents",),
)
def logistic_regression(logistic_regression: pd.DataFrame) -> DrawnFigure:
    """Logistic regression over the standardised attention of all heads (Štefánik). Left: coefficients; a dot: the 95 % interval
    over bootstrap resamples of documents excludes 0. Middle: AUC lost on held-out documents when the attention of a head is
    permuted over words. Right: softmax weights of a scalar mix of all heads.
    """
    heads = logistic_regression
    drawn, axes = style.panels(PAGE / 3, 2.6, 3)
    significant, none = heads[(heads["ci_low"] > 0) | (heads["ci_high"] < 0)], heads.iloc[:0]
    shown = (
        ("Logistic regression", heads["coefficient"], "Coefficient", significant),
        # A useless head has a loss around 0, of either sign.
        ("Permutation importance", 1000 * heads["permutation_importance"], "AUC lost (thousandths)", none),
        ("Scalar mix", heads["mix_weight"], "Softmax weight", none),
    )
    for axis, (title, values, label, marked) in zip(axes, shown, strict=True):
        dot = "95 % interval of the coefficient excludes 0" if axis is axes[0] else ""
        _draw_heads(axis, heads.assign(value=values), label, marked, dot, positive=title == "Scalar mix")
        axis.set_title(title)
    style.legend_below(drawn, axes, 1)
    return DrawnFigure(drawn, heads, f"{len(heads)} heads")


@figure(
    number="Fine-tuning",
    title="Fine-tuned taggers, full and pruned",
    reads=("removal_tables/fine_tuning",),
    labels=("tagging",),
    needs=("development", "test"),
)
def fine_tuning(fine_tuning: pd.DataFrame) -> DrawnFigure:
    """Change in F1 of the fine-tuned taggers on test documents without the worst heads (ranked and stopped on development
    documents, or on the test documents, which is optimistic): each seed, and their mean with its 95 % bootstrap interval over
    documents. Hollow diamonds, in both panels: the slides, of another corpus and an unnamed F1 (Štefánik, fine-tuning).
    """
    of_mean = {"delta": "value", "delta_low": "ci_low", "delta_high": "ci_high"}
    shown = fine_tuning.assign(title=fine_tuning["model"].map(_MODELS)).dropna(subset="title")
    changes = shown.drop(columns=list(of_mean.values())).rename(columns=of_mean)
    # The slides do not say which of the two F1 they report: their change is drawn in both panels.
    pruned, whole = published_rows("stefanik2021", ["s21.f1_pruned", "s21.f1"])["value"]
    drawn, axes = style.panels(2.7, 3.2)
    for axis, metric in zip(axes, ("token_f1", "phrase_f1"), strict=True):
        of_metric = changes[changes["metric"] == metric]
        seeds, mean = of_metric[of_metric["seed"] != "mean"], of_metric[of_metric["seed"] == "mean"]
        looks: dict[str, Any] = {"x": "title", "y": "value", "order": list(_MODELS.values()), "ax": axis}
        sns.stripplot(seeds, color=style.SKY, size=4.5, jitter=False, label="one seed", legend=False, **looks)
        looks |= {"estimator": style.VALUE, "errorbar": style.INTERVAL, "err_kws": {"linewidth": 1}, "color": style.BLACK}
        looks |= {"markers": "_", "markersize": 9, "linestyle": "none", "label": "mean of seeds, 95 % interval"}
        sns.pointplot(style.interval_rows(mean), capsize=0.12, **looks)
        label = f"published (slides): from {whole:.0f} to {pruned:.0f} %"
        axis.plot([0], [pruned - whole], linestyle="none", label=label, zorder=4, **style.PUBLISHED)
        axis.axhline(0, color=style.GREY, linewidth=0.8, linestyle="--", zorder=0)
        full = fine_tuning.query("model == 'whole' and seed == 'mean' and metric == @metric")["value"].iloc[0]
        axis.set(xlabel="", ylabel=style.change(METRIC_TITLES[metric].removesuffix(" (%)")), title=f"Full model: {full:.1f} %")
    style.legend_below(drawn, axes, 2)
    return DrawnFigure(drawn, fine_tuning, f"n = {shown['documents'].iloc[0]} test documents")


@figure(
    number="Removing heads",
    title="Change in F1 when one head is removed, and F1 by number of heads removed",
    reads=("removal_tables/ablation", "cumulative_ablation", "removal_tables/fine_tuning"),
    labels=("tagging",),
    needs=("development", "test"),
    files=("cumulative_ablation.tsv",),
)
def ablation(ablation: pd.DataFrame, cumulative_ablation: pd.DataFrame, fine_tuning: pd.DataFrame) -> DrawnFigure:
    """Above: change in token F1 on test documents when each head is removed alone: mean over seeds, and each seed. A dot: p <
    0.05, paired permutation test over documents, adjusted for all heads. Below: F1 by number of heads removed, in four orders;
    thin lines are seeds, thick ones their mean (Štefánik).
    """
    heads = ablation[ablation["metric"] == "token_f1"]
    mean, by_seed = heads[heads["seed"] == "mean"], heads[heads["seed"] != "mean"]
    drawn, (axes, below) = page_figure(2, 2, PAGE, 6.4)
    significant = mean[mean["p_adjusted"] < 0.05]
    dot = "one head: p < 0.05, adjusted for all heads"
    _draw_heads(axes[0], mean.assign(value=mean["delta"]), style.change("token F1"), significant, dot)
    axes[0].set_title(f"Mean over seeds: {len(significant)} of {len(mean)} heads significant")
    seeds = sorted(by_seed["seed"].astype(str).unique())
    names = [f"seed {name}" for name in seeds]
    of_seeds = {"hue": "seed", "hue_order": names, "palette": sns.color_palette("crest", len(names))}
    bars = {"bins": list(style.centred_edges(by_seed["delta"].to_numpy(np.float64))), "multiple": "stack", "alpha": 0.95}
    named = by_seed.assign(seed=[f"seed {name}" for name in by_seed["seed"]])
    sns.histplot(named, x="delta", **of_seeds, **bars, linewidth=0.3, ax=axes[1])
    axes[1].axvline(0, color=style.GREY, linewidth=0.8, linestyle="--")
    axes[1].set(xlabel=style.change("token F1"), ylabel="Heads")
    axes[1].yaxis.set_major_locator(MaxNLocator(integer=True))
    # The side with the lower bars has room for the legend.
    sns.move_legend(axes[1], "upper left" if by_seed["delta"].max() < -by_seed["delta"].min() else "upper right", title=None)
    axes[1].set_title(f"Each seed (full model: {mean['baseline'].iloc[0]:.1f} %)")
    steps = _by_number(below, cumulative_ablation)
    style.legend_below(drawn, [axes[0], *below], 3)
    count = f"steps of {steps} % of the heads; n = {mean['documents'].iloc[0]} test documents, seeds: {len(seeds)}"
    return DrawnFigure(drawn, ablation, "; ".join(filter(None, [count, removal_caution(fine_tuning)])))


def _by_number(axes: Iterable[Axes], cumulative: pd.DataFrame) -> int:
    """Draw scores by number of heads removed; gives the size of a step in percent of the heads."""
    # The random orders of a seed are averaged into one line.
    curves = cumulative.groupby(["metric", "order", "seed", "heads_removed"], sort=False, as_index=False)["value"].mean()
    steps, percents = sorted(cumulative["heads_removed"].unique()), sorted(cumulative["percent"].unique())
    titles, colours, markers = (list(values) for values in zip(*ORDERS.values(), strict=True))
    curves["title"] = curves["order"].map(dict(zip(ORDERS, titles, strict=True)))
    for axis, metric in zip(axes, ("token_f1", "phrase_f1"), strict=True):
        shown = curves[curves["metric"] == metric]
        looks = {"x": "heads_removed", "y": "value", "hue": "title", "hue_order": titles, "palette": colours, "ax": axis}
        sns.lineplot(shown, units="seed", estimator=None, linewidth=0.6, alpha=0.55, legend=False, **looks)
        looks |= {"style": "title", "style_order": titles, "markers": markers, "dashes": False, "errorbar": None}
        sns.lineplot(shown, linewidth=1.6, **looks)
        axis.set(xlabel="Heads removed", ylabel=METRIC_TITLES[metric], xticks=steps)
        # Labels of more than eight steps overlap unless they are turned.
        axis.tick_params(axis="x", rotation=90 if len(steps) > 8 else 0)
    return int(percents[1] - percents[0])


@figure(
    title="Attention compared with other keyphrase extractors",
    reads=("extraction/baselines",),
    labels=("test",),
    needs=("documents", "development", "test"),
)
def baselines(baselines: pd.DataFrame) -> DrawnFigure:
    """F1 of keyphrase extractors on the same test documents, with 95 % bootstrap intervals over documents. F1@M: of all phrases
    that a method proposes. All occurrences: each is marked wherever it occurs. Shaded: methods that use attention or weights of
    this run's model. Vertical lines: F1 in the slides, of another corpus and of unnamed kind.
    """
    names, colours, markers = (list(values) for values in zip(*_METRICS.values(), strict=True))
    titles = {"title": baselines["method"].map(METHOD_TITLES), "score": [_METRICS[name][0] for name in baselines["metric"]]}
    drawn, ((axis,),) = page_figure(1, 1, PAGE, 0.44 * len(METHOD_TITLES) + 0.9)
    for place, name in enumerate(METHOD_TITLES):
        if name in (*ATTENTION_METHODS, "fine_tuned"):
            axis.axhspan(place - 0.45, place + 0.45, color=style.GREY, alpha=0.12, linewidth=0, zorder=0)
    rows = style.interval_rows(baselines.assign(**titles)[["title", "score", "value", "ci_low", "ci_high"]])
    of_scores: dict[str, Any] = {"hue": "score", "hue_order": names, "palette": colours, "markers": markers, "dodge": 0.5}
    looks: dict[str, Any] = {"estimator": style.VALUE, "errorbar": style.INTERVAL, "err_kws": {"linewidth": 1}, "markersize": 4}
    order = list(METHOD_TITLES.values())
    sns.pointplot(rows, x="value", y="title", order=order, **of_scores, **looks, linestyle="none", ax=axis)
    published = published_rows("stefanik2021", ["s21.f1", "s21.sota"])["value"]
    for value, title, dashes in zip(published, ("fine-tuned", "state of the art"), (":", "-."), strict=True):
        axis.axvline(value, color=style.BLACK, linewidth=0.9, linestyle=dashes, label=f"published (slides): {title}, F1")
    axis.set(xlabel=style.F1.axis, ylabel="", xlim=(0, None))
    style.legend_below(drawn, [axis], 3)
    encoder = baselines["encoder"].dropna().iloc[0]
    note = f"n = {baselines['documents'].iloc[0]} test documents; embeddings of {encoder}"
    return DrawnFigure(drawn, baselines, note)
