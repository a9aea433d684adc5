"""The figures of the atlas can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from largest_tables import LABEL, generator, write
from text_boxes import saved_figures

from attention_atlas.atlas import models_figure as module_of_models_figure
from attention_atlas.atlas.correlations import CORRELATIONS, Draws
from attention_atlas.atlas.figures import correlation_map
from attention_atlas.atlas.head_measures import HEAD_SCORES
from attention_atlas.atlas.matching import AGREEMENT, DEPTH, MEAN
from attention_atlas.atlas.matching_figure import matching_figure
from attention_atlas.atlas.measures import MEASURES, SOURCES, HeadMeasures
from attention_atlas.atlas.models_figure import models_figure
from attention_atlas.atlas.series import SERIES
from attention_atlas.atlas.series_figure import series_figure

COMPARED = [
    measure.name
    for source in SOURCES
    for measure in source.measures
    if (source.attention_alone or source.table == HEAD_SCORES) and not measure.part and measure.unit
]
"""Measures that compared models have."""
RANKED = [measure for source in SOURCES for measure in source.measures if not measure.part and measure.unit]


def correlations(folder, p_holm: float):
    pairs = pd.DataFrame(combinations([measure.name for measure in RANKED], 2), columns=["measure_a", "measure_b"])
    pairs = pairs.assign(spearman=generator().uniform(-1, 1, len(pairs)), ci_low=-1, ci_high=1, within_layers=0, p=0.001)
    pairs = pairs.assign(p_holm=p_holm, n=384, definitional=False)
    pairs.loc[3, "definitional"] = True
    measures = pd.DataFrame([{"measure": measure.name, "title": measure.title} for measure in RANKED])
    return write(pairs, folder / "correlations.tsv", CORRELATIONS), write(measures.reindex(columns=MEASURES), folder / "m.tsv")


@pytest.mark.parametrize("p_holm", [0.01, np.nan])
def test_correlations_of_all_measures_can_be_read(p_holm, tmp_path):
    assert len(RANKED) > 25
    with saved_figures() as figures:
        correlation_map(*correlations(tmp_path, p_holm), LABEL.run, {"png": tmp_path / "correlations.png"})
    (figure,) = figures
    assert figure.problems == []
    assert any(text.endswith(f"  {len(RANKED)}") for text in figure.texts), "rows and columns have the same numbers"
    note = " ".join(" ".join(figure.texts).split())
    assert f"{len(RANKED) * (len(RANKED) - 1) // 2} pairs tested" in note
    assert ("p_holm is empty" in note) == np.isnan(p_holm)


@pytest.mark.parametrize(("models", "panels"), [(3, 12), (6, 8)])
def test_measures_of_many_models_can_be_read(models, panels, tmp_path, monkeypatch):
    numbers = generator()
    tables = {f"{LABEL.model}-{seed}": pd.DataFrame({name: numbers.random(384) for name in COMPARED}) for seed in range(models)}
    tables[f"{LABEL.model}-0"] = tables[f"{LABEL.model}-0"].drop(columns="relation_margin")
    measured = {name: HeadMeasures(table, chances={"induction": 0.03}) for name, table in tables.items()}
    monkeypatch.setattr(module_of_models_figure, "read_compared_measures", lambda models: (None, measured))
    draws = Draws(**dict.fromkeys((field.name for field in fields(Draws)), 100))
    with saved_figures() as figures:
        models_figure([], draws, LABEL, {"png": tmp_path / "models.png"})
    (figure,) = figures
    assert figure.problems == []
    assert "not measured" in figure.texts
    units = ("(share)", "(nats)", "(difference of shares)", "(mean sign)")
    assert sum(" ".join(text.split()).endswith(units) for text in figure.texts) == panels
    assert "dashed: value of a head without the effect" in " ".join(" ".join(figure.texts).split())


@pytest.mark.parametrize("count", [3, 6])
def test_the_agreement_of_many_models_can_be_read(count, tmp_path):
    names = [*COMPARED, DEPTH, MEAN]
    models = [f"{LABEL.model}-{seed}" for seed in range(count)]
    rows = pd.DataFrame(
        [(model, model.endswith("2"), name, 11) for model in models for name in names],
        columns=["model", "random_weights", "measure", "matched_by"],
    )
    rows = rows.assign(agreement=generator().uniform(-1, 1, len(rows)), null_low=-0.2, null_high=0.2, p=0.01, p_holm=0.1, n=384)
    with saved_figures() as figures:
        matching_figure(write(rows, tmp_path / "matching.tsv", AGREEMENT), models[0], LABEL, {"png": tmp_path / "matching.png"})
    (figure,) = figures
    assert figure.problems == []
    assert "Mean of the measures" in figure.texts


@pytest.mark.parametrize("checkpoints", [True, False])
@pytest.mark.parametrize("names", [COMPARED[:12], COMPARED, [*COMPARED, *(f"pattern_{k}" for k in range(20))]])
def test_long_series_can_be_read(names, checkpoints, tmp_path):
    rows = pd.DataFrame(
        [(position, f"{LABEL.model}-step{position}000", name) for position in range(1, 21) for name in names],
        columns=["position", "model", "measure"],
    )
    rows = rows.assign(mean=generator().random(len(rows)), smallest=0, largest=1, n=384, chance=0.1)
    rows = rows.assign(ci_low=rows["mean"] - 0.1, ci_high=rows["mean"] + 0.1)
    with saved_figures() as figures:
        series_figure(write(rows, tmp_path / "series.tsv", SERIES), LABEL, {"png": tmp_path / "series.png"}, checkpoints)
    (figure,) = figures
    assert figure.problems == []
    assert "20 models, n = 384 heads each" in " ".join(" ".join(figure.texts).split())
