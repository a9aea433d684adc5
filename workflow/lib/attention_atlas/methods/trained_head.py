"""A language-model head that the workflow trained, from its description in tables (`models.mlm_head.HeadFacts.words`)."""

from __future__ import annotations

import re
from typing import NamedTuple

_TRAINED_HERE = re.compile(
    r"(?P<kind>.* trained here) on .*\(held-out loss (?P<loss>[\d.]+), unigram (?P<unigram>[\d.]+) nats\)"
)


class TrainedHead(NamedTuple):
    """What tables say of the head.

    Attributes:
        kind: in words, such as `masked-LM head trained here`.
        loss: held-out loss, nats.
        unigram: loss of token frequencies on the same text, nats.
    """

    kind: str
    loss: float
    unigram: float


def trained_head(words: str) -> TrainedHead | None:
    """The head that the words describe; None for the checkpoint's own head, or if there is none."""
    match = _TRAINED_HERE.match(words)
    return TrainedHead(match["kind"], float(match["loss"]), float(match["unigram"])) if match else None
