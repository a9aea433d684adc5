"""Tests of many heads at once, against slow formulas written out."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from attention_atlas.stats.simultaneous import (
    adjusted_p,
    corrected_p,
    count_p,
    enough_draws,
    exchanged_differences,
    largest_size_interval,
    random_exchanges,
    simultaneous_interval,
    too_few_draws,
    two_sided_p,
)

HEADS, DRAWS = 7, 199
CORRECTIONS = {"holm": "holm", "bh": "fdr_bh"}
"""Correction -> its name in statsmodels."""


def statistics(seed, effect=0.0):
    """Observed statistics and null draws of heads with different spreads that share noise; head 3 may have an effect."""
    generator = np.random.default_rng(seed)
    spread = np.array([0.1, 1, 5, 1, 20, 1, 0])
    noise = generator.normal(size=(HEADS, DRAWS + 1)) + generator.normal(size=DRAWS + 1)
    values = spread[:, None] * noise
    values[3, 0] += effect
    return values[:, 0], values[:, 1:]


def ratio(sums):
    """A score that is no mean of units."""
    return sums[..., 0] / sums[..., 1]


@pytest.mark.parametrize("effect", [0, 9])
@pytest.mark.parametrize("seed", range(4))
def test_p_is_the_share_of_draws_and_the_adjusted_p_that_of_maxima_of_the_heads_left(seed, effect):
    observed, null = statistics(seed, effect)
    p, adjusted = two_sided_p(observed, null), adjusted_p(observed, null)
    spread = [np.sqrt(np.mean(np.square([observed[k], *null[k]]))) or 1.0 for k in range(HEADS)]
    size = [abs(observed[k]) / spread[k] for k in range(HEADS)]
    left, previous = set(range(HEADS)), 0.0
    for head in sorted(range(HEADS), key=lambda k: -size[k]):
        larger = [max(abs(null[k, draw]) / spread[k] for k in left) >= size[head] for draw in range(DRAWS)]
        previous = max(previous, (1 + sum(larger)) / (1 + DRAWS))
        assert adjusted[head] == pytest.approx(previous)
        assert p[head] == pytest.approx((1 + sum(abs(value) >= abs(observed[head]) for value in null[head])) / (1 + DRAWS))
        left.remove(head)
    assert (adjusted >= p).all()
    assert adjusted[6] == 1, "a head that never changes anything"
    assert (adjusted[3] == 1 / (1 + DRAWS)) == (effect > 0), "the floor is that of one test"


@pytest.mark.parametrize("effect", [0, 9])
@pytest.mark.parametrize("seed", range(4))
def test_an_interval_excludes_0_where_the_head_is_significant_among_all(seed, effect):
    observed, null = statistics(seed, effect)
    low, high = simultaneous_interval(observed, null)
    spread = [np.sqrt(np.mean(np.square([observed[k], *null[k]]))) or 1.0 for k in range(HEADS)]
    sizes = [max(abs(values[k]) / spread[k] for k in range(HEADS)) for values in (observed, *null.T)]
    bound = sorted(sizes)[189]  # the 190th of 200: ten are larger
    for head in range(HEADS):
        half = bound * spread[head] if head != 6 else 0.0
        assert [low[head], high[head]] == pytest.approx([observed[head] - half, observed[head] + half])
    first = int(np.argmax(np.abs(observed) / spread))
    assert (not low[first] <= 0 <= high[first]) == (adjusted_p(observed, null)[first] <= 0.05)
    assert low[6] == high[6] == 0, "a head that never changes anything"


def test_the_interval_of_the_largest_size_of_an_effect():
    low, high = np.array([-1.0, -5.0, 2.0]), np.array([1.0, -3.0, 4.0])
    assert largest_size_interval(low, high) == (3.0, 5.0), "the loss of 3 to 5 is larger than the gain of 2 to 4"
    assert largest_size_interval(np.array([-1.0]), np.array([0.5])) == (0.0, 1.0)


def test_the_adjusted_p_ignores_units_of_the_score():
    observed, null = statistics(1)
    units = np.array([1, 100, 0.01, 7, 1, 1, 1])
    assert adjusted_p(units * observed, units[:, None] * null) == pytest.approx(adjusted_p(observed, null))


def test_rounding_does_not_make_draws_smaller():
    observed = np.array([0.1 + 0.2])
    null = np.array([[0.3, -0.3, 0.0]])
    assert two_sided_p(observed, null) == pytest.approx(0.75)
    assert adjusted_p(observed, null) == pytest.approx(0.75)
    assert two_sided_p(np.array([1e-17]), np.array([[0.0, 1e-18, 0.0]])) == 1, "a difference by rounding alone"


def test_exchanged_differences_are_those_of_exchanged_rows():
    generator = np.random.default_rng(3)
    base, changed = generator.integers(1, 9, (10, 2)), generator.integers(1, 9, (4, 10, 2))
    base, changed = base.astype(float), changed.astype(float)
    differences = exchanged_differences(ratio, base, changed, 230, seed=5)
    assert differences.shape == (4, 230)
    exchanges = np.concatenate(list(random_exchanges(10, 230, seed=5)))
    assert set(np.unique(exchanges)) == {0, 1}
    assert exchanges.mean() == pytest.approx(0.5, abs=0.05)
    for head in range(4):
        for draw in range(230):
            exchanged = exchanges[draw][:, None] == 1
            first, second = np.where(exchanged, base, changed[head]), np.where(exchanged, changed[head], base)
            slow = ratio(first.sum(axis=0)) - ratio(second.sum(axis=0))
            assert differences[head, draw] == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("significant", [0, 1, 2, 7])
def test_the_p_of_a_count_is_that_of_draws_tested_one_by_one(significant):
    observed, null = statistics(2)
    everything = np.abs(np.column_stack([observed, null]))
    counts = [
        sum((everything[head] >= everything[head, draw]).mean() < 0.05 for head in range(HEADS)) for draw in range(1, DRAWS + 1)
    ]
    slow = (1 + sum(count >= significant for count in counts)) / (1 + DRAWS)
    assert count_p(significant, observed, null, 0.05) == pytest.approx(slow)


@pytest.mark.parametrize("tests", [1, 2, 30])
def test_corrections_are_those_of_statsmodels(tests):
    p = np.round(np.random.default_rng(tests).beta(0.3, 1, tests), 2)
    assert tests < 30 or len(set(p)) < tests, "some are equal"
    for method, name in CORRECTIONS.items():
        assert corrected_p(p, method, 0.0, 0.05) == pytest.approx(multipletests(p, method=name)[1])


@pytest.mark.parametrize("method", ["holm", "bh"])
def test_a_correction_that_cannot_reach_its_level_is_refused(method):
    p = np.array([0.001, 0.2, 0.03])
    enough = enough_draws(3, 0.05)
    assert enough == 300
    reference = multipletests(p, method=CORRECTIONS[method])[1]
    assert corrected_p(p, method, 0.0, 0.05) == pytest.approx(reference)
    assert corrected_p(p, method, 1 / (1 + enough), 0.05) == pytest.approx(reference)
    assert np.isnan(corrected_p(p, method, 1 / enough, 0.05)).all()
    assert len(corrected_p([], method, 0.0, 0.05)) == 0
    assert too_few_draws("p_bh", 72, 0.05) == (
        "p_bh is empty: its correction for 72 tests at level 0.05 needs at least 7,200 resamples (setting resamples)."
    )
