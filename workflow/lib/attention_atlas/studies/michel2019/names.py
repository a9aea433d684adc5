"""Names that tables, figures and published values of the study share; imports nothing heavy."""

TRANSLATION, CLASSIFICATION = "translation", "classification"
TITLES = {TRANSLATION: "Translation", CLASSIFICATION: "Classification"}
LEVEL = 0.01
"""The paper's level of significance."""
ALL = "all"
"""Heads of all kinds of attention together."""
KIND_TITLES = {"enc_enc": "Encoder", "enc_dec": "Encoder-decoder", "dec_dec": "Decoder"}
"""Kind of attention (E, A and D in the published code) -> its title."""
NONE, ONE, OTHERS = "none", "one", "others"
"""Nothing is masked; one head; all heads of a layer but one."""
PAPER, CODE, PER_BATCH, SCRIPT = "paper", "michel_code", "per_batch", "run_bertology"
DEFINITIONS = (PAPER, CODE, PER_BATCH, SCRIPT)
"""Definitions of a head's importance, see `importance.unnormalised`."""
IMPORTANCE, RECOMPUTED, ABLATION, HELDOUT, RANDOM = "importance", "recomputed", "ablation", "ablation_heldout", "random"
ORDER_TITLES = {
    IMPORTANCE: "Importance",
    RECOMPUTED: "Importance, recomputed at each step",
    ABLATION: "Score with one head masked",
    HELDOUT: "Score with one head masked, other examples",
    RANDOM: "Random",
}

HEAD = ["kind", "layer", "head"]
"""Columns that name a head; layer and head from 1."""
KEYS = ["masked", *HEAD]
"""Columns that name a mask: layer and head 0 where nothing is masked; head is the one masked, or the one left."""
STEP = ["order", "scope", "draw", "percent", "count"]
"""Columns that name a step of pruning: the order (`ORDER_TITLES`), the kind of attention that is pruned (or `ALL`), the number
of a random order, and how many heads are gone."""
ANSWERS = ["record", "answer", "expected"]
"""Columns of every table of answers, after those that name what was masked."""
CURVE = ["metric", "score", "ci_low", "ci_high", "baseline", "delta"]
"""Columns of a step of pruning, in points: the score with its interval, that of the whole model, their difference."""
