"""Kovaleva et al. (2019), Revealing the Dark Secrets of BERT; names that several modules share."""

from attention_atlas.workflow.shown import named

__getattr__, __dir__ = named(__name__)
TASK_TITLES = {"mrpc": "MRPC", "stsb": "STS-B", "sst2": "SST-2", "qqp": "QQP", "rte": "RTE", "qnli": "QNLI", "mnli": "MNLI"}
TASKS = tuple(TASK_TITLES)
STATES = ("untrained", "random", "tuned")
"""Pre-trained with a random classification layer; trained on the task from random weights; trained from pre-trained weights."""
POINTS = "points (accuracy and F1 in %, correlation × 100)"
"""Unit of scores and of their changes: a correlation is not a percentage."""
LEVEL = 0.05  # level of the tests of Figures 8 and 9; the paper tests nothing
FRAME_HEADS = 2  # heads for frame-semantic relations, whose disabling section 5 discusses
FEWEST_EXAMPLES = 8
"""Smallest number of examples for an interval; bootstrap intervals of fewer do not reach their coverage."""
CLASS_TITLES = {
    "vertical": "Vertical",
    "diagonal": "Diagonal",
    "vertical_diagonal": "Vertical + diagonal",
    "block": "Block",
    "heterogeneous": "Heterogeneous",
}
CLASSES = tuple(CLASS_TITLES)
"""Classes of maps, in the order of the paper's Figure 1."""
CHANNELS = (16, 16, 32, 32, 48, 48, 64, 64)
"""Output channels of the convolutions of the network that labels maps."""
ANNOTATORS = ("network", "rules")
HEADLINE = "rules"
"""Annotator whose classes are used in claims and measures of heads, which does better on layers that neither was trained on."""
VERB_LINKS = ("subj_verb", "verb_subj")
LINKS = (*VERB_LINKS, "noun_pron", "pron_noun")
"""Section 4.5, from the first (query) to the second (key). Verbs and subjects as in the published code: nsubj of a word tagged
VB*. The code has no nouns and pronouns: here each noun with each pronoun of the same text, since nothing says which corefer."""

TAGGED = ("noun", "verb", "pron", "subj", "obj")  # features of words that need tags (section 4.4)
FEATURES = ("sep", "cls", *TAGGED, "neg", "punct")
MODES = ("as_published", "corrected")
"""As the published code finds tokens (by spelling), or by the words that they belong to."""
