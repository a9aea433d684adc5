"""The scoreboard: values and claims of all studies in one table, counted by verdict."""

import pandas as pd
import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table
from attention_atlas.published.compare import COLUMNS
from attention_atlas.published.scoreboard import CLAIMS, SUMMARY, write_scoreboard

OUTPUTS = ("out", "html_out", "summary_out", "summary_html", "claims_out", "claims_html")


def comparison(path, verdicts):
    facts = ["Table 1", "q", "1", "2", 0.5, 2.5, 9, "no", "why"]
    rows = [[f"{path.stem}.{k}", *facts, verdict] for k, verdict in enumerate(verdicts)]
    write_table(pd.DataFrame(rows, columns=list(COLUMNS)), path)
    return path


def test_values_and_claims_are_counted_by_study(tmp_path):
    comparisons = {
        "a2019": comparison(tmp_path / "a.tsv", ["match", "match", "differs", "not comparable"]),
        "b2020": comparison(tmp_path / "b.tsv", ["not computed", "holds"]),
    }
    claims = pd.DataFrame([["x", "1", "holds"], ["y", "2", "does not hold"], ["z", "3", "not tested"]], columns=CLAIMS[1:])
    write_table(claims, tmp_path / "claims-a.tsv")
    out = {name: tmp_path / name for name in OUTPUTS}
    write_scoreboard(comparisons, {"a2019": tmp_path / "claims-a.tsv"}, "Test run", False, **out)
    values = pd.read_csv(out["out"], sep="\t")
    assert list(values.columns) == ["study", *COLUMNS]
    assert values["study"].tolist() == ["a2019"] * 4 + ["b2020"] * 2
    summary = pd.read_csv(out["summary_out"], sep="\t")
    assert list(summary.columns) == SUMMARY
    assert summary["study"].tolist() == ["a2019", "b2020", "all"]
    assert summary.loc[0, "values":].tolist() == [4, 2, 1, 0, 0, 1, 0, 2, 1]
    assert summary.loc[2, "values":].tolist() == [6, 2, 1, 1, 0, 1, 1, 2, 1]
    assert pd.read_csv(out["claims_out"], sep="\t")["study"].tolist() == ["a2019"] * 3
    for name in ("html_out", "summary_html", "claims_html"):
        assert "Test run. A number is compared only with the same model" in out[name].read_text(encoding="utf-8")


def test_a_table_of_another_kind_is_refused(tmp_path):
    write_table(pd.DataFrame({"x": [1]}), tmp_path / "a.tsv")
    with pytest.raises(AtlasError, match="column 'id' is missing"):
        write_scoreboard({"a": tmp_path / "a.tsv"}, {}, "r", True, **{name: tmp_path / name for name in OUTPUTS})
