"""The laptop run of Michel et al.: a translation model trained on Multi30k, QNLI, against what must hold on real text."""

import numpy as np
import pytest
from conftest import ROOT
from scipy.stats import pearsonr, spearmanr

from attention_atlas.corpora.text import parallel_records
from attention_atlas.studies.michel2019.tables import curve_of, mean_score
from attention_atlas.workflow.config import read_configuration


def test_real_translations_are_read(mirror):
    for part, count in {"train": 29000, "val": 1014, "test_2016_flickr": 1000, "test_2017_flickr": 1000}.items():
        files = (mirror / "multi30k" / f"{part}.{language}.gz" for language in ("en", "fr"))
        pairs = list(parallel_records(next(files), ["en", "fr"], next(files)))
        assert len(pairs) == count
        lengths = np.asarray([(len(pair.source.split()), len(pair.target.split())) for pair in pairs], dtype=float)
        assert lengths.min() > 0
        # Lines that slip against each other would not be of like length.
        assert np.corrcoef(lengths.T)[0, 1] > 0.7


def test_the_registry_names_the_files_that_are_there(mirror):
    named = {entry["source"].get("mirror", "") for entry in read_configuration(ROOT)["corpora"].values()}
    files = {path for path in named if path.startswith("multi30k/")}
    assert len(files) == 8
    assert all((mirror / path).is_file() for path in files)


def test_the_model_translates_with_all_heads_and_not_without_cross_attention(table):
    table1, table2 = table("table1"), table("table2").groupby("kind")["delta"].min()
    # Copying the English words scores below 5; captions are easy, so that a small model gets far above.
    assert table1["baseline"].iloc[0] > 20
    assert len(table1) == 3 * 2 * 8
    assert ((table1["ci_low"] <= table1["delta"]) & (table1["delta"] <= table1["ci_high"])).mean() > 0.95
    assert table2["enc_dec"] < table2["enc_enc"]
    assert table("figure5").drop_duplicates("epoch")["baseline"].is_monotonic_increasing, "training is followed"


@pytest.mark.parametrize("experiment", ["translation", "classification"])
def test_what_heads_do_carries_over_to_other_data_as_far_as_scipy_says(table, experiment):
    points = table("figure2").query("experiment == @experiment")
    correlations = table("correlations").query("experiment == @experiment").set_index("statistic")
    for statistic, correlation in (("pearson", pearsonr), ("spearman", spearmanr)):
        row = correlations.loc[statistic]
        assert row["value"] == pytest.approx(correlation(points["delta"], points["second_delta"]).statistic, abs=1e-4)
        assert row["ci_low"] < row["value"] < row["ci_high"]


def test_importance_is_scaled_in_every_layer_and_prunes_better_than_chance(table):
    importance = table("head_importance")
    norms = importance.groupby(["task", "definition", "kind", "layer"])["importance"].apply(np.linalg.norm)
    assert norms.to_numpy() == pytest.approx(1, abs=1e-4)
    assert (importance["spearman"] > 0).all(), "definitions agree in part"
    figure3 = table("figure3")
    for experiment in ("translation", "classification"):
        random = figure3[(figure3["experiment"] == experiment) & (figure3["order"] == "random")]
        means = [mean_score(curve) for _, curve in random.groupby("draw")]
        assert mean_score(curve_of(figure3, experiment, "importance")) > np.mean(means)
    last = figure3[(figure3["experiment"] == "translation") & (figure3["percent"] == 100)]
    assert (last["score"] < 5).all(), "a model without heads does not translate"
    speed = table("table4").set_index(["batch", "variant"])["parameters"]
    assert speed[16, "importance"] < speed[16, "whole"]
