"""The claims of Michel et al. (2019), and objections of later work, tested on a run's models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.methods.head_measures import CLASSIFICATION, TRANSLATION
from attention_atlas.published.compare import Claim, all_hold
from attention_atlas.studies.michel2019.ablations import (
    LEAST_BLEU,
    PEARSON,
    PRUNABLE,
    SAME_FILE,
    SPEARMAN,
    TRAINED_WITHOUT,
    TRIMMED,
    in_words,
)
from attention_atlas.studies.michel2019.effects import ABLATION, HELDOUT, IMPORTANCE, LEVEL, RANDOM

TITLES = {TRANSLATION: "Translation", CLASSIFICATION: "Classification"}
KIND_TITLES = {"enc_enc": "Encoder", "enc_dec": "Encoder-decoder", "dec_dec": "Decoder"}
"""Kind of attention (E, A and D in the published code) -> its title."""
POINT = {TRANSLATION: "BLEU point", CLASSIFICATION: "percentage point"}
"""Unit of a change in the score of an experiment."""
UNITS = {TRANSLATION: "sentences", CLASSIFICATION: "examples"}
TOLERATED = 1.0
"""Largest loss that counts as not noticeable, in the unit `POINT` (the paper does not define the word)."""
KEPT = 0.9
"""Share of the full model's BLEU with all heads of a kind masked, from which on the kind counts as dispensable."""
_LEAST_AGREEMENT = 0.9
"""Smallest rank correlation at which two definitions order heads alike."""
_LEAST_SHARE = 0.85
"""Smallest share of the full model's BLEU that remains, in the paper, with 40 % of the heads masked."""


def claims(frames: Mapping[str, pd.DataFrame], definition: str) -> Iterator[Claim]:
    """Claims with what this run measured, of its tables; figure5 is there only if the run follows a training.

    statistics: `effects.STATISTICS` of all jobs; definition: of importance, by which this run orders heads.
    """
    statistics = frames["statistics"]
    yield from _single_head_claims(statistics, frames["table1"], dispensable_kinds(frames["figure4"]))
    for name, table, source in ((TRANSLATION, frames["table2"], "Table 2"), (CLASSIFICATION, frames["table3"], "Table 3")):
        (row,) = _rows(statistics, "one_head_median", name)
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
        rows = _rows(statistics, "spearman_with_paper", name)
        statement = (
            f"{TITLES[name]}: published code ranks heads as the paper's definition does "
            f"(Spearman above {_LEAST_AGREEMENT} for each)"
        )
        statistic = "Spearman correlation of two definitions over heads"
        correlations = ", ".join(f"{row.part} {in_words(row.value, row.ci_low, row.ci_high)}" for row in rows)
        parts = [_claim(row, statement, "", f"{statistic}, {row.part}", _LEAST_AGREEMENT) for row in rows]
        yield all_hold(statement, f"{correlations}; heads are ordered by: {definition}", parts)
    if "figure5" in frames:
        yield from _training_claims(statistics, frames["figure5"])


def _single_head_claims(statistics: pd.DataFrame, table1: pd.DataFrame, dispensable: Mapping[str, str]) -> Iterator[Claim]:
    # The rows of the table are in the order of their p, kinds of attention mixed.
    for kind in (kind for kind in KIND_TITLES if (table1["kind"] == kind).any()):
        head_rows = table1[table1["kind"] == kind]
        name, heads, significant = f"{KIND_TITLES[kind]} attention", len(head_rows), head_rows["p"] < LEVEL
        remark = f"; {dispensable[kind]}, so that this says little" if kind in dispensable else ""
        (row,) = _rows(statistics, "median_change", TRANSLATION, kind)
        worse = int((significant & (head_rows["delta"] < 0)).sum())
        yield _claim(
            row,
            f"{name}: most heads can be masked, one at a time, for less than one BLEU point (section 3.2)",
            f"median {row.value:+.2f}; {worse} of {heads} heads worse with p < {LEVEL}{remark}",
            "median over heads of the change in BLEU",
            -TOLERATED,
        )
        (row,) = _rows(statistics, "largest_change", TRANSLATION, kind)
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
        (row,) = _rows(statistics, "raised_minus_lowered", TRANSLATION, kind)
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
    statistic = "Pearson correlation over heads of changes in score on two corpora; the wider of two intervals at each end"
    for name in (TRANSLATION, CLASSIFICATION):
        removed = rows[name, PEARSON].heads - rows[name, TRIMMED].heads
        remark = f" without {removed} heads; Spearman {rows[name, SPEARMAN].value:.2f} with all heads"
        all_heads = "the effect of masking a head correlates across corpora (Figure 2)"
        trimmed = "the effect correlates across corpora also without the heads with the most extreme effects"
        for row, statement, qualified in ((rows[name, PEARSON], all_heads, ""), (rows[name, TRIMMED], trimmed, remark)):
            ours = f"r = {in_words(row.value, row.ci_low, row.ci_high)}{qualified}"
            # Heads of a layer have similar effects on an example, which a bootstrap over heads takes for agreement; over
            # examples alone the interval says nothing of other heads. The claim needs both.
            low, high = min(row.ci_low, row.ci_examples_low), max(row.ci_high, row.ci_examples_high)
            if row.second_data == SAME_FILE:
                low, high, ours = np.nan, np.nan, f"{ours}; no interval: the second data are {SAME_FILE}, not another corpus"
            unit = "heads (and examples of both corpora)"
            yield Claim(f"{TITLES[name]}: {statement}", ours, statistic, row.value, low, high, row.heads, unit)


def _pruning_claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[Claim]:
    statistics, figure3 = frames["statistics"], frames["figure3"]
    for name in (TRANSLATION, CLASSIFICATION):
        curves = {order: curve_of(figure3, name, order) for order in (IMPORTANCE, ABLATION, HELDOUT)}
        means = {order: mean_score(curve) for order, curve in curves.items()}
        (row,) = _rows(statistics, "pruned_change", name)
        yield _claim(
            row,
            f"{TITLES[name]}: {PRUNABLE[name]} % of the heads can be masked in order of importance without noticeable "
            f"loss (here: less than one {POINT[name]}; section 4.2)",
            f"{row.value:+.2f} {POINT[name]}s; no step up to {prunable(curves[IMPORTANCE])} % loses more than one",
            f"change in score without {PRUNABLE[name]} % of the heads, {POINT[name]}s",
            -TOLERATED,
        )
        for row in _rows(statistics, "importance_over_single_heads", name):
            yield _claim(
                row,
                f"{TITLES[name]}: pruning by importance beats pruning by effects of single heads on other examples "
                "(section 4.2)",
                f"mean of the curve: importance {means[IMPORTANCE]:.1f}, single heads {means[HELDOUT]:.1f}; chosen on the same "
                f"examples, as in the paper, {means[ABLATION]:.1f}",
                f"difference of the means of two pruning curves, {POINT[name]}s",
            )
        (row,) = _rows(statistics, "importance_over_random", name)
        random = [mean_score(curve) for _, curve in curve_of(figure3, name, RANDOM).groupby("draw")]
        lacking = "" if len(random) > 1 else "; an interval needs two random orders"
        yield _claim(
            row,
            f"{TITLES[name]}: importance orders heads better than chance (later work: random is about as good)",
            f"mean of the curve: importance {means[IMPORTANCE]:.1f}, {len(random)} random orders {min(random):.1f} to "
            f"{max(random):.1f}{lacking}",
            f"mean of the pruning curve minus that of random orders, {POINT[name]}s; interval predicts a further random order",
            unit="random orders",
        )
    rows = _rows(statistics, "over_encoder_decoder", TRANSLATION)
    if rows:
        by_kind = frames["figure4"].groupby("kind", sort=False)
        statement = "Encoder-decoder attention suffers most from pruning (section 5, mean of the curve)"
        statistic = "minus encoder-decoder attention: difference of the means of two pruning curves, BLEU points"
        yield all_hold(
            statement,
            ", ".join(f"{KIND_TITLES[str(kind)]} {mean_score(curve):.1f}" for kind, curve in by_kind),
            [_claim(row, statement, "", f"{KIND_TITLES[row.part]} {statistic}") for row in rows],
        )


def _training_claims(statistics: pd.DataFrame, figure5: pd.DataFrame) -> Iterator[Claim]:
    (gained,), (final_share,) = (_rows(statistics, name) for name in ("share_gained", "share_left"))
    percent = TRAINED_WITHOUT
    shares = figure5[figure5["percent"] == percent].set_index("epoch")["share"].dropna().sort_index()
    words = ", ".join(f"{share:.0%} after epoch {epoch}" for epoch, share in shares.items())
    too_few = f"; {'one epoch' if len(shares) else 'no epoch'} with a BLEU of {LEAST_BLEU:g} or more"
    yield _claim(
        gained,
        f"Heads become redundant in the course of training: {percent} % of them matter less at its end than at its start "
        "(Figure 5)",
        f"share of BLEU with {percent} % of the heads masked: {words or 'none'}{too_few if len(shares) < 2 else ''}",
        "share of BLEU that remains after the last epoch minus that after the first",
    )
    yield _claim(
        final_share,
        f"At the end of training {percent} % of the heads can be masked while keeping {100 * _LEAST_SHARE:.0f} % of BLEU "
        "(Figure 5)",
        f"{final_share.value:.0%} left" if len(shares) else f"none{too_few}",
        "share of BLEU that remains after the last epoch",
        _LEAST_SHARE,
    )


def _rows(statistics: pd.DataFrame, statistic: str, experiment: str = "", part: str = "") -> list[Any]:
    chosen = statistics["statistic"] == statistic
    for column, value in (("experiment", experiment), ("part", part)):
        chosen &= (statistics[column] == value) | (not value)
    return list(statistics[chosen].itertuples())


def _claim(row: Any, statement: str, ours: str, statistic: str, threshold: float = 0.0, unit: str = "") -> Claim:
    interval, unit = (row.value, row.ci_low, row.ci_high), unit or UNITS[row.experiment]
    return Claim(statement, ours, statistic, *interval, int(row.n), unit, threshold, level=row.level)


def curve_of(figure3: pd.DataFrame, experiment: str, order: str) -> pd.DataFrame:
    """Rows of `ablations.FIGURE3` of one order, by percent of heads masked."""
    return figure3[(figure3["experiment"] == experiment) & (figure3["order"] == order)].sort_values("percent")


def mean_score(curve: pd.DataFrame) -> float:
    """Mean of a curve over percent of heads masked (area below straight lines between its steps)."""
    ordered = curve.sort_values("percent")
    return float(np.trapezoid(ordered["score"], ordered["percent"]) / 100)


def prunable(curve: pd.DataFrame) -> int:
    """Percent of heads up to which no step of a curve loses more than `TOLERATED` BLEU or percentage points."""
    ordered = curve.sort_values("percent")
    return int(ordered.loc[np.logical_and.accumulate(ordered["delta"] >= -TOLERATED), "percent"].max())


def dispensable_kinds(figure4: pd.DataFrame) -> dict[str, str]:
    """Kind of attention -> remark, for kinds whose heads can all be masked while BLEU stays at `KEPT` of the full model's."""
    pruned = figure4[(figure4["percent"] == 100) & (figure4["score"] >= KEPT * figure4["baseline"])]
    return {
        row.kind: f"with all {row.count} {KIND_TITLES[row.kind].lower()} heads masked BLEU is still {row.score:.1f} of "
        f"{row.baseline:.1f}"
        for row in pruned.itertuples()
    }
