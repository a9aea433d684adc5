"""Shared style of the figures of the study: a colour and a marker for each kind of attention, labels of scores."""

from __future__ import annotations

from attention_atlas.figures.quantities import ACCURACY, BLEU, change
from attention_atlas.figures.style import BLUE, GREEN, ORANGE

KIND_COLOURS = {"enc_enc": BLUE, "enc_dec": ORANGE, "dec_dec": GREEN}
KIND_MARKERS = {"enc_enc": "o", "enc_dec": "s", "dec_dec": "^"}
SCORE_LABELS = {"BLEU": BLEU.axis, "accuracy": ACCURACY.axis}
"""Metric -> label of its axis."""
CHANGE_LABELS = {"BLEU": "Change in BLEU", "accuracy": change("accuracy")}
"""Metric -> label of the axis of its change when heads are masked."""
MASKED_LABEL = "Heads masked (%)"
