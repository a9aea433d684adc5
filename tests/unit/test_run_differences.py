"""Two runs side by side: what is said to have changed, and by how much."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.published.compare import COLUMNS as VALUE_COLUMNS
from attention_atlas.published.run_differences import (
    APART,
    NUMBER,
    ONLY_FIRST,
    ONLY_SECOND,
    OVERLAP,
    SAME,
    VERDICT,
    counts,
    run_differences,
)
from attention_atlas.published.scoreboard import CLAIMS
from tools import diff


def value(name, ours, verdict="not comparable", interval=(None, None), n=None):
    known = {"study": "a2019", "id": name, "item": "Table 1", "quantity": "accuracy [%]", "ours": ours, "verdict": verdict}
    return dict.fromkeys(VALUE_COLUMNS) | known | {"ci_low": interval[0], "ci_high": interval[1], "n": n}


def claim(words, verdict, number, low, high, n=40):
    return ["a2019", words, "ours", verdict, "gain", number, "above", 0.0, low, high, 0.95, n, "documents"]


def run(folder, values, claims):
    write_table(pd.DataFrame(values, columns=["study", *VALUE_COLUMNS]).astype({"n": "Int64"}), folder / "comparison.tsv")
    write_table(pd.DataFrame(claims, columns=CLAIMS), folder / "claims.tsv")
    return folder


@pytest.fixture
def runs(tmp_path):
    first = run(
        tmp_path / "results" / "one",
        [
            value("same", 40.0, interval=(38, 42), n=100),
            value("near", 40.0, interval=(38, 42), n=100),
            value("far", 50.0, interval=(48, 52), n=100),
            value("decided", 34.5, "match"),
            value("list", "[1, 2]"),
            value("gone", 3.0),
            value("zero", 0.0),
        ],
        [claim("heads gain", "holds", 1.5, 0.5, 2.5), claim("heads gain", "undecided", 0.1, -1, 1.2)],
    )
    second = run(
        tmp_path / "results" / "two",
        [
            value("same", 40.0, interval=(38, 42), n=100),
            value("near", 41.0, interval=(39, 43), n=100),
            value("far", 40.0, interval=(38, 42), n=100),
            value("decided", 31.0, "differs"),
            value("list", "[1, 3]"),
            value("new", 3.0),
            value("zero", 2.0),
        ],
        [claim("heads gain", "holds", 1.5, 0.5, 2.5), claim("heads gain", "does not hold", -2.0, -3, -1)],
    )
    return first, second


def test_each_row_has_one_change_with_its_size(runs):
    table = run_differences(*runs).set_index(["kind", "name"])
    values = table.loc["value"]
    assert values["change"].to_dict() == {
        "same": SAME,
        "near": NUMBER,
        "far": NUMBER,
        "decided": VERDICT,
        "list": NUMBER,
        "gone": ONLY_FIRST,
        "zero": NUMBER,
        "new": ONLY_SECOND,
    }
    assert values.loc["far", ["difference", "relative", "intervals"]].tolist() == [-10.0, -0.2, APART]
    assert values.loc["near", ["difference", "relative", "intervals"]].tolist() == [1.0, 0.025, OVERLAP]
    assert values.loc["same", "difference"] == 0
    assert pd.isna(values.loc["list", "difference"]), "a list has no one difference"
    assert values.loc["zero", "difference"] == 2
    assert pd.isna(values.loc["zero", "relative"]), "no share of nothing"


def test_intervals_that_only_touch_overlap(tmp_path):
    first = run(tmp_path / "one", [value("x", 1.0, interval=(0, 2))], [])
    second = run(tmp_path / "two", [value("x", 3.0, interval=(2, 4))], [])
    assert run_differences(first, second)["intervals"].tolist() == [OVERLAP]


def test_claims_of_the_same_words_are_told_apart_by_their_order(runs):
    table = run_differences(*runs)
    claims = table[table["kind"] == "claim"]
    assert claims["change"].tolist() == [SAME, VERDICT]
    assert claims["difference"].tolist() == [0.0, -2.1]


def test_counts_add_up(runs):
    table = run_differences(*runs)
    counted = counts(table)
    assert counted.drop(columns=["kind", "study"]).sum(axis=1).tolist() == [8, 8, 2, 2]
    assert counted.loc[counted["kind"] == "value", NUMBER].tolist() == [4, 4]


def test_a_run_compared_with_itself_has_no_change(runs):
    assert set(run_differences(runs[0], runs[0])["change"]) == {SAME}


def test_the_command_prints_changes_and_writes_every_row(runs, monkeypatch, capsys):
    root = runs[0].parents[1]
    monkeypatch.setattr(diff, "ROOT", root)
    monkeypatch.setattr(sys, "argv", ["diff.py", "one", str(runs[1])])
    assert diff.main() == 0
    printed = capsys.readouterr().out
    assert "verdict changed (2)" in printed
    assert "a2019 decided: 34.5 (match) -> 31.0 (differs); difference -3.5 (-10.1 %)" in printed
    assert "a2019 far: 50.0 [48, 52] n 100 (not comparable) -> 40.0 [38, 42] n 100 (not comparable)" in printed
    assert printed.index("a2019 far") < printed.index("a2019 near"), "largest relative difference first"
    assert len(read_table(root / "results" / "diff-one-two.tsv")) == 10


def test_a_run_that_is_not_built_is_named(runs, monkeypatch, capsys):
    monkeypatch.setattr(diff, "ROOT", runs[0].parents[1])
    monkeypatch.setattr(sys, "argv", ["diff.py", "one", "thre"])
    assert diff.main() == 1
    assert "thre: no built run has this name" in capsys.readouterr().err


def test_a_scoreboard_of_an_older_version_is_refused(runs):
    (runs[1] / "claims.tsv").write_text("study\tclaim\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"claims\.tsv: the column 'ours' is missing"):
        run_differences(*runs)
