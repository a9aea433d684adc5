"""Findings across papers: depth alone decides none, a planted association within layers does; against loops over all pairs."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, spearmanr

from attention_atlas.atlas.correlations import (
    Draws,
    shuffles_within,
    within_layers,
)
from attention_atlas.atlas.measures import MEASURES
from attention_atlas.atlas.tables import FINDINGS, QUESTIONS, finding_rows, findings, null_interval, within_verdict
from attention_atlas.published.compare import DOES_NOT_HOLD, HOLDS, UNDECIDED
from attention_atlas.stats.simultaneous import enough_draws

LAYERS, HEADS = 6, 12
LEVELS = (0.01, 0.05)
REPETITIONS = pytest.mark.parametrize("data_sets", [100, pytest.param(2000, marks=pytest.mark.long)])
CLAIMED = {
    "importance": -1,
    "to_sep": 1,
    "disabled": 1,
    "masked": 1,
    "relation_margin": 1,
    "unchanged": 1,
    "keyphrase_auc": 1,
    "tagger_without": -1,
}
"""Measure -> its direction if every finding holds, with more vertical heads in the same direction."""


SECOND = ("importance", "to_sep", "unchanged", "tagger_without")
"""One measure of each finding: with the opposite direction of these, every finding is false."""


def heads_table(seed, depth, within=0.0):
    """One row per head: every measure is the layer, a value that all measures of a head share, and independent noise.

    Args:
        seed: of the noise.
        depth: how much measures change with the layer, in standard deviations of the noise; below 0 against all findings.
        within: how much they change with the value that measures of a head share; below 0 against all findings.
    """
    generator = np.random.default_rng(seed)
    layer, head = np.indices((LAYERS, HEADS)).reshape(2, -1) + 1
    shared = generator.normal(size=len(layer))
    columns = {}
    for name, sign in CLAIMED.items():
        of_layer, of_head = ((abs(size) if name in SECOND else size) for size in (depth, within))
        columns[name] = sign * (of_layer * layer + of_head * shared) + generator.normal(size=len(layer))
    # Half of the heads are vertical: with depth, hardly one of the first layers and nearly all of the last ones.
    score = depth / 3 * (layer - layer.mean()) + within * shared + generator.normal(size=len(layer))
    columns["distance_type"] = np.where(score > 0, "vertical", "dense")
    return pd.DataFrame({"layer": layer, "head": head} | columns)


def draws_of(seed, level=0.05):
    # As many shuffles as Holm needs: p < level / 6 has almost this probability. Verdicts need no bootstrap.
    return Draws(resamples=2, shuffles=enough_draws(len(QUESTIONS), level), seed=seed)


def tables_of(data_sets, level=0.05, **made):
    """`finding_rows` of each data set."""
    return [finding_rows(heads_table(seed, **made), draws_of(seed, level), level) for seed in range(data_sets)]


def verdicts(data_sets, level=0.05, **made):
    """Question -> how often each verdict is given."""
    given = np.array([table["verdict"] for table in tables_of(data_sets, level, **made)])
    return {question.statement: Counter(column) for question, column in zip(QUESTIONS, given.T, strict=True)}


@REPETITIONS
def test_depth_alone_decides_no_finding_more_often_than_the_level(data_sets):
    table = finding_rows(heads_table(0, depth=3.0), Draws(resamples=200, shuffles=200, seed=0))
    sides = [question.sign for question in QUESTIONS]
    assert (np.sign(table["ci_low"]) == sides).all(), "depth makes all values large: intervals over all heads exclude 0"
    assert (np.sign(table["ci_high"]) == sides).all()
    strictest = min(LEVELS)
    tables = tables_of(data_sets, strictest, depth=3.0)
    for level in LEVELS:
        below = np.array([table["p"] < level for table in tables])
        for statement, count in zip(table["finding"], below.sum(axis=0), strict=True):
            print(f"P(p < {level}) = {count / data_sets:.4f}: {statement}")
            assert count <= binom.ppf(0.9999, data_sets, level), statement
        # Findings share measures, so that not all are independent: half of them are taken to be.
        share = below.mean()
        assert share >= binom.ppf(0.0001, below.size // 2, level) / (below.size // 2), "the test is not conservative either"
        given = [verdicts_at(table, level) for table in tables]
        decided = sum(bool({HOLDS, DOES_NOT_HOLD}.intersection(of_table)) for of_table in given)
        print(f"{level}: some finding is decided in {decided / data_sets:.4f} of data sets")
        assert decided <= binom.ppf(0.9999, data_sets, level), "a verdict on any finding"
        if level == strictest:
            assert given == [table["verdict"].tolist() for table in tables]


def verdicts_at(table, level):
    """Verdicts of a table of `finding_rows` at another level than it was made for: the shuffles are the same."""
    rows = zip(table["within_layers"], table["p_holm"], QUESTIONS, strict=True)
    return [within_verdict(within, p, question.sign, level) for within, p, question in rows]


@pytest.mark.parametrize("data_sets", [30, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("depth", [-3.0, 0.0, 3.0])
@pytest.mark.parametrize(("within", "verdict", "opposite"), [(1.2, HOLDS, DOES_NOT_HOLD), (-1.2, DOES_NOT_HOLD, HOLDS)])
def test_an_association_within_layers_is_found_whatever_depth_says(data_sets, depth, within, verdict, opposite):
    for statement, counts in verdicts(data_sets, depth=depth, within=within).items():
        print(f"depth {depth}, within {within}: {counts[verdict] / data_sets:.3f} {verdict}: {statement}")
        assert counts[verdict] > 0.8 * data_sets, statement
        assert counts[opposite] == 0, statement


def test_a_page_says_how_verdicts_are_given():
    heads, draws = heads_table(0, depth=3.0, within=2.0), vars(draws_of(0))
    facts = [{"measure": "entropy", "warning": "it says nothing"}, {"measure": "to_sep", "model": "tiny"}]
    facts += [{"measure": "masked", "model": "tiny-qnli"}]
    measures = pd.DataFrame(facts).reindex(columns=MEASURES)
    page = findings(heads, measures, **draws)
    table, notes = page.frame, " ".join(page.notes)
    assert list(table.columns) == FINDINGS
    assert (table["verdict"] == HOLDS).all()
    assert "within_low to within_high: its 95 % interval" in notes
    assert "undecided unless p_holm" in notes
    assert "it says nothing" not in notes, "no finding needs the entropy"
    linked = table.set_index(["measure_a", "measure_b"]).loc[("to_sep", "masked")]
    assert linked[["model_a", "model_b"]].tolist() == ["tiny", "tiny-qnli"]
    assert "different models" in notes
    measures.loc[measures["measure"] == "masked", "warning"] = "it says nothing"
    assert findings(heads, measures, **draws).notes[-1] == "masked: it says nothing"


def test_a_finding_on_noise_is_not_tested():
    """A measure of which at least 90 % of heads are like heads without the effect has an order, but it is that of noise."""
    table = heads_table(0, depth=0.0, within=2.0)
    table["disabled_low"], table["disabled_high"] = table["disabled"] - 0.1, table["disabled"] + 0.1
    reach = table["disabled"].abs().sort_values().iloc[:66].max() + 0.1
    noisy = table.assign(disabled_low=table["disabled"] - reach, disabled_high=table["disabled"] + reach)
    statement = "The more a head attends to [SEP] (Clark et al.), the less disabling it costs (Kovaleva et al.)"
    clear, noise = (
        finding_rows(heads, draws_of(0), chances={"disabled": 0.0}).set_index("finding")["verdict"] for heads in (table, noisy)
    )
    assert clear[statement] == HOLDS
    assert (noisy["disabled"].abs() <= reach).sum() >= 66
    assert noise.index.tolist() == [finding for finding in clear.index if finding != statement]
    # Without a chance value nothing is known about the heads.
    unknown = finding_rows(noisy, draws_of(0)).set_index("finding").loc[statement]
    assert unknown["verdict"] == HOLDS


def slow_pairs(inside, values, layer):
    """How much more often than not a value inside is below one outside, over all pairs of heads of one layer."""
    pairs = [
        float(values[first] < values[second]) + 0.5 * float(values[first] == values[second])
        for first in np.flatnonzero(inside)
        for second in np.flatnonzero(~inside)
        if layer[first] == layer[second]
    ]
    return np.mean(pairs) - 0.5 if pairs else np.nan


def test_groups_are_compared_within_layers_pair_by_pair():
    table = heads_table(1, depth=1.0, within=0.5).sample(frac=0.7, random_state=0)
    values = table["importance"].to_numpy().copy()
    values[1:16:2] = values[:16:2]  # ties, but not of most heads
    table["importance"] = values
    draws = Draws(resamples=2, shuffles=60, seed=3)
    row = finding_rows(table, draws).iloc[0]
    inside, values, layer = (table["distance_type"] == "vertical").to_numpy(), table["importance"].to_numpy(), table["layer"]
    layer = layer.to_numpy()
    assert row["within_layers"] == pytest.approx(slow_pairs(inside, values, layer))
    shuffled = [slow_pairs(inside, values[places], layer) for places in shuffles_within(layer, 60, 3)]
    beyond = np.sum(np.abs(shuffled) >= abs(row["within_layers"]) - 1e-12)
    assert row["p"] == pytest.approx((beyond + 1) / 61)
    only_by_layer = table.assign(distance_type=np.where(table["layer"] > 3, "vertical", "dense"))
    assert QUESTIONS[0].statement not in finding_rows(only_by_layer, draws)["finding"].tolist(), "no layer has both kinds"


def test_one_layer_alone_has_the_usual_rank_correlation():
    generator = np.random.default_rng(5)
    first, second = generator.random((2, 15)).round(1)
    within, shuffled = within_layers(first, second, np.full(15, 3), draws_of(0))
    assert within == pytest.approx(spearmanr(first, second).statistic)
    places = shuffles_within(np.full(15, 3), draws_of(0).shuffles, 0)
    assert shuffled == pytest.approx([spearmanr(first[order], second).statistic for order in places])


def test_the_verdict_is_the_side_of_the_interval():
    generator = np.random.default_rng(7)
    seen = Counter()
    for _ in range(300):
        shuffled = generator.choice([0.1, 0.2, 0.3], 100) * generator.choice([-1, 1], 100)
        observed = generator.choice([-0.5, -0.3, -0.2, 0.0, 0.2, 0.3, 0.4])
        p = (1 + sum(abs(value) >= abs(observed) for value in shuffled)) / 101
        low, high = null_interval(observed, shuffled, 0.05)
        assert low < observed < high
        expected = HOLDS if low > 0 else DOES_NOT_HOLD if high < 0 else UNDECIDED
        assert within_verdict(observed, p, 1, 0.05) == expected
        opposite = {HOLDS: DOES_NOT_HOLD, DOES_NOT_HOLD: HOLDS, UNDECIDED: UNDECIDED}
        assert within_verdict(observed, p, -1, 0.05) == opposite[expected]
        seen[expected] += 1
    assert len(seen) == 3
    few = np.full(18, 0.01)
    assert null_interval(0.9, few, 0.05) == (-1, 1), "p is never below 1 / 19"
    assert null_interval(1.0, np.full(100, 0.5), 0.05)[0] > 0.99
    low, high = null_interval(1.0, np.ones(100), 0.05)
    assert low <= 0 < high, "shuffles reach the largest value as well"


@pytest.mark.parametrize("data_sets", [100, pytest.param(2000, marks=pytest.mark.long)])
def test_intervals_within_layers_cover_the_value_of_many_heads(data_sets):
    slope, layer = 0.7, np.repeat(np.arange(LAYERS), HEADS)

    def measured(seed, layer):
        generator = np.random.default_rng(seed)
        first = generator.normal(size=len(layer))
        return layer + first, layer + slope * first + generator.normal(size=len(layer))

    draws = Draws(resamples=2, shuffles=200, seed=0)
    many = np.repeat(np.arange(LAYERS), 4000)
    value, _ = within_layers(*measured(0, many), many, Draws(resamples=2, shuffles=1, seed=0))
    intervals = [null_interval(*within_layers(*measured(1 + seed, layer), layer, draws), 0.05) for seed in range(data_sets)]
    covered = sum(low <= value <= high for low, high in intervals)
    print(f"value {value:.3f}: {covered / data_sets:.4f} of {data_sets} intervals of level 0.95 contain it")
    assert covered >= binom.ppf(0.001, data_sets, 0.93)
