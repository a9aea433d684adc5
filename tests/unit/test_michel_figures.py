"""The figures of Michel et al. can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from largest_tables import LABEL, all_heads, combined, generator, long_labels, write
from text_boxes import saved_figures

from attention_atlas.figures.bins import centred_edges
from attention_atlas.methods.names import CLASSIFICATION, TRANSLATION
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
    return partial(figure1, write(rows, folder / "figure1.tsv"), LABELS)


def of_figure2(folder):
    rows = head_rows().assign(extreme=0, second_delta=lambda frame: frame["delta"] * 0.7, n=12345, second_n=10000)
    rows.loc[rows["delta"] < -1.5, "extreme"] = 1
    rows = rows.assign(ci_low=-1, ci_high=1, second_low=-1, second_high=1)
    agreement = combined({"experiment": list(EXPERIMENTS), "statistic": [PEARSON, SPEARMAN, TRIMMED]}).assign(
        value=-0.56, ci_low=-0.77, ci_high=-0.21, ci_examples_low=0, ci_examples_high=1, heads=1152, n=12345, second_n=10000
    )
    agreement["second_data"] = "another corpus"
    agreement.loc[agreement.index[-1], "value"] = np.nan
    paths = write(rows, folder / "figure2.tsv", FIGURE2), write(agreement, folder / "correlations.tsv", CORRELATIONS)
    return partial(figure2, *paths, LABELS)


def of_figure3(folder):
    parts = []
    for name, (metric, kinds, baseline) in EXPERIMENTS.items():
        keys = {"order": list(ORDER_TITLES), "draw": range(5), "percent": range(0, 101, 5)}
        curves = combined(keys, {"experiment": name, "metric": metric, "baseline": baseline, "n": 12345})
        curves = curves[(curves["order"] == RANDOM) | (curves["draw"] == 0)]
        score = baseline * (1 - (curves["percent"] / 100) ** (1 + curves["draw"])) + curves["draw"]
        curves = curves.assign(count=1, heads=384 * len(kinds), score=score, ci_low=score - 2, ci_high=score + 2)
        floor = 0 if name == TRANSLATION else 35.4
        parts.append(curves.assign(floor=floor, delta=score - baseline))
    return partial(figure3, write(pd.concat(parts), folder / "figure3.tsv", FIGURE3), LABELS)


def of_figure4(folder):
    curves = combined({"kind": KINDS, "percent": range(0, 101, 5)}).assign(count=1, heads=384, metric="BLEU", baseline=36.05)
    score = 36.05 * (1 - (curves["percent"] / 100) ** 2)
    curves = curves.assign(score=score, ci_low=score - 1, ci_high=score + 1, delta=score - 36.05, n=12345)
    return partial(figure4, write(curves, folder / "figure4.tsv", FIGURE4), LABEL)


def of_figure5(folder, monkeypatch):
    epochs = [1, 2, 3, 5, 10, 20, 30, 40]
    curves = combined({"epoch": epochs, "percent": range(0, 101, 5)}).assign(count=1, heads=1152, metric="BLEU")
    curves["baseline"] = 36 * (1 - 1 / (1 + curves["epoch"]))
    score = curves["baseline"] * (1 - (curves["percent"] / 100) ** 2)
    curves = curves.assign(score=score, ci_low=score - 1, ci_high=score + 1, delta=score - curves["baseline"], n=12345)
    curves["share"] = curves["score"] / curves["baseline"]
    out = write(curves, folder / "figure5.tsv", FIGURE5)
    monkeypatch.setattr(module_of_figure5, "dynamics_table", lambda *arguments: None)
    return partial(figure5, folder / "dynamics.parquet", 1, 0, LABEL, out, folder / "statistics.tsv")


@pytest.mark.parametrize("number", range(1, 6))
def test_a_figure_of_the_largest_shape_can_be_read(number, tmp_path, monkeypatch):
    builders = [of_figure1, of_figure2, of_figure3, of_figure4, partial(of_figure5, monkeypatch=monkeypatch)]
    draw = builders[number - 1](tmp_path)
    with saved_figures() as figures:
        draw({"png": tmp_path / f"figure{number}.png"})
    (figure,) = figures
    assert figure.problems == []


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
