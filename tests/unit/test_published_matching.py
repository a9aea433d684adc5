"""The matcher of published values: our cell by its table, rows and column; the same quantity or not, and why."""

from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_verdicts import published

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import RunLabel
from attention_atlas.published.compare import CLOSE, EXACT, NO, SETTING, verdict
from attention_atlas.published.matching import measure
from attention_atlas.published.values import Cell, Number

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
