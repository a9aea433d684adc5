"""Intervals of correlations between heads by leaving out groups of documents."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from attention_atlas.stats.held_out import folds_of
from attention_atlas.stats.intervals import correlation_interval
from attention_atlas.stats.ranks import spearman

REPETITIONS = pytest.mark.parametrize("data_sets", [100, pytest.param(2000, marks=pytest.mark.long)])
HEADS, DOCUMENTS, GROUPS = 72, 40, 10


def interval(seed, correlation):
    """Interval of Spearman over heads of noisy means over documents, and the correlation without noise."""
    chance = np.random.default_rng(seed)
    first = chance.normal(size=HEADS)
    second = correlation * first + math.sqrt(1 - correlation**2) * chance.normal(size=HEADS)
    values = [true + chance.normal(size=(DOCUMENTS, HEADS)) + chance.normal(size=(DOCUMENTS, 1)) for true in (first, second)]
    group = folds_of(DOCUMENTS, GROUPS, seed)
    left = [spearman(*(value[group != k].mean(axis=0) for value in values)) for k in range(GROUPS)]
    value = spearman(*(value.mean(axis=0) for value in values))
    return correlation_interval(value, left), spearman(first, second)


@REPETITIONS
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_a_correlation_is_seldom_called_larger_than_it_is(correlation, data_sets):
    intervals = [interval(seed, correlation) for seed in range(data_sets)]
    above, below = (sum(truth < low for (low, _), truth in intervals), sum(truth > high for (_, high), truth in intervals))
    print(f"correlation {correlation}: too high {above / data_sets:.3f}, too low {below / data_sets:.3f}")
    assert above <= binom.ppf(0.9995, data_sets, 0.025)
    # Noise lowers a correlation, which no interval around the measured one can undo.
    assert below <= binom.ppf(0.9995, data_sets, 0.06)


def test_a_strong_correlation_is_found():
    assert np.mean([interval(seed, 0.9)[0][0] > 0.5 for seed in range(40)]) > 0.9


def test_the_interval_is_that_of_the_formula():
    left = [0.5, 0.6, 0.55, 0.58]
    z = [math.atanh(value) for value in left]
    mean = sum(z) / 4
    half = 3.182446 * math.sqrt(3 / 4 * sum((value - mean) ** 2 for value in z))  # Student's t, 3 degrees of freedom
    assert correlation_interval(0.57, left) == pytest.approx(
        (math.tanh(math.atanh(0.57) - half), math.tanh(math.atanh(0.57) + half))
    )


@pytest.mark.parametrize(("value", "left"), [(0.5, []), (0.5, [0.4]), (math.nan, [0.4, 0.5]), (0.5, [0.4, math.nan])])
def test_nothing_to_leave_out_gives_no_interval(value, left):
    assert np.isnan(correlation_interval(value, left)).all()


def test_perfect_correlations_have_a_finite_interval():
    low, high = correlation_interval(1.0, [1.0, 1.0, 1.0])
    assert (low, high) == pytest.approx((1.0, 1.0))
