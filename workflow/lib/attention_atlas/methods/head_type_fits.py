"""How well the mean attention of a cluster of heads fits each type by distance (Guan et al. 2020)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from attention_atlas.methods.distance_features import SPECIAL

Floats = npt.NDArray[np.float64]
PROFILE = ("special", "near", "far")
"""Parts of the attention that sum to 1: on [CLS], [SEP], comma and full stop; on the token itself and the nearest window; on
all other windows."""


def profiles(means: Floats) -> Floats:
    """[cluster, 3] `PROFILE` of the clusters' mean features, [cluster, 21]."""
    near = len(SPECIAL) + 2
    parts = means[:, : len(SPECIAL)], means[:, len(SPECIAL) : near], means[:, near:]
    return np.stack([part.sum(axis=1) for part in parts], axis=1)


def fits(means: Floats) -> Floats:
    """[cluster, type] margin in attention, -1 to 1, by which a cluster meets the condition of each type; it fits if positive.

    Dense: far exceeds special and near. Dense and vertical: both special and far exceed near. Vertical: special exceeds near
    and far. Diagonal: near exceeds special and far.
    """
    special, near, far = profiles(means).T
    return np.stack(
        [
            far - np.maximum(special, near),
            np.minimum(special, far) - near,
            special - np.maximum(near, far),
            near - np.maximum(special, far),
        ],
        axis=1,
    )
