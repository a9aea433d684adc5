"""Tables of the atlas: all measures, and findings across papers.

A finding is a statement of one study about heads, tested on measures of another study of the same heads; its verdict comes from
the test of its statistic within layers (`within_verdict`), since depth alone can make two measures correlate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import mannwhitneyu

from attention_atlas.atlas.correlations import (
    LEAST,
    LEVEL,
    ROUNDING,
    Draws,
    drawn_heads,
    shuffle_p,
    shuffles_within,
    spearman_interval,
    within_layers,
)
from attention_atlas.atlas.measures import MOST_HEADS, chances_of, inside_null, why_not_ranked
from attention_atlas.io.html_tables import Layout, Table
from attention_atlas.published.compare import UNDECIDED, claim_verdict
from attention_atlas.stats.intervals import percentile_interval
from attention_atlas.stats.simultaneous import corrected_p, too_few_draws
from attention_atlas.workflow.shown import table

Floats = npt.NDArray[np.float64]
Overall = tuple[float, float, float]
"""Statistic over all heads, and the ends of its 95 % interval by bootstrap over heads."""
FINDINGS = [
    *("finding", "statistic", "value", "ci_low", "ci_high", "within_layers", "p", "p_holm", "n", "verdict"),
    *("within_low", "within_high", "measure_a", "model_a", "measure_b", "model_b"),
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


@table(
    id="measures",
    number="Measures",
    title="All measures of single heads, and a page to browse them",
    reads=("heads", "measures"),
    files=("measures.tsv", "heads.tsv", "atlas.html"),
    uses=("sentences", "shown", "compared"),
    text_files=("atlas.html",),
)
def measures(heads: pd.DataFrame, measures: pd.DataFrame) -> Table:
    """Measures of single heads from all studies: title, unit, the model it was measured on, or the reason why it is missing.
    heads.tsv has one row for each head and one column for each measure; atlas.html is a page to browse them: heads by layer,
    coloured by any measure, two measures against each other, and a card for each head.
    """
    absent = measures["note"].fillna("") != ""
    notes = [
        f"{heads['model'].iloc[0]}, {heads['layer'].max()} layers of {heads['head'].max()} heads.",
        f"Columns of heads.tsv: {(~absent).sum()} of {len(measures)} measures; the others are left out, with the reason. A "
        "measure of a model that was trained further is that of the head with the same layer and number. n: examples that it "
        "is taken over, the smallest number of any head.",
    ]
    return Table(measures, notes, formats={"heads": "d", "n": "d", "inside_null": "d"}, layout=Layout("group"))


@table(
    id="findings",
    title="Findings across papers",
    part_of="correlations",
    reads=("heads", "measures"),
    settings=("resamples", "shuffles", "seed"),
    megabytes=2000,
    minutes=30,
)
def findings(
    heads: pd.DataFrame,
    measures: pd.DataFrame,
    resamples: int,
    shuffles: int,
    seed: int,
) -> Table:
    """Statements of one study about heads, tested on measures of another study of the same heads: over all heads (value), and
    among heads of one layer (within_layers), since depth alone can make the value large.
    """
    listed = measures.set_index("measure")
    warnings = listed["warning"].dropna().astype(str).to_dict()
    model_of = listed["model"].dropna().astype(str).to_dict()
    frame = finding_rows(heads, Draws(resamples, shuffles, seed), LEVEL, warnings, chances_of(measures), model_of)
    needed = [name for question in QUESTIONS for name in question.needs]
    notes = [
        "A finding may link measures of different models (columns model_a and model_b): those trained further from one model, "
        "in which a head is that of the same layer and number. A measure of a family is the mean over its tasks.",
        "Interval of the value: bootstrap over heads. p: two-sided test of the statistic within layers by shuffling heads "
        "within their layers, for each finding by itself; p_holm: adjusted for all tested findings (Holm).",
        f"Verdict: undecided unless p_holm < {LEVEL}; then a finding holds where the statistic within layers has the sign that "
        f"it claims. within_low to within_high: its {100 * (1 - LEVEL):.0f} % interval, for each finding by itself.",
        f"{len(QUESTIONS) - len(frame)} of {len(QUESTIONS)} findings are left out: the run does not measure them, or ranks of "
        "their measures say nothing (fewer than five different values over heads, most heads tied with another one, at least "
        f"{100 * MOST_HEADS:.0f} % of heads that cannot be distinguished from heads without the effect, or a warning).",
        *(f"{name}: {warnings[name]}" for name in dict.fromkeys(needed) if name in warnings),
    ]
    if len(frame) and frame["p_holm"].isna().all():
        notes.append(too_few_draws("p_holm", len(frame), LEVEL, "shuffles"))
    return Table(frame, notes, formats={"n": "d", "p": ".4f", "p_holm": ".4f"})


def finding_rows(
    heads: pd.DataFrame,
    draws: Draws,
    level: float = LEVEL,
    warnings: Mapping[str, str] = MappingProxyType({}),
    chances: Mapping[str, float] = MappingProxyType({}),
    models: Mapping[str, str] = MappingProxyType({}),
) -> pd.DataFrame:
    """One row per question that can be tested on the measures of the run, columns `FINDINGS`.

    value: over all heads, with its interval ci_low to ci_high by bootstrap over heads; it may be due to depth alone.
    within_layers: the same statistic within layers: the correlation of ranks minus their means by layer; for a group of heads,
    over pairs of heads of the same layer. p: two-sided test of within_layers by shuffling heads within their layers.
    p_holm: p adjusted for all tested findings (Holm). within_low, within_high: interval of within_layers, not adjusted for the
    number of findings (`null_interval`). verdict: from `within_verdict` with p_holm.

    warnings, chances, models: by measure, why it says nothing about heads, its value without an effect, and its model.
    """
    rows, signs = [], []
    for question in QUESTIONS:
        if not {*question.needs} <= {*heads} or {*question.needs} & {*warnings}:
            continue
        complete = heads.dropna(subset=[*question.needs])
        if not _testable(question, heads, complete, chances):
            continue
        overall, within, shuffled = _tested(question, complete, draws)
        if np.isfinite(within):
            facts = (question.statement, question.statistic, *overall, within, shuffle_p(within, shuffled), np.nan)
            of = [part for name in question.needs for part in (name, models.get(name, ""))]
            rows.append([*facts, len(complete), "", *null_interval(within, shuffled, level, question.grouped), *of])
            signs.append(question.sign)
    frame = pd.DataFrame(rows, columns=FINDINGS)
    frame["p_holm"] = corrected_p(frame["p"], "holm", 1 / (1 + draws.shuffles), level)
    decided = zip(frame["within_layers"], frame["p_holm"], signs, strict=True)
    return frame.assign(verdict=[within_verdict(within, p, sign, level) for within, p, sign in decided])


def _testable(question: Question, heads: pd.DataFrame, complete: pd.DataFrame, chances: Mapping[str, float]) -> bool:
    """Whether the heads that have both measures (`complete`) suffice, and ranks of their values say something."""
    if len(complete) < LEAST or (question.grouped and complete[question.needs[0]].isin(_VERTICAL).nunique() < 2):
        return False
    numbers = question.needs[1:] if question.grouped else question.needs
    insides = {name: inside_null(heads, name, chances.get(name)) for name in numbers}
    return not any(
        why_not_ranked(complete[name], None if inside is None else inside[complete.index]) for name, inside in insides.items()
    )


def within_verdict(within: float, p: float, sign: int, level: float) -> str:
    """The verdict on a finding, by the two-sided test of its statistic within layers.

    `undecided` unless p < level (NaN: too few shuffles); then `holds` if the statistic has the sign of the finding, and `does
    not hold` if it has the opposite sign. If two measures are independent given the layer, the verdict is `holds` with a
    probability of at most level / 2.
    """
    return claim_verdict(within * sign > 0) if p < level else UNDECIDED


def null_interval(observed: float, shuffled: Floats, level: float, grouped: bool = False) -> tuple[float, float]:
    """Interval of a statistic within layers, from [shuffle] its values after shuffles: it excludes 0 exactly if p < level.

    The statistic is transformed to stabilise its variance: the inverse hyperbolic tangent of a correlation (Fisher 1921, On the
    probable error of a coefficient of correlation), for a group the arcsine of a probability minus 1/2. The half-width is the
    largest statistic after shuffles that the test does not reject; with too few shuffles it is the whole range. In simulations
    of 6 layers of 12 heads, 95 % intervals cover in 93 to 96 % of data sets, but in 77 % for a correlation of 0.95.
    """
    largest = 0.5 if grouped else 1.0
    # p < level if at most this many shuffles are as far from 0 as the observed statistic.
    allowed = math.ceil(level * (len(shuffled) + 1) - 1e-9) - 2
    if allowed < 0:
        return -largest, largest
    critical = np.sort(np.abs(shuffled))[::-1][allowed] + ROUNDING
    # The transformation of a correlation of 1 is infinite.
    shares = np.clip(np.array([observed, critical]) / largest, ROUNDING - 1, 1 - ROUNDING)
    if grouped:
        centre, reach = np.arcsin(shares)
        low, high = np.sin(np.clip([centre - reach, centre + reach], -np.pi / 2, np.pi / 2))
    else:
        centre, reach = np.arctanh(shares)
        low, high = np.tanh([centre - reach, centre + reach])
    return float(largest * low), float(largest * high)


def _tested(question: Question, complete: pd.DataFrame, draws: Draws) -> tuple[Overall, float, Floats]:
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
    shuffles = shuffles_within(layer, draws.shuffles, draws.seed)
    # A permutation of heads keeps the ranks and changes only their sum inside.
    shuffled = 0.5 - (ranks[shuffles][:, inside].sum(axis=1) - smallest) / pairs
    return float(0.5 - (ranks[inside].sum() - smallest) / pairs), shuffled
