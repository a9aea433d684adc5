"""The same measures of several models: against the tables of the studies, numpy and loops."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from small_treebank import write_treebank

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
    models,
)
from attention_atlas.atlas.sentences import of_model, type_rows
from attention_atlas.attention.cache import StoredAttention, read_attention
from attention_atlas.corpora.examples import all_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import read_card
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.surface import surface
from attention_atlas.studies.clark2019.syntax import dependencies

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
    attention, examples = StoredAttention([folder / "0.safetensors"]), all_examples([folder / "0.parquet"])
    tables = of_model(attention, examples, read_card(folder / "card.json"), min_count=1, strongest_pairs=20, **vars(RESAMPLING))
    return {table: tables[name] for table, name in NAMES.items()}


def test_measures_of_a_model_are_those_of_the_studies(tmp_path):
    write_treebank(tmp_path)
    tables = measured(tmp_path)
    shards, card = [tmp_path / "0.safetensors"], read_card(tmp_path / "card.json")
    published = {"preset": "as_published"}
    segments = surface(read_attention(shards, 12), card, published, "auto", RESAMPLING.resamples, RESAMPLING.seed)["surface"]
    examples = all_examples([tmp_path / "0.parquet"], 12)
    of_clark = dependencies(read_attention(shards, 12), examples, card, published, 1, **vars(RESAMPLING))
    expected = {"surface": segments.replace({"unit": {"segments": "sentences"}}), "dependency_heads": of_clark["heads"]}
    expected |= {"dependencies": of_clark["dependencies"], "dependency_head_relations": of_clark["head_relations"]}
    for name, frame in expected.items():
        pd.testing.assert_frame_equal(tables[f"clark2019/{name}"], frame)
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


def test_means_over_heads():
    one, two = heads_of(0), heads_of(1)
    small = heads_of(2).iloc[:10]
    rows = model_rows(
        {"a": one, "b": two, "c": small}, {"a": False, "b": False, "c": True}, DRAWS, {model: {} for model in "abc"}
    )
    assert list(rows.columns) == MODELS
    assert rows["chance"].isna().all()
    with_chance = model_rows({"a": one}, {"a": False}, DRAWS, {"a": {"to_sep": 0.1}}).set_index("measure")["chance"]
    assert with_chance.dropna().to_dict() == {"to_sep": 0.1}
    row = rows.set_index(["model", "measure"]).loc[("b", "to_sep")]
    assert row["mean"] == pytest.approx(two["to_sep"].mean())
    assert row["ci_low"] < row["mean"] < row["ci_high"]
    assert (rows.loc[rows["model"] == "c", "n"] == 10).all()


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
    assert len(findings) == 3 * len(STATEMENTS) - 2, "the decoder has no [SEP]"
    assert STATEMENTS[0].text not in findings.loc[findings["model"] == "decoder", "finding"].tolist()
    assert findings.set_index(["model", "finding"]).loc[("trained", STATEMENTS[0].text), "unit"] == "layers"


def test_tables_of_models_are_the_same_again(tmp_path):
    write_treebank(tmp_path)
    tables = dict.fromkeys(("m", "also"), measured(tmp_path))
    controls = {"m": False, "also": True}
    one, two = (models(tables, dict.fromkeys(tables, (2, 2)), controls, **vars(DRAWS)) for _ in range(2))
    assert one.keys() == two.keys() == {"models", "findings", "matches", "agreement"}
    for name, table in one.items():
        pd.testing.assert_frame_equal(table, two[name])
    assert one["models"]["model"].unique().tolist() == ["m", "also"]
