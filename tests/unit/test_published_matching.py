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
from attention_atlas.published.compare import CLOSE, EXACT, NO, SETTING, obstacle, verdict
from attention_atlas.published.matching import Quantity, measure, quantities
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
    ("column", "where", "expected"),
    [
        *[("mean(value)", {"layer": "2"}, 0.22), ("sum(value)", {"layer": "2"}, 0.66), ("max(value)", {"layer": "2"}, 0.23)],
        *[
            ("min(value)", {"layer": "2"}, 0.21),
            ("sum(value)", {"layer": "1|2"}, 1.02),
            ("mean(value)", {"layer": "last"}, 0.22),
        ],
    ],
)
def test_several_rows_are_taken_together(column, where, expected):
    assert ours(of(number(1.0, column, {"task": "rte"} | where))).value == pytest.approx(expected)


def test_the_interval_of_an_extreme_is_that_of_its_row():
    measured = ours(of(number(1.0, "max(value)", {"task": "rte", "layer": "2"}, interval="ci")))
    assert (measured.ci_low, measured.ci_high) == pytest.approx((0.2, 0.26))


def test_rows_with_floats_and_missing_cells_are_found_by_whole_numbers():
    frame = pd.DataFrame({"layer": [1.0, None, 2.0], "value": [0.5, 0.6, 0.7]})
    assert ours(of(number(where={"layer": "2"})), heads=frame).value == 0.7


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
    ("missing", "why", "obstacle"),
    [
        (number(artefact="figure7"), "this run has no figure7.tsv", "not measured"),
        (number(where={"crop": "padded"}), "no column crop in heads.tsv", "not measured"),
        (number(column="score"), "no column score in heads.tsv", "not measured"),
        (number(where={"task": "qqp"}), "no row with task qqp in heads.tsv of this run", "not measured"),
        (number(where=FIRST | {"layer": "12"}), "this run's model has 2 layers", "a smaller model"),
        (number(where=FIRST | {"head": "12"}), "this run's model has 3 heads per layer", "a smaller model"),
        (number(where={}, artefact="empty"), "this run has no value for it", "not measured"),
    ],
)
def test_what_a_run_has_not_says_why(missing, why, obstacle):
    empty = pd.DataFrame({"value": [None]})
    measured = ours(of(missing), empty=empty)
    assert (measured.value, measured.comparable, measured.why, measured.obstacle) == (None, NO, why, obstacle)
    with_reason = ours(of(missing, absent="no such corpus"), empty=empty)
    assert with_reason.why == (why if "model has" in why else "no such corpus")
    other = ours(of(missing, **ROLE), OTHER, empty=empty)
    assert other.obstacle == "another model and another corpus", "the first obstacle"


START = "same model bert-base-uncased and data mrpc-dev; same recipe; "


@pytest.mark.parametrize(
    ("value", "label", "comparable", "why"),
    [
        (of(number(n="n"), size=50, **ROLE), SAME, EXACT, f"{START}same size (50)"),
        (of(number(n="n"), size=60, **ROLE), SAME, CLOSE, f"{START}different size (50, published 60)"),
        (of(number(n="n"), **ROLE), SAME, EXACT, f"{START}size not published (here 50)"),
        (of(size=60, **ROLE), SAME, CLOSE, f"{START}size not measured (published 60)"),
        (
            of(comparable=CLOSE, recipe="another", **ROLE),
            SAME,
            CLOSE,
            f"{START[:-13]}different recipe: another; size not published",
        ),
        (of(**ROLE), OTHER, NO, "model minilm instead of bert-base-uncased and corpus sample instead of mrpc-dev"),
        (of(**ROLE), replace(SAME, corpus="RTE", corpus_reference="rte-dev"), NO, "corpus RTE instead of mrpc-dev"),
        # A baseline needs the data alone.
        (
            of(role="task", same={"data": "mrpc-dev"}),
            replace(SAME, model_reference=""),
            EXACT,
            "same data mrpc-dev; same recipe; ",
        ),
        (of(**ROLE | {"role": "frames|task"}), SAME, EXACT, START),
        (of(**ROLE), None, NO, "this run names nothing for task"),
        # A stand-in is never the published quantity, but says what would be compared, or what else is unlike.
        (
            of(**ROLE),
            replace(SAME, stand_in=True),
            NO,
            "would be compared, but model bert-base-uncased and data mrpc-dev is a gen",
        ),
        (of(), replace(SAME, stand_in=True), NO, "would be compared, but its model or corpus is a generated stand-in here"),
        (of(role="task", same={"model": "large"}), replace(SAME, stand_in=True), NO, "model bert instead of large"),
        (of(comparable=NO), SAME, NO, "not the same quantity"),
        (of(comparable=SETTING), SAME, SETTING, "a choice of this run"),
        (of(comparable=SETTING, why="of the paper"), SAME, SETTING, "of the paper"),
    ],
)
def test_only_the_same_model_and_data_are_compared(value, label, comparable, why):
    measured = ours(value, label)
    assert measured.comparable == comparable
    assert measured.why.lower().startswith(why.lower())
    if measured.value is not None:
        assert verdict(value, measured) == ("match" if comparable in (EXACT, CLOSE) else "not comparable")


def test_what_stands_in_the_way_is_said_in_a_few_words():
    assert ours(of(**ROLE)).obstacle == "no such role in this run"
    assert ours(of(**ROLE), replace(SAME, stand_in=True)).obstacle == "generated stand-ins"
    for value, words in (
        (of(comparable=NO, never="another checkpoint"), "another checkpoint"),
        (of(comparable=SETTING), "a choice"),
    ):
        assert obstacle(value, ours(value)).startswith(words)


def test_remarks_take_columns_of_our_row_and_faults_follow():
    value = of(remark="best head here: {layer}-{head}", fault="a slip")
    assert ours(value).why == "same recipe; size not published. Best head here: 1-1. A slip"


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
    assert measured.why == "1 of 2 values. No row with task qqp, layer 1 in heads.tsv of this run"
    parts = [number(0.13, f"{way}(value)", {"task": "rte", "layer": "1"}, part=way) for way in ("max", "mean")]
    value = of(*parts, tolerance=0.02)
    assert (ours(value).value, verdict(value, ours(value))) == (pytest.approx({"max": 0.13, "mean": 0.12}), "match")


def test_texts_are_compared_as_texts_and_whole_numbers_stay_whole():
    frame = quantities([Quantity("tasks", "MRPC, RTE"), Quantity("examples", 1000)])
    for name, value in (("tasks", "MRPC, RTE"), ("examples", 1000)):
        entry = of(number(value, where={"quantity": name}, artefact="quantities"))
        measured = ours(entry, quantities=frame)
        assert (measured.value, type(measured.value), verdict(entry, measured)) == (value, type(value), "match")


def test_what_no_table_has_says_so():
    nowhere = Number(1.0, "", None, None)
    assert ours(of(nowhere, comparable="")).why == "nothing in this run measures it"
    assert ours(of(nowhere, comparable="", why="another paper's system")).why == "another paper's system"
