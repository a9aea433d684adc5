"""Names of tasks, of the training of a model, and of the classes of attention maps; imports no library of data."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

TASK_TITLES = {
    "mrpc": "MRPC",
    "stsb": "STS-B",
    "sst2": "SST-2",
    "qqp": "QQP",
    "rte": "RTE",
    "qnli": "QNLI",
    "mnli": "MNLI",
}
TASKS = tuple(TASK_TITLES)
UNTRAINED, RANDOM, TUNED = "untrained", "random", "tuned"
STATES = (UNTRAINED, RANDOM, TUNED)
"""Pre-trained with a random classification layer; trained on the task from random weights; trained from pre-trained weights."""
MAJORITY, CONSTANT = "majority", "constant"
"""Answers without a model: the most frequent label, and the one answer for all that has the best score."""
UNIFORM, BASELINE = "uniform", "none"
"""A disabled head attends uniformly to all real tokens; the unchanged model."""
POINTS = "points (accuracy and F1 in %, correlation × 100)"
"""Unit of scores and of their changes: a correlation is not a percentage."""
PUBLISHED, PUBLISHED_MODEL = "published", "BERT-base"
"""Label of all published values, and their model."""
LEVEL = 0.05
"""Level of the tests of Figures 8 and 9; the paper tests nothing."""
FRAME_HEADS = 2
"""Heads for frame-semantic relations, whose disabling section 5 discusses."""
FEWEST_EXAMPLES = 8
"""Smallest number of examples for an interval; bootstrap intervals of fewer do not reach their coverage."""

VERTICAL, DIAGONAL, VERTICAL_DIAGONAL = "vertical", "diagonal", "vertical_diagonal"
BLOCK, HETEROGENEOUS = "block", "heterogeneous"
CLASS_TITLES = {
    VERTICAL: "Vertical",
    DIAGONAL: "Diagonal",
    VERTICAL_DIAGONAL: "Vertical + diagonal",
    BLOCK: "Block",
    HETEROGENEOUS: "Heterogeneous",
}
CLASSES = tuple(CLASS_TITLES)
"""Classes of maps, in the order of the paper's Figure 1."""
CHANNELS = (16, 16, 32, 32, 48, 48, 64, 64)
"""Output channels of the convolutions of the network that labels maps."""
NETWORK, RULES = "network", "rules"
"""Annotators of maps: the network that was trained on labelled maps, or rules with thresholds tuned on them."""
HEADLINE = RULES
"""Annotator whose classes are used in claims and measures of heads: the rules, until the network beats them on layers that
neither was trained on (`patterns.tsv`)."""
TEXT, HEAD, LAYER = "text", "head", "layer"
"""Units that are held out when the classifiers of maps are evaluated."""
PADDED, REAL_SAME, REAL = "padded", "real_same", "real"
"""Maps that are compared: padded to one length (the published code); of real length, of the same examples, and of all."""

SUBJ_VERB, VERB_SUBJ, NOUN_PRON, PRON_NOUN = "subj_verb", "verb_subj", "noun_pron", "pron_noun"
VERB_LINKS = (SUBJ_VERB, VERB_SUBJ)
LINKS = (*VERB_LINKS, NOUN_PRON, PRON_NOUN)
"""Section 4.5, from the first (query) to the second (key). Verbs and subjects as in the published code: nsubj of a word tagged
VB*. The code has no nouns and pronouns: here each noun with each pronoun of the same text, since nothing says which corefer."""


def count_range(counts: pd.Series) -> str:
    """`n = 40`, or the smallest and the largest where tasks differ."""
    least, most = int(counts.min()), int(counts.max())
    return f"n = {least}" if least == most else f"n = {least} to {most}"


def missing_tagger(name: str) -> str:
    """Why a corpus without gold tags has no tags; empty where spaCy and its model (a package, or a folder) are installed."""
    if importlib.util.find_spec("spacy") is None:
        return f"no gold tags, and spaCy is not installed (pip install spacy, python -m spacy download {name})"
    if not os.path.isdir(name) and importlib.util.find_spec(name) is None:
        return f"no gold tags, and spaCy's model {name} is not installed (python -m spacy download {name})"
    return ""
