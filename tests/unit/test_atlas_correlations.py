"""Correlations, findings and matched heads: depth alone decides nothing, what is planted is found; against loops and scipy."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, spearmanr
from statsmodels.stats.multitest import multipletests

from attention_atlas.atlas.correlations import (
    Draws,
    agreement_rows,
    behaviour,
    centred_ranks,
    correlation_rows,
    match_rows,
    matched,
    shuffles_within,
)
from attention_atlas.atlas.tables import QUESTIONS, finding_rows
from attention_atlas.published.compare import DOES_NOT_HOLD, HOLDS, UNDECIDED
from attention_atlas.stats.simultaneous import enough_draws

LAYERS, HEADS = 6, 12
LAYER = np.repeat(np.arange(LAYERS), HEADS)
PLACES = {"layer": LAYER + 1, "head": np.tile(np.arange(1, HEADS + 1), LAYERS)}
DRAWS = Draws(resamples=300, shuffles=600, seed=0)


@pytest.fixture
def chance():
    return np.random.default_rng(0)


def test_shuffles_stay_within_layers():
    layer = np.array([0, 1, 0, 1, 1])
    shuffles = shuffles_within((0, 1, 0, 1, 1), 200, 1)
    assert (layer[shuffles] == layer).all()
    assert len({tuple(places) for places in shuffles.tolist()}) == 2 * 6, "all orders"
    assert centred_ranks(np.array([1.0, 3.0, 10.0, 20.0]), np.array([0, 0, 1, 1])).tolist() == [-0.5, 0.5, -0.5, 0.5]


def test_depth_alone_is_no_correlation_and_a_link_beyond_it_is(chance):
    depth, also = (LAYER + 0.3 * chance.normal(size=72) for _ in range(2))
    table = pd.DataFrame(PLACES).assign(a=depth, b=also, c=depth + 0.1 * chance.normal(size=72))
    pairs = correlation_rows(table, ["a", "b", "c"], DRAWS).set_index(["measure_a", "measure_b"])
    assert set(pairs.index) == {("a", "b"), ("a", "c"), ("b", "c")}
    unlinked, linked = pairs.loc[("a", "b")], pairs.loc[("a", "c")]
    assert unlinked["spearman"] == pytest.approx(spearmanr(depth, also).statistic)
    assert 0.8 < unlinked["ci_low"] <= unlinked["spearman"] <= unlinked["ci_high"]
    assert abs(unlinked["within_layers"]) < 0.35
    assert unlinked["p"] > 0.01, "heads of a layer resemble each other: that is all there is"
    assert linked["within_layers"] > 0.6
    assert linked["p"] == pytest.approx(1 / 601)
    assert pairs["p_holm"].tolist() == pytest.approx(multipletests(pairs["p"], method="holm")[1])
    assert correlation_rows(table, ["a", "b", "c"], Draws(300, 99, 0))["p_holm"].isna().all(), "three of 1 / 100 are too many"


def test_measures_that_count_the_same_are_marked_and_not_tested(chance):
    table = pd.DataFrame(PLACES).assign(to_sep=chance.random(72), entropy=chance.random(72), sink=chance.random(72))
    rows = correlation_rows(table, ["to_sep", "entropy", "sink"], DRAWS).set_index(["measure_a", "measure_b"])
    assert rows.index[rows["definitional"]].tolist() == [("to_sep", "sink")]
    assert rows.loc[("to_sep", "sink"), ["p", "p_holm"]].isna().all()
    others = rows[~rows["definitional"]]
    assert others["p_holm"].tolist() == pytest.approx(multipletests(others["p"], method="holm")[1]), "over the others alone"


CLAIMED = dict.fromkeys(("to_sep", "disabled", "masked", "relation_margin", "unchanged", "keyphrase_auc"), 1)
CLAIMED |= {"importance": -1, "tagger_without": -1}
"""Measure -> its direction if every finding holds, with more vertical heads in the same direction."""
SECOND = ("importance", "to_sep", "unchanged", "tagger_without")
"""One measure of each finding: with the opposite direction of these, every finding is false."""


def heads_table(seed, depth, within=0.0):
    """One row per head: every measure is the layer, a value that all measures of a head share, and independent noise.

    depth, within: how much measures change with the layer, and with the shared value; below 0 against all findings.
    """
    generator = np.random.default_rng(seed)
    shared, columns = generator.normal(size=72), {}
    for name, sign in CLAIMED.items():
        of_layer, of_head = ((abs(size) if name in SECOND else size) for size in (depth, within))
        columns[name] = sign * (of_layer * (LAYER + 1) + of_head * shared) + generator.normal(size=72)
    # Half of the heads are vertical: with depth, hardly one of the first layers and nearly all of the last ones.
    score = depth / 3 * (LAYER - LAYER.mean()) + within * shared + generator.normal(size=72)
    return pd.DataFrame(PLACES | columns | {"distance_type": np.where(score > 0, "vertical", "dense")})


def draws_of(seed):
    # As many shuffles as Holm needs: p < level / 6 has almost this probability. Verdicts need no bootstrap.
    return Draws(resamples=2, shuffles=enough_draws(len(QUESTIONS), 0.05), seed=seed)


def found(heads, draws, unusable=()):
    return finding_rows(heads, draws, unusable, {})


@pytest.mark.parametrize("data_sets", [30, pytest.param(2000, marks=pytest.mark.long)])
def test_depth_alone_decides_no_finding_more_often_than_the_level(data_sets):
    table = found(heads_table(0, depth=3.0), Draws(resamples=200, shuffles=200, seed=0))
    sides = [question.sign for question in QUESTIONS]
    assert (np.sign(table["ci_low"]) == sides).all(), "depth makes all values large: intervals over all heads exclude 0"
    tables = [found(heads_table(seed, depth=3.0), draws_of(seed)) for seed in range(data_sets)]
    below = np.array([table["p"] < 0.05 for table in tables])
    assert (below.sum(axis=0) <= binom.ppf(0.9999, data_sets, 0.05)).all()
    # Findings share measures, so that not all are independent: half of them are taken to be.
    assert below.mean() >= binom.ppf(0.0001, below.size // 2, 0.05) / (below.size // 2), "the test is not conservative either"
    decided = sum(bool({HOLDS, DOES_NOT_HOLD}.intersection(table["verdict"])) for table in tables)
    assert decided <= binom.ppf(0.9999, data_sets, 0.05), "a verdict on any finding"


@pytest.mark.parametrize("data_sets", [10, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize(("within", "verdict", "opposite"), [(1.2, HOLDS, DOES_NOT_HOLD), (-1.2, DOES_NOT_HOLD, HOLDS)])
def test_an_association_within_layers_is_found_whatever_depth_says(data_sets, within, verdict, opposite):
    given = np.array([found(heads_table(seed, -2.5 * within, within), draws_of(seed))["verdict"] for seed in range(data_sets)])
    for question, column in zip(QUESTIONS, given.T, strict=True):
        counts = Counter(column)
        assert counts[verdict] >= 0.8 * data_sets, question.statement
        assert counts[opposite] == 0, question.statement


def test_verdicts_need_enough_shuffles_and_measures_without_a_warning():
    heads, draws = heads_table(0, depth=3.0, within=2.0), draws_of(0)
    table = finding_rows(heads, draws, {"entropy"}, {"to_sep": "tiny", "masked": "tiny-qnli"})
    assert (table["verdict"] == HOLDS).all()
    assert table["p_holm"].tolist() == pytest.approx(multipletests(table["p"], method="holm")[1])
    linked = table.set_index(["measure_a", "measure_b"]).loc[("to_sep", "masked")]
    assert linked[["model_a", "model_b"]].tolist() == ["tiny", "tiny-qnli"]
    few = finding_rows(heads, Draws(10, 399, 0), {"masked"}, {})
    assert len(few) == len(table) - 2
    assert few["p_holm"].isna().all(), "four times 1 / 400 is a fifth of the level"
    assert set(few["verdict"]) == {UNDECIDED}


def test_findings_that_cannot_be_tested_have_no_row():
    table, few = heads_table(0, depth=0.0, within=2.0), Draws(resamples=2, shuffles=60, seed=0)
    statements = {question.needs: question.statement for question in QUESTIONS}
    of_masked = {statement for needs, statement in statements.items() if "masked" in needs}
    vertical = statements["distance_type", "importance"]
    cases = [
        (table.assign(distance_type=np.where(LAYER > 2, "vertical", "dense")), {vertical}),
        (table.assign(masked=np.arange(72) % 4.0), of_masked),
    ]
    for heads, left_out in cases:
        assert {*statements.values()} - {*found(heads, few)["finding"]} == left_out
    assert {*statements.values()} - {*found(table, few, {"disabled"})["finding"]} == {statements["to_sep", "disabled"]}


def slow_pairs(inside, values, layer):
    """How much more often than not a value inside is below one outside, over all pairs of heads of one layer."""
    pairs = [(k, m) for k in np.flatnonzero(inside) for m in np.flatnonzero(~inside) if layer[k] == layer[m]]
    return np.mean([(values[k] < values[m]) + 0.5 * (values[k] == values[m]) for k, m in pairs]) - 0.5


def test_groups_are_compared_pair_by_pair():
    table = heads_table(1, depth=1.0, within=0.5).sample(frac=0.7, random_state=0)
    values = table["importance"].to_numpy().copy()
    values[1:16:2] = values[:16:2]  # ties, but not of most heads
    row = found(table.assign(importance=values), Draws(resamples=2, shuffles=60, seed=3)).iloc[0]
    inside, layer = (table["distance_type"] == "vertical").to_numpy(), table["layer"].to_numpy()
    assert row["value"] == pytest.approx(slow_pairs(inside, values, np.zeros(len(values))))
    assert row["within_layers"] == pytest.approx(slow_pairs(inside, values, layer))
    shuffled = [slow_pairs(inside, values[places], layer) for places in shuffles_within(tuple(layer), 60, 3)]
    assert row["p"] == pytest.approx((1 + np.sum(np.abs(shuffled) >= abs(row["within_layers"]) - 1e-12)) / 61)


NAMES = ["entropy", "to_next", "to_previous", "to_itself", "to_punctuation"]


def heads(values, layers=4):
    """One row per head, with these values [head, measure]."""
    layer, head = np.indices((layers, len(values) // layers)).reshape(2, -1) + 1
    return pd.DataFrame({"layer": layer, "head": head, **dict(zip(NAMES, np.asarray(values).T, strict=False))})


def agreement(first, second, draws=DRAWS):
    return agreement_rows("other", True, first, second, draws).set_index("measure")


def test_heads_that_changed_places_are_found_and_agree_on_what_they_were_not_matched_by(chance):
    # All measures follow two properties of a head.
    values = chance.normal(size=(48, 2)) @ chance.normal(size=(2, 5)) + 0.1 * chance.normal(size=(48, 5))
    order = chance.permutation(48)
    first, second = heads(values), heads(values[order] + 0.01 * chance.normal(size=(48, 5)))
    rows = match_rows("other", first, second)
    assert order[(rows["matched_layer"] - 1) * 12 + rows["matched_head"] - 1].tolist() == list(range(48))
    assert rows["distance"].max() < 0.1
    table = agreement(first, second)
    assert table.index.tolist() == NAMES
    assert (table["agreement"] > np.maximum(0.8, table["null_high"])).all()
    assert table["p_holm"].tolist() == pytest.approx(multipletests(table["p"], method="holm")[1])
    one, two, _ = matched(*(part[:, [0, 2, 3, 4]] for part in behaviour(first, second)[1:]))
    expected = spearmanr(first["to_next"].to_numpy()[one], second["to_next"].to_numpy()[two]).statistic
    assert table.loc["to_next", "agreement"] == pytest.approx(expected), "matched by the four others"


def test_no_quantity_counts_twice_in_a_match(chance):
    """A second measure of the same weights, however different its values, moves no head and no distance."""
    first, second = heads(chance.normal(size=(12, 2))), heads(chance.normal(size=(12, 2)))
    first["to_sep"], second["to_sep"] = chance.normal(size=(2, 12))
    alone = match_rows("other", first, second)
    for name in ("sink", "norm_sink"):
        first[name], second[name] = chance.normal(size=(2, 12))
    pd.testing.assert_frame_equal(match_rows("other", first, second), alone)
    matched_by = agreement(first, second)["matched_by"]
    assert matched_by["sink"] == 2, "not by the attention to [SEP], which is a part of it"
    assert matched_by["entropy"] == 2, "attention to [SEP] counts once"
    first["induction"], second["induction"] = chance.normal(size=(2, 12))
    assert not match_rows("other", first, second)["distance"].equals(alone["distance"]), "another quantity counts"
    # Entropy and induction both count, but one says nothing new about heads that were matched by the other.
    matched_by = agreement(first, second)["matched_by"]
    assert matched_by[["induction", "entropy", "to_sep"]].tolist() == [2, 2, 3]


@pytest.mark.parametrize("data_sets", [60, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.parametrize("depth", [0.0, 3.0])
def test_models_that_are_alike_in_depth_alone_agree_as_rarely_as_the_level_says(chance, data_sets, depth):
    """With shuffles over all heads, two models alike in depth alone agreed in every data set."""
    few, layer = Draws(resamples=100, shuffles=199, seed=2), np.repeat(np.arange(4), 12)[:, None]
    made = [[heads(chance.normal(size=(48, 3)) + depth * layer) for _ in range(2)] for _ in range(data_sets)]
    rows = [agreement(*tables, few).loc["entropy"] for tables in made]
    assert sum(row["p"] <= 0.05 for row in rows) <= binom.ppf(0.9995, data_sets, 0.05)
    inside = sum(row["null_low"] <= row["agreement"] <= row["null_high"] for row in rows)
    assert binom.ppf(0.0005, data_sets, 0.95) <= inside
    assert all(row["agreement"] > 0.5 for row in rows) == (depth > 0)
