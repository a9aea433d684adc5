"""The scoreboard: values and claims of all studies in one table, counted by verdict."""

import pandas as pd
import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.published.compare import COLUMNS, VERDICTS
from attention_atlas.scoreboard.tables import CLAIM_VERDICTS, CLAIMS, SUMMARY, claims, comparison, scoreboard


def comparison_of(verdicts, obstacles="another model"):
    """A comparison table."""
    facts = ["Table 1", "q", "1", "2", 0.5, 2.5, 9, "no", "why"]
    obstacles = [obstacles] * len(verdicts) if isinstance(obstacles, str) else obstacles
    rows = [[f"v{k}", *facts, *place] for k, place in enumerate(zip(verdicts, obstacles, strict=True))]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def shown(comparisons, claim_rows):
    """The three tables: all values, all claims, and their summary."""
    tested = pd.DataFrame(claim_rows, columns=CLAIMS[1:4]).reindex(columns=CLAIMS[1:])
    values, all_claims = comparison(comparisons, False), claims({"a2019": tested}, False)
    return values, all_claims, scoreboard(values.frame, all_claims.frame, False)


def test_values_and_claims_are_counted_by_study():
    verdicts = ["match", "match", "differs", "covered by our interval", "not comparable", "not comparable"]
    comparisons = {
        "a2019": comparison_of(verdicts),
        "b2020": comparison_of(["not computed", "not computed", "not comparable"]),
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
    assert counts("b2020", by_verdict) == {"not_computed": 2, "not_comparable": 1}
    assert (summary[by_verdict].sum(axis=1) == summary["values"]).all(), "each value has one verdict"
    of_claims = ["claims", *CLAIM_VERDICTS.values()]
    assert summary[of_claims].values.tolist() == [[4, 1, 1, 1, 1], [0, 0, 0, 0, 0], [4, 1, 1, 1, 1]]
    assert tables[1].frame["study"].tolist() == ["a2019"] * 4
    for table in tables:
        assert table.notes[0].startswith("A number is compared only with that of the same model")


def test_obstacles_stand_with_their_counts_the_most_frequent_first():
    a = comparison_of(["match", *["not comparable"] * 3], ["", *["time on other hardware"] * 2, "another model"])
    b = comparison_of(["not comparable"], "another checkpoint")
    *_, table = shown({"a2019": a, "b2020": b}, [])
    obstacles = table.frame.set_index("study")["obstacles"]
    assert obstacles["a2019"] == "time on other hardware (2); another model (1)"
    assert obstacles["all"] == "time on other hardware (2); another checkpoint (1); another model (1)"
    assert all(f"{verdict}: " in " ".join(table.notes) for verdict in VERDICTS), "every verdict is explained"


def test_a_table_of_another_kind_is_refused():
    with pytest.raises(AtlasError, match="a2019: the column 'id' is missing"):
        comparison({"a2019": pd.DataFrame({"x": [1]})}, True)


def test_without_a_comparison_the_tables_are_empty():
    values, tested = comparison({}, True).frame, claims({}, True).frame
    assert (len(values), len(tested)) == (0, 0)
    assert scoreboard(values, tested, True).frame.set_index("study").loc["all", ["values", "claims"]].tolist() == [0, 0]
