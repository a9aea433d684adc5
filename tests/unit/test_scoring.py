"""Scores of tasks against scikit-learn and scipy, resampled and exchanged ones against the slow way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

from attention_atlas.studies.kovaleva2019.scores import METRICS, as_numbers, score, swapped_differences

RNG = np.random.default_rng(4)
CLASSES = RNG.integers(1, 4, (3, 60)).astype(float)
TRUTH = RNG.integers(1, 4, 60).astype(float)
NUMBERS = TRUTH + RNG.normal(size=(3, 60))
SLOW = {
    "accuracy": lambda ours, truth: accuracy_score(truth, ours),
    "f1": lambda ours, truth: f1_score(truth == 1, ours == 1),
    "correlation": lambda ours, truth: (pearsonr(ours, truth)[0] + spearmanr(ours, truth)[0]) / 2,
}


def predictions(metric):
    return NUMBERS if metric == "correlation" else CLASSES


@pytest.mark.parametrize("metric", ["accuracy", "f1", "correlation"])
def test_scores_are_those_of_the_libraries(metric):
    ours = predictions(metric)
    assert score(metric, ours, TRUTH) == pytest.approx([SLOW[metric](one, TRUTH) for one in ours])
    assert score(metric, ours[0], TRUTH).shape == ()


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_weights_count_examples_several_times(metric):
    counts = RNG.multinomial(60, np.full(60, 1 / 60), size=5).astype(float)
    scores = score(metric, CLASSES, TRUTH, counts)
    for row, weights in enumerate(counts):
        repeated = np.repeat(np.arange(60), weights.astype(int))
        assert scores[:, row] == pytest.approx([SLOW[metric](one[repeated], TRUTH[repeated]) for one in CLASSES])


def test_weighted_pearson_is_that_of_repeated_examples():
    counts = RNG.multinomial(60, np.full(60, 1 / 60), size=4).astype(float)
    # Ranks stay those of all examples, so that the second half is Pearson's of fixed ranks.
    ranks = [np.argsort(np.argsort(values)).astype(float) for values in (NUMBERS[0], TRUTH + 1e-6 * np.arange(60))]
    ours, truth = NUMBERS[0], TRUTH + 1e-6 * np.arange(60)
    scores = score("correlation", ours, truth, counts)
    for value, weights in zip(scores, counts, strict=True):
        repeated = np.repeat(np.arange(60), weights.astype(int))
        slow = (pearsonr(ours[repeated], truth[repeated])[0] + pearsonr(ranks[0][repeated], ranks[1][repeated])[0]) / 2
        assert value == pytest.approx(slow)


@pytest.mark.parametrize("metric", ["accuracy", "f1", "correlation"])
def test_exchanged_predictions_give_the_differences_of_exchanged_models(metric):
    ours = predictions(metric)
    swaps = (RNG.random((6, 60)) < 0.5).astype(float)
    differences = swapped_differences(metric, ours[0], ours[1:], TRUTH, swaps)
    for row, swap in enumerate(swaps.astype(bool)):
        for place, changed in enumerate(ours[1:]):
            one, other = np.where(swap, ours[0], changed), np.where(swap, changed, ours[0])
            if metric == "correlation":
                # Ranks, and standardised predictions, are those of each model, exchanged with them.
                continue
            assert differences[place, row] == pytest.approx(SLOW[metric](one, TRUTH) - SLOW[metric](other, TRUTH))
    whole = swapped_differences(metric, ours[0], ours[1:], TRUTH, np.stack([np.zeros(60), np.ones(60)]))
    assert whole[:, 0] == pytest.approx(-whole[:, 1])
    assert whole[:, 0] == pytest.approx(score(metric, ours[1:], TRUTH) - score(metric, ours[0], TRUTH))


def two_models(examples=200, seed=0):
    """Truth, predictions of a model, and of one that is worse."""
    generator = np.random.default_rng(seed)
    truth = generator.normal(2.5, 1.2, examples)
    base = truth + generator.normal(0, 0.6, examples)
    return truth, base, base + generator.normal(0, 0.5, examples)


@pytest.mark.parametrize(("factor", "shift"), [(0.7, 0), (1, 1), (0.01, -40)])
def test_the_null_of_a_correlation_does_not_depend_on_the_scale_of_predictions(factor, shift):
    truth, base, changed = two_models()
    swaps = (np.random.default_rng(1).random((500, len(truth))) < 0.5).astype(float)
    as_predicted = swapped_differences("correlation", base, changed[None], truth, swaps)
    for first, second in ((base, factor * changed + shift), (factor * base + shift, changed)):
        assert swapped_differences("correlation", first, second[None], truth, swaps) == pytest.approx(as_predicted, abs=1e-9)
    # Neither does the score.
    assert score("correlation", factor * changed + shift, truth) == pytest.approx(score("correlation", changed, truth))


def test_equal_predictions_have_no_correlation_after_an_exchange():
    truth, base, _ = two_models(40)
    swaps = np.zeros((1, 40))
    constant = np.full(40, 2.3)
    assert swapped_differences("correlation", base, constant[None], truth, swaps)[0, 0] == pytest.approx(
        -score("correlation", base, truth)
    )


def test_constant_answers():
    truth = np.asarray([1.0, 1, 1, 5, 5])
    assert score("correlation", np.full(5, 2.0), truth) == 0
    assert score("f1", np.full(5, 5.0), np.full(5, 5.0)) == 0


def test_names_become_the_same_numbers_everywhere():
    assert as_numbers("mrpc", ["1", "0", "1"])[0] == 1
    assert as_numbers("qqp", ["duplicate", "not_duplicate"]).tolist()[0] == 1
    first, second = as_numbers("mnli", ["entailment", "neutral"]), as_numbers("mnli", ["neutral", "contradiction"])
    assert first[1] == second[0]
    assert len({*first, *second}) == 3
    assert len(set(as_numbers("rte", ["entailment", "not_entailment"]).tolist())) == 2
    assert as_numbers("stsb", ["2.5", "0"]).tolist() == [2.5, 0]
    assert set(METRICS) == {"mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"}
