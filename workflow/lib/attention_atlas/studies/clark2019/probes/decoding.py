"""From scores to heads: the best head of each word independently, as published, or the best tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from ufal.chu_liu_edmonds import chu_liu_edmonds

ARGMAX, TREE = "argmax", "tree"
DECODINGS = (ARGMAX, TREE)


def decode(scores: npt.NDArray[np.floating], decoding: str) -> npt.NDArray[np.int64]:
    """Heads of the words of one sentence.

    Args:
        scores: [n, n + 1], row = word, column = candidate (ROOT first).
        decoding: "argmax": the best candidate of each word, itself included; "tree": the maximum spanning tree with one word at
            ROOT.

    Returns:
        [n] positions of heads, 0 = ROOT.

    Raises:
        ValueError: unknown decoding.
    """
    if decoding == ARGMAX:
        return scores.argmax(axis=1)
    if decoding != TREE:
        raise ValueError(f"unknown decoding {decoding!r}, expected one of {', '.join(DECODINGS)}")
    n = len(scores)
    weights = np.full((n + 1, n + 1), np.nan)
    weights[1:] = scores - scores.max(axis=1, keepdims=True)
    # The penalty of a word at ROOT exceeds any possible gain, so that exactly one word is at ROOT.
    spread = float(-weights[1:].min()) + 1
    weights[1:, 0] -= n * spread
    np.fill_diagonal(weights, np.nan)
    heads, _ = chu_liu_edmonds(weights)
    return np.asarray(heads[1:], dtype=np.int64)
