"""Rules behind remarks of pages and figures, which captions state as well; imports nothing heavy."""

KEPT = 0.9
"""Share of the full model's BLEU with all heads of a kind masked, from which on the kind counts as dispensable."""
DISPENSABLE_RULE = (
    f"If BLEU stays at {100 * KEPT:.0f} % or more of the full model's with all heads of a kind masked, it says little that "
    "single heads of this kind can be masked"
)
"""In words, without a full stop."""
OVERLONG = 1.5
"""A translation is overlong if it has more than this times the words of its reference (sacrebleu's 13a tokens)."""
OVERLONG_RULE = f"more than {OVERLONG:g} times as long as their reference, as those that repeat themselves"
