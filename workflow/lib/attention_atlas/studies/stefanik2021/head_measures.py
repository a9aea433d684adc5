"""Measures of single heads that the atlas takes from the tables of Štefánik's study, and when removals say nothing of heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_atlas.methods.head_measures import (
    EFFECT,
    LINGUISTIC,
    Caution,
    Examples,
    Measure,
    Source,
    where,
)

if TYPE_CHECKING:
    import pandas as pd

_TEST_MEAN = {"seed": "mean", "split": "test", "metric": "token_f1"}


def removal_caution(fine_tuning: pd.DataFrame) -> str:
    """A sentence where removals are uninformative: the taggers score as well with all heads removed as with none removed.

    That is so unless the 95 % interval of the difference lies below 0 (token F1 on test documents, mean over seeds). A removal
    measures how much a tagger depends on a head; without a loss it may not use its heads at all.
    """
    whole, without = _whole_and_without(fine_tuning)
    if without["delta_high"] < 0:
        return ""
    return (
        "removals are uninformative about single heads here. With all heads removed the taggers score "
        f"{without['value']:.1f} % token F1, with none removed {whole['value']:.1f} %: a difference of {without['delta']:+.1f} "
        f"percentage points with a 95 % interval of {without['delta_low']:+.1f} to {without['delta_high']:+.1f} (mean over "
        f"seeds, n = {whole['documents']} test documents)."
    )


def removal_remark(fine_tuning: pd.DataFrame) -> str:
    """`removal_caution` in a few words for a figure."""
    whole, without = _whole_and_without(fine_tuning)
    scores = f"{whole['value']:.1f} to {without['value']:.1f} % token F1"
    return "" if without["delta_high"] < 0 else f"no significant loss with all heads removed ({scores})"


def _whole_and_without(fine_tuning: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    rows = fine_tuning
    for column, value in _TEST_MEAN.items():
        rows = rows[rows[column].astype(str) == value]
    by_model = rows.set_index("model")
    return by_model.loc["whole"], by_model.loc["without_heads"]


_ATTENTION = Measure(
    "keyphrase_attention",
    "Attention received by keyphrase words minus that by other words",
    "Relative attention",
    "difference of shares",
    "attends to keyphrases",
    chance=0,
    shares=("keyphrase_auc",),
)
_AUC = Measure(
    "keyphrase_auc",
    "AUC of received attention for keyphrase words",
    "Ranking of heads",
    "AUC",
    "detects keyphrases",
    chance=0.5,
)
_REMOVED = Measure(
    "tagger_without",
    "Change in tagging F1 when the head is removed",
    "Removing one",
    "percentage points",
    "removing the head hurts less, or helps",
    chance=0,
    adjusted=True,
    interval="95 % interval of all heads at once",
)
MEASURES = (
    Source(
        "stefanik2021/relative_attention",
        where("value", "keyphrase_attention", ("ci_low", "ci_high"), reduction="mean"),
        (_ATTENTION,),
        ("reduction", "layer", "head", "value", "ci_low", "ci_high"),
        Examples("documents", where("n", "keyphrase_attention", reduction="mean")),
        group=LINGUISTIC,
    ),
    Source(
        "stefanik2021/head_ranking",
        where("auc", "keyphrase_auc", ("auc_low", "auc_high")),
        (_AUC,),
        ("layer", "head", "auc", "auc_low", "auc_high"),
        Examples("words", where("n", "keyphrase_auc")),
        group=LINGUISTIC,
    ),
    Source(
        "stefanik2021/ablation",
        # A bootstrap over few documents is too narrow: the intervals by exchanges are used, which are simultaneous for all
        # heads.
        where("delta", "tagger_without", ("adjusted_low", "adjusted_high"), "p_adjusted", **_TEST_MEAN),
        (_REMOVED,),
        ("seed", "split", "metric", "layer", "head", "delta", "adjusted_low", "adjusted_high", "p_adjusted"),
        Examples("documents", where("documents", "tagger_without", **_TEST_MEAN), ("documents",)),
        Caution(
            "stefanik2021/fine_tuning",
            ("seed", "model", "split", "metric", "value", "delta", "delta_low", "delta_high", "documents"),
            removal_caution,
        ),
        family=True,
        group=EFFECT,
    ),
)
