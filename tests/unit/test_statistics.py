"""Bootstrap intervals and folds, against explicit resamples, scipy and simulated data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attention_atlas.stats.held_out import folds_of
from attention_atlas.stats.intervals import bootstrap_ratio, percentile_interval


def slow_ratios(top: np.ndarray, bottom: np.ndarray, resamples: int, seed: int) -> list[np.ndarray]:
    """The ratio of every resample, with the clusters drawn written out one by one."""
    generator = np.random.default_rng(seed)
    n = len(top)
    ratios = []
    for start in range(0, resamples, 100):
        for counts in generator.multinomial(n, [1 / n] * n, size=min(100, resamples - start)):
            drawn = [cluster for cluster in range(n) for _ in range(counts[cluster])]
            assert len(drawn) == n
            ratios.append(sum(top[c] for c in drawn) / sum(bottom[c] for c in drawn))
    return ratios


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_interval_is_that_of_explicit_resamples(level):
    generator = np.random.default_rng(1)
    top = generator.random((9, 2, 3))
    bottom = generator.integers(1, 20, size=(9, 2, 3)).astype(float)
    low, high = bootstrap_ratio(top, bottom, 230, seed=7, level=level)
    ratios = slow_ratios(top, bottom, 230, seed=7)
    assert low.shape == high.shape == (2, 3)
    tail = (1 - level) / 2
    np.testing.assert_allclose(low, np.quantile(ratios, tail, axis=0))
    np.testing.assert_allclose(high, np.quantile(ratios, 1 - tail, axis=0))


def test_denominator_is_broadcast():
    generator = np.random.default_rng(2)
    top, sizes = generator.random((8, 4)), generator.integers(1, 9, size=(8, 1))
    narrow = bootstrap_ratio(top, sizes, 150, seed=0)
    wide = bootstrap_ratio(top, np.repeat(sizes, 4, axis=1), 150, seed=0)
    np.testing.assert_array_equal(narrow, wide)


def test_one_ratio_has_an_interval_without_shape():
    low, high = bootstrap_ratio([1, 2, 3, 4], [2, 2, 2, 2], 100, seed=0)
    assert low.shape == high.shape == ()
    assert 0.5 <= low < 1.25 < high <= 2


def test_interval_of_a_mean_is_close_to_scipys():
    data = np.random.default_rng(3).gamma(2.0, size=60)
    low, high = bootstrap_ratio(data, np.ones(60), 4000, seed=1)
    reference = stats.bootstrap((data,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(2))
    spread = reference.standard_error
    # The 2.5 % quantile of 4000 resamples has a standard error of 0.04 spreads.
    assert low == pytest.approx(reference.confidence_interval.low, abs=0.2 * spread)
    assert high == pytest.approx(reference.confidence_interval.high, abs=0.2 * spread)


@pytest.mark.parametrize(("level", "least", "most"), [(0.95, 0.915, 0.975), (0.8, 0.75, 0.84)])
def test_interval_covers_the_truth_as_often_as_it_says(level, least, most):
    # Each column is a separate corpus: 80 sentences of unequal sizes whose accuracies vary around 0.6.
    generator = np.random.default_rng(4)
    sizes = generator.integers(3, 30, size=(80, 600))
    accuracies = generator.beta(6, 4, size=(80, 600))
    right = generator.binomial(sizes, accuracies)
    low, high = bootstrap_ratio(right, sizes, 400, seed=5, level=level)
    covered = np.mean((low <= 0.6) & (high >= 0.6))
    assert least < covered < most


def test_no_denominator_gives_a_missing_interval():
    low, high = bootstrap_ratio(np.zeros((5, 2)), np.array([[0, 1]] * 5), 120, seed=0)
    assert np.isnan(low[0])
    assert np.isnan(high[0])
    assert low[1] == high[1] == 0


def test_resamples_without_a_denominator_are_left_out():
    # Only one of four clusters has the relation: every resample that draws it gives exactly its ratio, a third draw none.
    top, bottom = np.zeros(4), np.zeros(4)
    top[2], bottom[2] = 3, 4
    low, high = bootstrap_ratio(top, bottom, 300, seed=0)
    assert low == high == 0.75


def test_missing_resamples_do_not_shift_the_others():
    resampled = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, np.nan], [4.0, np.nan]])
    low, high = percentile_interval(resampled, level=0.5)
    np.testing.assert_allclose(low, [1.75, 5])
    np.testing.assert_allclose(high, [3.25, 5])


def test_interval_depends_on_the_seed_alone():
    data = np.random.default_rng(6).random(30)
    first, again, another_seed = (bootstrap_ratio(data, np.ones(30), 200, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first != another_seed


@settings(max_examples=40, deadline=None)
@given(clusters=st.integers(2, 60), folds=st.integers(2, 12), seed=st.integers(0, 2**31))
def test_folds_are_of_like_size(clusters, folds, seed):
    assigned = folds_of(clusters, folds, seed)
    sizes = np.bincount(assigned, minlength=folds)
    assert assigned.shape == (clusters,)
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(assigned, folds_of(clusters, folds, seed))


def test_folds_are_random():
    first, another_seed = folds_of(200, 5, seed=0), folds_of(200, 5, seed=1)
    assert (first != another_seed).mean() > 0.5
    # Sentences of one document stand side by side: the folds must not follow the order of the corpus.
    assert not np.array_equal(first, np.arange(200) % 5)
    assert 0.1 < (first[1:] == first[:-1]).mean() < 0.3
