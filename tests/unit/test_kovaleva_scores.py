"""Scores of tasks against scikit-learn and scipy; disabled heads against plain formulas, planted effects and chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score

from attention_atlas.studies.kovaleva2019 import scores as module
from attention_atlas.studies.kovaleva2019.scores import Effects, effect_rows, heldout_gain, score, swapped_differences

RNG = np.random.default_rng(4)
CLASSES = RNG.integers(1, 4, (3, 60)).astype(float)
TRUTH = RNG.integers(1, 4, 60).astype(float)
NUMBERS = TRUTH + RNG.normal(size=(3, 60))
SLOW = {
    "accuracy": lambda ours, truth: accuracy_score(truth, ours),
    "f1": lambda ours, truth: f1_score(truth == 1, ours == 1),
    "correlation": lambda ours, truth: (pearsonr(ours, truth)[0] + spearmanr(ours, truth)[0]) / 2,
}
COUNTS = RNG.multinomial(60, np.full(60, 1 / 60), size=5)


@pytest.mark.parametrize("metric", SLOW)
def test_scores_are_those_of_the_libraries(metric):
    ours = NUMBERS if metric == "correlation" else CLASSES
    assert score(metric, ours, TRUTH) == pytest.approx([SLOW[metric](one, TRUTH) for one in ours])
    swaps = np.stack([np.zeros(60), np.ones(60)])
    differences = swapped_differences(metric, ours[0], ours[1:], TRUTH, swaps)
    assert differences[:, 0] == pytest.approx(score(metric, ours[1:], TRUTH) - score(metric, ours[0], TRUTH))
    assert differences[:, 1] == pytest.approx(-differences[:, 0])


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_resampled_and_exchanged_examples_count_as_in_the_libraries(metric):
    for column, weights in zip(score(metric, CLASSES, TRUTH, COUNTS.astype(float)).T, COUNTS, strict=True):
        drawn = np.repeat(np.arange(60), weights)
        assert column == pytest.approx([SLOW[metric](one[drawn], TRUTH[drawn]) for one in CLASSES])
    swaps = RNG.random((6, 60)) < 0.5
    differences = swapped_differences(metric, CLASSES[0], CLASSES[1:], TRUTH, swaps.astype(float))
    for (place, row), difference in np.ndenumerate(differences):
        base, changed = CLASSES[0], CLASSES[1 + place]
        first, second = np.where(swaps[row], base, changed), np.where(swaps[row], changed, base)
        assert difference == pytest.approx(SLOW[metric](first, TRUTH) - SLOW[metric](second, TRUTH))


def test_resampled_correlations_keep_the_ranks_of_all_examples():
    truth = TRUTH + 1e-6 * np.arange(60)
    ranks = [np.argsort(np.argsort(values)).astype(float) for values in (NUMBERS[0], truth)]
    for resampled, weights in zip(score("correlation", NUMBERS[0], truth, COUNTS.astype(float)), COUNTS, strict=True):
        drawn = np.repeat(np.arange(60), weights)
        slow = (pearsonr(NUMBERS[0][drawn], truth[drawn])[0] + pearsonr(ranks[0][drawn], ranks[1][drawn])[0]) / 2
        assert resampled == pytest.approx(slow)


@pytest.mark.parametrize(("factor", "shift"), [(0.7, 0), (0.01, -40)])
def test_the_null_of_a_correlation_does_not_depend_on_the_scale_of_predictions(factor, shift):
    truth = RNG.normal(2.5, 1.2, 100)
    base = truth + RNG.normal(0, 0.6, 100)
    changed = base + RNG.normal(0, 0.5, 100)
    swaps = (RNG.random((200, 100)) < 0.5).astype(float)
    as_predicted = swapped_differences("correlation", base, changed[None], truth, swaps)
    for first, second in ((base, factor * changed + shift), (factor * base + shift, changed)):
        assert swapped_differences("correlation", first, second[None], truth, swaps) == pytest.approx(as_predicted, abs=1e-9)


def test_names_become_the_same_numbers_everywhere():
    assert module.as_numbers("mrpc", ["0", "1"])[1] == module.as_numbers("qqp", ["duplicate", "not_duplicate"])[0] == 1
    first, second = (module.as_numbers("mnli", pair) for pair in (["entailment", "neutral"], ["neutral", "contradiction"]))
    assert first[1] == second[0]
    assert len({*first, *second}) == 3
    assert module.as_numbers("stsb", ["2.5", "0"]).tolist() == [2.5, 0]


def made_effects(gain, examples=200, conditions=12, seed=0):
    """Condition 5 is right `gain` more often than the rest, which change predictions at random."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(1, 3, examples).astype(float)
    base = np.where(generator.random(examples) < 0.5, truth, 3 - truth)
    changed = np.repeat(base[None], conditions, axis=0)
    for row in changed:
        flipped = generator.random(examples) < 0.1
        row[flipped] = 3 - row[flipped]
    wrong = np.flatnonzero(changed[5] != truth)[: int(gain * examples)]
    changed[5, wrong] = truth[wrong]
    return Effects(changed[None], base[None], truth, "accuracy")


def test_a_real_gain_is_found_and_chance_is_not():
    table, facts = effect_rows(made_effects(0.2, 100, 144), 1000, 0)
    assert facts["best_delta"] == table.loc[5, "delta"]
    assert table.loc[5, "p_adjusted"] < 0.01
    assert (table["p_adjusted"].drop(5) > 0.05).all()
    assert min(table.loc[5, "ci_low"], facts["best_ci_low"], facts["heldout_ci_low"]) > 0
    table, facts = effect_rows(made_effects(0.0, 100, 144, seed=3), 1000, 0)
    assert (table["p_adjusted"] > 0.05).all()
    assert (table["p_adjusted"] >= table["p"]).all()
    assert facts["best_ci_low"] < 0 < facts["best_delta"]
    assert facts["heldout_delta"] < facts["best_delta"]


def test_seeds_that_differ_widen_the_interval_and_not_the_test():
    one = made_effects(0.0)
    changed = np.repeat(one.changed, 3, axis=0)
    # Condition 0 errs in 0, 30 and 60 of the examples that it otherwise gets right.
    right = np.flatnonzero(one.changed[0, 0] == one.truth)
    for seed, errors in enumerate((0, 30, 60)):
        changed[seed, 0, right[:errors]] = 3 - one.truth[right[:errors]]
    seeds = Effects(changed, np.repeat(one.base, 3, axis=0), one.truth, "accuracy")
    table = effect_rows(seeds, 1000, 0)[0]
    assert table.loc[0, "p"] < 0.01
    assert table.loc[0, "ci_low"] < 0 < table.loc[0, "ci_high"]
    # Student's t of three seeds: 15, 0 and -15 percentage points around the mean.
    half = 4.30 * 15 / np.sqrt(3)
    assert (table.loc[0, "ci_high"] - table.loc[0, "ci_low"]) / 2 == pytest.approx(half, rel=0.1)


def test_differences_and_halves_are_those_of_plain_formulas():
    effects = made_effects(0.1)
    table, facts = effect_rows(effects, 200, 0)
    right, before = effects.changed[0] == effects.truth, effects.base[0] == effects.truth
    assert table["delta"].to_numpy() == pytest.approx(100 * (right.mean(axis=1) - before.mean()))
    assert facts["mean_delta"] == pytest.approx(table["delta"].mean())
    assert facts["above"] == pytest.approx((right.mean(axis=1) > before.mean()).mean())
    even = np.arange(len(before)) % 2 == 0
    best = [right[:, half].mean(axis=1).argmax() for half in (~even, even)]
    gains = [right[chosen, half].mean() - before[half].mean() for chosen, half in zip(best, (even, ~even), strict=True)]
    gain, low, high = heldout_gain(effects, 200, 0, 0.95)
    assert (gain, facts["heldout_delta"]) == pytest.approx((np.mean(gains), 100 * np.mean(gains)))
    # The half-width is that of one direction: 100 examples, not 200, since the directions are dependent.
    spread = [(right[5, half].astype(float) - before[half]).std() for half in (even, ~even)]
    assert (high - low) / 2 == pytest.approx(1.96 * np.mean(spread) / 10, rel=0.2)


@pytest.mark.parametrize("data_sets", [100, pytest.param(2000, marks=pytest.mark.long)])
def test_no_gain_by_pretraining_is_seldom_taken_for_one(data_sets):
    alarms, hits = dict.fromkeys((0.99, 0.95), 0), 0
    for data_set in range(data_sets):
        generator = np.random.default_rng(data_set)
        truth = generator.integers(0, 2, 40) * 1.0
        tuned, random = (np.where(generator.random((1, 40)) < 0.7, truth, 1 - truth) for _ in range(2))
        for level in alarms:
            gain = module.exchanged_gain("accuracy", tuned, random, truth, level, 200, data_set)
            alarms[level] += not gain["ci_low"] <= 0 <= gain["ci_high"]
        hits += module.exchanged_gain("accuracy", truth[None], random, truth, 0.99, 200, data_set)["ci_low"] > 0
    assert hits > 0.9 * data_sets, "a tuned model that is always right gains 30 percentage points"
    for level, count in alarms.items():
        assert count <= binom.ppf(0.9995, data_sets, 1 - level), (level, count / data_sets)
