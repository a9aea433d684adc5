"""AUC of many columns at once, and intervals over documents whose words depend on each other."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from attention_atlas.stats.ranks import aucs, clustered_auc_intervals

REPETITIONS = pytest.mark.parametrize("data_sets", [200, pytest.param(2000, marks=pytest.mark.long)])


def test_aucs_are_those_of_scikit_learn_with_ties():
    chance = np.random.default_rng(0)
    positive = chance.random(60) < 0.3
    scores = chance.integers(0, 6, (60, 4)).astype(float)
    assert aucs(scores, positive) == pytest.approx([roc_auc_score(positive, column) for column in scores.T])


def test_the_interval_is_that_of_sums_over_pairs():
    """Obuchowski's variance from a loop over all pairs of a positive and a negative word."""
    chance = np.random.default_rng(1)
    positive, scores = chance.random(30) < 0.4, chance.integers(0, 9, (30, 1)).astype(float)
    clusters = np.arange(30) % 6
    places = np.arange(30)
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


def documents(seed, count=24, words=30):
    """Scores that shift with the document, as the shares of keyphrase words do; the true AUC is 0.5."""
    chance = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(count), words)
    positive = chance.random(count * words) < chance.uniform(0.05, 0.4, count)[clusters]
    scores = chance.normal(size=(count * words, 1)) + chance.normal(size=(count, 1))[clusters]
    return scores, positive, clusters


@REPETITIONS
def test_false_alarms_at_chance_level(data_sets):
    alarms = ignoring = 0
    for seed in range(data_sets):
        scores, positive, clusters = documents(seed)
        low, high = clustered_auc_intervals(scores, positive, clusters)
        alarms += int(not low[0] <= 0.5 <= high[0])
        low, high = clustered_auc_intervals(scores, positive, np.arange(len(clusters)))
        ignoring += int(not low[0] <= 0.5 <= high[0])
    print(f"clusters {alarms / data_sets:.3f}, words {ignoring / data_sets:.3f}")
    assert alarms <= binom.ppf(0.9995, data_sets, 0.05)
    assert ignoring > 2 * alarms, "words of a document are not independent"


def test_a_single_document_has_no_interval():
    scores, positive, _ = documents(0)
    low, high = clustered_auc_intervals(scores, positive, np.zeros(len(positive), dtype=int))
    assert np.isnan([low, high]).all()
