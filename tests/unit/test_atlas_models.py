"""The same measures of several models: against the tables of the studies, numpy and loops."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from small_treebank import write_treebank

from attention_atlas.atlas.compared import mean_over_heads
from attention_atlas.atlas.correlations import Draws
from attention_atlas.atlas.measures import read_measures
from attention_atlas.atlas.models import (
    MODEL_FINDINGS,
    MODELS,
    STATEMENTS,
    model_findings,
    model_rows,
    surviving,
    write_models,
)
from attention_atlas.atlas.models_figure import models_figure
from attention_atlas.atlas.of_model import Outputs, measure_model, type_rows
from attention_atlas.errors import AtlasError
from attention_atlas.io.run_label import RunLabel
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.dependencies import DependencyOutputs, measure_dependencies
from attention_atlas.studies.clark2019.surface import measure_surface

RESAMPLING = Resampling(folds=5, resamples=200, seed=3)
DRAWS = Draws(resamples=200, shuffles=300, seed=1)
NAMES = {
    "clark2019/surface": "surface",
    "clark2019/dependency_heads": "heads",
    "clark2019/dependencies": "dependencies",
    "clark2019/dependency_head_relations": "head_relations",
    "guan2020/head_types": "types",
}


def measured(folder):
    """Tables of a model on a small treebank, by name."""
    out = Outputs(**{name: folder / f"atlas-{name}.tsv" for name in NAMES.values()})
    measure_model([folder / "0.safetensors"], [folder / "0.parquet"], folder / "card.json", 12, 1, RESAMPLING, out)
    return {table: folder / f"atlas-{name}.tsv" for table, name in NAMES.items()}


def test_measures_of_a_model_are_those_of_the_studies(tmp_path):
    write_treebank(tmp_path)
    tables = measured(tmp_path)
    shards, card = [tmp_path / "0.safetensors"], tmp_path / "card.json"
    surface = [tmp_path / f"{name}.tsv" for name in ("surface", "surface_options", "segments", "surface_claims")]
    measure_surface(shards, card, 12, AS_PUBLISHED, RESAMPLING, *surface)
    assert tables["clark2019/surface"].read_bytes() == surface[0].read_bytes().replace(b"segments", b"sentences")
    outs = [
        tmp_path / f"{name}.tsv" for name in ("heads", "dependencies", "head_relations", "options", "noop", "summary", "claims")
    ]
    measure_dependencies(shards, [tmp_path / "0.parquet"], card, 12, AS_PUBLISHED, 1, RESAMPLING, DependencyOutputs(*outs))
    assert tables["clark2019/dependency_heads"].read_bytes() == outs[0].read_bytes()
    assert tables["clark2019/dependencies"].read_bytes() == outs[1].read_bytes()
    assert tables["clark2019/dependency_head_relations"].read_bytes() == outs[2].read_bytes()
    measured_heads = read_measures(tables, 2, 2)
    assert {"entropy", "to_sep", "best_relation", "relation_margin"} <= set(measured_heads.table)
    assert "does not build" in measured_heads.absent["importance"]


def test_a_cache_over_words_is_an_error(tmp_path):
    write_treebank(tmp_path, level="words")
    with pytest.raises(AtlasError, match="level: tokens"):
        measured(tmp_path)


def test_heads_that_are_alike_have_no_types():
    assert type_rows(np.full((2, 3, 21), 1 / 21), 0).empty
    chance = np.random.default_rng(0)
    types = type_rows(chance.dirichlet(np.full(21, 0.1), (3, 4)), 0)
    assert types[["layer", "head"]].to_numpy().tolist() == [[k // 4 + 1, k % 4 + 1] for k in range(12)]


def heads_of(seed, **columns):
    chance = np.random.default_rng(seed)
    layer, head = np.indices((4, 5)).reshape(2, -1) + 1
    measures = {name: chance.random(20) for name in ("entropy", "to_sep", "to_next", "to_previous")}
    return pd.DataFrame({"layer": layer, "head": head} | measures | columns)


def test_means_and_correlations_with_the_first_model():
    one, two = heads_of(0), heads_of(1)
    two["to_sep"] = one["to_sep"] + 0.01 * two["to_sep"]
    small = heads_of(2).iloc[:10]
    rows = model_rows({"a": one, "b": two, "c": small}, {"a": False, "b": False, "c": True}, DRAWS)
    assert list(rows.columns) == MODELS
    row = rows.set_index(["model", "measure"]).loc[("b", "to_sep")]
    assert row["mean"] == pytest.approx(two["to_sep"].mean())
    assert row["ci_low"] < row["mean"] < row["ci_high"]
    assert tuple(row[["mean", "ci_low", "ci_high"]]) == mean_over_heads(two["to_sep"], DRAWS), "as the figure has it"
    assert row["spearman"] == pytest.approx(spearmanr(one["to_sep"], two["to_sep"]).statistic)
    assert row["spearman"] > 0.95
    assert row["p"] < 0.01
    first_model = rows[rows["model"] == "a"]
    assert first_model["spearman"].isna().all(), "a model is not compared with itself"
    other_shape = rows[rows["model"] == "c"]
    assert other_shape["spearman"].isna().all(), "other heads stand at other places"
    assert (other_shape["n"] == 10).all()


def relations_of(better):
    """The row All does not count, and neither does a relation on which the head is worse, or that could not be tested."""
    rows = [("all", 0.8, 0.0), ("worse", -0.1, 0.001), ("untested", np.nan, np.nan)]
    rows += [(f"r{k}", 0.1, 0.001 if k < better else 0.2) for k in range(4)]
    return pd.DataFrame(rows, columns=["relation", "tested_margin", "p_holm"])


def test_findings_model_by_model_and_what_is_left_with_random_weights():
    layer = heads_of(0)["layer"].to_numpy(float)
    trained = heads_of(0, to_sep=layer / 10, entropy=5 - layer, to_next=np.linspace(0, 0.9, 20), to_previous=np.zeros(20))
    random = heads_of(1, entropy=6 - layer, to_next=np.full(20, 0.1), to_previous=np.full(20, 0.1))
    decoder = heads_of(2).drop(columns="to_sep")
    tables = {"trained": trained, "random": random, "decoder": decoder}
    relations = {"trained": relations_of(3), "random": relations_of(0), "decoder": relations_of(1)}
    findings = model_findings(tables, relations, {"trained": False, "random": True, "decoder": False}, DRAWS)
    assert list(findings.columns) == MODEL_FINDINGS
    assert len(findings) == 3 * len(STATEMENTS)
    by_model = {model: rows["verdict"].tolist() for model, rows in findings.groupby("model", sort=False)}
    deeper, broad, neighbours, _, relation = zip(*(by_model[name] for name in tables), strict=True)
    assert deeper[0] == "holds"
    assert deeper[2] == "not tested: to_sep not measured"
    assert broad[:2] == ("holds", "holds")
    opposite = model_findings({"m": heads_of(0, to_sep=-layer)}, {"m": relations_of(0)}, {"m": False}, DRAWS)
    assert opposite["verdict"].iloc[0] == "does not hold"
    alternating = heads_of(0, to_sep=np.arange(20) % 2, entropy=np.ones(20))
    same = model_findings({"m": alternating}, {"m": relations_of(0)}, {"m": False}, DRAWS)
    assert same["verdict"].tolist()[:2] == ["undecided", "undecided"]
    assert same["ci_low"].iloc[0] < 0 < same["ci_high"].iloc[0]
    assert neighbours[:2] == ("holds", "does not hold")
    assert relation == ("holds", "undecided", "holds")
    assert findings.groupby("model", sort=False)["value"].last().tolist() == [3, 0, 1]
    outcomes = surviving(findings)
    texts = [outcomes[text] for text in (STATEMENTS[1].text, STATEMENTS[2].text, STATEMENTS[4].text)]
    assert texts[0].startswith("holds with random weights as well")
    assert texts[1] == "does not hold with random weights (0.9 trained, 0.1 random)"
    assert texts[2] == "undecided with random weights (3 trained, 0 random)"
    assert surviving(findings[findings["model"] == "trained"]) == {}
    unclear = findings.assign(verdict=findings["verdict"].mask(findings["random_weights"], "undecided"))
    assert surviving(unclear)[STATEMENTS[4].text] == "undecided with random weights (3 trained, 0 random)"


def test_tables_and_figure_are_written_and_the_same_again(tmp_path):
    write_treebank(tmp_path)
    tables = measured(tmp_path)
    models = [
        {"name": name, "layers": 2, "heads": 2, "random_weights": random, "tables": tables}
        for name, random in (("m", False), ("also", True))
    ]
    setting = RunLabel("Test run", "m", "text")
    for number in (1, 2):
        outs = [tmp_path / f"{number}-{name}" for name in ("models.tsv", "findings.tsv", "findings.html")]
        write_models(models, DRAWS, "Test run", setting, *outs)
        models_figure(models, DRAWS, setting, {"svg": tmp_path / f"{number}.svg"})
    for name in ("-models.tsv", "-findings.tsv", ".svg"):
        assert (tmp_path / f"1{name}").read_bytes() == (tmp_path / f"2{name}").read_bytes()
    table = pd.read_csv(tmp_path / "1-models.tsv", sep="\t")
    assert table["model"].unique().tolist() == ["m", "also"]
    page = (tmp_path / "1-findings.html").read_text(encoding="utf-8")
    assert "holds with random weights as well" in page
