"""Measures of single heads that the atlas takes from the tables of the example study."""

from __future__ import annotations

from attention_atlas.methods.head_measures import Measure, Source, where

MEASURES = (
    Source(
        table="toy2024/self_attention",
        select=where("value", "toy_self_attention"),
        measures=(
            Measure("toy_self_attention", "Attention to the same token", "Table 1", "share", "attends to the token itself"),
        ),
        columns=("layer", "head", "value"),
    ),
)
