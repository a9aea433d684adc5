"""Names of the probes of Table 3, in tables and in the code."""

ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS = "attention_only", "attention_words", "distances_words"
SHUFFLED_WORDS = "shuffled_attention_words"
"""The probe on attention and words, trained on shuffled heads: a control."""
BIAS_FREE = "bias_free_attention_words"
"""Attention and word vectors by the formula of the paper, without the bias of the published code."""
