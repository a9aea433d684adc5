"""Figures of Michel et al. (2019)."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from attention_atlas.figures import style
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.head_measures import CLASSIFICATION, TRANSLATION
from attention_atlas.published.values import load_published, published_rows
from attention_atlas.studies.michel2019 import effects
from attention_atlas.studies.michel2019.tables import KIND_TITLES, TITLES, in_words
from attention_atlas.workflow.shown import figure

_COLOURS = {"enc_enc": style.BLUE, "enc_dec": style.ORANGE, "dec_dec": style.GREEN}
_MARKERS = {"enc_enc": "o", "enc_dec": "s", "dec_dec": "^"}
"""Kind of attention -> its colour and marker in all figures."""
_SCORE_LABELS = {"BLEU": style.BLEU.axis, "accuracy": style.ACCURACY.axis}
_CHANGE_LABELS = {"BLEU": "Change in BLEU", "accuracy": style.change("accuracy")}
_MASKED_LABEL = "Heads masked (%)"
_PUBLISHED_R = {TRANSLATION: "m19.fig2a.pearson", CLASSIFICATION: "m19.fig2b.pearson"}
_PUBLISHED_SHARE = {TRANSLATION: "m19.fig3a.prunable", CLASSIFICATION: "m19.fig3b.prunable"}
_STATISTICS = {effects.PEARSON: "Pearson", effects.SPEARMAN: "Spearman", effects.TRIMMED: "Pearson without extremes"}
_LINE = 40  # largest number of letters in a line of a label
ORDERS: Mapping[str, tuple[str, str, Any, str]] = {
    effects.IMPORTANCE: ("Importance", style.BLUE, "", "o"),
    effects.RECOMPUTED: ("Importance, recomputed at each step", style.SKY, (1, 1), "D"),
    effects.ABLATION: ("Score with one head masked", style.VERMILION, (4, 1.5), "s"),
    effects.HELDOUT: ("Score with one head masked, other examples", style.PURPLE, (1, 1), "^"),
    effects.RANDOM: ("Random (mean and range)", style.GREY, (3, 1.25, 1.5, 1.25), "v"),
}
"""Order of pruning -> its title, colour, dashes and marker."""
_EPOCH_MARKERS = "os^DvP*X"


@figure(
    title="Heads by the change in score when they are masked", reads=("ablation",), labels=("translation", "classification")
)
def figure1(ablation: pd.DataFrame) -> style.DrawnFigure:
    """Share of heads by the change in score when each is masked alone (Michel et al. 2019, Figure 1). Titles: score without
    masking, and heads that differ from it by a paired test, before and after correction for all heads. Dashed line: no change.
    Black outline: the 96 encoder heads of the published Table 1, another model and corpus.
    """
    drawn, axes = style.panels(style.PAGE / 2, 2.9)
    ids = [name for name in load_published("michel2019") if name.startswith("m19.tab1.L")]
    published, sizes = published_rows("michel2019", ids)["value"].to_numpy(np.float64), []
    for axis, (name, rows) in zip(axes, ablation.groupby("experiment", sort=False), strict=True):
        baseline, metric = float(rows["baseline"].iloc[0]), str(rows["metric"].iloc[0])
        beside = published if name == TRANSLATION else published[:0]
        changes = rows.assign(change=rows["score"] - baseline)
        edges = style.centred_edges(np.concatenate([changes["change"].to_numpy(np.float64), beside]))
        drawing = {"bins": list(edges), "stat": "percent", "ax": axis, "legend": False}
        of_kinds = {"hue": "kind", "hue_order": _kinds(rows), "palette": _COLOURS, "multiple": "stack"}
        sns.histplot(changes, x="change", **of_kinds, alpha=0.9, linewidth=0.3, **drawing)
        if len(beside):
            sns.histplot(x=beside, element="step", fill=False, color=style.BLACK, linewidth=1, **drawing)
        axis.axvline(0, color=style.GREY, linewidth=0.8, linestyle="--", zorder=0)
        unmasked = f"{baseline:.1f} {'BLEU' if metric == 'BLEU' else '%'} unmasked"
        significant, adjusted = ((rows[p] < effects.LEVEL).sum() for p in ("p", "p_adjusted"))
        tests = f"p < {effects.LEVEL}: {significant}, adjusted for all heads: {adjusted}"
        axis.set_title(f"{TITLES[str(name)]}: {len(rows)} heads, {unmasked}\n{tests}")
        axis.set(xlabel=_CHANGE_LABELS[metric], ylabel="Heads (%)")
        sizes.append(f"{rows['n'].iloc[0]} {rows['unit'].iloc[0]}")
    kinds = _legend(ablation, dict.fromkeys(_COLOURS, "s"))
    beside_style = Line2D([], [], color=style.BLACK, linewidth=1, label=f"published: {len(published)} encoder heads (Table 1)")
    style.legend_below(drawn, axes, 4, [*kinds, beside_style])
    return style.DrawnFigure(drawn, ablation, f"n = {' and '.join(sizes)}")


def _kinds(table: pd.DataFrame) -> list[str]:
    return [kind for kind in KIND_TITLES if (table["kind"] == kind).any()]


def _legend(table: pd.DataFrame, markers: Mapping[str, str]) -> list[Line2D]:
    return [
        Line2D([], [], linestyle="none", color=_COLOURS[kind], marker=markers[kind], label=KIND_TITLES[kind])
        for kind in _kinds(table)
    ]


@figure(
    title="Change in score when a head is masked, on two corpora",
    reads=("correlation_heads", "correlations"),
    labels=("translation", "translation_other", "classification", "classification_other"),
    files=("correlations.tsv",),
)
def figure2(correlation_heads: pd.DataFrame, correlations: pd.DataFrame, labels: Mapping[str, RunLabel]) -> style.DrawnFigure:
    """Change in score when each head is masked alone, on two corpora (Michel et al. 2019, Figure 2). Darker marks: several
    heads with the same changes. Titles, and below: correlations over heads with 95 % bootstrap intervals; extreme heads are
    circled. All changes on a corpus share the full model's score.
    """
    drawn, axes = style.panels(style.PAGE / 2, 4.1)
    notes = []
    for axis, (name, heads) in zip(axes, correlation_heads.groupby("experiment", sort=False), strict=True):
        by_kind: dict[str, Any] = {"hue": "kind", "palette": _COLOURS, "style": "kind", "markers": _MARKERS}
        sns.scatterplot(heads, x="delta", y="second_delta", **by_kind, alpha=0.5, linewidth=0, legend=False, ax=axis)
        extreme = heads[heads["extreme"] == 1]
        axis.scatter(extreme["delta"], extreme["second_delta"], s=60, facecolors="none", edgecolors=style.BLACK, linewidths=0.8)
        for line in (axis.axhline, axis.axvline):
            line(0, color=style.GREY, linewidth=0.6, zorder=0)
        delta = _CHANGE_LABELS[str(heads["metric"].iloc[0])]
        axis.set_xlabel(style.plain(fill(f"{delta}: {labels[str(name)].corpus}", _LINE)))
        axis.set_ylabel(style.plain(fill(f"{delta}: {labels[f'{name}_other'].corpus}", _LINE)))
        published = load_published("michel2019")[_PUBLISHED_R[str(name)]].value
        values = [
            f"{_STATISTICS[row.statistic]} {in_words(row.value, row.ci_low, row.ci_high)}"
            for row in correlations[correlations["experiment"] == name].itertuples()
        ]
        axis.set_title(style.minus_signs(f"{TITLES[str(name)]}: {values[0]}"), fontsize=7.5)
        notes.append(style.minus_signs(f"{TITLES[str(name)]}: published Pearson {published}; {', '.join(values[1:])}"))
    kinds = _legend(correlation_heads, _MARKERS)
    hollow: dict[str, Any] = {"marker": "o", "markersize": 7, "markerfacecolor": "none", "linestyle": "none"}
    style.legend_below(drawn, axes, 4, [*kinds, Line2D([], [], color=style.BLACK, **hollow, label="extreme")])
    sizes_of = correlations.drop_duplicates("experiment").itertuples()
    count = " and ".join(f"{row.heads} heads, {row.n} and {row.second_n} examples" for row in sizes_of)
    return style.DrawnFigure(drawn, correlation_heads, "; ".join([f"n = {count}", *notes]))


@figure(
    title="Score by percent of heads masked, in several orders",
    reads=("pruning_curves",),
    labels=("translation", "classification"),
    files=("head_importance.tsv",),
)
def figure3(pruning_curves: pd.DataFrame) -> style.DrawnFigure:
    """Score by percent of heads masked: by importance, also recomputed at each step, by the score with one head masked, and in
    random order (Michel et al. 2019, Figure 3). Bands: 95 % bootstrap interval for importance, range of the random orders.
    Published values are of other models and corpora. head_importance.tsv: importance by four definitions (equation 2, and
    published code).
    """
    drawn, axes = style.panels(style.PAGE / 3, 3.4, 3)
    sizes = []
    for axis, (name, curves) in zip(axes, pruning_curves.groupby("experiment", sort=False), strict=False):
        for order, (title, colour, dashes, marker) in ORDERS.items():
            rows = curves[curves["order"] == order]
            if rows.empty:
                continue
            drawing = {"color": colour, "dashes": dashes, "marker": marker, "markersize": 3, "linewidth": 1.2, "label": title}
            # Several random orders: their mean, and their range as a band.
            band = {"errorbar": ("pi", 100), "err_kws": {"alpha": 0.18, "linewidth": 0}}
            sns.lineplot(rows, x="percent", y="score", **drawing, **band, ax=axis)
        _interval(axis, curves[curves["order"] == effects.IMPORTANCE], style.BLUE, 0.18)
        floor = curves["floor"].iloc[0]
        if floor > 0:
            axis.axhline(floor, color=style.BLACK, linewidth=0.8, linestyle=":", label=f"Most frequent label: {floor:.0f} %")
        axis.set(xlabel=_MASKED_LABEL, ylabel=_SCORE_LABELS[curves["metric"].iloc[0]])
        (share,) = published_rows("michel2019", [_PUBLISHED_SHARE[str(name)]])["value"]
        axis.axvline(share, color=style.BLACK, linewidth=0.8, linestyle="-.", label="published: no noticeable loss up to here")
        axis.set_ylim(bottom=0)
        axis.set_title(f"{TITLES[str(name)]}: {curves['heads'].iloc[0]} heads")
        sizes.append(f"{curves['n'].iloc[0]} {curves['unit'].iloc[0]}")
    rerun = published_rows("michel2019", ["m19.rerun.mnli.importance_curve"])
    label = "third-party rerun of the published code, by importance"
    axes[2].plot(rerun["percent"], rerun["value"], linestyle=":", linewidth=0.8, label=label, **style.PUBLISHED)
    axes[2].axhline(100 / 3, color=style.BLACK, linewidth=0.8, linestyle="--", label="three classes: 33 %")
    axes[2].set(title="MNLI, BERT-base: 144 heads", xlabel=_MASKED_LABEL, ylabel=style.ACCURACY.axis, ylim=(0, None))
    style.legend_below(drawn, axes, 3)
    return style.DrawnFigure(drawn, pruning_curves, f"n = {' and '.join(sizes)}")


def _interval(axis: Axes, curve: pd.DataFrame, colour: str, alpha: float) -> None:
    rows = curve.sort_values("percent")
    axis.fill_between(rows["percent"], rows["ci_low"], rows["ci_high"], color=colour, alpha=alpha, linewidth=0)


def _lines(axis: Axes, curves: pd.DataFrame, y: str, by: str, titles: Mapping[Any, str], **drawing: Any) -> None:
    """A line with markers for each value of the column `by`, named by its title, in the order of the titles."""
    titled, order = curves.assign(title=curves[by].map(titles)), list(titles.values())
    lines = {"hue": "title", "hue_order": order, "style": "title", "style_order": order, "dashes": False, "errorbar": None}
    sns.lineplot(titled, x="percent", y=y, **lines, ax=axis, **drawing)


@figure(
    title="BLEU by percent of heads masked, for each kind of attention",
    reads=("pruning_curves_by_kind",),
    labels=("translation",),
)
def figure4(pruning_curves_by_kind: pd.DataFrame) -> style.DrawnFigure:
    """BLEU by percent of heads masked within one kind of attention, by importance; all other heads are kept (Michel et al.
    2019, Figure 4). Bands: 95 % bootstrap interval. Published, of another model: BLEU with 20 % of the encoder or decoder heads
    kept, and where BLEU collapses.
    """
    table = pruning_curves_by_kind
    drawn, (axis,) = style.panels(4.8, 3.4, 1)
    heads = table.groupby("kind")["heads"].first()
    titles = {kind: f"{KIND_TITLES[kind]} ({heads[kind]} heads)" for kind in _kinds(table)}
    colours, markers = ([by_kind[kind] for kind in titles] for by_kind in (_COLOURS, _MARKERS))
    _lines(axis, table, "score", "kind", titles, palette=colours, markers=markers)
    for kind in titles:
        _interval(axis, table[table["kind"] == kind], _COLOURS[kind], 0.15)
    collapse, bleu = published_rows("michel2019", ["m19.fig4.encdec_collapse", "m19.fig4.self_20pct"])["value"]
    collapse_label = "published: encoder-decoder heads, collapse"
    axis.axvline(collapse, color=_COLOURS["enc_dec"], linewidth=0.9, linestyle="-.", label=collapse_label)
    self_label = "published: encoder or decoder heads"  # 20 % of them are kept
    axis.plot([80], [bleu], linestyle="none", label=self_label, **style.PUBLISHED)
    axis.set(xlabel="Heads of this kind masked (%)", ylabel=_SCORE_LABELS["BLEU"], ylim=(0, None))
    style.legend_below(drawn, [axis], 3)
    return style.DrawnFigure(drawn, table, f"n = {table['n'].iloc[0]} sentences")


@figure(
    title="BLEU by percent of heads masked, during training",
    reads=("training_curves",),
    labels=("dynamics",),
    needs=("dynamics", "dynamics_importance"),
)
def figure5(training_curves: pd.DataFrame) -> style.DrawnFigure:
    """BLEU by percent of heads masked after several epochs of training, also relative to the full model (where that reaches 3
    BLEU; Michel et al. 2019, Figure 5). Heads of all kinds are masked by their importance after the same epoch.
    """
    baselines = training_curves.groupby("epoch")["baseline"].first()
    titles = {epoch: f"epoch {epoch}: BLEU {baseline:.1f}" for epoch, baseline in baselines.items()}
    in_percent = training_curves.assign(share=100 * training_curves["share"])
    drawn, axes = style.panels(style.PAGE / 2, 3.0)
    # Light to dark in the order of training; markers distinguish the epochs in print.
    colours = sns.color_palette("crest", len(titles))
    markers = [_EPOCH_MARKERS[number % len(_EPOCH_MARKERS)] for number in range(len(titles))]
    labels = {"score": _SCORE_LABELS["BLEU"], "share": "BLEU (% of the full model's)"}
    for axis, (column, label) in zip(axes, labels.items(), strict=True):
        _lines(axis, in_percent, column, "epoch", titles, palette=colours, markers=markers, linewidth=1.2)
        axis.set(xlabel=_MASKED_LABEL, ylabel=label, ylim=(0, None))
    style.legend_below(drawn, axes, 4)
    n, heads = training_curves["n"].iloc[0], training_curves["heads"].iloc[0]
    return style.DrawnFigure(drawn, training_curves, f"n = {n} sentences; {heads} heads")
