"""The scoreboard: values and claims of all studies in one table, counted by verdict."""

import pandas as pd
import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_table
from attention_atlas.published.compare import COLUMNS, SCOPES, VERDICTS
from attention_atlas.published.scoreboard import CLAIM_VERDICTS, CLAIMS, SCOPE_COLUMNS, SUMMARY, write_scoreboard

OUTPUTS = ("out", "html_out", "summary_out", "summary_html", "claims_out", "claims_html")


def comparison(path, verdicts, scopes, obstacle="another model"):
    """A comparison table."""
    facts = ["Table 1", "q", "1", "2", 0.5, 2.5, 9, "no", "why"]
    rows = [
        [f"{path.stem}.{k}", *facts, verdict, scope, obstacle]
        for k, (verdict, scope) in enumerate(zip(verdicts, scopes, strict=True))
    ]
    write_table(pd.DataFrame(rows, columns=list(COLUMNS)), path)
    return path


def written(tmp_path, comparisons, claims):
    write_table(pd.DataFrame(claims, columns=CLAIMS[1:4]).reindex(columns=CLAIMS[1:]), tmp_path / "claims-a.tsv")
    out = {name: tmp_path / name for name in OUTPUTS}
    write_scoreboard(comparisons, {"a2019": tmp_path / "claims-a.tsv"}, "Test run", False, **out)
    return out, pd.read_csv(out["summary_out"], sep="\t").set_index("study")


def test_values_and_claims_are_counted_by_study(tmp_path):
    verdicts = ["match", "match", "differs", "covered by our interval", "not comparable", "not comparable"]
    scopes = ["could match", "could match", "could match", "could be covered", "not in this run", "never"]
    comparisons = {
        "a2019": comparison(tmp_path / "a.tsv", verdicts, scopes),
        "b2020": comparison(
            tmp_path / "b.tsv",
            ["not computed", "undecided", "not comparable"],
            ["never", "claim", "setting"],
            "another checkpoint",
        ),
    }
    claims = [["x", "1", "holds"], ["y", "2", "does not hold"], ["z", "3", "not tested"], ["w", "4", "undecided"]]
    out, summary = written(tmp_path, comparisons, claims)
    values = pd.read_csv(out["out"], sep="\t")
    assert list(values.columns) == ["study", *COLUMNS]
    assert values["study"].tolist() == ["a2019"] * 6 + ["b2020"] * 3
    assert ["study", *summary.columns] == SUMMARY
    assert summary.index.tolist() == ["a2019", "b2020", "all"]

    def counts(study, columns):
        return {name: int(n) for name, n in summary.loc[study, columns].items() if n}

    by_verdict = [verdict.replace(" ", "_") for verdict in VERDICTS]
    assert counts("a2019", by_verdict) == {
        **{"match": 2, "covered_by_our_interval": 1, "differs": 1, "not_comparable": 2},
    }
    assert counts("b2020", by_verdict) == dict.fromkeys(("not_computed", "undecided", "not_comparable"), 1)
    by_scope = list(SCOPE_COLUMNS.values())
    assert counts("a2019", by_scope) == {
        **{"scope_could_match": 3, "scope_could_be_covered": 1},
        **{"scope_not_in_this_run": 1, "scope_never": 1},
    }
    for columns in (by_verdict, by_scope):
        assert (summary[columns].sum(axis=1) == summary["values"]).all(), "each value has one verdict and one scope"
    of_claims = ["claims", *CLAIM_VERDICTS.values()]
    assert summary[of_claims].values.tolist() == [[4, 1, 1, 1, 1], [0, 0, 0, 0, 0], [4, 1, 1, 1, 1]]
    assert pd.read_csv(out["claims_out"], sep="\t")["study"].tolist() == ["a2019"] * 4
    for name in ("html_out", "summary_html", "claims_html"):
        assert "Test run. A number is compared only with that of the same model" in out[name].read_text(encoding="utf-8")


def test_reasons_stand_with_their_counts_the_most_frequent_first(tmp_path):
    verdicts, scopes = ["not comparable"] * 3, ["never", "never", "not in this run"]
    a = comparison(tmp_path / "a.tsv", verdicts, scopes, "time on other hardware")
    b = comparison(tmp_path / "b.tsv", ["not comparable"], ["never"], "another checkpoint")
    out, summary = written(tmp_path, {"a2019": a, "b2020": b}, [])
    assert summary.loc["a2019", ["why_never", "why_not_in_this_run"]].tolist() == [
        "time on other hardware (2)",
        "time on other hardware (1)",
    ]
    assert summary.loc["all", "why_never"] == "time on other hardware (2); another checkpoint (1)"
    page = out["summary_html"].read_text(encoding="utf-8")
    assert "time on other hardware (2); another checkpoint (1)" in page
    for word in (*VERDICTS, *SCOPES):
        assert f"{word}: " in page, "every verdict and scope is explained"


def test_a_table_of_another_kind_is_refused(tmp_path):
    write_table(pd.DataFrame({"x": [1]}), tmp_path / "a.tsv")
    with pytest.raises(AtlasError, match="column 'id' is missing"):
        write_scoreboard({"a": tmp_path / "a.tsv"}, {}, "r", True, **{name: tmp_path / name for name in OUTPUTS})
