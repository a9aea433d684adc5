"""Names that tables, figures and published values of the study share; imports nothing heavy."""

from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION

TITLES = {TRANSLATION: "Translation", CLASSIFICATION: "Classification"}
HELDOUT_ROLES = {TRANSLATION: "translation_test", CLASSIFICATION: "classification_selection"}
"""Experiment -> role of the further corpus of Tables 5 and 6."""
LEVEL = 0.01
"""The paper's significance level."""
KIND_TITLES = {"enc_enc": "Encoder", "enc_dec": "Encoder-decoder", "dec_dec": "Decoder"}
"""Kind of attention (E, A and D in the published code) -> its title."""
IMPORTANCE, RECOMPUTED, ABLATION, HELDOUT, RANDOM = "importance", "recomputed", "ablation", "ablation_heldout", "random"
ORDER_TITLES = {
    IMPORTANCE: "Importance",
    RECOMPUTED: "Importance, recomputed at each step",
    ABLATION: "Score with one head masked",
    HELDOUT: "Score with one head masked, other examples",
    RANDOM: "Random",
}
ANOTHER_CORPUS, SAME_FILE = "another corpus", "another part of the same file"
"""How the second corpus of Figure 2 relates to the first; a part of the same file says nothing about other data."""
POINT = {TRANSLATION: "BLEU point", CLASSIFICATION: "percentage point"}
"""Unit of a change in the score of an experiment."""
TOLERATED = 1.0
"""Largest loss that counts as not noticeable, in the unit `POINT` (the paper does not define the word)."""
PRUNABLE = {TRANSLATION: 20, CLASSIFICATION: 40}
"""Percent of heads that can be pruned without noticeable loss (section 4.2)."""
LEAST_BLEU = 3.0
"""Smallest score of a full model at which pruned scores are shown as shares of it: the paper's after its first epoch."""
CURVE = ["metric", "score", "ci_low", "ci_high", "baseline", "delta"]
"""Columns of a step of pruning, in BLEU or percent: the score with its interval, that of the full model, their difference."""
PAPER_DELTA = {"paper_delta": "paper: delta"}
"""Heading of the published differences, beside this run's."""
ATTENTION_TITLES = {
    "enc_enc": "encoder self-attention",
    "enc_dec": "encoder-decoder attention",
    "dec_dec": "decoder self-attention",
}
"""Kind of attention -> its full name."""
