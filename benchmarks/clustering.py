"""Divergence between all pairs of heads: entropies of mixtures in blocks against the formula, in float32."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from attention_atlas.attention.divergence import head_divergence
from benchmarks.timing import report, side_by_side

HEADS, LENGTH, LARGE = 144, 128, (384, 512)
SMOOTHING = 0.001


def run() -> None:
    """Print the ratio, the largest difference, and the peak memory for 384 heads of 512 tokens."""
    maps = random_maps(HEADS, LENGTH)
    threads = 2

    def formula() -> np.ndarray:
        """One head against all others at a time: half of both Kullback-Leibler divergences from the mean."""
        p = (1 - SMOOTHING) * maps.astype(np.float32) + np.float32(SMOOTHING / LENGTH)
        divergence = np.zeros((HEADS, HEADS))
        for a in range(HEADS):
            mean = (p[a] + p) / 2
            both = p[a] * np.log(p[a] / mean) + p * np.log(p / mean)
            divergence[a] = both.sum(axis=(1, 2)) / 2
        return divergence

    candidates = {
        f"blocks, {threads} threads": lambda: head_divergence(maps, SMOOTHING, threads),
        "blocks, 1 thread": lambda: head_divergence(maps, SMOOTHING),
        "formula in numpy, float32": formula,
    }
    difference = np.abs(candidates["blocks, 1 thread"]() - formula()).max() / LENGTH
    print(f"{HEADS} heads x {LENGTH} tokens, one segment; largest difference {difference:.1e} nats a token")
    report(side_by_side(candidates, 3), f"blocks, {threads} threads")
    heads, length = LARGE
    held = heads * length**2 * 2 / 2**20
    print(f"{heads} heads x {length} tokens: maps of {held:.0f} MiB in float16, at the peak {_peak() - held:.0f} MiB on top")


def random_maps(heads: int, n: int) -> np.ndarray:
    """Maps [head, n, n] in float16 whose rows range from sharp to even, as those of real heads do."""
    generator = np.random.default_rng(0)
    maps = np.empty((heads, n, n), np.float16)
    for head in range(heads):
        raw = np.exp(generator.uniform(0.5, 4) * generator.standard_normal((n, n), dtype=np.float32))
        maps[head] = raw / raw.sum(axis=-1, keepdims=True)
    return maps


def _peak() -> float:
    """Peak memory in MiB of comparing the large maps, over what the program takes without them."""
    library = Path(__file__).resolve().parents[1] / "workflow" / "lib"
    code = (
        f"import sys; sys.path.insert(0, {str(library)!r}); from benchmarks import clustering as c; import resource as r;"
        "peak = lambda: r.getrusage(r.RUSAGE_SELF).ru_maxrss / 1024; before = peak();"
        "c.head_divergence(c.random_maps(*c.LARGE), c.SMOOTHING, 2); print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=library.parents[1])
    return float(done.stdout.split()[-1])
