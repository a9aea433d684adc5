"""Measures of single heads that the atlas takes from the tables of Štefánik's study."""

from __future__ import annotations

from attention_atlas.methods.head_measures import Measure, Source, where

_ATTENTION = Measure(
    "keyphrase_attention",
    "Attention that key words receive minus that of others",
    "Relative attention",
    "share",
    "attends to keyphrases",
)
_REMOVED = Measure(
    "tagger_without",
    "Token F1 of a tagger without the head, less the whole one's",
    "Removing one",
    "points",
    "harmless or harmful head",
)
MEASURES = (
    Source(
        "stefanik2021/relative_attention",
        where("value", "keyphrase_attention", reduction="mean"),
        (_ATTENTION,),
        ("reduction", "layer", "head", "value"),
    ),
    Source(
        "stefanik2021/head_ranking",
        where("auc", "keyphrase_auc"),
        (Measure("keyphrase_auc", "AUC of its attention for key words", "Ranking of heads", "AUC", "detects keyphrases"),),
        ("layer", "head", "auc"),
    ),
    Source(
        "stefanik2021/ablation",
        where("delta", "tagger_without", seed="mean", split="test", metric="token_f1"),
        (_REMOVED,),
        ("seed", "split", "metric", "layer", "head", "delta"),
        family=True,
    ),
)
