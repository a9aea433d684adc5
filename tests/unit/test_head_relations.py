"""The relations of each head: against a slow loop, on random picks, and with a planted head."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from clark_inputs import make_gold
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from attention_atlas.methods.dependency_scoring import DIRECTIONS, Scores, score
from attention_atlas.methods.head_relations import NONE, above_baseline, head_relations
from attention_atlas.methods.options import AS_PUBLISHED
from attention_atlas.stats.held_out import Resampling, folds_of
from attention_atlas.stats.intervals import bootstrap_ratio
from attention_atlas.stats.simultaneous import random_exchanges, two_sided_p

SHAPE = (2, 3)  # layers, heads
LABELS = [f"r{k}" for k in range(8)]
RESAMPLING = Resampling(folds=5, resamples=200, seed=3)
PLANTED = (1, 2)


def in_documents(gold, unit):
    """The trees with a document for each token's unit."""
    first = np.searchsorted(gold.sentence, np.arange(len(gold.ids)))
    return replace(gold, documents=tuple(f"document {unit[token]}" for token in first))


def scores_of(gold, seed, planted=0.0, relation="r2"):
    """Heads that pick words at random; the planted head picks the gold head for a share of the words of a relation."""
    generator = np.random.default_rng(seed)
    picked = generator.integers(1, gold.length[:, None, None, None] + 1, (len(gold), len(DIRECTIONS), *SHAPE)).astype(np.int16)
    moved = np.flatnonzero((gold.relation == relation) & (generator.random(len(gold)) < planted))
    picked[moved, 0, PLANTED[0] - 1, PLANTED[1] - 1] = gold.head[moved]
    return score(picked, gold, AS_PUBLISHED)


def slow_relations(scores, gold, unit, layer, head):
    """Relations of one head by a loop over words: (relation, direction, offset, differences and words by unit of the test).

    Relations of which it is the best head come first, if the lower end of the words gained is above 0.
    """
    second = folds_of(max(unit) + 1, 2, RESAMPLING.seed)
    candidates = []
    for relation in sorted(set(gold.relation) - {"root"}, key=lambda name: -(gold.relation == name).sum()):
        words = [i for i in range(len(gold)) if gold.relation[i] == relation]
        first_words = [i for i in words if second[unit[i]] == 0]
        if len(words) < 20:
            continue
        hits = [sum(scores.offsets[i, k] for i in first_words) for k in range(len(AS_PUBLISHED.offsets))]
        offset = hits.index(max(hits))
        lows = []
        for direction in range(2):
            by_unit = defaultdict(lambda: [0, 0])
            for i in first_words:
                by_unit[unit[i]][0] += int(scores.heads[i, direction, layer, head]) - int(scores.offsets[i, offset])
                by_unit[unit[i]][1] += 1
            n = len(first_words)
            margin = sum(d for d, _ in by_unit.values()) / n
            spread = sum((d - margin * size) ** 2 for d, size in by_unit.values()) * len(by_unit) / (len(by_unit) - 1)
            lows.append(n * margin - 1.96 * spread**0.5 if margin > 0 else -np.inf)
        direction = lows.index(max(lows))
        tested = defaultdict(lambda: [0, 0, 0])
        for i in words:
            if second[unit[i]] == 1:
                tested[unit[i]][0] += int(scores.heads[i, direction, layer, head])
                tested[unit[i]][1] += int(scores.offsets[i, offset])
                tested[unit[i]][2] += 1
        if max(lows) > -np.inf:
            every_unit = [tested[k] for k in range(max(unit) + 1) if second[k] == 1]
            _, *best = max((scores.heads[first_words, d, a, b].sum(), a, b) for d, a, b in np.ndindex(2, *SHAPE))
            is_first = best == [layer, head] and max(lows) > 0
            candidates.append(((not is_first, -max(lows)), relation, direction, offset, np.array(every_unit, dtype=float)))
    return [(*entry[1:], -entry[0][1]) for entry in sorted(candidates, key=lambda entry: entry[0])[:5]]


def test_a_slow_loop_chooses_and_reports_the_same():
    gold = make_gold(90, 7, [*LABELS, *LABELS[:2], "r0"])
    scores = scores_of(gold, 1, planted=0.7)
    unit = gold.sentence // 3
    corpus = in_documents(gold, unit)
    table = head_relations(scores, corpus, AS_PUBLISHED, RESAMPLING)
    assert len(table.groupby(["layer", "head"])) == 6
    for (layer, head), rows in table.groupby(["layer", "head"]):
        slow = slow_relations(scores, gold, unit, layer - 1, head - 1)
        assert rows["relation"].tolist() == ([entry[0] for entry in slow] or [NONE])
        assert rows["rank"].tolist() == list(range(1, max(len(slow), 1) + 1))
        for row, (_, direction, offset, sums, low_on_first) in zip(rows.itertuples(), slow, strict=False):
            right, offset_right, n = sums.sum(axis=0)
            assert (row.direction, row.baseline_offset) == (DIRECTIONS[direction], AS_PUBLISHED.offsets[offset])
            assert (row.n, row.accuracy, row.baseline_accuracy) == (n, right / n, offset_right / n)
            assert row.margin == pytest.approx((right - offset_right) / n)
            assert row.choice_low == pytest.approx(low_on_first)
            assert (row.unit, row.units) == (corpus.units.name, (sums[:, 2] > 0).sum())
            difference = sums[:, 0] - sums[:, 1]
            low, high = bootstrap_ratio(difference, sums[:, 2], 200, RESAMPLING.seed)
            assert (row.ci_low, row.ci_high) == (pytest.approx(low), pytest.approx(high))
            # As many draws as the correction over the heads of the rank needs.
            same_rank = table[(table["rank"] == row.rank) & (table["relation"] != NONE)]
            draws = max(RESAMPLING.resamples, 100 * len(same_rank))
            null = [difference.sum() - 2 * (e @ difference) for e in random_exchanges(len(sums), draws, RESAMPLING.seed)]
            p = two_sided_p(np.array([difference.sum()]), np.concatenate(null)[None])
            assert row.p == pytest.approx(p[0])
    for _, rows in table[table["relation"] != NONE].groupby("rank"):
        assert rows["q"].tolist() == pytest.approx(multipletests(rows["p"], method="fdr_bh")[1])


def test_choice_and_test_use_different_sentences():
    """A head that is right on the first half alone is chosen for its relation and not said to find it."""
    gold = make_gold(80, 7, LABELS[:3])
    second = folds_of(80, 2, RESAMPLING.seed).astype(bool)[gold.sentence]
    scores = scores_of(gold, 0)
    heads = np.zeros_like(scores.heads)
    heads[~second & (gold.relation == "r1"), 0, 0, 0] = True
    table = head_relations(Scores(heads, scores.offsets, heads, scores.offsets), gold, AS_PUBLISHED, RESAMPLING)
    row = table.iloc[0]
    assert (row["relation"], row["rank"], row["accuracy"]) == ("r1", 1, 0)
    assert row["n"] == (second & (gold.relation == "r1")).sum()
    assert (table["relation"].iloc[1:] == NONE).all(), "no other head has a relation that could be chosen"
    assert not above_baseline(table).any()


def test_relations_of_few_words_or_one_unit_are_not_chosen():
    gold = make_gold(80, 7, LABELS[:2])
    rare = gold.relation.copy()
    rare[np.flatnonzero(gold.relation == "r0")[19:]] = "r1"  # r0 has 19 words left
    in_first = gold.sentence < 40
    of_halves = replace(gold, relation=np.where(in_first, "r0", "r1"))  # r0 is in one document
    for corpus in (replace(gold, relation=rare), in_documents(of_halves, np.where(in_first, 0, gold.sentence))):
        scores = scores_of(corpus, 0)
        right = np.ones_like(scores.heads)
        table = head_relations(Scores(right, scores.offsets, right, scores.offsets), corpus, AS_PUBLISHED, RESAMPLING)
        assert set(table["relation"]) == {"r1"}


@pytest.mark.parametrize("data_sets", [15, pytest.param(2000, marks=pytest.mark.long)])
def test_heads_at_random_have_no_relation_and_a_planted_head_has_its_own(data_sets):
    best_alarms = list_alarms = planted = 0
    for seed in range(data_sets):
        gold = make_gold(60, 7, LABELS[:5], seed)
        resampling = Resampling(folds=5, resamples=200, seed=seed)
        # Heads and offsets are right equally often.
        chance = np.random.default_rng(seed).random((len(gold), len(DIRECTIONS), *SHAPE)) < 0.3
        offsets = np.random.default_rng(seed + 10**6).random((len(gold), len(AS_PUBLISHED.offsets))) < 0.3
        null = head_relations(Scores(chance, offsets, chance, offsets), gold, AS_PUBLISHED, resampling)
        best_alarms += bool(above_baseline(null[null["rank"] == 1]).any())
        list_alarms += bool(above_baseline(null[null["rank"] == 2]).any())
        if seed < 15:
            table = head_relations(scores_of(gold, seed, planted=0.8), gold, AS_PUBLISHED, resampling)
            best = table[above_baseline(table) & (table["rank"] == 1)].set_index(["layer", "head"])["relation"]
            planted += best.get(PLANTED) == "r2"
    assert max(best_alarms, list_alarms) <= binom.ppf(0.9995, data_sets, 0.05)
    assert planted > 12
