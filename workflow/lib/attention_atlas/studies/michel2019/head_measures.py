"""Measures of single heads that the atlas takes from the tables of Michel et al. (2019)."""

from __future__ import annotations

from attention_atlas.methods.head_measures import EFFECT, INTERVAL, PLACE, Measure, Source, where

_HARM = "masking the head hurts less, or helps"
_MASKED = Measure(
    "masked",
    "Change in accuracy when the head is masked",
    "Figure 1",
    "percentage points",
    _HARM,
    "masking it hurts",
    chance=0,
    adjusted=True,
)
MEASURES = (
    Source(
        "michel2019/figure1",
        where("masked", "delta", INTERVAL, "n", "p_adjusted", experiment="classification"),
        (_MASKED,),
        ("experiment", *PLACE, "delta", *INTERVAL, "p_adjusted", "n"),
        "examples",
        model="classifier",
        group=EFFECT,
    ),
    Source(
        "michel2019/head_importance",
        where("importance", "importance", task="classification", definition="paper"),
        (Measure("importance", "Importance by derivatives", "Section 4", "per layer norm", "pruned late"),),
        ("task", "definition", *PLACE, "importance", *INTERVAL, "n"),
        "examples",
        model="classifier",
        group=EFFECT,
        no_null="Importance is an absolute value, above 0 for every head, and relative to its layer: a head without the effect "
        "has no known value.",
    ),
)
