"""Intervals, folds and ranks: against explicit resamples, scipy and scikit-learn, and their coverage in simulated data."""

import math

import numpy as np
import pytest
from scipy.stats import binom, pearsonr, spearmanr
from sklearn.metrics import roc_auc_score

from attention_atlas.stats.held_out import folds_of
from attention_atlas.stats.intervals import (
    bootstrap_ratio,
    correlation_interval,
    percentile_interval,
    resampled_counts,
    with_seed_variation,
)
from attention_atlas.stats.ranks import aucs, clustered_auc_intervals, pearson, spearman

REPETITIONS = pytest.mark.parametrize("data_sets", [100, pytest.param(2000, marks=pytest.mark.long)])


def test_interval_is_that_of_explicit_resamples():
    generator = np.random.default_rng(1)
    top, bottom = generator.random((9, 2, 3)), generator.integers(1, 20, size=(9, 1, 1)).astype(float)
    low, high = bootstrap_ratio(top, bottom, 230, seed=7)
    draws, ratios = np.random.default_rng(7), []
    for size in (100, 100, 30):
        for counts in draws.multinomial(9, [1 / 9] * 9, size=size):
            drawn = [cluster for cluster in range(9) for _ in range(counts[cluster])]
            ratios.append(sum(top[c] for c in drawn) / sum(bottom[c] for c in drawn))
    np.testing.assert_allclose([low, high], np.quantile(ratios, [0.025, 0.975], axis=0))


def test_resamples_without_a_denominator_are_left_out():
    low, high = bootstrap_ratio(np.zeros((5, 2)), np.array([[0, 1]] * 5), 120, seed=0)
    np.testing.assert_array_equal([low, high], [[np.nan, 0], [np.nan, 0]])


def test_folds_are_random_and_of_like_size():
    assigned = folds_of(202, 5, seed=0)
    assert sorted(np.bincount(assigned)) == [40, 40, 40, 41, 41]
    # Sentences of one document stand side by side: the folds must not follow the order of the corpus.
    assert 0.1 < (assigned[1:] == assigned[:-1]).mean() < 0.3


@REPETITIONS
@pytest.mark.parametrize(("seeds", "of_seed"), [(3, 0.0), (2, 0.5)])
def test_intervals_cover_a_mean_over_examples_and_seeds(seeds, of_seed, data_sets):
    missed = without = 0
    for data_set in range(data_sets):
        generator = np.random.default_rng(data_set)
        common, pair = generator.normal(size=60), generator.normal(size=(seeds, 60))
        values = common + of_seed * generator.normal(size=(seeds, 1)) + 0.5 * pair
        counts = np.concatenate(list(resampled_counts(60, 200, data_set)))
        over_examples = (counts @ values.mean(axis=0) / 60)[:, None]
        both = with_seed_variation(over_examples, values.mean(axis=1)[:, None], data_set)
        (low, high), (low_alone, high_alone) = (percentile_interval(drawn[:, 0]) for drawn in (both, over_examples))
        missed += not low <= 0 <= high
        without += not low_alone <= 0 <= high_alone
    # Percentile intervals of a mean of 60 examples miss a little more than 5 %.
    assert missed <= binom.ppf(0.9995, data_sets, 0.06)
    if seeds == 2:
        assert without > 0.2 * data_sets, "intervals over examples ignore the seeds"


def test_correlations_of_rows_are_those_of_scipy():
    chance = np.random.default_rng(0)
    first, second = chance.normal(size=(5, 4, 12)), chance.integers(3, size=(5, 4, 12)).astype(float)
    pairs = list(zip(first.reshape(-1, 12), second.reshape(-1, 12), strict=True))
    assert spearman(first, second).ravel() == pytest.approx([spearmanr(*pair).statistic for pair in pairs])
    assert pearson(first, second).ravel() == pytest.approx([pearsonr(*pair).statistic for pair in pairs])


def test_aucs_are_those_of_scikit_learn_with_ties():
    chance = np.random.default_rng(0)
    positive, scores = chance.random(60) < 0.3, chance.integers(0, 6, (60, 4)).astype(float)
    assert aucs(scores, positive) == pytest.approx([roc_auc_score(positive, column) for column in scores.T])


def test_the_interval_of_an_auc_is_that_of_sums_over_pairs():
    """Obuchowski's variance from a loop over all pairs of a positive and a negative word."""
    chance = np.random.default_rng(1)
    positive, scores = chance.random(30) < 0.4, chance.integers(0, 9, (30, 1)).astype(float)
    clusters, places = np.arange(30) % 6, np.arange(30)
    wins = {(i, j): (scores[i, 0] > scores[j, 0]) + 0.5 * (scores[i, 0] == scores[j, 0]) for i in places for j in places}
    up, down = places[positive], places[~positive]
    auc = np.mean([wins[i, j] for i in up for j in down])
    terms = np.zeros(6)
    for i in up:
        terms[clusters[i]] += (np.mean([wins[i, j] for j in down]) - auc) / len(up)
    for j in down:
        terms[clusters[j]] += (np.mean([wins[i, j] for i in up]) - auc) / len(down)
    half = 2.570582 * np.sqrt(6 / 5 * (terms**2).sum())  # Student's t, 5 degrees of freedom
    low, high = clustered_auc_intervals(scores, positive, clusters)
    assert [low[0], high[0]] == pytest.approx([auc - half, auc + half], abs=1e-6)
    assert np.isnan(clustered_auc_intervals(scores, positive, np.zeros(30, dtype=int))).all(), "one document"


@REPETITIONS
def test_aucs_by_chance_are_alarms_as_often_as_the_level(data_sets):
    """Scores shift with the document, as the shares of keyphrase words do; the true AUC is 0.5."""
    alarms = ignoring = 0
    clusters = np.repeat(np.arange(24), 30)
    for seed in range(data_sets):
        chance = np.random.default_rng(seed)
        positive = chance.random(720) < chance.uniform(0.05, 0.4, 24)[clusters]
        scores = chance.normal(size=(720, 1)) + chance.normal(size=(24, 1))[clusters]
        for_words = clustered_auc_intervals(scores, positive, np.arange(720))
        (low,), (high,) = clustered_auc_intervals(scores, positive, clusters)
        alarms += not low <= 0.5 <= high
        ignoring += not for_words[0][0] <= 0.5 <= for_words[1][0]
    assert alarms <= binom.ppf(0.9995, data_sets, 0.05)
    assert ignoring > 2 * alarms, "words of a document are not independent"


def test_an_interval_by_leaving_out_groups_is_that_of_the_formula():
    left = [0.5, 0.6, 0.55, 0.58]
    z = [math.atanh(value) for value in left]
    half = 3.182446 * math.sqrt(3 / 4 * sum((value - sum(z) / 4) ** 2 for value in z))  # Student's t, 3 degrees of freedom
    expected = math.tanh(math.atanh(0.57) - half), math.tanh(math.atanh(0.57) + half)
    assert correlation_interval(0.57, left) == pytest.approx(expected)
    assert np.isnan(correlation_interval(0.5, [0.4])).all()
