"""Jensen-Shannon divergence (natural logarithm) between the maps of all pairs of heads, as one matrix product.

The divergence is a squared distance. With the kernel K(p, q) = (p + q) ln (p + q) - p ln p - q ln q, which is positive
definite, the divergence of two rows is a quarter of the sum of K(p, p) + K(q, q) - 2 K(p, q) over their entries. About ten
functions of a weight, its features, approximate the kernel by their scalar product, within a bound. The divergence of two heads
is then a quarter of the squared distance of their features, which needs a few multiplications per entry and no logarithm.

The features come from the Nystrom method. The residual of the kernel is positive definite as well, so a divergence is never too
large, and too small by at most the residual of the kernel of a weight with itself.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import ssyrk
from threadpoolctl import ThreadpoolController

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

TOLERANCE = 6e-5
"""Maximum underestimate of a divergence, in nats per row; rounding to float32 comes on top, less than 1e-6."""
_NODES = 48  # number of weights whose kernels define the features; twice as many would not reduce the number of features
_BLOCK = 640
"""Entries of a map that are compared at a time: features of 144 heads take 3.3 MB and fit into the processor's cache."""
_DEVICE_BLOCK = 8192  # the same on a GPU, where features of 384 heads take some 140 MB
_ONE = int(np.float16(1).view(np.uint16))
"""The bits of 1 in float16; as integers, weights from 0 to 1 have bits from 0 to this number."""


def head_divergence(
    maps: npt.NDArray[np.floating], smoothing: float = 0.0, threads: int = 1, device: str | None = None
) -> Floats:
    """Sum over the rows (queries) of the Jensen-Shannon divergence between every two heads (Clark et al. 2019, section 6).

    `maps`: [head, n, n], rows sum to 1. Float16 is sufficient and fastest: its features are looked up, others are computed;
    `smoothing`: share of a uniform distribution mixed into every row (the published code: 0.001); `device`: compare with torch
    on this device (cuda) instead of numpy; equal up to rounding. Returns [head, head] in nats, symmetric, zero on the diagonal,
    at most n ln 2; divided by n it is the mean over queries. At most `TOLERANCE` nats per row below the exact value, and never
    above it except for rounding.
    """
    if maps.ndim != 3 or maps.shape[1] != maps.shape[2]:
        raise ValueError(f"expected maps [head, n, n], got an array of shape {maps.shape}")
    if not 0 <= smoothing <= 1:
        raise ValueError(f"the smoothing share must lie between 0 and 1: {smoothing}")
    heads, n = maps.shape[:2]
    entries = maps.reshape(heads, n * n)
    if maps.dtype == np.float16:
        entries = entries.view(np.uint16)
        valid = entries.max(initial=0) <= _ONE
    else:
        # Weights in float32 can be slightly above 1.
        valid = entries.min(initial=0) >= 0 and entries.max(initial=0) < 1 + 1e-3
    if not valid:
        raise ValueError("the weights of a map must be numbers from 0 to 1")
    products = np.zeros((heads, heads))
    if device is None:

        def product(start: int) -> Singles:
            features = _features_of(entries[:, start : start + _BLOCK], smoothing, n)
            # The upper triangle of features @ features.T; numpy also fills the lower one, in a tenth of the time.
            return ssyrk(1.0, features.T, trans=1)

        # One thread per block: additional threads within a product would mostly wait for each other on a busy machine.
        with _linear_algebra().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
            # Only the positions of blocks are queued, so that at most one block per thread is in memory.
            for block in pool.map(product, range(0, n * n, _BLOCK)):
                products += block
    else:
        for start in range(0, n * n, _DEVICE_BLOCK):
            products += _product_on(device, entries[:, start : start + _DEVICE_BLOCK], smoothing, n)
    squares = np.diag(products)
    divergence = np.triu(squares[:, None] + squares[None, :] - 2 * products, 1) / 4
    # Rounding can give slightly negative values for equal heads.
    divergence = np.clip(divergence, 0, n * np.log(2))
    return divergence + divergence.T


def _features_of(block: npt.NDArray[np.generic], smoothing: float, n: int) -> Singles:
    """Features of a block of entries [head, entry], weights or the bits of float16: [head, entry and feature]."""
    if block.dtype == np.uint16:
        # mode="clip" skips the range check of each index; they were checked before.
        features = np.take(_table(smoothing, n), block.view(np.uint16), axis=0, mode="clip")
    else:
        features = _features(block.ravel(), smoothing, n)
    return features.reshape(len(block), -1)


def _product_on(device: str, block: npt.NDArray[np.generic], smoothing: float, n: int) -> Singles:
    """Products of the features of every two heads in torch: [head, head]."""
    import torch

    if block.dtype == np.uint16:
        # Transfer the bits, half the size of float32, and look up features on the device.
        places = torch.from_numpy(block.astype(np.int16)).to(device)
        table = torch.from_numpy(_table(smoothing, n)).to(device)
        features = table[places.long()].reshape(len(block), -1)
    else:
        features = torch.from_numpy(_features_of(block, smoothing, n)).to(device)
    return (features @ features.T).cpu().numpy()


@lru_cache(maxsize=1)
def _linear_algebra() -> ThreadpoolController:
    """The libraries that run thread pools; finding them is slow."""
    return ThreadpoolController()


@lru_cache(maxsize=16)
def _table(smoothing: float, n: int) -> Singles:
    """Features of all float16 weights from 0 to 1, in order of their bits: [weight, feature], 0.7 MB in some 20 ms."""
    return _features(np.arange(_ONE + 1, dtype=np.uint16).view(np.float16), smoothing, n)


def _features(weights: npt.NDArray[np.generic], smoothing: float, n: int) -> Singles:
    """Features of weights [weight] of maps with n columns: [weight, feature]; those of weight 0 are zero."""
    nodes, coefficients = _basis(smoothing, n)
    smoothed = weights.astype(np.float64) * (1 - smoothing) + smoothing / n
    return (_kernel(smoothed, nodes, smoothing / n) @ coefficients).astype(np.float32)


@lru_cache(maxsize=16)
def _basis(smoothing: float, n: int) -> tuple[Floats, Floats]:
    """Nodes and coefficients of the features: a feature of a weight is the sum of coefficients times its kernel with the nodes.

    Returns nodes [node], coefficients [node, feature], with the smallest number of features within `TOLERANCE`.
    """
    least = smoothing / n
    # Weights far below the tolerance need no node: their kernel is equally small.
    lowest = max(least, TOLERANCE / n / 10)
    nodes, checked = np.geomspace(lowest, 1, _NODES), np.geomspace(lowest, 1, 10 * _NODES)
    # Allowed residual of K(p, p): rows of p and of 1/n both sum to 1, so half of the tolerance is used twice.
    scale = 1 / np.sqrt(nodes + 1 / n)
    values, vectors = np.linalg.eigh(_kernel(nodes, nodes, least) * scale[:, None] * scale)
    # Descending, without directions due to rounding.
    kept = np.flatnonzero(values > 1e-12)[::-1]
    coefficients = scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])
    with_itself = 2 * np.log(2) * (checked + least) - 2 * _sums(checked, np.array([least]))[:, 0]
    covered = np.cumsum((_kernel(checked, nodes, least) @ coefficients) ** 2, axis=1)
    left_out = ((with_itself[:, None] - covered) / (checked + 1 / n)[:, None]).max(axis=0)
    features = int(np.argmax(left_out <= TOLERANCE / 2)) + 1
    return nodes, coefficients[:, :features]


def _kernel(p: Floats, q: Floats, least: float) -> Floats:
    """[p, q] K of weights, centred at the smallest weight: the scalar product of their differences from it.

    Centring does not change distances, and gives the most frequent weight zero features.
    """
    origin = np.array([least])
    return _sums(p, q) - _sums(p, origin) - _sums(origin, q) + _sums(origin, origin)


def _sums(p: Floats, q: Floats) -> Floats:
    """[p, q] (p + q) ln (p + q) - p ln p - q ln q."""
    return _x_ln_x(p[:, None] + q) - _x_ln_x(p)[:, None] - _x_ln_x(q)


def _x_ln_x(x: Floats) -> Floats:
    """x ln x, and 0 for 0."""
    return x * np.log(np.maximum(x, np.finfo(np.float64).tiny))
