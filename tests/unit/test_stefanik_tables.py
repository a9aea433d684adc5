"""Claims, comparison, figures and inputs of Štefánik's study: each claim can hold, not hold, stay undecided."""

from math import nan

import numpy as np
import pandas as pd
import pytest
from keyphrase_documents import CARD, answers, cached, evaluated_methods, tagged

from attention_atlas.io.html_tables import Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.studies.stefanik2021 import figures
from attention_atlas.studies.stefanik2021.detection import detection
from attention_atlas.studies.stefanik2021.head_measures import METHOD_TITLES
from attention_atlas.studies.stefanik2021.removal import removal_tables
from attention_atlas.studies.stefanik2021.scores import method_rows
from attention_atlas.studies.stefanik2021.tables import claims, comparison, slide_gain

HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"
SETTING = RunLabel("Test run", "tiny", "documents", sample=True)


def made(changes: dict[str, dict[str, list[float]]], loss: float = -5.0) -> Table:
    """Claims from tables in which every claim holds, with other columns; taggers lose `loss` (its upper end) without heads."""
    relative = {"reduction": ["mean", "mean", "max"], "value": [0.02, -0.01, 0.5], "n": [30, 30, 30]}
    relative |= {"adjusted_low": [0.02, -0.02, 0.4], "adjusted_high": [0.04, -0.005, 0.6]}
    relative |= {"controlled": [0.02, -0.01, 0.5], "controlled_low": [0.01, -0.02, 0.4], "controlled_high": [0.03, -0.005, 0.6]}
    detectors = {"detector": ["regression", "best_head", "word_statistics"], "document_auc": [0.9, 0.8, 0.85], "n": [30] * 3}
    detectors |= {"difference": [0.1, 0.0, 0.05], "difference_low": [0.05, 0.0, 0.0], "difference_high": [0.15, 0.0, 0.1]}
    correlations = {"correlation": ["slide_entropy", "coefficients"], "value": [0.7, 0.9], "ci_low": [0.6, 0.85]}
    correlations |= {"ci_high": [0.8, 0.95], "heads": [72, 72], "documents": [30, 30], "groups": [10, 10]}
    metrics = {"seed": "mean", "metric": np.repeat(["token_f1", "phrase_f1"], 2), "documents": 14}
    fine_tuning = metrics | {"model": ["pruned", "pruned_on_test"] * 2, "heads_removed": [3, 5] * 2, "delta": [4.0, 9.0] * 2}
    fine_tuning |= {"delta_low": [1.0, 8.0] * 2, "delta_high": [7.0, 10.0] * 2}
    ablation = metrics | {"delta": [-4.0, 0.5] * 2, "p_adjusted": [0.01, 0.9] * 2}
    ablation |= {"adjusted_low": [-6.0, -0.2] * 2, "adjusted_high": [-2.0, 1.2] * 2}
    baselines = {"method": ["tf_idf", "best_head", "regression"], "metric": "f1_at_m", "documents": 14, "reference": "tf_idf"}
    baselines |= {"value": [20.0, 25.0, 30.0], "development": [21.0, 25.0, 31.0], "development_documents": 8}
    baselines |= {"difference": [0.0, 5.0, 10.0], "difference_low": [0.0, -1.0, 4.0], "difference_high": [0.0, 11.0, 16.0]}
    columns = {"relative_attention": relative, "detectors": detectors, "rank_correlations": correlations}
    columns |= {"fine_tuning": fine_tuning, "ablation": ablation, "baselines": baselines}
    tables = {name: pd.DataFrame(values | changes.get(name, {})) for name, values in columns.items()}
    models = pd.DataFrame({"model": ["whole", "without_heads"], "seed": "mean", "metric": "token_f1", "value": 40.0})
    models = models.assign(delta=loss - 1, delta_low=loss - 2, delta_high=loss, documents=14)
    return claims(**tables | {"fine_tuning": pd.concat([tables["fine_tuning"], models])})


RELATIVE, ALL_HEADS, SLIDES, COEFFICIENTS, WORST, WORST_PHRASES, SINGLE, SINGLE_PHRASES, ATTENTION = range(9)
WORST_ONE_METRIC = {"delta_low": [1.0, 8.0, -7.0, 8.0], "delta_high": [7.0, 10.0, -1.0, 10.0]}


def test_all_claims_can_hold():
    table = made({})
    assert table.frame["verdict"].tolist() == [HOLDS] * 9
    assert (table.frame["unit"] == "documents").all()
    assert table.frame["n"].tolist() == [30] * 4 + [14] * 5
    assert table.frame.loc[RELATIVE, ["value", "ci_low", "ci_high"]].tolist() == pytest.approx([2.0, 1.0, 3.0])
    assert table.frame.loc[ATTENTION, ["value", "ci_low", "ci_high"]].tolist() == [10.0, 4.0, 16.0]
    assert "+9.00, which is optimistic" in table.frame.loc[WORST, "ours"]
    gains = {"delta": [4.0, 0.5] * 2, "adjusted_low": [2.0, -0.2] * 2, "adjusted_high": [6.0, 1.2] * 2}
    for changes in ({}, {"ablation": gains}):
        assert made(changes).frame.loc[SINGLE, ["value", "ci_low", "ci_high"]].tolist() == [4.0, 2.0, 6.0], "the size counts"
    assert slide_gain() == 1.0
    assert not any("uninformative" in note for note in table.notes)
    assert "uninformative" in made({}, loss=0.5).notes[0]


@pytest.mark.parametrize(
    ("claim", "table", "columns", "verdict"),
    [
        # The reduction "max" and attention without the control do not count.
        (RELATIVE, "relative_attention", {"controlled_low": [-0.01, -0.02, 0.4]}, OPEN),
        (ALL_HEADS, "detectors", {"difference_low": [-0.1] * 3, "difference_high": [-0.02, 0.0, 0.0]}, FAILS),
        (SLIDES, "rank_correlations", {"ci_low": [nan, nan], "ci_high": [nan, nan]}, "not tested"),
        (SLIDES, "rank_correlations", {"ci_low": [0.1, 0.85], "ci_high": [0.45, 0.95]}, FAILS),
        (COEFFICIENTS, "rank_correlations", {"ci_low": [0.6, 0.2], "ci_high": [0.8, 0.7]}, FAILS),
        # The gain where heads were chosen on the reported documents decides nothing.
        (WORST, "fine_tuning", {"delta_low": [-1.0, 8.0] * 2}, OPEN),
        (WORST, "fine_tuning", {"delta_low": [-7.0, 8.0] * 2, "delta_high": [-1.0, 10.0] * 2}, FAILS),
        # Token F1 and phrase F1 are two claims: the slides do not say which they report.
        (WORST, "fine_tuning", WORST_ONE_METRIC, HOLDS),
        (WORST_PHRASES, "fine_tuning", WORST_ONE_METRIC, FAILS),
        (SINGLE_PHRASES, "ablation", {"adjusted_high": [-2.0, 1.2, -0.5, 1.2]}, OPEN),
        (SINGLE, "ablation", {"adjusted_low": [-0.9, -0.2] * 2, "adjusted_high": [-0.1, 0.8] * 2}, FAILS),
        (ATTENTION, "baselines", {"difference_low": [0.0, -1.0, -9.0], "difference_high": [0.0, 11.0, -2.0]}, FAILS),
        # Development documents choose the best head, whose interval contains 0, although the regression is better on test.
        (ATTENTION, "baselines", {"development": [21.0, 35.0, 31.0]}, OPEN),
    ],
)
def test_each_verdict_is_possible(claim, table, columns, verdict):
    assert made({table: columns}).frame.loc[claim, "verdict"] == verdict


@pytest.fixture(scope="module")
def built():
    """All measured tables of the study."""
    maps, documents = [cached(k, 20) for k in range(10)], [tagged(k, 20) for k in range(10)]
    measured = detection(maps, documents, CARD, folds=3, l2_penalty=1.0, fits=10, permutations=1, resamples=100, seed=0)
    measured |= removal_tables({"1": answers(1), "2": answers(2)}, 100, 0)
    return measured | {"baselines": method_rows(evaluated_methods(), "tiny", 100, 0)}


def test_the_ranking_shows_log_loss_saved_in_thousandths_of_a_nat(built):
    rows = built["head_ranking"].head(20)
    bars = figures.head_ranking(built["head_ranking"]).figure.axes[0].patches
    saved = 1000 * (rows["cross_entropy_none"] - rows["cross_entropy"])
    assert [bar.get_width() for bar in bars] == pytest.approx(saved.tolist())
    figures.style.plt.close("all")


def test_no_published_value_is_compared(built):
    read = {name: built[name] for name in comparison.inputs}
    table = comparison(**read, labels={"documents": SETTING, "tagging": SETTING}).frame.set_index("id")
    assert len(table) == 13
    assert set(table["verdict"]) == {"not comparable", "not computed"}
    mean = built["fine_tuning"].query("seed == 'mean' and model == 'whole' and metric == 'token_f1'")["value"].item()
    assert float(table.loc["s21.f1", "ours"]) == pytest.approx(mean / 100, abs=1e-3)
    # The slides count layers from 0: l_2 is the third, which this model lacks.
    assert table.loc["s21.entropy.l_2_h_0_max", "verdict"] == "not computed"
    methods = built["baselines"].query("metric == 'phrase_f1_all_occurrences'").set_index("method")["value"]
    assert float(table.loc["s21.sota", "ours"]) == pytest.approx(methods.max() / 100, abs=1e-3), "the run's own best method"
    assert METHOD_TITLES[methods.idxmax()] in table.loc["s21.sota", "why"]
