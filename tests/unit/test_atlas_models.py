"""The same measures of several models: against the tables of the studies, numpy and loops."""

from itertools import permutations

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
    ModelTables,
    depth_correlation,
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
    assert type_rows(np.full((2, 3, 21), 1 / 21), 5, 0).empty
    chance = np.random.default_rng(0)
    types = type_rows(chance.dirichlet(np.full(21, 0.1), (3, 4)), 5, 0)
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
    assert rows["chance"].isna().all()
    with_chance = model_rows({"a": one}, {"a": False}, DRAWS, {"a": {"to_sep": 0.1}}).set_index("measure")["chance"]
    assert with_chance.dropna().to_dict() == {"to_sep": 0.1}
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


def surface_of(largest, half=0.02, units=30):
    """Rows of `clark2019/surface`: 20 heads, each with an interval of `largest` - 0.1 k +/- half."""
    frames = []
    for measure in ("next", "previous", "sep"):
        values = largest - 0.1 * np.arange(20)
        frames.append(pd.DataFrame({"measure": measure, "value": values, "ci_low": values - half, "ci_high": values + half}))
    return pd.concat(frames, ignore_index=True).assign(unit="documents", units=units)


def relations_of(margin, half=0.05):
    """Rows of `clark2019/dependency_head_relations`: the second head has the best choice, the first the largest margin."""
    margins, choices = np.array([margin + 0.5, margin, margin - 0.1, np.nan]), [0.1, 0.3, -0.2, np.nan]
    rows = {"rank": 1, "choice_low": choices, "margin": margins, "ci_low": margins - half, "ci_high": margins + half}
    return pd.DataFrame(rows | {"unit": "documents", "units": pd.array([30, 30, 30, None], dtype="Int64")})


def tables_of(heads, largest=0.9, margin=0.2):
    return ModelTables(heads, surface_of(largest), relations_of(margin))


def layers_of(by_layer, seed=0):
    """Heads of a model of eight layers; to_sep and entropy are those of the layer, and noise; dense where they are small."""
    chance = np.random.default_rng(seed)
    layer, head = np.indices((len(by_layer), 5)).reshape(2, -1) + 1
    values = {name: np.asarray(by_layer, float)[layer - 1] + 0.1 * chance.random(len(layer)) for name in ("to_sep", "entropy")}
    types = np.where(np.asarray(by_layer, float)[layer - 1] < np.median(by_layer), "dense", "vertical")
    names = {"layer": layer, "head": head, "distance_type": types}
    return pd.DataFrame(names | {"to_next": 0.0, "to_previous": 0.0} | values)


def verdicts(**tables):
    findings = model_findings(tables, dict.fromkeys(tables, False), DRAWS)
    return {model: rows["verdict"].tolist() for model, rows in findings.groupby("model", sort=False)}


def test_each_finding_can_come_out_each_way():
    rising, falling, mixed = np.arange(8.0), -np.arange(8.0), [3, 0, 4, 1, 3, 0, 4, 1]
    given = verdicts(
        rising=tables_of(layers_of(rising), 0.9, 0.2),
        falling=tables_of(layers_of(falling), 0.4, -0.2),
        mixed=tables_of(layers_of(mixed), 0.51, 0.01),
        few=tables_of(layers_of(rising[:4]), 0.49, -0.01),
    )
    holds, fails, undecided = "holds", "does not hold", "undecided"
    assert given["rising"] == [holds, fails, holds, holds, holds, holds, holds]
    assert given["falling"] == [fails, holds, fails, fails, fails, fails, fails]
    assert given["mixed"] == [undecided] * 7
    assert given["few"] == [undecided] * 7, "four layers decide nothing on depth"


def test_the_largest_share_needs_more_than_the_interval_of_the_largest():
    """0.53 with an interval from 0.51: one of 40 heads lies so high by chance."""
    findings = model_findings({"m": tables_of(layers_of(np.arange(8)), 0.53)}, {"m": False}, DRAWS)
    row = findings[findings["statistic"] == "largest share of any head"].iloc[0]
    assert (row["value"], row["threshold"], row["n"], row["unit"]) == (pytest.approx(0.53), 0.5, 30, "documents")
    assert row["ci_low"] < 0.5 < row["ci_high"]
    assert row["verdict"] == "undecided"


def test_the_relation_is_the_one_that_the_other_half_chose():
    row = model_findings({"m": tables_of(layers_of(np.arange(8)), margin=0.2)}, {"m": False}, DRAWS).iloc[4]
    assert row["value"] == pytest.approx(0.2), "not the largest margin on the half that tests"
    assert row["ci_low"] < 0.15, "a percentile interval over 30 units is too short"
    none = ModelTables(layers_of(np.arange(8)), surface_of(0.9), relations_of(0.2).iloc[3:])
    row = model_findings({"m": none}, {"m": False}, DRAWS).iloc[4]
    assert (row["verdict"], row["n"]) == ("not tested", 0)


def test_a_model_without_heads_of_a_type_decides_nothing_on_it():
    heads = layers_of(np.arange(8)).assign(distance_type="vertical")
    findings = model_findings({"m": tables_of(heads)}, {"m": False}, DRAWS).iloc[5:]
    assert findings["statistic"].str.startswith("share of heads of this type").all()
    assert findings["verdict"].tolist() == ["not tested", "undecided"]
    assert (findings["n"].tolist(), findings["value"].tolist()[1]) == ([0, 8], 0)


def test_depth_is_the_rank_correlation_over_heads_and_layers_change_places():
    """Against a loop over permutations, with layers of different sizes and ties."""
    chance = np.random.default_rng(5)
    layer = np.repeat(np.arange(1, 6), [3, 4, 2, 4, 3])
    values = np.round(layer / 3 + chance.normal(size=len(layer)), 1)
    value, low, high, layers = depth_correlation(layer, values, Draws(resamples=1, shuffles=4000, seed=2))
    assert value == pytest.approx(spearmanr(layer, values).statistic)
    assert layers == 5
    null = [abs(spearmanr(np.array(order)[layer - 1], values).statistic) for order in permutations(range(5))]
    assert np.mean(np.array(null) < value - low) == pytest.approx(0.95, abs=0.02)
    assert high == 1 or high - value == pytest.approx(value - low)
    assert np.isnan(depth_correlation(layer, np.ones(len(layer)), DRAWS)[:3]).all()


def test_findings_model_by_model_and_what_is_left_with_random_weights():
    tables = {
        "trained": tables_of(layers_of(np.arange(8)), 0.9, 0.2),
        "random": tables_of(layers_of(np.arange(8), seed=1), 0.2, 0.0),
        "decoder": tables_of(layers_of(np.arange(8)).drop(columns="to_sep"), 0.9, 0.1),
    }
    findings = model_findings(tables, {"trained": False, "random": True, "decoder": False}, DRAWS)
    assert list(findings.columns) == MODEL_FINDINGS
    assert len(findings) == 3 * len(STATEMENTS)
    by_model = {model: rows["verdict"].tolist() for model, rows in findings.groupby("model", sort=False)}
    assert by_model["decoder"][0] == "not tested: to_sep not measured"
    assert findings.set_index(["model", "finding"]).loc[("trained", STATEMENTS[0].text), "unit"] == "layers"
    outcomes = surviving(findings)
    texts = [outcomes[text] for text in (STATEMENTS[0].text, STATEMENTS[2].text, STATEMENTS[4].text)]
    assert texts[0].startswith("holds with random weights as well")
    assert texts[1] == "does not hold with random weights (0.9 trained, 0.2 random)"
    assert texts[2] == "undecided with random weights (0.2 trained, 0 random)"
    assert surviving(findings[findings["model"] == "trained"]) == {}
    unclear = findings.assign(verdict=findings["verdict"].mask(findings["random_weights"], "undecided"))
    assert surviving(unclear)[STATEMENTS[2].text] == "undecided with random weights (0.9 trained, 0.2 random)"


def test_tables_and_figure_are_written_and_the_same_again(tmp_path):
    write_treebank(tmp_path)
    tables = measured(tmp_path)
    models = [
        {"name": name, "layers": 2, "heads": 2, "random_weights": random, "tables": tables}
        for name, random in (("m", False), ("also", True))
    ]
    setting = RunLabel("Test run", "m", "text")
    for number in (1, 2):
        outs = [tmp_path / f"{number}-{name}" for name in ("models.tsv", "findings.tsv", "findings.html", "claims.tsv")]
        write_models(models, DRAWS, "Test run", setting, *outs)
        models_figure(models, DRAWS, setting, {"svg": tmp_path / f"{number}.svg"})
    for name in ("-models.tsv", "-findings.tsv", ".svg"):
        assert (tmp_path / f"1{name}").read_bytes() == (tmp_path / f"2{name}").read_bytes()
    table = pd.read_csv(tmp_path / "1-models.tsv", sep="\t")
    assert table["model"].unique().tolist() == ["m", "also"]
    page = (tmp_path / "1-findings.html").read_text(encoding="utf-8")
    assert "holds with random weights as well" in page
