"""What the slides say or suggest about attention and keyphrases, tested on this run's model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from attention_atlas.methods.units import DOCUMENTS
from attention_atlas.published.claims import Claim
from attention_atlas.stats.simultaneous import largest_size_interval
from attention_atlas.studies.stefanik2021.names import (
    ATTENTION_METHODS,
    COEFFICIENT_RANKS,
    F1_M,
    HEAD,
    MEAN,
    METHOD_TITLES,
    METRICS,
    PHRASE,
    PRUNED,
    PRUNED_ON_TEST,
    REGRESSION,
    SLIDE_RANKS,
    STATISTICS,
    TEST,
    TOKEN,
)

_ALPHA = 0.05
_F1 = {TOKEN: "token F1", PHRASE: "phrase F1"}
"""The slides do not say which of the two their F1 is: what they say of it is tested for each."""


def claims(frames: Mapping[str, pd.DataFrame], gain: float) -> Iterator[Claim]:
    """Yield the claims; all intervals are over documents.

    Args:
        frames: relative_attention, detectors, rank_correlations, fine_tuning, ablation, baselines.
        gain: percentage points of F1 that the slides report for the removal of heads.
    """
    yield _relative_attention(frames["relative_attention"])
    yield _all_heads(frames["detectors"])
    yield from _rank_correlations(frames["rank_correlations"])
    yield from (_worst_heads(frames["fine_tuning"], metric) for metric in METRICS)
    yield from (_single_heads(frames["ablation"], metric, gain) for metric in METRICS)
    yield _attention(frames["baselines"])


def _numbers(row: pd.Series, name: str) -> tuple[float, float, float]:
    """A statistic and the ends of its interval."""
    return float(row[name]), float(row[f"{name}_low"]), float(row[f"{name}_high"])


def _relative_attention(table: pd.DataFrame) -> Claim:
    heads = table[table["reduction"] == "mean"]
    low, high = heads["adjusted_low"].to_numpy(), heads["adjusted_high"].to_numpy()
    more, less = int((low > 0).sum()), int((high < 0).sum())
    return Claim(
        "Some heads attend to keyphrase words more than to other words",
        f"{more} of {len(heads)} heads more, {less} less; intervals are for all heads at once",
        "relative attention of the head with the largest, percentage points",
        100 * float(heads["value"].max()),
        # The intervals are simultaneous for all heads, so their ends bound the largest value.
        100 * float(low.max()),
        100 * float(high.max()),
        int(heads["n"].iloc[0]),
        DOCUMENTS,
    )


def _all_heads(table: pd.DataFrame) -> Claim:
    detectors = table.set_index("detector")
    row = detectors.loc[REGRESSION]
    aucs = {name: float(detectors["document_auc"].loc[name]) for name in (REGRESSION, HEAD, STATISTICS)}
    words = f"all heads {aucs[REGRESSION]:.3f}, best head {aucs[HEAD]:.3f}, each fitted to or selected on held-out documents; "
    return Claim(
        "All heads together detect keyphrase words better than the best one",
        words + f"a control, position, frequency and form of words, {aucs[STATISTICS]:.3f}",
        "difference of AUC within a document, mean",
        *_numbers(row, "difference"),
        int(row["n"]),
        DOCUMENTS,
    )


def _rank_correlations(table: pd.DataFrame) -> Iterator[Claim]:
    by_name = table.set_index("correlation")
    for name, threshold, statement in (
        (
            SLIDE_RANKS,
            0.5,
            "The slides' uncalibrated ranking of heads agrees with the ranking by calibrated cross-entropy (Spearman above "
            "0.5)",
        ),
        (
            COEFFICIENT_RANKS,
            0.8,
            "Raw coefficients of the regression rank heads by importance (Spearman of their sizes with permutation importance "
            "above 0.8)",
        ),
    ):
        row = by_name.loc[name]
        heads, groups = int(row["heads"]), int(row["groups"])
        words = f"Spearman {row['value']:.2f} over {heads} heads"
        words += f"; jackknife over {groups} groups of documents" if groups else "; too few documents for an interval"
        ends = float(row["value"]), float(row["ci_low"]), float(row["ci_high"])
        yield Claim(statement, words, "Spearman correlation over heads", *ends, int(row["documents"]), DOCUMENTS, threshold)


def _worst_heads(table: pd.DataFrame, metric: str) -> Claim:
    means = table[(table["seed"].astype(str) == MEAN) & (table["split"] == TEST) & (table["metric"] == metric)]
    by_model = means.set_index("model")
    row, optimistic = by_model.loc[PRUNED], by_model.loc[PRUNED_ON_TEST]
    return Claim(
        f"Removing the worst heads improves {_F1[metric]}",
        f"heads ranked and their number chosen by {_F1[TOKEN]} on development documents, {row['heads_removed']:.1f} removed on "
        f"average over seeds; ranked and chosen on the test documents, as in the slides: {optimistic['delta']:+.2f}, which is "
        "optimistic",
        f"change of {_F1[metric]} on test documents, percentage points",
        *_numbers(row, "delta"),
        int(row["documents"]),
        DOCUMENTS,
    )


def _single_heads(table: pd.DataFrame, metric: str, gain: float) -> Claim:
    rows = table[(table["seed"].astype(str) == MEAN) & (table["split"] == TEST) & (table["metric"] == metric)]
    significant = int((rows["p_adjusted"] < _ALPHA).sum())
    return Claim(
        f"Removing at least one single head changes {_F1[metric]} by more than {gain:.1f} percentage points (the gain of "
        "removing many heads in the slides)",
        f"{significant} of {len(rows)} heads with a significant change (p < {_ALPHA}, adjusted for all heads); intervals are "
        "for all heads at once",
        f"largest change of {_F1[metric]} on test documents, percentage points",
        float(rows["delta"].abs().max()),
        *largest_size_interval(rows["adjusted_low"].to_numpy(), rows["adjusted_high"].to_numpy()),
        int(rows["documents"].iloc[0]),
        DOCUMENTS,
        gain,
    )


def _attention(table: pd.DataFrame) -> Claim:
    scores = table[table["metric"] == F1_M].set_index("method")
    method = str(scores.loc[list(ATTENTION_METHODS), "development"].idxmax())
    row, reference = scores.loc[method], str(scores["reference"].iloc[0])
    return Claim(
        "Attention without fine-tuning finds keyphrases better than methods that do not read attention weights (F1@M)",
        f"{METHOD_TITLES[method]} {row['value']:.1f}, {METHOD_TITLES[reference]} {scores.loc[reference, 'value']:.1f}; both "
        f"are the best of their kind on {int(row['development_documents'])} development documents",
        "difference of F1@M on test documents, percentage points",
        *_numbers(row, "difference"),
        int(row["documents"]),
        DOCUMENTS,
    )
