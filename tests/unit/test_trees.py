"""The tree record and its checks, against hand-made good and bad trees."""

import numpy as np
import pytest

from attention_atlas.corpora.conllu import Tree, find_cycle, tree_fault
from attention_atlas.corpora.edges import children


def tree(heads: tuple[int, ...], **fields) -> Tree:
    words = tuple("abcdefghij"[: len(heads)])
    return Tree("t", words, heads, tuple("root" if head == 0 else "dep" for head in heads), **fields)


def test_left_out_fields_are_filled_in():
    filled = tree((2, 0), lemmas=("", "be"))
    assert filled.lemmas == ("_", "be")
    assert filled.upos == filled.xpos == filled.feats == ("_", "_")


def test_children():
    assert children((2, 0, 2, 3)) == [[2], [], [1, 3], [4], []]


def test_good_trees_pass():
    for heads in [(0,), (2, 0), (0, 1, 2, 3), (4, 4, 4, 0)]:
        assert tree_fault(tree(heads)) is None


@pytest.mark.parametrize(
    ("heads", "word", "message"),
    [
        ((2, 0, 4), 3, "word 3 'c' has head 4, outside of 0 to 3"),
        ((2, 0, -1), 3, "word 3 'c' has head -1"),
        ((2, 0, 3), 3, "word 3 'c' is its own head"),
        ((0, 3, 4, 2), 2, "in a circle: 2 'b' -> 3 'c' -> 4 'd' -> 2 'b'"),
        ((2, 1), 1, "in a circle: 1 'a' -> 2 'b' -> 1 'a'"),
        ((2, 0, 0), 3, "several words have head 0: 2 'b' and 3 'c'"),
    ],
)
def test_bad_trees_are_refused(heads, word, message):
    fault = tree_fault(tree(heads))
    assert fault[0] == word
    assert message in fault[1]


def test_find_cycle_agrees_with_walking_up_from_every_word():
    random = np.random.default_rng(7)
    cyclic = 0
    for _ in range(500):
        size = int(random.integers(1, 8))
        heads = [int(random.integers(0, size + 1)) for _ in range(size)]
        stuck = False
        for start in range(1, size + 1):
            word = start
            for _ in range(size):
                word = heads[word - 1] if word else 0
            stuck |= word != 0
        cycle = find_cycle(heads)
        assert bool(cycle) == stuck
        for word, head in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            assert heads[word - 1] == head
        cyclic += stuck
    assert 50 < cyclic < 450
