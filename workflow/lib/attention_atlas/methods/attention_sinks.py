"""Attention sinks: tokens that take attention which has nowhere else to go.

Xiao et al. (2023), Efficient Streaming Language Models with Attention Sinks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def sink_share(maps: npt.NDArray[np.floating], special: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """[layer, head] share of the attention of all other tokens that goes to the first token and to special tokens.

    The first token is the sink of decoders (Xiao et al. 2023, section 3.1), [CLS] and [SEP] are those of encoders.

    Args:
        maps: [layer, head, n, n], row = query token.
        special: [n] whether a token is special, such as [CLS], [SEP] or a token that opens every text.

    Returns:
        NaN where every token is a sink.
    """
    sinks = special.copy()
    sinks[0] = True
    if sinks.all():
        return np.full(maps.shape[:2], np.nan)
    received = maps[:, :, ~sinks][..., sinks].sum(axis=-1, dtype=np.float64)
    return np.asarray(received.mean(axis=-1))
