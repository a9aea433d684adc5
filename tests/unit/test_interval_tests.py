"""p-values from intervals: against the test that made the interval, and by simulation."""

import numpy as np
import pytest
from scipy.stats import norm

from attention_atlas.stats.significance import p_of_intervals


def test_p_is_that_of_the_normal_test():
    z = np.array([-3.0, -1.0, 0.0, 0.5, 2.0])
    half = norm.ppf(0.975)
    assert p_of_intervals(z, z - half, z + half, 0.0) == pytest.approx(2 * norm.sf(np.abs(z)))


def test_p_is_below_the_level_exactly_if_the_interval_excludes_the_null_value():
    generator = np.random.default_rng(0)
    values = generator.normal(size=1000)
    low, high = values - generator.uniform(0.01, 3, 1000), values + generator.uniform(0.01, 3, 1000)
    p = p_of_intervals(values, low, high, 0.2)
    assert np.array_equal(p < 0.05, (low > 0.2) | (high < 0.2))


def test_no_width_and_missing_numbers_give_no_p():
    p = p_of_intervals([1.0, np.nan, 1.0], [1.0, 0.0, np.nan], [2.0, 1.0, 2.0], 0.0)
    assert np.isnan(p).all()


@pytest.mark.parametrize(("effect", "smallest", "largest"), [(0.0, 0.03, 0.07), (0.5, 0.9, 1.0)])
def test_rates_under_the_null_and_with_an_effect(effect, smallest, largest):
    samples = np.random.default_rng(1).normal(effect, 1, size=(2000, 60))
    means, half = samples.mean(axis=1), norm.ppf(0.975) * samples.std(axis=1, ddof=1) / 60**0.5
    rate = (p_of_intervals(means, means - half, means + half, 0.0) < 0.05).mean()
    assert smallest <= rate <= largest
