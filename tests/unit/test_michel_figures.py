"""The figures of Michel et al. can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from largest_tables import LABEL, all_heads, combined, generator, long_labels, write
from text_boxes import axes_of_figures, saved_figures

from attention_atlas.figures.bins import centred_edges
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
from attention_atlas.published.values import load_published
from attention_atlas.studies.michel2019 import figure5 as module_of_figure5
from attention_atlas.studies.michel2019.correlations import CORRELATIONS, FIGURE2, PEARSON, SPEARMAN, TRIMMED
from attention_atlas.studies.michel2019.curves import FIGURE3, FIGURE4, FIGURE5
from attention_atlas.studies.michel2019.figure1 import figure1, published_deltas
from attention_atlas.studies.michel2019.figure2 import figure2, heads_by_spot
from attention_atlas.studies.michel2019.figure3 import figure3
from attention_atlas.studies.michel2019.figure4 import figure4
from attention_atlas.studies.michel2019.figure5 import figure5
from attention_atlas.studies.michel2019.names import ORDER_TITLES, RANDOM

KINDS = ("enc_enc", "enc_dec", "dec_dec")
EXPERIMENTS = {TRANSLATION: ("BLEU", KINDS, 36.05), CLASSIFICATION: ("accuracy", KINDS[:1], 84.6)}
TRANSLATOR = (
    "opus-mt-tc-big-en-fr, 6 encoder and 6 decoder layers of 16 heads, trained in this run from random weights for 40 epochs "
    "on IWSLT 2014 German to English, training"
)
LABELS = long_labels([*EXPERIMENTS, *(f"{name}_other" for name in EXPERIMENTS)])


def head_rows() -> pd.DataFrame:
    """Both experiments, all heads: most do nothing when they are masked, some much."""
    numbers, parts = generator(), []
    for name, (metric, kinds, baseline) in EXPERIMENTS.items():
        heads = all_heads(kinds)
        delta = np.where(numbers.random(len(heads)) < 0.6, 0, numbers.normal(-0.4, 0.8, len(heads)))
        delta[-1] = -13.56
        parts.append(heads.assign(experiment=name, metric=metric, baseline=baseline, delta=delta, score=baseline + delta))
    return pd.concat(parts)


def of_figure1(folder):
    rows = head_rows().assign(p=0.004, p_adjusted=0.2, n=12345, unit="sentences")
    return partial(figure1, write(rows, folder / "figure1.tsv"), LABELS, TRANSLATOR)


def of_figure2(folder):
    rows = head_rows().assign(extreme=0, second_delta=lambda frame: frame["delta"] * 0.7, n=12345, second_n=10000)
    rows.loc[rows["delta"] < -1.5, "extreme"] = 1
    rows = rows.assign(ci_low=-1, ci_high=1, second_low=-1, second_high=1, unit="sentences", second_baseline=30.0)
    counts = ("overlong", "overlong_unmasked", "second_overlong", "second_overlong_unmasked")
    rows = rows.assign(**{name: np.where(rows["experiment"] == TRANSLATION, 12345, np.nan) for name in counts})
    agreement = combined({"experiment": list(EXPERIMENTS), "statistic": [PEARSON, SPEARMAN, TRIMMED]}).assign(
        value=-0.56, ci_low=-0.77, ci_high=-0.21, ci_examples_low=0, ci_examples_high=1, heads=1152, n=12345, second_n=10000
    )
    agreement = agreement.assign(second_data="another corpus", unit="sentences")
    agreement.loc[agreement.index[-1], "value"] = np.nan
    paths = write(rows, folder / "figure2.tsv", FIGURE2), write(agreement, folder / "correlations.tsv", CORRELATIONS)
    return partial(figure2, *paths, LABELS, TRANSLATOR)


def of_figure3(folder):
    parts = []
    for name, (metric, kinds, baseline) in EXPERIMENTS.items():
        keys = {"order": list(ORDER_TITLES), "draw": range(5), "percent": range(0, 101, 5)}
        curves = combined(keys, {"experiment": name, "metric": metric, "baseline": baseline, "n": 12345})
        curves = curves[(curves["order"] == RANDOM) | (curves["draw"] == 0)]
        score = baseline * (1 - (curves["percent"] / 100) ** (1 + curves["draw"])) + curves["draw"]
        curves = curves.assign(count=1, heads=384 * len(kinds), score=score, ci_low=score - 2, ci_high=score + 2)
        floor = 0 if name == TRANSLATION else 35.4
        parts.append(curves.assign(floor=floor, delta=score - baseline, unit="sentences"))
    return partial(figure3, write(pd.concat(parts), folder / "figure3.tsv", FIGURE3), LABELS, TRANSLATOR)


def of_figure4(folder):
    curves = combined({"kind": KINDS, "percent": range(0, 101, 5)}).assign(count=1, heads=384, metric="BLEU", baseline=36.05)
    score = 36.05 * (1 - (curves["percent"] / 100) ** 2)
    curves = curves.assign(score=score, ci_low=score - 1, ci_high=score + 1, delta=score - 36.05, n=12345, unit="sentences")
    return partial(figure4, write(curves, folder / "figure4.tsv", FIGURE4), LABEL, TRANSLATOR)


def of_figure5(folder, monkeypatch):
    epochs = [1, 2, 3, 5, 10, 20, 30, 40]
    curves = combined({"epoch": epochs, "percent": range(0, 101, 5)}).assign(count=1, heads=1152, metric="BLEU")
    curves["baseline"] = 36 * (1 - 1 / (1 + curves["epoch"]))
    score = curves["baseline"] * (1 - (curves["percent"] / 100) ** 2)
    curves = curves.assign(score=score, ci_low=score - 1, ci_high=score + 1, delta=score - curves["baseline"], n=12345)
    curves = curves.assign(unit="sentences")
    curves["share"] = curves["score"] / curves["baseline"]
    out = write(curves, folder / "figure5.tsv", FIGURE5)
    monkeypatch.setattr(module_of_figure5, "dynamics_table", lambda *arguments: None)
    return partial(figure5, folder / "dynamics.parquet", 1, 0, LABEL, TRANSLATOR, out, folder / "statistics.tsv")


@pytest.mark.parametrize("number", range(1, 6))
def test_a_figure_of_the_largest_shape_can_be_read(number, tmp_path, monkeypatch):
    builders = [of_figure1, of_figure2, of_figure3, of_figure4, partial(of_figure5, monkeypatch=monkeypatch)]
    draw = builders[number - 1](tmp_path)
    with saved_figures() as figures:
        draw({"png": tmp_path / f"figure{number}.png"})
    (figure,) = figures
    assert figure.problems == []


def test_figure_2_says_how_many_heads_raise_the_score(tmp_path):
    """All changes share one unmasked score: where nearly all are above 0, that score is the outlier."""
    draw = of_figure2(tmp_path)
    table = pd.read_csv(tmp_path / "figure2.tsv", sep="\t")
    rows = table["experiment"] == TRANSLATION
    table.loc[rows, "second_delta"] = np.where(np.arange(rows.sum()) < 59, 0.5, -0.5)
    table.loc[rows, ["overlong_unmasked", "second_overlong_unmasked", "overlong", "second_overlong"]] = (1, 7, 2, 3)
    write(table, tmp_path / "figure2.tsv")
    with saved_figures() as figures:
        draw({"png": tmp_path / "figure2.png"})
    words = " ".join(" ".join(figures[0].texts).split())
    above = int((table.loc[rows, "delta"] > 1e-9).sum())
    assert f"Heads above the full model: {above} (x), 59 (y) of {rows.sum()}" in words
    lengths = "overlong translations of the full model: 1 (x axis) and 7 (y axis), median over masked heads 2 and 3"
    assert lengths in words
    titles = [text for text in figures[0].texts if "Heads above" in text]
    assert len(titles) == 2
    assert all("−0.56" in title and "-0" not in title for title in titles), titles


def test_figure_4_says_which_kinds_of_attention_the_model_hardly_needs(tmp_path):
    draw = of_figure4(tmp_path)
    table = pd.read_csv(tmp_path / "figure4.tsv", sep="\t")
    table.loc[(table["kind"] == "enc_enc") & (table["percent"] == 100), ["score", "count"]] = (33.0, 384)
    write(table, tmp_path / "figure4.tsv")
    with saved_figures() as figures:
        draw({"png": tmp_path / "figure4.png"})
    words = " ".join(" ".join(figures[0].texts).split())
    assert "with all 384 encoder heads masked BLEU is still 33.0 of 36.0" in words
    assert "decoder heads masked BLEU" not in words
    assert "16 heads, trained in this run" in words, "which model translates"


def test_the_rerun_of_figure_3_has_its_own_floor(tmp_path):
    """It classifies into three classes: its floor says nothing of a task with two."""
    draw = of_figure3(tmp_path)
    with axes_of_figures() as saved, saved_figures() as figures:
        draw({"png": tmp_path / "figure3.png"})
    assert "third-party rerun of the published code: MNLI (3 classes)" in figures[0].texts
    assert not any(text.startswith("published") and "MNLI" in text for text in figures[0].texts)
    (floor,) = (line for line in saved[0][1].lines if str(line.get_label()).startswith("that rerun with all heads masked"))
    rerun = load_published("michel2019")["m19.rerun.mnli.importance_curve"].value
    assert list(floor.get_ydata()) == [pytest.approx(100 * rerun[-1])] * 2


def test_published_bleu_of_figure_5_has_its_epochs(tmp_path, monkeypatch):
    draw = of_figure5(tmp_path, monkeypatch)
    with axes_of_figures() as saved:
        draw({"png": tmp_path / "figure5.png"})
    assert [
        line for axis in saved[0][:2] for line in axis.lines if line.get_marker() == "D" and len(line.get_xdata()) == 8
    ] == []
    (published,) = (line for line in saved[0][2].lines if line.get_label() == "published: full model")
    assert list(published.get_xdata()) == [1, 2, 3, 5, 10, 20, 30, 40]
    assert list(published.get_ydata())[-1] == 34.9


def test_labels_of_epochs_do_not_touch():
    assert module_of_figure5._labels([1, 2, 3, 5, 10, 20, 30, 40]) == ["1", "2", "3", "5", "10", "20", "", "40"]


def test_a_bin_is_centred_on_no_change():
    for values in ([-13.56, 0.24], [0.0], [-0.3, -0.1], [0.5, 2.0]):
        edges = centred_edges(np.array(values))
        widths = np.diff(edges)
        assert widths == pytest.approx(widths[0])
        assert np.isclose((edges[:-1] + edges[1:]) / 2, 0).sum() == 1
        assert edges[0] < min(values)
        assert max(values) < edges[-1]


def test_published_heads_of_figure1_are_those_of_table1():
    deltas = published_deltas()
    assert len(deltas) == 6 * 16
    assert (deltas.min(), deltas.max()) == (-0.53, 0.24)


def test_coincident_heads_are_one_spot_of_their_count():
    rows = pd.DataFrame(
        {
            "experiment": "translation",
            "kind": ["enc_enc"] * 3 + ["dec_dec"],
            "metric": "BLEU",
            "delta": [0.1, 0.1 + 1e-12, 0.2, 0.1],
            "second_delta": [0.5, 0.5, 0.5, 0.5],
            "extreme": [0, 0, 1, 0],
        }
    )
    spots = heads_by_spot(rows)
    assert spots[["kind", "delta", "heads", "extreme"]].to_numpy().tolist() == [
        ["enc_enc", 0.1, 2, 0],
        ["enc_enc", 0.2, 1, 1],
        ["dec_dec", 0.1, 1, 0],
    ]


def test_figure_3_shows_published_values_above_those_of_a_weaker_model(tmp_path):
    draw = of_figure3(tmp_path)
    table = pd.read_csv(tmp_path / "figure3.tsv", sep="\t")
    table.loc[table["experiment"] != TRANSLATION, ["score", "ci_low", "ci_high"]] *= 0.7
    write(table, tmp_path / "figure3.tsv")
    with axes_of_figures() as saved:
        draw({"png": tmp_path / "figure3.png"})
    (rerun,) = (line for line in saved[0][1].lines if str(line.get_label()).startswith("third-party rerun"))
    assert max(rerun.get_ydata()) < saved[0][1].get_ylim()[1]
    assert saved[0][1].get_ylim()[0] == 0
