"""Verdicts on a published value beside ours, and on a claim by an interval and a threshold."""

from dataclasses import replace
from math import nan

import pytest

from attention_atlas.published.compare import EXACT, NO, QUALITATIVE, SETTING, Claim, Measured, all_hold, claim_frame, verdict
from attention_atlas.published.values import Number, Published


def published(*numbers, **fields) -> Published:
    """A published value whose other fields are empty."""
    others = {"tolerance": None, "same": {}, "size": None, "details": {}}
    texts = {name: "" for name in Published.__dataclass_fields__ if name not in (*others, "numbers")}
    return Published(**texts | {"id": "x"} | others | fields, numbers=numbers)


def one_value(value, tolerance=None) -> Published:
    values = value if isinstance(value, list) else [value]
    return published(*(Number(number, "", None, None) for number in values), tolerance=tolerance)


def measured(value, comparable=EXACT, **more):
    return Measured(value, comparable, "why", **more)


@pytest.mark.parametrize(
    ("printed", "match", "differs"),
    [
        (34.5, [34.5499, 34.45], [34.551]),
        (40.0, [40.04], [40.4]),
        (40, [40.4], [40.6]),
        (1696, [1696], [1697]),
        (5e-05, [5.4e-05], [0.001]),
        ([34.5, 26.3], [[34.52, 26.28]], [[34.52, 26.4], [34.5], 34.5]),
        ("7-6", ["7-6"], ["7-5"]),
    ],
)
def test_half_a_unit_of_the_last_digit(printed, match, differs):
    assert {verdict(one_value(printed), measured(ours)) for ours in match} == {"match"}
    assert {verdict(one_value(printed), measured(ours)) for ours in differs} == {"differs"}


@pytest.mark.parametrize(
    ("entry", "ours", "expected"),
    [
        # A stated tolerance counts instead.
        (one_value(3.6, 0.01), measured(3.605), "match"),
        (one_value([3.6, 2.8], 0.1), measured([3.69, 2.71]), "match"),
        # An interval that contains the value has its own verdict.
        (one_value(50.0), measured(50.04, ci_low=49.0, ci_high=54.0), "match"),
        (one_value(50.0), measured(52.0, ci_low=50.0, ci_high=54.0), "covered by our interval"),
        (one_value([50.0, 50.0]), measured([52.0, 52.0], ci_low=50.0, ci_high=54.0), "differs"),
        (one_value(50.0), measured(52.0, ci_low=50.0), "differs"),
        # A misprint is compared with the corrected number.
        (published(Number(50.0, "", 60.0, None)), measured(60.0), "match"),
        (published(Number(50.0, "", 60.0, None)), measured(50.0), "differs"),
        (one_value(50.0), measured(None), "not computed"),
        (one_value(50.0), measured(None, QUALITATIVE, claimed="holds"), "not computed"),
        (one_value(50.0), measured(1.0, QUALITATIVE, claimed="holds"), "holds"),
        (one_value(50.0), measured(50.0, NO), "not comparable"),
        (one_value(50.0), measured(50.0, SETTING), "not comparable"),
    ],
)
def test_a_verdict(entry, ours, expected):
    assert verdict(entry, ours) == expected


# --- claims -----------------------------------------------------------------------------------------------------------

CLAIM = Claim("heads gain", "1.0", "gain, percentage points", 1.0, 0.2, 1.8, 40, "examples")
OPEN, REFUTED = replace(CLAIM, value=0.5, ci_low=-0.1), replace(CLAIM, value=-1.0, ci_low=-2.0, ci_high=-0.5)
UNTESTED = replace(CLAIM, value=3.0, ci_low=nan, ci_high=nan)


@pytest.mark.parametrize(
    ("low", "high", "threshold", "above", "verdict", "unconfirmed"),
    [
        (0.2, 1.8, 0.0, True, "holds", "undecided"),
        (-1.8, -0.2, 0.0, True, "does not hold", "undecided"),
        (0.0, 1.8, 0.0, True, "undecided", "undecided"),
        (0.2, 1.8, 0.0, False, "does not hold", "undecided"),
        (-1.8, -0.2, 0.0, False, "holds", "undecided"),
        (0.6, 0.9, 0.5, True, "holds", "undecided"),
        (0.4, 0.9, 0.5, True, "undecided", "undecided"),
        (nan, nan, 0.0, True, "not tested", "not tested"),
    ],
)
def test_the_verdict_is_where_the_interval_lies_and_needs_the_second_test(low, high, threshold, above, verdict, unconfirmed):
    claim = replace(CLAIM, ci_low=low, ci_high=high, threshold=threshold, above=above)
    assert (claim.verdict, replace(claim, is_significant=False).verdict) == (verdict, unconfirmed)


@pytest.mark.parametrize(
    ("parts", "verdict", "shown"),
    [
        ([replace(CLAIM, value=2.0, ci_low=0.5), CLAIM], "holds", 1.0),  # the part nearest to its threshold
        ([replace(CLAIM, above=False, value=k, ci_low=-k - 2, ci_high=-k) for k in (1, 2)], "holds", 1),
        ([CLAIM, OPEN], "undecided", 0.5),
        ([CLAIM, OPEN, REFUTED], "does not hold", -1.0),
        ([UNTESTED, REFUTED], "does not hold", -1.0),
        ([CLAIM, UNTESTED], "not tested", 3.0),
    ],
)
def test_a_claim_about_several_things_is_as_good_as_its_worst_part(parts, verdict, shown):
    whole = all_hold("all", "ours", parts)
    assert (whole.statement, whole.ours, whole.verdict, whole.value) == ("all", "ours", verdict, shown)


def test_claims_that_the_paper_does_not_make_come_last():
    frame = claim_frame([replace(CLAIM, statement="a", of_paper=False), replace(CLAIM, statement="b"), CLAIM])
    assert frame[["claim", "source"]].to_numpy().tolist() == [["b", "paper"], ["heads gain", "paper"], ["a", "added"]]
    assert all_hold("all", "ours", [replace(CLAIM, of_paper=False)]).of_paper is False
