"""Names of tasks, of the training of a model, and of the classes of attention maps."""

TASKS = ("mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli")
TASK_TITLES = {
    "mrpc": "MRPC",
    "stsb": "STS-B",
    "sst2": "SST-2",
    "qqp": "QQP",
    "rte": "RTE",
    "qnli": "QNLI",
    "mnli": "MNLI",
}
UNTRAINED, RANDOM, TUNED = "untrained", "random", "tuned"
"""Pre-trained with a random classification layer; trained on the task from random weights; trained from pre-trained weights."""
STATES = (UNTRAINED, RANDOM, TUNED)
"""The columns of Table 1."""
PREDICTION_COLUMNS = ("state", "seed", "record", "prediction", "label")
UNIFORM, ZERO, MEAN = "uniform", "zero", "mean"
ACTIONS = (UNIFORM, ZERO, MEAN)
"""A disabled head attends uniformly to all real tokens (the paper), or its output is zero or its mean over the examples."""
BASELINE = "none"
LEVEL = 0.05
"""Level of the tests of Figures 8 and 9; the paper tests nothing."""
DISABLED_COLUMNS = ("action", "layer", "head", "record", "prediction", "label")
"""layer and head from 1; head 0 is the whole layer, layer 0 the unchanged model."""
BASE = "base"
"""The pre-trained model itself."""

VERTICAL, DIAGONAL, VERTICAL_DIAGONAL, BLOCK, HETEROGENEOUS = (
    "vertical",
    "diagonal",
    "vertical_diagonal",
    "block",
    "heterogeneous",
)
CLASSES = (VERTICAL, DIAGONAL, VERTICAL_DIAGONAL, BLOCK, HETEROGENEOUS)
"""Classes of maps, in the order of the paper's Figure 1; the keys 1 to 5 of the labelling page."""
CLASS_TITLES = {
    VERTICAL: "Vertical",
    DIAGONAL: "Diagonal",
    VERTICAL_DIAGONAL: "Vertical + diagonal",
    BLOCK: "Block",
    HETEROGENEOUS: "Heterogeneous",
}
CHANNELS = (16, 16, 32, 32, 48, 48, 64, 64)
"""Output channels of the convolutions of the network that labels maps."""
NETWORK, RULES = "network", "rules"
"""Annotators of maps: the network that was trained on labelled maps, or rules with thresholds tuned on them."""
PADDED, REAL_SAME, REAL = "padded", "real_same", "real"
"""Maps that are compared: padded to one length (the published code); of real length, of the same examples, and of all."""
FEWEST_EXAMPLES = 8
"""Smallest number of examples for an interval; bootstrap intervals of fewer do not reach their coverage."""
HEADLINE = RULES
"""Annotator whose classes are used in claims and measures of heads: the rules, until the network beats them on layers that
neither was trained on (`patterns.tsv`)."""
TEXT, HEAD, LAYER = "text", "head", "layer"
FOLDS = (TEXT, HEAD, LAYER)
"""Units that are held out when the classifiers of maps are evaluated."""
GENERATED = "generated"
"""In place of folds: maps drawn from the definition of their class."""

SUBJ_VERB, VERB_SUBJ, NOUN_PRON, PRON_NOUN = "subj_verb", "verb_subj", "noun_pron", "pron_noun"
VERB_LINKS = (SUBJ_VERB, VERB_SUBJ)
LINKS = (*VERB_LINKS, NOUN_PRON, PRON_NOUN)
"""Section 4.5, from the first (query) to the second (key). Verbs and subjects as in the published code: nsubj of a word tagged
VB*. The code has no nouns and pronouns: here each noun with each pronoun of the same text, since nothing says which corefer."""
