"""The figures of Štefánik's study can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from largest_tables import LABEL, all_heads, combined, generator, write
from text_boxes import axes_of_figures, saved_figures

from attention_atlas.figures.intervals import interval_rows
from attention_atlas.studies.stefanik2021.baselines import BASELINES
from attention_atlas.studies.stefanik2021.detection import RELATIVE
from attention_atlas.studies.stefanik2021.extractors import OCCURRENCES, OCCURRENCES_TITLE
from attention_atlas.studies.stefanik2021.figures.ablation import ablation
from attention_atlas.studies.stefanik2021.figures.baselines import baselines
from attention_atlas.studies.stefanik2021.figures.cumulative_ablation import cumulative_ablation
from attention_atlas.studies.stefanik2021.figures.fine_tuning import fine_tuning
from attention_atlas.studies.stefanik2021.figures.head_ranking import head_ranking
from attention_atlas.studies.stefanik2021.figures.logistic_regression import logistic_regression
from attention_atlas.studies.stefanik2021.figures.model_view import model_view
from attention_atlas.studies.stefanik2021.figures.relative_attention import relative_attention
from attention_atlas.studies.stefanik2021.names import (
    ABLATION,
    CUMULATIVE,
    F1_5,
    F1_10,
    F1_M,
    FINE_TUNING,
    MEAN,
    METHOD_TITLES,
    ORDER_TITLES,
    PHRASE,
    PRUNED,
    PRUNED_ON_TEST,
    RANDOM,
    TEST,
    TOKEN,
    WHOLE,
    WITHOUT_HEADS,
)

SEEDS = ["0", "1", "2"]


def heads_with(**columns) -> pd.DataFrame:
    return all_heads().drop(columns="kind").assign(**columns)


def noise(scale: float = 1.0) -> np.ndarray:
    return generator().normal(0, scale, 24 * 16)


def of_relative_attention(folder):
    parts = [
        heads_with(value=noise(0.002), n=12345, unit="documents", reduction=name).assign(
            **{f"{kind}_low": lambda rows: rows["value"] - 0.003 for kind in ("ci", "adjusted")},
            **{f"{kind}_high": lambda rows: rows["value"] + 0.003 for kind in ("ci", "adjusted")},
        )
        for name in ("mean", "max")
    ]
    return partial(relative_attention, write(pd.concat(parts), folder / "r.tsv", RELATIVE), LABEL)


def of_head_ranking(folder):
    ranking = heads_with(auc=0.5 + noise(0.1), cross_entropy_none=0.5, slide_entropy=1.0, share=0.0123, n=1234567)
    ranking = ranking.assign(auc_low=ranking["auc"] - 0.1, auc_high=ranking["auc"] + 0.1, documents=12345)
    ranking = ranking.assign(slide_rank=range(1, 385), cross_entropy=0.5 - np.abs(noise(0.002))).sort_values("cross_entropy")
    return partial(head_ranking, write(ranking, folder / "h.tsv"), LABEL)


def of_logistic_regression(folder):
    table = heads_with(coefficient=noise(0.3), permutation_importance=noise(1e-4), permutation_sd=1e-5, mix_weight=1 / 384)
    table = table.assign(ci_low=table["coefficient"] - 0.4, ci_high=table["coefficient"] + 0.4)
    return partial(logistic_regression, write(table, folder / "l.tsv"), LABEL)


def tagger_scores(folder, seeds=SEEDS, loss=-30.0):
    keys = {
        "seed": [*seeds, MEAN],
        "model": [WHOLE, PRUNED, PRUNED_ON_TEST, WITHOUT_HEADS],
        "split": [TEST],
        "metric": [TOKEN, PHRASE],
    }
    scores = combined(keys, {"heads_removed": 0, "value": 87.6, "ci_low": 80.0, "ci_high": 92.0, "documents": 12345})
    scores = scores.assign(delta=-1.0, delta_low=loss - 2, delta_high=loss + 2)
    return write(scores, folder / "fine_tuning.tsv", FINE_TUNING)


def of_fine_tuning(folder):
    return partial(fine_tuning, tagger_scores(folder), LABEL)


def of_ablation(folder):
    parts = [
        heads_with(seed=seed, split=TEST, metric=TOKEN, baseline=87.6, delta=noise(2), documents=12345, p=0.01, p_adjusted=0.04)
        for seed in [*SEEDS, MEAN]
    ]
    rows = pd.concat(parts).assign(ci_low=-1, ci_high=1, adjusted_low=-1, adjusted_high=1)
    rows["value"] = 87.6 + rows["delta"]
    return partial(ablation, write(rows, folder / "a.tsv", ABLATION), tagger_scores(folder, loss=0.0), LABEL)


def of_cumulative_ablation(folder):
    keys = {"seed": SEEDS, "order": list(ORDER_TITLES), "draw": range(3), "split": [TEST], "percent": range(0, 101, 5)}
    rows = combined({**keys, "metric": [TOKEN, PHRASE]})
    rows = rows[(rows["order"] == RANDOM) | (rows["draw"] == 0)]
    steepness = 1 + rows["order"].map(list(ORDER_TITLES).index) + 0.2 * rows["seed"].astype(int)
    rows = rows.assign(heads_removed=(3.84 * rows["percent"]).round().astype(int), documents=12345)
    rows["value"] = 87.6 * (1 - (rows["percent"] / 100) ** steepness)
    return partial(cumulative_ablation, write(rows, folder / "c.tsv", CUMULATIVE), tagger_scores(folder, loss=0.0), LABEL)


def of_baselines(folder):
    rows = combined({"method": list(METHOD_TITLES), "metric": [F1_5, F1_10, F1_M, OCCURRENCES]})
    rows = rows.assign(value=np.linspace(3, 97, len(rows)), documents=12345, encoder="a sentence encoder with a long name")
    rows = rows.assign(ci_low=rows["value"] - 3, ci_high=rows["value"] + 3)
    return partial(baselines, write(rows.reindex(columns=BASELINES), folder / "b.tsv"), True, LABEL)


def of_model_view(folder):
    tokens = ["[CLS]", "a", "prestidigitator", "cost", "$5", "[SEP]", "another", "prestidigitator", "did", "not", "[SEP]"] * 2
    size = len(tokens)
    rows = combined({"layer": range(1, 25), "head": range(1, 17), "query": range(1, size + 1), "key": range(1, size + 1)})
    rows = rows.assign(pair=1, second=7, weight=generator().dirichlet([0.1] * size, len(rows) // size).ravel())
    rows["query_token"] = [tokens[query - 1] for query in rows["query"]]
    return partial(model_view, write(rows, folder / "m.tsv"), LABEL)


FIGURES = {
    "relative_attention": of_relative_attention,
    "head_ranking": of_head_ranking,
    "logistic_regression": of_logistic_regression,
    "fine_tuning": of_fine_tuning,
    "ablation": of_ablation,
    "cumulative_ablation": of_cumulative_ablation,
    "baselines": of_baselines,
    "model_view": of_model_view,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_the_largest_shape_can_be_read(name, tmp_path):
    draw = FIGURES[name](tmp_path)
    with saved_figures() as figures:
        draw({"png": tmp_path / f"{name}.png"})
    (figure,) = figures
    assert figure.problems == []


def test_a_figure_of_one_seed_can_be_read(tmp_path):
    with saved_figures() as figures:
        fine_tuning(tagger_scores(tmp_path, seeds=["0"]), LABEL, {"png": tmp_path / "f.png"})
    assert figures[0].problems == []


def test_the_footnote_says_where_removals_say_nothing(tmp_path):
    for loss, said in ((0.0, True), (-30.0, False)):
        draw = of_cumulative_ablation(tmp_path)
        tagger_scores(tmp_path, loss=loss)
        with saved_figures() as figures:
            draw({"png": tmp_path / "c.png"})
        assert any("no significant loss with all heads removed" in " ".join(text.split()) for text in figures[0].texts) == said


def test_dots_of_relative_attention_are_simultaneous_for_all_heads(tmp_path):
    """Of 384 heads some exclude 0 by their own intervals without any effect: these get no dot."""
    of_relative_attention(tmp_path)
    table = pd.read_csv(tmp_path / "r.tsv", sep="\t").assign(ci_low=0.001, ci_high=0.002, adjusted_low=-1.0, adjusted_high=1.0)
    table.loc[table["layer"] == 3, ["adjusted_low", "adjusted_high"]] = (-0.2, -0.1)
    path = write(table, tmp_path / "r.tsv")
    with axes_of_figures() as saved:
        relative_attention(path, LABEL, {"png": tmp_path / "r.png"})
    dots = [line for axis in saved[0] for line in axis.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in dots] == [16, 16], "the heads of layer 3, in both panels"
    assert {float(y) for line in dots for y in line.get_ydata()} == {2.5}


@pytest.mark.parametrize("same_encoder", [True, False])
def test_the_embedding_ranker_is_shaded_where_its_encoder_is_the_models(tmp_path, same_encoder):
    of_baselines(tmp_path)
    with axes_of_figures() as saved, saved_figures() as figures:
        baselines(tmp_path / "b.tsv", same_encoder, LABEL, {"png": tmp_path / "b.png"})
    axis = saved[0][0]
    shaded = sorted(round(patch.get_y() + 0.45) for patch in axis.patches if patch.get_height() == pytest.approx(0.9))
    names = [name for place, name in enumerate(METHOD_TITLES) if place in shaded]
    assert names == [*(["embedding"] if same_encoder else []), "best_head", "regression", "fine_tuned"]
    assert OCCURRENCES_TITLE in figures[0].texts


def test_f1_of_the_slides_is_in_both_panels(tmp_path):
    """The slides do not say whether it is of words or of phrases."""
    with axes_of_figures() as saved:
        fine_tuning(tagger_scores(tmp_path), LABEL, {"png": tmp_path / "f.png"})
    heights = [[list(line.get_ydata()) for line in axis.lines if line.get_marker() == "D"] for axis in saved[0][:2]]
    assert heights == [[pytest.approx([36, 37])]] * 2


def test_ticks_of_the_cumulative_removal_are_its_steps(tmp_path):
    draw = of_cumulative_ablation(tmp_path)
    table = pd.read_csv(tmp_path / "c.tsv", sep="\t").query("percent % 25 == 0")
    write(table, tmp_path / "c.tsv")
    with axes_of_figures() as saved, saved_figures() as figures:
        draw({"png": tmp_path / "c.png"})
    for axis in saved[0][:2]:
        assert list(axis.get_xticks()) == [0, 96, 192, 288, 384]
    assert "steps of 25 % of the heads" in " ".join(" ".join(figures[0].texts).split())


def test_three_rows_of_a_value_have_its_interval():
    table = pd.DataFrame({"name": ["a", "b"], "value": [1.0, 5.0], "ci_low": [0.5, 5.1], "ci_high": [1.5, 4.0]})
    rows = interval_rows(table).groupby("name")["value"]
    assert rows.median().to_dict() == {"a": 1.0, "b": 5.0}
    assert rows.min().to_dict() == {"a": 0.5, "b": 5.0}
    assert rows.max().to_dict() == {"a": 1.5, "b": 5.0}
