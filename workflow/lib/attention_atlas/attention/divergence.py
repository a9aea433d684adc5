"""Jensen-Shannon divergence between the maps of all pairs of heads, natural logarithm.

With m = (p + q) / 2 the divergence of two distributions is H(m) - (H(p) + H(q)) / 2, so a pair needs one logarithm an entry:
that of p + q. The entries of a map are taken in blocks that stay in the processor's cache.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from scipy.special import entr

_BLOCK = 8192
"""Entries of a map that are compared at a time; with 384 heads a block of both operands takes some 25 MB a thread."""
_DEVICE_BLOCK = 65536
"""The same on a GPU, where a block of 384 heads and its sums take 200 MB."""
_TINY = np.finfo(np.float32).tiny


def head_divergence(
    maps: npt.NDArray[np.floating], smoothing: float = 0.0, threads: int = 1, device: str | None = None
) -> npt.NDArray[np.float64]:
    """Sum over the rows (queries) of the Jensen-Shannon divergence between every two heads (Clark et al. 2019, section 6).

    Args:
        maps: [head, n, n], rows sum to 1. Float16 is enough: work is done in float32, a block at a time, sums in float64.
        smoothing: share of a uniform distribution mixed into every row (the published code: 0.001).
        threads: blocks compared at the same time.
        device: compare with torch on this device (cuda) in place of numpy; the same within rounding.

    Returns:
        [head, head] in nats, symmetric, zero on the diagonal, at most n ln 2; divided by n it is the mean over queries.

    Raises:
        ValueError: maps of another shape, or a share outside of 0 to 1.
    """
    if maps.ndim != 3 or maps.shape[1] != maps.shape[2]:
        raise ValueError(f"expected maps [head, n, n], got an array of shape {maps.shape}")
    if not 0 <= smoothing <= 1:
        raise ValueError(f"the smoothing share must lie between 0 and 1: {smoothing}")
    heads, n = maps.shape[:2]
    entropies = np.zeros(heads)
    # sum of s log2 s over all entries, s = p + q
    joint = np.zeros((heads, heads))
    flat = maps.reshape(heads, n * n)
    size = _BLOCK if device is None else _DEVICE_BLOCK
    starts = range(0, n * n, size)

    def compared(start: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        part = flat[:, start : start + size]
        return _compare(_smoothed(part, smoothing, n)) if device is None else _compare_on(device, part, smoothing, n)

    with ThreadPoolExecutor(threads) as pool:
        # Only the places of the blocks wait in the pool, so that no more than one block a thread is in memory; a device is busy
        # with one block at a time.
        for block_entropies, block_sums in pool.map(compared, starts) if device is None else map(compared, starts):
            entropies += block_entropies
            joint += block_sums
    # H(m) = -sum (s/2) ln (s/2) = rows ln 2 - (ln 2 / 2) sum s log2 s, as the entries of s sum to 2 in every row.
    of_mixture = np.log(2) * (n - joint / 2)
    divergence = np.triu(of_mixture - (entropies[:, None] + entropies[None, :]) / 2, 1)
    # Rounding can leave a hair below zero between equal heads.
    divergence = np.clip(divergence, 0, n * np.log(2))
    return divergence + divergence.T


def _smoothed(entries: npt.NDArray[np.floating], smoothing: float, n: int) -> npt.NDArray[np.float32]:
    """A block of entries [head, entry] of rows of length n in float32, with the uniform distribution mixed in."""
    block = entries.astype(np.float32)
    if smoothing:
        block *= 1 - smoothing
        block += smoothing / n
    # The logarithm of nothing is no number; the smallest number leaves the sum as it is.
    return np.maximum(block, _TINY, out=block)


def _compare(block: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Entropy of every head's entries, [head], and sum of s log2 s of every pair a < b, [head, head]."""
    heads = len(block)
    pairs = np.zeros((heads, heads))
    total, logarithm = np.empty_like(block), np.empty_like(block)
    for a in range(heads - 1):
        later_heads = heads - a - 1
        np.add(block[a], block[a + 1 :], out=total[:later_heads])
        np.log2(total[:later_heads], out=logarithm[:later_heads])
        pairs[a, a + 1 :] = np.vecdot(total[:later_heads], logarithm[:later_heads])
    return entr(block).sum(axis=1, dtype=np.float64), pairs


def _compare_on(
    device: str, entries: npt.NDArray[np.floating], smoothing: float, n: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """`_smoothed` and `_compare` in torch; entries travel as they are (float16 is half of float32)."""
    import torch

    block = torch.from_numpy(np.ascontiguousarray(entries)).to(device).float()
    if smoothing:
        block = block * (1 - smoothing) + smoothing / n
    block.clamp_(min=float(_TINY))
    heads = len(block)
    pairs = torch.zeros(heads, heads, dtype=torch.float64, device=device)
    for a in range(heads - 1):
        total = block[a] + block[a + 1 :]
        pairs[a, a + 1 :] = torch.linalg.vecdot(total, total.log2())
    entropies = torch.special.entr(block).sum(dim=1, dtype=torch.float64)
    return entropies.cpu().numpy(), pairs.cpu().numpy()
