"""Names and colours of quantities, shared by the figures of all studies."""

from __future__ import annotations

from dataclasses import dataclass

from attention_atlas.figures.style import BLACK, BLUE, GREEN, GREY, PURPLE, SKY, VERMILION


@dataclass(frozen=True)
class Quantity:
    """How a quantity is drawn: title of an axis or a colour bar, with the unit; name in a legend or a title; colour; marker."""

    axis: str
    name: str
    colour: str
    marker: str = "o"

    @property
    def title(self) -> str:
        """Title of a panel whose axis says that it shows attention: `To [SEP]`."""
        text = self.axis.removeprefix("Attention ")
        return text[0].upper() + text[1:]


TO_CLS = Quantity("Attention to [CLS]", "[CLS]", VERMILION, "o")
TO_SEP = Quantity("Attention to [SEP]", "[SEP]", BLUE, "s")
SEP_TO_SEP = Quantity("Attention from [SEP] to [SEP]", "[SEP] to [SEP]", SKY, "D")
TO_PUNCTUATION = Quantity("Attention to . and ,", ". and ,", PURPLE, "^")
TO_OTHERS = Quantity("Attention to other tokens", "other tokens", GREEN, "v")
TO_NEXT = Quantity("Attention to the next token", "next token", GREEN, ">")
TO_PREVIOUS = Quantity("Attention to the previous token", "previous token", BLACK, "<")
OTHERS_TO_SEP = Quantity("Attention from other tokens to [SEP]", "other tokens to [SEP]", BLUE, "s")
"""Kinds of key token; shares of the attention of a query, 0 to 1."""

ATTENTION = Quantity("Mean attention (share)", "attention", BLUE)
WEIGHT = Quantity("Attention weight", "attention weight", BLUE)
ENTROPY = Quantity("Entropy of attention (nats)", "entropy", BLUE)
ENTROPY_OF_CLS = Quantity("Entropy of attention (nats)", "entropy of [CLS]", VERMILION, "s")
COSINE = Quantity("Cosine similarity", "cosine similarity", BLUE)
SHARE_OF_MAPS = Quantity("Share of maps (%)", "share of maps", BLUE)
ACCURACY = Quantity("Accuracy (%)", "accuracy", BLUE)
BLEU = Quantity("BLEU", "BLEU", BLUE)
F1 = Quantity("F1 (%)", "F1", BLUE)

LOSS, UNCHANGED = VERMILION, GREY
"""Colours of a score that falls, or does not change."""

LAYER, HEAD = "Layer", "Head"
"""Titles of axes that count from 1."""


def change(metric: str) -> str:
    """Title of an axis: the change of a score on a scale of 0 to 100."""
    return f"Change in {metric} (percentage points)"
