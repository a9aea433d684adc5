"""Jensen-Shannon divergence of all pairs of heads: equal to the formula, pair by pair and row by row."""

import itertools

import numpy as np
import pytest
from scipy.special import rel_entr
from threadpoolctl import threadpool_info

from attention_atlas.attention import divergence
from attention_atlas.attention.divergence import TOLERANCE, head_divergence

ROUNDING = 2e-6
"""Nats per row by which sums in float32 may be off."""


def slow(maps, smoothing=0.0):
    """The formula, a pair at a time, in float64."""
    heads, n = maps.shape[:2]
    p = (1 - smoothing) * maps.astype(np.float64) + smoothing / n
    pairs = [[(rel_entr(a, (a + b) / 2) + rel_entr(b, (a + b) / 2)).sum() / 2 for b in p] for a in p]
    return np.array(pairs).reshape(heads, heads)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize(("heads", "n", "smoothing"), [(5, 7, 0.0), (4, 9, 0.001), (3, 2, 0.1), (2, 512, 0.001)])
def test_equals_the_formula_by_lookup_by_computation_and_by_torch(heads, n, smoothing, dtype, monkeypatch):
    raw = np.exp(3 * np.random.default_rng(n).normal(size=(heads, n, n)))
    maps = (raw / raw.sum(axis=-1, keepdims=True)).astype(dtype)
    divergences = head_divergence(maps, smoothing)
    # Not above the formula but for rounding, and at most the tolerance below.
    too_small = (slow(maps, smoothing) - divergences) / n
    assert too_small.min() >= -ROUNDING
    assert too_small.max() <= TOLERANCE + ROUNDING
    monkeypatch.setattr(divergence, "_DEVICE_BLOCK", 1000)
    assert head_divergence(maps, smoothing, device="cpu") == pytest.approx(divergences, abs=ROUNDING * n)
    # Neither do blocks and threads change the result.
    monkeypatch.setattr(divergence, "_BLOCK", 64)
    before = threadpool_info()
    threaded = head_divergence(maps, smoothing, threads=2)
    assert threadpool_info() == before, "linear algebra has its threads again afterwards"
    assert threaded == pytest.approx(divergences, abs=ROUNDING * n)
    assert (threaded == head_divergence(maps, smoothing)).all()


def test_what_is_no_map_is_refused():
    for shape, smoothing in (((2, 3), 0), ((2, 3, 4), 0), ((2, 3, 3), -0.1), ((2, 3, 3), 1.5)):
        with pytest.raises(ValueError, match=r"expected maps|between 0 and 1"):
            head_divergence(np.ones(shape), smoothing)
    for dtype, weight in itertools.product((np.float16, np.float32), (-0.5, 1.5, np.nan)):
        maps = np.full((2, 3, 3), 1 / 3, dtype)
        maps[1, 2, 0] = weight
        with pytest.raises(ValueError, match="numbers from 0 to 1"):
            head_divergence(maps)
