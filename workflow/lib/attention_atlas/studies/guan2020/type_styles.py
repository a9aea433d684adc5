"""Colours and markers of the types of heads in the figures of the study."""

from __future__ import annotations

from attention_atlas.figures.style import BLUE, GREEN, GREY, ORANGE, VERMILION
from attention_atlas.methods.head_type_names import DENSE, DENSE_VERTICAL, DIAGONAL, UNNAMED, VERTICAL

COLOURS = {DENSE: ORANGE, DENSE_VERTICAL: GREEN, VERTICAL: BLUE, DIAGONAL: VERMILION, UNNAMED: GREY}
MARKERS = {DENSE: "o", DENSE_VERTICAL: "P", VERTICAL: "D", DIAGONAL: "s", UNNAMED: "X"}
