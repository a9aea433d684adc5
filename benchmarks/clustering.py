"""Divergence between all pairs of heads: products of features against the formula and one logarithm per pair and entry.

The processor's features can be restricted, to measure as if it had AVX2 alone:

NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL" ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 OPENBLAS_CORETYPE=Haswell \\
    python -m benchmarks clustering
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from attention_atlas.attention.divergence import head_divergence
from benchmarks.timing import report, side_by_side

HEADS, LENGTH, LARGE = 144, 128, (384, 512)
SMOOTHING = 0.001
BLOCK = 32768
"""Numbers whose logarithms are taken at a time: they and their logarithms stay in the second cache of a core."""


def run() -> None:
    """Print ratio, share of the rate of logarithms, largest difference, and the peak memory for 384 heads of 512 tokens.

    The share is the time of one float32 logarithm for each pair of heads and entry, heads (heads - 1) / 2 n n of them, over
    that of the divergence; by the fastest of numpy's and torch's functions, on numbers that stay in the cache.
    """
    torch = _torch()
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

    def named(threads: int) -> str:
        return f"features, {threads} thread{'s' * (threads > 1)}"

    def seconds_of_logarithms(medians: dict[str, float], threads: int) -> float:
        return min(medians[f"{name}, {threads}"] for name in LOGARITHMS)

    count = HEADS * (HEADS - 1) // 2 * LENGTH**2
    difference = np.abs(head_divergence(maps, SMOOTHING) - formula()).max() / LENGTH
    print(f"{HEADS} heads x {LENGTH} tokens, one segment; largest difference {difference:.1e} nats per token")
    candidates: dict[str, Callable[[], object]] = {}
    for number in (threads, 1):
        candidates[named(number)] = lambda number=number: head_divergence(maps, SMOOTHING, number)
        for name in LOGARITHMS:
            candidates[f"{name}, {number}"] = lambda name=name, number=number: take_logarithms(name, count, number)
    inner_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    medians = side_by_side(candidates, 15)
    torch.set_num_threads(inner_threads)
    report(medians, named(threads))
    for number in (threads, 1):
        share = seconds_of_logarithms(medians, number) / medians[named(number)]
        print(f"{named(number)}: {share:.2f} of the rate of logarithms alone ({count / 1e6:.1f} million)")
    report(side_by_side({named(threads): candidates[named(threads)], "formula in numpy, float32": formula}, 3), named(threads))
    heads, length = LARGE
    held = heads * length**2 * 2 / 2**20
    print(f"{heads} heads x {length} tokens: maps of {held:.0f} MiB in float16, at the peak {_peak() - held:.0f} MiB on top")


LOGARITHMS: dict[str, Callable[[np.ndarray, np.ndarray], object]] = {
    "numpy.log": lambda numbers, out: np.log(numbers, out=out),
    "numpy.log2": lambda numbers, out: np.log2(numbers, out=out),
    "torch.log": lambda numbers, out: _torch().log(_torch().from_numpy(numbers), out=_torch().from_numpy(out)),
    "torch.log2": lambda numbers, out: _torch().log2(_torch().from_numpy(numbers), out=_torch().from_numpy(out)),
}


def take_logarithms(name: str, count: int, threads: int) -> None:
    """Take as many float32 logarithms by one of `LOGARITHMS`, a block at a time, shared out among threads."""

    def part(_: int) -> None:
        numbers = np.random.default_rng(0).uniform(1e-5, 2, BLOCK).astype(np.float32)
        out = np.empty_like(numbers)
        for _ in range(round(count / threads / BLOCK)):
            LOGARITHMS[name](numbers, out)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(part, range(threads)))


def random_maps(heads: int, n: int) -> np.ndarray:
    """Maps [head, n, n] in float16 whose rows range from sharp to even, as those of real heads do."""
    generator = np.random.default_rng(0)
    maps = np.empty((heads, n, n), np.float16)
    for head in range(heads):
        raw = np.exp(generator.uniform(0.5, 4) * generator.standard_normal((n, n), dtype=np.float32))
        maps[head] = raw / raw.sum(axis=-1, keepdims=True)
    return maps


def _torch() -> Any:
    """Imported late: the process that measures memory does without it."""
    import torch

    return torch


def _peak() -> float:
    """Peak memory in MiB of comparing the large maps, over what the program takes without them.

    From /proc (Linux): the peak that `resource` gives begins with that of the process that started this one.
    """
    library = Path(__file__).resolve().parents[1] / "workflow" / "lib"
    code = (
        f"import sys; sys.path.insert(0, {str(library)!r}); from benchmarks import clustering as c; import re;"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) / 1024; before = peak();"
        "c.head_divergence(c.random_maps(*c.LARGE), c.SMOOTHING, 2); print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=library.parents[1])
    return float(done.stdout.split()[-1])
