"""Intervals of several statistics and of the extreme ones: against sorted draws, and their coverage in simulated data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, t

from attention_atlas.stats.simultaneous import (
    largest_interval,
    mean_deviations,
    simultaneous_widths,
    smallest_interval,
    two_sided_p,
    widths,
)


def test_a_value_beyond_the_width_is_one_that_the_test_rejects():
    deviations = np.random.default_rng(0).integers(-6, 7, (3, 199)).astype(float)
    width = widths(deviations, 0.95)
    for value in np.arange(0, 7.0):
        rejected = two_sided_p(np.full(3, value), deviations) <= 0.05
        # Statistics are compared in units of their spread there, which leaves their order as it is.
        assert (rejected == (value > width)).all()


def test_too_few_draws_give_no_interval():
    deviations = np.random.default_rng(0).normal(size=(2, 18))
    assert np.isnan(widths(deviations, 0.95)).all()
    assert np.isfinite(widths(np.hstack([deviations, deviations[:, :1]]), 0.95)).all()
    assert np.isnan(largest_interval(np.zeros(2), deviations, 0.95)).all()


def test_a_statistic_that_never_changes_has_no_width():
    deviations = np.vstack([np.zeros(99), np.random.default_rng(0).normal(size=99)])
    assert widths(deviations, 0.9)[0] == simultaneous_widths(deviations, 0.9)[0] == 0


@pytest.mark.parametrize("units", [8, 30])
def test_the_interval_of_a_mean_is_near_students(units):
    values = np.random.default_rng(0).normal(size=(units, 2)) * [1.0, 10.0]
    deviations = mean_deviations(values, 4000, 0)
    assert deviations.shape == (2, 4000)
    expected = t.ppf(0.975, units - 1) * values.std(axis=0, ddof=1) / np.sqrt(units)
    assert widths(deviations, 0.95) == pytest.approx(expected, rel=0.12)


@pytest.mark.parametrize("data_sets", [150, pytest.param(2000, marks=pytest.mark.long)])
def test_extremes_are_covered_where_the_interval_of_the_one_that_is_seen_is_not(data_sets):
    """30 equal true values: the largest observed mean lies above them all by chance."""
    generator = np.random.default_rng(0)
    covered, above, naive, together = 0, 0, 0, 0
    for data_set in range(data_sets):
        values = generator.normal(size=(25, 30))
        means, deviations = values.mean(axis=0), mean_deviations(values, 200, data_set)
        low, high = largest_interval(means, deviations, 0.95)
        covered += low <= 0 <= high
        above += low > 0
        naive += means.max() - widths(deviations, 0.95)[means.argmax()] <= 0
        together += (np.abs(means) <= simultaneous_widths(deviations, 0.95)).all()
        assert smallest_interval(-means, deviations, 0.95) == pytest.approx((-high, -low))
    print(f"above {above / data_sets:.4f}, covered {covered / data_sets:.4f}, all together {together / data_sets:.4f}")
    assert above <= binom.ppf(0.9995, data_sets, 0.05)
    assert covered >= binom.ppf(0.0005, data_sets, 0.95)
    assert together >= binom.ppf(0.0005, data_sets, 0.95)
    assert naive < 0.6 * data_sets, "the interval of the observed largest alone does not cover"


def test_a_planted_largest_value_is_found():
    generator = np.random.default_rng(0)
    detected = 0
    for data_set in range(50):
        values = generator.normal(size=(25, 30))
        values[:, 7] += 1.2
        detected += largest_interval(values.mean(axis=0), mean_deviations(values, 200, data_set), 0.95)[0] > 0
    assert detected >= 45
