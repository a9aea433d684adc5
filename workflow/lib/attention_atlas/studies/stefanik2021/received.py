"""How much attention words receive, and how much more keyphrases do.

Over words: sum over the pieces of the word attended to, mean over those of the attending word. [CLS] and [SEP] are left out, as
rows and as columns, without dividing again by what is left.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from attention_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
WAYS = ("mean", "max")
"""How the attention that a word receives from all words becomes one number."""


def received_attention(maps: npt.ArrayLike, special: npt.ArrayLike, way: str = "mean", diagonal: bool = True) -> Floats:
    """[layer, head, word] attention that each word receives from the words of its text.

    Args:
        maps: [layer, head, m, m] over words and special tokens, row = attending.
        special: [m] which of them are special tokens.
        way: mean or maximum over the attending words.
        diagonal: whether a word's attention to itself counts.

    Raises:
        AtlasError: another way, or no words.
    """
    if way not in WAYS:
        raise AtlasError(f"received attention as {way!r}: say {' or '.join(WAYS)}.")
    kept = ~np.asarray(special, dtype=np.bool_)
    if not kept.any():
        raise AtlasError("a text of special tokens alone receives no attention: leave it out.")
    own = np.asarray(maps, dtype=np.float64)[:, :, kept][:, :, :, kept]
    words = own.shape[-1]
    if diagonal:
        return own.mean(axis=2) if way == "mean" else own.max(axis=2)
    others = ~np.eye(words, dtype=np.bool_)
    if words == 1:
        return np.full((*own.shape[:2], 1), np.nan)
    if way == "mean":
        return np.where(others, own, 0).sum(axis=2) / (words - 1)
    return np.where(others, own, -np.inf).max(axis=2)


def relative_attention(received: npt.ArrayLike, key: npt.ArrayLike) -> Floats:
    """[layer, head] mean attention that words of keyphrases receive, less that of all others; NaN without both kinds.

    Args:
        received: [layer, head, word].
        key: [word] which words belong to keyphrases.
    """
    own, flags = np.asarray(received, dtype=np.float64), np.asarray(key, dtype=np.bool_)
    if flags.all() or not flags.any():
        return np.full(own.shape[:2], np.nan)
    return own[:, :, flags].mean(axis=-1) - own[:, :, ~flags].mean(axis=-1)
