"""Translations that are much longer than their reference: they lower BLEU, with a head masked or without.

A search may take twice the tokens of the longest sentence of its batch and ten more (`models.translating`), for the full model
as for a masked one. A translation that repeats itself up to there is counted here by its length, which the answers have;
whether it ended by itself they do not say.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from attention_atlas.studies.michel2019.caption_rules import OVERLONG, OVERLONG_RULE
from attention_atlas.studies.michel2019.effects import BLEU, MaskedScores

Floats = npt.NDArray[np.float64]


def overlong(masked: MaskedScores) -> tuple[float, Floats]:
    """Number of overlong translations of the full model, and under each mask, [mask]; NaN for a classifier."""
    if masked.metric != BLEU:
        return np.nan, np.full(len(masked.keys), np.nan)
    return float(_overlong(masked.base)), _overlong(masked.parts).astype(np.float64)


def _overlong(counts: Floats) -> npt.NDArray[np.int64]:
    """[...] of counts of n-grams and lengths, [..., sentence, part] (`bleu.sentence_counts`)."""
    return np.asarray((counts[..., -2] > OVERLONG * counts[..., -1]).sum(axis=-1))


def overlong_note(unmasked: float, median: float, n: int) -> str:
    """A sentence with the number of overlong translations of the full model and their median over masks."""
    return (
        f"Of {n} translations of the full model {unmasked:.0f} are overlong ({OVERLONG_RULE}); the median over masks is "
        f"{median:g}. Such translations lower BLEU."
    )
