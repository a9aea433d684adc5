"""Names of conditions and of variants of layer 0."""

from __future__ import annotations

EMBEDDINGS, LEXICAL = "embeddings", "lexical"
"""Layer 0 as the input of the first layer (words, positions, segments), and as the words alone."""
EARLY, EQUAL, CONTROL_TASK, RANDOM_ENCODER = "early_stopping", "equal_steps", "control_task", "random_encoder"
SHUFFLED_LABELS = "shuffled_labels"
CONDITIONS = (EARLY, EQUAL, CONTROL_TASK, RANDOM_ENCODER, SHUFFLED_LABELS)
TRUTH = "truth"
LABELS = {TRUTH: "truth", CONTROL_TASK: "control", SHUFFLED_LABELS: "shuffled"}
"""Labels that a probe is trained on -> the field of `targets.ProbedSentence` that has them."""
AMBIGUOUS = 0.7
"""Highest mean probability of a label over layers of a target that is in doubt (footnote 6)."""
TRACED_TASKS = ("pos", "constituents", "entities", "roles", "coreference")
"""Tasks of Figure 3."""
