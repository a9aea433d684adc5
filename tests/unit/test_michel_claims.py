"""Claims of Michel et al.: each can come out three ways; their statistics against slow ones, false alarms and power."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, spearmanr, t

from attention_atlas.methods.head_measures import ALL, CLASSIFICATION, DEFINITIONS, KEYS, ONE, OTHERS, PAPER, STEP, TRANSLATION
from attention_atlas.methods.importance import Derivatives
from attention_atlas.published.compare import DOES_NOT_HOLD, HOLDS, NOT_TESTED, UNDECIDED
from attention_atlas.stats.intervals import expanded_level, predicted_difference
from attention_atlas.stats.simultaneous import simultaneous_largest
from attention_atlas.studies.michel2019.effects import (
    ABLATION,
    ACCURACY,
    ANOTHER_CORPUS,
    BLEU,
    HELDOUT,
    IMPORTANCE,
    PEARSON,
    RANDOM,
    SAME_FILE,
    SPEARMAN,
    STATISTICS,
    TRIMMED,
    MaskedScores,
    agreement_statistics,
    balance,
    one_head_statistic,
    pruning_statistics,
    resampled_deltas,
    resampled_scores,
    sentence_counts,
    single_head_statistics,
    training_statistics,
    with_opposite_examples,
)
from attention_atlas.studies.michel2019.tables import TOLERATED, claims_of

KINDS = ("enc_enc", "enc_dec", "dec_dec")
THRESHOLDS = {
    "median_change": -TOLERATED,
    "largest_change": TOLERATED,
    "one_head_median": -TOLERATED,
    "pruned_change": -TOLERATED,
    "spearman_with_paper": 0.9,
    "share_left": 0.85,
}


def hand_made(low, high, rows=None):
    """All tables that the claims read, with every interval at the same place beside its threshold."""
    both = (TRANSLATION, CLASSIFICATION)
    names = [
        (name, TRANSLATION, kind) for name in ("median_change", "largest_change", "raised_minus_lowered") for kind in KINDS
    ]
    names += [
        (name, task, ALL)
        for name in ("one_head_median", "importance_over_single_heads", "importance_over_random")
        for task in both
    ]
    names += [("pruned_change", TRANSLATION, "20"), ("pruned_change", CLASSIFICATION, "40")]
    names += [("over_encoder_decoder", TRANSLATION, kind) for kind in ("enc_enc", "dec_dec")]
    names += [("spearman_with_paper", task, name) for task in both for name in DEFINITIONS if name != PAPER]
    names += [(name, TRANSLATION, "40") for name in ("share_gained", "share_left")]
    statistics = []
    for name, task, part in names:
        threshold = THRESHOLDS.get(name, 0.0)
        statistics.append((name, task, part, threshold + (low + high) / 2, threshold + low, threshold + high, 0.95, 40))
    heads = pd.DataFrame(itertools.product(KINDS, [0.2, -0.1, 0.0]), columns=["kind", "delta"])
    best = pd.DataFrame({"p": [0.5, 0.001], "delta": [0.0, -1.0]})
    correlations = [
        (task, statistic, (low + high) / 2, low, high, low, high, heads_left)
        for task in both
        for statistic, heads_left in ((PEARSON, 9), (SPEARMAN, 9), (TRIMMED, 7))
    ]
    orders = ((IMPORTANCE, 0), (ABLATION, 0), (HELDOUT, 0), (RANDOM, 0), (RANDOM, 1))
    curve = {"percent": [0, 40, 100], "score": [40.0, 30.0, 0.0]}
    columns = ["experiment", "statistic", "value", "ci_low", "ci_high", "ci_examples_low", "ci_examples_high", "heads"]
    measured = pd.DataFrame(rows if rows is not None else statistics, columns=STATISTICS)
    return {
        "statistics": measured,
        "training_statistics": measured,
        "table1": heads.assign(p=0.5, p_adjusted=1.0, p_count=1.0),
        "table2": best,
        "table3": best,
        "correlations": pd.DataFrame(correlations, columns=columns).assign(second_data=ANOTHER_CORPUS),
        "figure3": pd.concat(
            pd.DataFrame(curve).assign(experiment=task, order=order, draw=draw, delta=[0.0, -10.0, -40.0])
            for task in both
            for order, draw in orders
        ),
        "figure4": pd.concat([pd.DataFrame(curve).assign(kind=kind, baseline=40.0, count=[0, 4, 9]) for kind in KINDS]),
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
    assert all(claim.n and claim.unit and claim.statistic for claim in made)


def test_a_correlation_needs_both_intervals():
    tables = hand_made(0.1, 0.3)
    tables["correlations"]["ci_examples_low"] = -0.2
    correlated = [claim for claim in claims_of(tables, PAPER) if "masking a head correlates" in claim.statement]
    assert [claim.verdict for claim in correlated] == [UNDECIDED, UNDECIDED]
    assert {(claim.ci_low, claim.ci_high) for claim in correlated} == {(-0.2, 0.3)}
    tables["correlations"] = tables["correlations"].assign(ci_examples_low=0.1, second_data=SAME_FILE)
    correlated = [claim for claim in claims_of(tables, PAPER) if "masking a head correlates" in claim.statement]
    assert [claim.verdict for claim in correlated] == [NOT_TESTED, NOT_TESTED], "a slice is not another corpus"
    assert all("not another corpus" in claim.ours for claim in correlated)


def test_unchanged_heads_are_neither_raised_nor_lowered():
    raised = next(claim for claim in claims_of(hand_made(-1, 1), PAPER) if "more often than it lowers" in claim.statement)
    assert raised.ours == "BLEU rises for 1 of 3 heads, falls for 1 and stays the same for 1"
    assert balance(np.array([[0.5, -0.1, 1e-13, 0.2], [0.0, 0.0, 0.0, -1.0]])).tolist() == [1, -1]


def test_claims_of_kinds_are_in_the_same_order_whatever_the_order_of_the_table():
    tables = hand_made(0.1, 0.3)
    first = [claim.statement for claim in claims_of(tables, PAPER)]
    tables["table1"] = tables["table1"].sort_values("delta", ignore_index=True)
    assert tables["table1"]["kind"].tolist()[:2] == ["enc_enc", "enc_dec"], "kinds are mixed"
    assert [claim.statement for claim in claims_of(tables, PAPER)] == first


def scores(right, base, keys=KEYS, rows=None):
    """Accuracy of masks [mask, example] and of the full model [example]."""
    right, base = (np.stack([values, np.ones_like(values)], axis=-1).astype(float) for values in (right, base))
    rows = rows if rows is not None else [(ONE, "enc_enc", 1, head + 1) for head in range(len(right))]
    return MaskedScores(ACCURACY, pd.DataFrame(rows, columns=keys), base, right)


def test_one_loss_and_one_gain_are_added():
    """Where no answer changes, the interval is that of Bonett and Price, not a point."""
    n = 40
    padded = with_opposite_examples(scores(np.ones((1, n)), np.ones(n)))
    assert padded.deltas.tolist() == [0.0]
    resampled = resampled_deltas(padded, 4000, 0)[:, 0]
    assert resampled.std() == pytest.approx(100 * np.sqrt((2 / (n + 2)) / (n + 2)), rel=0.05)
    counts = sentence_counts(["a b c d e", "a b x d e"], ["a b c d e"] * 2)
    keys = pd.DataFrame([(ONE, "enc_enc", 1, 1)], columns=KEYS)
    padded = with_opposite_examples(MaskedScores(BLEU, keys, counts, counts[None]))
    assert padded.deltas == pytest.approx([0.0])
    assert padded.base[-1].tolist() == [0] * 4 + counts.mean(axis=0)[4:].tolist(), "no match, lengths as they are"
    assert padded.parts[0, -2].tolist() == padded.base[-1].tolist()


def test_the_largest_change_covers_all_heads_at_once():
    generator = np.random.default_rng(0)
    deltas, resampled = np.array([-3.0, 1.0, 0.0]), generator.normal(size=(5000, 3)) * [1, 2, 0] + [-3, 1, 0]
    low, high = simultaneous_largest(deltas, resampled)
    reach = np.quantile(np.abs(generator.normal(size=(200_000, 2))).max(axis=1), 0.95)
    assert (low, high) == pytest.approx((3 - reach, 1 + 2 * reach), rel=0.05), "the least certain head has the upper end"


def test_the_head_that_is_left_is_measured_on_other_examples():
    """Two heads, each right on one half of the examples alone: the better one there is wrong on the other half."""
    even = np.arange(24) % 2 == 0
    rows = [(OTHERS, "enc_enc", layer, head) for layer in (1, 2) for head in (1, 2)]
    masked = scores(np.stack([even, ~even] * 2), np.ones(24), rows=rows)
    row = one_head_statistic(masked, CLASSIFICATION, 200, 0)
    assert (row["value"], row["n"]) == (-100, 24)
    assert row["ci_high"] < -60


def test_statistics_of_curves_are_those_of_resamples_one_by_one():
    generator = np.random.default_rng(1)
    rows = [(order, ALL, draw, percent, percent) for order, draw in ((IMPORTANCE, 0), (HELDOUT, 0), (RANDOM, 0), (RANDOM, 1))
            for percent in (0, 50, 100)]  # fmt: skip
    rows += [(IMPORTANCE, kind, 0, percent, percent) for kind in KINDS for percent in (0, 50, 100)]
    right = generator.random((len(rows), 30)) < 0.7
    masked = scores(right, right[0], STEP, rows)
    resampled = resampled_scores(masked, 50, 3)
    made = list(pruning_statistics(masked, resampled, CLASSIFICATION, 50, 3))
    by_name = {(row["statistic"], row["part"]): row for row in made}

    def interval(values, level=0.95):
        tail = (1 - expanded_level(level, 30)) / 2
        return pytest.approx(tuple(np.quantile(values, [tail, 1 - tail])))

    def mean(values, first):
        return (values[first] / 4 + values[first + 1] / 2 + values[first + 2] / 4) if values.ndim == 1 else None

    observed = 100 * right.mean(axis=1)
    row = by_name["importance_over_single_heads", ALL]
    assert row["value"] == pytest.approx(mean(observed, 0) - mean(observed, 3))
    slow = [mean(values, 0) - mean(values, 3) for values in resampled]
    assert (row["ci_low"], row["ci_high"]) == interval(slow)
    row = by_name["over_encoder_decoder", "enc_enc"]
    slow = [mean(values, 12) - mean(values, 15) for values in resampled]
    assert (row["ci_low"], row["ci_high"]) == interval(slow, 0.975), "one of two parts"
    row = by_name["pruned_change", "40"]
    assert row["value"] == pytest.approx(observed[1] - observed[0]), "the first step with 40 % or more"
    row = by_name["importance_over_random", ALL]
    random = np.array([mean(observed, 6), mean(observed, 9)])
    assert row["n"] == 2
    assert row["value"] == pytest.approx(mean(observed, 0) - random.mean())
    least = t.ppf(0.975, 1) * random.std(ddof=1) * np.sqrt(1.5)
    assert row["ci_high"] - row["value"] > least, "and the variance over examples"


def test_agreement_of_definitions():
    generator = np.random.default_rng(0)
    heads = pd.DataFrame(
        [("enc_enc", layer, head) for layer in (1, 2) for head in range(1, 13)], columns=["kind", "layer", "head"]
    )
    importances = generator.random(24) + 0.2
    gradient = np.abs(generator.normal(size=(64, 24))) * importances
    same = Derivatives(heads, gradient, gradient, np.ones_like(gradient))
    by_name = {row["part"]: row for row in agreement_statistics(same, TRANSLATION, 8, 200, 0)}
    assert by_name["per_batch"]["value"] == pytest.approx(1), "all derivatives are positive: sums are sums of magnitudes"
    assert by_name["michel_code"]["ci_low"] > 0.9
    mixed = Derivatives(heads, gradient * generator.choice([-1, 1], gradient.shape), gradient, np.ones_like(gradient))
    by_name = {row["part"]: row for row in agreement_statistics(mixed, TRANSLATION, 64, 200, 0)}
    slow = spearmanr(
        np.abs(mixed.gradient.sum(axis=0)) / norms(np.abs(mixed.gradient.sum(axis=0))),
        gradient.sum(axis=0) / norms(gradient.sum(axis=0)),
    )
    assert by_name["per_batch"]["value"] == pytest.approx(slow.statistic)
    assert by_name["per_batch"]["ci_low"] <= slow.statistic <= by_name["per_batch"]["ci_high"]


def norms(values):
    return np.repeat(np.linalg.norm(values.reshape(2, 12), axis=1), 12)


def test_shares_after_training():
    """The share grows from 50 % to 90 %; an epoch that does not translate yet does not count."""
    counts = sentence_counts(["a b c d e f"] * 40 + ["x"] * 40, ["a b c d e f"] * 80)
    keys = pd.DataFrame({"epoch": 1, "percent": [0, 40], "count": [0, 4]})

    def epoch(kept, whole=40):
        base = np.concatenate([counts[:whole], counts[40 : 80 - whole]])
        step = np.concatenate([base[:kept], counts[40 : 80 - kept]])
        return MaskedScores(BLEU, keys, base, np.stack([base, step]))

    epochs = {0: epoch(0, 0), 1: epoch(22), 2: epoch(38)}
    resampled = {number: resampled_scores(masked, 300, 0) for number, masked in epochs.items()}
    gained, left = training_statistics(epochs, resampled, TRANSLATION)
    assert left["value"] == pytest.approx(epochs[2].score(epochs[2].parts[1].sum(axis=0)) / 100)
    assert left["ci_low"] < left["value"] < left["ci_high"] <= 1
    assert gained["ci_low"] > 0
    gained, left = training_statistics({0: epochs[0]}, resampled, TRANSLATION)
    assert np.isnan(gained["ci_low"])
    assert np.isnan(left["value"])


HEADS, EXAMPLES = 8, 60
REPETITIONS = pytest.mark.parametrize("data_sets", [80, pytest.param(2000, marks=pytest.mark.long)])


def simulated(seed, lost=0.0, won=0.0):
    """One row per statistic; each head spoils right answers and corrects wrong ones with these probabilities."""
    generator = np.random.default_rng(seed)
    base = generator.random(EXAMPLES) < 0.6
    # Half of the changes are shared by all heads: the full model's own errors are.
    shared = generator.random((1, EXAMPLES)) < 0.5
    drawn = np.where(shared, generator.random((1, EXAMPLES)), generator.random((HEADS, EXAMPLES)))
    changed = drawn < np.where(base, lost, won)
    return {row["statistic"]: row for row in single_head_statistics(scores(changed ^ base, base), TRANSLATION, 400, seed)}


def outside(rows, threshold):
    return sum(row["ci_low"] > threshold or row["ci_high"] < threshold for row in rows)


@REPETITIONS
def test_false_alarms(data_sets):
    limit = binom.ppf(0.9995, data_sets, 0.05)
    # As many are lost as won (60 % of the examples are right), and one point more lost than won.
    rows = [simulated(seed, 0.1, 0.15) for seed in range(data_sets)]
    alarms = outside((row["raised_minus_lowered"] for row in rows), 0)
    print(f"raised minus lowered: {alarms / data_sets:.3f}")
    assert alarms <= limit
    rows = [simulated(seed, 0.02 / 0.6, 0.01 / 0.4) for seed in range(data_sets)]
    for name, threshold in (("median_change", -1), ("largest_change", 1)):
        alarms = outside((row[name] for row in rows), threshold)
        print(f"{name}: {alarms / data_sets:.3f}")
        assert alarms <= limit, name
    generator, alarms = np.random.default_rng(0), 0
    for _ in range(data_sets):
        # An order that is one more random one.
        values, noise = generator.normal(size=6), generator.normal(size=100) * 0.1
        low, high = predicted_difference(values[0] - values[1:].mean(), values[1:], noise)
        alarms += low > 0 or high < 0
    print(f"importance over random: {alarms / data_sets:.3f}")
    assert alarms <= limit


@pytest.mark.parametrize("data_sets", [30])
def test_power(data_sets):
    rows = [simulated(seed, 0.4, 0.0) for seed in range(data_sets)]
    for name, threshold in (("raised_minus_lowered", 0), ("median_change", -1), ("largest_change", 1)):
        assert outside((row[name] for row in rows), threshold) > 0.8 * data_sets, name
    low, high = predicted_difference(10.0, np.random.default_rng(0).normal(size=6), np.zeros(100))
    assert 0 < low < high
    assert np.isnan(predicted_difference(10.0, np.zeros(1), np.zeros(100))[0]), "one random order has no spread"
