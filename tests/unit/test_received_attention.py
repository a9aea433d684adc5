"""Attention that words receive, against loops."""

import numpy as np
import pytest

from attention_atlas.errors import AtlasError
from attention_atlas.studies.stefanik2021.received import received_attention, relative_attention

LAYERS, HEADS, UNITS = 2, 3, 6
SPECIAL = np.asarray([True, False, False, False, False, True])
KEY = np.asarray([False, True, True, False])


def maps():
    raw = np.random.default_rng(0).random((LAYERS, HEADS, UNITS, UNITS))
    return raw / raw.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("reduction", ["mean", "max"])
@pytest.mark.parametrize("diagonal", [True, False])
def test_words_receive_what_a_loop_finds(reduction, diagonal):
    received = received_attention(maps(), SPECIAL, reduction, diagonal)
    words = [unit for unit in range(UNITS) if not SPECIAL[unit]]
    assert received.shape == (LAYERS, HEADS, len(words))
    for layer in range(LAYERS):
        for head in range(HEADS):
            for place, j in enumerate(words):
                values = [maps()[layer, head, i, j] for i in words if diagonal or i != j]
                slow = max(values) if reduction == "max" else sum(values) / len(values)
                assert received[layer, head, place] == pytest.approx(slow)


def test_relative_attention_is_a_difference_of_means():
    received = received_attention(maps(), SPECIAL)
    relative = relative_attention(received, KEY)
    for layer in range(LAYERS):
        for head in range(HEADS):
            words = received[layer, head]
            assert relative[layer, head] == pytest.approx((words[1] + words[2]) / 2 - (words[0] + words[3]) / 2)
    assert np.allclose(relative_attention(received, ~KEY), -relative)
    assert np.allclose(relative_attention(np.ones_like(received), KEY), 0), "uniform attention favours nothing"


def test_texts_with_one_kind_of_word_say_nothing():
    received = received_attention(maps(), SPECIAL)
    assert np.isnan(relative_attention(received, [True] * 4)).all()
    assert np.isnan(relative_attention(received, [False] * 4)).all()
    alone = np.asarray([True, False, True])
    assert np.isnan(received_attention(maps()[:, :, :3, :3], alone, diagonal=False)).all()
    with pytest.raises(AtlasError, match="has special tokens only"):
        received_attention(maps(), np.ones(UNITS, bool))
    with pytest.raises(AtlasError, match="'sum' is not one of mean, max"):
        received_attention(maps(), SPECIAL, "sum")
