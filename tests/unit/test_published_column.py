"""Published values beside rows of this project's tables, against a search of the list value by value."""

import pandas as pd
import pytest

from attention_atlas.published.values import load_published, published_column

CASES = [
    ("michel2019", "Table 1", "table1", "delta", 96),
    ("michel2019", "Table 2", "table2", "delta", 18),
    ("michel2019", "Table 3", "table3", "delta", 12),
    ("michel2019", "Table 4", "table4", "examples_per_second", 8),
    ("michel2019", "Table 5", "table5", "delta", 18),
    ("michel2019", "Table 6", "table6", "delta", 12),
    ("guan2020", "Table 2", "table2", "f1", 11),
    ("clark2019", "Table 1", "dependencies", "baseline_accuracy", 15),
    ("tenney2019", "Figure 1 (and A.2 right)", "figure1", "expected_layer", 8),
    ("stefanik2021", 'slide "Weighting of attention heads"', "head_ranking", "slide_entropy", 10),
    ("stefanik2021", 'slide "Fine-tuning model and analysing heads"', "fine_tuning", "value", 2),
]


def slow(published, item, artefact, column, row):
    """The number of a row by a search through the list; values with `|` stand for both."""
    for value in published.values():
        cell = value.numbers[0].cell
        if value.item != item or cell is None or cell.artefact != artefact or cell.column != column:
            continue
        if all(str(row[name]) in text.split("|") for name, text in cell.where.items()):
            return float(value.numbers[0].value) / float(cell.scale)
    return None


@pytest.mark.parametrize(
    ("study", "item", "artefact", "column", "count"), CASES, ids=[f"{case[0]}-{case[1]}-{case[3]}" for case in CASES]
)
def test_every_published_number_stands_in_its_row(study, item, artefact, column, count):
    published = load_published(study)
    rows = [
        {name: text.split("|")[-1] for name, text in value.numbers[0].cell.where.items()} | {"remark": value.id}
        for value in published.values()
        if value.item == item
        and (cell := value.numbers[0].cell) is not None
        and (cell.artefact, cell.column) == (artefact, column)
    ]
    frame = pd.DataFrame(rows)
    # Layers and heads are numbers in this project's tables.
    for name in frame.columns.intersection(["layer", "head", "row", "batch"]):
        frame[name] = frame[name].astype(int)
    column_values = published_column(published, item, artefact, column, frame)
    assert len(column_values) == len(rows) == count
    assert column_values == pytest.approx([slow(published, item, artefact, column, row) for row in frame.to_dict("records")])


def test_rows_that_are_not_in_the_paper_have_no_number():
    published = load_published("michel2019")
    rows = pd.DataFrame({"kind": ["enc_enc", "enc_dec", "enc_enc"], "layer": [1, 1, 99], "head": [1, 1, 1]})
    assert published_column(published, "Table 1", "table1", "delta", rows) == [0.03, None, None]
    assert published_column(published, "Table 1", "table1", "score", rows) == [None] * 3
    assert published_column(published, "Table 1", "table1", "delta", rows.drop(columns="head")) == [None] * 3


def test_a_share_is_given_as_our_unit():
    published = load_published("clark2019")
    rows = pd.DataFrame({"relation": ["all", "nosuch"]})
    first, second = published_column(published, "Table 1", "dependencies", "baseline_accuracy", rows)
    assert first == pytest.approx(0.263)
    assert second is None
