"""The figures of Michel et al. can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from largest_tables import LABEL, all_heads, combined, generator, long_labels
from small_config import SHIPPED
from text_boxes import axes_of_figures, saved_figures

from attention_atlas.figures.style import centred_edges
from attention_atlas.methods.head_measures import CLASSIFICATION, TRANSLATION
from attention_atlas.published.values import load_published
from attention_atlas.studies import michel2019
from attention_atlas.studies.michel2019 import figures as michel_figures
from attention_atlas.studies.michel2019.ablations import PEARSON, SPEARMAN, TRIMMED
from attention_atlas.studies.michel2019.effects import RANDOM
from attention_atlas.studies.michel2019.figures import ORDERS, published_deltas
from attention_atlas.workflow.config import write_configuration

KINDS = ("enc_enc", "enc_dec", "dec_dec")
EXPERIMENTS = {TRANSLATION: ("BLEU", KINDS, 36.05), CLASSIFICATION: ("accuracy", KINDS[:1], 84.6)}
TRANSLATOR = (
    "opus-mt-tc-big-en-fr, 6 encoder and 6 decoder layers of 16 heads, trained in this run from random weights for 40 epochs "
    "on IWSLT 2014 German to English, training"
)
ROLES = {"figure2": [*EXPERIMENTS, *(f"{name}_other" for name in EXPERIMENTS)]} | dict.fromkeys(
    ("figure1", "figure3"), EXPERIMENTS
)
LABELS = {name: long_labels(list(roles)) for name, roles in ROLES.items()}


def head_rows() -> pd.DataFrame:
    """Both experiments, all heads: most do nothing when they are masked, some much."""
    numbers, parts = generator(), []
    for name, (metric, kinds, baseline) in EXPERIMENTS.items():
        heads = all_heads(kinds)
        delta = np.where(numbers.random(len(heads)) < 0.6, 0, numbers.normal(-0.4, 0.8, len(heads)))
        delta[-1] = -13.56
        parts.append(heads.assign(experiment=name, metric=metric, baseline=baseline, delta=delta, score=baseline + delta))
    return pd.concat(parts)


def of_figure1():
    rows = head_rows().assign(p=0.004, p_adjusted=0.2, n=12345, unit="sentences")
    return {"ablation": rows}


def of_figure2():
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
    return {"correlation_heads": rows, "correlations": agreement}


def of_figure3():
    parts = []
    for name, (metric, kinds, baseline) in EXPERIMENTS.items():
        keys = {"order": list(ORDERS), "draw": range(5), "percent": range(0, 101, 5)}
        curves = combined(keys, {"experiment": name, "metric": metric, "baseline": baseline, "n": 12345})
        curves = curves[(curves["order"] == RANDOM) | (curves["draw"] == 0)]
        score = baseline * (1 - (curves["percent"] / 100) ** (1 + curves["draw"])) + curves["draw"]
        curves = curves.assign(count=1, heads=384 * len(kinds), score=score, ci_low=score - 2, ci_high=score + 2)
        floor = 0 if name == TRANSLATION else 35.4
        parts.append(curves.assign(floor=floor, delta=score - baseline, unit="sentences"))
    return {"pruning_curves": pd.concat(parts, ignore_index=True)}


def of_figure4():
    curves = combined({"kind": KINDS, "percent": range(0, 101, 5)}).assign(count=1, heads=384, metric="BLEU", baseline=36.05)
    score = 36.05 * (1 - (curves["percent"] / 100) ** 2)
    curves = curves.assign(score=score, ci_low=score - 1, ci_high=score + 1, delta=score - 36.05, n=12345, unit="sentences")
    return {"pruning_curves_by_kind": curves}


def of_figure5():
    epochs = [1, 2, 3, 5, 10, 20, 30, 40]
    curves = combined({"epoch": epochs, "percent": range(0, 101, 5)}).assign(count=1, heads=1152, metric="BLEU")
    curves["baseline"] = 36 * (1 - 1 / (1 + curves["epoch"]))
    score = curves["baseline"] * (1 - (curves["percent"] / 100) ** 2)
    curves = curves.assign(score=score, ci_low=score - 1, ci_high=score + 1, delta=score - curves["baseline"], n=12345)
    curves = curves.assign(unit="sentences")
    curves["share"] = curves["score"] / curves["baseline"]
    return {"training_curves": curves}


FRAMES = {f"figure{number}": globals()[f"of_figure{number}"] for number in range(1, 6)}


def write(name, frames, folder):
    """Save a figure as its job does."""
    labels = LABELS.get(name, {"only": LABEL})
    model = {"trained_model" if name == "figure5" else "translation_model": TRANSLATOR}
    values = {**frames, **model, **({"labels": labels} if name == "figure2" else {})}
    getattr(michel_figures, name)(**values).write({"png": folder / f"{name}.png"}, labels)


def saved(name, frames, folder):
    """The figure as it stands in its file."""
    with saved_figures() as figures:
        write(name, frames, folder)
    (figure,) = figures
    return figure


def panels_of(name, frames, folder):
    """Its panels."""
    with axes_of_figures() as figures:
        write(name, frames, folder)
    return figures[0]


@pytest.mark.parametrize("name", FRAMES)
def test_a_figure_of_the_largest_shape_can_be_read(name, tmp_path):
    assert saved(name, FRAMES[name](), tmp_path).problems == []


def test_figure_2_says_how_many_heads_raise_the_score(tmp_path):
    """All changes share one unmasked score: where nearly all are above 0, that score is the outlier."""
    frames = of_figure2()
    table = frames["correlation_heads"].reset_index(drop=True)
    rows = table["experiment"] == TRANSLATION
    table.loc[rows, "second_delta"] = np.where(np.arange(rows.sum()) < 59, 0.5, -0.5)
    table.loc[rows, ["overlong_unmasked", "second_overlong_unmasked", "overlong", "second_overlong"]] = (1, 7, 2, 3)
    figure = saved("figure2", frames | {"correlation_heads": table}, tmp_path)
    words = " ".join(" ".join(figure.texts).split())
    above = int((table.loc[rows, "delta"] > 1e-9).sum())
    assert f"Heads above the full model: {above} (x), 59 (y) of {rows.sum()}" in words
    lengths = "overlong translations of the full model: 1 (x axis) and 7 (y axis), median over masked heads 2 and 3"
    assert lengths in words
    titles = [text for text in figure.texts if "Heads above" in text]
    assert len(titles) == 2
    assert all("−0.56" in title and "-0" not in title for title in titles), titles


def test_figure_4_says_which_kinds_of_attention_the_model_hardly_needs(tmp_path):
    table = of_figure4()["pruning_curves_by_kind"]
    table.loc[(table["kind"] == "enc_enc") & (table["percent"] == 100), ["score", "count"]] = (33.0, 384)
    words = " ".join(" ".join(saved("figure4", {"pruning_curves_by_kind": table}, tmp_path).texts).split())
    assert "with all 384 encoder heads masked BLEU is still 33.0 of 36.0" in words
    assert "decoder heads masked BLEU" not in words
    assert "16 heads, trained in this run" in words, "which model translates"


def test_the_rerun_of_figure_3_has_its_own_floor(tmp_path):
    """It classifies into three classes: its floor says nothing of a task with two."""
    texts = saved("figure3", of_figure3(), tmp_path).texts
    assert "third-party rerun of the published code: MNLI (3 classes)" in texts
    assert not any(text.startswith("published") and "MNLI" in text for text in texts)
    lines = panels_of("figure3", of_figure3(), tmp_path)[1].lines
    (floor,) = (line for line in lines if str(line.get_label()).startswith("that rerun with all heads masked"))
    rerun = load_published("michel2019")["m19.rerun.mnli.importance_curve"].value
    assert list(floor.get_ydata()) == [pytest.approx(100 * rerun[-1])] * 2


def test_published_bleu_of_figure_5_has_its_epochs(tmp_path):
    axes = panels_of("figure5", of_figure5(), tmp_path)
    assert [line for axis in axes[:2] for line in axis.lines if line.get_marker() == "D" and len(line.get_xdata()) == 8] == []
    (published,) = (line for line in axes[2].lines if line.get_label() == "published: full model")
    assert list(published.get_xdata()) == [1, 2, 3, 5, 10, 20, 30, 40]
    assert list(published.get_ydata())[-1] == 34.9


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


def test_figure_3_shows_published_values_above_those_of_a_weaker_model(tmp_path):
    table = of_figure3()["pruning_curves"]
    table.loc[table["experiment"] != TRANSLATION, ["score", "ci_low", "ci_high"]] *= 0.7
    panel = panels_of("figure3", {"pruning_curves": table}, tmp_path)[1]
    (rerun,) = (line for line in panel.lines if str(line.get_label()).startswith("third-party rerun"))
    assert max(rerun.get_ydata()) < panel.get_ylim()[1]
    assert panel.get_ylim()[0] == 0


def test_a_figure_of_a_built_run_has_its_settings_or_others(tmp_path):
    write_configuration(SHIPPED, tmp_path)
    folder = tmp_path / "results" / "sample" / "michel2019"
    folder.mkdir(parents=True)
    (tables,) = of_figure4().values()
    tables.to_csv(folder / "pruning_curves_by_kind.tsv", sep="\t", index=False)
    assert "marian-sample" in michel2019.figure4.of(folder.parent).note
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("runs: {sample: {michel2019: {translator: marian-sample-untrained}}}")
    assert "marian-sample-untrained" in michel2019.figure4.of(folder.parent, overlay).note
    changed = michel2019.figure4.of(folder.parent, pruning_curves_by_kind=tables[:4], translation_model="mine")
    assert len(changed.frame) == 4
    assert "mine" in changed.note
    with pytest.raises(AttributeError, match="michel2019 has no table or figure figure9"):
        _ = michel2019.figure9
