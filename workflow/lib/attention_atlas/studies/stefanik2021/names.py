"""Names that tables, figures and published values of the study share; imports nothing heavy."""

DEVELOPMENT, TEST = "development", "test"
SPLITS = (DEVELOPMENT, TEST)
TOKEN, PHRASE = "token_f1", "phrase_f1"
METRICS = (TOKEN, PHRASE)
METRIC_TITLES = {TOKEN: "Token F1 (%)", PHRASE: "Phrase F1 (%)"}
WORST, IMPORTANCE, OPTIMISTIC, RANDOM = "worst_to_best", "importance", "worst_to_best_on_test", "random"
ORDER_TITLES = {
    WORST: "Worst to best (ranked on development)",
    IMPORTANCE: "Least important first",
    OPTIMISTIC: "Worst to best, ranked on test (optimistic)",
    RANDOM: "Random orders",
}
HEAD, REGRESSION, MIX, STATISTICS = "best_head", "regression", "mix", "word_statistics"
POSITION, TF_IDF, YAKE, EMBEDDING, TAGGER = "position", "tf_idf", "yake", "embedding", "fine_tuned"
METHOD_TITLES = {
    POSITION: "Position in the text (first phrases)",
    TF_IDF: "TF-IDF",
    YAKE: "YAKE",
    EMBEDDING: "Embedding ranker (KeyBERT)",
    STATISTICS: "Regression over word position, frequency and form",
    HEAD: "Attention of the best head",
    REGRESSION: "Regression over all heads",
    TAGGER: "Model fine-tuned on tags",
}
ATTENTION_METHODS = (HEAD, REGRESSION)
"""Methods that use attention without fine-tuning; labels of other documents choose the head, or fit the regression."""
REMOVED = ["split", "order", "draw", "percent", "count"]
"""Columns that name a set of removed heads: the documents, the order (`ORDER_TITLES`, or `ONE` head), the number of a random
order, and how many heads are gone."""
ONE = "one"
MEAN = "mean"
"""In the column seed: the mean over seeds."""
WHOLE, PRUNED, PRUNED_ON_TEST, WITHOUT_HEADS = "whole", "pruned", "pruned_on_test", "without_heads"
F1_5, F1_10, F1_M, EXACT = "f1_at_5", "f1_at_10", "f1_at_m", "phrase_f1"
"""Scores of ways to find keyphrases: F1 of the first phrases, of all that are proposed, and of phrases marked in the text."""
SLIDE_RANKS, COEFFICIENT_RANKS = "slide_entropy", "coefficients"
"""Rank correlations: of the slides' ranking with the calibrated one, and of coefficients with permutation importance."""
FEATURE_KEYS = ["record", "document", "place", "word", "key"]
"""Columns of a table of words before its features: record and name of the document, place of the word, the word, whether it
is part of a keyphrase."""
FINE_TUNING = [
    "seed", "model", "split", "heads_removed", "metric", "value", "ci_low", "ci_high", "delta", "delta_low", "delta_high",
    "documents",
]  # fmt: skip
ABLATION = [
    "seed", "split", "layer", "head", "metric", "baseline", "value", "delta", "ci_low", "ci_high", "p", "p_adjusted",
    "documents", "adjusted_low", "adjusted_high",
]  # fmt: skip
CUMULATIVE = ["seed", "order", "draw", "split", "percent", "heads_removed", "metric", "value", "documents"]
"""Columns of the tables of fine-tuned taggers: whole and pruned scores, each head removed, heads removed cumulatively."""


def method_title(method: str, encoder: object = None) -> str:
    """Title of a method on pages and figures; for the embedding ranker with its encoder."""
    return f"{METHOD_TITLES[method]}: {encoder}" if isinstance(encoder, str) else METHOD_TITLES[method]


def feature(layer: int, head: int, reduction: str) -> str:
    """Column with the attention that words receive from a head (from 1), as `l3_h1_max`; the slides count from 0."""
    return f"l{layer}_h{head}_{reduction}"
