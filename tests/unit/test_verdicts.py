"""Verdicts on published values and claims; our cell of a published value by its table, rows and column."""

from dataclasses import replace
from fractions import Fraction
from math import nan

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import RunLabel
from attention_atlas.published.compare import (
    CLOSE,
    EXACT,
    NO,
    QUALITATIVE,
    SETTING,
    Claim,
    Measured,
    all_hold,
    claim_frame,
    verdict,
)
from attention_atlas.published.matching import measure
from attention_atlas.published.values import Cell, Number, Published


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


# --- the matcher ------------------------------------------------------------------------------------------------------


HEADS = pd.DataFrame(
    [
        (task, layer, head, 0.1 * layer + 0.01 * head, 0.1 * layer, 0.1 * layer + 0.02 * head, 50)
        for task in ("mrpc", "rte")
        for layer in (1, 2)
        for head in (1, 2, 3)
    ],
    columns=["task", "layer", "head", "value", "ci_low", "ci_high", "n"],
)
SAME = RunLabel("Run", "bert", "MRPC", "bert-base-uncased", "mrpc-dev")
OTHER = RunLabel("Run", "minilm", "sample")
ROLE = {"role": "task", "same": {"model": "bert-base-uncased", "data": "mrpc-dev"}}
FIRST = {"task": "mrpc", "layer": "1", "head": "1"}


def number(value=0.11, column="value", where=FIRST, *, artefact="heads", interval="", n="", scale="1", part="", corrected=None):
    return Number(value, part, corrected, Cell(artefact, where, column, interval, n, Fraction(scale)))


def of(*numbers, comparable=EXACT, **fields):
    """A published value, of the first head where none is given."""
    return published(*(numbers or (number(),)), comparable=comparable, **fields)


def ours(value, label=None, **frames):
    """Our side of a published value, by the label of its role."""
    return measure({"x": value}, {"heads": HEADS} | frames, {"task": label} if label else {})["x"]


@given(st.sampled_from(["mrpc", "rte"]), st.integers(1, 2), st.integers(1, 3), st.sampled_from(["1", "100", "1/100"]))
def test_one_row_is_found_by_a_slow_search_as_well(task, layer, head, scale):
    where = {"task": task, "layer": str(layer), "head": str(head)}
    measured = ours(of(number(where=where, interval="ci", n="n", scale=scale)))
    (row,) = [r for r in HEADS.to_dict("records") if (r["task"], r["layer"], r["head"]) == (task, layer, head)]
    found = [measured.value, measured.ci_low, measured.ci_high]
    assert found == pytest.approx([row[name] * float(Fraction(scale)) for name in ("value", "ci_low", "ci_high")])
    assert measured.n == 50


@pytest.mark.parametrize(
    ("column", "layer", "expected"),
    [
        *(("mean(value)", "2", 0.22), ("sum(value)", "2", 0.66), ("max(value)", "2", 0.23), ("min(value)", "2", 0.21)),
        *(("sum(value)", "1|2", 1.02), ("mean(value)", "last", 0.22)),
    ],
)
def test_several_rows_are_taken_together(column, layer, expected):
    assert ours(of(number(1.0, column, {"task": "rte", "layer": layer}))).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("value", r"heads has 3 rows with task rte, layer 2; name one, or mean\(value\)"),
        ("median(value)", r"'median\(value\)' is neither a column nor"),
    ],
)
def test_a_cell_that_means_no_number_is_an_error(column, message):
    with pytest.raises(AtlasError, match=message):
        ours(of(number(1.0, column, {"task": "rte", "layer": "2"})))


@pytest.mark.parametrize(
    ("missing", "obstacle"),
    [
        (number(artefact="figure7"), "not measured"),
        (number(column="score"), "not measured"),
        (number(where={"task": "qqp"}), "not measured"),
        (number(where=FIRST | {"head": "12"}), "a smaller model"),
        (number(where={}, artefact="empty"), "not measured"),
    ],
)
def test_what_a_run_has_not_is_not_compared(missing, obstacle):
    empty = pd.DataFrame({"value": [None]})
    measured = ours(of(missing), empty=empty)
    assert (measured.value, measured.comparable, measured.obstacle) == (None, NO, obstacle)
    assert ours(of(missing, **ROLE), OTHER, empty=empty).obstacle == "another model and another corpus", "the first obstacle"


@pytest.mark.parametrize(
    ("value", "label", "comparable"),
    [
        (of(number(n="n"), size=50, **ROLE), SAME, EXACT),
        (of(number(n="n"), size=60, **ROLE), SAME, CLOSE),
        (of(number(n="n"), **ROLE), SAME, EXACT),
        (of(comparable=CLOSE, recipe="another", **ROLE), SAME, CLOSE),
        (of(**ROLE), OTHER, NO),
        (of(**ROLE), replace(SAME, corpus="RTE", corpus_reference="rte-dev"), NO),
        # A baseline needs the data alone.
        (of(role="task", same={"data": "mrpc-dev"}), replace(SAME, model_reference=""), EXACT),
        (of(**ROLE), None, NO),
        # A generated stand-in is never the published quantity.
        (of(**ROLE), replace(SAME, stand_in=True), NO),
        (of(), replace(SAME, stand_in=True), NO),
        (of(comparable=NO), SAME, NO),
        (of(comparable=SETTING), SAME, SETTING),
    ],
)
def test_only_the_same_model_and_data_are_compared(value, label, comparable):
    measured = ours(value, label)
    assert measured.comparable == comparable
    assert (verdict(value, measured) == "match") == (comparable in (EXACT, CLOSE))


def layers(*tasks, value=0.12):
    return [number(value, "mean(value)", {"task": task, "layer": "1"}) for task in tasks]


def test_several_numbers_are_compared_one_by_one():
    value = of(*layers("mrpc", "rte"))
    assert (ours(value).value, verdict(value, ours(value))) == (pytest.approx([0.12, 0.12]), "match")
    value = of(*layers("mrpc"), *layers("rte", value=0.2))
    assert verdict(value, ours(value)) == "differs"
    # One without a cell is left out of the comparison; one that is missing makes it none.
    value = of(*layers("mrpc"), Number(63.7, "", None, None))
    assert (ours(value).value, value.value, verdict(value, ours(value))) == (pytest.approx(0.12), [0.12, 63.7], "match")
    measured = ours(of(*layers("mrpc", "qqp")))
    assert (measured.value, measured.comparable) == (pytest.approx([0.12]), NO)
    parts = [number(0.13, f"{way}(value)", {"task": "rte", "layer": "1"}, part=way) for way in ("max", "mean")]
    value = of(*parts, tolerance=0.02)
    assert (ours(value).value, verdict(value, ours(value))) == (pytest.approx({"max": 0.13, "mean": 0.12}), "match")
