"""Correlations of many pairs of rows at once, against scipy pair by pair."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from attention_atlas.stats.ranks import pearson, spearman


def test_correlations_of_rows_are_those_of_scipy():
    chance = np.random.default_rng(0)
    first, second = chance.normal(size=(5, 4, 12)), chance.integers(3, size=(5, 4, 12)).astype(float)
    pairs = list(zip(first.reshape(-1, 12), second.reshape(-1, 12), strict=True))
    assert spearman(first, second).ravel() == pytest.approx([spearmanr(*pair).statistic for pair in pairs])
    assert pearson(first, second).ravel() == pytest.approx([pearsonr(*pair).statistic for pair in pairs])


def test_a_row_of_one_value_or_with_a_missing_one_has_no_correlation():
    varied = np.arange(4.0)
    rows = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, np.nan, 2.0, 3.0], [2.0, 4.0, 6.0, 9.0]])
    for correlation in (pearson, spearman):
        values = correlation(rows, varied)
        assert np.isnan(values[:2]).all()
        assert values[2] > 0.9
