"""Tests and intervals of many heads at once: against slow formulas, sorted draws and simulated data."""

import numpy as np
import pytest
from scipy.stats import binom, false_discovery_control, norm
from statsmodels.stats.multitest import multipletests

from attention_atlas.stats import simultaneous as st
from attention_atlas.stats.significance import against_null, p_of_intervals

HEADS, DRAWS = 7, 199


def statistics(seed, effect=0.0):
    """Observed statistics and null draws of heads with different spreads that share noise; head 3 may have an effect."""
    generator = np.random.default_rng(seed)
    spread = np.array([0.1, 1, 5, 1, 20, 1, 0])
    noise = generator.normal(size=(HEADS, DRAWS + 1)) + generator.normal(size=DRAWS + 1)
    values = spread[:, None] * noise
    values[3, 0] += effect
    return values[:, 0], values[:, 1:]


@pytest.mark.parametrize(("seed", "effect"), [(0, 0), (1, 9)])
def test_p_values_and_intervals_are_those_of_a_loop_over_heads_and_draws(seed, effect):
    observed, null = statistics(seed, effect)
    p, adjusted = st.two_sided_p(observed, null), st.adjusted_p(observed, null)
    spread = [np.sqrt(np.mean(np.square([observed[k], *null[k]]))) or 1.0 for k in range(HEADS)]
    size = [abs(observed[k]) / spread[k] for k in range(HEADS)]
    left, previous = set(range(HEADS)), 0.0
    for head in sorted(range(HEADS), key=lambda k: -size[k]):
        larger = [max(abs(null[k, draw]) / spread[k] for k in left) >= size[head] for draw in range(DRAWS)]
        previous = max(previous, (1 + sum(larger)) / (1 + DRAWS))
        assert adjusted[head] == pytest.approx(previous)
        assert p[head] == pytest.approx((1 + sum(abs(value) >= abs(observed[head]) for value in null[head])) / (1 + DRAWS))
        left.remove(head)
    assert adjusted[6] == 1, "a head that never changes anything"
    assert (adjusted[3] == 1 / (1 + DRAWS)) == (effect > 0), "the floor is that of one test"
    low, high = st.simultaneous_interval(observed, null)
    sizes = [max(abs(values[k]) / spread[k] for k in range(HEADS)) for values in (observed, *null.T)]
    half = sorted(sizes)[189] * np.where(np.arange(HEADS) == 6, 0, spread)  # the 190th of 200: ten are larger
    assert low == pytest.approx(observed - half)
    assert high == pytest.approx(observed + half)
    first = int(np.argmax(size))
    assert (not low[first] <= 0 <= high[first]) == (adjusted[first] <= 0.05)


def test_rounding_does_not_make_draws_smaller():
    observed, null = np.array([0.1 + 0.2]), np.array([[0.3, -0.3, 0.0]])
    assert st.two_sided_p(observed, null) == st.adjusted_p(observed, null) == pytest.approx(0.75)
    assert st.two_sided_p(np.array([1e-17]), np.array([[0.0, 1e-18, 0.0]])) == 1, "a difference by rounding alone"


def test_exchanged_differences_are_those_of_exchanged_rows():
    generator = np.random.default_rng(3)
    base, changed = generator.integers(1, 9, (10, 2)) * 1.0, generator.integers(1, 9, (4, 10, 2)) * 1.0

    def ratio(sums):
        return sums[..., 0] / sums[..., 1]

    differences = st.exchanged_differences(ratio, base, changed, 130, seed=5)
    exchanges = np.concatenate(list(st.random_exchanges(10, 130, seed=5)))
    assert exchanges.mean() == pytest.approx(0.5, abs=0.05)
    for head, draw in np.ndindex(4, 130):
        exchanged = exchanges[draw][:, None] == 1
        first, second = np.where(exchanged, base, changed[head]), np.where(exchanged, changed[head], base)
        slow = ratio(first.sum(axis=0)) - ratio(second.sum(axis=0))
        assert differences[head, draw] == pytest.approx(slow, abs=1e-12)


def test_the_p_of_a_count_is_that_of_draws_tested_one_by_one():
    observed, null = statistics(2)
    everything = np.abs(np.column_stack([observed, null]))
    counts = [
        sum((everything[head] >= everything[head, draw]).mean() < 0.05 for head in range(HEADS)) for draw in range(1, DRAWS + 1)
    ]
    slow = (1 + sum(count >= 2 for count in counts)) / (1 + DRAWS)
    assert st.count_p(2, observed, null, 0.05) == pytest.approx(slow)


@pytest.mark.parametrize(("method", "name"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrections_are_those_of_statsmodels_and_missing_where_they_cannot_reach_their_level(method, name):
    for tests in (1, 3, 30):
        p = np.round(np.random.default_rng(tests).beta(0.3, 1, tests), 2)
        reference, enough = multipletests(p, method=name)[1], st.enough_draws(tests, 0.05)
        assert enough == 100 * tests
        for smallest in (0.0, 1 / (1 + enough)):
            assert st.corrected_p(p, method, smallest, 0.05) == pytest.approx(reference)
        assert np.isnan(st.corrected_p(p, method, 1 / enough, 0.05)).all()
    assert len(st.corrected_p([], method, 0.0, 0.05)) == 0


def test_a_value_beyond_the_width_is_one_that_the_test_rejects():
    deviations = np.random.default_rng(0).integers(-6, 7, (3, 199)).astype(float)
    width = st.widths(deviations, 0.95)
    for value in np.arange(0, 7.0):
        assert ((st.two_sided_p(np.full(3, value), deviations) <= 0.05) == (value > width)).all()
    never = np.vstack([np.zeros(99), deviations[0, :99]])
    assert st.widths(never, 0.9)[0] == st.simultaneous_widths(never, 0.9)[0] == 0, "a statistic that never changes"
    assert np.isnan(st.widths(deviations[:, :18], 0.95)).all(), "too few draws"


@pytest.mark.parametrize("data_sets", [150, pytest.param(2000, marks=pytest.mark.long)])
def test_extremes_are_covered_where_the_interval_of_the_one_that_is_seen_is_not(data_sets):
    """30 equal true values: the largest observed mean lies above them all by chance."""
    generator = np.random.default_rng(0)
    covered, above, naive, together, found = 0, 0, 0, 0, 0
    for data_set in range(data_sets):
        values = generator.normal(size=(25, 30))
        means, deviations = values.mean(axis=0), st.mean_deviations(values, 200, data_set)
        low, high = st.largest_interval(means, deviations, 0.95)
        covered += low <= 0 <= high
        above += low > 0
        naive += means.max() - st.widths(deviations, 0.95)[means.argmax()] <= 0
        together += (np.abs(means) <= st.simultaneous_widths(deviations, 0.95)).all()
        # A planted largest value is found.
        found += st.largest_interval(means + 1.2 * (np.arange(30) == 7), deviations, 0.95)[0] > 0
    assert above <= binom.ppf(0.9995, data_sets, 0.05)
    assert min(covered, together) >= binom.ppf(0.0005, data_sets, 0.95)
    assert naive < 0.6 * data_sets, "the interval of the observed largest alone does not cover"
    assert found >= 0.9 * data_sets


@pytest.mark.parametrize("greater", [False, True])
def test_a_further_draw_has_a_small_p_as_rarely_as_p_says(greater):
    sample = np.random.default_rng(0).exponential(size=(600, 100))
    p = np.array([against_null(row[:1], row[1:], greater)["p"].item() for row in sample])
    for level in (0.01, 0.05, 0.2):
        assert (p <= level).sum() <= binom.ppf(0.9999, 600, level)
    assert (p <= 0.05).sum() >= binom.ppf(0.0001, 600, 0.05), "no more conservative than it has to be"


def test_columns_against_draws_by_hand():
    table = against_null([0.5, 2.0, -3.0, np.nan, 0.0], np.arange(1000) / 1000)
    assert table.loc[0, ["null_low", "null_high"]].tolist() == pytest.approx([0.025, 0.975], abs=1e-3)
    assert table["p"].tolist() == pytest.approx([1, 1 / 1001, 1 / 1001, np.nan, 3 / 1001], abs=2e-3, nan_ok=True)
    assert table["q"][[0, 1, 2, 4]].tolist() == pytest.approx(false_discovery_control(table["p"][[0, 1, 2, 4]]))
    assert np.isnan(table["q"][3])
    higher = against_null([0.5, 2.0, -3.0], np.arange(1000) / 1000, greater=True)["p"]
    assert higher.tolist() == pytest.approx([501 / 1001, 1 / 1001, 1]), "a low value is no evidence of an effect"
    assert against_null(np.full(12, 9.0), np.arange(1190))["q"].isna().all(), "too few draws"
    generator = np.random.default_rng(1)
    q = against_null(np.r_[generator.normal(size=60), generator.normal(6, 1, size=12)], generator.normal(size=7200))["q"]
    assert (q[60:] < 0.05).mean() > 0.9, "an effect is seen"
    assert (q[:60] < 0.05).mean() < 0.1


def test_p_of_an_interval_is_that_of_the_normal_test():
    z, half = np.array([-3.0, -1.0, 0.0, 0.5, 2.0]), norm.ppf(0.975)
    assert p_of_intervals(z, z - half, z + half, 0.0) == pytest.approx(2 * norm.sf(np.abs(z)))
    assert p_of_intervals(z, z - half, z + half, 0.0, greater=True) == pytest.approx(norm.sf(z))
    generator = np.random.default_rng(0)
    values, below, above = generator.normal(size=1000), *generator.uniform(0.01, 3, (2, 1000))
    excluded = (values - below > 0.2) | (values + above < 0.2)
    assert np.array_equal(p_of_intervals(values, values - below, values + above, 0.2) < 0.05, excluded), "skewed intervals too"
