"""Expected layers, centres, divergences, resampled F1, and the best constant answer, against slow and obvious ways."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from edge_examples import edge_example
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from attention_atlas.corpora.layers import EdgeTarget
from attention_atlas.studies.tenney2019.summary import (
    centre_of_gravity,
    differential_scores,
    divergence_of_weights,
    expected_layer,
    is_noise,
    resampled_f1,
    shares_of_gain,
)
from attention_atlas.studies.tenney2019.targets import ANSWERS, CONTROL_TASK, COUNTS, EARLY, EMBEDDINGS, constant_answer, f1_of


@given(st.lists(st.floats(0, 100), min_size=3, max_size=13))
def test_the_expected_layer_is_a_loop_and_a_difference_of_areas(scores):
    gains = [scores[k] - scores[k - 1] for k in range(1, len(scores))]
    total = scores[-1] - scores[0]
    if total < 1e-3:
        return
    slow = sum(k * gain for k, gain in enumerate(gains, start=1)) / sum(gains)
    assert float(expected_layer(scores)) == pytest.approx(slow, rel=1e-6, abs=1e-6)
    last = len(scores) - 1
    assert slow == pytest.approx((last * scores[-1] - sum(scores[:-1])) / total, rel=1e-5, abs=1e-5)
    best = float(expected_layer(scores, running_max=True))
    assert 1 - 1e-9 <= best <= last + 1e-9, "what never falls stays within the layers"


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=13))
def test_divergence_is_that_of_scipy_and_0_for_equal_weights(weights):
    share = np.asarray(weights) / np.sum(weights)
    equal = np.full(len(weights), 1 / len(weights))
    assert float(divergence_of_weights(weights)) == pytest.approx(entropy(share, equal, base=2), abs=1e-9)


def test_statistics_of_several_rows_and_of_tasks_that_gain_nothing():
    scores = np.asarray([[80.0, 85.0, 90.0], [50.0, 70.0, 60.0], [50.0, 60.0, 50.0], [50.0, 40.0, 30.0]])
    assert expected_layer(scores) == pytest.approx([1.5, 0, np.nan, np.nan], nan_ok=True)
    assert divergence_of_weights(differential_scores(scores)) == pytest.approx([0, 1, 1, np.nan], nan_ok=True)
    assert shares_of_gain(scores[1:]) == pytest.approx(np.array([[1, -0.5], [1, -1], [np.nan, np.nan]]), nan_ok=True)
    assert centre_of_gravity([[0, 1, 0], [1, 1, 2]]) == pytest.approx([1, 1.25])


def test_a_gain_within_its_error_is_noise():
    # The standard deviation of the gain is 2 here: a gain of 4 is noise, one of 4.1 is not.
    resampled = np.stack([np.zeros(3), [8.0, 10.0, 12.0]], axis=1)
    assert [is_noise(np.array([50.0, 50 + gain]), resampled) for gain in (4, 4.1)] == [True, False]


def by_hand(cube):
    """Counts [seed, top, sentence, 3] as a table."""
    rows = [
        ["pos", EMBEDDINGS, EARLY, top, seed, record, record, *map(int, cube[seed, top, record])]
        for seed, top, record in np.ndindex(cube.shape[:3])
    ]
    return pd.DataFrame(rows, columns=COUNTS).sample(frac=1, random_state=0)


CUBE = np.random.default_rng(0).integers(0, 5, size=(3, 2, 40, 3))


def test_resamples_are_drawn_from_sentences_and_seeds():
    resampled = resampled_f1(by_hand(CUBE), 2000, 1)
    generator = np.random.default_rng(5)
    by_seed = f1_of(CUBE.sum(axis=2))
    slow = []
    for _ in range(2000):
        f1 = f1_of(CUBE[:, :, generator.integers(40, size=40)].sum(axis=2)).mean(axis=0)
        for top in range(2):
            deviations = by_seed[:, top] - by_seed[:, top].mean()
            f1[top] += np.sqrt(3 / 2) * np.mean([deviations[generator.integers(3)] for _ in range(3)])
        slow.append(f1)
    assert resampled.mean(axis=0) == pytest.approx(np.mean(slow, axis=0), abs=0.4)
    assert resampled.std(axis=0) == pytest.approx(np.std(slow, axis=0), rel=0.1)


def test_documents_are_drawn_whole():
    document = np.array([*[0] * 10, *[1] * 3, *[2] * 20, *[3] * 7])
    counts = by_hand(CUBE).assign(unit_number=lambda rows: document[rows["record"]])
    of_documents = np.stack([CUBE[:, :, document == number].sum(axis=2) for number in range(4)], axis=2)
    assert resampled_f1(counts, 200, 3) == pytest.approx(resampled_f1(by_hand(of_documents), 200, 3))


def test_seeds_alone_vary_as_the_mean_of_three_does_and_a_control_of_one_seed_as_one_of_them():
    # Every sentence alike: only seeds vary, with variance s^2, and their mean with s^2 / 3.
    right = np.array([[60, 50], [70, 55], [80, 54]])
    cube = np.repeat(np.stack([right, 100 - right, 100 - right], axis=-1)[:, :, None], 30, axis=2)
    resampled = resampled_f1(by_hand(cube), 4000, 0)
    assert resampled.std(axis=0) == pytest.approx(right.std(axis=0, ddof=1) / np.sqrt(3), rel=0.05)
    assert abs(np.corrcoef(resampled.T)[0, 1]) < 0.06, "probes of two layers are trained separately"
    single = by_hand(cube[1:2, 1:]).assign(condition="shuffled_labels", top=1)
    control = resampled_f1(pd.concat([by_hand(cube), single]), 4000, 0, condition="shuffled_labels")
    assert (control.mean(), control.std()) == pytest.approx((55, right[:, 1].std(ddof=1)), rel=0.05)


def test_conditions_share_sentences_and_differ_by_their_seeds():
    for cube, same in ((CUBE[:1], True), (CUBE, False)):
        counts = pd.concat([by_hand(cube), by_hand(cube).assign(condition=CONTROL_TASK)])
        early, control = (resampled_f1(counts, 50, 3, condition=condition) for condition in (EARLY, CONTROL_TASK))
        assert (early == control).all() == same


# --- the best constant answer -----------------------------------------------------------------------------------------


def answer_to(labels, task="protoroles"):
    """Counts of the answer to [sentence][target] labels; two sentences are one document."""
    examples = []
    for record, labels_of_targets in enumerate(labels):
        targets = tuple(EdgeTarget((k, k + 1), None, names, task) for k, names in enumerate(labels_of_targets))
        examples.append(replace(edge_example(record, task, False), edges=targets))
    return constant_answer(task, examples, [record // 2 for record in range(len(labels))])


@pytest.mark.parametrize("seed", range(3))
def test_no_other_set_of_labels_has_a_higher_f1(seed):
    chance, frequencies = np.random.default_rng(seed), {"a": 0.8, "b": 0.6, "c": 0.45, "d": 0.2, "e": 0.05}
    # Some targets have none.
    labels = [[tuple(name for name in frequencies if chance.random() < frequencies[name]) for _ in range(3)] for _ in range(8)]
    targets = [set(names) for sentence in labels for names in sentence]

    def slow(answer):
        true = sum(len(set(answer) & names) for names in targets)
        return 200 * true / (len(answer) * len(targets) + sum(map(len, targets)))

    best = max(chain.from_iterable(combinations("abcde", size) for size in range(1, 6)), key=slow)
    table = answer_to(labels)
    assert float(f1_of(table[ANSWERS].sum())) == pytest.approx(slow(best))
    assert table["true"].tolist() == [sum(len({*best} & {*names}) for names in sentence) for sentence in labels]


@pytest.mark.parametrize(
    ("labels", "task", "counts"),
    [
        ([[("1",), ("0",), ("0",)], [("0",), ("0",)]], "coreference", [[1, 2, 0], [0, 2, 0]]),
        ([[("Other",)], [("Other",)], [("Cause",)]], "relations", [[0, 1, 0], [0, 1, 0], [1, 0, 0]]),
        ([[("Other",)]], "relations", [[0, 0, 0]]),
    ],
)
def test_only_scored_labels_count(labels, task, counts):
    assert answer_to(labels, task)[ANSWERS].to_numpy().tolist() == counts
    assert (f1_of(np.sum(counts, axis=0)) > 0) == any(true for true, *_ in counts)
