"""Jensen-Shannon divergence of all pairs of heads: equal to the formula, pair by pair and row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from attention_atlas.attention import divergence
from attention_atlas.attention.divergence import head_divergence


def slow(maps, smoothing=0.0):
    """The formula: a pair, a row, a logarithm at a time, in float64."""
    heads, n = maps.shape[:2]
    p = (1 - smoothing) * maps.astype(np.float64) + smoothing / n
    divergence_sums = np.zeros((heads, heads))
    for a in range(heads):
        for b in range(heads):
            for i in range(n):
                m = (p[a, i] + p[b, i]) / 2
                for x in (p[a, i], p[b, i]):
                    held = x > 0
                    divergence_sums[a, b] += 0.5 * float((x[held] * np.log(x[held] / m[held])).sum())
    return divergence_sums


def rows(generator, heads, n, sharpness=1.0):
    raw = np.exp(sharpness * generator.normal(size=(heads, n, n)))
    return raw / raw.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("heads", "n", "smoothing", "threads"), [(5, 7, 0.0, 1), (4, 9, 0.001, 2), (3, 2, 0.1, 1), (2, 130, 0.001, 2)]
)
def test_equals_the_formula(heads, n, smoothing, threads):
    maps = rows(np.random.default_rng(n), heads, n, 3.0)
    assert head_divergence(maps, smoothing, threads) == pytest.approx(slow(maps, smoothing), abs=2e-6 * n)


@pytest.mark.parametrize(("n", "smoothing"), [(9, 0.001), (4, 0.0), (130, 0.001)])
def test_torch_gives_the_same(n, smoothing, monkeypatch):
    monkeypatch.setattr(divergence, "_DEVICE_BLOCK", 1000)
    maps = rows(np.random.default_rng(n), 4, n, 3.0).astype(np.float16)
    divergences = head_divergence(maps, smoothing, device="cpu")
    assert divergences == pytest.approx(head_divergence(maps, smoothing), abs=2e-6 * n)
    assert (divergences == divergences.T).all()


def test_equals_scipy_row_by_row():
    maps = rows(np.random.default_rng(1), 3, 12, 4.0)
    expected = (jensenshannon(maps[0], maps[2], axis=-1) ** 2).sum()
    assert head_divergence(maps)[0, 2] == pytest.approx(expected, abs=1e-5)


def test_disjoint_rows_are_ln_2_apart_and_equal_rows_nothing():
    n = 6
    first, second = np.zeros((n, n)), np.zeros((n, n))
    first[:, 0], second[:, 1] = 1, 1
    divergences = head_divergence(np.stack([first, second, first]))
    assert divergences[0, 1] == pytest.approx(n * np.log(2), rel=1e-6)
    assert divergences[0, 2] == 0
    uniform = np.full((n, n), 1 / n)
    assert head_divergence(np.stack([first, uniform])) == pytest.approx(slow(np.stack([first, uniform])), abs=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 6), st.integers(1, 20), st.floats(0, 8), st.integers(0, 9999))
def test_symmetric_zero_on_the_diagonal_and_bounded(heads, n, sharpness, seed):
    maps = rows(np.random.default_rng(seed), heads, n, sharpness).astype(np.float16)
    divergences = head_divergence(maps, 0.001)
    assert (divergences == divergences.T).all()
    assert (np.diag(divergences) == 0).all()
    assert (divergences >= 0).all()
    assert (divergences <= n * np.log(2)).all()


def test_float16_maps_and_long_rows_are_within_a_ten_thousandth_of_a_nat():
    maps = rows(np.random.default_rng(3), 3, 512, 5.0).astype(np.float16)
    divergences = head_divergence(maps, 0.001, threads=2) / 512
    p = (0.999 * maps.astype(np.float64) + 0.001 / 512)[[0, 1]]
    m = p.mean(axis=0)
    expected = 0.5 * (p * np.log(p / m)).sum() / 512
    assert divergences[0, 1] == pytest.approx(expected, abs=1e-4)


def test_blocks_and_threads_do_not_change_the_result(monkeypatch):
    maps = rows(np.random.default_rng(4), 6, 30, 2.0)
    whole = head_divergence(maps, 0.001)
    monkeypatch.setattr(divergence, "_BLOCK", 64)
    assert head_divergence(maps, 0.001) == pytest.approx(whole, abs=1e-5)
    assert (head_divergence(maps, 0.001, threads=2) == head_divergence(maps, 0.001, threads=1)).all()


@pytest.mark.parametrize(("shape", "smoothing"), [((2, 3), 0), ((2, 3, 4), 0), ((2, 3, 3), -0.1), ((2, 3, 3), 1.5)])
def test_nonsense_is_refused(shape, smoothing):
    with pytest.raises(ValueError, match=r"expected maps|between 0 and 1"):
        head_divergence(np.ones(shape), smoothing)
