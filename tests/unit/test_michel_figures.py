"""The figures of Michel et al. can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from largest_tables import LABEL, all_heads, combined, generator, long_labels
from small_config import SHIPPED
from text_boxes import axes_of_figures, saved_figures

from attention_atlas.figures.style import centred_edges
from attention_atlas.methods.head_measures import CLASSIFICATION, KEYS, NONE, OTHERS, TRANSLATION
from attention_atlas.studies import michel2019
from attention_atlas.studies.michel2019 import figures as michel_figures
from attention_atlas.studies.michel2019.effects import PEARSON, RANDOM, SPEARMAN, TRIMMED
from attention_atlas.studies.michel2019.figures import ORDERS
from attention_atlas.workflow.config import write_configuration

KINDS = ("enc_enc", "enc_dec", "dec_dec")
EXPERIMENTS = {TRANSLATION: ("BLEU", KINDS, 36.05), CLASSIFICATION: ("accuracy", KINDS[:1], 84.6)}
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
    rows = rows.assign(unit="sentences", second_baseline=30.0)
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
    values = {**frames, **({"labels": labels} if name == "figure2" else {})}
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


def test_the_rerun_of_figure_3_is_not_called_published(tmp_path):
    texts = saved("figure3", of_figure3(), tmp_path).texts
    assert "third-party rerun of the published code: MNLI (3 classes)" in texts
    assert not any(text.startswith("published") and "MNLI" in text for text in texts)


def test_a_bin_is_centred_on_no_change():
    for values in ([-13.56, 0.24], [0.0], [-0.3, -0.1], [0.5, 2.0]):
        edges = centred_edges(np.array(values))
        widths = np.diff(edges)
        assert widths == pytest.approx(widths[0])
        assert np.isclose((edges[:-1] + edges[1:]) / 2, 0).sum() == 1
        assert edges[0] < min(values)
        assert max(values) < edges[-1]


def test_figure_3_shows_published_values_above_those_of_a_weaker_model(tmp_path):
    table = of_figure3()["pruning_curves"]
    table.loc[table["experiment"] != TRANSLATION, ["score", "ci_low", "ci_high"]] *= 0.7
    panel = panels_of("figure3", {"pruning_curves": table}, tmp_path)[1]
    (rerun,) = (line for line in panel.lines if str(line.get_label()).startswith("third-party rerun"))
    assert max(rerun.get_ydata()) < panel.get_ylim()[1]
    assert panel.get_ylim()[0] == 0


def test_a_table_of_a_built_run_has_its_settings_or_others(tmp_path):
    write_configuration(SHIPPED, tmp_path)
    folder = tmp_path / "results" / "sample" / "michel2019"
    (folder / "masked").mkdir(parents=True)
    masks = [(NONE, "", 0, 0), (OTHERS, "enc_enc", 1, 1), (OTHERS, "enc_enc", 1, 2)]
    texts = {"record": range(4), "answer": "a b c d e", "expected": "a b c d e"}
    answers = pd.concat([pd.DataFrame(dict(zip(KEYS, key, strict=True)) | texts) for key in masks], ignore_index=True)
    for name in ("translation", "translation_further"):
        answers.to_parquet(folder / f"masked/{name}.parquet")
    assert "English and French (n = 4)" in michel2019.table5.of(folder.parent).notes[1]
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("corpora: {sample-parallel: {title: my corpus}}")
    assert "my corpus (n = 4)" in michel2019.table5.of(folder.parent, overlay).notes[1]
    fewer = answers[answers["record"] < 3]
    assert michel2019.table5.of(folder.parent, translation_further=fewer).frame["n"].tolist() == [3]
    with pytest.raises(AttributeError, match="michel2019 has no table or figure figure9"):
        _ = michel2019.figure9
