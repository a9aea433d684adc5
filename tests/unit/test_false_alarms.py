"""Null simulations: how often each test of heads rejects when no head has an effect, and whether it finds a planted effect.

Each simulated data set goes through the function that the tables call. Heads share the answers of the unchanged model, so that
their tests are as dependent as in the tables. An exchange test has its level with any number of draws: few are enough here.
"""

from collections import defaultdict
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from attention_atlas.methods.head_measures import KEYS
from attention_atlas.methods.head_measures import ONE as MASKED_ALONE
from attention_atlas.stats.significance import mean_interval
from attention_atlas.stats.simultaneous import simultaneous_interval
from attention_atlas.studies.kovaleva2019 import scores as disabling_tables
from attention_atlas.studies.michel2019 import effects
from attention_atlas.studies.michel2019.effects import sentence_counts
from attention_atlas.studies.stefanik2021.detection import mean_rows_of_heads
from attention_atlas.studies.stefanik2021.head_measures import METRICS
from attention_atlas.studies.stefanik2021.removal import REMOVED, Removals, ablation_rows, exchanged_percent, percent

HEADS, EXAMPLES, DRAWS = 6, 40, 200
PLANTED = 2
"""The head with an effect."""
WORDS = "a cat sees the old red house near two dogs today".split()
LEVELS = (0.01, 0.05)
REPETITIONS = pytest.mark.parametrize("data_sets", [100, pytest.param(2000, marks=pytest.mark.long)])


def disabled_effects(metric, seed, lost=0.0, gained=0.0, scale=1.0):
    """Every model errs at random; the planted head errs `lost` more often, or `gained` less.

    Predictions under all heads are scaled and shifted (correlation only).
    """
    generator = np.random.default_rng(seed)
    if metric == "correlation":
        truth = generator.normal(size=EXAMPLES)
        answers = truth + 0.5 * (generator.normal(size=EXAMPLES) + generator.normal(size=(HEADS + 1, EXAMPLES)))
        # Shuffled answers have the same values and no correlation.
        wrong = generator.random(EXAMPLES) < lost
        answers[1 + PLANTED, wrong] = generator.permutation(answers[1 + PLANTED, wrong])
    else:
        truth = generator.integers(0, 2, EXAMPLES).astype(float)
        usual = np.where(generator.random(EXAMPLES) < 0.8, truth, 1 - truth)
        answers = np.where(generator.random((HEADS + 1, EXAMPLES)) < 0.2, 1 - usual, usual)
        wrong = generator.random(EXAMPLES) < lost
        answers[1 + PLANTED, wrong] = 1 - truth[wrong]
    right = generator.random(EXAMPLES) < gained
    answers[1 + PLANTED, right] = truth[right]
    if metric == "correlation":
        answers[1:] = scale * answers[1:] + (scale - 1)
    return disabling_tables.Effects(answers[None, 1:], answers[None, 0], truth, metric)


@cache
def disabled_heads(metric, seed, lost=0.0, gained=0.0, scale=1.0):
    """`disabling_tables.effect_rows` of `disabled_effects`."""
    return disabling_tables.effect_rows(disabled_effects(metric, seed, lost, gained, scale), DRAWS, seed)


@pytest.fixture(scope="module")
def translations():
    """N-gram counts of good translations of each sentence, [sentence, variant, part], and of a bad one, [sentence, part]."""
    generator = np.random.default_rng(0)
    good, bad = [], []
    for _ in range(EXAMPLES):
        reference = [str(word) for word in generator.choice(WORDS, generator.integers(6, 12))]
        variants = [
            " ".join(word if generator.random() > share else str(generator.choice(WORDS)) for word in reference)
            for share in [0.25] * 10 + [0.6]
        ]
        counts = sentence_counts(variants, [" ".join(reference)] * len(variants))
        good.append(counts[:-1])
        bad.append(counts[-1])
    return np.stack(good), np.stack(bad)


def masked_heads(metric, seed, lost=0.0, translations=None):
    """One row per head of `effects.effect_rows`: half of the answers vary by chance; the planted head spoils a share `lost`."""
    generator = np.random.default_rng(seed)
    examples = np.arange(EXAMPLES)
    if metric == effects.BLEU:
        good, bad = translations
        usual = generator.integers(good.shape[1], size=EXAMPLES)
        drawn = generator.integers(good.shape[1], size=(HEADS + 1, EXAMPLES))
        parts = good[examples, np.where(generator.random((HEADS + 1, EXAMPLES)) < 0.5, drawn, usual)]
    else:
        usual = generator.random(EXAMPLES) < 0.8
        right = np.where(generator.random((HEADS + 1, EXAMPLES)) < 0.2, ~usual, usual)
        parts, bad = np.stack([right, np.ones_like(right)], axis=-1).astype(float), np.array([[0.0, 1.0]] * EXAMPLES)
    spoiled = generator.random(EXAMPLES) < lost
    parts[1 + PLANTED, spoiled] = bad[spoiled]
    keys = pd.DataFrame([(MASKED_ALONE, "enc_enc", 1, head + 1) for head in range(HEADS)], columns=KEYS)
    return effects.effect_rows(effects.MaskedScores(metric, keys, parts[0], parts[1:]), DRAWS, seed)


@cache
def removed_heads(seed, lost=0.0, documents=16):
    """Families of rows of `ablation_rows`, by metric; the planted head loses a share of the right words."""
    generator = np.random.default_rng(seed)
    sets = [("one", "test", 0, 0, int(head > 0), min(head, 1), head) for head in range(HEADS + 1)]
    counts = {}
    for metric in METRICS:
        expected = generator.integers(3, 15, documents)
        answered = generator.binomial(expected, 0.9, (HEADS + 1, documents))
        right = generator.binomial(answered, generator.uniform(0.4, 0.9, documents))
        right[1 + PLANTED] = generator.binomial(right[1 + PLANTED], 1 - lost)
        counts[metric] = np.stack(np.broadcast_arrays(right, answered, expected), axis=-1).astype(float)
    columns = ["order", "split", "draw", "percent", "count", "layer", "head"]
    assert set(columns) == {*REMOVED, "layer", "head"}
    table = ablation_rows({"1": Removals(pd.DataFrame(sets, columns=columns), counts)}, DRAWS, seed)
    return [rows for _, rows in table[table["seed"] == "1"].groupby("metric")]


def p_by_test(families, planted=False):
    """[data set] p of each test: of one head, the smallest adjusted one of the heads without an effect, and of their number."""
    values = defaultdict(list)
    for rows in families:
        null_heads = rows[(np.arange(len(rows)) != PLANTED) | (not planted)]
        for name in ("p", "p_mcnemar"):
            if name in rows and rows[name].notna().all():
                values[name].append(null_heads[name].iloc[0])
        values["p_adjusted"].append(null_heads["p_adjusted"].min())
        values["detected"].append(rows["p_adjusted"].iloc[PLANTED] < 0.05)
        if "p_count" in rows:
            values["p_count"].append(rows["p_count"].iloc[0])
    return {name: np.array(list_of_p) for name, list_of_p in values.items()}


def assert_level(p, name, discrete=False):
    """Numbers of p below each level are in the central 99.9 % of a binomial distribution, or below it if p is discrete."""
    for level in LEVELS:
        low, high = binom.interval(0.999, len(p), level)
        alarms = int((p < level).sum())
        print(f"{name}: P(p < {level}) = {alarms / len(p):.4f} in {len(p)} data sets")
        assert alarms <= high, f"{name} rejects {alarms} of {len(p)} true null hypotheses at {level}"
        assert discrete or alarms >= low, f"{name} rejects only {alarms} of {len(p)} true null hypotheses at {level}"


@REPETITIONS
@pytest.mark.parametrize("metric", ["accuracy", "f1", "correlation"])
def test_disabled_heads(metric, data_sets):
    p = p_by_test(disabled_heads(metric, seed)[0] for seed in range(data_sets))
    for name in set(p) - {"detected"}:
        assert_level(p[name], f"kovaleva2019 {metric} {name}", discrete=metric != "correlation")
    facts = [disabled_heads(metric, seed)[1] for seed in range(data_sets)]
    above = sum(row["best_ci_low"] > 0 for row in facts)
    outside = sum(row["heldout_ci_low"] > 0 or row["heldout_ci_high"] < 0 for row in facts)
    print(f"kovaleva2019 {metric}: largest gain above 0 in {above}, held-out gain not 0 in {outside} of {data_sets}")
    assert max(above, outside) <= binom.ppf(0.9995, data_sets, 0.05)
    planted = [disabled_heads(metric, seed, gained=0.95)[1] for seed in range(20)]
    for name in ("best", "heldout"):
        assert np.mean([row[f"{name}_ci_low"] > 0 for row in planted]) > 0.5, name


def test_disabled_heads_that_scale_predictions_have_the_same_tests():
    """Heads that halve the predictions of a regression, and shift them."""
    for seed in range(20):
        scaled, unscaled = (disabled_heads("correlation", seed, 0.9, scale=scale)[0]["p_adjusted"] for scale in (0.5, 1.0))
        assert scaled.to_numpy() == pytest.approx(unscaled.to_numpy())


@pytest.mark.parametrize("metric", ["accuracy", "f1", "correlation"])
def test_a_head_that_destroys_the_score_does_not_widen_the_gain_of_another(metric):
    made = disabled_effects(metric, 0, gained=0.5)
    wrong = made.truth.max() + made.truth.min() - made.truth
    beside = disabling_tables.Effects(np.concatenate([made.changed, wrong[None, None]], axis=1), made.base, made.truth, metric)
    without, with_destroyed = (disabling_tables.heldout_gain(effect, DRAWS, 0, 0.95) for effect in (made, beside))
    assert beside.deltas()[0, -1] < -0.5
    assert with_destroyed == without


def chosen_heads(generator, examples, heads, gains):
    """Heads that change a tenth of the predictions at random, and make wrong ones right to a true gain of accuracy (0 to 1)."""
    truth = np.ones(examples)
    difference = generator.random((heads, examples))
    base = (generator.random(examples) < 0.5).astype(float)
    changed = np.where(difference < 0.1, 1 - base, base)
    for head, gain in enumerate(gains):
        changed[head, generator.random(examples) < 2 * gain] = 1
    return disabling_tables.Effects(changed[None], base[None], truth, "accuracy")


@REPETITIONS
@pytest.mark.parametrize("heads", [2, 12])
@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_held_out_gains_are_covered(data_sets, heads, spread):
    """The interval covers the mean of the true gains of the two chosen heads, if heads are alike and if they are not."""
    gains = np.linspace(0, spread, heads)
    missed = 0
    for seed in range(data_sets):
        made = chosen_heads(np.random.default_rng(seed), 200, heads, gains)
        halves = [disabling_tables.Effects(made[0][:, :, h::2], made[1][:, h::2], made[2][h::2], "accuracy") for h in (0, 1)]
        best = [int(half.deltas()[0].argmax()) for half in halves]
        low, high = disabling_tables.heldout_gain(made, DRAWS, seed, 0.95)[1:]
        missed += not low <= gains[best].mean() <= high
    print(f"{heads} heads, gains to {spread}: misses {missed / data_sets:.4f}")
    assert missed <= binom.ppf(0.9995, data_sets, 0.05)


@REPETITIONS
@pytest.mark.parametrize("metric", [effects.BLEU, effects.ACCURACY])
def test_masked_heads(metric, data_sets, translations):
    p = p_by_test(masked_heads(metric, seed, translations=translations) for seed in range(data_sets))
    for name in set(p) - {"detected"}:
        discrete = metric == effects.ACCURACY or name == "p_count"
        assert_level(p[name], f"michel2019 {metric} {name}", discrete)


@REPETITIONS
def test_removed_heads(data_sets):
    p = p_by_test(rows for seed in range(data_sets // 2) for rows in removed_heads(seed))
    for name in set(p) - {"detected"}:
        assert_level(p[name], f"stefanik2021 {name}")


@REPETITIONS
def test_intervals_of_removed_heads(data_sets):
    """Claims rest on intervals of all heads at once, and of the one difference between full and pruned taggers."""
    families = [rows for seed in range(data_sets // 2) for rows in removed_heads(seed)]
    alarms = sum(((rows["adjusted_low"] > 0) | (rows["adjusted_high"] < 0)).any() for rows in families)
    single = 0
    for seed in range(data_sets):
        generator = np.random.default_rng(seed)
        expected = generator.integers(1, 8, 14)
        answered = generator.binomial(expected + 2, 0.6, (2, 14))
        right = generator.binomial(np.minimum(answered, expected), 0.5)
        parts = np.stack([right, answered, [expected] * 2], axis=-1).astype(float)
        (low,), (high,) = simultaneous_interval(np.diff(percent(parts)), exchanged_percent(parts, DRAWS, seed))
        single += int(not low <= 0 <= high)
    for name, count, size in (("all heads", alarms, len(families)), ("one difference", single, data_sets)):
        print(f"stefanik2021, {name}: {count / size:.4f} of {size} intervals exclude 0")
        assert count <= binom.ppf(0.9995, size, 0.05), name


@REPETITIONS
def test_differences_between_methods_by_document(data_sets):
    """F1 of a document is often 0, and few documents are tested: Student's interval keeps its level."""
    alarms = 0
    for seed in range(data_sets):
        generator = np.random.default_rng(seed)
        f1 = np.where(generator.random((2, 14)) < 0.3, 0, 100 * generator.beta(2, 4, (2, 14)))
        low, high = mean_interval(f1[0] - f1[1])
        alarms += int(not low <= 0 <= high)
    print(f"stefanik2021, differences by document: {alarms / data_sets:.4f}")
    assert alarms <= binom.ppf(0.9995, data_sets, 0.05)


@REPETITIONS
def test_the_head_with_the_largest_relative_attention(data_sets):
    """24 documents, 6 heads that share noise: the best of them is above 0 half of the time, its interval seldom."""
    alarms, detected = 0, 0
    for seed in range(data_sets):
        generator = np.random.default_rng(seed)
        by_document = generator.normal(size=(24, 1, HEADS)) + generator.normal(size=(24, 1, 1))
        rows = mean_rows_of_heads(by_document, DRAWS, seed)
        alarms += int((rows["adjusted_low"] > 0).any() or (rows["adjusted_high"] < 0).any())
        if seed < 50:
            planted = mean_rows_of_heads(by_document + 1.5 * (np.arange(HEADS) == PLANTED), DRAWS, seed)
            detected += int(planted["adjusted_low"].iloc[PLANTED] > 0)
    print(f"stefanik2021, relative attention: {alarms / data_sets:.4f}, power {detected / 50:.2f}")
    assert alarms <= binom.ppf(0.9995, data_sets, 0.05)
    assert detected / 50 > 0.8


@pytest.mark.parametrize("data_sets", [40, pytest.param(200, marks=pytest.mark.long)])
def test_a_planted_effect_is_found_and_the_other_heads_keep_their_level(data_sets, translations):
    seeds = range(data_sets)
    metrics = ("accuracy", "f1", "correlation")
    families = {f"kovaleva2019 {name}": (disabled_heads(name, seed, 0.9)[0] for seed in seeds) for name in metrics}
    families |= {
        "michel2019 BLEU": (masked_heads(effects.BLEU, seed, 0.9, translations) for seed in seeds),
        "michel2019 accuracy": (masked_heads(effects.ACCURACY, seed, 0.9) for seed in seeds),
        "stefanik2021 F1": (rows for seed in range(data_sets // 2) for rows in removed_heads(seed, 0.5)),
    }
    for name, rows in families.items():
        p = p_by_test(rows, planted=True)
        print(f"{name}: power {p['detected'].mean():.3f}")
        assert p["detected"].mean() > 0.8, name
        assert_level(p["p_adjusted"], f"{name} p_adjusted beside an effect", discrete=True)
