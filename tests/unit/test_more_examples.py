"""Whether more examples could decide a claim, and how many."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attention_atlas.published.more_examples import AT_THRESHOLD, examples_needed, outlook

CLAIM = {
    "ours": "1.2 percentage points",
    "value": 1.0,
    "threshold": 0.0,
    "ci_low": -1.0,
    "ci_high": 3.0,
    "n": 30,
    "unit": "documents",
}


def claim(**changes):
    return CLAIM | changes


def test_the_half_width_on_the_side_of_the_threshold_counts():
    assert examples_needed(1.0, 0.0, -1.0, 9.0, 30) == pytest.approx(30 * 4)
    assert examples_needed(-1.0, 0.0, -9.0, 2.0, 30) == pytest.approx(30 * 9)
    assert examples_needed(79.0, 75.0, 71.0, 90.0, 100) == pytest.approx(100 * 4)


def test_so_many_normal_examples_give_an_interval_that_ends_at_the_threshold():
    random = np.random.default_rng(42)
    mean, n = 0.2, 50
    half_width = 1.96 / math.sqrt(n)
    needed = round(examples_needed(mean, 0.0, mean - half_width, mean + half_width, n))
    lows = [sample.mean() - 1.96 * sample.std(ddof=1) / math.sqrt(needed) for sample in random.normal(mean, 1, (2000, needed))]
    assert np.mean(lows) == pytest.approx(0, abs=0.02)
    assert 0.4 < np.mean(np.array(lows) > 0) < 0.6, "decided in half of the runs: the interval ends at the threshold"


def test_a_value_at_the_threshold_needs_more_than_can_be_had():
    assert examples_needed(0.5, 0.5, 0.0, 1.0, 10) == math.inf
    distance = AT_THRESHOLD * 2
    assert examples_needed(distance, 0.0, distance - 2, 2, 10) == math.inf
    assert examples_needed(2 * distance, 0.0, 2 * distance - 2, 2, 10) == pytest.approx(10 * (2 / (2 * distance)) ** 2)


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_without_all_numbers_there_is_no_estimate(place, value):
    numbers = [1.0, 0.0, -1.0, 3.0, 30]
    numbers[place] = value
    assert math.isnan(examples_needed(*numbers))


def test_never_fewer_than_there_are():
    assert examples_needed(1.0, 0.0, 0.0, 2.0, 30) == 30


def test_the_number_is_rounded_up_to_two_digits():
    assert outlook(claim()) == "About 120 documents could decide it (30 in this run), if the value stays the same."
    assert "About 1,300 documents" in outlook(claim(n=301))


@pytest.mark.parametrize("unit", ["heads", "layers"])
def test_heads_and_layers_cannot_be_increased(unit):
    assert outlook(claim(unit=unit)).startswith("More examples cannot decide it")


def test_either_of_two_intervals_can_be_the_wider_one():
    assert outlook(claim(unit="heads (and examples of both corpora)")).startswith("More examples may not decide it")


def test_an_interval_of_tests_over_documents_gives_no_number():
    assert outlook(claim(unit="relations")).startswith("More documents could decide it; how many cannot be estimated")


@pytest.mark.parametrize("unit", ["random orders", "permutations of the types within layers"])
def test_a_prediction_interval_does_not_shrink(unit):
    assert outlook(claim(unit=unit)).startswith(f"More {unit} cannot decide it")


def test_at_the_threshold_at_its_end_and_with_an_unbounded_interval():
    at_threshold = "At least 400 times as many documents could be needed: the value lies at the threshold."
    assert outlook(claim(value=0.0)) == at_threshold
    assert outlook(claim(ci_low=0.0)).startswith("A few more documents than the 30")
    assert "unbounded" in outlook(claim(ci_low=-math.inf))
