"""Measures of single heads that the atlas takes from the tables of Štefánik's study."""

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
    with_adjusted_p,
    with_interval,
)

if TYPE_CHECKING:
    import pandas as pd


def no_loss_without_heads(scores: pd.DataFrame) -> str:
    """Why removals of single heads are uninformative, by the scores with all heads removed; empty if they are informative."""
    from attention_atlas.studies.stefanik2021.removal_pages import removal_warning

    return " ".join(removal_warning(scores)).removeprefix("Warning: ")


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
)
_TEST_MEAN = {"seed": "mean", "split": "test", "metric": "token_f1"}
MEASURES = (
    Source(
        "stefanik2021/relative_attention",
        where("value", "keyphrase_attention", ("ci_low", "ci_high"), reduction="mean"),
        with_interval(_ATTENTION),
        ("reduction", "layer", "head", "value", "ci_low", "ci_high"),
        Examples("documents", where("n", "keyphrase_attention", reduction="mean")),
        group=LINGUISTIC,
    ),
    Source(
        "stefanik2021/head_ranking",
        where("auc", "keyphrase_auc", ("auc_low", "auc_high")),
        with_interval(_AUC),
        ("layer", "head", "auc", "auc_low", "auc_high"),
        Examples("words", where("n", "keyphrase_auc")),
        group=LINGUISTIC,
    ),
    Source(
        "stefanik2021/ablation",
        # A bootstrap over few documents is too narrow: the intervals by exchanges are used, which are simultaneous for all
        # heads.
        where("delta", "tagger_without", ("adjusted_low", "adjusted_high"), "p_adjusted", **_TEST_MEAN),
        with_adjusted_p(_REMOVED, "95 % interval of all heads at once"),
        ("seed", "split", "metric", "layer", "head", "delta", "adjusted_low", "adjusted_high", "p_adjusted"),
        Examples("documents", where("documents", "tagger_without", **_TEST_MEAN), ("documents",)),
        Caution(
            "stefanik2021/fine_tuning",
            ("seed", "model", "split", "metric", "value", "delta", "delta_low", "delta_high", "documents"),
            no_loss_without_heads,
        ),
        family=True,
        group=EFFECT,
    ),
)
