"""What heads and offsets pick, and when it counts as right (section 4.2 of Clark et al.)."""

from dataclasses import replace

import numpy as np
from clark_inputs import cached, sentence
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_atlas.corpora.examples import Example
from attention_atlas.methods.dependency_scoring import (
    DIRECTIONS,
    gather_gold,
    is_correct,
    offset_words,
    predict,
    predicted_words,
    score,
)
from attention_atlas.methods.options import AS_PUBLISHED, CORRECTED
from attention_atlas.stats.held_out import best_head


def test_picks_by_hand():
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
    special = np.array([True, False, False, False, True])
    assert predicted_words(maps[None, None], special)[:, :, 0, 0].T.tolist() == [[3, 1, 2], [2, 3, 1]]
    # A word never picks itself unless it is alone; ties go to the first word.
    maps = np.full((1, 1, 5, 5), 0.025) + 0.875 * np.eye(5)
    assert predicted_words(maps, special)[..., 0, 0].tolist() == [[2, 2], [1, 1], [1, 1]]
    assert predicted_words(np.full((1, 1, 2, 2), 0.5), np.array([True, False]))[..., 0, 0].tolist() == [[1, 1]]
    # Special tokens between words do not shift positions, and nothing is renormalised without them.
    maps = np.array([[0.0, 0.9, 0.0, 0.2], [0, 0, 0, 0], [0, 0, 0, 0], [0.1, 0.0, 0.9, 0.0]])[None, None]
    assert predicted_words(maps, np.array([False, True, True, False]))[:, 0, 0, 0].tolist() == [2, 1]


def test_offsets_at_the_edges():
    gold = gather_gold([sentence("abcd", (0, 1, 1, 1), ("root", "x", "x", "x"))])
    by_offset = [[0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 4], [3, 4, 4, 4]]  # -3 to +2
    assert offset_words(gold, AS_PUBLISHED).T.tolist() == by_offset
    nowhere = offset_words(gold, replace(AS_PUBLISHED, offset_edges="none", offsets=(-2, 1, 3)))
    assert nowhere.T.tolist() == [[-1, -1, 1, 2], [2, 3, 4, -1], [4, -1, -1, -1]]
    # A clipped offset can be right about the root, another one not.
    right = [score(np.ones((4, 2, 1, 1), dtype=np.int16), gold, o).offsets[0].sum() for o in (AS_PUBLISHED, CORRECTED)]
    assert right == [3, 0]


MARIA = sentence(("Maria", "'s", "dog", "slept"), (3, 1, 4, 0), ("poss", "possessive", "nsubj", "root"))


def offsets_right(example, token=0):
    """Offset -> whether it is right about a token."""
    gold = gather_gold([example])
    right = score(np.zeros((len(gold), 2, 1, 1), dtype=np.int16), gold, AS_PUBLISHED).offsets[token]
    return dict(zip(AS_PUBLISHED.offsets, right.tolist(), strict=True))


def test_a_possessor_is_scored_by_what_its_clitic_picks():
    gold = gather_gold([MARIA])
    picked = np.array([[2, 3], [3, 1], [4, 4], [1, 1]], dtype=np.int16)  # the 's picks dog, then Maria
    before = picked.copy()
    assert is_correct(picked, gold, poss_rule=True).T.tolist() == [[True, False, True, False], [False, True, True, False]]
    assert is_correct(picked, gold, poss_rule=False).T.tolist() == [[False, False, True, False], [True, True, True, False]]
    np.testing.assert_array_equal(picked, before)
    # Offset +1 lets the 's pick dog; +2 lets Maria herself pick it, which does not count.
    assert [offset for offset, right in offsets_right(MARIA).items() if right] == [1]
    # As released: the rule holds where the possessor's own pick is not the last word of the sentence.
    short = sentence(("Maria", "'s", "dog"), (3, 1, 0), ("poss", "possessive", "root"))
    # Maria picks dog and the 's Maria; both pick dog; Maria picks the 's, which picks dog, then Maria.
    picked = np.array([[3, 3, 2, 2], [1, 3, 3, 1], [1, 1, 1, 1]], dtype=np.int16)
    assert is_correct(picked, gather_gold([short]), poss_rule=True)[0].tolist() == [True, True, True, False]
    assert [offset for offset, right in offsets_right(short).items() if right] == [1, 2], "+2 is clipped to dog for the 's"


def slow_right(example, weights, direction, poss_rule):
    """Whether a head is right about each word, a word at a time; its map is over [CLS], words, [SEP]."""
    words, n = example.words, len(example.words)

    def pick(i):
        best, predicted = -1.0, -1
        for j in range(n):
            weight = weights[i + 1][j + 1] if direction == "dependent_to_head" else weights[j + 1][i + 1]
            if (0.0 if i == j else weight) > best:
                best, predicted = (0.0 if i == j else weight), j
        return predicted + 1

    right = []
    for i in range(n):
        is_poss = example.layers["relations"][i] == "poss" and pick(i) < n
        moved = poss_rule and is_poss and i + 1 < n and words[i + 1] in ("'s", "s'")
        right.append(pick(i + 1 if moved else i) == example.layers["heads"][i])
    return right


def random_corpus(seed, size=6):
    generator = np.random.default_rng(seed)
    examples, maps = [], []
    for record in range(size):
        n = int(generator.integers(1, 9))
        root = int(generator.integers(n))
        heads = [0 if i == root else int(generator.choice([j + 1 for j in range(n) if j != i])) for i in range(n)]
        relations = ["root" if h == 0 else str(generator.choice(["det", "poss", "punct", "dobj"])) for h in heads]
        words = [str(generator.choice(["x", "y", "'s"])) for _ in range(n)]
        examples.append(sentence(words, heads, relations, record))
        raw = generator.integers(1, 6, size=(2, 2, n + 2, n + 2)).astype(np.float32)  # few values, so that ties are common
        maps.append(raw / 16)
    return examples, maps


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), poss_rule=st.booleans(), poss_in_all=st.booleans())
def test_scores_are_those_of_plain_loops(seed, poss_rule, poss_in_all):
    examples, maps = random_corpus(seed)
    options = replace(AS_PUBLISHED, poss_rule=poss_rule, poss_in_all=poss_in_all)
    gold = gather_gold(examples)
    special = [np.array([True] + [False] * len(e.words) + [True]) for e in examples]
    picked = np.concatenate([predicted_words(m, s) for m, s in zip(maps, special, strict=True)])
    scores = score(picked, gold, options)
    for direction, layer, head in np.ndindex(2, 2, 2):
        for rule, relations in ((poss_rule and poss_in_all, ["all"]), (poss_rule, ["det", "poss", "punct", "dobj", "root"])):
            pairs = zip(examples, maps, strict=True)
            expected = [r for e, m in pairs for r in slow_right(e, m[layer, head], DIRECTIONS[direction], rule)]
            for relation in relations:
                chosen = gold.tokens_of(relation, options)
                hits = scores.of(relation)[0][chosen][:, direction, layer, head]
                assert hits.tolist() == np.array(expected)[chosen].tolist()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_best_head_is_the_largest_tuple(seed):
    counts = np.random.default_rng(seed).integers(0, 4, size=(2, 3, 4))
    # The published code compares (count, layer, head, name of the direction) as tuples.
    ranked = max((int(counts[d, layer, head]), layer, head, DIRECTIONS[d]) for d, layer, head in np.ndindex(2, 3, 4))
    direction, layer, head = best_head(counts)
    assert (int(counts[direction, layer, head]), layer, head, DIRECTIONS[direction]) == ranked


def test_predictions_are_in_the_order_of_the_tokens_by_each_word_mode():
    examples, maps = random_corpus(seed=1, size=3)
    entries = [cached(e, m) for e, m in zip(examples, maps, strict=True)]
    picked, to_sep = predict(examples, entries, ("mean", "first"), "[SEP]")
    expected = [predicted_words(m, np.array(e.word) == -1) for e, m in zip(examples, maps, strict=True)]
    np.testing.assert_array_equal(picked["mean"], np.concatenate(expected))
    np.testing.assert_allclose(to_sep, np.concatenate([np.moveaxis(m[:, :, 1:-1, -1], -1, 0) for m in maps]))
    # Pieces: x | a1 a2 | y. The first piece of a looks at x, the second, harder, at y.
    example = Example(0, "s", (0,) * 4, (0,) * 4, tuple("xaay"), (0, 1, 1, 2), ("x", "aa", "y"), {})
    maps = np.zeros((1, 1, 4, 4))
    maps[..., [0, 3], 0] = 1
    maps[0, 0, 1, 0], maps[0, 0, 2, 3], maps[0, 0, 1, 3] = 0.4, 0.9, 0.1
    picked, _ = predict([example], [cached(example, maps)], ("mean", "first", "max"), None)
    assert {mode: int(picked[1, 0, 0, 0]) for mode, picked in picked.items()} == {"mean": 3, "first": 1, "max": 3}
