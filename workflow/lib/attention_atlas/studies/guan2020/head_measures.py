"""Measures of single heads that the atlas takes from the tables of Guan et al. (2020)."""

from __future__ import annotations

from attention_atlas.methods.head_measures import PATTERN, Measure, Source, where

MEASURES = (
    Source(
        "guan2020/head_types",
        where("distance_type", "type", ()),
        (Measure("distance_type", "Type by distances", "Figure 2", ""),),
        ("layer", "head", "type", "n"),
        "texts",
        attention_alone=True,
        group=PATTERN,
    ),
)
