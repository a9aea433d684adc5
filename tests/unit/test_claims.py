"""Claims of papers: verdicts by an interval and a threshold."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest

from attention_atlas.published.compare import CLAIM_COLUMNS, Claim, all_hold, claim_frame
from attention_atlas.stats.intervals import level_of_parts

CLAIM = Claim("heads gain", "1.0", "gain, percentage points", 1.0, 0.2, 1.8, 40, "examples")


@pytest.mark.parametrize(
    ("low", "high", "threshold", "above", "verdict"),
    [
        (0.2, 1.8, 0.0, True, "holds"),
        (-1.8, -0.2, 0.0, True, "does not hold"),
        (-0.2, 1.8, 0.0, True, "undecided"),
        (0.0, 1.8, 0.0, True, "undecided"),
        (0.2, 1.8, 0.0, False, "does not hold"),
        (-1.8, -0.2, 0.0, False, "holds"),
        (0.6, 0.9, 0.5, True, "holds"),
        (0.4, 0.9, 0.5, True, "undecided"),
        (nan, nan, 0.0, True, "not tested"),
    ],
)
def test_the_verdict_is_where_the_interval_lies(low: float, high: float, threshold: float, above: bool, verdict: str) -> None:
    assert replace(CLAIM, ci_low=low, ci_high=high, threshold=threshold, above=above).verdict == verdict


def test_a_claim_that_a_second_test_does_not_confirm_is_undecided_unless_refuted() -> None:
    unconfirmed = replace(CLAIM, is_confirmed=False)
    assert unconfirmed.verdict == "undecided"
    assert replace(unconfirmed, ci_low=-1.8, ci_high=-0.2).verdict == "does not hold"
    assert replace(unconfirmed, ci_low=-1.8, ci_high=-0.2, above=False).verdict == "undecided"
    assert replace(unconfirmed, ci_low=nan, ci_high=nan).verdict == "not tested"


def test_a_claim_about_several_things_is_as_good_as_its_worst_part() -> None:
    holds, clearer = CLAIM, replace(CLAIM, ci_low=0.5)
    open_one, refuted = replace(CLAIM, ci_low=-0.1), replace(CLAIM, value=-1.0, ci_low=-2.0, ci_high=-0.5)
    assert all_hold("all", "", [clearer, holds]).verdict == "holds"
    assert all_hold("all", "", [clearer, holds]).ci_low == 0.2, "the part nearest to its threshold is shown"
    assert all_hold("all", "", [holds, open_one]).verdict == "undecided"
    assert all_hold("all", "", [holds, open_one, refuted]).verdict == "does not hold"
    assert all_hold("all", "", [holds, refuted]).value == -1.0
    assert level_of_parts(5) == pytest.approx(0.99)


def test_a_part_without_an_interval_neither_decides_a_claim_nor_hides_the_tested_parts() -> None:
    holds, open_one = CLAIM, replace(CLAIM, value=0.5, ci_low=-0.1)
    refuted, untested = replace(CLAIM, ci_low=-2.0, ci_high=-0.5), replace(CLAIM, value=3.0, ci_low=nan, ci_high=nan)
    assert all_hold("all", "", [untested, open_one, holds]).value == 0.5
    assert all_hold("all", "", [untested, open_one, holds]).verdict == "undecided"
    assert all_hold("all", "", [untested, refuted]).verdict == "does not hold"
    assert all_hold("all", "", [holds, untested]).verdict == "not tested"


def test_claims_have_statistic_interval_and_n() -> None:
    (row,) = claim_frame([CLAIM]).to_dict("records")
    assert list(row) == list(CLAIM_COLUMNS)
    assert (row["verdict"], row["n"], row["unit"], row["ci_low"]) == ("holds", 40, "examples", 0.2)
    assert (row["side"], row["threshold"]) == ("above", 0.0)
