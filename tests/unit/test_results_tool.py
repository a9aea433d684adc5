"""The page of a run's results: counts of the scoreboard, claims with intervals, and the code that made them."""

import re
import shutil

import pandas as pd
import pytest

from attention_atlas.io.tables import write_table
from attention_atlas.scoreboard.tables import CLAIMS, SUMMARY
from tools import results
from tools.results import main, write_results

VALUES = {"a2019": (5, 2, 0), "b2020": (3, 0, 1), "all": (8, 2, 1)}
"""Study -> values, matches, values that differ."""


@pytest.fixture
def folder(tmp_path):
    """Results of a run."""
    of_all = {"obstacles": "", "claims": 2, "claims_hold": 1, "claims_not_tested": 1}
    rows = [
        dict.fromkeys(SUMMARY, 0) | of_all | {"study": study, "values": values, "match": matches, "differs": differing}
        for study, (values, matches, differing) in VALUES.items()
    ]
    write_table(pd.DataFrame(rows, columns=SUMMARY), tmp_path / "one" / "scoreboard.tsv")
    numbers = [1.5, "above", 0.0, 0.25, 2.75, 0.95, 40]
    first = ["a2019", "heads gain", "ours", "holds", "gain | loss", *numbers, "documents", "paper", "fixed before results"]
    second = ["b2020", "no interval", "ours", "not tested", None, None, "above", 0.0, *[None] * 5, "paper", "added later"]
    write_table(pd.DataFrame([first, second], columns=CLAIMS), tmp_path / "one" / "claims.tsv")
    return tmp_path


def cells(page, line):
    """Cells of the line of a Markdown table that begins so."""
    (row,) = re.findall(rf"^\| {line} .*$", page, flags=re.M)
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def test_the_page_has_the_counts_of_the_scoreboard_and_every_claim(folder):
    path, _ = write_results("one", folder / "one", "Commit 1.")
    page = path.read_text(encoding="utf-8")
    verdicts = page[page.index("## Published values") : page.index("## Claims")]
    assert cells(verdicts, "study") == ["study", "values", "match", "differs"], "verdicts of no value are left out"
    assert cells(verdicts, "b2020") == ["b2020", "3", "0", "1"]
    assert cells(verdicts, "all") == ["all", "8", "2", "1"]
    claims = page[page.index("## Claims") :]
    assert "Fixed in advance: 1 claims (1 hold, 0 do not hold" in claims
    shown = ["heads gain", "ours", "gain \\| loss", "1.5", "0.25 to 2.75", "&gt; 0", "0.95", "40", "documents"]
    assert cells(claims, "a2019 . paper . fixed before results . holds")[4:] == shown
    assert cells(claims, "b2020 . paper . added later . not tested")[4:10] == ["no interval", "ours", "", "", "", "&gt; 0"]
    assert "Commit 1." in page


def test_results_of_other_code_and_missing_ones_are_refused(folder, monkeypatch, capsys):
    monkeypatch.setattr(results, "ROOT", folder)
    (folder / "results").mkdir()
    monkeypatch.setattr("sys.argv", ["results.py", "one"])
    assert main() == 1
    assert "results/one/scoreboard.tsv is missing" in capsys.readouterr().err
    shutil.move(folder / "one", folder / "results" / "one")
    monkeypatch.setattr(results, "jobs_to_do", lambda run, folder, options, targets: [None] * 3)
    assert main() == 1
    assert "3 jobs have to run" in capsys.readouterr().err
    assert not (folder / "results" / "one" / "results.md").exists()
    monkeypatch.setattr(results, "jobs_to_do", lambda run, folder, options, targets: [])
    assert main() == 0
    assert "results/one/results.md has all claims" in capsys.readouterr().out
