"""Intervals over examples and seeds cover the mean over all seeds, also with few of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, t

from attention_atlas.stats.intervals import percentile_interval, resampled_counts, with_seed_variation

EXAMPLES, DRAWS = 60, 200


def intervals(seeds, of_seed, of_pair, data_set):
    """Interval of a mean of 0 over examples and seeds, and over examples alone."""
    generator = np.random.default_rng(data_set)
    common, pair = generator.normal(size=EXAMPLES), generator.normal(size=(seeds, EXAMPLES))
    values = common + of_seed * generator.normal(size=(seeds, 1)) + of_pair * pair
    counts = np.concatenate(list(resampled_counts(EXAMPLES, DRAWS, data_set)))
    over_examples = (counts @ values.mean(axis=0) / EXAMPLES)[:, None]
    both = with_seed_variation(over_examples, values.mean(axis=1)[:, None], data_set)
    return [percentile_interval(draws[:, 0]) for draws in (both, over_examples)]


@pytest.mark.parametrize("data_sets", [200, pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("seeds", [2, 3, 20])
def test_intervals_cover_a_mean_over_seeds(seeds, data_sets):
    for of_seed, of_pair in ((0.0, 0.5), (0.5, 0.5)):
        missed, without = np.zeros(2), 0
        for data_set in range(data_sets):
            (low, high), (low_alone, high_alone) = intervals(seeds, of_seed, of_pair, data_set)
            missed += np.array([low > 0, high < 0])
            without += low_alone > 0 or high_alone < 0
        print(
            f"{seeds} seeds, spread {of_seed}: missed {missed.sum() / data_sets:.3f}, examples alone {without / data_sets:.3f}"
        )
        # Percentile intervals of a mean of 60 examples miss a little more than 5 %.
        assert missed.sum() <= binom.ppf(0.9995, data_sets, 0.06)
        if of_seed and seeds < 20:
            assert without > 0.2 * data_sets, "intervals over examples ignore the seeds"


def test_variation_has_the_quantiles_of_students_t_and_none_for_one_seed():
    by_seed = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
    resampled = np.zeros((1000, 2))
    drawn = with_seed_variation(resampled, by_seed, 0)
    error = by_seed[:, 0].std(ddof=1) / np.sqrt(3)
    assert np.quantile(drawn[:, 0], [0.025, 0.5, 0.975]) == pytest.approx(error * t.ppf([0.025, 0.5, 0.975], 2), abs=0.1)
    assert (drawn[:, 1] == 0).all(), "seeds that agree add nothing"
    assert with_seed_variation(resampled, by_seed[:1], 0) is resampled
