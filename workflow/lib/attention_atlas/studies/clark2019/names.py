"""Names in tables of the study that several modules use; imports nothing heavy."""

import math

BROAD_ENTROPY = 3.8
"""Entropy in nats over which a head is broad (authors' notebook)."""
PREDICTED, ALL_ROWS, REACHABLE = "predicted", "all", "reachable"
ROWS = (PREDICTED, ALL_ROWS, REACHABLE)
"""Queries that a mean gradient of Figure 3 is over: those of predicted tokens; all; all whose gradient can differ from 0.

The last are all queries, but in the last layer only those of predicted tokens, which causes a jump there.
"""
SMALL_GRADIENT = 0.1
"""The paper says very small: a tenth of the largest layer mean is our threshold."""
ALL, BEST_HEAD = "all", "best_head"
ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS = "attention_only", "attention_words", "distances_words"
BIAS_FREE = "bias_free_attention_words"
"""Attention and word vectors by the formula of the paper, without the bias of the published code."""
RANDOM = "random_attention_words"
"""The probe on attention and words, of models with random weights."""


def first_late_layer(layers: int) -> int:
    """Layer 5 of 12, from which on the paper calls the gradient very small; the same share of another depth, rounded up."""
    return math.ceil(5 * layers / 12)


def middle_layers(layers: int) -> tuple[int, int]:
    """Layers 6 to 10 of 12 as a slice, in proportion for a model of another depth."""
    return round(6 / 12 * layers) - 1, round(10 / 12 * layers)
