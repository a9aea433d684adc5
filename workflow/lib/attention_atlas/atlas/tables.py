"""What the atlas shows: correlations between measures of heads, all measures, and findings across papers.

A finding is a statement of one study about heads, tested on measures of another study of the same heads; its verdict comes from
the test of its statistic within layers (`within_verdict`), since depth alone can make two measures correlate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from textwrap import wrap
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import seaborn as sns
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from scipy.stats import mannwhitneyu

from attention_atlas.atlas.correlations import (
    LEAST,
    LEVEL,
    Draws,
    drawn_heads,
    shuffle_p,
    shuffles_within,
    spearman_interval,
    within_layers,
)
from attention_atlas.atlas.measures import takes_few_values
from attention_atlas.figures.style import BLACK, DIVERGING, PAGE, SMALLEST, TALLEST, DrawnFigure, page_figure, plain
from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.published.compare import DOES_NOT_HOLD, HOLDS, UNDECIDED
from attention_atlas.stats.intervals import Floats, percentile_interval
from attention_atlas.stats.simultaneous import corrected_p, too_few_draws
from attention_atlas.workflow.shown import figure, table

_LINE, _ROW = 46, 0.19
"""Characters per line of a title, which has at most two lines; inches per measure."""
FINDINGS = [
    *("finding", "statistic", "value", "ci_low", "ci_high", "within_layers", "p", "p_holm", "n", "verdict"),
    *("measure_a", "model_a", "measure_b", "model_b"),
]
_VERTICAL = ("vertical", "dense_vertical")


class Question(NamedTuple):
    """A finding: the statement, the measures that it needs, and the test; `sign` is the sign of the value if it holds."""

    statement: str
    needs: tuple[str, str]
    statistic: str
    sign: int
    grouped: bool = False


QUESTIONS = (
    Question(
        "Heads of the types Vertical and Dense & vertical (Guan et al.) have lower importance than other heads (Michel et al.)",
        ("distance_type", "importance"),
        "probability that a head of these types is less important than another head, minus 1/2", 1, grouped=True,
    ),
    Question(
        "The more a head attends to [SEP] (Clark et al.), the less disabling it costs (Kovaleva et al.)",
        ("to_sep", "disabled"),
        "Spearman of attention to [SEP] with the change in score when the head is disabled", 1,
    ),
    Question(
        "The more a head attends to [SEP] (Clark et al.), the less masking it costs (Michel et al.)", ("to_sep", "masked"),
        "Spearman of attention to [SEP] with the change in score when the head is masked", 1,
    ),
    Question(
        "Heads that follow a dependency relation (Clark et al.) change less in fine-tuning (Kovaleva et al.)",
        ("relation_margin", "unchanged"),
        "Spearman of the margin over the best fixed offset with the cosine of maps before and after fine-tuning", 1,
    ),
    Question(
        "Removing the heads that best detect keyphrases without training lowers tagging F1 the most (Štefánik)",
        ("keyphrase_auc", "tagger_without"), "Spearman of AUC with the change in tagging F1 when the head is removed", -1,
    ),
    Question(
        "Masking heads of high importance (Michel et al.) lowers the score the most", ("importance", "masked"),
        "Spearman of importance with the change in score when the head is masked", -1,
    ),
)  # fmt: skip


@figure(
    title="Rank correlations between measures of heads",
    reads=("correlations", "measures"),
    files=("correlations.tsv", "findings.tsv", "findings.html"),
)
def correlations(correlations: pd.DataFrame, measures: pd.DataFrame) -> DrawnFigure:
    """Spearman correlations over heads between all measures that can be ranked, similar ones side by side; columns have the
    numbers of the rows. Dot: p < 0.05 after Holm's correction when heads are shuffled within their layers. Cross: related by
    definition (both count the same weights, or rank heads by breadth), not tested. findings.tsv tests findings that link two
    studies.
    """
    titles = measures.set_index("measure")["title"]
    values = _square(correlations, "spearman").fillna(0.0)
    values = values.mask(np.eye(len(values), dtype=bool), 1.0)
    names = _similar_side_by_side(values)
    drawn, ((axis,),) = page_figure(1, 1, PAGE, min(_ROW * len(names) + 0.6, TALLEST - 0.8))
    sns.heatmap(
        values.loc[names, names],
        cmap=DIVERGING,
        vmin=-1,
        vmax=1,
        cbar_kws={"label": "Spearman correlation over heads", "shrink": 0.6, "pad": 0.02},
        ax=axis,
    )
    significant, definitional = correlations["p_holm"] < LEVEL, correlations["definitional"]
    for is_marked, marker, size in ((significant, "o", 2.0), (definitional, "x", 3.0)):
        marked = _square(correlations.assign(marked=is_marked.astype(float)), "marked").loc[names, names]
        rows, columns = np.nonzero(marked.to_numpy() == 1)
        axis.plot(columns + 0.5, rows + 0.5, marker, color=BLACK, markersize=size, markeredgewidth=0.6)
    numbers = [str(number) for number in range(1, len(names) + 1)]
    places = np.arange(len(names)) + 0.5
    axis.set_xticks(places, numbers, rotation=90, fontsize=SMALLEST)
    wrapped = ("\n".join(wrap(str(titles.get(name, name)), _LINE, max_lines=2, placeholder=" …")) for name in names)
    labels = [f"{plain(title)}  {number}" for title, number in zip(wrapped, numbers, strict=True)]
    axis.set_yticks(places, labels, rotation=0, fontsize=SMALLEST, linespacing=0.95)
    axis.tick_params(length=0)
    axis.set_xlabel("")
    axis.set_ylabel("")
    tested = correlations["p"].notna()
    count = f"n = {int(correlations['n'].max()) if len(correlations) else 0} heads; {tested.sum()} pairs tested"
    if tested.any() and correlations.loc[tested, "p_holm"].isna().all():
        count += f"; {too_few_draws('p_holm', int(tested.sum()), LEVEL, 'shuffles').rstrip('.')}"
    return DrawnFigure(drawn, correlations, count)


def _square(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of pairs as a symmetric matrix of measures."""
    names = list(dict.fromkeys([*table["measure_a"], *table["measure_b"]]))
    triangle = table.pivot(index="measure_a", columns="measure_b", values=column).reindex(index=names, columns=names)
    return triangle.combine_first(triangle.T).loc[names, names].copy()


def _similar_side_by_side(values: pd.DataFrame) -> list[str]:
    """Measures in the order of average linkage; the sign of a correlation is ignored."""
    names = [str(name) for name in values.columns]
    if len(names) <= 2:
        return names
    distances = np.clip(1 - np.abs(values.to_numpy()), 0, None)
    order = leaves_list(linkage(squareform(distances, checks=False), method="average"))
    return [names[place] for place in order]


@table(
    title="All measures of single heads, and a page to browse them",
    reads=("heads", "measures"),
    files=("measures.tsv", "heads.tsv", "measures_long.tsv", "atlas.html"),
    uses=("sentences", "shown", "compared"),
    text_files=("atlas.html",),
)
def measures(heads: pd.DataFrame, measures: pd.DataFrame) -> Table:
    """Measures of single heads from all studies: title, unit, the model it was measured on, or the reason why it is missing.
    heads.tsv has one row for each head and one column for each measure, measures_long.tsv their intervals, null distributions
    and verdicts; atlas.html is a page to search, rank and compare heads.
    """
    absent = measures["note"].fillna("") != ""
    notes = [
        f"{heads['model'].iloc[0]}, {heads['layer'].max()} layers of {heads['head'].max()} heads.",
        f"Columns of heads.tsv: {(~absent).sum()} of {len(measures)} measures; the others are left out, with the reason. A "
        "measure of a model that was trained further is that of the head with the same layer and number. n: examples that it "
        "is taken over, the smallest number of any head.",
    ]
    return Table(measures, notes, formats={"heads": "d", "n": "d", "inside_null": "d"}, layout=Layout("group"))


@table(title="Findings across papers", part_of="correlations", reads=("heads", "measures"), megabytes=2000, minutes=30)
def findings(heads: pd.DataFrame, measures: pd.DataFrame, resamples: int, shuffles: int, seed: int) -> Table:
    """Statements of one study about heads, tested on measures of another study of the same heads: over all heads (value), and
    among heads of one layer (within_layers), since depth alone can make the value large.
    """
    listed = measures.set_index("measure")
    unusable = set(listed.index[listed[["warning", "not_ranked"]].notna().any(axis=1)])
    frame = finding_rows(heads, Draws(resamples, shuffles, seed), unusable, listed["model"].dropna().astype(str).to_dict())
    notes = [
        "model_a, model_b: the head of the same layer and number in models trained from one model, or the mean over tasks.",
        "Interval of the value: bootstrap over heads. p: two-sided, of the statistic within layers, by shuffling heads within "
        "their layers; p_holm: adjusted for all tested findings (Holm).",
        f"Verdict: undecided unless p_holm < {LEVEL}; then a finding holds where the statistic within layers has the sign that "
        "it claims.",
        f"{len(QUESTIONS) - len(frame)} of {len(QUESTIONS)} findings are left out: the run does not measure them, or ranks of "
        "their measures say nothing (see not_ranked and warning in measures.tsv).",
    ]
    if len(frame) and frame["p_holm"].isna().all():
        notes.append(too_few_draws("p_holm", len(frame), LEVEL, "shuffles"))
    return Table(frame, notes, formats={"n": "d", "p": ".4f", "p_holm": ".4f"})


def finding_rows(heads: pd.DataFrame, draws: Draws, unusable: Collection[str], models: Mapping[str, str]) -> pd.DataFrame:
    """One row per question that can be tested on the measures of the run, columns `FINDINGS`.

    value, ci_low, ci_high: over all heads, may be due to depth alone. within_layers: the same statistic within layers: of ranks
    minus their means by layer; for a group of heads, over pairs of heads of the same layer. p: two-sided test of within_layers
    by shuffling heads within their layers; p_holm: adjusted for all tested findings; verdict: see `within_verdict`.
    unusable: measures whose values or ranks say nothing about heads; models: measure -> its model.
    """
    rows, signs = [], []
    for question in QUESTIONS:
        if not {*question.needs} <= {*heads} or {*question.needs} & {*unusable}:
            continue
        complete = heads.dropna(subset=[*question.needs])
        if not _testable(question, complete):
            continue
        overall, within, shuffled = _tested(question, complete, draws)
        if np.isfinite(within):
            facts = (question.statement, question.statistic, *overall, within, shuffle_p(within, shuffled), np.nan)
            of = [part for name in question.needs for part in (name, models.get(name, ""))]
            rows.append([*facts, len(complete), "", *of])
            signs.append(question.sign)
    frame = pd.DataFrame(rows, columns=FINDINGS)
    frame["p_holm"] = corrected_p(frame["p"], "holm", 1 / (1 + draws.shuffles), LEVEL)
    decided = zip(frame["within_layers"], frame["p_holm"], signs, strict=True)
    return frame.assign(verdict=[within_verdict(within, p, sign) for within, p, sign in decided])


def _testable(question: Question, complete: pd.DataFrame) -> bool:
    """Whether the heads that have both measures (`complete`) suffice, and take enough values."""
    if len(complete) < LEAST or (question.grouped and complete[question.needs[0]].isin(_VERTICAL).nunique() < 2):
        return False
    return not any(takes_few_values(complete[name]) for name in question.needs[question.grouped :])


def within_verdict(within: float, p: float, sign: int) -> str:
    """The verdict on a finding, by the two-sided test of its statistic within layers (p is NaN with too few shuffles).

    If two measures are independent given the layer, it is `holds` with a probability of at most `LEVEL` / 2.
    """
    return (HOLDS if within * sign > 0 else DOES_NOT_HOLD) if p < LEVEL else UNDECIDED


def _tested(question: Question, complete: pd.DataFrame, draws: Draws) -> tuple[tuple[float, float, float], float, Floats]:
    """The statistic over all heads with its interval; within layers; and [shuffle] within layers after shuffles.

    Rank correlation, or for a group: probability minus 1/2 that a value inside is below one outside (ties count half).
    """
    first, second = (complete[name] for name in question.needs)
    values, layer = second.to_numpy(np.float64), complete["layer"].to_numpy(np.intp)
    if not question.grouped:
        numbers = first.to_numpy(np.float64)
        return spearman_interval(numbers, values, draws), *within_layers(numbers, values, layer, draws)
    inside = first.isin(_VERTICAL).to_numpy()
    usable_draws = [places for places in drawn_heads(len(values), draws) if 0 < inside[places].sum() < len(places)]
    low, high = percentile_interval(np.array([_below(inside[places], values[places]) for places in usable_draws]))
    return (_below(inside, values), float(low), float(high)), *_below_within(inside, values, layer, draws)


def _below(inside: npt.NDArray[np.bool_], values: Floats) -> float:
    statistic = mannwhitneyu(values[~inside], values[inside]).statistic
    return float(statistic / (inside.sum() * (~inside).sum()) - 0.5)


def _below_within(
    inside: npt.NDArray[np.bool_], values: Floats, layer: npt.NDArray[np.intp], draws: Draws
) -> tuple[float, Floats]:
    """`_below` over the pairs of heads of the same layer, and [shuffle] the same after shuffles; NaN without such a pair."""
    _, by_layer = np.unique(layer, return_inverse=True)
    in_layer, inside_layer = np.bincount(by_layer), np.bincount(by_layer, weights=inside)
    pairs = (inside_layer * (in_layer - inside_layer)).sum()
    if not pairs:
        return np.nan, np.full(draws.shuffles, np.nan)
    ranks = pd.Series(values).groupby(by_layer).rank().to_numpy()
    # Ranks inside exceed the smallest possible ranks by the number of heads outside that are below.
    smallest = (inside_layer * (inside_layer + 1) / 2).sum()
    shuffles = shuffles_within(tuple(layer.tolist()), draws.shuffles, draws.seed)
    # A permutation of heads keeps the ranks and changes only their sum inside.
    shuffled = 0.5 - (ranks[shuffles][:, inside].sum(axis=1) - smallest) / pairs
    return float(0.5 - (ranks[inside].sum() - smallest) / pairs), shuffled
