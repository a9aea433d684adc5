"""The guard: every kind of difference between two results folders is reported, and nothing else."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from attention_atlas.io.files import write_text
from tools.compare_results import main

TABLE1 = "layer\thead\tvalue\tname\n1\t1\t0.5\tdet\n1\t2\t\tnan\n2\t1\tnan\tnsubj\n2\t2\t4\ta b\n"
TABLE4 = "variant\tbatch\texamples_per_second\tsd\tparameters\nwhole\t1\t69.8\t0.9\t227\neven\t1\t82.6\t8.7\t209\n"
CARD = {"name": "tiny", "layers": 2, "model": {"mask": None, "origin": "package x"}, "tokens": ["[CLS]", "a"]}
TENSORS = {"00000000": np.arange(6, dtype=np.float16).reshape(2, 3), "00000001": np.array([0.5, np.nan], np.float32)}
PARQUET = {"id": ["x", "y", "z"], "loss": [0.25, None, 1.0], "tokens": [["a"], ["b", "c"], []], "n": [1, 2, 3]}
TEXTS = {
    "clark2019/table1.tsv": TABLE1,
    "michel2019/table4.tsv": TABLE4,
    "models/tiny/card.json": json.dumps(CARD),
    "corpora/sample/ud.conllu": "1\tA\n\n1\tB\n",
    "benchmarks/table1.tsv": "s\n1.5\n",
    "clark2019/table1.html": "<p>1.5</p><table><tr><th>det</th><td><b>1.5</b></td></tr></table>",
    "clark2019/figure1.svg": "<svg/>",
    "michel2019/table4.html": "<table><tr><td>69.8</td></tr></table>",
}


@pytest.fixture
def folders(tmp_path):
    """Two equal results folders with a table of each kind."""
    old, new = tmp_path / "old", tmp_path / "new"
    for name, text in TEXTS.items():
        write_text(old / name, text)
    pd.DataFrame(PARQUET).to_parquet(old / "0.parquet", index=False)
    save_file(TENSORS, old / "0.safetensors")
    shutil.copytree(old, new)
    return old, new


@pytest.fixture
def compare(folders, capsys, tmp_path):
    """Compare the folders: exit status and printed lines."""

    def run(*intended):
        lines = [("file", "column", "reason"), *intended]
        write_text(tmp_path / "intended.tsv", "".join("\t".join(line) + "\n" for line in lines))
        status = main([*map(str, folders), *(["--intended", str(tmp_path / "intended.tsv")] if intended else [])])
        printed = capsys.readouterr()
        return status, (printed.err or printed.out).splitlines()

    return run


def edited(folder, name, old, new):
    assert old in TEXTS[name]
    write_text(folder / name, TEXTS[name].replace(old, new, 1))


def test_equal_folders_have_no_difference(compare):
    # Cells: TSV 16 and 6 that are not measured, JSON 4 values and 2 tokens, text 3, Parquet 12, tensors 8, pages 3.
    assert compare() == (0, ["9 files, 54 cells compared: no difference; intended differences used: 0"])


@pytest.mark.parametrize(
    ("name", "old", "new", "line"),
    [
        ("clark2019/table1.tsv", "0.5", "0.500001", "value: 1 of 4 rows differ, first row 1: '0.5' -> '0.500001'"),
        ("clark2019/table1.tsv", "nan\tnsubj", "0\tnsubj", "value: 1 of 4 rows differ, first row 3: 'nan' -> '0'"),
        ("clark2019/table1.tsv", "2\t2\t4\ta b\n", "", "(rows): 4 rows in OLD, 3 in NEW"),
        ("clark2019/table1.html", "<b>1.5</b>", "<b>9</b>", "(cells): 1 of 2 rows differ, first row 2: '1.5' -> '9'"),
        ("clark2019/figure1.svg", "/", " />", "(picture): 1 of 1 rows differ, first row 1: '<svg/>' -> '<svg />>'"),
        ("models/tiny/card.json", "null", "0", "model.mask: 1 of 1 rows differ, first row 1: 'null' -> '0'"),
        ("models/tiny/card.json", '"a"]', '"a", "b"]', "tokens: 2 rows in OLD, 3 in NEW"),
        # As numbers they are equal; measured times, and text of pages and of logs, are not compared.
        ("clark2019/table1.tsv", "2\t1\tnan", "2\t1\tNaN", ""),
        ("michel2019/table4.tsv", "69.8\t0.9", "12.3\t4.5", ""),
        ("clark2019/table1.html", "<p>1.5", "<p>9", ""),
    ],
)
def test_a_difference_is_reported_with_its_first_row(folders, compare, name, old, new, line):
    edited(folders[1], name, old, new)
    status, lines = compare()
    assert (status, lines[:-1]) == ((1, [f"{name}: {line}"]) if line else (0, []))


@pytest.mark.parametrize(("one", "two"), [("9007199254740993", "9007199254740992"), ("1_0", "10")])
def test_digits_are_compared_exactly(folders, compare, one, two):
    """Whole numbers beyond the precision of a double, and a text that only Python reads as a number."""
    for folder, value in zip(folders, (one, two), strict=True):
        edited(folder, "clark2019/table1.tsv", "0.5", value)
    assert compare()[1][0].endswith(f"first row 1: '{one}' -> '{two}'")


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"loss": [0.25, 0.0, 1.0]}, "loss: 1 of 3 rows differ, first row 2: 'None' -> '0.0'"),
        ({"tokens": [["a"], ["b", "d"], []]}, "tokens: 1 of 3 rows differ, first row 2: \"['b', 'c']\" -> \"['b', 'd']\""),
        ({"00000000": np.array([[0, 1, 2], [3, 9, 5]], np.float16)}, "00: 1 of 6 rows differ, first row 5: '4.0' -> '9.0'"),
        ({"00000001": np.array([0.5, 0], np.float32)}, "00000001: 1 of 2 rows differ, first row 2: 'nan' -> '0.0'"),
    ],
)
def test_difference_in_arrays(folders, compare, changed, line):
    if isinstance(next(iter(changed.values())), list):
        pd.DataFrame(PARQUET | changed).to_parquet(folders[1] / "0.parquet", index=False)
    else:
        save_file(TENSORS | changed, folders[1] / "0.safetensors")
    shown, _ = compare()[1]
    assert shown.startswith("0.")
    assert shown.endswith(line)


def test_intended_differences_have_a_reason_and_must_be_seen(folders, compare):
    frame = pd.read_csv(folders[1] / "clark2019/table1.tsv", sep="\t", dtype=str, keep_default_na=False)
    frame[["head", "layer", "name"]].assign(n="1").to_csv(folders[1] / "clark2019/table1.tsv", sep="\t", index=False)
    (folders[1] / "michel2019/table4.tsv").rename(folders[1] / "michel2019/table5.tsv")
    status, lines = compare()
    assert (status, len(lines)) == (1, 6)
    assert "clark2019/table1.tsv: value: this column is missing in NEW" in lines
    assert "michel2019/table5.tsv: (file): additional in NEW" in lines
    intended = [(f"michel2019/table{number}.tsv", "(file)", "renamed") for number in (4, 5)]
    intended += [("clark2019/*.tsv", column, "rewritten") for column in ("value", "n", "(order)")]
    assert compare(*intended)[0] == 0
    for left_out in range(len(intended)):
        assert len(compare(*intended[:left_out], *intended[left_out + 1 :])[1]) == 2
    # A star for the column does not stand for a whole file.
    assert compare(*intended[1:], ("michel2019/table4.tsv", "*", "renamed"))[0] == 1
    _, lines = compare(*intended, ("clark2019/table1.tsv", "name", "x"))
    assert lines[0] == "intended.tsv:7: clark2019/table1.tsv: name: this intended difference was not seen"
