"""The atlas: measures read from tables, correlations beyond layers; against loops and scipy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from compared_models import score_table
from scipy.stats import binomtest, norm, spearmanr
from statsmodels.stats.multitest import multipletests

from attention_atlas.atlas.correlations import (
    CORRELATIONS,
    Draws,
    centred_ranks,
    correlation,
    correlation_rows,
    correlations,
    shuffles_within,
)
from attention_atlas.atlas.figures import correlation_map
from attention_atlas.atlas.head_measures import CAUSAL_EFFECTS, HEAD_SCORES, MODEL_TABLES
from attention_atlas.atlas.measures import (
    MEASURES,
    SOURCES,
    by_definition,
    calibration,
    heads,
    inside_null,
    measure_rows,
    numeric,
    read_measures,
    why_not_ranked,
)
from attention_atlas.atlas.study import ID
from attention_atlas.atlas.tables import FINDINGS, finding_rows
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import Measure, Source, ends_of
from attention_atlas.models.language_models import HeadFacts
from attention_atlas.studies.kovaleva2019.head_measures import most_frequent_class
from attention_atlas.workflow.study import studies

LAYERS, HEADS = 3, 4
PLACES = [(layer + 1, head + 1) for layer, head in np.ndindex(LAYERS, HEADS)]


def rows(**columns):
    return pd.DataFrame([{"layer": layer, "head": head, **columns} for layer, head in PLACES])


@pytest.fixture
def tables():
    """Small tables of three studies."""
    entropy = pd.concat([rows(measure="entropy", value=1.0, n=48), rows(measure="entropy_cls", value=2.0, n=48)])
    entropy["value"] += np.arange(len(entropy)) / 100
    entropy = entropy.assign(ci_low=entropy["value"] - 0.1, ci_high=entropy["value"] + 0.2)
    changed = pd.concat(
        [rows(task=task, crop=crop, value=0.5, n=40) for task in ("mrpc", "rte") for crop in ("real", "padded")]
    )
    changed["value"] = np.arange(len(changed)) / 100
    changed = changed.assign(ci_low=changed["value"] - 0.03, ci_high=changed["value"] + 0.04)
    types = rows(type="dense", n=9)
    return {"clark2019/surface": entropy, "kovaleva2019/figure5": changed, "guan2020/head_types": types}


def test_columns_come_from_their_rows(tables):
    measured = read_measures(tables, LAYERS, HEADS)
    table = measured.table
    assert list(table[["layer", "head"]].itertuples(index=False, name=None)) == PLACES
    assert table["entropy"].tolist() == pytest.approx([1 + k / 100 for k in range(12)])
    assert table["entropy_cls"].tolist() == pytest.approx([2.12 + k / 100 for k in range(12)])
    # Real maps of both tasks: rows 0 to 11 and 24 to 35.
    assert table["unchanged"].tolist() == pytest.approx([(k + 24 + k) / 200 for k in range(12)])
    assert (table["entropy"] - table["entropy_low"]).tolist() == pytest.approx([0.1] * 12)
    # The mean of two independent tasks.
    assert (table["unchanged"] - table["unchanged_low"]).tolist() == pytest.approx([0.03 / 2**0.5] * 12)
    assert set(table["distance_type"]) == {"dense"}
    assert "does not build stefanik2021/head_ranking" in measured.absent["keyphrase_auc"]
    assert numeric(table) == ["entropy", "entropy_cls", "unchanged"]


def test_every_measure_has_a_row_or_a_reason(tables):
    models, skip_reasons = {"kovaleva2019/figure5": "tiny-tuned"}, {"michel2019/figure1": "its model has another shape"}
    table, measures = heads(tables, "tiny", (LAYERS, HEADS), models, skip_reasons).values()
    assert list(table.columns[:3]) == ["model", "layer", "head"]
    assert list(measures.columns) == MEASURES
    names = [measure.name for source in SOURCES for measure in source.measures]
    assert measures["measure"].tolist() == names
    assert len(set(names)) == len(names)
    there = measures.set_index("measure")
    assert there.loc["unchanged", "model"] == "tiny-tuned"
    assert there.loc["entropy", "heads"] == 12
    assert there.loc["masked", "note"] == "its model has another shape"
    for name, row in there.iterrows():
        assert (name in table) == (not row["note"])
        assert row["calibration"], name
    assert there.loc["entropy", "calibration"].startswith("No null: models with random weights do not read these texts.")
    assert there.loc["distance_type", "calibration"] == "Categorical: not tested."
    assert there.loc["masked", "calibration"] == "Not measured: see the note."


def test_every_measure_is_compared_with_something_or_says_why_not():
    for source in SOURCES:
        for measure in source.measures:
            if measure.unit:
                assert measure.null or measure.chance is not None or source.chances or source.no_null, measure.name


def test_calibration_says_what_values_are_compared_with():
    table = rows(x=1.0, x_low=0.5, x_high=1.5)
    tested = table.assign(x_null_low=0.1, x_null_high=0.2, x_q=0.01)
    none = Source("a/b", None, (), (), no_null="Nobody knows.", no_interval="One example.")
    measure = Measure("x", "X", "Table 1", "share")
    random = replace(measure, null="heads with random weights")
    assert calibration(random, none, tested) == "Compared with heads with random weights; q over all heads."
    untested = tested.assign(x_q=np.nan)
    assert calibration(random, none, untested) == "Compared with heads with random weights; too few draws for q."
    by_interval = calibration(measure, none, tested, 0.5, by_interval=True)
    assert by_interval == "Compared with 0.5, the value of a head without the effect: q over all heads, from their intervals."
    assert (
        calibration(measure, none, table, 0.5) == "Compared with 0.5, the value of a head without the effect: without a test."
    )
    assert calibration(measure, none, tested, 0.0).endswith("without the effect: q over all heads.")
    assert calibration(measure, none, table, np.nan) == "No null: nobody knows."
    assert calibration(measure, none, rows(x=1.0)) == "No null: nobody knows. No interval: one example."


def test_noise_and_ties_are_not_ranked():
    values = pd.Series(np.arange(20) / 20)
    inside = pd.Series(np.arange(20) < 18)
    assert not why_not_ranked(values)
    assert why_not_ranked(values, inside), "18 of 20 heads are like the null"
    assert not why_not_ranked(values, inside & (values.index > 0))
    assert why_not_ranked(pd.Series(np.arange(20) % 4)), "few values"
    assert why_not_ranked(pd.Series([*range(9), *[3] * 11])), "most heads are tied"
    assert why_not_ranked(values) == ""
    assert why_not_ranked(values, inside) == "18 of 20 heads cannot be distinguished from heads without the effect"
    assert why_not_ranked(pd.Series([*range(9), *[3] * 11])) == "most heads are tied with another head"
    missing = values.where(values.index < 19)
    assert why_not_ranked(missing, inside), "a head without a value does not count"


def test_measures_say_how_many_examples_they_are_of_and_what_makes_them_say_nothing():
    ends = {"adjusted_low": -1.0, "adjusted_high": 0.25, "p_adjusted": 0.7}
    removed = rows(seed="mean", metric="token_f1", delta=-0.5, documents=14, **ends)
    removed = pd.concat([removed, removed.assign(seed="42", documents=8)])
    scores = {
        "seed": "mean",
        "metric": "token_f1",
        "model": ["whole", "without_heads"],
        "value": [38.3, 35.8],
        "delta": [0.0, -2.6],
        "delta_low": [0.0, -13.5],
        "delta_high": [0.0, 13.8],
        "documents": 14,
    }
    accuracy = {"accuracy": 0.9, "accuracy_low": 0.8, "accuracy_high": 0.95}
    relations = rows(rank=1, relation="det", **accuracy, margin=0.2, ci_low=0.1, ci_high=0.3, q=0.01, n=40)
    relations.loc[2, "n"] = 31
    relations.loc[3, ["relation", "n", "q", "margin"]] = ["none", 0, np.nan, np.nan]
    relations.loc[4, "q"] = 0.2
    sources = {
        "stefanik2021/ablation": removed,
        "stefanik2021/fine_tuning": pd.DataFrame(scores),
        "clark2019/dependency_head_relations": relations,
    }
    measured = read_measures(sources, LAYERS, HEADS)
    assert measured.examples["tagger_without"] == 14
    assert set(measured.table["relation_accuracy_high"]) == {0.95}
    assert set(measured.table["tagger_without_low"]) == {-1.0}
    assert set(measured.table["tagger_without_high"]) == {0.25}
    assert measured.examples["relation_margin"] == 31, "the smallest of any head that has a relation"
    assert measured.table["best_relation"].tolist() == ["det"] * 3 + ["none"] * 2 + ["det"] * 7
    assert measured.table["chosen_relation"].tolist() == ["det"] * 3 + ["none"] + ["det"] * 8
    about = measure_rows(measured, {}).set_index("measure")["about"]
    assert set(about[["relation_accuracy", "relation_margin"]]) == {"chosen_relation"}, "its name is shown for every head"
    assert set(measured.warnings) == {"tagger_without"}, "once, not for the ends of its interval"
    assert "removals are uninformative about single heads here" in measured.warnings["tagger_without"]
    table = measure_rows(measured, {}).set_index("measure")
    assert table.loc["tagger_without", ["n", "n_unit"]].tolist() == [14, "documents"]
    assert pd.isna(table.loc["masked", "n"])
    # Without heads the taggers lose: removals can be used.
    sources["stefanik2021/fine_tuning"] = pd.DataFrame(scores | {"delta_high": [0.0, -0.1]})
    assert read_measures(sources, LAYERS, HEADS).warnings == {}


def test_measures_of_few_examples_have_the_intervals_of_their_tables():
    frames = rows(margin=0.1, margin_ci_low=0.05, margin_ci_high=0.2, n=12)
    masked = rows(experiment="classification", delta=-2.0, ci_low=-5.0, ci_high=1.0, p_adjusted=0.3, n=32)
    masked.loc[2, ["ci_high", "p_adjusted"]] = [-1.0, 0.04]
    masked.loc[3, "ci_high"] = -1.0
    disabled = pd.concat(
        [
            rows(task="mrpc", delta=-4.0, ci_low=-7.0, ci_high=-1.0, p_adjusted=0.2, n=40),
            rows(task="rte", delta=2.0, ci_low=-2.0, ci_high=5.0, p_adjusted=0.03, n=40),
        ]
    )
    other = masked.assign(experiment="translation", delta=7.0)
    table_of_source = {
        "kovaleva2019/figure3": frames,
        "kovaleva2019/figure8": disabled,
        "michel2019/figure1": pd.concat([other, masked]),
        "stefanik2021/head_ranking": rows(auc=0.7, auc_low=0.55, auc_high=0.8, n=30),
    }
    measured = read_measures(table_of_source, LAYERS, HEADS)
    expected = {
        "frame_margin": (0.1, 0.05, 0.2),
        "masked": (-2, -5, 1),
        "keyphrase_auc": (0.7, 0.55, 0.8),
        # Distances of 3 and 4 down, of 3 and 3 up, from tasks whose examples are independent.
        "disabled": (-1, -1 - 5 / 2, -1 + 18**0.5 / 2),
    }
    assert measured.table.loc[:3, "masked_high"].tolist() == [1.0, 1.0, -1.0, -1.0]
    # An interval of one head that leaves out 0 is not enough: the test is of all heads.
    assert inside_null(measured.table, "masked", 0.0).tolist() == [True, True, False, *[True] * 9]
    measured.table["masked_high"] = 1.0
    for name, ends in expected.items():
        columns = measured.table[[name, f"{name}_low", f"{name}_high"]]
        assert columns.to_numpy() == pytest.approx(np.tile(ends, (LAYERS * HEADS, 1))), name
    # The test of the mean of tasks follows from its interval.
    z = 1 / ((18**0.5 / 2 + 0) / norm.ppf(0.975))
    assert measured.table["disabled_q"].to_numpy() == pytest.approx(2 * norm.sf(z)), "all heads are alike, so q is p"
    assert numeric(measured.table) == ["frame_margin", "disabled", "masked", "keyphrase_auc"], "an end is no measure"
    described = measure_rows(measured, {}).set_index("measure")
    assert "the value of a head without the effect: p adjusted for all heads." in described.loc["masked", "calibration"]
    assert "q over all heads, from their intervals." in described.loc["disabled", "calibration"]


def effects_table(words):
    ends = {"relation_low": -0.1, "relation_high": 0.4, "ci_low": -0.2, "ci_high": 0.3, "q": 0.5}
    return rows(relation_change=0.1, value=0.05, **ends, n=30, language_model=words, note="")


@pytest.mark.parametrize(("loss", "weak"), [(6.55, True), (5.6, True), (5.4, False), (1.4, False)])
def test_a_weak_language_model_is_a_caution_on_the_effects_of_masking(loss, weak):
    """The head must save a quarter of the 7.34 nats of token frequencies: its loss must be at most 5.5."""
    facts = HeadFacts("trained", texts=900, positions=1, steps=1, heldout_loss=loss, heldout_accuracy=0.1, unigram_loss=7.34)
    measured = read_measures({CAUSAL_EFFECTS: effects_table(f"masked-LM {facts.words}")}, LAYERS, HEADS)
    listed = measure_rows(measured, {}).set_index("measure")
    assert listed.loc["causal_effect", "title"].endswith("minus that on matched words (masked-LM head trained here)")
    assert set(measured.warnings) == ({"relation_loss", "causal_effect"} if weak else set())
    if weak:
        assert f"its held-out loss is {loss:.2f} nats, that of token frequencies 7.34" in listed.loc["causal_effect", "warning"]


def test_the_head_of_a_checkpoint_needs_no_caution():
    measured = read_measures({CAUSAL_EFFECTS: effects_table("masked-LM head of the checkpoint")}, LAYERS, HEADS)
    assert measured.warnings == {}
    listed = measure_rows(measured, {}).set_index("measure")
    assert listed.loc["causal_effect", "title"].endswith("(masked-LM head of the checkpoint)")


def test_every_study_declares_its_measures_and_the_tables_that_they_come_from():
    for study in studies().values():
        declared = {f"{study.id}/{Path(name).stem}" for artifact in study.artifacts for name in artifact.files}
        tables = {table for source in study.measures for table in source.tables}
        # Of the atlas they are no artefacts, but the tables of one model.
        assert tables <= (declared if study.id != ID else {*MODEL_TABLES}), study.id
    assert sorted(SOURCES, key=lambda source: source.table) == sorted(
        (source for study in studies().values() for source in study.measures), key=lambda source: source.table
    )


def test_another_shape_two_rows_for_a_head_or_a_missing_column_are_errors(tables):
    with pytest.raises(AtlasError, match="2 layers of 4 heads"):
        read_measures(tables, 2, HEADS)
    twice = pd.concat([rows(type="dense", n=9)] * 2)
    with pytest.raises(AtlasError, match="several rows for one head"):
        read_measures(tables | {"guan2020/head_types": twice}, LAYERS, HEADS)
    with pytest.raises(AtlasError, match="guan2020/head_types: the column 'type' is missing"):
        read_measures({"guan2020/head_types": rows(n=9)}, LAYERS, HEADS)
    with pytest.raises(AtlasError, match="no study"):
        heads({}, "tiny", (LAYERS, HEADS), {}, {})


def test_the_pattern_of_a_head_is_that_of_most_of_its_maps_over_tasks():
    counts = {("mrpc", "vertical"): 3, ("mrpc", "block"): 4, ("rte", "vertical"): 3, ("rte", "block"): 1}
    table = pd.DataFrame(
        [(task, "rules", 1, 1, name, maps) for (task, name), maps in counts.items()]
        + [
            ("mrpc", "network", 1, 1, "diagonal", 99),
            ("mrpc", "rules", 1, 2, "block", 5),
            ("rte", "rules", 1, 2, "vertical", 5),
        ],
        columns=["task", "annotator", "layer", "head", "class", "maps"],
    ).assign(n=lambda rows: rows["task"].map({"mrpc": 7, "rte": 4}))
    classes = most_frequent_class(table).set_index(["layer", "head"])
    assert classes.loc[(1, 1), ["pattern_class", "pattern_share"]].tolist() == ["vertical", pytest.approx(6 / 11)]
    by_scipy = binomtest(6, 11).proportion_ci(method="wilson")
    assert classes.loc[(1, 1), list(ends_of("pattern_share"))].tolist() == pytest.approx([by_scipy.low, by_scipy.high])
    # Two seeds: twice the maps of the same examples say no more about other examples.
    doubled = most_frequent_class(table.assign(maps=2 * table["maps"])).set_index(["layer", "head"])
    pd.testing.assert_frame_equal(doubled, classes)
    assert classes.loc[(1, 2), ["pattern_class", "pattern_share"]].tolist() == ["vertical", 0.5], "a tie: the first class"


def test_coreference_is_that_of_the_better_direction_with_its_interval_and_chance():
    better = rows(mention_type="all", accuracy=0.5, ci_low=0.4, ci_high=0.6, chance=0.3, n=30)
    worse = rows(mention_type="all", accuracy=0.2, ci_low=0.1, ci_high=0.35, chance=0.3, n=30)
    pronouns = rows(mention_type="pronoun", accuracy=0.9, ci_low=0.8, ci_high=1.0, chance=0.1, n=10)
    worse.loc[0, ["accuracy", "ci_high"]] = [0.7, 0.8]
    better.loc[1, "ci_low"] = 0.25
    table = pd.concat([pronouns, worse, better], ignore_index=True)
    measured = read_measures({"clark2019/coreference_heads": table}, LAYERS, HEADS)
    columns = ["coreference", "coreference_low", "coreference_high"]
    assert measured.table[columns].iloc[:3].to_numpy().tolist() == [[0.7, 0.1, 0.8], [0.5, 0.25, 0.6], [0.5, 0.4, 0.6]]
    assert measured.chances == {"coreference": 0.3}
    half = np.array([0.6, 0.25, *[0.1] * 10])
    p = 2 * norm.sf(np.array([0.4, *[0.2] * 11]) / (half / norm.ppf(0.975)))
    assert measured.table["coreference_q"].to_numpy() == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert inside_null(measured.table, "coreference", 0.3).tolist() == [True, True, *[False] * 10]


def test_measures_that_are_zero_by_construction_are_not_shown():
    """As in a causal model, whose heads do not look ahead."""
    surface = pd.concat([rows(measure=name, value=0.0, ci_low=0.0, ci_high=0.0, n=48) for name in ("next", "previous")])
    surface.loc[surface["measure"] == "previous", "value"] = np.arange(12) / 12
    measured = read_measures({"clark2019/surface": surface}, LAYERS, HEADS)
    assert "to_previous" in measured.table
    assert not {"to_next", "to_next_low", "to_next_high"} & set(measured.table)
    assert measured.absent["to_next"] == "all heads have the value 0"


def margins(effects, seed):
    """Heads measured by means of 40 examples each, with their intervals."""
    sample = np.random.default_rng(seed).normal(size=(LAYERS * HEADS, 40)) + np.asarray(effects)[:, None]
    half = sample.std(axis=1, ddof=1) / 40**0.5 * norm.ppf(0.975)
    table = rows(n=40).assign(margin=sample.mean(axis=1))
    table = table.assign(margin_ci_low=table["margin"] - half, margin_ci_high=table["margin"] + half)
    return read_measures({"kovaleva2019/figure3": table}, LAYERS, HEADS).table


def test_q_by_intervals_keeps_its_level_and_has_power():
    alarms = sum((margins(np.zeros(12), seed)["frame_margin_q"] < 0.05).any() for seed in range(200))
    # The normal approximation with 40 examples has p below 0.05 in 5.7 %; 19 of 200 would be 9.5 %.
    assert alarms <= 19
    planted = np.array([0.9, *[0.0] * 11])
    hits = [margins(planted, seed)["frame_margin_q"] < 0.05 for seed in range(20)]
    assert sum(hit[0] for hit in hits) >= 19


@pytest.mark.parametrize("random_models", [3, 100])
def test_q_of_a_measure_with_a_null_distribution_is_that_of_its_draws_or_missing(random_models):
    """All intervals exclude uniform attention, but a head that differs from it can still be like heads with random weights."""
    scores = score_table()
    scores["q"] = 0.9 if random_models == 100 else np.nan
    measured = read_measures({HEAD_SCORES: scores}, 2, 2)
    described = measure_rows(measured, {}).set_index("measure")["calibration"]
    assert not ((measured.table["sink_low"] <= 0.05) & (measured.table["sink_high"] >= 0.05)).any()
    if random_models == 3:
        assert "sink_q" not in measured.table
        assert described["sink"].startswith("Compared with heads with random weights; too few draws for q.")
    else:
        assert measured.table["sink_q"].tolist() == [0.9] * 4
        assert described["sink"].startswith("Compared with heads with random weights; q over all heads.")
        assert described["sink"].endswith("Not ranked or correlated: fewer than five different values.")


CHANCE = np.random.default_rng(0)
LAYER = np.repeat(np.arange(6), 12)
DRAWS = Draws(resamples=300, shuffles=600, seed=0)


def test_shuffles_stay_within_layers():
    for places in shuffles_within(LAYER, 50, 1):
        assert sorted(places) == list(range(72))
        assert (LAYER[places] == LAYER).all()
    mixed = np.array([0, 1, 0, 1, 1])
    assert all((mixed[places] == mixed).all() for places in shuffles_within(mixed, 20, 1))
    assert len({tuple(places) for places in shuffles_within(LAYER, 20, 1)}) == 20


def test_centred_ranks_by_hand():
    assert centred_ranks(np.array([1.0, 3.0, 10.0, 20.0]), np.array([0, 0, 1, 1])).tolist() == [-0.5, 0.5, -0.5, 0.5]


def test_depth_alone_is_no_finding_and_a_link_beyond_it_is():
    depth = LAYER + 0.3 * CHANCE.normal(size=72)
    also = LAYER + 0.3 * CHANCE.normal(size=72)
    rho, low, high, within, p = correlation(depth, also, LAYER, DRAWS)
    assert rho > 0.8
    assert low <= rho <= high
    assert abs(within) < 0.35
    assert p > 0.01, "heads of a layer resemble each other: that is all there is"
    linked = depth + 0.1 * CHANCE.normal(size=72)
    _, _, _, within, p = correlation(depth, linked, LAYER, DRAWS)
    assert within > 0.6
    assert p == pytest.approx(1 / 601)


def test_pairs_without_enough_heads_are_left_out_and_holm_is_over_the_others():
    table = rows().assign(a=np.arange(12.0), b=CHANCE.random(12), flat=1.0, few=[1.0] * 3 + [np.nan] * 9)
    table = table.assign(four=np.arange(12.0) % 4)
    pairs = correlation_rows(table, ["a", "b", "flat", "few", "four"], DRAWS)
    assert list(pairs.columns) == CORRELATIONS
    assert pairs[["measure_a", "measure_b"]].to_numpy().tolist() == [["a", "b"]]
    assert pairs["p_holm"].iloc[0] == pairs["p"].iloc[0]
    few = Draws(resamples=300, shuffles=99, seed=0)
    assert correlation_rows(table, ["a", "b"], few)["p_holm"].isna().all(), "1 / 100 is a fifth of the level"
    # A measure that is the same within each layer tells nothing beyond layers.
    table = pd.DataFrame({"layer": LAYER, "a": np.arange(72.0)})
    rho, _, _, within, p = correlation(table["a"].to_numpy(), LAYER.astype(float), LAYER, DRAWS)
    assert rho > 0.9
    assert np.isnan([within, p]).all()
    assert correlation_rows(table.assign(c=LAYER.astype(float)), ["a", "c"], DRAWS).empty, "most heads are tied"


def test_measures_of_noise_are_not_correlated():
    """Of the second measure 65 of 72 heads, over 90 %, are like heads without the effect; the third has 64 such heads."""
    table = pd.DataFrame({"model": "tiny", "layer": LAYER + 1, "head": np.tile(np.arange(1, 13), 6)})
    table["entropy"], table["disabled"], table["masked"] = (CHANCE.random(72) + 0.1 for _ in range(3))
    for name, inside in (("disabled", 65), ("masked", 64)):
        table[f"{name}_low"], table[f"{name}_high"] = np.where(np.arange(72) < inside, -1, 0.05), 2.0
    assert correlation_rows(table, ["entropy", "disabled", "masked"], DRAWS).shape[0] == 3, "no chance value is known"
    facts = [{"measure": name, "chance": 0.0} for name in ("disabled", "masked")]
    pairs = correlations(table, pd.DataFrame(facts).reindex(columns=MEASURES), **vars(DRAWS))
    assert pairs[["measure_a", "measure_b"]].to_numpy().tolist() == [["entropy", "masked"]]


def test_measures_that_count_the_same_are_marked_and_not_tested():
    table = pd.DataFrame({"layer": LAYER, "to_sep": CHANCE.random(72), "entropy": CHANCE.random(72)})
    table["sink"] = table["to_sep"] + 0.1 * CHANCE.random(72)
    rows = correlation_rows(table, ["to_sep", "entropy", "sink"], DRAWS).set_index(["measure_a", "measure_b"])
    assert rows["definitional"].to_dict() == {
        ("to_sep", "entropy"): False,
        ("to_sep", "sink"): True,
        ("entropy", "sink"): False,
    }
    assert rows.loc[("to_sep", "sink"), ["p", "p_holm"]].isna().all()
    assert rows.loc[("to_sep", "sink"), "spearman"] > 0.9
    others = rows[~rows["definitional"]]
    assert others["p_holm"].tolist() == pytest.approx(multipletests(others["p"], method="holm")[1]), "over the others alone"


def test_measures_of_breadth_on_random_tokens_share_their_definition():
    """A head that does not respond to what a token is gives every token of a random sequence its even share."""
    breadth = ["entropy", "duplicate_token", "induction"]
    assert all(by_definition(first, second) for first in breadth for second in breadth if first != second)
    assert not any(by_definition(name, other) for name in breadth for other in ("previous_token", "next_token", "to_sep"))
    generator = np.random.default_rng(0)
    size = 60
    maps = [
        np.stack([generator.dirichlet(np.full(size, 1 / (1 + spread)), size) for _ in range(2)]).mean(axis=0)
        for spread in np.linspace(0, 40, 30)
    ]
    entropy = [-(map_ * np.log(map_ + 1e-12)).sum(axis=1).mean() for map_ in maps]
    places = np.arange(size // 2, size)
    induction, before = ([np.median(map_[places, places - size // 2 + step]) for map_ in maps] for step in (1, -1))
    assert spearmanr(entropy, induction).statistic > 0.8
    assert spearmanr(induction, before).statistic > 0.8


def test_measures_that_share_name_each_other():
    names = {measure.name for source in SOURCES for measure in source.measures}
    for source in SOURCES:
        for measure in source.measures:
            assert {*measure.shares, *([measure.about] if measure.about else [])} <= names, measure.name
            assert source.group, source.table


def test_findings_have_a_verdict_and_those_that_cannot_be_tested_no_row():
    layer = np.repeat(np.arange(1, 7), 12)
    kind = np.where(CHANCE.random(72) < 0.4, "vertical", "dense")
    importance = CHANCE.random(72) - 0.5 * (kind == "vertical")
    sep = CHANCE.random(72)
    table = pd.DataFrame(
        {"layer": layer, "head": np.tile(np.arange(1, 13), 6), "distance_type": kind, "importance": importance}
    )
    table = table.assign(to_sep=sep, disabled=sep + 0.1 * CHANCE.random(72), masked=-sep)
    tested = finding_rows(table, DRAWS)
    assert list(tested.columns) == FINDINGS
    vertical, disabled, masked, costs = tested["verdict"]
    assert (vertical, disabled, masked) == ("holds", "holds", "does not hold")
    assert tested["within_low"].iloc[2] < tested["within_high"].iloc[2] < 0
    assert costs in ("holds", "undecided", "does not hold")
    # The statistic by a loop over all pairs.
    inside, outside = importance[kind == "vertical"], importance[kind != "vertical"]
    slow = np.mean([[float(a < b) + 0.5 * float(a == b) for b in outside] for a in inside]) - 0.5
    assert tested["value"].iloc[0] == pytest.approx(slow)
    cases = {
        "one kind of head": table.assign(distance_type="dense"),
        "one value": table.assign(masked=50.0),
        "four values": table.assign(masked=np.arange(72) % 4),
        "ties of most heads": table.assign(masked=np.arange(72) % 5),
        "values of layers alone": table.assign(masked=layer.astype(float)),
    }
    left_out = {name: set(tested["finding"]) - set(finding_rows(heads, DRAWS)["finding"]) for name, heads in cases.items()}
    of_masked = set(tested["finding"][2:])
    assert left_out == {"one kind of head": {tested["finding"][0]}} | dict.fromkeys(list(cases)[1:], of_masked)
    warned = finding_rows(table, DRAWS, warnings={"masked": "removals say nothing", "entropy": "nor does this"})
    assert set(tested["finding"]) - set(warned["finding"]) == of_masked
    # Holm over the four findings that are tested.
    tested_p = tested["p"].dropna()
    assert tested["p_holm"].dropna().tolist() == pytest.approx(multipletests(tested_p, method="holm")[1])
    few = finding_rows(table, Draws(resamples=300, shuffles=399, seed=0))
    assert few["p_holm"].isna().all(), "4 of 1 / 400 is a fifth of the level"
    assert set(few["verdict"].iloc[:3]) == {"undecided"}


def test_the_map_of_correlations_is_drawn_and_the_same_again(tables, tmp_path):
    table, measures = heads(tables, "tiny", (LAYERS, HEADS), {}, {}).values()
    pairs = correlations(table, measures, **vars(DRAWS))
    for number in (1, 2):
        correlation_map(pairs, measures).write({"svg": tmp_path / f"{number}.svg"}, {}, run_title="Test run")
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()
    assert b"Entropy of attention" in (tmp_path / "1.svg").read_bytes()
