"""The figures of the atlas can be read when they are drawn from tables of the largest shape."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from largest_tables import LABEL, generator
from text_boxes import saved_figures

from attention_atlas.atlas.correlations import CORRELATIONS
from attention_atlas.atlas.figures import correlation_map
from attention_atlas.atlas.head_measures import HEAD_SCORES
from attention_atlas.atlas.measures import SOURCES

COMPARED = [
    measure.name
    for source in SOURCES
    for measure in source.measures
    if (source.attention_alone or source.table == HEAD_SCORES) and not measure.part and measure.unit
]
"""Measures that compared models have."""
RANKED = [measure for source in SOURCES for measure in source.measures if not measure.part and measure.unit]


def correlations(p_holm: float):
    pairs = pd.DataFrame(combinations([measure.name for measure in RANKED], 2), columns=["measure_a", "measure_b"])
    pairs = pairs.assign(spearman=generator().uniform(-1, 1, len(pairs)), ci_low=-1, ci_high=1, within_layers=0, p=0.001)
    pairs = pairs.assign(p_holm=p_holm, n=384, definitional=False)
    pairs.loc[3, "definitional"] = True
    measures = pd.DataFrame([{"measure": measure.name, "title": measure.title} for measure in RANKED])
    return pairs[CORRELATIONS], measures


@pytest.mark.parametrize("p_holm", [0.01, np.nan])
def test_correlations_of_all_measures_can_be_read(p_holm, tmp_path):
    assert len(RANKED) > 25
    with saved_figures() as figures:
        correlation_map(*correlations(p_holm)).write({"png": tmp_path / "correlations.png"}, {}, run_title=LABEL.run)
    (figure,) = figures
    assert figure.problems == []
    assert any(text.endswith(f"  {len(RANKED)}") for text in figure.texts), "rows and columns have the same numbers"
    note = " ".join(" ".join(figure.texts).split())
    assert f"{len(RANKED) * (len(RANKED) - 1) // 2} pairs tested" in note
    assert ("p_holm is empty" in note) == np.isnan(p_holm)
