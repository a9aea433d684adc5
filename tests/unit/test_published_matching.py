"""The matcher of published values: our cell by its table, rows and column; the same quantity or not, and why."""

from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import RunLabel
from attention_atlas.published.compare import CLOSE, EXACT, NO, SETTING, obstacle, verdict
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.values import Cell, Number, Published

HEADS = pd.DataFrame(
    [
        (task, layer, head, 0.1 * layer + 0.01 * head, 0.1 * layer, 0.1 * layer + 0.02 * head, 50)
        for task in ("mrpc", "rte")
        for layer in (1, 2)
        for head in (1, 2, 3)
    ],
    columns=["task", "layer", "head", "value", "ci_low", "ci_high", "n"],
)
SAME = {"task": RunLabel("Run", "bert", "MRPC", "bert-base-uncased", "mrpc-dev")}
OTHER = {"task": RunLabel("Run", "minilm", "sample")}


def cell(column="value", where=None, interval="", n="", scale="1", artefact="heads") -> Cell:
    return Cell(artefact, where or {}, column, interval, n, Fraction(scale))


def published(*numbers, comparable=EXACT, **fields) -> Published:
    others = {"tolerance": None, "same": {}, "size": None, "details": {}}
    texts = {name: "" for name in Published.__dataclass_fields__ if name not in (*others, "numbers")}
    values = texts | {"id": "x", "comparable": comparable} | others | fields
    return Published(**values, numbers=numbers)


def number(value, place=None, part="", corrected=None) -> Number:
    return Number(value, part, corrected, place)


def ours(value, frames=None, settings=None):
    return measure({"x": value}, frames or {"heads": HEADS}, settings or {})["x"]


@given(st.sampled_from(["mrpc", "rte"]), st.integers(1, 2), st.integers(1, 3), st.sampled_from(["1", "100", "1/100"]))
def test_one_row_is_found_by_a_slow_search_as_well(task, layer, head, scale):
    where = {"task": task, "layer": str(layer), "head": str(head)}
    measured = ours(published(number(1.0, cell(where=where, interval="ci", n="n", scale=scale))))
    (row,) = [r for r in HEADS.to_dict("records") if (r["task"], r["layer"], r["head"]) == (task, layer, head)]
    factor = float(Fraction(scale))
    assert measured.value == pytest.approx(row["value"] * factor)
    assert (measured.ci_low, measured.ci_high) == pytest.approx((row["ci_low"] * factor, row["ci_high"] * factor))
    assert measured.n == 50


@pytest.mark.parametrize(
    ("column", "expected"), [("mean(value)", 0.22), ("sum(value)", 0.66), ("max(value)", 0.23), ("min(value)", 0.21)]
)
def test_several_rows_are_taken_together(column, expected):
    assert ours(published(number(1.0, cell(column, {"task": "rte", "layer": "2"})))).value == pytest.approx(expected)


def test_the_interval_of_an_extreme_is_that_of_its_row():
    measured = ours(published(number(1.0, cell("max(value)", {"task": "rte", "layer": "2"}, interval="ci"))))
    assert (measured.ci_low, measured.ci_high) == pytest.approx((0.2, 0.26))


def test_alternatives_and_the_last_layer():
    both = cell("sum(value)", {"task": "rte", "layer": "1|2"})
    assert ours(published(number(1.0, both))).value == pytest.approx(0.36 + 0.66)
    last = cell("mean(value)", {"task": "rte", "layer": "last"})
    assert ours(published(number(1.0, last))).value == pytest.approx(0.22)


def test_rows_with_floats_and_missing_cells_are_found_by_whole_numbers():
    frame = pd.DataFrame({"layer": [1.0, None, 2.0], "value": [0.5, 0.6, 0.7]})
    measured = ours(published(number(1.0, cell(where={"layer": "2"}))), {"heads": frame})
    assert measured.value == 0.7


def test_several_rows_where_one_is_meant_are_an_error():
    with pytest.raises(AtlasError, match=r"heads has 3 rows with task rte, layer 2; name one, or mean\(value\)"):
        ours(published(number(1.0, cell(where={"task": "rte", "layer": "2"}))))
    with pytest.raises(AtlasError, match=r"'median\(value\)' is neither a column nor"):
        ours(published(number(1.0, cell("median(value)", {"task": "rte"}))))


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (cell(artefact="figure7"), "this run has no figure7.tsv"),
        (cell(where={"crop": "padded"}), "no column crop in heads.tsv"),
        (cell("score", {"task": "rte"}), "no column score in heads.tsv"),
        (cell(where={"task": "qqp"}), "no row with task qqp in heads.tsv of this run"),
        (cell(where={"task": "rte", "layer": "12", "head": "1"}), "this run's model has 2 layers"),
        (cell(where={"task": "rte", "layer": "1", "head": "12"}), "this run's model has 3 heads per layer"),
    ],
)
def test_what_a_run_has_not_says_why(place, why):
    measured = ours(published(number(1.0, place)))
    assert (measured.value, measured.comparable, measured.why) == (None, NO, why)
    with_reason = ours(published(number(1.0, place), absent="no such corpus"))
    assert with_reason.why == (why if "model has" in why else "no such corpus")


def test_a_missing_value_is_none():
    frame = pd.DataFrame({"task": ["rte"], "value": [None]})
    measured = ours(published(number(1.0, cell(where={"task": "rte"}))), {"heads": frame})
    assert (measured.value, measured.why) == (None, "this run has no value for it")


SAMENESS = {"role": "task", "same": {"model": "bert-base-uncased", "data": "mrpc-dev"}}
ONE = cell(where={"task": "mrpc", "layer": "1", "head": "1"})


@pytest.mark.parametrize(
    ("settings", "comparable", "why"),
    [
        (
            SAME,
            CLOSE,
            "same model bert-base-uncased and data mrpc-dev; different recipe: fine-tuned again; size not published",
        ),
        (OTHER, NO, "model minilm instead of bert-base-uncased and corpus sample instead of mrpc-dev"),
        (
            {"task": RunLabel("Run", "bert", "RTE", "bert-base-uncased", "rte-dev")},
            NO,
            "corpus RTE instead of mrpc-dev",
        ),
    ],
)
def test_only_the_same_model_and_data_are_compared(settings, comparable, why):
    value = published(number(0.11, ONE), comparable=CLOSE, recipe="fine-tuned again", **SAMENESS)
    measured = ours(value, settings=settings)
    assert (measured.comparable, measured.why) == (comparable, why)
    assert verdict(value, measured) == ("match" if comparable == CLOSE else "not comparable")


def test_an_exact_value_says_that_model_data_recipe_and_size_are_the_same():
    place = cell(where=ONE.where, n="n")
    measured = {size: ours(published(number(0.11, place), size=size, **SAMENESS), settings=SAME) for size in (50, 60, None)}
    start = "same model bert-base-uncased and data mrpc-dev; same recipe; "
    assert {size: (value.comparable, value.why) for size, value in measured.items()} == {
        50: (EXACT, start + "same size (50)"),
        60: (CLOSE, start + "different size (50, published 60)"),
        None: (EXACT, start + "size not published (here 50)"),
    }
    without = ours(published(number(0.11, ONE), size=60, **SAMENESS), settings=SAME)
    assert (without.comparable, without.why) == (CLOSE, start + "size not measured (published 60)")


def test_what_stands_in_the_way_is_said_in_a_few_words():
    place = cell(where={"task": "rte", "layer": "12", "head": "1"})
    assert ours(published(number(1.0, place))).obstacle == "a smaller model"
    assert ours(published(number(1.0, cell(artefact="figure7")))).obstacle == "not measured"
    both = published(number(1.0, place), **SAMENESS)
    assert ours(both, settings=OTHER).obstacle == "another model and another corpus"
    assert ours(both).obstacle == "no such role in this run"
    never = published(number(0.11, ONE), comparable=NO, never="another checkpoint")
    assert obstacle(never, ours(never)) == "another checkpoint"


def test_a_baseline_needs_the_data_alone():
    value = published(number(0.11, ONE), role="task", same={"data": "mrpc-dev"})
    settings = {"task": RunLabel("Run", "electra", "MRPC", "", "mrpc-dev")}
    assert ours(value, settings=settings).comparable == EXACT


def test_a_role_that_the_run_does_not_name_is_not_measured():
    assert ours(published(number(0.11, ONE), **SAMENESS)).why == "this run names nothing for task"
    either = published(number(0.11, ONE), **(SAMENESS | {"role": "frames|task"}))
    assert ours(either, settings=SAME).comparable == EXACT


def test_remarks_take_columns_of_our_row_and_faults_follow():
    value = published(number(0.11, ONE), remark="best head here: {layer}-{head}", fault="a slip")
    assert ours(value).why == "same recipe; size not published. Best head here: 1-1. A slip"


def test_a_slip_is_compared_with_the_corrected_value():
    value = published(number(0.5, ONE, corrected=0.11))
    assert verdict(value, ours(value)) == "match"
    printed = published(number(0.5, ONE))
    assert verdict(printed, ours(printed)) == "differs"


def layers(*tasks):
    return [number(0.12, cell("mean(value)", {"task": task, "layer": "1"})) for task in tasks]


def test_several_numbers_are_compared_one_by_one():
    value = published(*layers("mrpc", "rte"))
    assert ours(value).value == pytest.approx([0.12, 0.12])
    assert verdict(value, ours(value)) == "match"
    two_cells = published(*layers("mrpc"), number(0.2, layers("rte")[0].cell))
    assert verdict(two_cells, ours(two_cells)) == "differs"


def test_numbers_without_a_cell_are_left_out_of_the_comparison():
    value = published(*layers("mrpc"), number(63.7))
    assert (ours(value).value, value.value) == (pytest.approx(0.12), [0.12, 63.7])
    assert verdict(value, ours(value)) == "match"


def test_some_of_several_numbers_are_shown_and_not_compared():
    value = published(*layers("mrpc", "qqp"))
    measured = ours(value)
    assert (measured.value, measured.comparable) == (pytest.approx([0.12]), NO)
    assert measured.why == "1 of 2 values. No row with task qqp, layer 1 in heads.tsv of this run"


def test_named_numbers_keep_their_names():
    parts = [number(0.13, cell(f"{way}(value)", {"task": "rte", "layer": "1"}), way) for way in ("max", "mean")]
    value = published(*parts, tolerance=0.02)
    assert ours(value).value == pytest.approx({"max": 0.13, "mean": 0.12})
    assert verdict(value, ours(value)) == "match"


def test_a_setting_is_not_compared():
    frames = {"quantities": quantities([Quantity("examples", 1000), Quantity("fits", 3)])}
    values = {
        name: published(number(1000, cell(where={"quantity": name}, artefact="quantities")), comparable=SETTING)
        for name in ("examples", "fits", "batch")
    }
    measured = {name: ours(value, frames) for name, value in values.items()}
    examples = measured["examples"]
    assert (examples.value, examples.comparable, examples.why) == (1000, SETTING, "a choice of this run")
    assert isinstance(examples.value, int)
    assert {name: verdict(value, measured[name]) for name, value in values.items()} == {
        "examples": "not comparable",
        "fits": "not comparable",
        "batch": "not computed",
    }
    assert obstacle(values["fits"], measured["fits"]) == "a choice of the run"


def test_texts_are_compared_as_texts():
    frames = {"quantities": quantities([Quantity("tasks", "MRPC, RTE")])}
    value = published(number("MRPC, RTE", cell(where={"quantity": "tasks"}, artefact="quantities")))
    assert verdict(value, ours(value, frames)) == "match"


def test_what_no_table_has_says_so():
    assert ours(published(number(1.0), comparable="")).why == "nothing in this run measures it"
    assert ours(published(number(1.0), comparable="", why="another paper's system")).why == "another paper's system"


def test_a_stand_in_is_never_the_published_quantity_but_says_what_would_be_compared():
    place = cell(where={"task": "rte", "layer": "1", "head": "1"}, n="n")
    value = published(number(0.11, place), role="task", same={"model": "bert-base-uncased", "data": "mrpc-dev"}, size=50)
    real, stand_in = (ours(value, settings={"task": replace(SAME["task"], stand_in=flag)}) for flag in (False, True))
    assert (real.comparable, verdict(value, real)) == (EXACT, "match")
    assert (stand_in.comparable, verdict(value, stand_in)) == (NO, "not comparable")
    assert obstacle(value, stand_in) == "generated stand-ins"
    assert "would be compared, but model bert-base-uncased and data mrpc-dev is a generated stand-in" in stand_in.why
    without_role = published(number(0.11, place))
    assert ours(without_role, settings={"task": replace(SAME["task"], stand_in=True)}).comparable == NO


def test_a_stand_in_with_another_model_still_names_that():
    place = cell(where={"task": "rte", "layer": "1", "head": "1"})
    value = published(number(0.11, place), role="task", same={"model": "bert-large"})
    assert ours(value, settings={"task": replace(SAME["task"], stand_in=True)}).obstacle == "another model"
