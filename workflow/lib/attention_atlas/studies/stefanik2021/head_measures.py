"""Measures of single heads that the atlas takes from the tables of Štefánik's study; names in these tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_atlas.methods.head_measures import EFFECT, LINGUISTIC, PLACE, Caution, Measure, Source, where

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("token_f1", "phrase_f1")
"""F1 of taggers: of keyphrase words; of phrases, of which both boundaries are right."""
METHOD_TITLES = {
    "position": "Position in the text (first phrases)",
    "tf_idf": "TF-IDF",
    "yake": "YAKE",
    "embedding": "Embedding ranker (KeyBERT)",
    "word_statistics": "Regression over word position, frequency and form",
    "best_head": "Attention of the best head",
    "regression": "Regression over all heads",
    "fine_tuned": "Model fine-tuned on tags",
}
ATTENTION_METHODS = ("best_head", "regression")
"""Methods that use attention without fine-tuning; labels of other documents choose the head, or fit the regression."""
_MEAN = {"seed": "mean", "metric": "token_f1"}


def removal_caution(fine_tuning: pd.DataFrame) -> str:
    """A remark where the taggers score as well with all heads removed as with none: they may not use their heads at all.

    That is so unless the 95 % interval of the difference lies below 0 (token F1 on test documents, mean over seeds).
    """
    rows = fine_tuning[(fine_tuning["seed"] == "mean") & (fine_tuning["metric"] == "token_f1")].set_index("model")
    whole, without = rows.loc["whole"], rows.loc["without_heads"]
    if without["delta_high"] < 0:
        return ""
    return (
        "removals are uninformative about single heads here: no significant loss with all heads removed "
        f"({whole['value']:.1f} to {without['value']:.1f} % token F1, 95 % interval of the difference "
        f"{without['delta_low']:+.1f} to {without['delta_high']:+.1f})"
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
    "removing it hurts",
    chance=0,
    adjusted=True,
    interval="95 % interval of all heads at once",
)
MEASURES = (
    Source(
        "stefanik2021/head_ranking",
        where("keyphrase_auc", "auc", ("auc_low", "auc_high")),
        (_AUC,),
        (*PLACE, "auc", "auc_low", "auc_high", "n"),
        "words",
        group=LINGUISTIC,
    ),
    Source(
        "stefanik2021/ablation",
        # Intervals by exchanges, simultaneous for all heads: a bootstrap over few documents is too narrow.
        where("tagger_without", "delta", ("adjusted_low", "adjusted_high"), "documents", "p_adjusted", **_MEAN),
        (_REMOVED,),
        ("seed", "metric", *PLACE, "delta", "adjusted_low", "adjusted_high", "p_adjusted", "documents"),
        "documents",
        Caution("stefanik2021/fine_tuning", ("seed", "model", "metric", "value", "delta_low", "delta_high"), removal_caution),
        family=True,
        group=EFFECT,
    ),
)
