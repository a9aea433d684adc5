"""Attention sinks: tokens that receive much attention whatever their content.

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
        special: [n] whether a token is special, such as [CLS], [SEP] or a token at the start of every text.

    Returns:
        NaN if every token is a sink.
    """
    sinks = sink_tokens(special)
    return received_share(maps, ~sinks, sinks)


def sink_tokens(special: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """[n] the first token and special tokens."""
    sinks = special.copy()
    sinks[0] = True
    return sinks


def received_share(
    maps: npt.NDArray[np.floating], queries: npt.NDArray[np.bool_], keys: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """[layer, head] mean over query tokens of the attention that goes to the key tokens.

    Args:
        maps: [layer, head, n, n], row = query token.
        queries, keys: [n] whether a token is a query token, and whether it is a key token.

    Returns:
        NaN if there is no query token or no key token.
    """
    if not queries.any() or not keys.any():
        return np.full(maps.shape[:2], np.nan)
    received = maps[:, :, queries][..., keys].sum(axis=-1, dtype=np.float64)
    return np.asarray(received.mean(axis=-1))
