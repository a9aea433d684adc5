"""Claims of Michel et al.: each can come out three ways; their statistics against slow ones, false alarms and power."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, t

from attention_atlas.methods.head_measures import ALL, CLASSIFICATION, DEFINITIONS, KEYS, ONE, OTHERS, PAPER, STEP, TRANSLATION
from attention_atlas.published.compare import DOES_NOT_HOLD, HOLDS, NOT_TESTED, UNDECIDED
from attention_atlas.stats.intervals import expanded_level, predicted_difference
from attention_atlas.studies.michel2019 import effects
from attention_atlas.studies.michel2019.tables import TOLERATED, claims_of, table1

KINDS = ("enc_enc", "enc_dec", "dec_dec")
THRESHOLDS = {
    "median_change": -TOLERATED,
    "largest_change": TOLERATED,
    "one_head_median": -TOLERATED,
    "pruned_change": -TOLERATED,
    "spearman_with_paper": 0.9,
    "share_left": 0.85,
}


BOTH = (TRANSLATION, CLASSIFICATION)
PARTS = [
    *((name, TRANSLATION, kind) for name in ("median_change", "largest_change", "raised_minus_lowered") for kind in KINDS),
    *((f"importance_over_{other}", task, ALL) for other in ("single_heads", "random") for task in BOTH),
    *(("one_head_median", task, ALL) for task in BOTH),
    *(("pruned_change", TRANSLATION, "20"), ("pruned_change", CLASSIFICATION, "40")),
    *(("over_encoder_decoder", TRANSLATION, kind) for kind in ("enc_enc", "dec_dec")),
    *(("spearman_with_paper", task, name) for task in BOTH for name in DEFINITIONS if name != PAPER),
    *((name, TRANSLATION, "40") for name in ("share_gained", "share_left")),
]
"""Name, experiment and part of every statistic."""
ENDS = ["value", "ci_low", "ci_high"]


def hand_made(low, high):
    """All tables that the claims read, with every interval at the same place beside its threshold."""
    statistics = pd.DataFrame(PARTS, columns=effects.STATISTICS[:3]).assign(level=0.95, n=40)
    thresholds = statistics["statistic"].map(THRESHOLDS).fillna(0.0)
    statistics = statistics.assign(**dict(zip(ENDS, (thresholds + end for end in ((low + high) / 2, low, high)), strict=True)))
    heads = pd.DataFrame(itertools.product(KINDS, [0.2, -0.1, 0.0]), columns=["kind", "delta"])
    correlations = pd.DataFrame(
        itertools.product(BOTH, (effects.PEARSON, effects.SPEARMAN, effects.TRIMMED)), columns=["experiment", "statistic"]
    )
    ends = {"value": (low + high) / 2, **dict.fromkeys(("ci_low", "ci_examples_low"), low)}
    ends |= dict.fromkeys(("ci_high", "ci_examples_high"), high)
    curve = pd.DataFrame({"percent": [0, 40, 100], "score": [40.0, 30.0, 0.0], "delta": [0.0, -10.0, -40.0]})
    orders = ((effects.IMPORTANCE, 0), (effects.ABLATION, 0), (effects.HELDOUT, 0), (effects.RANDOM, 0), (effects.RANDOM, 1))
    curves = [curve.assign(experiment=task, order=order, draw=draw) for task in BOTH for order, draw in orders]
    best = pd.DataFrame({"p": [0.5, 0.001], "delta": [0.0, -1.0]})
    return {
        **dict.fromkeys(("statistics", "training_statistics"), statistics),
        "table1": heads.assign(p=0.5, p_adjusted=1.0, p_count=1.0),
        **dict.fromkeys(("table2", "table3"), best),
        "correlations": correlations.assign(**ends, heads=9, second_data=effects.ANOTHER_CORPUS),
        "figure3": pd.concat(curves),
        "figure4": pd.concat([curve.assign(kind=kind, baseline=40.0) for kind in KINDS]),
        "figure5": pd.DataFrame({"epoch": [1, 2], "percent": 40, "share": [0.5, 0.9]}),
    }


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.01, 0.02, HOLDS), (-0.02, -0.01, DOES_NOT_HOLD), (-0.01, 0.02, UNDECIDED), (np.nan, np.nan, NOT_TESTED)],
)
def test_every_claim_comes_out_each_way(low, high, verdict):
    made = list(claims_of(hand_made(low, high), PAPER))
    assert len(made) == 26
    assert {claim.statement: claim.verdict for claim in made} == dict.fromkeys((claim.statement for claim in made), verdict)


def test_a_correlation_needs_both_intervals_and_another_corpus():
    tables = hand_made(0.1, 0.3)
    cases = (
        ({"ci_examples_low": -0.2}, UNDECIDED),
        ({"ci_low": -0.2}, UNDECIDED),
        ({"second_data": effects.SAME_FILE}, NOT_TESTED),
    )
    for changed, verdict in cases:
        claims = claims_of(tables | {"correlations": tables["correlations"].assign(**changed)}, PAPER)
        assert {claim.verdict for claim in claims if "effect" in claim.statement and "corr" in claim.statement} == {verdict}


def scores(right, base, keys=KEYS, rows=None):
    """Accuracy of masks [mask, example] and of the full model [example]."""
    right, base = (np.stack([values, np.ones_like(values)], axis=-1).astype(float) for values in (right, base))
    rows = rows if rows is not None else [(ONE, "enc_enc", 1, head + 1) for head in range(len(right))]
    return effects.MaskedScores(effects.ACCURACY, pd.DataFrame(rows, columns=keys), base, right)


def test_the_head_that_is_left_is_measured_on_other_examples():
    even = np.arange(24) % 2 == 0
    rows = [(OTHERS, "enc_enc", layer, head) for layer in (1, 2) for head in (1, 2)]
    masked = scores(np.stack([even, ~even] * 2), np.ones(24), rows=rows)
    chosen = [heads.keys["head"].tolist() for heads in effects.best_on_other_half(masked)]
    assert chosen == [[1, 1], [2, 2]], "on even and on odd examples"
    row = effects.one_head_statistic(masked, CLASSIFICATION, 200, 0)
    assert (row["value"], row["n"]) == (-100, 24)
    assert row["ci_high"] < -60


def test_statistics_of_curves_are_those_of_resamples_one_by_one():
    generator = np.random.default_rng(1)
    curves = [(effects.IMPORTANCE, ALL, 0), (effects.HELDOUT, ALL, 0), (effects.RANDOM, ALL, 0), (effects.RANDOM, ALL, 1)]
    curves += [(effects.IMPORTANCE, kind, 0) for kind in KINDS]
    rows = [(*curve, percent, percent) for curve in curves for percent in (0, 50, 100)]
    right = generator.random((len(rows), 30)) < 0.7
    masked = scores(right, right[0], STEP, rows)
    resampled = effects.resampled_scores(masked, 50, 3)
    made = effects.pruning_statistics(masked, resampled, CLASSIFICATION, 50, 3)
    by_name = {(row["statistic"], row["part"]): row for row in made}
    observed = 100 * right.mean(axis=1)

    def difference(values, first, second):
        means = [values[3 * curve] / 4 + values[3 * curve + 1] / 2 + values[3 * curve + 2] / 4 for curve in (first, second)]
        return means[0] - means[1]

    for name, first, second, level in (
        (("importance_over_single_heads", ALL), 0, 1, 0.95),
        (("over_encoder_decoder", "enc_enc"), 4, 5, 0.975),  # one of two parts
    ):
        tail = (1 - expanded_level(level, 30)) / 2
        slow = np.quantile([difference(values, first, second) for values in resampled], [tail, 1 - tail])
        assert by_name[name]["value"] == pytest.approx(difference(observed, first, second))
        assert (by_name[name]["ci_low"], by_name[name]["ci_high"]) == pytest.approx(tuple(slow))
    assert by_name["pruned_change", "40"]["value"] == pytest.approx(observed[1] - observed[0])
    row = by_name["importance_over_random", ALL]
    differences = [difference(observed, 0, random) for random in (2, 3)]
    assert (row["n"], row["value"]) == (2, pytest.approx(np.mean(differences)))
    least = t.ppf(0.975, 1) * np.std(differences, ddof=1) * np.sqrt(1.5)
    assert row["ci_high"] - row["value"] > least, "and the variance over examples"


HEADS, EXAMPLES = 8, 60
REPETITIONS = pytest.mark.parametrize("data_sets", [16, pytest.param(2000, marks=pytest.mark.long)])


def simulated(seed, lost=0.0, won=0.0):
    """One row per statistic; each head spoils right answers and corrects wrong ones with these probabilities."""
    generator = np.random.default_rng(seed)
    base = generator.random(EXAMPLES) < 0.6
    # Half of the changes are shared by all heads: the full model's own errors are.
    shared = generator.random((1, EXAMPLES)) < 0.5
    drawn = np.where(shared, generator.random((1, EXAMPLES)), generator.random((HEADS, EXAMPLES)))
    changed = drawn < np.where(base, lost, won)
    return {
        row["statistic"]: row for row in effects.single_head_statistics(scores(changed ^ base, base), TRANSLATION, 400, seed)
    }


def outside(rows, threshold):
    return sum(row["ci_low"] > threshold or row["ci_high"] < threshold for row in rows)


@REPETITIONS
def test_false_alarms(data_sets):
    limit = binom.ppf(0.9995, data_sets, 0.05)
    # As many are lost as won (60 % of the examples are right), and one point more lost than won.
    rows = [simulated(seed, 0.1, 0.15) for seed in range(data_sets)]
    alarms = outside((row["raised_minus_lowered"] for row in rows), 0)
    assert alarms <= limit
    rows = [simulated(seed, 0.02 / 0.6, 0.01 / 0.4) for seed in range(data_sets)]
    for name, threshold in (("median_change", -1), ("largest_change", 1)):
        alarms = outside((row[name] for row in rows), threshold)
        assert alarms <= limit, name
    generator, alarms = np.random.default_rng(0), 0
    for _ in range(data_sets):
        # An order that is one more random one.
        values, noise = generator.normal(size=6), generator.normal(size=100) * 0.1
        low, high = predicted_difference(values[0] - values[1:].mean(), values[1:], noise)
        alarms += low > 0 or high < 0
    assert alarms <= limit


def test_power():
    rows = [simulated(seed, 0.4, 0.0) for seed in range(10)]
    for name, threshold in (("raised_minus_lowered", 0), ("median_change", -1), ("largest_change", 1)):
        assert outside((row[name] for row in rows), threshold) > 8, name
    assert predicted_difference(10.0, np.random.default_rng(0).normal(size=6), np.zeros(100))[0] > 0
    assert np.isnan(predicted_difference(10.0, np.zeros(1), np.zeros(100))[0]), "one random order has no spread"


def test_one_star_is_of_a_head_alone_and_two_of_all_heads_together():
    tests = {"p": [0.5, 0.001, 0.001], "p_adjusted": [0.6, 0.4, 0.001]}
    facts = dict.fromkeys([*effects.TABLE1, "experiment"], 0.0) | {"experiment": TRANSLATION, "kind": "enc_enc", "layer": 1}
    rows = pd.DataFrame({**facts, "head": [1, 2, 3], "n": 40, "delta": [-1.0, 2.0, -3.0], **tests})
    page = table1(rows).page
    assert page.loc[0, ["head 1", "head 2", "head 3"]].tolist() == ["-1.00", "+2.00*", "-3.00**"]
