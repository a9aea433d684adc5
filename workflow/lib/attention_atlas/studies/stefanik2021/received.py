"""Attention that words receive, and the difference between keyphrases and other words.

Word-level attention: sum over the word pieces of the attended word, mean over those of the query word. [CLS] and [SEP] are
excluded as rows and as columns, without renormalisation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from attention_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
REDUCTIONS = ("mean", "max")
"""How the attention that a word receives is pooled over query words."""


def received_attention(maps: npt.ArrayLike, special: npt.ArrayLike, reduction: str = "mean", diagonal: bool = True) -> Floats:
    """[layer, head, word] attention that each word receives from the words of its text.

    Args:
        maps: [layer, head, m, m] over words and special tokens, row = query.
        special: [m] which rows are special tokens.
        reduction: mean or maximum over the query words.
        diagonal: whether a word's attention to itself counts.

    Raises:
        AtlasError: another reduction, or no words.
    """
    if reduction not in REDUCTIONS:
        raise AtlasError(f"reduction: {reduction!r} is not one of {', '.join(REDUCTIONS)}.")
    is_word = ~np.asarray(special, dtype=np.bool_)
    if not is_word.any():
        raise AtlasError("received attention needs a word: this text has special tokens only.")
    word_maps = np.asarray(maps, dtype=np.float64)[:, :, is_word][:, :, :, is_word]
    words = word_maps.shape[-1]
    if diagonal:
        return word_maps.mean(axis=2) if reduction == "mean" else word_maps.max(axis=2)
    off_diagonal = ~np.eye(words, dtype=np.bool_)
    if words == 1:
        return np.full((*word_maps.shape[:2], 1), np.nan)
    if reduction == "mean":
        return np.where(off_diagonal, word_maps, 0).sum(axis=2) / (words - 1)
    return np.where(off_diagonal, word_maps, -np.inf).max(axis=2)


def relative_attention(received: npt.ArrayLike, key: npt.ArrayLike) -> Floats:
    """[layer, head] mean attention that keyphrase words receive minus that of all other words; NaN without both kinds.

    Args:
        received: [layer, head, word].
        key: [word] which words belong to keyphrases.
    """
    attention, flags = np.asarray(received, dtype=np.float64), np.asarray(key, dtype=np.bool_)
    if flags.all() or not flags.any():
        return np.full(attention.shape[:2], np.nan)
    return attention[:, :, flags].mean(axis=-1) - attention[:, :, ~flags].mean(axis=-1)
