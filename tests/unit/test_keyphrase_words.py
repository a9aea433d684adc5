"""Attention that words receive, against loops; features of words that need no model, against values counted by hand."""

import math

import numpy as np
import pytest
from keyphrase_documents import CARD, HEADS, LAYERS, cached, tagged

from attention_atlas.errors import AtlasError
from attention_atlas.studies.stefanik2021.detection import (
    features_of,
    received_attention,
    relative_attention,
    word_statistics,
    words,
)

UNITS = 6
SPECIAL = np.asarray([True, False, False, False, False, True])
KEY = np.asarray([False, True, True, False])


def maps():
    raw = np.random.default_rng(0).random((LAYERS, HEADS, UNITS, UNITS))
    return raw / raw.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("reduction", ["mean", "max"])
def test_words_receive_what_a_loop_finds(reduction):
    received = received_attention(maps(), SPECIAL, reduction)
    kept = [unit for unit in range(UNITS) if not SPECIAL[unit]]
    assert received.shape == (LAYERS, HEADS, len(kept))
    for layer in range(LAYERS):
        for head in range(HEADS):
            for place, j in enumerate(kept):
                values = [maps()[layer, head, i, j] for i in kept]
                slow = max(values) if reduction == "max" else sum(values) / len(values)
                assert received[layer, head, place] == pytest.approx(slow)


def test_relative_attention_is_a_difference_of_means():
    received = received_attention(maps(), SPECIAL)
    relative = relative_attention(received, KEY)
    for layer in range(LAYERS):
        for head in range(HEADS):
            of_head = received[layer, head]
            assert relative[layer, head] == pytest.approx((of_head[1] + of_head[2]) / 2 - (of_head[0] + of_head[3]) / 2)
    assert np.allclose(relative_attention(received, ~KEY), -relative)
    assert np.allclose(relative_attention(np.ones_like(received), KEY), 0), "uniform attention favours nothing"


def test_texts_with_one_kind_of_word_say_nothing():
    received = received_attention(maps(), SPECIAL)
    assert np.isnan(relative_attention(received, [True] * 4)).all()
    assert np.isnan(relative_attention(received, [False] * 4)).all()


def test_words_have_the_attention_that_they_receive():
    maps, examples = [cached(k, 4 + k) for k in range(3)], [tagged(k, 4 + k) for k in range(3)]
    table = words(maps, examples)
    features = features_of(table, CARD, "max")
    assert len(table) == 4 + 5 + 6
    assert table["key"].tolist() == [tag != "O" for example in examples for tag in example.layers["tags"]]
    place = 4 + 2  # the third word of the second document
    assert features[place, 2] == pytest.approx(maps[1].maps[1, 0, 1:6, 3].astype(float).max(), abs=1e-3)
    assert table["l2_h1_mean"][place] == pytest.approx(maps[1].maps[1, 0, 1:6, 3].astype(float).mean(), abs=1e-3)
    with pytest.raises(AtlasError, match="do not belong together"):
        words(maps[:1], [tagged(1, 4)])
    with pytest.raises(AtlasError, match="no document with attention"):
        words([], [])


def test_values_are_those_counted_by_hand():
    texts = [["Parsers", "and", "a", "parser", "."], ["A", "parser"], ["Dogs"], ["Cats"]]
    table = word_statistics(texts)
    rarity = math.log(4 / 2)  # two of four texts have the stem
    assert table.shape == (9, 9)
    frequencies = (1, rarity / math.log(2), (1 + math.log(2)) * rarity / math.log(2))
    assert table[3] == pytest.approx([3 / 5, 0, *(math.log(2) * value for value in frequencies), 6, 1, 0, 0])
    forms = table[:, -3:]
    assert forms[4].tolist() == [0, 0, 0], "a full stop"
    assert forms[5].tolist() == [1, 1, 1], "A at the beginning of the second text"
    assert np.array_equal(word_statistics(texts), table)
