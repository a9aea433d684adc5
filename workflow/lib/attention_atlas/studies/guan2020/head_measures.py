"""Measures of single heads that the atlas takes from the tables of Guan et al. (2020)."""

from __future__ import annotations

from attention_atlas.methods.head_measures import PATTERN, Examples, Measure, Source, where

MEASURES = (
    Source(
        "guan2020/head_types",
        where("type", "distance_type"),
        (Measure("distance_type", "Type by distances", "Figure 2", ""),),
        ("layer", "head", "type", "n"),
        Examples("texts", where("n", "distance_type")),
        attention_alone=True,
        group=PATTERN,
    ),
)
