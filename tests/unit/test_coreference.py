"""Table 2 and the coreference head of Figure 5 on hand-made windows, equal to loops; and GAP."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_shards import write_example_shards

from attention_atlas.attention.cache import StoredAttention, read_attention
from attention_atlas.corpora.examples import Example, all_examples, write_examples
from attention_atlas.corpora.layers import Mention
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_tables import Units
from attention_atlas.stats.held_out import Resampling, best_head, choosing_half
from attention_atlas.stats.intervals import bootstrap_ratio, expanded_level
from attention_atlas.studies.clark2019 import coreference as coref
from attention_atlas.studies.clark2019.coreference import BASELINES, DIRECTIONS, VALUES
from attention_atlas.studies.clark2019.tables import table2

#        0       1     2     3     4      5     6       7     8      9
WORDS = ("Mary", "met", "the", "dog", "of", "Tom", ".", "The", "dog", "liked", "her", "and", "Tom")
TAGS = ("NNP", "VBD", "DT", "NN", "IN", "NNP", ".", "DT", "NN", "VBD", "PRP", "CC", "NNP")
SPECIAL = np.arange(len(WORDS) + 2) % (len(WORDS) + 1) == 0
DEFAULT = {name: values[0] for name, values in VALUES.items()}


def mention(start, stop, cluster, head, first=False, singleton=False):
    return Mention(start, stop, cluster, first, singleton, {"last": stop - 1, "dependency": head})


MENTIONS = (
    *(mention(0, 1, "m", 0, first=True), mention(2, 6, "d", 3, first=True), mention(5, 6, "t", 5, first=True)),
    *(mention(7, 9, "d", 8), mention(10, 11, "m", 10), mention(12, 13, "t", 12)),
)
MARY, DOG, TOM, THE_DOG, HER, TOM_AGAIN = MENTIONS


def example(record=0, mentions=MENTIONS, words=WORDS):
    n = len(words)
    layers = {"xpos": TAGS, "sentence": (0,) * 7 + (1,) * 6}
    tokens, places, zeros = ("[CLS]", *words, "[SEP]"), (-1, *range(n), -1), (0,) * (n + 2)
    return Example(record, f"e{record}", tuple(range(n + 2)), zeros, tokens, places, words, layers, mentions)


def task(mentions=MENTIONS, rule="dependency", **changes):
    return coref.task_of(example(mentions=mentions), {**DEFAULT, **changes}, rule)


def members(rows):
    return [np.flatnonzero(row).tolist() for row in rows]


def test_a_task_by_hand():
    one = task()
    assert one.heads.tolist() == [8, 10, 12]
    assert one.types == ("nominal", "pronoun", "proper")
    assert members(one.candidates) == [[0, 3, 5], [0, 3, 5, 8], [0, 3, 5, 8, 10]]
    assert members(one.correct) == [[3], [0], [5]]
    assert one.chance.tolist() == pytest.approx([1 / 3, 1 / 4, 1 / 5])
    assert one.baselines["nearest"].tolist() == [5, 8, 10]
    assert one.baselines["head_match"].tolist() == [3, -1, 5]
    # her: no string or head like it; Tom is masculine, the dog of unknown gender agrees and is nearer than Mary.
    assert one.baselines["rule_based"].tolist() == [3, 8, 5]


@pytest.mark.parametrize(
    ("mentions", "picked"), [((MARY, DOG, HER), 3), ((MARY, replace(DOG, entity="GPE"), HER), 0), ((MARY, TOM, HER), 0)]
)
def test_the_third_sieve_goes_by_gender(mentions, picked):
    assert task(mentions).baselines["rule_based"].tolist() == [picked]


def test_options_change_candidates_and_scored_mentions():
    assert members(task(candidates="other_mentions").candidates)[0] == [0, 3, 5, 10, 12]
    any_word = task(candidates="words")
    assert members(any_word.candidates)[1] == [k for k in range(len(WORDS)) if k != 10]
    assert all((any_word.baselines[name] == task().baselines[name]).all() for name in BASELINES), "mentions, not any word"
    late = MENTIONS[1:]
    assert [task(late, scored=rule).heads.tolist() for rule in VALUES["scored"]] == [[8, 12], [8, 10, 12]]
    # The dog of Tom and Tom end in one word: it stands for both.
    shared = task(rule="last")
    assert (members(shared.correct), members(shared.candidates)[0]) == ([[5], [0], [5]], [0, 5])
    assert task(rule="last", shared_heads="drop").heads.tolist() == [10]
    with_singleton = (*MENTIONS, mention(9, 10, "s", 9, first=True, singleton=True))
    assert not task(with_singleton).candidates[:, 9].any()
    assert task(with_singleton, singletons=True).candidates[1, 9]


def test_head_rules():
    assert [coref.head_rule_for([example()], name) for name in ("auto", "last")] == ["dependency", "last"]
    with pytest.raises(AtlasError, match=r"head_rule: constituents needs .* it allows dependency, last"):
        coref.head_rule_for([example()], "constituents")


def slow_picks(maps, one):
    layers, heads = maps.shape[:2]
    picks = np.full((len(one.heads), 2, layers, heads), -1)
    for (k, mention_head), direction, layer, head in (
        (pair, *place) for pair in enumerate(one.heads) for place in np.ndindex(2, layers, heads)
    ):
        best = -1.0
        for word in np.flatnonzero(one.candidates[k]):
            place = (mention_head + 1, word + 1) if direction == 0 else (word + 1, mention_head + 1)
            if maps[layer, head][place] > best:
                best = maps[layer, head][place]
                picks[k, direction, layer, head] = word
    return picks


@pytest.mark.parametrize("candidates", VALUES["candidates"])
def test_picks_equal_a_loop(candidates):
    maps = np.random.default_rng(1).random((2, 3, 15, 15)).astype(np.float32)
    one = task(candidates=candidates)
    picked = coref.picked_words(maps, SPECIAL, one)
    assert (picked == slow_picks(maps, one)).all()


def cache_of(folder, examples):
    shards, maps = write_example_shards(folder, [len(WORDS) + 2] * len(examples), layers=2, heads=3)
    for path in (shard.with_suffix(".json") for shard in shards):
        facts = json.loads(path.read_text())
        for described in facts["examples"]:
            described["id"] = examples[described["record"]].id
        path.write_text(json.dumps(facts))
    return shards, [m.astype(np.float32) for m in maps]


def test_tables_from_the_cache(tmp_path):
    write_examples(tmp_path / "0.parquet", [example(k) for k in range(6)])
    examples = all_examples([tmp_path / "0.parquet"])
    shards, maps = cache_of(tmp_path, examples)
    tables = coref.coreference(StoredAttention(shards), examples, DEFAULT, "auto", True, 3, 100, 0)
    one = task()
    counts = sum(one.judge(slow_picks(m, one)).sum(axis=0) for m in maps)
    shown = tables["heads"].query("mention_type == 'all'").pivot(index=["direction", "layer"], columns="head", values="correct")
    for number, direction in enumerate(DIRECTIONS):
        assert (shown.loc[direction].to_numpy() == counts[number]).all()
    table = tables["table"].set_index(["system", "mention_type"])
    assert table.loc[("head_match", "all"), "accuracy"] == pytest.approx(2 / 3, abs=1e-5)
    assert table.loc[("rule_based", "nominal"), ["n", "accuracy"]].tolist() == [6, 1]
    assert table.loc[("chance", "all"), "accuracy"] == pytest.approx((1 / 3 + 1 / 4 + 1 / 5) / 3, abs=1e-5)
    assert table.loc[("best_head", "all"), "correct"] == counts.max()
    options = tables["options"].query("system == 'nearest'")
    assert set(options["option"]) == {"none", *VALUES}
    assert set(options.query("option == 'head_rule'")["setting"]) == {"last"}, "the rules that the corpus allows"
    # Published values stand beside all but the control.
    written = table2(tables["table"], tables["summary"], tables["table"]).frame.set_index(["system", "mention_type"])
    published = written["paper_accuracy"].unstack()[["all", "pronoun", "proper", "nominal"]]
    assert published.loc["best_head"].tolist() == [0.65, 0.64, 0.73, 0.58]
    assert published.loc[["chance", "random_best_head"]].isna().all(axis=None)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_figure_5_draws_the_sentences_in_which_the_head_is_right(tmp_path, direction):
    examples = [example(k) for k in range(2)]
    shards, maps = cache_of(tmp_path, examples)
    best = {"system": "best_head", "mention_type": "all", "layer": 2, "head": 1, "direction": direction, "accuracy": 0.75}
    table = coref.drawn_weights(examples, read_attention(shards), DEFAULT, "dependency", pd.DataFrame([best]), "auto")
    right = task().judge(np.stack([slow_picks(m, task())[:, DIRECTIONS.index(direction), 1, 0] for m in maps], axis=1))
    # Only both sentences together hold mentions and antecedents.
    order = [f"e{k}, words 1 to 13" for k in np.argsort(-right.sum(axis=0), kind="stable")]
    assert table.drop_duplicates("example")["sentence"].tolist() == order
    for name, panel in table.groupby("sentence"):
        whole = maps[int(name[1])][1, 0]
        assert panel["weight"].to_numpy() == pytest.approx((whole / whole.sum(axis=-1, keepdims=True)).ravel(), rel=1e-5)
        lines = panel["marked"].to_numpy().reshape(15, 15)
        lines = lines if direction == DIRECTIONS[0] else lines.T
        assert (np.flatnonzero(lines.all(axis=1)).tolist(), lines.sum()) == ([9, 11, 13], 3 * 15)


def outcome_of(right, documents, systems=None):
    """An outcome whose heads are right as planted, [mention, direction, layer, head], with chance 0.25."""
    systems = systems or {name: np.zeros(len(right)) for name in BASELINES}
    units = Units(np.asarray(documents), max(documents) + 1, "documents")
    return coref.Outcome(units, np.array(["pronoun"] * len(right)), right, systems | {"chance": np.full(len(right), 0.25)})


@pytest.mark.parametrize("data_sets", [20, pytest.param(150, marks=pytest.mark.long)])
def test_intervals_of_heads_hold_for_the_better_direction(data_sets):
    """Mentions of a document depend on each other; the interval of the better of two directions covers the truth."""
    generator = np.random.default_rng(0)
    documents = np.repeat(np.arange(25), 8)
    truth, covered = 0.4, []
    for _ in range(data_sets):
        level = np.clip(generator.normal(truth, 0.15, (25, 2, 1, 8)), 0, 1)[documents]
        table = coref.heads_frame(outcome_of(generator.random(level.shape) < level, documents), Resampling(2, 200, 0))
        better = table.query("mention_type == 'all'").sort_values("accuracy").groupby("head").tail(1)
        covered += ((better["ci_low"] <= truth) & (truth <= better["ci_high"])).tolist()
    assert np.mean(covered) > 0.93
    assert (table.query("mention_type == 'pronoun'")["chance"] == 0.25).all()


def test_the_best_head_is_compared_with_rules_on_the_other_half_of_the_documents():
    generator = np.random.default_rng(3)
    documents = np.repeat(np.arange(20), 5)
    by_name = {name: (generator.random(100) < 0.5).astype(float) for name in BASELINES}
    outcome = outcome_of(generator.random((100, 2, 2, 3)) < 0.4, documents, by_name)
    table = coref.claims_frame(outcome, Resampling(5, 300, 7)).set_index("baseline")
    choosing = choosing_half(20, 7)[documents]
    hits = outcome.heads[(~choosing, *best_head(outcome.heads[choosing].sum(axis=0)))].astype(float)
    for name, row in table.iterrows():
        right = by_name[name][~choosing]
        expected = [hits.mean(), right.mean(), hits.mean() - right.mean()]
        assert row[["head_accuracy", "baseline_accuracy", "value"]].tolist() == pytest.approx(expected)
        # Differences of the same mentions, over documents.
        sums = (hits - right).reshape(10, 5).sum(axis=1)
        low, high = bootstrap_ratio(sums[:, None], np.full((10, 1), 5.0), 300, 7, expanded_level(0.95, 10))
        assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([low[0], high[0]])
    # Two heads: one right on the first document only, one on the second only. In sample 50 %, held out nothing is right.
    heads = np.zeros((20, 2, 1, 2), dtype=bool)
    heads[:10, 0, 0, 0] = heads[10:, 0, 0, 1] = True
    table = outcome_of(heads, np.repeat([0, 1], 10)).rows(Resampling(2, 100, 0)).set_index(["system", "mention_type"])
    assert table.loc[("best_head", "all"), ["accuracy", "heldout_accuracy"]].tolist() == [0.5, 0]


def passage(a_right, b_right, record):
    roles = (("pronoun", 10, 11, True), ("A", 0, 1, a_right), ("B", 5, 6, b_right))
    mentions = tuple(Mention(s, e, "pronoun" if c else r, heads={"last": e - 1}, role=r) for r, s, e, c in roles)
    return example(record, mentions)


def test_gap_tables(tmp_path):
    examples = [passage(True, False, 0), passage(False, True, 1), passage(False, False, 2), passage(True, False, 3)]
    shards, maps = cache_of(tmp_path, examples)
    systems = coref.gap(read_attention(shards), examples, 2, 100, 0)
    table = systems.set_index(["system", "gender"])
    assert table.loc[("first_name", "all"), ["n", "accuracy"]].tolist() == pytest.approx([3, 2 / 3], abs=1e-5)
    assert table.loc[("nearest_name", "feminine"), "accuracy"] == pytest.approx(1 / 3, abs=1e-5)
    assert table.loc[("nearest_name", "masculine"), "n"] == 0
    assert table.loc[("chance", "all"), "accuracy"] == 0.5
    # The rows of the right and the wrong name; the pronoun is word 10.
    places = {0: (1, 6), 1: (6, 1), 3: (1, 6)}
    to_names = sum(maps[k][..., 11, good] > maps[k][..., 11, bad] for k, (good, bad) in places.items())
    from_names = sum(maps[k][..., good, 11] > maps[k][..., bad, 11] for k, (good, bad) in places.items())
    assert table.loc[("best_head", "all"), "correct"] == max(to_names.max(), from_names.max())
    # A tie is wrong.
    assert not coref.preferred(np.ones((1, 2, 15, 15)), SPECIAL, range(10, 11), [range(0, 1), range(5, 6)]).any()
