"""Measures of single heads that the atlas takes from the tables of Michel et al. (2019)."""

from __future__ import annotations

from attention_atlas.methods.head_measures import EFFECT, Examples, Measure, Source, where

_HARM = "masking the head hurts less, or helps"
_MASKED = Measure(
    "masked", "Change in accuracy when the head is masked", "Figure 1", "percentage points", _HARM, chance=0, adjusted=True
)
_INTERVAL = ("ci_low", "ci_high")
MEASURES = (
    Source(
        "michel2019/figure1",
        where("delta", "masked", _INTERVAL, "p_adjusted", experiment="classification"),
        (_MASKED,),
        ("experiment", "layer", "head", "delta", *_INTERVAL, "p_adjusted"),
        Examples("examples", where("n", "masked", experiment="classification")),
        model="classifier",
        group=EFFECT,
    ),
    Source(
        "michel2019/head_importance",
        where("importance", "importance", _INTERVAL, task="classification", definition="paper"),
        (Measure("importance", "Importance by derivatives", "Section 4", "per layer norm", "pruned late"),),
        ("task", "definition", "layer", "head", "importance", *_INTERVAL),
        Examples("examples", where("n", "importance", task="classification", definition="paper")),
        model="classifier",
        group=EFFECT,
        no_null="Importance is an absolute value, above 0 for every head, and relative to its layer: a head without the effect "
        "has no known value.",
    ),
)
