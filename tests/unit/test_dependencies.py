"""What heads and offsets pick, and when it counts as right (section 4.2 of Clark et al.)."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_atlas.attention.cache import CachedExample
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.methods.dependency_scoring import (
    DIRECTIONS,
    PAPER_RELATIONS,
    gather_gold,
    is_correct,
    offset_words,
    predict,
    predicted_words,
    score,
)
from attention_atlas.methods.options import AS_PUBLISHED, CORRECTED
from attention_atlas.stats.held_out import best_head


def sentence(words, heads, relations, record=0, **layers):
    n = len(words)
    tokens = ("[CLS]", *words, "[SEP]")
    given_layers = {"heads": tuple(heads), "relations": tuple(relations), **layers}
    return Example(
        record, f"s{record}", (0,) * (n + 2), (0,) * (n + 2), tokens, (-1, *range(n), -1), tuple(words), given_layers
    )


def test_the_two_directions_are_read_from_rows_and_columns():
    # [CLS] a b c [SEP]; rows attend. Word a looks most at c; of all words, b looks at a most.
    maps = np.array(
        [
            [0.1, 0.9, 0.0, 0.0, 0.0],
            [0.5, 0.0, 0.1, 0.3, 0.1],
            [0.0, 0.6, 0.2, 0.1, 0.1],
            [0.2, 0.1, 0.3, 0.0, 0.4],
            [0.0, 0.9, 0.1, 0.0, 0.0],
        ]
    )
    picked = predicted_words(maps[None, None], np.array([True, False, False, False, True]))
    assert picked.shape == (3, 2, 1, 1)
    assert picked[:, 0, 0, 0].tolist() == [3, 1, 2]
    assert picked[:, 1, 0, 0].tolist() == [2, 3, 1]


def test_special_tokens_are_left_out_without_renormalising():
    # b keeps 0.1 for a, c gives it 0.2: after renormalising, b's share would be 1 and win.
    maps = np.array(
        [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.5, 0.5],
            [0.9, 0.1, 0.0, 0.0],
            [0.0, 0.2, 0.8, 0.0],
        ]
    )
    picked = predicted_words(maps[None, None], np.array([True, False, False, False]))
    assert picked[0, 1, 0, 0] == 3


def test_a_word_never_picks_itself_unless_it_is_alone():
    maps = np.full((1, 1, 5, 5), 0.025) + 0.875 * np.eye(5)
    picked = predicted_words(maps, np.array([True, False, False, False, True]))
    assert picked[..., 0, 0].tolist() == [[2, 2], [1, 1], [1, 1]]
    assert predicted_words(np.full((1, 1, 2, 2), 0.5), np.array([True, False]))[..., 0, 0].tolist() == [[1, 1]]


def test_ties_go_to_the_first_word():
    picked = predicted_words(np.full((1, 1, 4, 4), 0.25), np.zeros(4, dtype=bool))
    assert picked[..., 0, 0].tolist() == [[2, 2], [1, 1], [1, 1], [1, 1]]


def test_special_tokens_between_words_do_not_shift_positions():
    maps = np.zeros((1, 1, 4, 4))
    maps[0, 0, 0, 3] = maps[0, 0, 3, 0] = maps[0, 0, 0, 1] = 1
    assert predicted_words(maps, np.array([False, True, True, False]))[:, 0, 0, 0].tolist() == [2, 1]


def test_offsets_at_the_edges():
    gold = gather_gold([sentence("abcd", (0, 1, 1, 1), ("root", "x", "x", "x"))])
    clipped = offset_words(gold, AS_PUBLISHED)
    assert clipped.T.tolist() == [
        [0, 0, 0, 1],  # -3
        [0, 0, 1, 2],  # -2
        [0, 1, 2, 3],
        [1, 2, 3, 4],  # 0
        [2, 3, 4, 4],
        [3, 4, 4, 4],  # +2
    ]
    nowhere = offset_words(gold, replace(AS_PUBLISHED, offset_edges="none", offsets=(-2, 1, 3)))
    assert nowhere.T.tolist() == [[-1, -1, 1, 2], [2, 3, 4, -1], [4, -1, -1, -1]]


def test_a_clipped_offset_can_be_right_about_the_root_and_an_unclipped_one_not():
    gold = gather_gold([sentence("ab", (0, 1), ("root", "x"))])
    published, corrected = (score(np.ones((2, 2, 1, 1), dtype=np.int16), gold, o) for o in (AS_PUBLISHED, CORRECTED))
    assert published.offsets[0].tolist() == [True, True, True, False, False, False]
    assert corrected.offsets[0].tolist() == [False] * 7


# --- the possessive rule ---------------------------------------------------------------------------------------------

MARIA = sentence(("Maria", "'s", "dog", "slept"), (3, 1, 4, 0), ("poss", "possessive", "nsubj", "root"))


def test_a_possessor_is_scored_by_what_its_clitic_picks():
    gold = gather_gold([MARIA])
    assert gold.before_possessive.tolist() == [True, False, False, False]
    picked = np.array([[2, 3], [3, 1], [4, 4], [1, 1]], dtype=np.int16)  # the 's picks dog, then Maria
    assert is_correct(picked, gold, poss_rule=True).T.tolist() == [[True, False, True, False], [False, True, True, False]]
    assert is_correct(picked, gold, poss_rule=False).T.tolist() == [[False, False, True, False], [True, True, True, False]]
    assert picked.tolist() == [[2, 3], [3, 1], [4, 4], [1, 1]]


def test_a_possessor_that_picks_the_last_word_is_scored_by_itself():
    """As released: the rule holds where the possessor's own pick is not the last word of the sentence."""
    gold = gather_gold([sentence(("Maria", "'s", "dog"), (3, 1, 0), ("poss", "possessive", "root"))])
    # Maria picks dog and the 's Maria; both pick dog; Maria picks the 's, which picks dog, then Maria.
    picked = np.array([[3, 3, 2, 2], [1, 3, 3, 1], [1, 1, 1, 1]], dtype=np.int16)
    assert is_correct(picked, gold, poss_rule=True)[0].tolist() == [True, True, True, False]
    assert is_correct(picked, gold, poss_rule=False)[0].tolist() == [True, True, False, False]
    shaped = picked.reshape(3, 2, 1, 2)
    np.testing.assert_array_equal(is_correct(shaped, gold, True), is_correct(picked, gold, True).reshape(shaped.shape))
    # Offset +2 lets Maria pick dog, and is clipped to dog for the 's.
    right = dict(zip(AS_PUBLISHED.offsets, score(picked, gold, AS_PUBLISHED).offsets[0].tolist(), strict=True))
    assert right == {-3: False, -2: False, -1: False, 0: False, 1: True, 2: True}
    # In a longer sentence, dog is not the last word.
    longer = gather_gold([MARIA])
    picked = np.array([[3], [1], [4], [1]], dtype=np.int16)
    assert is_correct(picked, longer, poss_rule=True)[0].tolist() == [False]


def test_the_rule_needs_the_relation_and_the_clitic_and_reaches_baselines():
    gold = gather_gold([MARIA])
    # Offset +1 lets the 's pick dog; offset +2 lets Maria herself pick it, which does not count.
    offsets = score(np.zeros((4, 2, 1, 1), dtype=np.int16), gold, AS_PUBLISHED).offsets
    by_offset = dict(zip(AS_PUBLISHED.offsets, offsets[0].tolist(), strict=True))
    assert by_offset == {-3: False, -2: False, -1: False, 0: False, 1: True, 2: False}
    unaligned = [
        sentence(("his", "dog", "slept"), (2, 3, 0), ("poss", "nsubj", "root")),
        sentence(("It", "'s", "fun"), (3, 3, 0), ("nsubj", "cop", "root"), record=1),
    ]
    gold = gather_gold(unaligned)
    assert gold.before_possessive.tolist() == [False, False, False, True, False, False]
    picked = np.array([[2], [3], [0], [3], [1], [0]], dtype=np.int16)
    np.testing.assert_array_equal(is_correct(picked, gold, True), is_correct(picked, gold, False))


@pytest.mark.parametrize(
    ("clitic", "moved"), [("'s", True), ("s'", True), ("s", False), ("'S", False), ("’s", False), ("'", False), ("S'", False)]
)
def test_the_rule_knows_two_words_in_this_case(clitic, moved):
    gold = gather_gold([sentence(("Maria", clitic, "dog"), (3, 1, 0), ("poss", "possessive", "root"))])
    assert gold.before_possessive.tolist() == [moved, False, False]
    # Maria picks the clitic, which picks the dog.
    assert is_correct(np.array([[2], [3], [1]], dtype=np.int16), gold, poss_rule=True)[0].tolist() == [moved]


def test_a_possessor_at_the_end_of_a_sentence_is_scored_by_itself():
    # A next sentence that begins with 's must not be taken for the possessor's clitic.
    examples = [
        sentence(("dog", "Maria"), (0, 1), ("root", "poss")),
        sentence(("'s", "odd"), (2, 0), ("dep", "root"), record=1),
        sentence(("of", "Maria"), (0, 1), ("root", "poss"), record=2),
    ]
    gold = gather_gold(examples)
    assert not gold.before_possessive.any()
    picked = np.array([[0], [1], [2], [0], [0], [1]], dtype=np.int16)
    assert is_correct(picked, gold, poss_rule=True).all()


def test_the_rule_counts_for_all_only_where_the_options_say_so():
    gold = gather_gold([MARIA])
    picked = np.array([2, 3, 4, 1], dtype=np.int16).reshape(4, 1, 1, 1).repeat(2, axis=1)
    right = {
        "paper": (AS_PUBLISHED, 1),  # dog alone
        "notebook": (replace(AS_PUBLISHED, poss_in_all=True), 2),  # and Maria by her 's
        "no rule": (replace(AS_PUBLISHED, poss_rule=False, poss_in_all=True), 1),
    }
    for options, expected in right.values():
        heads, offsets = score(picked, gold, options).of("all")
        assert heads[:, 0, 0, 0].sum() == expected
        # Offset +1: the 's in Maria's place, dog; and root never.
        assert offsets[:, AS_PUBLISHED.offsets.index(1)].sum() == expected
    assert score(picked, gold, AS_PUBLISHED).of("poss")[0][0].all()
    assert not score(picked, gold, replace(AS_PUBLISHED, poss_rule=False)).of("poss")[0][0].any()


def test_row_all_counts_punctuation_and_root_as_published():
    gold = gather_gold([sentence(("It", "rains", "."), (2, 0, 2), ("nsubj", "root", "punct"))])
    assert gold.tokens_of("all", AS_PUBLISHED).tolist() == [True, True, True]
    assert gold.tokens_of("all", CORRECTED).tolist() == [True, False, False]
    assert gold.tokens_of("punct", CORRECTED).tolist() == [False, False, True]


# --- against plain loops ---------------------------------------------------------------------------------------------


def slow_right(example, maps, layer, head, direction, poss_rule):
    """Whether a head is right about each word, a word at a time; maps are over [CLS], words, [SEP]."""
    words, n = example.words, len(example.words)
    weights = maps[layer, head]

    def pick(i):
        best, predicted = -1.0, -1
        for j in range(n):
            weight = weights[i + 1][j + 1] if direction == "dependent_to_head" else weights[j + 1][i + 1]
            if (0.0 if i == j else weight) > best:
                best, predicted = (0.0 if i == j else weight), j
        return predicted + 1

    right = []
    for i in range(n):
        judge = i
        is_poss = example.layers["relations"][i] == "poss" and pick(i) < n
        if poss_rule and is_poss and i + 1 < n and words[i + 1] in ("'s", "s'"):
            judge = i + 1
        right.append(pick(judge) == example.layers["heads"][i])
    return right


def random_corpus(seed, size=8):
    generator = np.random.default_rng(seed)
    examples, maps = [], []
    for record in range(size):
        n = int(generator.integers(1, 9))
        root = int(generator.integers(n))
        heads = [0 if i == root else int(generator.choice([j + 1 for j in range(n) if j != i])) for i in range(n)]
        relations = ["root" if h == 0 else str(generator.choice(["det", "poss", "punct", "dobj"])) for h in heads]
        words = [str(generator.choice(["x", "y", "'s"])) for _ in range(n)]
        examples.append(sentence(words, heads, relations, record))
        raw = generator.integers(1, 6, size=(2, 3, n + 2, n + 2)).astype(np.float32)  # few values, so that ties are common
        maps.append(raw / 16)
    return examples, maps


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), poss_rule=st.booleans(), poss_in_all=st.booleans())
def test_scores_are_those_of_plain_loops(seed, poss_rule, poss_in_all):
    examples, maps = random_corpus(seed)
    options = replace(AS_PUBLISHED, poss_rule=poss_rule, poss_in_all=poss_in_all)
    gold = gather_gold(examples)
    special = [np.array([True] + [False] * len(e.words) + [True]) for e in examples]
    picked = np.concatenate([predicted_words(m, s) for m, s in zip(maps, special, strict=True)])
    scores = score(picked, gold, options)
    for relation in ("all", "det", "poss", "punct", "dobj", "root"):
        chosen = gold.tokens_of(relation, options)
        rule = poss_rule and (relation != "all" or poss_in_all)
        for direction in range(2):
            for layer in range(2):
                for head in range(3):
                    expected = []
                    for example, weights in zip(examples, maps, strict=True):
                        right = slow_right(example, weights, layer, head, DIRECTIONS[direction], rule)
                        labels = example.layers["relations"]
                        expected += [r for r, label in zip(right, labels, strict=True) if relation in ("all", label)]
                    hits = scores.of(relation)[0][chosen][:, direction, layer, head]
                    assert hits.tolist() == expected


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_best_head_is_the_largest_tuple(seed):
    counts = np.random.default_rng(seed).integers(0, 4, size=(2, 3, 4))
    # The published code compares (count, layer, head, name of the direction) as tuples.
    ranked = max(
        (int(counts[d, layer, head]), layer, head, DIRECTIONS[d]) for d in range(2) for layer in range(3) for head in range(4)
    )
    direction, layer, head = best_head(counts)
    assert (int(counts[direction, layer, head]), layer, head, DIRECTIONS[direction]) == ranked


# --- gold and cache --------------------------------------------------------------------------------------------------


def test_gold_is_one_entry_a_token():
    gold = gather_gold([MARIA, sentence("ab", (2, 0), ("det", "root"), 1)])
    assert len(gold) == 6
    assert len(gold.ids) == 2
    assert gold.ids == ("s0", "s1")
    assert gold.sentence.tolist() == [0, 0, 0, 0, 1, 1]
    assert gold.position.tolist() == [1, 2, 3, 4, 1, 2]
    assert gold.length.tolist() == [4] * 4 + [2] * 2
    assert gold.head.tolist() == [3, 1, 4, 0, 2, 0]


def test_relations_are_the_frequent_ones_and_the_papers():
    labels = ("dep", "dep", "dep", "poss", "cop", "cop", "root", "punct", "punct", "punct", "punct")
    gold = gather_gold([sentence("abcdefghijk", (7, 7, 7, 7, 7, 7, 0, 7, 7, 7, 7), labels)])
    assert gold.relations() == ["dep", "cop", "poss"]
    assert gold.relations(3) == ["dep", "poss"]
    assert "poss" in PAPER_RELATIONS
    assert len(PAPER_RELATIONS) == 15


def test_gold_that_is_not_there_is_an_error():
    with pytest.raises(AtlasError, match="no sentence to score"):
        gather_gold([])
    bare = replace(MARIA, layers={"heads": (3, 1, 4, 0)})
    with pytest.raises(AtlasError, match="example s0 has no dependency tree"):
        gather_gold([bare])


def cached(example, maps, level="tokens", word=None):
    tokens = ("[CLS]", *example.words, "[SEP]") if word is None else tuple("?" * len(word))
    return CachedExample(
        example.record, example.id, level, tokens, word or example.word, example.words, maps.astype(np.float16)
    )


def test_predictions_are_in_the_order_of_the_tokens():
    examples, maps = random_corpus(seed=1, size=3)
    entries = [cached(e, m) for e, m in zip(examples, maps, strict=True)]
    picked, to_sep = predict(examples, entries, ("mean", "first"), "[SEP]")
    assert set(picked) == {"mean", "first"}
    expected = [predicted_words(m, np.array(e.word) == -1) for e, m in zip(examples, maps, strict=True)]
    np.testing.assert_array_equal(picked["mean"], np.concatenate(expected))
    np.testing.assert_allclose(to_sep, np.concatenate([np.moveaxis(m[:, :, 1:-1, -1], -1, 0) for m in maps]))


def test_word_modes_pick_by_their_own_maps():
    # Pieces: x | a1 a2 | y. The first piece of a looks at x, the second, harder, at y.
    example = Example(0, "s", (0,) * 4, (0,) * 4, tuple("xaay"), (0, 1, 1, 2), ("x", "aa", "y"), {})
    maps = np.zeros((1, 1, 4, 4))
    maps[0, 0, 1, 0], maps[0, 0, 2, 3], maps[0, 0, 1, 3] = 0.4, 0.9, 0.1
    entry = CachedExample(0, "s", "tokens", example.tokens, example.word, example.words, maps.astype(np.float16))
    picked, to_sep = predict([example], [entry], ("mean", "first", "max"), None)
    assert {mode: int(picked[1, 0, 0, 0]) for mode, picked in picked.items()} == {"mean": 3, "first": 1, "max": 3}
    assert not to_sep.any()


def test_a_cache_of_words_gives_the_mean_alone():
    examples, maps = random_corpus(seed=2, size=2)
    entries = [cached(e, m, level="words") for e, m in zip(examples, maps, strict=True)]
    assert set(predict(examples, entries, ("mean", "first", "max"), "[SEP]")[0]) == {"mean"}


def test_a_cache_of_another_corpus_or_length_is_an_error():
    examples, maps = random_corpus(seed=3, size=3)
    entries = [cached(e, m) for e, m in zip(examples, maps, strict=True)]
    with pytest.raises(AtlasError, match="ends after 2 examples, before s2"):
        predict(examples, entries[:2], ("mean",), "[SEP]")
    with pytest.raises(AtlasError, match="has example s2 in place of s1"):
        predict(examples, [entries[0], entries[2]], ("mean",), "[SEP]")
    with pytest.raises(AtlasError, match="has example other in place of s0"):
        predict(examples, [replace(entries[0], id="other"), *entries[1:]], ("mean",), "[SEP]")
    with pytest.raises(AtlasError, match="has example s0"):
        predict(examples, [replace(entries[0], record=7), *entries[1:]], ("mean",), "[SEP]")
