"""The atlas: measures of single heads read from the tables of studies, with intervals, nulls and what makes them unusable."""

import numpy as np
import pandas as pd
import pytest
from atlas_tables import score_table
from scipy.stats import norm
from small_shards import write_treebank
from statsmodels.stats.multitest import multipletests

from attention_atlas.atlas.correlations import heads_of_run
from attention_atlas.atlas.head_measures import CAUSAL_EFFECTS, HEAD_SCORES
from attention_atlas.atlas.measures import BEYOND, INSIDE, measure_rows, numeric, read_measures, why_not_ranked
from attention_atlas.atlas.sentences import of_model
from attention_atlas.attention.cache import StoredAttention, read_attention
from attention_atlas.corpora.examples import all_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import read_card
from attention_atlas.models.language_models import HeadFacts
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.surface import surface
from attention_atlas.studies.clark2019.syntax import dependencies
from attention_atlas.studies.kovaleva2019.head_measures import most_frequent_class
from attention_atlas.workflow.study import studies

LAYERS, HEADS = 3, 4
PLACES = [(layer + 1, head + 1) for layer, head in np.ndindex(LAYERS, HEADS)]


def rows(**columns):
    return pd.DataFrame([{"layer": layer, "head": head, **columns} for layer, head in PLACES])


def of(measured, name, columns=("value", "low", "high")):
    """[head, column] numbers of a measure."""
    return measured.long[measured.long["measure"] == name][list(columns)].to_numpy(float)


def verdicts(measured, name):
    return measured.long.loc[measured.long["measure"] == name, "verdict"].tolist()


@pytest.fixture
def tables():
    """Small tables of three studies."""
    entropy = pd.concat([rows(measure="entropy", value=1.0, n=48), rows(measure="sep", value=2.0, n=48)])
    entropy["value"] += np.arange(24) / 100
    changed = pd.concat([rows(task=task, crop=crop, n=40) for task in ("mrpc", "rte") for crop in ("real", "padded")])
    changed["value"] = np.arange(48) / 100
    ends = {"ci_low": lambda table: table["value"] - 0.1, "ci_high": lambda table: table["value"] + 0.2}
    return {
        "clark2019/surface": entropy.assign(**ends),
        "kovaleva2019/figure5": changed.assign(**ends),
        "guan2020/head_types": rows(type="dense", n=9),
    }


def test_columns_come_from_their_rows(tables):
    measured = read_measures(tables, LAYERS, HEADS)
    table = measured.heads
    assert list(table[["layer", "head"]].itertuples(index=False, name=None)) == PLACES
    assert table["entropy"].tolist() == pytest.approx([1 + k / 100 for k in range(12)])
    assert table["to_sep"].tolist() == pytest.approx([2.12 + k / 100 for k in range(12)])
    # Real maps of both tasks: rows 0 to 11 and 24 to 35.
    assert table["unchanged"].tolist() == pytest.approx([(k + 24 + k) / 200 for k in range(12)])
    assert table["distance_type"].tolist() == ["dense"] * 12
    value, low, high, n = of(measured, "entropy", ("value", "low", "high", "n")).T
    assert [*(value - low), *(high - value), *n] == pytest.approx([0.1] * 12 + [0.2] * 12 + [48] * 12)
    # The mean of two independent tasks.
    value, low, n = of(measured, "unchanged", ("value", "low", "n")).T
    assert [*(value - low), *n] == pytest.approx([0.1 / 2**0.5] * 12 + [80] * 12)
    assert "distance_type" not in set(measured.long["measure"]), "names have no interval"


def test_every_measure_has_a_row_or_a_reason(tables):
    facts = {"model": "tiny", "shapes": {"tiny": (LAYERS, HEADS)}, "random_weights": {}, "page_tables": {}}
    facts |= {"resamples": 10, "shuffles": 10, "seed": 0, "table_models": {"kovaleva2019/figure5": "tiny-tuned"}}
    found = heads_of_run(tables, skip_reasons={"michel2019/figure1": "its model has another shape"}, **facts)
    table, measures = found["heads"], found["measures"].set_index("measure")
    declared = [source for study in studies().values() for source in study.measures]
    assert sorted(measures.index) == sorted(measure.name for source in declared for measure in source.measures)
    assert measures.loc[["unchanged", "masked"], "model"].tolist() == ["tiny-tuned", ""]
    assert measures.loc["entropy", ["heads", "n", "n_unit"]].tolist() == [12, 48, "texts"]
    assert measures.loc["masked", "note"] == "its model has another shape"
    assert all((name in table) == (not note) for name, note in measures["note"].items())


def test_noise_and_ties_are_not_ranked():
    values = pd.Series(np.arange(20) / 20)
    assert why_not_ranked(values, 0) == ""
    assert why_not_ranked(values, 18) == "18 of 20 heads cannot be distinguished from heads without the effect"
    assert why_not_ranked(values, 17) == ""
    assert why_not_ranked(pd.Series(np.arange(20) % 4), 0) == "fewer than five different values"
    assert why_not_ranked(pd.Series([*range(9), *[3] * 11]), 0) == "most heads are tied with another head"


def test_measures_say_how_many_examples_they_are_of_and_what_makes_them_say_nothing():
    ends = {"adjusted_low": -1.0, "adjusted_high": 0.25, "p_adjusted": 0.7}
    removed = rows(seed="mean", metric="token_f1", delta=-0.5, documents=14, **ends)
    removed = pd.concat([removed, removed.assign(seed="42", documents=8)])
    scores = {"seed": "mean", "metric": "token_f1", "model": ["whole", "without_heads"], "value": [38.3, 35.8]}
    scores |= {"delta": [0.0, -2.6], "delta_low": [0.0, -13.5], "delta_high": [0.0, 13.8], "documents": 14}
    sources = {"stefanik2021/ablation": removed, "stefanik2021/fine_tuning": pd.DataFrame(scores)}
    measured = read_measures(sources, LAYERS, HEADS)
    assert of(measured, "tagger_without", ("n", "high")).tolist() == [[14, 0.25]] * 12
    assert set(measured.warnings) == {"tagger_without"}
    # Without heads the taggers lose: removals can be used.
    sources["stefanik2021/fine_tuning"] = pd.DataFrame(scores | {"delta_high": [0.0, -0.1]})
    assert read_measures(sources, LAYERS, HEADS).warnings == {}


def test_a_relation_counts_for_heads_that_have_one_and_is_named_where_it_is_confirmed():
    accuracy = {"accuracy": 0.9, "accuracy_low": 0.8, "accuracy_high": 0.95}
    relations = rows(rank=1, relation="det", **accuracy, margin=0.2, ci_low=0.1, ci_high=0.3, q=0.01, n=40)
    relations.loc[2, "n"] = 31
    relations.loc[3, ["relation", "n", "q", "margin"]] = ["none", 0, np.nan, np.nan]
    relations.loc[4, "q"] = 0.2
    measured = read_measures({"clark2019/dependency_head_relations": relations}, LAYERS, HEADS)
    assert measure_rows(measured, {}).set_index("measure").loc["relation_margin", "n"] == 31, "without head 4"
    assert of(measured, "relation_accuracy", ("n", "high"))[[0, 2]].tolist() == [[40, 0.95], [31, 0.95]], "each head's own n"
    assert verdicts(measured, "relation_margin")[2:5] == [BEYOND, "", INSIDE]
    assert measured.heads["best_relation"].tolist() == ["det"] * 3 + ["none"] * 2 + ["det"] * 7


def test_measures_have_the_intervals_and_tests_of_their_tables():
    masked = rows(experiment="classification", delta=-2.0, ci_low=-5.0, ci_high=1.0, p_adjusted=0.3, n=32)
    masked.loc[2, ["ci_high", "p_adjusted"]] = [-1.0, 0.04]
    masked.loc[3, "ci_high"] = -1.0
    disabled = [
        rows(task="mrpc", delta=-4.0, ci_low=-7.0, ci_high=-1.0, p_adjusted=0.2, n=40),
        rows(task="rte", delta=2.0, ci_low=-2.0, ci_high=5.0, p_adjusted=0.03, n=40),
    ]
    table_of_source = {
        "kovaleva2019/figure3": rows(margin=0.1, margin_ci_low=0.05, margin_ci_high=0.2, n=12),
        "kovaleva2019/figure8": pd.concat(disabled),
        "michel2019/figure1": pd.concat([masked.assign(experiment="translation", delta=7.0), masked]),
        "stefanik2021/head_ranking": rows(auc=0.7, auc_low=0.55, auc_high=0.8, n=30),
    }
    measured = read_measures(table_of_source, LAYERS, HEADS)
    assert of(measured, "masked", ("high",))[:4, 0].tolist() == [1.0, 1.0, -1.0, -1.0]
    # An interval of one head that leaves out 0 is not enough: the test is of all heads. Harm counts as well as help.
    assert verdicts(measured, "masked") == [INSIDE, INSIDE, BEYOND, *[INSIDE] * 9]
    expected = {
        "frame_margin": (0.1, 0.05, 0.2),
        "keyphrase_auc": (0.7, 0.55, 0.8),
        # Distances of 3 and 4 down, of 3 and 3 up, from tasks whose examples are independent.
        "disabled": (-1, -1 - 5 / 2, -1 + 18**0.5 / 2),
    }
    for name, ends in expected.items():
        assert of(measured, name) == pytest.approx(np.tile(ends, (LAYERS * HEADS, 1))), name
    # The test of the mean of tasks follows from its interval.
    z = 1 / ((18**0.5 / 2 + 0) / norm.ppf(0.975))
    assert of(measured, "disabled", ("q",)) == pytest.approx(2 * norm.sf(z)), "all heads are alike, so q is p"
    assert of(measured, "keyphrase_auc", ("q",)) == pytest.approx(norm.sf(0.2 / (0.15 / norm.ppf(0.975)))), "one-sided"
    assert numeric(measured.heads) == ["frame_margin", "disabled", "masked", "keyphrase_auc"]


def test_a_head_that_does_less_than_one_without_the_effect_is_not_beyond_the_null():
    """Where only high values mean anything, the other side is no finding, with or without a q of the study."""
    low = rows(auc=0.3, auc_low=0.25, auc_high=0.35, n=30)
    relations = rows(rank=1, relation="det", accuracy=0.1, accuracy_low=0.05, accuracy_high=0.2, margin=-0.2, q=0.001, n=40)
    tables = {"stefanik2021/head_ranking": low}
    tables["clark2019/dependency_head_relations"] = relations.assign(ci_low=-0.3, ci_high=-0.1)
    measured = read_measures(tables, LAYERS, HEADS)
    assert {*verdicts(measured, "keyphrase_auc"), *verdicts(measured, "relation_margin")} == {INSIDE}
    assert of(measured, "keyphrase_auc", ("q",)).min() > 0.95


@pytest.mark.parametrize(("loss", "weak"), [(5.6, True), (5.4, False), (None, False)])
def test_a_weak_language_model_is_a_caution_on_the_effects_of_masking(loss, weak):
    """A head trained here must save a quarter of the 7.34 nats of token frequencies: its loss must be at most 5.5."""
    facts = {"texts": 900, "positions": 1, "steps": 1, "heldout_accuracy": 0.1, "unigram_loss": 7.34}
    words = "head of the checkpoint" if loss is None else HeadFacts("trained", heldout_loss=loss, **facts).words
    ends = {"ci_low": -0.2, "ci_high": 0.3, "q": 0.5}
    table = rows(value=0.05, **ends, n=30, language_model=f"masked-LM {words}", note="")
    measured = read_measures({CAUSAL_EFFECTS: table}, LAYERS, HEADS)
    assert of(measured, "causal_effect", ("value", "low", "high", "q"))[0].tolist() == [0.05, -0.2, 0.3, 0.5]
    assert set(measured.warnings) == ({"causal_effect"} if weak else set())


@pytest.mark.parametrize(
    ("table", "layers", "message"),
    [
        (rows(type="dense", n=9), 2, "2 layers of 4 heads"),
        (pd.concat([rows(type="dense", n=9)] * 2), LAYERS, "several rows for one head"),
    ],
)
def test_tables_that_do_not_fit_are_errors(table, layers, message):
    with pytest.raises(AtlasError, match=message):
        read_measures({"guan2020/head_types": table}, layers, HEADS)


def test_the_pattern_of_a_head_is_that_of_most_of_its_maps_over_tasks():
    counts = {("mrpc", "vertical"): 3, ("mrpc", "block"): 4, ("rte", "vertical"): 3, ("rte", "block"): 1}
    listed = [(task, "rules", 1, 1, name, maps) for (task, name), maps in counts.items()]
    listed += [("mrpc", "network", 1, 1, "diagonal", 99)]
    table = pd.DataFrame(listed, columns=["task", "annotator", "layer", "head", "class", "maps"])
    assert most_frequent_class(table)[["layer", "head", "value", "n"]].to_numpy().tolist() == [[1, 1, "vertical", 11]]


def test_coreference_is_that_of_the_better_direction_with_its_interval_and_chance():
    better = rows(mention_type="all", accuracy=0.5, ci_low=0.4, ci_high=0.6, chance=0.3, n=30)
    worse = rows(mention_type="all", accuracy=0.2, ci_low=0.1, ci_high=0.35, chance=0.3, n=30)
    pronouns = rows(mention_type="pronoun", accuracy=0.9, ci_low=0.8, ci_high=1.0, chance=0.1, n=10)
    worse.loc[0, ["accuracy", "ci_high"]] = [0.7, 0.8]
    better.loc[1, "ci_low"] = 0.25
    table = pd.concat([pronouns, worse, better], ignore_index=True)
    measured = read_measures({"clark2019/coreference_heads": table}, LAYERS, HEADS)
    assert of(measured, "coreference")[:3].tolist() == [[0.7, 0.1, 0.8], [0.5, 0.25, 0.6], [0.5, 0.4, 0.6]]
    assert measured.chances == {"coreference": 0.3}
    half = np.array([0.6, 0.25, *[0.1] * 10])
    p = norm.sf(np.array([0.4, *[0.2] * 11]) / (half / norm.ppf(0.975)))
    assert of(measured, "coreference", ("q",))[:, 0] == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert verdicts(measured, "coreference") == [INSIDE, INSIDE, *[BEYOND] * 10]


def test_q_of_a_measure_with_a_null_distribution_is_that_of_its_draws_or_missing():
    """All intervals exclude uniform attention, but a head that differs from it can still be like heads with random weights."""
    scores = score_table().assign(q=[0.9, 0.01, 0.9, np.nan] * 5)
    measured = read_measures({HEAD_SCORES: scores}, 2, 2)
    assert of(measured, "induction", ("value", "null_high")).T.tolist() == [[0.02, 0.05, 0.08, 0.11], [0.1] * 4]
    assert np.isnan(of(measured, "ov_copying", ("low",))).all(), "weights have no interval"
    assert "next_token" not in measured.heads, "this table has no next token"
    assert verdicts(measured, "sink") == [INSIDE, BEYOND, INSIDE, INSIDE]
    measured = read_measures({HEAD_SCORES: scores.assign(q=np.nan)}, 2, 2)
    assert set(verdicts(measured, "sink")) == {""}
    calibration = measure_rows(measured, {}).set_index("measure").loc["sink", "calibration"]
    assert calibration.startswith("Compared with heads with random weights: only higher values count; too few draws for q.")


# --- the same measures of several models ------------------------------------------------------------------------------


RESAMPLING = Resampling(folds=5, resamples=200, seed=3)
NAMES = {
    "clark2019/surface": "surface",
    "clark2019/dependency_head_relations": "head_relations",
    "guan2020/head_types": "types",
}


def measured(folder):
    """Tables of a model on a small treebank, by name."""
    attention, examples = StoredAttention([folder / "0.safetensors"]), all_examples([folder / "0.parquet"])
    tables = of_model(attention, examples, read_card(folder / "card.json"), 200, 3, strongest_pairs=20)
    return {table: tables[name] for table, name in NAMES.items()}


def test_measures_of_a_model_are_those_of_the_studies(tmp_path):
    write_treebank(tmp_path)
    tables = measured(tmp_path)
    shards, card = [tmp_path / "0.safetensors"], read_card(tmp_path / "card.json")
    published = {"preset": "as_published"}
    segments = surface(read_attention(shards, 12), card, published, "auto", RESAMPLING.resamples, RESAMPLING.seed)["surface"]
    examples = all_examples([tmp_path / "0.parquet"], 12)
    of_clark = dependencies(StoredAttention(shards, 12), examples, card, published, "auto", 1, **vars(RESAMPLING))
    expected = segments.replace({"unit": {"segments": "sentences"}})
    pd.testing.assert_frame_equal(tables["clark2019/surface"], expected)
    pd.testing.assert_frame_equal(tables["clark2019/dependency_head_relations"], of_clark["head_relations"])
    measured_heads = read_measures(tables, 2, 2)
    assert {"entropy", "to_sep", "best_relation", "relation_margin"} <= set(measured_heads.heads)
    (tmp_path / "words").mkdir()
    write_treebank(tmp_path / "words", level="words")
    with pytest.raises(AtlasError, match="level: tokens"):
        measured(tmp_path / "words")
