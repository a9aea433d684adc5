"""The laptop run of Michel et al.: a translation model trained on Multi30k, QNLI, against what must hold on real text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from scipy.stats import pearsonr, spearmanr

from attention_atlas.corpora.text import parallel_records
from attention_atlas.methods.head_measures import DEFINITIONS
from attention_atlas.studies.michel2019.tables import curve_of, mean_score
from attention_atlas.workflow.config import read_configuration


@pytest.fixture
def table(michel2019):
    return lambda name: pd.read_csv(michel2019 / f"{name}.tsv", sep="\t")


@pytest.mark.parametrize(
    ("part", "count"), [("train", 29000), ("val", 1014), ("test_2016_flickr", 1000), ("test_2017_flickr", 1000)]
)
def test_real_translations_are_read(mirror, part, count):
    folder = mirror / "multi30k"
    pairs = list(parallel_records(folder / f"{part}.en.gz", ["en", "fr"], folder / f"{part}.fr.gz"))
    assert len(pairs) == count
    assert all(pair.source and pair.target for pair in pairs)
    lengths = np.asarray([(len(pair.source.split()), len(pair.target.split())) for pair in pairs], dtype=float)
    # Lines that slip against each other would not be of like length.
    assert np.corrcoef(lengths.T)[0, 1] > 0.7


def test_the_registry_names_the_files_that_are_there(mirror):
    config = read_configuration(ROOT)
    named = {entry["source"].get("mirror", "") for entry in config["corpora"].values()}
    files = {path for path in named if path.startswith("multi30k/")}
    assert len(files) == 8
    assert all((mirror / path).is_file() for path in files)


def test_the_model_translates(table):
    base = table("table1").iloc[0]
    print("Multi30k test 2016, BLEU of the full model:", base["baseline"], "n =", base["n"])
    # Copying the English words scores below 5; captions are easy, so that a small model gets far above.
    assert base["baseline"] > 20


def test_every_head_and_layer_is_measured(table):
    table1 = table("table1")
    assert len(table1) == 3 * 3 * 8
    assert ((table1["ci_low"] <= table1["delta"]) & (table1["delta"] <= table1["ci_high"])).mean() > 0.95
    assert (table1["p_adjusted"] >= table1["p"]).all()
    print(table1.groupby("kind", sort=False)["delta"].describe().round(2).to_string())
    print(table("table2")[["kind", "layer", "head", "delta", "heldout_delta", "p_adjusted"]].to_string())
    print(table("table3")[["layer", "head", "delta", "heldout_delta", "p_adjusted"]].to_string())


def test_cross_attention_with_one_head_hurts_more_than_the_encoder(table):
    table2 = table("table2").groupby("kind")["delta"].min()
    assert table2["enc_dec"] < table2["enc_enc"]


@pytest.mark.parametrize("experiment", ["translation", "classification"])
def test_what_heads_do_carries_over_to_other_data_as_far_as_scipy_says(table, experiment):
    """For translation it does not, beyond noise: 200 captions and five epochs of training are few."""
    correlations = table("correlations").set_index(["experiment", "statistic"]).loc[experiment]
    print(correlations[["value", "ci_low", "ci_high"]].round(2).to_string())
    points = table("figure2").query("experiment == @experiment")
    for statistic, correlation in (("pearson", pearsonr), ("spearman", spearmanr)):
        row = correlations.loc[statistic]
        assert row["value"] == pytest.approx(correlation(points["delta"], points["second_delta"]).statistic, abs=1e-4)
        assert row["ci_low"] < row["value"] < row["ci_high"]
    claims = table("claims").set_index("claim")
    verdict = claims.loc[
        f"{experiment.capitalize()}: the effect of masking a head correlates across corpora (Figure 2)", "verdict"
    ]
    # The wider of two intervals; none where the second data are a part of the same file.
    low = correlations.loc["pearson", ["ci_low", "ci_examples_low"]].min()
    assert (verdict == "holds") == (experiment == "translation" and low > 0)


def test_importance_is_scaled_in_every_layer_and_definitions_agree_in_part(table):
    importance = table("head_importance")
    assert set(importance["definition"]) == set(DEFINITIONS)
    norms = importance.groupby(["task", "definition", "kind", "layer"])["importance"].apply(np.linalg.norm)
    assert norms.to_numpy() == pytest.approx(1, abs=1e-4)
    spearman = importance.drop_duplicates(["task", "definition"]).set_index(["task", "definition"])["spearman"]
    print(spearman.to_string())
    assert (spearman > 0).all()


def test_importance_prunes_better_than_chance(table):
    figure3 = table("figure3")
    for experiment in ("translation", "classification"):
        random = figure3[(figure3["experiment"] == experiment) & (figure3["order"] == "random")]
        means = [mean_score(curve) for _, curve in random.groupby("draw")]
        assert mean_score(curve_of(figure3, experiment, "importance")) > np.mean(means)
    last = figure3[(figure3["experiment"] == "translation") & (figure3["percent"] == 100)]
    assert (last["score"] < 5).all(), "a model without heads does not translate"


def test_training_is_followed(table):
    whole = table("figure5").drop_duplicates("epoch")
    print(whole[["epoch", "baseline"]].to_string())
    assert whole["baseline"].is_monotonic_increasing


def test_pruned_models_are_smaller_and_claims_have_verdicts(table):
    speed = table("table4").set_index(["batch", "variant"])
    print(speed[["examples_per_second", "sd", "speedup", "speedup_low", "speedup_high"]].round(1).to_string())
    assert speed.loc[(16, "importance"), "parameters"] < speed.loc[(16, "whole"), "parameters"]
    claims = table("claims")
    print(claims.to_string())
    assert set(claims["verdict"]) <= {"holds", "does not hold", "undecided", "not tested"}
    decided = claims["verdict"].isin(["holds", "does not hold"])
    assert claims.loc[decided, ["ci_low", "ci_high", "n"]].notna().all(axis=None)
    assert claims.loc[claims["verdict"] == "not tested", "ci_low"].isna().all()
    compared = table("comparison").set_index("id")
    # MiniLM has twelve heads per layer as BERT-base has; all else is another model's.
    assert not compared["comparable"].isin(["exact", "close"]).any()
    assert compared.loc["m19.sec43.param_bert", "ours"] == "8.333"
