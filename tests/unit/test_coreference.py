"""Table 2: heads and baselines on hand-made windows, equal to loops; and GAP."""

import json
from dataclasses import replace

import numpy as np
import pytest
from small_shards import write_example_shards

from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.examples import Example, read_examples, write_examples
from attention_atlas.corpora.layers import Mention
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_tables import Units
from attention_atlas.stats.held_out import Resampling, best_head, choosing_half
from attention_atlas.stats.intervals import bootstrap_ratio, expanded_level
from attention_atlas.studies.clark2019.coreference import (
    BASELINES,
    DEFAULT,
    DIRECTIONS,
    CoreferenceOptions,
    Outcome,
    alternatives,
    claims_frame,
    head_rule_for,
    heads_frame,
    judge,
    outcomes,
    picked_words,
    preferred,
    table2_rows,
    task_of,
)
from attention_atlas.studies.clark2019.coreference import coreference as measured
from attention_atlas.studies.clark2019.coreference import gap as measured_gap
from attention_atlas.studies.clark2019.tables import gap, table2

#        0       1     2     3     4      5     6       7     8      9
WORDS = ("Mary", "met", "the", "dog", "of", "Tom", ".", "The", "dog", "liked", "her", "and", "Tom")
TAGS = ("NNP", "VBD", "DT", "NN", "IN", "NNP", ".", "DT", "NN", "VBD", "PRP", "CC", "NNP")


def mention(start, stop, cluster, head, first=False, singleton=False):
    return Mention(start, stop, cluster, first, singleton, {"last": stop - 1, "dependency": head})


MENTIONS = (
    mention(0, 1, "m", 0, first=True),
    mention(2, 6, "d", 3, first=True),
    mention(5, 6, "t", 5, first=True),
    mention(7, 9, "d", 8),
    mention(10, 11, "m", 10),
    mention(12, 13, "t", 12),
)


def example(record=0, mentions=MENTIONS, name=None):
    n = len(WORDS)
    return Example(
        record,
        name or f"e{record}",
        tuple(range(n + 2)),
        (0,) * (n + 2),
        ("[CLS]", *WORDS, "[SEP]"),
        (-1, *range(n), -1),
        WORDS,
        {"xpos": TAGS, "sentence": (0,) * 7 + (1,) * 6},
        mentions,
    )


def test_a_task_by_hand():
    task = task_of(example(), DEFAULT, "dependency")
    assert task.heads.tolist() == [8, 10, 12]
    assert task.types == ("nominal", "pronoun", "proper")
    allowed = [np.flatnonzero(row).tolist() for row in task.candidates]
    assert allowed == [[0, 3, 5], [0, 3, 5, 8], [0, 3, 5, 8, 10]]
    assert [np.flatnonzero(row).tolist() for row in task.correct] == [[3], [0], [5]]
    assert task.chance.tolist() == pytest.approx([1 / 3, 1 / 4, 1 / 5])
    assert task.baselines["nearest"].tolist() == [5, 8, 10]
    assert task.baselines["head_match"].tolist() == [3, -1, 5]
    # her: no string or head like it; Tom is masculine, the dog of unknown gender agrees and is nearer than Mary.
    assert task.baselines["rule_based"].tolist() == [3, 8, 5]


def test_the_third_sieve_goes_by_gender():
    singular = (*MENTIONS[:3], MENTIONS[4])
    assert task_of(example(mentions=singular), DEFAULT, "dependency").baselines["rule_based"].tolist() == [3]
    without_dog = (MENTIONS[0], MENTIONS[2], MENTIONS[4])
    assert task_of(example(mentions=without_dog), DEFAULT, "dependency").baselines["rule_based"].tolist() == [0]


def test_types_of_entities_and_names_of_the_census_count_for_the_third_sieve():
    """The nearest candidate of unknown gender agrees with her; a place or Hector is not she."""
    mentions = (MENTIONS[0], MENTIONS[1], MENTIONS[4])
    place = (MENTIONS[0], replace(MENTIONS[1], entity="GPE"), MENTIONS[4])
    named = replace(example(mentions=mentions), words=tuple("Hector" if word == "dog" else word for word in WORDS))
    for described, picked in ((example(mentions=mentions), 3), (example(mentions=place), 0), (named, 0)):
        assert task_of(described, DEFAULT, "dependency").baselines["rule_based"].tolist() == [picked]


def test_options_change_candidates_and_scored_mentions():
    def allowed(**changes):
        task = task_of(example(), CoreferenceOptions(**changes), "dependency")
        return {int(h): np.flatnonzero(row).tolist() for h, row in zip(task.heads, task.candidates, strict=True)}

    assert allowed(candidates="other_mentions")[8] == [0, 3, 5, 10, 12]
    assert allowed(candidates="words")[10] == [k for k in range(len(WORDS)) if k != 10]
    baselines = [
        task_of(example(), CoreferenceOptions(candidates=name), "dependency").baselines
        for name in ("words", "earlier_mentions")
    ]
    for name in BASELINES:
        assert baselines[0][name].tolist() == baselines[1][name].tolist(), "baselines select mentions, not any word"
    late = (*MENTIONS[1:4], MENTIONS[4], MENTIONS[5])
    assert task_of(example(mentions=late), DEFAULT, "dependency").heads.tolist() == [8, 12]
    task = task_of(example(mentions=late), CoreferenceOptions(scored="not_first"), "dependency")
    assert task.heads.tolist() == [8, 10, 12]
    assert not task.correct[1].any()


def test_mentions_by_last_word_share_heads():
    task = task_of(example(), DEFAULT, "last")
    # The dog of Tom and Tom end in one word: it stands for both.
    assert task.heads.tolist() == [8, 10, 12]
    assert [np.flatnonzero(row).tolist() for row in task.correct] == [[5], [0], [5]]
    assert np.flatnonzero(task.candidates[0]).tolist() == [0, 5]
    dropped = task_of(example(), CoreferenceOptions(shared_heads="drop"), "last")
    assert dropped.heads.tolist() == [10]


def test_singletons_are_candidates_only_where_asked_for():
    mentions = (*MENTIONS, mention(9, 10, "s", 9, first=True, singleton=True))
    assert not task_of(example(mentions=mentions), DEFAULT, "dependency").candidates[:, 9].any()
    assert task_of(example(mentions=mentions), CoreferenceOptions(singletons=True), "dependency").candidates[1, 9]


def test_head_rules():
    assert head_rule_for([example()], "auto") == "dependency"
    assert head_rule_for([example()], "last") == "last"
    with pytest.raises(
        AtlasError, match="head_rule: constituents needs what this corpus does not have; it allows dependency, last"
    ):
        head_rule_for([example()], "constituents")
    with pytest.raises(AtlasError, match="no mention in this corpus"):
        head_rule_for([example(mentions=())], "auto")
    with pytest.raises(AtlasError, match="needs a corpus of reader conll2012"):
        head_rule_for([example(mentions=None)], "auto")


def slow_picks(maps, task):
    layers, heads = maps.shape[:2]
    picks = np.full((len(task.heads), 2, layers, heads), -1)
    for k, mention_head in enumerate(task.heads):
        words = np.flatnonzero(task.candidates[k])
        for layer in range(layers):
            for head in range(heads):
                for direction in range(2):
                    best = -1.0
                    for word in words:
                        weight = (
                            maps[layer, head, mention_head + 1, word + 1]
                            if direction == 0
                            else maps[layer, head, word + 1, mention_head + 1]
                        )
                        if weight > best:
                            best = weight
                            picks[k, direction, layer, head] = word
    return picks


@pytest.mark.parametrize("candidates", ["earlier_mentions", "other_mentions", "words"])
def test_picks_equal_a_loop(candidates):
    n = len(WORDS) + 2
    maps = np.random.default_rng(1).random((2, 3, n, n)).astype(np.float32)
    special = np.arange(n) % (n - 1) == 0
    task = task_of(example(), CoreferenceOptions(candidates=candidates), "dependency")
    picked = picked_words(maps, special, task)
    assert (picked == slow_picks(maps, task)).all()
    right = judge(picked, task)
    for index in np.ndindex(picked.shape):
        assert right[index] == task.correct[index[0], picked[index]]


def test_a_mention_without_candidates_is_wrong():
    alone = (mention(8, 9, "d", 8), mention(10, 11, "m", 10))
    task = task_of(example(mentions=alone), CoreferenceOptions(scored="not_first"), "dependency")
    n = len(WORDS) + 2
    picked = picked_words(np.ones((1, 1, n, n)), np.arange(n) % (n - 1) == 0, task)
    assert picked.ravel().tolist() == [-1, -1, 8, 8]
    assert not judge(picked, task).any()
    assert not judge(task.baselines["nearest"], task).any()


def cache_of(tmp_path, examples):
    shards, maps = write_example_shards(tmp_path, [len(WORDS) + 2] * len(examples), layers=2, heads=3)
    for path in (shard.with_suffix(".json") for shard in shards):
        facts = json.loads(path.read_text())
        for described in facts["examples"]:
            described["id"] = examples[described["record"]].id
        path.write_text(json.dumps(facts))
    return shards, maps


def test_tables_from_the_cache(tmp_path):
    examples = [example(k) for k in range(6)]
    shards, maps = cache_of(tmp_path, examples)
    options_of_run = {"candidates": "earlier_mentions", "head_rule": "auto"}
    tables = measured(read_attention(shards), examples, options_of_run, True, 3, 100, 0)
    heads = tables["heads"]
    columns = ["mention_type", "layer", "head", "direction", "n", "correct", "accuracy", "ci_low", "ci_high", "chance"]
    assert heads.columns.tolist() == columns
    task = task_of(examples[0], DEFAULT, "dependency")
    counts = np.zeros((2, 2, 3))
    for m in maps:
        counts += judge(slow_picks(m.astype(np.float32), task), task).sum(axis=0)
    shown = heads.query("mention_type == 'all'").pivot(index=["direction", "layer"], columns="head", values="correct")
    for number, direction in enumerate(DIRECTIONS):
        assert (shown.loc[direction].to_numpy() == counts[number]).all()
    table = tables["table"].set_index(["system", "mention_type"])
    assert table.loc[("nearest", "all"), "accuracy"] == 0
    assert table.loc[("head_match", "all"), "accuracy"] == pytest.approx(2 / 3, abs=1e-5)
    assert table.loc[("rule_based", "nominal"), ["n", "accuracy"]].tolist() == [6, 1]
    assert table.loc[("chance", "all"), "accuracy"] == pytest.approx((1 / 3 + 1 / 4 + 1 / 5) / 3, abs=1e-5)
    best = table.loc[("best_head", "all")]
    assert best["correct"] == counts.max()
    options = tables["options"]
    assert {"none", "candidates", "word_mode", "head_rule"} <= set(options["option"])
    assert set(options.query("option == 'head_rule'")["setting"]) == {"last"}
    shown = table2(tables["table"], tables["summary"], tables["table"])
    systems = shown.page["system"].tolist()
    assert "Rule-based (four sieves)" in systems
    assert f"Random weights: best attention head {best['layer']}-{best['head']}" in systems
    written = shown.frame.set_index(["system", "mention_type"])
    assert written.loc["random_best_head", "heldout_accuracy"].tolist() == written.loc["best_head", "heldout_accuracy"].tolist()
    published = written[["paper_head", "paper_accuracy"]].replace("", None)
    kinds = ["all", "pronoun", "proper", "nominal"]
    assert published.loc["rule_based", "paper_accuracy"][kinds].tolist() == [0.69, 0.7, 0.77, 0.6]
    assert published.loc["best_head", "paper_accuracy"][kinds].tolist() == [0.65, 0.64, 0.73, 0.58]
    assert published.loc["best_head", "paper_head"].tolist() == ["5-4"] * 4
    assert published.loc[["chance", "random_best_head"]].isna().all(axis=None)
    assert "1,5" in shown.notes[0].partition(" first names (the US Census")[0][-8:], "about 1,500 names"


def test_heldout_choice_never_sees_its_own_documents():
    # Two heads: one right on the first document only, one on the second only. In-sample 50 %, held out nothing is right.
    heads = np.zeros((20, 2, 1, 2), dtype=bool)
    heads[:10, 0, 0, 0] = True
    heads[10:, 0, 0, 1] = True
    systems = {name: np.zeros(20) for name in ("chance", *BASELINES)}
    outcome = Outcome(Units(np.repeat([0, 1], 10), 2, "documents"), np.array(["pronoun"] * 20), heads, systems)
    table = table2_rows(outcome, Resampling(2, 100, 0)).set_index(["system", "mention_type"])
    assert table.loc[("best_head", "all"), "accuracy"] == 0.5
    assert table.loc[("best_head", "all"), "heldout_accuracy"] == 0
    assert table.loc[("best_head", "proper"), "n"] == 0


def outcome_of(right, documents):
    """An outcome whose heads are right as planted, [mention, direction, layer, head], with chance 0.25."""
    systems = {name: np.zeros(len(right)) for name in BASELINES} | {"chance": np.full(len(right), 0.25)}
    names = np.array(["pronoun"] * len(right))
    return Outcome(Units(np.asarray(documents), max(documents) + 1, "documents"), names, right, systems)


def test_intervals_of_heads_hold_for_the_better_direction():
    """Mentions of a document depend on each other; the interval of the better of two directions covers the truth."""
    generator = np.random.default_rng(0)
    documents = np.repeat(np.arange(25), 8)
    truth, covered = 0.4, []
    for _ in range(150):
        level = np.clip(generator.normal(truth, 0.15, (25, 2, 1, 4)), 0, 1)[documents]
        table = heads_frame(outcome_of(generator.random(level.shape) < level, documents), Resampling(2, 400, 0))
        better = table.query("mention_type == 'all'").sort_values("accuracy").groupby("head").tail(1)
        covered += ((better["ci_low"] <= truth) & (truth <= better["ci_high"])).tolist()
    assert np.mean(covered) > 0.93
    assert (table.query("mention_type == 'pronoun'")["chance"] == 0.25).all()


def test_one_document_gives_heads_no_interval():
    table = heads_frame(outcome_of(np.ones((6, 2, 1, 2), dtype=bool), [0] * 6), Resampling(2, 100, 0))
    assert table[["ci_low", "ci_high"]].isna().all(axis=None)


def test_the_best_head_is_compared_with_rules_on_the_other_half_of_the_documents():
    generator = np.random.default_rng(3)
    documents = np.repeat(np.arange(20), 5)
    outcome = outcome_of(generator.random((100, 2, 2, 3)) < 0.4, documents)
    by_name = {name: (generator.random(100) < 0.5).astype(float) for name in BASELINES}
    outcome = replace(outcome, systems=by_name | {"chance": np.full(100, 0.25)})
    table = claims_frame(outcome, Resampling(5, 300, 7)).set_index("baseline")
    assert table.index.tolist() == list(BASELINES)
    choosing = choosing_half(20, 7)[documents]
    chosen = best_head(outcome.heads[choosing].sum(axis=0))
    hits = outcome.heads[(~choosing, *chosen)].astype(float)
    for name, row in table.iterrows():
        right = by_name[name][~choosing]
        assert row[["head_accuracy", "baseline_accuracy"]].tolist() == pytest.approx([hits.mean(), right.mean()])
        assert row["value"] == pytest.approx(hits.mean() - right.mean())
        # Differences of the same mentions, over documents.
        sums = np.array([(hits - right)[documents[~choosing] == k].sum() for k in np.unique(documents[~choosing])])
        low, high = bootstrap_ratio(sums[:, None], np.full((10, 1), 5.0), 300, 7, expanded_level(0.95, 10))
        assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([low[0], high[0]])
        assert row[["n", "unit", "units"]].tolist() == [50, "documents", 10]
    _, layer, head = best_head(outcome.heads.sum(axis=0))
    assert set(table["place"]) == {f"{layer + 1}-{head + 1}"}


def test_one_document_compares_nothing():
    table = claims_frame(outcome_of(np.ones((6, 2, 1, 2), dtype=bool), [0] * 6), Resampling(2, 100, 0))
    assert table[["value", "ci_low", "ci_high"]].isna().all(axis=None)


def test_alternatives_move_one_option_each():
    for name, options in alternatives(DEFAULT):
        changed = [f for f in vars(options) if getattr(options, f) != getattr(DEFAULT, f)]
        assert changed == [name]
    changed_options = alternatives(CoreferenceOptions(candidates="words"))
    assert ("candidates", CoreferenceOptions()) in changed_options


def test_a_cache_of_another_corpus_is_refused(tmp_path):
    shards, _ = cache_of(tmp_path, [example(0), example(1)])
    with pytest.raises(AtlasError, match="has example e0 in place of other"):
        outcomes([example(0, name="other")], read_attention(shards), [DEFAULT], ["dependency"])
    with pytest.raises(AtlasError, match="ends after 2 examples, before e2"):
        outcomes([example(k) for k in range(3)], read_attention(shards), [DEFAULT], ["dependency"])


def test_mentions_survive_the_table_of_examples(tmp_path):
    write_examples(tmp_path / "0.parquet", [example(0), example(1, mentions=())])
    first, second = read_examples([tmp_path / "0.parquet"])
    assert first == example(0)
    assert second.mentions == ()


def passage(a_right=True, b_right=False, record=0):
    roles = (("pronoun", 10, 11, True), ("A", 0, 1, a_right), ("B", 5, 6, b_right))
    mentions = tuple(Mention(s, e, "pronoun" if c else r, heads={"last": e - 1}, role=r) for r, s, e, c in roles)
    return example(record, mentions)


def test_preference_by_hand():
    n = len(WORDS) + 2
    maps = np.full((1, 2, n, n), 0.01)
    maps[0, 0, 11, 1] = 0.5  # the pronoun attends to the right name in head 1
    maps[0, 1, 6, 11] = 0.5  # and is attended to by the wrong one in head 2
    special = np.arange(n) % (n - 1) == 0
    assert preferred(maps, special, range(10, 11), [range(0, 1), range(5, 6)]).tolist() == [[[True, False]], [[False, False]]]


def test_gap_tables(tmp_path):
    examples = [passage(True, False, 0), passage(False, True, 1), passage(False, False, 2), passage(True, False, 3)]
    shards, maps = cache_of(tmp_path, examples)
    systems = measured_gap(read_attention(shards), examples, 2, 100, 0)
    table = systems.set_index(["system", "gender"])
    assert table.loc[("first_name", "all"), ["n", "accuracy"]].tolist() == pytest.approx([3, 2 / 3], abs=1e-5)
    assert table.loc[("nearest_name", "feminine"), "accuracy"] == pytest.approx(1 / 3, abs=1e-5)
    assert table.loc[("nearest_name", "masculine"), "n"] == 0
    assert table.loc[("chance", "all"), "accuracy"] == 0.5
    right = [(1, 6), (6, 1), (1, 6)]
    decided_maps = [maps[k].astype(np.float32) for k in (0, 1, 3)]
    to_names, from_names = (
        sum(m[..., *good] > m[..., *bad] for m, (good, bad) in zip(decided_maps, places, strict=True))
        for places in ([[(11, name) for name in names] for names in right], [[(name, 11) for name in names] for names in right])
    )
    assert table.loc[("best_head", "all"), "correct"] == max(to_names.max(), from_names.max())
    page = gap(systems).page
    assert page["system"].tolist()[-3].startswith("Best attention head ")
    assert page["masculine"].tolist()[:-1] == [""] * (len(page) - 1), "no passage of a man"
    with pytest.raises(AtlasError, match="needs a corpus of reader gap"):
        measured_gap(read_attention(shards), [example(k) for k in range(4)], 2, 100, 0)
    neither = [passage(False, False, k) for k in range(4)]
    with pytest.raises(AtlasError, match="no passage has exactly one name"):
        measured_gap(read_attention(shards), neither, 2, 100, 0)
