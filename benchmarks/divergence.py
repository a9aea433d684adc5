"""Divergence between all pairs of heads: products of features against the authors' formula, one head against all others."""

from __future__ import annotations

import numpy as np

from attention_atlas.attention.divergence import head_divergence
from benchmarks.timing import in_process, report, side_by_side

HEADS, LENGTH, LARGE = 144, 128, (384, 512)
SMOOTHING, THREADS = 0.001, 2


def run() -> None:
    """Print the ratio, the largest difference, and the peak memory for 384 heads of 512 tokens."""
    maps = random_maps(HEADS, LENGTH)

    def formula() -> np.ndarray:
        """Half of both Kullback-Leibler divergences from the mean, summed over all rows."""
        p = (1 - SMOOTHING) * maps.astype(np.float32) + np.float32(SMOOTHING / LENGTH)
        divergence = np.zeros((HEADS, HEADS))
        for a in range(HEADS):
            mean = (p[a] + p) / 2
            both = p[a] * np.log(p[a] / mean) + p * np.log(p / mean)
            divergence[a] = both.sum(axis=(1, 2)) / 2
        return divergence

    difference = np.abs(head_divergence(maps, SMOOTHING) - formula()).max() / LENGTH
    print(f"{HEADS} heads x {LENGTH} tokens, one segment; largest difference {difference:.1e} nats per token")
    named = f"features, {THREADS} threads"
    candidates = {named: lambda: head_divergence(maps, SMOOTHING, THREADS), "the authors' formula, float32": formula}
    report(side_by_side(candidates, 3), named)
    before, after = (in_process("divergence", call)[-1] for call in ("random_maps(1, 2).shape[0]", "large()"))
    held = LARGE[0] * LARGE[1] ** 2 * 2 / 2**20
    print(f"{LARGE[0]} heads x {LARGE[1]} tokens: maps of {held:.0f} MiB in float16, {after - before - held:.0f} MiB on top")


def large() -> None:
    """Compare the heads of the large maps."""
    head_divergence(random_maps(*LARGE), SMOOTHING, THREADS)


def random_maps(heads: int, n: int) -> np.ndarray:
    """Maps [head, n, n] in float16 whose rows range from sharp to even, as those of real heads do."""
    generator = np.random.default_rng(0)
    maps = np.empty((heads, n, n), np.float16)
    for head in range(heads):
        raw = np.exp(generator.uniform(0.5, 4) * generator.standard_normal((n, n), dtype=np.float32))
        maps[head] = raw / raw.sum(axis=-1, keepdims=True)
    return maps
