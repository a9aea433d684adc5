"""The scoreboard: values and claims of all studies in one table, counted by verdict."""

import pandas as pd
import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.published.compare import COLUMNS, SCOPES, VERDICTS
from attention_atlas.scoreboard.tables import CLAIM_VERDICTS, CLAIMS, SCOPE_COLUMNS, SUMMARY, claims, comparison, scoreboard


def comparison_of(verdicts, scopes, obstacle="another model"):
    """A comparison table."""
    facts = ["Table 1", "q", "1", "2", 0.5, 2.5, 9, "no", "why"]
    rows = [[f"v{k}", *facts, *place, obstacle] for k, place in enumerate(zip(verdicts, scopes, strict=True))]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def shown(comparisons, claim_rows):
    """The three tables: all values, all claims, and their summary."""
    tested = pd.DataFrame(claim_rows, columns=CLAIMS[1:4]).reindex(columns=CLAIMS[1:])
    values, all_claims = comparison(comparisons, False), claims({"a2019": tested}, False)
    return values, all_claims, scoreboard(values.frame, all_claims.frame, False)


def test_values_and_claims_are_counted_by_study():
    verdicts = ["match", "match", "differs", "covered by our interval", "not comparable", "not comparable"]
    scopes = ["could match", "could match", "could match", "could be covered", "not in this run", "never"]
    comparisons = {
        "a2019": comparison_of(verdicts, scopes),
        "b2020": comparison_of(
            ["not computed", "undecided", "not comparable"],
            ["never", "claim", "setting"],
            "another checkpoint",
        ),
    }
    rows = [["x", "1", "holds"], ["y", "2", "does not hold"], ["z", "3", "not tested"], ["w", "4", "undecided"]]
    tables = shown(comparisons, rows)
    values, summary = tables[0].frame, tables[2].frame.set_index("study")
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
    assert tables[1].frame["study"].tolist() == ["a2019"] * 4
    for table in tables:
        assert table.notes[0].startswith("A number is compared only with that of the same model")


def test_reasons_stand_with_their_counts_the_most_frequent_first():
    verdicts, scopes = ["not comparable"] * 3, ["never", "never", "not in this run"]
    a = comparison_of(verdicts, scopes, "time on other hardware")
    b = comparison_of(["not comparable"], ["never"], "another checkpoint")
    *_, table = shown({"a2019": a, "b2020": b}, [])
    summary = table.frame.set_index("study")
    assert summary.loc["a2019", ["why_never", "why_not_in_this_run"]].tolist() == [
        "time on other hardware (2)",
        "time on other hardware (1)",
    ]
    assert summary.loc["all", "why_never"] == "time on other hardware (2); another checkpoint (1)"
    for word in (*VERDICTS, *SCOPES):
        assert f"{word}: " in " ".join(table.notes), "every verdict and scope is explained"


def test_a_table_of_another_kind_is_refused():
    with pytest.raises(AtlasError, match="a2019: the column 'id' is missing"):
        comparison({"a2019": pd.DataFrame({"x": [1]})}, True)


def test_without_a_comparison_the_tables_are_empty():
    values, tested = comparison({}, True).frame, claims({}, True).frame
    assert (len(values), len(tested)) == (0, 0)
    assert scoreboard(values, tested, True).frame.set_index("study").loc["all", ["values", "claims"]].tolist() == [0, 0]
