"""The published values: their fields, kinds and numbers, where they stand in our tables."""

import ast
import importlib
import inspect
import re
from fractions import Fraction

import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.published import values as published_values
from attention_atlas.published.compare import CLOSE, EXACT, NO, QUALITATIVE, SETTING
from attention_atlas.published.values import COLUMNS, half_unit, load_published
from attention_atlas.workflow.shown import full_name, shown

SIZES = {"clark2019": 183, "guan2020": 55, "kovaleva2019": 568, "michel2019": 193, "tenney2019": 130, "stefanik2021": 13}
NAMED_HEAD = re.compile(r"\b(?:layer (\d+) head (\d+)|head (\d+)-(\d+), 1-indexed|1-indexed (\d+)-(\d+)|head (\d+)-(\d+))")


@pytest.mark.parametrize("study", SIZES)
def test_a_study_has_its_values_with_all_fields(study):
    values = load_published(study)
    assert len(values) == SIZES[study]
    for identifier, value in values.items():
        assert value.comparable in ("", EXACT, CLOSE, SETTING, QUALITATIVE, NO), identifier
        measured = any(number.cell for number in value.numbers)
        assert (value.comparable in (EXACT, CLOSE, SETTING, NO)) == measured, identifier
        assert measured or not value.same, identifier
        if value.comparable in (EXACT, CLOSE):
            assert value.same, f"{identifier}: what has no model and no data is a setting"
            assert value.role, identifier
        # A close value says what is not the same; what no run can match says why, in words that are counted.
        assert bool(value.recipe) == (value.comparable == CLOSE), identifier
        assert bool(value.never) == (value.comparable in ("", NO)), identifier
        # A number of a named head is compared with that of the head.
        if (match := NAMED_HEAD.search(value.quantity)) and (cell := value.numbers[0].cell):
            assert [cell.where["layer"], cell.where["head"]] == [text for text in match.groups() if text], identifier


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


# --- the files --------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes rows as the published values of a study `s`, and reads them."""
    monkeypatch.setattr(published_values, "_FOLDER", tmp_path)

    def write(*rows):
        lines = [",".join(COLUMNS), *(",".join(row.get(name, "") for name in COLUMNS) for row in rows)]
        return text("\n".join(lines) + "\n")

    def text(content):
        (tmp_path / "s.csv").write_text(content, encoding="utf-8")
        return load_published("s")

    write.text = text
    return write


def test_numbers_texts_and_lost_cells_keep_their_kind(written):
    rows = [{"id": name, "value": value} for name, value in [("a", "40"), ("b", "40.0"), ("c", "7-6"), ("d", "")]]
    several = [{"id": "e", "value": "1"}, {"id": "e", "value": "2.5"}]
    named = [{"id": "f", "value": "1", "part": "max"}, {"id": "f", "value": "2", "part": "mean"}]
    loaded = written(*rows, *several, *named)
    values = {name: value.value for name, value in loaded.items()}
    assert values == {"a": 40, "b": 40.0, "c": "7-6", "d": None, "e": [1, 2.5], "f": {"max": 1, "mean": 2}}
    assert [type(values[name]) for name in "ab"] == [int, float]


def test_the_rounding_is_that_of_the_text_with_its_trailing_zeros(written):
    texts = {"a": "9.40", "b": "9.4", "c": "5e-05", "d": "40", "e": "-0.00"}
    loaded = written(
        *({"id": name, "value": text} for name, text in texts.items()), {"id": "f", "value": "8", "corrected": "9.1"}
    )
    units = {name: half_unit(value.numbers[0], None) for name, value in loaded.items()}
    assert units == pytest.approx({"a": 0.005, "b": 0.05, "c": 5e-06, "d": 0.5, "e": 0.005, "f": 0.05})
    assert half_unit(loaded["a"].numbers[0], 0.3) == 0.3, "a stated tolerance counts instead"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "a"}, {"id": "b"}, {"id": "a"}], r"s\.csv:4: the rows of id a must be consecutive"),
        ([{"id": "a", "unit": "%"}, {"id": "a", "unit": "F1"}], r"s\.csv:3: unit differs from that of the other rows of a"),
        ([{"id": "a", "artefact": "t"}], r"s\.csv:2: the table t is named without a column"),
        ([{"id": "a", "artefact": "t", "column": "x", "where": "layer"}], r"s\.csv:2: 'layer' is not of the form name=value"),
        ([{"id": "a", "artefact": "t", "column": "x", "scale": "much"}], r"s\.csv:2: Invalid literal for Fraction: 'much'"),
        ("id,value\na,1\n", r"s\.csv:1: the column 'absent' is missing"),
        (",".join(COLUMNS) + "\n" + "," * len(COLUMNS) + "\n", r"s\.csv:2: this row has more cells than there are columns"),
    ],
)
def test_a_file_or_a_row_that_cannot_be_used_is_named(written, rows, message):
    with pytest.raises(AtlasError, match=message):
        written.text(rows) if isinstance(rows, str) else written(*rows)
