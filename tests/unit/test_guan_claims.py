"""Claims of Guan et al.: each can come out three ways, intervals resample passages, and tests keep their level."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from attention_atlas.methods.head_types import DENSE, DENSE_VERTICAL, DIAGONAL, TITLES, TYPES, UNNAMED, VERTICAL, shares_by_half
from attention_atlas.published.compare import DOES_NOT_HOLD, HOLDS, NOT_TESTED, UNDECIDED
from attention_atlas.stats.intervals import LEVEL, expanded_level
from attention_atlas.studies.guan2020.ablations import COLUMNS
from attention_atlas.studies.guan2020.rows import BASELINE, PRUNED, ROWS, UNIFORMED, sentences_of
from attention_atlas.studies.guan2020.tables import drops_of, paired_parts, permuted_drops, types_matter
from attention_atlas.studies.guan2020.tables import tested_claims as claims_of

PASSAGES, QUESTIONS, RESAMPLES = 20, 40, 400
CHANGES = [(row.number, sentences) for row in ROWS for sentences in sentences_of(row, "stops")]
VERDICTS = pytest.mark.parametrize("verdict", [HOLDS, DOES_NOT_HOLD, UNDECIDED])
REPETITIONS = pytest.mark.parametrize("data_sets", [150, pytest.param(2000, marks=pytest.mark.long)])
TYPES_BY_LAYER = pd.DataFrame(
    [(layer, head, TYPES[(head + layer) % 4]) for layer in (1, 2, 3, 4) for head in range(1, 9)],
    columns=["layer", "head", "type"],
)
TYPES_BY_LAYER["cluster"] = TYPES_BY_LAYER["type"]
MATTERS = "The type matters, not the number and layers of its heads: pruning Dense heads"


def made_up(drop_of_row, passages=PASSAGES, noise=5.0, seed=0):
    """Drops of all rows: 10 points, or those of `drop_of_row`, with noise of the passage and the question."""
    generator = np.random.default_rng(seed)
    numbers = np.arange(QUESTIONS) * passages // QUESTIONS
    level = np.array([drop_of_row.get(number, 10.0) for number, _ in CHANGES])
    of_passage = generator.normal(0, noise, (passages, len(CHANGES)))[numbers]
    values = level + of_passage + generator.normal(0, noise, (QUESTIONS, len(CHANGES)))
    return pd.DataFrame(values, index=numbers, columns=pd.MultiIndex.from_tuples(CHANGES))


def claims(drops, types=TYPES_BY_LAYER, permuted=()):
    return list(claims_of(drops, np.tile(np.asarray(permuted, dtype=float), (len(TYPES), 1)), types, RESAMPLES, 0))


def verdict_of(text, drops, types=TYPES_BY_LAYER, permuted=()):
    return next(claim for claim in claims(drops, types, permuted) if claim.statement.startswith(text))


@VERDICTS
@pytest.mark.parametrize(
    ("statement", "row", "others", "sign"),
    [
        ("Pruning Diagonal heads costs the most", PRUNED[DIAGONAL], {}, 1),
        ("Pruning Vertical heads costs the least", PRUNED[VERTICAL], {}, -1),
        ("Substitution by 1/L costs more", UNIFORMED[DENSE], dict.fromkeys(UNIFORMED.values(), 50.0), 1),
        (f"{TITLES[DIAGONAL]} heads matter more", 12, {}, 1),
        (f"{TITLES[DENSE_VERTICAL]} heads matter more", 15, {}, 1),
    ],
)
def test_the_order_of_drops_gives_each_verdict(verdict, statement, row, others, sign):
    drops = made_up(others | {row: 10 + sign * {HOLDS: 40, DOES_NOT_HOLD: -40, UNDECIDED: 0}[verdict]})
    found = [claim for claim in claims(drops) if claim.statement.startswith(statement)]
    assert len(found) == (2 if row in (12, 15) else 1), "two ways to divide a passage into sentences"
    assert {(claim.verdict, claim.n, claim.unit) for claim in found} == {(verdict, PASSAGES, "passages")}


def types_of(by_layer, kind, heads=8):
    """One row per head; the first heads of each layer, as many as `by_layer` says, have the type, all others another one."""
    rows = [
        (layer, head, kind if head <= number else DIAGONAL)
        for layer, number in enumerate(by_layer, start=1)
        for head in range(1, heads + 1)
    ]
    types = pd.DataFrame(rows, columns=["layer", "head", "type"])
    return types.assign(cluster=types["type"])


@pytest.mark.parametrize(
    ("lower", "upper", "verdict"),
    [
        ([7, 6, 8, 5], [1, 0, 2, 1], HOLDS),
        ([1, 0, 2, 1], [7, 6, 8, 5], DOES_NOT_HOLD),
        ([4, 1, 6, 2], [3, 5, 0, 3], UNDECIDED),
        ([0] * 4, [0] * 4, NOT_TESTED),
    ],
)
@pytest.mark.parametrize(("kind", "half"), [(DENSE, "lower"), (VERTICAL, "upper")])
def test_types_stand_in_one_half_of_the_layers(lower, upper, verdict, kind, half):
    types = types_of(lower + upper if half == "lower" else upper + lower, kind)
    claim = verdict_of(f"{TITLES[kind]} heads are mainly", made_up({}), types)
    assert claim.verdict == verdict
    assert claim.value == pytest.approx((sum(lower) - sum(upper)) / len(types) * 2)
    assert (claim.n, claim.unit) == (len(lower + upper), "layers")


@REPETITIONS
def test_types_of_layers_that_differ_have_no_order(data_sets):
    """Twelve layers of twelve heads, each layer with its own share of the type; Newcombe's interval over heads is too short."""
    layer, outside = np.repeat(np.arange(1, 13), 12), 0
    for seed in range(data_sets):
        generator = np.random.default_rng(seed)
        of_kind = generator.random(144) < generator.beta(1, 2, 12)[layer - 1]
        *_, low, high = shares_by_half(layer, of_kind, RESAMPLES, seed, LEVEL)
        outside += int(low > 0 or high < 0)
    print(f"guan2020, halves of the layers: {outside / data_sets:.4f}")
    fewest, most = binom.interval(0.999, data_sets, 0.05)
    assert fewest <= outside <= most


@pytest.mark.parametrize(
    ("drop", "number", "verdict"),
    [(50.0, 19, HOLDS), (-50.0, 39, DOES_NOT_HOLD), (10.0, 39, UNDECIDED), (50.0, 18, NOT_TESTED), (50.0, 0, NOT_TESTED)],
)
def test_a_type_matters_beside_permuted_types(drop, number, verdict):
    drops = made_up({PRUNED[DENSE]: drop}, noise=0.0)
    claim = verdict_of(MATTERS, drops, permuted=np.linspace(5, 15, number))
    assert claim.verdict == verdict
    assert claim.n == number
    assert np.isnan(claim.value) if number == 0 else claim.value == pytest.approx(drop - 10)


def test_a_type_that_no_cluster_fits_is_not_tested():
    drops = made_up(dict.fromkeys(UNIFORMED.values(), 90.0) | {PRUNED[DIAGONAL]: 50.0, 15: 90.0})
    permuted = np.linspace(5, 6, 39)
    types = TYPES_BY_LAYER.assign(type=TYPES_BY_LAYER["type"].replace(DENSE_VERTICAL, UNNAMED))
    all_named = {claim.statement: claim for claim in claims(drops, permuted=permuted)}
    for claim in claims(drops, types, permuted):
        if any(words in claim.statement for words in ("four types", "every type", "Dense & vertical")):
            assert (all_named[claim.statement].verdict, claim.verdict) == (HOLDS, NOT_TESTED)
            assert "; no cluster of heads is Dense & vertical" in claim.ours
        elif "costs the least" not in claim.statement:
            assert claim == all_named[claim.statement]


def test_questions_on_one_passage_are_drawn_together():
    """The interval of a difference is that of a bootstrap that copies whole passages, and wider than one over questions."""
    generator = np.random.default_rng(3)
    passages = np.repeat(np.arange(15), 6)
    difference = generator.normal(3, 6, 15)[passages] + generator.normal(0, 1, 90)
    drops = pd.DataFrame({(12, "stops"): 10 + difference, (13, "stops"): 10.0}, index=passages)
    (part,) = paired_parts(drops, [("within - between", (12, "stops"), (13, "stops"))], 4000, 0)
    tails = 1 - expanded_level(0.95, 15)
    drawn = generator.choice(15, (4000, 15))
    means = difference.reshape(15, 6)[drawn].mean(axis=(1, 2))
    assert (part.ci_low, part.ci_high) == pytest.approx(tuple(np.quantile(means, [tails / 2, 1 - tails / 2])), abs=0.25)
    assert part.value == pytest.approx(difference.mean())


def test_drops_by_question_and_by_permutation():
    rows = []
    for number, sentences in CHANGES:
        rows += [(number, sentences, "type", 0, f"q{k}", k // 2, "x", 0.0, 80.0 - number - k) for k in (2, 0, 1)]
        rows += [(number, sentences, "others", 1, f"q{k}", k // 2, "x", 0.0, 1.0) for k in range(3)]
    rows += [(BASELINE, "", "type", 0, f"q{k}", k // 2, "x", 0.0, 80.0) for k in range(3)]
    for row in PRUNED.values():
        rows += [(row, "", "permuted", n, f"q{k}", 0, "x", 0.0, 66.0 + 2 * row + n) for n in (1, 2) for k in range(3)]
    answers = pd.DataFrame(rows, columns=COLUMNS)
    drops, permuted = drops_of(answers), permuted_drops(answers)
    assert permuted.tolist() == [[9, 8], [7, 6], [5, 4], [3, 2]], "in the order of the rows, of one permutation in a column"
    assert drops[12, "stops"].tolist() == [12, 13, 14]
    assert drops.index.tolist() == [0, 0, 1]
    assert drops[PRUNED[VERTICAL], ""].mean() == 6


def within_bounds(alarms, data_sets, level=0.05, discrete=False):
    low, high = binom.interval(0.999, data_sets, level)
    assert alarms <= high, f"{alarms} of {data_sets} decided though nothing differs"
    assert discrete or alarms >= low, f"only {alarms} of {data_sets} decided: the interval is too wide"


@REPETITIONS
@pytest.mark.parametrize(("planted", "effect"), [(None, 0.0), *product(range(len(PRUNED)), (3.0, -1.0))])
def test_types_that_say_nothing_of_heads_are_seldom_decided(data_sets, planted, effect):
    """Six layers of twelve heads, some with a large effect; pruned heads add up. The heads of one type cost more or less.

    The other types are decided in 5 % of data sets without such a type, and in at most 8 % beside a small effect.
    """
    false, detected, layers = 0, 0, np.repeat(np.arange(6), 12)
    for seed in range(data_sets):
        generator = np.random.default_rng(seed)
        types = generator.choice(4, 72, p=(0.4, 0.12, 0.25, 0.23))
        effects = generator.exponential(1.0, 72) * np.where(generator.random(72) < 0.08, 4, 1) + effect * (types == planted)
        permuted = [types[np.lexsort((generator.random(72), layers))] for _ in range(39)]
        drops = np.stack([np.bincount(order, effects, 4) for order in (types, *permuted)], axis=1)
        verdicts = [claim.holds for claim in types_matter(drops[:, 0], drops[:, 1:])]
        false += any(holds is not None for kind, holds in enumerate(verdicts) if kind != planted)
        detected += planted is not None and verdicts[planted] is (effect > 0)
    within_bounds(false, data_sets, 0.05 if planted is None else 0.08, discrete=True)
    assert detected > (0.7 * data_sets if planted is not None and effect > 0 else -1)


@REPETITIONS
def test_equal_drops_are_seldom_said_to_differ(data_sets):
    decided, detected = 0, 0
    for seed in range(data_sets):
        generator = np.random.default_rng(seed)
        numbers = np.repeat(np.arange(12), 3)
        noise = generator.normal(0, 5, (12, 2))[numbers] + generator.normal(0, 5, (36, 2))
        frame = pd.DataFrame(noise, index=numbers, columns=pd.MultiIndex.from_tuples([(12, "stops"), (13, "stops")]))
        pair = ("within - between", (12, "stops"), (13, "stops"))
        (part,) = paired_parts(frame, [pair], RESAMPLES, seed)
        decided += part.holds is not None
        (part,) = paired_parts(frame.add([10, 0]), [pair], RESAMPLES, seed)
        detected += part.verdict == HOLDS
    within_bounds(decided, data_sets)
    assert detected > 0.9 * data_sets
