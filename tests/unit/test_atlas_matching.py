"""Heads of two models matched by behaviour: planted matches are found, chance agreement is as often as its level."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from attention_atlas.atlas.correlations import (
    AGREEMENT,
    DEPTH,
    MATCHES,
    MEAN,
    Draws,
    agreement_rows,
    behaviour,
    counted_once,
    match_rows,
    matched,
)
from attention_atlas.atlas.measures import numeric

NAMES = ["entropy", "to_next", "to_previous", "to_itself", "to_punctuation"]
DRAWS = Draws(resamples=200, shuffles=600, seed=1)


def heads(values, layers=4):
    """One row per head, with these values [head, measure]."""
    count = len(values) // layers
    layer, head = np.indices((layers, count)).reshape(2, -1) + 1
    return pd.DataFrame({"layer": layer, "head": head, **dict(zip(NAMES, np.asarray(values).T, strict=False))})


def of(rows, measure):
    return rows.set_index("measure").loc[measure]


def test_the_assignment_has_the_smallest_sum_of_all():
    chance = np.random.default_rng(0)
    first, second = chance.normal(size=(6, 3)), chance.normal(size=(6, 3))
    rows, columns, distances = matched(first, second)

    def cost(order):
        return sum(np.sqrt(np.mean((first[k] - second[order[k]]) ** 2)) for k in range(6))

    assert rows.tolist() == list(range(6))
    assert distances.sum() == pytest.approx(min(cost(order) for order in permutations(range(6))))
    assert distances.sum() == pytest.approx(cost(columns))


def test_measures_are_standardised_over_both_models_and_incomplete_ones_are_left_out():
    chance = np.random.default_rng(1)
    first, second = heads(chance.normal(size=(8, 5))), heads(3 + chance.normal(size=(8, 5)))
    first.loc[2, "to_next"] = np.nan
    first["to_itself"] = second["to_itself"] = 0.5
    both = behaviour(first, second)
    assert both.names == ("entropy", "to_previous", "to_punctuation")
    values = np.concatenate([both.first, both.second])
    assert values.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert values.std(axis=0) == pytest.approx(np.ones(3))
    assert (both.second.mean(axis=0) > both.first.mean(axis=0)).all(), "a difference between the models is kept"


def test_heads_that_changed_places_are_found():
    chance = np.random.default_rng(2)
    values = chance.normal(size=(24, 5))
    order = chance.permutation(24)
    first, second = heads(values), heads(values[order] + 0.01 * chance.normal(size=(24, 5)))
    rows = match_rows("other", first, second)
    assert list(rows.columns) == MATCHES
    places = (rows["matched_layer"] - 1) * 6 + rows["matched_head"] - 1
    assert order[places].tolist() == list(range(24))
    assert rows["distance"].max() < 0.05


def test_matched_heads_of_a_copy_agree_on_what_they_were_not_matched_by():
    chance = np.random.default_rng(3)
    # All measures follow two properties of a head.
    values = chance.normal(size=(48, 2)) @ chance.normal(size=(2, 5)) + 0.1 * chance.normal(size=(48, 5))
    first, second = heads(values), heads(values[chance.permutation(48)])
    rows = agreement_rows("other", False, first, second, DRAWS)
    assert list(rows.columns) == AGREEMENT
    assert rows["measure"].tolist() == [*NAMES, DEPTH, MEAN]
    measured = rows[rows["measure"].isin(NAMES)]
    assert (measured["agreement"] > 0.8).all()
    assert (measured["agreement"] > measured["null_high"]).all()
    assert (measured["p_holm"] < 0.05).all()
    assert of(rows, MEAN)["agreement"] == pytest.approx(measured["agreement"].mean())
    assert of(rows, MEAN)["p"] == pytest.approx(1 / 601)
    assert of(rows, DEPTH)["p"] > 0.01, "heads changed places at random"


def test_the_agreement_is_a_rank_correlation_over_heads_matched_by_the_other_measures():
    chance = np.random.default_rng(4)
    first, second = heads(chance.normal(size=(12, 5))), heads(chance.normal(size=(12, 5)))
    rows = agreement_rows("other", True, first, second, DRAWS)
    both = behaviour(first, second)
    others = [k for k, name in enumerate(both.names) if name != "to_next"]
    one, two, _ = matched(both.first[:, others], both.second[:, others])
    expected = spearmanr(first["to_next"].to_numpy()[one], second["to_next"].to_numpy()[two]).statistic
    assert of(rows, "to_next")["agreement"] == pytest.approx(expected)
    assert of(rows, "to_next")["matched_by"] == 4
    assert rows["random_weights"].all()


def test_measures_that_count_the_same_do_not_match_each_other():
    chance = np.random.default_rng(5)
    first, second = heads(chance.normal(size=(12, 2))), heads(chance.normal(size=(12, 2)))
    first["to_sep"], second["to_sep"] = chance.normal(size=(2, 12))
    first["sink"], second["sink"] = chance.normal(size=(2, 12))
    rows = agreement_rows("other", False, first, second, DRAWS)
    assert of(rows, "sink")["matched_by"] == 2, "not by the attention to [SEP], which is a part of it"
    assert of(rows, "entropy")["matched_by"] == 2, "attention to [SEP] counts once"
    assert of(rows, MEAN)["agreement"] == pytest.approx(
        np.mean([of(rows, name)["agreement"] for name in counted_once(tuple(rows["measure"][:4]))])
    )


def test_no_quantity_counts_twice_in_a_match():
    """A second measure of the same weights, however different its values, moves no head and no distance."""
    chance = np.random.default_rng(9)
    first, second = heads(chance.normal(size=(12, 5))), heads(chance.normal(size=(12, 5)))
    first["to_sep"], second["to_sep"] = chance.normal(size=(2, 12))
    alone = match_rows("other", first, second)
    for name in ("sink", "norm_sep", "relation_norm"):
        first[name], second[name] = chance.normal(size=(2, 12))
    pd.testing.assert_frame_equal(match_rows("other", first, second), alone)
    first["induction"], second["induction"] = chance.normal(size=(2, 12))
    assert not match_rows("other", first, second)["distance"].equals(alone["distance"]), "another quantity counts"


def test_a_model_without_sep_is_matched_by_its_sinks():
    assert counted_once(("entropy", "to_sep", "sink", "norm_sink", "induction")) == ("entropy", "to_sep", "induction")
    assert counted_once(("entropy", "sink", "norm_sink", "induction")) == ("entropy", "sink", "induction")


def test_agreement_on_induction_is_of_heads_matched_without_their_breadth():
    """Entropy and induction both count in a match, but one says nothing new about heads that were matched by the other."""
    names = ("entropy", "to_sep", "duplicate_token", "induction", "previous_token")
    assert counted_once(names) == names
    chance = np.random.default_rng(3)
    first, second = (heads(chance.normal(size=(12, 1))) for _ in range(2))
    for table in (first, second):
        table[list(names)] = chance.normal(size=(12, len(names)))
    rows = agreement_rows("other", False, first, second, Draws(resamples=100, shuffles=199, seed=2)).set_index("measure")
    others = len([name for name in numeric(first) if name not in names])
    assert rows.loc[["induction", "entropy"], "matched_by"].tolist() == [2 + others] * 2
    assert rows.loc["to_sep", "matched_by"] == 4 + others


def test_chance_agreement_is_rejected_as_often_as_the_level_says():
    chance = np.random.default_rng(6)
    draws = Draws(resamples=100, shuffles=199, seed=2)
    p, inside = [], []
    for _ in range(200):
        rows = agreement_rows("other", False, heads(chance.normal(size=(12, 3))), heads(chance.normal(size=(12, 3))), draws)
        p.append(of(rows, MEAN)["p"])
        row = of(rows, "entropy")
        inside.append(row["null_low"] <= row["agreement"] <= row["null_high"])
    # 5 % of 200 is 10, with a standard deviation of 3.
    assert 2 <= (np.array(p) <= 0.05).sum() <= 20
    assert 180 <= sum(inside) <= 198


def test_of_models_of_other_shapes_the_smaller_one_is_matched_as_a_whole():
    chance = np.random.default_rng(7)
    first, second = heads(chance.normal(size=(12, 5))), heads(chance.normal(size=(8, 5)), layers=2)
    rows = match_rows("other", first, second)
    assert len(rows) == 8
    assert not rows.duplicated(["matched_layer", "matched_head"]).any()
    assert set(agreement_rows("other", False, first, second, DRAWS)["n"]) == {8}
    nothing = second.drop(columns=NAMES)
    assert match_rows("other", first, nothing).empty
    assert agreement_rows("other", False, first, nothing, DRAWS).empty
