"""The layers at which a task is solved: statistics of mixing weights and of cumulative scores over layers (sections 3.1, 3.2).

Layer 0 is the input of the first layer; a model of L layers has L + 1 of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def centre_of_gravity(weights: npt.ArrayLike) -> Floats:
    """[...] mean layer under mixing weights [..., layer], layer 0 included (equation 2)."""
    mixing = np.asarray(weights, dtype=np.float64)
    return mixing @ np.arange(mixing.shape[-1]) / mixing.sum(axis=-1)


def divergence_of_weights(weights: npt.ArrayLike) -> Floats:
    """[...] K(s): divergence of mixing weights [..., layer] from equal ones, in bits."""
    return _divergence(np.asarray(weights, dtype=np.float64))


def differential_scores(scores: npt.ArrayLike, running_max: bool = False) -> Floats:
    """[..., L] gain of each layer from 1 on in the cumulative scores [..., L + 1] (equation 3); may be negative.

    Args:
        scores: of probes on layers 0 to l, for each l.
        running_max: use the best score so far, which never falls.
    """
    by_layer = np.asarray(scores, dtype=np.float64)
    return np.diff(np.maximum.accumulate(by_layer, axis=-1) if running_max else by_layer, axis=-1)


def shares_of_gain(scores: npt.ArrayLike) -> Floats:
    """[..., L] differential scores as a share of the largest gain over layer 0; NaN where no layer gains anything.

    Args:
        scores: [..., L + 1] of probes on layers 0 to l, for each l.
    """
    by_layer = np.asarray(scores, dtype=np.float64)
    largest = by_layer.max(axis=-1, keepdims=True) - by_layer[..., :1]
    return differential_scores(by_layer) / np.where(largest > 0, largest, np.nan)


def expected_layer(scores: npt.ArrayLike, running_max: bool = False) -> Floats:
    """[...] mean layer under the differential scores (equation 4); NaN where nothing is gained over layer 0.

    Negative differences are kept, as in the published code, so the result can lie outside 0 to L where the total gain is small.
    """
    gains = differential_scores(scores, running_max)
    total = gains.sum(axis=-1)
    weighted = gains @ np.arange(1, gains.shape[-1] + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, weighted / np.where(total > 0, total, np.nan), np.nan)


def divergence_of_gains(scores: npt.ArrayLike) -> Floats:
    """[...] K(Delta): divergence of the positive differential scores from equal ones over layers 1 to L, in bits.

    NaN where no layer gains anything.
    """
    return _divergence(np.maximum(differential_scores(scores), 0))


def gain_is_noise(scores: npt.ArrayLike, sd: npt.ArrayLike, errors: float = 2.0) -> npt.NDArray[np.bool_]:
    """[...] whether the total gain lies within `errors` standard errors of 0: then an expected layer is meaningless.

    Args:
        scores: [..., L + 1] means over seeds.
        sd: [..., L + 1] standard errors of these means.
        errors: number of standard errors that count as noise.
    """
    means, spread = np.asarray(scores, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    error = np.hypot(spread[..., 0], spread[..., -1])
    return means[..., -1] - means[..., 0] <= errors * error


def _divergence(weights: Floats) -> Floats:
    total = weights.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = weights / total
        terms = np.where(share > 0, share * np.log2(share * weights.shape[-1]), 0.0)
    return np.where(total[..., 0] > 0, terms.sum(axis=-1), np.nan)
