"""The claims of Michel et al. (2019), and objections of later work, tested on a run's models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.published.claims import Claim, all_hold
from attention_atlas.studies.michel2019 import claim_statistics as tested
from attention_atlas.studies.michel2019.correlations import PEARSON, SPEARMAN, TRIMMED, in_words
from attention_atlas.studies.michel2019.curves import mean_score
from attention_atlas.studies.michel2019.kind_removal import dispensable_kinds
from attention_atlas.studies.michel2019.names import (
    ABLATION,
    HELDOUT,
    IMPORTANCE,
    KIND_TITLES,
    LEAST_BLEU,
    LEVEL,
    POINT,
    PRUNABLE,
    RANDOM,
    SAME_FILE,
    TITLES,
    TOLERATED,
)

UNITS = {TRANSLATION: "sentences", CLASSIFICATION: "examples"}
_LEAST_AGREEMENT = 0.9
"""Smallest rank correlation at which two definitions order heads alike."""
_LEAST_SHARE = 0.85
"""Smallest share of the full model's BLEU that remains, in the paper, with 40 % of the heads masked."""


def claims(frames: Mapping[str, pd.DataFrame], definition: str) -> Iterator[Claim]:
    """Claims with what this run measured.

    Args:
        frames: tables by name: statistics (`claim_statistics.STATISTICS` of all jobs), table1, correlations, pruning, figure3
            and figure4; figure5 where the run follows a training.
        definition: of importance, by which this run orders heads.
    """
    statistics = frames["statistics"]
    yield from _single_head_claims(statistics, frames["table1"], dispensable_kinds(frames["figure4"]))
    for name, table, source in ((TRANSLATION, frames["table2"], "Table 2"), (CLASSIFICATION, frames["table3"], "Table 3")):
        (row,) = _rows(statistics, tested.ONE_HEAD, name)
        worse = int(((table["p"] < LEVEL) & (table["delta"] < 0)).sum())
        yield _claim(
            row,
            f"{TITLES[name]}: in most layers one head is enough: less than one {POINT[name]} is lost ({source})",
            f"median over {len(table)} layers {row.value:+.2f}, with held-out selection of the head; selected on the same "
            f"examples, as in the paper, {worse} layers are worse with p < {LEVEL}",
            f"median over layers of the change in score with one head left, {POINT[name]}s",
            -TOLERATED,
        )
    yield from _correlation_claims(frames["correlations"])
    yield from _pruning_claims(frames)
    for name in (TRANSLATION, CLASSIFICATION):
        rows = _rows(statistics, tested.AGREEMENT, name)
        statement = (
            f"{TITLES[name]}: published code ranks heads as the paper's definition does "
            f"(Spearman above {_LEAST_AGREEMENT} for each)"
        )
        statistic = "Spearman correlation of two definitions over heads"
        yield all_hold(
            statement,
            f"{_listed(rows, '.2f')}; heads are ordered by: {definition}",
            [_claim(row, statement, "", f"{statistic}, {row.part}", _LEAST_AGREEMENT) for row in rows],
        )
    if "figure5" in frames:
        yield from _training_claims(statistics, frames["figure5"])


def _single_head_claims(statistics: pd.DataFrame, table1: pd.DataFrame, dispensable: Mapping[str, str]) -> Iterator[Claim]:
    """Claims about heads that are masked one at a time; `dispensable`: kind -> remark of `kind_removal.dispensable_kinds`."""
    # The rows of the table are in the order of their p, kinds of attention mixed.
    for kind in (kind for kind in KIND_TITLES if (table1["kind"] == kind).any()):
        head_rows = table1[table1["kind"] == kind]
        name, heads = f"{KIND_TITLES[kind]} attention", len(head_rows)
        remark = f"; {dispensable[kind]}, so that this says little" if kind in dispensable else ""
        of_kind = {
            statistic: _rows(statistics, statistic, TRANSLATION, kind)[0]
            for statistic in (tested.MEDIAN_CHANGE, tested.LARGEST_CHANGE, tested.BALANCE)
        }
        significant = head_rows["p"] < LEVEL
        worse = int((significant & (head_rows["delta"] < 0)).sum())
        row = of_kind[tested.MEDIAN_CHANGE]
        yield _claim(
            row,
            f"{name}: most heads can be masked, one at a time, for less than one BLEU point (section 3.2)",
            f"median {row.value:+.2f}; {worse} of {heads} heads worse with p < {LEVEL}{remark}",
            "median over heads of the change in BLEU",
            -TOLERATED,
        )
        row = of_kind[tested.LARGEST_CHANGE]
        adjusted, chance = int((head_rows["p_adjusted"] < LEVEL).sum()), float(head_rows["p_count"].iloc[0])
        yield _claim(
            row,
            f"{name}: some head changes BLEU by more than one point (our threshold; at most 0.53 for the paper's encoder "
            "heads, Table 1)",
            f"largest change {row.value:.2f}; {int(significant.sum())} of {heads} heads with p < {LEVEL}, {heads * LEVEL:.1f} "
            f"expected by chance (p = {chance:.2g}); adjusted for all heads {adjusted}",
            "largest absolute change in BLEU over heads, simultaneous interval",
            TOLERATED,
        )
        row = of_kind[tested.BALANCE]
        raised, lowered = int((head_rows["delta"] > 0).sum()), int((head_rows["delta"] < 0).sum())
        yield _claim(
            row,
            f"{name}: masking a head raises BLEU more often than it lowers it (71 of 96 encoder heads in the paper)",
            f"BLEU rises for {raised} of {heads} heads, falls for {lowered} and stays the same for {heads - raised - lowered}"
            f"{remark}",
            "heads that raise BLEU minus heads that lower it",
        )


def _correlation_claims(table: pd.DataFrame) -> Iterator[Claim]:
    rows = {(row.experiment, row.statistic): row for row in table.itertuples()}
    for name in (TRANSLATION, CLASSIFICATION):
        whole, trimmed = rows[name, PEARSON], rows[name, TRIMMED]
        statement = f"{TITLES[name]}: the effect of masking a head correlates across corpora (Figure 2)"
        yield _correlation(whole, statement, f"r = {in_words(whole.value, whole.ci_low, whole.ci_high)}")
        extremes = whole.heads - trimmed.heads
        statement = f"{TITLES[name]}: the effect correlates across corpora also without the heads with the most extreme effects"
        correlation = in_words(trimmed.value, trimmed.ci_low, trimmed.ci_high)
        ours = f"r = {correlation} without {extremes} heads; Spearman {rows[name, SPEARMAN].value:.2f} with all heads"
        yield _correlation(trimmed, statement, ours)


def _correlation(row: Any, statement: str, ours: str) -> Claim:
    # Heads of a layer have similar effects on an example, which a bootstrap over heads takes for agreement; over examples alone
    # the interval says nothing of other heads. The claim needs both.
    low, high = min(row.ci_low, row.ci_examples_low), max(row.ci_high, row.ci_examples_high)
    statistic = "Pearson correlation over heads of changes in score on two corpora; the wider of two intervals at each end"
    if row.second_data == SAME_FILE:
        low, high, ours = np.nan, np.nan, f"{ours}; no interval: the second data are {SAME_FILE}, not another corpus"
    return Claim(statement, ours, statistic, row.value, low, high, row.heads, "heads (and examples of both corpora)")


def _pruning_claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[Claim]:
    statistics, figure3 = frames["statistics"], frames["figure3"]
    summary = frames["pruning"].set_index(["experiment", "order"])
    for name in (TRANSLATION, CLASSIFICATION):
        (row,) = _rows(statistics, tested.PRUNED_CHANGE, name)
        yield _claim(
            row,
            f"{TITLES[name]}: {PRUNABLE[name]} % of the heads can be masked in order of importance without noticeable "
            f"loss (here: less than one {POINT[name]}; section 4.2)",
            f"{row.value:+.2f} {POINT[name]}s; no step up to {summary.loc[(name, IMPORTANCE), 'prunable']} % loses more than "
            "one",
            f"change in score without {PRUNABLE[name]} % of the heads, {POINT[name]}s",
            -TOLERATED,
        )
        means = {order: float(summary.loc[(name, order), "mean"]) for order in (IMPORTANCE, ABLATION, HELDOUT)}
        for row in _rows(statistics, tested.OVER_SINGLE, name):
            yield _claim(
                row,
                f"{TITLES[name]}: pruning by importance beats pruning by effects of single heads on other examples "
                "(section 4.2)",
                f"mean of the curve: importance {means[IMPORTANCE]:.1f}, single heads {means[HELDOUT]:.1f}; chosen on the same "
                f"examples, as in the paper, {means[ABLATION]:.1f}",
                f"difference of the means of two pruning curves, {POINT[name]}s",
            )
        (row,) = _rows(statistics, tested.OVER_RANDOM, name)
        in_random = (figure3["experiment"] == name) & (figure3["order"] == RANDOM)
        random = [mean_score(curve) for _, curve in figure3[in_random].groupby("draw")]
        lacking = "" if len(random) > 1 else "; an interval needs two random orders"
        yield _claim(
            row,
            f"{TITLES[name]}: importance orders heads better than chance (later work: random is about as good)",
            f"mean of the curve: importance {means[IMPORTANCE]:.1f}, {len(random)} random orders {min(random):.1f} to "
            f"{max(random):.1f}{lacking}",
            f"mean of the pruning curve minus that of random orders, {POINT[name]}s; interval predicts a further random order",
            unit="random orders",
        )
    parts = _rows(statistics, tested.OVER_CROSS, TRANSLATION)
    if parts:
        areas = {str(kind): mean_score(curve) for kind, curve in frames["figure4"].groupby("kind", sort=False)}
        statement = "Encoder-decoder attention suffers most from pruning (section 5, mean of the curve)"
        statistic = "minus encoder-decoder attention: difference of the means of two pruning curves, BLEU points"
        yield all_hold(
            statement,
            ", ".join(f"{KIND_TITLES[kind]} {area:.1f}" for kind, area in areas.items()),
            [_claim(row, statement, "", f"{KIND_TITLES[row.part]} {statistic}") for row in parts],
        )


def _training_claims(statistics: pd.DataFrame, figure5: pd.DataFrame) -> Iterator[Claim]:
    (gained,) = _rows(statistics, tested.SHARE_GAINED)
    (final_share,) = _rows(statistics, tested.SHARE_LEFT)
    percent = tested.TRAINED_WITHOUT
    shares = figure5[figure5["percent"] == percent].set_index("epoch")["share"].dropna().sort_index()
    words = ", ".join(f"{share:.0%} after epoch {epoch}" for epoch, share in shares.items())
    too_few = f"; {'one epoch' if len(shares) else 'no epoch'} with a BLEU of {LEAST_BLEU:g} or more"
    yield _claim(
        gained,
        f"Heads become redundant in the course of training: {percent} % of them matter less at its end than at its start "
        "(Figure 5)",
        f"share of BLEU with {percent} % of the heads masked: {words or 'none'}{too_few if len(shares) < 2 else ''}",
        "share of BLEU that remains after the last epoch minus that after the first",
        unit=UNITS[TRANSLATION],
    )
    yield _claim(
        final_share,
        f"At the end of training {percent} % of the heads can be masked while keeping {100 * _LEAST_SHARE:.0f} % of BLEU "
        "(Figure 5)",
        f"{final_share.value:.0%} left" if len(shares) else f"none{too_few}",
        "share of BLEU that remains after the last epoch",
        _LEAST_SHARE,
        unit=UNITS[TRANSLATION],
    )


def _rows(statistics: pd.DataFrame, statistic: str, experiment: str = "", part: str = "") -> Sequence[Any]:
    chosen = statistics["statistic"] == statistic
    for column, value in (("experiment", experiment), ("part", part)):
        chosen &= (statistics[column] == value) | (not value)
    return list(statistics[chosen].itertuples())


def _listed(rows: Sequence[Any], form: str) -> str:
    return ", ".join(f"{row.part} {row.value:{form}} ({row.ci_low:{form}} to {row.ci_high:{form}})" for row in rows)


def _claim(row: Any, statement: str, ours: str, statistic: str, threshold: float = 0.0, unit: str = "") -> Claim:
    return Claim(
        statement,
        ours,
        statistic,
        row.value,
        row.ci_low,
        row.ci_high,
        int(row.n),
        unit or UNITS[row.experiment],
        threshold,
        level=row.level,
    )
