"""Intervals, folds and ranks: against explicit resamples, scipy and scikit-learn, and their coverage in simulated data."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom, pearsonr, spearmanr
from sklearn.metrics import roc_auc_score

from attention_atlas.methods.head_tables import DOCUMENTS, independent_units, mean_rows
from attention_atlas.stats import intervals
from attention_atlas.stats.held_out import folds_of
from attention_atlas.stats.intervals import bootstrap_ratio, correlation_interval, resampled_counts, with_seed_variation
from attention_atlas.stats.ranks import aucs, clustered_auc_intervals, pearson, spearman

REPETITIONS = pytest.mark.parametrize("data_sets", [100, pytest.param(2000, marks=pytest.mark.long)])


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_interval_is_that_of_explicit_resamples(level):
    generator = np.random.default_rng(1)
    top, bottom = generator.random((9, 2, 3)), generator.integers(1, 20, size=(9, 1, 1)).astype(float)
    low, high = bootstrap_ratio(top, bottom, 230, seed=7, level=level)
    draws, ratios = np.random.default_rng(7), []
    for size in (100, 100, 30):
        for counts in draws.multinomial(9, [1 / 9] * 9, size=size):
            drawn = [cluster for cluster in range(9) for _ in range(counts[cluster])]
            ratios.append(sum(top[c] for c in drawn) / sum(bottom[c] for c in drawn))
    tail = (1 - level) / 2
    np.testing.assert_allclose([low, high], np.quantile(ratios, [tail, 1 - tail], axis=0))
    assert not np.allclose(low, bootstrap_ratio(top, bottom, 230, seed=8, level=level)[0])


def test_interval_of_a_mean_is_close_to_scipys():
    data = np.random.default_rng(3).gamma(2.0, size=60)
    reference = stats.bootstrap((data,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(2))
    # The 2.5 % quantile of 4000 resamples has a standard error of 0.04 spreads.
    expected = pytest.approx(tuple(reference.confidence_interval), abs=0.2 * reference.standard_error)
    assert bootstrap_ratio(data, np.ones(60), 4000, seed=1) == expected


@pytest.mark.parametrize(("level", "least", "most"), [(0.95, 0.915, 0.975), (0.8, 0.75, 0.84)])
def test_interval_covers_the_truth_as_often_as_it_says(level, least, most):
    # Each column is a separate corpus: 80 sentences of unequal sizes whose accuracies vary around 0.6.
    generator = np.random.default_rng(4)
    sizes = generator.integers(3, 30, size=(80, 600))
    right = generator.binomial(sizes, generator.beta(6, 4, size=(80, 600)))
    low, high = bootstrap_ratio(right, sizes, 400, seed=5, level=level)
    assert least < np.mean((low <= 0.6) & (high >= 0.6)) < most


def test_resamples_without_a_denominator_are_left_out():
    low, high = bootstrap_ratio(np.zeros((5, 2)), np.array([[0, 1]] * 5), 120, seed=0)
    np.testing.assert_array_equal([low, high], [[np.nan, 0], [np.nan, 0]])
    # Only one of four clusters has the relation: every resample that draws it gives exactly its ratio, a third draw none.
    assert bootstrap_ratio([0, 0, 3, 0], [0, 0, 4, 0], 300, seed=0) == (0.75, 0.75)


@pytest.mark.parametrize(("clusters", "folds"), [(200, 5), (7, 3), (2, 12)])
def test_folds_are_random_and_of_like_size(clusters, folds):
    assigned = folds_of(clusters, folds, seed=0)
    sizes = np.bincount(assigned, minlength=folds)
    assert (len(assigned), len(sizes), sizes.max() - sizes.min()) == (clusters, folds, int(clusters % folds > 0))
    np.testing.assert_array_equal(assigned, folds_of(clusters, folds, seed=0))
    if clusters == 200:
        assert (assigned != folds_of(200, 5, seed=1)).mean() > 0.5
        # Sentences of one document stand side by side: the folds must not follow the order of the corpus.
        assert 0.1 < (assigned[1:] == assigned[:-1]).mean() < 0.3


@REPETITIONS
@pytest.mark.parametrize(("seeds", "of_seed"), [(3, 0.0), (2, 0.5), (20, 0.5)])
def test_intervals_cover_a_mean_over_examples_and_seeds(seeds, of_seed, data_sets):
    missed = without = 0
    for data_set in range(data_sets):
        generator = np.random.default_rng(data_set)
        common, pair = generator.normal(size=60), generator.normal(size=(seeds, 60))
        values = common + of_seed * generator.normal(size=(seeds, 1)) + 0.5 * pair
        counts = np.concatenate(list(resampled_counts(60, 200, data_set)))
        over_examples = (counts @ values.mean(axis=0) / 60)[:, None]
        both = with_seed_variation(over_examples, values.mean(axis=1)[:, None], data_set)
        (low, high), (low_alone, high_alone) = (intervals.percentile_interval(drawn[:, 0]) for drawn in (both, over_examples))
        missed += not low <= 0 <= high
        without += not low_alone <= 0 <= high_alone
    # Percentile intervals of a mean of 60 examples miss a little more than 5 %.
    assert missed <= binom.ppf(0.9995, data_sets, 0.06)
    if seeds == 2:
        assert without > 0.2 * data_sets, "intervals over examples ignore the seeds"


def test_variation_has_the_quantiles_of_students_t_and_none_for_one_seed():
    by_seed = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
    resampled = np.zeros((1000, 2))
    drawn = with_seed_variation(resampled, by_seed, 0)
    expected = by_seed[:, 0].std(ddof=1) / np.sqrt(3) * stats.t.ppf([0.025, 0.5, 0.975], 2)
    assert np.quantile(drawn[:, 0], [0.025, 0.5, 0.975]) == pytest.approx(expected, abs=0.1)
    assert (drawn[:, 1] == 0).all(), "seeds that agree add nothing"
    assert with_seed_variation(resampled, by_seed[:1], 0) is resampled


def test_intervals_over_documents_cover_where_those_over_segments_do_not():
    """Segments of one document are alike: of 60 samples with mean 0, an interval must contain 0 in about 95 %."""
    covered = {DOCUMENTS: 0, "segments": 0}
    for seed in range(60):
        generator = np.random.default_rng(seed)
        values = np.repeat(generator.normal(size=30), 6) + 0.5 * generator.normal(size=180)
        by_document = independent_units([str(k // 6) for k in range(180)], "segments")
        for units in (by_document, independent_units([None] * 180, "segments")):
            (row,) = mean_rows(values[:, None, None], 100, seed, units).itertuples()
            covered[units.name] += row.ci_low <= 0 <= row.ci_high
    assert covered[DOCUMENTS] > 50  # a binomial variable of 60 and .95 falls to 50 about once in a thousand
    assert covered["segments"] < 45


def test_an_item_without_a_value_for_one_head_counts_for_the_others():
    """Every head is that of a table of its own, without the items that it has no value of."""
    values = np.random.default_rng(0).normal(size=(12, 1, 3))
    values[[0, 3], 0, 0] = values[2] = values[:, 0, 2] = np.nan
    units = independent_units([str(k // 2) for k in range(12)], "sentences")
    table = mean_rows(values, 50, 0, units).set_index("head")
    for head, present in enumerate(~np.isnan(values[:, 0].T), start=1):
        expected = values[present, 0, head - 1]
        assert table.loc[head, "n"] == len(expected)
        if len(expected):
            # The bootstrap draws units of all items with a value for some head.
            sums, sizes = (
                units.at(~np.isnan(values).all(axis=(1, 2))).sums(np.delete(of, 2))
                for of in (np.where(present, values[:, 0, head - 1], 0), present)
            )
            low, high = bootstrap_ratio(sums[:, None], sizes[:, None], 50, 0)
            assert table.loc[head, ["value", "ci_low", "ci_high"]].tolist() == pytest.approx([expected.mean(), low[0], high[0]])
    assert table.loc[3, ["value", "ci_low"]].isna().all()


# --- ranks ------------------------------------------------------------------------------------------------------------


def test_correlations_of_rows_are_those_of_scipy():
    chance = np.random.default_rng(0)
    first, second = chance.normal(size=(5, 4, 12)), chance.integers(3, size=(5, 4, 12)).astype(float)
    pairs = list(zip(first.reshape(-1, 12), second.reshape(-1, 12), strict=True))
    assert spearman(first, second).ravel() == pytest.approx([spearmanr(*pair).statistic for pair in pairs])
    assert pearson(first, second).ravel() == pytest.approx([pearsonr(*pair).statistic for pair in pairs])
    undefined = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, np.nan, 2.0, 3.0]])
    assert np.isnan([spearman(undefined, np.arange(4.0)), pearson(undefined, np.arange(4.0))]).all()


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


# --- correlations over heads that are means over documents ------------------------------------------------------------


def jackknifed(seed, correlation, heads=72, documents=40, groups=10):
    """Interval of Spearman over heads of noisy means over documents, and the correlation without noise."""
    chance = np.random.default_rng(seed)
    first = chance.normal(size=heads)
    second = correlation * first + math.sqrt(1 - correlation**2) * chance.normal(size=heads)
    values = [true + chance.normal(size=(documents, heads)) + chance.normal(size=(documents, 1)) for true in (first, second)]
    group = folds_of(documents, groups, seed)
    left = [spearman(*(value[group != k].mean(axis=0) for value in values)) for k in range(groups)]
    return correlation_interval(spearman(*(value.mean(axis=0) for value in values)), left), spearman(first, second)


@REPETITIONS
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_a_correlation_is_seldom_called_larger_than_it_is(correlation, data_sets):
    intervals = [jackknifed(seed, correlation) for seed in range(data_sets)]
    assert sum(truth < low for (low, _), truth in intervals) <= binom.ppf(0.9995, data_sets, 0.025)
    # Noise lowers a correlation, which no interval around the measured one can undo.
    assert sum(truth > high for (_, high), truth in intervals) <= binom.ppf(0.9995, data_sets, 0.06)


def test_an_interval_by_leaving_out_groups_is_that_of_the_formula():
    assert np.mean([jackknifed(seed, 0.9)[0][0] > 0.5 for seed in range(40)]) > 0.9, "a strong correlation is found"
    left = [0.5, 0.6, 0.55, 0.58]
    z = [math.atanh(value) for value in left]
    half = 3.182446 * math.sqrt(3 / 4 * sum((value - sum(z) / 4) ** 2 for value in z))  # Student's t, 3 degrees of freedom
    expected = math.tanh(math.atanh(0.57) - half), math.tanh(math.atanh(0.57) + half)
    assert correlation_interval(0.57, left) == pytest.approx(expected)
    assert correlation_interval(1.0, [1.0, 1.0, 1.0]) == pytest.approx((1.0, 1.0))
    for value, undefined in ((0.5, []), (0.5, [0.4]), (math.nan, [0.4, 0.5]), (0.5, [0.4, math.nan])):
        assert np.isnan(correlation_interval(value, undefined)).all()
