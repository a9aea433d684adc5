"""Norm-weighted attention: how much each token contributes to the output of a head (Kobayashi et al. 2020).

Attention Is Not Only a Weight: Analyzing Transformers with Vector Norms, section 3. The output of a head for token i is the sum
over tokens j of alpha_ij f(x_j), so that ||alpha_ij f(x_j)|| = alpha_ij ||f(x_j)|| says how much token j contributes. A head
can attend to [SEP] although [SEP] contributes almost nothing to its output, because f([SEP]) is small.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from attention_atlas.attention.half import widened


def norm_weighted(maps: npt.NDArray[np.floating], norms: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """[layer, head, n, n] alpha_ij ||f(x_j)||, divided by its sum over j, so that rows sum to 1 like attention weights.

    A row to which no token contributes (all f(x_j) are 0) stays 0.

    Args:
        maps: [layer, head, n, n] alpha, row = query token.
        norms: [layer, head, n] ||f(x_j)||.
    """
    weighted = widened(maps) * norms[:, :, None, :].astype(np.float32)
    sums = weighted.sum(axis=-1, keepdims=True)
    return np.divide(weighted, sums, out=np.zeros_like(weighted), where=sums > 0)
