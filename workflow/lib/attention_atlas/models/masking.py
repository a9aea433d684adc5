"""Masking of tokens as in BERT's pre-training (Devlin et al. 2019, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example

CHOSEN, TO_MASK, TO_RANDOM = 0.15, 0.8, 0.1
"""Share of the tokens that have a loss, and shares of these that become [MASK] and a random token."""


@dataclass(frozen=True)
class MaskedExample:
    """One example with masked tokens.

    Attributes:
        input_ids: [n] input of the model.
        targets: [n] the true token where the loss counts.
        chosen: [n] where the loss counts.
    """

    input_ids: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    chosen: npt.NDArray[np.bool_]


def mask_pieces(example: Example, mask: int, vocabulary: int, seed: int) -> MaskedExample:
    """Choose 15 % of the tokens (at least one, no special token); 80 % of them become [MASK], 10 % a random token, 10 % stay.

    The choice depends only on seed and record, not on the batch or the shard.

    Args:
        example: the example.
        mask: id of [MASK].
        vocabulary: number of tokens in the vocabulary.
        seed: seed of the choice.
    """
    ids = np.asarray(example.input_ids, dtype=np.int64)
    candidates = np.flatnonzero(np.asarray(example.word) != SPECIAL)
    generator = np.random.default_rng([seed, example.record])
    picked = generator.choice(candidates, max(1, round(CHOSEN * len(candidates))), replace=False)
    fate = generator.random(len(picked))
    fed = ids.copy()
    fed[picked[fate < TO_MASK]] = mask
    random = picked[(fate >= TO_MASK) & (fate < TO_MASK + TO_RANDOM)]
    fed[random] = generator.integers(0, vocabulary, len(random))
    chosen = np.zeros(len(ids), dtype=bool)
    chosen[picked] = True
    return MaskedExample(fed, ids, chosen)


def unmasked(example: Example) -> MaskedExample:
    """The unmasked example, with a loss on every token that is not special."""
    ids = np.asarray(example.input_ids, dtype=np.int64)
    return MaskedExample(ids, ids, np.asarray(example.word) != SPECIAL)
