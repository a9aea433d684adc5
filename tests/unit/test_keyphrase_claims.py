"""Claims about attention and keyphrases: each can hold, not hold and stay undecided; what chooses is not what is reported."""

from __future__ import annotations

from math import nan

import pandas as pd
import pytest

from attention_atlas.io.html_tables import Table
from attention_atlas.studies.stefanik2021.tables import claims, slide_gain

HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"


def frames() -> dict[str, pd.DataFrame]:
    """Tables of a run in which every claim holds."""
    relative = {"reduction": ["mean", "mean", "max"], "value": [0.02, -0.01, 0.5], "n": [30, 30, 30]}
    relative |= {"adjusted_low": [0.01, -0.02, 0.4], "adjusted_high": [0.03, -0.005, 0.6]}
    detectors = {"detector": ["regression", "best_head", "word_statistics"], "document_auc": [0.9, 0.8, 0.85], "n": [30] * 3}
    detectors |= {"difference": [0.1, 0.0, 0.05], "difference_low": [0.05, 0.0, 0.0], "difference_high": [0.15, 0.0, 0.1]}
    correlations = {"correlation": ["slide_entropy", "coefficients"], "value": [0.7, 0.9], "ci_low": [0.6, 0.85]}
    correlations |= {"ci_high": [0.8, 0.95], "heads": [72, 72], "documents": [30, 30], "groups": [10, 10]}
    of_mean = {"seed": "mean"}
    fine_tuning = pd.DataFrame(
        {"model": ["pruned", "pruned_on_test"], "heads_removed": [3, 5], "delta": [4.0, 9.0], "documents": [14, 14]}
    ).assign(delta_low=[1.0, 8.0], delta_high=[7.0, 10.0], **of_mean)
    ablation = pd.DataFrame({"delta": [-4.0, 0.5], "p_adjusted": [0.01, 0.9], "documents": [14, 14]})
    ablation = ablation.assign(adjusted_low=[-6.0, -0.2], adjusted_high=[-2.0, 1.2], **of_mean)
    fine_tuning, ablation = (
        pd.concat([table.assign(metric=metric) for metric in ("token_f1", "phrase_f1")], ignore_index=True)
        for table in (fine_tuning, ablation)
    )
    baselines = pd.DataFrame(
        {
            "method": ["tf_idf", "best_head", "regression"],
            "value": [20.0, 25.0, 30.0],
            "development": [21.0, 25.0, 31.0],
            "difference": [0.0, 5.0, 10.0],
            "difference_low": [0.0, -1.0, 4.0],
            "difference_high": [0.0, 11.0, 16.0],
        }
    ).assign(metric="f1_at_m", documents=14, development_documents=8, reference="tf_idf")
    return {
        "relative_attention": pd.DataFrame(relative),
        "detectors": pd.DataFrame(detectors),
        "rank_correlations": pd.DataFrame(correlations),
        "fine_tuning": fine_tuning,
        "ablation": ablation,
        "baselines": baselines,
    }


def made(changes: dict[str, dict[str, list[float]]], loss: float = -5.0) -> Table:
    """The claims; taggers lose `loss` (the upper end of its interval) without any head."""
    tables = frames()
    for name, columns in changes.items():
        tables[name] = tables[name].assign(**columns)
    models = pd.DataFrame({"model": ["whole", "without_heads"], "seed": "mean", "metric": "token_f1"})
    models = models.assign(value=40.0, delta=loss - 1, delta_low=loss - 2, delta_high=loss, documents=14)
    return claims(**tables | {"fine_tuning": pd.concat([tables["fine_tuning"], models])})


RELATIVE, ALL_HEADS, SLIDES, COEFFICIENTS, WORST, WORST_PHRASES, SINGLE, SINGLE_PHRASES, ATTENTION = range(9)


@pytest.mark.parametrize(
    ("claim", "table", "columns", "verdict"),
    [
        (RELATIVE, "relative_attention", {}, HOLDS),
        # The reduction "max" and an interval of one head alone do not count.
        (RELATIVE, "relative_attention", {"adjusted_low": [-0.01, -0.02, 0.4]}, OPEN),
        (RELATIVE, "relative_attention", {"adjusted_low": [-0.03] * 3, "adjusted_high": [-0.01, -0.005, 0.6]}, FAILS),
        (ALL_HEADS, "detectors", {}, HOLDS),
        (ALL_HEADS, "detectors", {"difference_low": [-0.01, 0.0, 0.0]}, OPEN),
        (ALL_HEADS, "detectors", {"difference_low": [-0.1] * 3, "difference_high": [-0.02, 0.0, 0.0]}, FAILS),
        (SLIDES, "rank_correlations", {}, HOLDS),
        (SLIDES, "rank_correlations", {"ci_low": [0.4, 0.85]}, OPEN),
        (SLIDES, "rank_correlations", {"ci_low": [nan, nan], "ci_high": [nan, nan]}, "not tested"),
        (SLIDES, "rank_correlations", {"ci_low": [0.1, 0.85], "ci_high": [0.45, 0.95]}, FAILS),
        (COEFFICIENTS, "rank_correlations", {}, HOLDS),
        (COEFFICIENTS, "rank_correlations", {"ci_low": [0.6, 0.7]}, OPEN),
        (COEFFICIENTS, "rank_correlations", {"ci_low": [0.6, 0.2], "ci_high": [0.8, 0.7]}, FAILS),
        (WORST, "fine_tuning", {}, HOLDS),
        # The gain where heads were chosen on the reported documents decides nothing.
        (WORST, "fine_tuning", {"delta_low": [-1.0, 8.0] * 2}, OPEN),
        (WORST, "fine_tuning", {"delta_low": [-7.0, 8.0] * 2, "delta_high": [-1.0, 10.0] * 2}, FAILS),
        # Token F1 and phrase F1 are two claims: the slides do not say which they report.
        (WORST, "fine_tuning", {"delta_low": [1.0, 8.0, -7.0, 8.0], "delta_high": [7.0, 10.0, -1.0, 10.0]}, HOLDS),
        (WORST_PHRASES, "fine_tuning", {"delta_low": [1.0, 8.0, -7.0, 8.0], "delta_high": [7.0, 10.0, -1.0, 10.0]}, FAILS),
        (WORST_PHRASES, "fine_tuning", {"delta_low": [-7.0, 8.0, 1.0, 8.0], "delta_high": [-1.0, 10.0, 7.0, 10.0]}, HOLDS),
        (SINGLE_PHRASES, "ablation", {}, HOLDS),
        (SINGLE_PHRASES, "ablation", {"adjusted_high": [-2.0, 1.2, -0.5, 1.2]}, OPEN),
        (SINGLE, "ablation", {}, HOLDS),
        (SINGLE, "ablation", {"adjusted_high": [-0.5, 1.2] * 2}, OPEN),
        (SINGLE, "ablation", {"adjusted_low": [-0.9, -0.2] * 2, "adjusted_high": [-0.1, 0.8] * 2}, FAILS),
        (ATTENTION, "baselines", {}, HOLDS),
        (ATTENTION, "baselines", {"difference_low": [0.0, -1.0, -4.0]}, OPEN),
        (ATTENTION, "baselines", {"difference_low": [0.0, -1.0, -9.0], "difference_high": [0.0, 11.0, -2.0]}, FAILS),
        # Development documents choose the best head, whose interval contains 0, although the regression is better on test.
        (ATTENTION, "baselines", {"development": [21.0, 35.0, 31.0]}, OPEN),
    ],
)
def test_each_verdict_is_possible(claim: int, table: str, columns: dict[str, list[float]], verdict: str) -> None:
    result = made({table: columns}).frame.iloc[claim]
    assert result["verdict"] == verdict
    assert result["unit"] == "documents"
    assert result["n"] in (14, 30)


def test_the_size_of_a_change_counts_and_not_its_sign() -> None:
    gains = {"delta": [4.0, 0.5] * 2, "adjusted_low": [2.0, -0.2] * 2, "adjusted_high": [6.0, 1.2] * 2}
    for changes in ({}, {"ablation": gains}):
        assert made(changes).frame.loc[SINGLE, ["value", "ci_low", "ci_high"]].tolist() == [4.0, 2.0, 6.0]


def test_the_gain_of_the_slides_is_the_difference_of_their_two_scores() -> None:
    assert slide_gain() == 1.0


def test_claims_say_what_was_measured() -> None:
    table = made({}).frame
    assert "+9.00, which is optimistic" in table.loc[WORST, "ours"]
    assert "change of phrase F1" in table.loc[WORST_PHRASES, "statistic"]
    assert "percentage points" in table.loc[RELATIVE, "statistic"]
    assert table.loc[RELATIVE, ["value", "ci_low", "ci_high"]].tolist() == pytest.approx([2.0, 1.0, 3.0])
    assert "best of their kind on 8 development documents" in table.loc[ATTENTION, "ours"]
    assert table.loc[ATTENTION, "value"] == pytest.approx(10.0)


def test_the_page_warns_where_removals_say_nothing() -> None:
    assert not any("uninformative" in note for note in made({}).notes)
    assert "uninformative" in made({}, loss=0.5).notes[0]
