"""Values against draws that share one distribution: exact, against a loop, with power."""

import numpy as np
import pytest
from scipy.stats import binom, false_discovery_control

from attention_atlas.stats.significance import against_null


@pytest.mark.parametrize("draw", ["normal", "exponential", "rounded"])
def test_a_further_draw_has_a_small_p_as_rarely_as_p_says(draw):
    generator = np.random.default_rng(0)
    sample = {
        "normal": lambda size: generator.normal(size=size),
        "exponential": lambda size: generator.exponential(size=size),
        "rounded": lambda size: generator.normal(size=size).round(1),
    }[draw]
    repeats = 2000
    p = np.array([against_null(sample(1), sample(99))["p"].item() for _ in range(repeats)])
    for level in (0.01, 0.05, 0.2):
        assert (p <= level).sum() <= binom.ppf(0.9999, repeats, level)
    if draw != "rounded":
        assert (p <= 0.05).sum() >= binom.ppf(0.0001, repeats, 0.05), "no more conservative than it has to be"


def test_columns_by_hand():
    draws = np.arange(1000) / 1000
    table = against_null([0.5, 2.0, -3.0, np.nan, 0.0], draws)
    assert table["null_low"].unique() == pytest.approx([0.025], abs=1e-3)
    assert table["null_high"].unique() == pytest.approx([0.975], abs=1e-3)
    assert table["p"].tolist() == pytest.approx([1, 1 / 1001, 1 / 1001, np.nan, 3 / 1001], abs=2e-3, nan_ok=True)
    assert table["q"][[0, 1, 2, 4]].tolist() == pytest.approx(false_discovery_control(table["p"][[0, 1, 2, 4]]))
    assert np.isnan(table["q"][3])


def test_too_few_draws_leave_q_empty():
    values = np.full(12, 9.0)
    assert against_null(values, np.arange(1200) / 1200)["q"].notna().all()
    assert against_null(values, np.arange(1190) / 1190)["q"].isna().all()
    with pytest.raises(ValueError, match="no draw"):
        against_null(values, [np.nan])


def test_an_effect_is_seen():
    generator = np.random.default_rng(1)
    values = np.concatenate([generator.normal(size=60), generator.normal(6, 1, size=12)])
    q = against_null(values, generator.normal(size=7200))["q"]
    assert (q[60:] < 0.05).mean() > 0.9
    assert (q[:60] < 0.05).mean() < 0.1
