"""Columns of the tables that a task's probes write, and F1 from counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from attention_atlas.methods.units import UNIT_COLUMNS

SCORES = [
    "task", "layer0", "condition", "top", "seed", "f1", "precision", "recall", "labels", "training_targets", "targets",
    "steps", "best_step",
    *UNIT_COLUMNS,
]  # fmt: skip
"""A probe on the layers 0 to `top`: F1, precision and recall in percent; the numbers of labels, of targets in training, and of
targets in evaluation; what the intervals of the task resample (documents, or sentences where the corpus does not name its
documents), and how many."""
WEIGHTS = ["task", "layer0", "condition", "top", "seed", "layer", "weight", "scale"]
COUNTS = ["task", "layer0", "condition", "top", "seed", "record", "unit_number", "true", "false", "missed"]
"""Answers to the targets of a sentence, and the number of the document (or sentence) that intervals resample it with."""
TRACES = [
    "source", "task", "id", "record", "target", "span1", "span2", "words", "labels", "gold", "probability"
]  # fmt: skip
"""Columns of a frame that is not stored: a traced target by the probes of a seed, the labels of its task, which of them are
right, and the probability of each label by the probe on the layers 0 to each top one ([top, label], flattened)."""
CASES = ["source", "task", "id", "record", "target", "span1", "span2", "top", "label", "gold", "probability", "words"]


def f1_of(counts: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """[...] micro-F1 in percent from true positives, false positives and false negatives [..., 3]; 0 where all counts are 0."""
    true, false, missed = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    whole = 2 * true + false + missed
    return np.where(whole > 0, 200 * true / np.where(whole > 0, whole, 1), 0.0)
