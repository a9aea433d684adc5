"""The published values: their fields, kinds and numbers, and that each names a cell that our tables can have."""

import ast
import importlib
import inspect
import re
from collections import Counter
from fractions import Fraction

import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.published import values as published_values
from attention_atlas.published.compare import CLOSE, EXACT, NO, QUALITATIVE, SETTING
from attention_atlas.published.values import COLUMNS, Number, half_unit, load_published, printed
from attention_atlas.workflow.shown import full_name, shown

SIZES = {"clark2019": 183, "guan2020": 55, "kovaleva2019": 568, "michel2019": 193, "tenney2019": 130, "stefanik2021": 13}


def test_all_studies_have_their_values_with_all_fields():
    assert {study: len(load_published(study)) for study in SIZES} == SIZES
    assert sum(SIZES.values()) == 1142
    for study in SIZES:
        for identifier, value in load_published(study).items():
            for field in ("item", "quantity", "unit", "model", "dataset", "source", "confidence"):
                assert getattr(value, field), (identifier, field)
            assert value.comparable in ("", EXACT, CLOSE, SETTING, QUALITATIVE, NO), identifier
            measured = any(number.cell for number in value.numbers)
            assert (value.comparable in (EXACT, CLOSE, SETTING, NO)) == measured, identifier
            assert measured or not value.same, identifier
            if value.comparable in (EXACT, CLOSE):
                assert value.same, f"{identifier}: what has no model and no data is a setting"
                assert value.role, identifier
                compared = [number for number in value.numbers if number.cell]
                assert all(number.target is not None for number in compared), f"{identifier}: nothing to compare with"
            # A close value says what is not the same; what no run can match says why.
            assert bool(value.recipe) == (value.comparable == CLOSE), identifier
            assert bool(value.never) == (value.comparable in ("", NO)), identifier


@pytest.mark.parametrize("study", SIZES)
def test_every_cell_is_of_a_table_that_the_comparison_reads(study):
    (item,) = (item for item in shown(study) if item.id == "comparison")
    source = inspect.getsource(importlib.import_module(full_name(item.call).partition(":")[0]))
    # A comparison may derive frames, or call a table by its number: its module has the name as a text.
    read = {*item.inputs, *(node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))}
    cells = [number.cell for value in load_published(study).values() for number in value.numbers if number.cell]
    # Times of Table 4 are shown beside the published ones on its own page.
    assert {cell.artefact for cell in cells} <= read | {"table4"}
    assert all(cell.scale in (1, 100, Fraction(1, 100)) for cell in cells)
    assert all(re.fullmatch(r"\w+|(mean|sum|max|min)\(\w+\)", cell.column) for cell in cells)


def test_published_values_of_clark_by_kind():
    published = load_published("clark2019")
    kinds = Counter(entry.kind for entry in published.values())
    assert set(kinds) == {"paper", "authors_notebook", "digitised", "replication", "user_report"}
    digitised = [entry for entry in published.values() if entry.kind == "digitised"]
    assert all(entry.tolerance and 0 < entry.tolerance < 0.1 for entry in digitised)
    per_layer = [entry for entry in digitised if "per layer" in entry.quantity]
    assert len(per_layer) == 7
    assert all(len(entry.value) == 12 for entry in per_layer)
    for entry in per_layer:
        assert [number.cell.where["layer"] for number in entry.numbers] == [str(layer) for layer in range(1, 13)]


def test_published_table_1_as_the_specification_has_it():
    published = load_published("clark2019")
    rows = {
        entry.numbers[0].cell.where["relation"]: (
            entry.details["head"],
            entry.value,
            printed(published, "Table 1", "baseline_accuracy", relation=entry.numbers[0].cell.where["relation"]).value,
        )
        for entry in published.values()
        if entry.item == "Table 1" and entry.numbers[0].cell.artefact == "dependency_heads"
    }
    assert len(rows) == 15
    assert rows["dobj"] == ("8-10", 86.8, 40.0)
    assert rows["all"] == ("7-6", 34.5, 26.3)
    assert rows["auxpass"] == ("4-10", 82.5, 40.5)
    assert [number.corrected for number in published["t1_auxpass_acc"].numbers] == [94.1]
    assert published["nb_t1_auxpass_acc"].value == 94.1
    assert published["nb_t1_auxpass_baseline"].value == 82.5
    # Thirteen of the fourteen relations are the same in the authors' notebook; the row All is not.
    columns = ("accuracy", "baseline_accuracy")
    differing = {
        relation
        for relation, row in rows.items()
        if row[1:] != tuple(printed(published, "notebook Table 1", column, relation=relation).value for column in columns)
    }
    assert differing == {"all", "auxpass"}


def test_a_value_is_looked_up_by_the_cell_of_our_table():
    published = load_published("kovaleva2019")
    value = printed(published, "Table 1", "value", task="stsb", metric="correlation", state="tuned")
    assert (value.id, value.value) == ("k_t1_stsb_acc_pretrained_init_finetuned", 82.7)
    assert printed(published, "Table 1", "value", task="stsb", metric="f1", state="tuned") is None
    assert printed(published, "Table 1", "sd", task="stsb") is None


def test_a_study_without_published_values_is_an_error():
    with pytest.raises(AtlasError, match=r"nobody2000\.csv: there are no published values of study nobody2000"):
        load_published("nobody2000")


def written(tmp_path, monkeypatch, *rows):
    lines = [",".join(COLUMNS), *(",".join(row.get(name, "") for name in COLUMNS) for row in rows)]
    (tmp_path / "s.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(published_values, "_FOLDER", tmp_path)


def test_numbers_texts_and_lost_cells_keep_their_kind(tmp_path, monkeypatch):
    rows = [{"id": name, "value": value} for name, value in [("a", "40"), ("b", "40.0"), ("c", "7-6"), ("d", "")]]
    several = [{"id": "e", "value": "1"}, {"id": "e", "value": "2.5"}]
    named = [{"id": "f", "value": "1", "part": "max"}, {"id": "f", "value": "2", "part": "mean"}]
    written(tmp_path, monkeypatch, *rows, *several, *named)
    loaded = load_published("s")
    values = {name: value.value for name, value in loaded.items()}
    assert values == {"a": 40, "b": 40.0, "c": "7-6", "d": None, "e": [1, 2.5], "f": {"max": 1, "mean": 2}}
    assert [type(values[name]) for name in "ab"] == [int, float]
    assert loaded["d"].numbers == (Number(None, "", None, None),)


def test_the_rounding_is_that_of_the_text_with_its_trailing_zeros(tmp_path, monkeypatch):
    texts = {"a": "9.40", "b": "9.4", "c": "5e-05", "d": "40", "e": "-0.00"}
    written(tmp_path, monkeypatch, *({"id": name, "value": text} for name, text in texts.items()))
    numbers = {name: value.numbers[0] for name, value in load_published("s").items()}
    assert {name: half_unit(number, None) for name, number in numbers.items()} == pytest.approx(
        {"a": 0.005, "b": 0.05, "c": 5e-06, "d": 0.5, "e": 0.005}
    )
    assert half_unit(numbers["a"], 0.3) == 0.3, "a stated tolerance counts instead"
    corrected = [{"id": "f", "value": "82.5", "corrected": "94.12"}]
    written(tmp_path, monkeypatch, *corrected)
    assert half_unit(load_published("s")["f"].numbers[0], None) == pytest.approx(0.005)
    assert half_unit(Number(34.5, "", None, None), None) == pytest.approx(0.05), "without a text, the shortest one"


NAMED_HEAD = re.compile(r"\b(?:layer (\d+) head (\d+)|head (\d+)-(\d+), 1-indexed|1-indexed (\d+)-(\d+)|head (\d+)-(\d+))")


def test_a_number_of_a_named_head_is_compared_with_that_of_the_head():
    named = {}
    for study in SIZES:
        for identifier, value in load_published(study).items():
            match = NAMED_HEAD.search(value.quantity)
            if match and (cell := value.numbers[0].cell):
                layer, head = (text for text in match.groups() if text)
                assert (cell.where["layer"], cell.where["head"]) == (layer, head), identifier
                named[identifier] = cell.artefact
    assert Counter(named.values()) == {"dependency_heads": 48, "coreference_heads": 5, "figure8": 14, "figure3": 2}
    cell = load_published("clark2019")["t1_pobj_acc"].numbers[0].cell
    assert cell.where == {"relation": "pobj", "layer": "9", "head": "6", "direction": "head_to_dependent"}


def test_a_file_of_another_form_is_named(tmp_path, monkeypatch):
    written(tmp_path, monkeypatch)
    (tmp_path / "s.csv").write_text("id,value\na,1\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"s\.csv:1: the column 'absent' is missing"):
        load_published("s")
    (tmp_path / "s.csv").write_text(",".join(COLUMNS) + "\n" + "," * len(COLUMNS) + "\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"s\.csv:2: this row has more cells than there are columns"):
        load_published("s")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "a"}, {"id": "b"}, {"id": "a"}], r"s\.csv:4: the rows of id a must be consecutive"),
        ([{"id": "a", "unit": "%"}, {"id": "a", "unit": "F1"}], r"s\.csv:3: unit differs from that of the other rows of a"),
        ([{"id": "a", "artefact": "t"}], r"s\.csv:2: the table t is named without a column"),
        ([{"id": "a", "artefact": "t", "column": "x", "where": "layer"}], r"s\.csv:2: 'layer' is not of the form name=value"),
        ([{"id": "a", "artefact": "t", "column": "x", "scale": "much"}], r"s\.csv:2: Invalid literal for Fraction: 'much'"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path, monkeypatch, rows, message):
    written(tmp_path, monkeypatch, *rows)
    with pytest.raises(AtlasError, match=message):
        load_published("s")
