"""Names in the tables of masked heads, importance and pruning; imports nothing heavy, since the rules need some of them."""

from __future__ import annotations

TRANSLATION, CLASSIFICATION = "translation", "classification"
ALL = "all"
"""Heads of all kinds of attention together."""
NONE, ONE, OTHERS = "none", "one", "others"
"""Nothing is masked; one head; all heads of a layer but one."""
PAPER, CODE, PER_BATCH, SCRIPT = "paper", "michel_code", "per_batch", "run_bertology"
DEFINITIONS = (PAPER, CODE, PER_BATCH, SCRIPT)
"""Definitions of a head's importance, see `unnormalised`."""
HEAD = ["kind", "layer", "head"]
"""Columns that name a head; layer and head from 1."""
KEYS = ["masked", *HEAD]
"""Columns that name a mask: layer and head 0 if nothing is masked; head is the masked one, or the one kept."""
STEP = ["order", "scope", "draw", "percent", "count"]
"""Columns that name a step of pruning: the order, the kind of attention that is pruned (or `ALL`), the number of a random
order, and how many heads are gone."""
ANSWERS = ["record", "answer", "expected"]
"""Columns of every table of answers, after those that name what was masked."""
