"""Expected layers, centres of gravity and divergences: from the published scores and weights the paper's own numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from attention_atlas.published.values import load_published
from attention_atlas.studies.tenney2019.summary import (
    centre_of_gravity,
    differential_scores,
    divergence_of_gains,
    divergence_of_weights,
    expected_layer,
)

PUBLISHED = load_published("tenney2019")
SCORES = [name.removesuffix(".f1_by_layer") for name in PUBLISHED if name.endswith(".f1_by_layer")]
WEIGHTS = [name.removesuffix(".mix_weights") for name in PUBLISHED if name.endswith(".mix_weights")]


def test_there_is_something_to_compare():
    assert len(SCORES) == 8 + 8 + 2
    assert len(WEIGHTS) == 8


@pytest.mark.parametrize("name", SCORES)
def test_published_scores_give_the_published_expected_layer(name):
    entry = PUBLISHED[f"{name}.expected_layer"]
    layer = float(expected_layer(PUBLISHED[f"{name}.f1_by_layer"].value))
    exact = float(entry.details.get("exact", 0))
    # Four decimals of the scores leave four of the layer, or nearly.
    assert layer == pytest.approx(exact or entry.value, abs=2e-3 if exact else 6e-3)


@pytest.mark.parametrize("name", WEIGHTS)
def test_published_weights_give_the_published_centre_and_divergences(name):
    weights = PUBLISHED[f"{name}.mix_weights"].value
    assert float(centre_of_gravity(weights)) == pytest.approx(float(PUBLISHED[f"{name}.cog"].details["exact"]), abs=5e-3)
    assert float(divergence_of_weights(weights)) == pytest.approx(float(PUBLISHED[f"{name}.K_s"].details["exact"]), abs=2e-3)
    divergence = float(divergence_of_gains(PUBLISHED[f"{name}.f1_by_layer"].value))
    assert divergence == pytest.approx(PUBLISHED[f"{name}.K_delta"].value, abs=6e-3)


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
    assert (differential_scores(scores, running_max=True) >= 0).all()


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=13))
def test_divergence_is_that_of_scipy_and_0_for_equal_weights(weights):
    share = np.asarray(weights) / np.sum(weights)
    equal = np.full(len(weights), 1 / len(weights))
    assert float(divergence_of_weights(weights)) == pytest.approx(entropy(share, equal, base=2), abs=1e-9)
    assert float(divergence_of_weights(equal)) == pytest.approx(0, abs=1e-12)
    assert -1e-9 <= float(centre_of_gravity(weights)) <= len(weights) - 1 + 1e-9


def test_arrays_are_done_row_by_row():
    scores = np.asarray([[80.0, 85.0, 90.0], [50.0, 70.0, 60.0]])
    assert expected_layer(scores) == pytest.approx([float(expected_layer(row)) for row in scores])
    assert divergence_of_gains(scores) == pytest.approx([float(divergence_of_gains(row)) for row in scores])


def test_a_task_that_gains_nothing_has_no_expected_layer():
    assert np.isnan(expected_layer([50.0, 60.0, 50.0]))
    assert np.isnan(expected_layer([50.0, 40.0, 30.0]))
    assert np.isnan(divergence_of_gains([50.0, 40.0, 30.0]))
