"""The published values: their fields, kinds and numbers."""

import re
from collections import Counter

import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.published.values import load_published


def test_published_values_have_their_fields():
    published = load_published("clark2019")
    assert len(published) == 183
    for identifier, entry in published.items():
        for field in ("id", "item", "quantity", "value", "unit", "source", "kind", "paper"):
            assert entry.get(field) is not None, (identifier, field)
        assert entry["id"] == identifier
        assert entry["paper"] == "clark2019"
        for value in entry["value"] if isinstance(entry["value"], list) else [entry["value"]]:
            assert isinstance(value, int | float) or re.fullmatch(r"\d+-\d+", value), identifier


def test_published_values_by_kind():
    published = load_published("clark2019")
    kinds = Counter(entry["kind"] for entry in published.values())
    assert set(kinds) == {"paper", "authors_notebook", "digitised", "replication", "user_report"}
    digitised = [entry for entry in published.values() if entry["kind"] == "digitised"]
    assert all(0 < entry["abs_tol"] < 0.1 for entry in digitised)
    per_layer = [entry for entry in digitised if "per layer" in entry["quantity"]]
    assert len(per_layer) == 7
    assert all(len(entry["value"]) == 12 for entry in per_layer)


def test_published_table_1_as_the_specification_has_it():
    published = load_published("clark2019")
    rows = {
        name.removeprefix("t1_").removesuffix("_acc"): (
            entry["head"],
            entry["value"],
            published[name[:-3] + "baseline"]["value"],
        )
        for name, entry in published.items()
        if re.fullmatch(r"t1_\w+_acc", name)
    }
    assert len(rows) == 15
    assert rows["dobj"] == ("8-10", 86.8, 40.0)
    assert rows["all"] == ("7-6", 34.5, 26.3)
    assert rows["auxpass"] == ("4-10", 82.5, 40.5)
    assert published["nb_t1_auxpass_acc"]["value"] == 94.1
    assert published["nb_t1_auxpass_baseline"]["value"] == 82.5
    # Thirteen of the fourteen relations are the same in the authors' notebook; the row All is not.
    parting = {
        r
        for r, row in rows.items()
        if (row[1], row[2]) != tuple(published[f"nb_t1_{r}_{c}"]["value"] for c in ("acc", "baseline"))
    }
    assert parting == {"all", "auxpass"}


def test_a_study_without_published_values_is_an_error():
    with pytest.raises(AtlasError, match=r"nobody2000\.yaml: there are no published values of study nobody2000"):
        load_published("nobody2000")


def test_an_id_given_twice_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "s.yaml").write_text("- {id: a, value: 1}\n- {id: a, value: 2}\n", encoding="utf-8")
    monkeypatch.setattr("attention_atlas.published.values._FOLDER", tmp_path)
    with pytest.raises(AtlasError, match="an id is given twice"):
        load_published("s")
