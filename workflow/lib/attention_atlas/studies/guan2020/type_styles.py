"""Colours and markers of the types of heads in the figures of the study."""

from __future__ import annotations

from attention_atlas.figures.style import BLUE, GREEN, ORANGE, VERMILION
from attention_atlas.methods.head_type_names import DENSE, DENSE_VERTICAL, DIAGONAL, VERTICAL

COLOURS = {DENSE: ORANGE, DENSE_VERTICAL: GREEN, VERTICAL: BLUE, DIAGONAL: VERMILION}
MARKERS = {DENSE: "o", DENSE_VERTICAL: "P", VERTICAL: "D", DIAGONAL: "s"}
