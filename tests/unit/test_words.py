"""From pieces to words: against a slow loop and the matrices R A C of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_atlas.attention.cache import WORD_MODES, to_words, unit_starts


def units(word: list[int]) -> list[list[int]]:
    """Pieces of each unit by a slow loop: neighbours of the same word, each special token alone."""
    groups: list[list[int]] = []
    for place, mark in enumerate(word):
        if place and mark != -1 and word[place - 1] == mark:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def slowly(maps: np.ndarray, word: list[int], mode: str) -> np.ndarray:
    groups = units(word)
    columns = np.zeros((len(word), len(groups)))
    rows = np.zeros((len(groups), len(word)))
    for number, group in enumerate(groups):
        columns[group, number] = 1
        rows[number, group if mode == "mean" else group[:1]] = 1 / len(group) if mode == "mean" else 1
    if mode == "max":
        to = maps.astype(np.float64) @ columns
        return np.stack([to[..., group, :].max(axis=-2) for group in groups], axis=-2)
    return rows @ maps.astype(np.float64) @ columns


@st.composite
def examples(draw) -> tuple[list[int], int]:
    """Marks of pieces, special tokens at any place (two together as well), and a seed for the maps."""
    word: list[int] = []
    for number, size in enumerate(draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))):
        word += [-1] * draw(st.integers(0, 2)) + [number] * size
    return word + [-1] * draw(st.integers(0, 2)), draw(st.integers(0, 99))


def random_maps(shape: tuple[int, ...], seed: int) -> np.ndarray:
    maps = np.random.default_rng(seed).gamma(0.3, size=shape) + 1e-6
    return maps / maps.sum(-1, keepdims=True)


@settings(max_examples=100, deadline=None)
@given(example=examples(), dtype=st.sampled_from([np.float16, np.float32, np.float64]))
@pytest.mark.parametrize("mode", WORD_MODES)
def test_words_equal_the_slow_loop(mode, example, dtype):
    word, seed = example
    maps = random_maps((2, 3, len(word), len(word)), seed).astype(dtype)
    ours = to_words(maps, word, mode)
    assert ours.dtype == np.float32
    assert ours.shape == (2, 3, len(units(word)), len(units(word)))
    np.testing.assert_allclose(ours, slowly(maps, word, mode), rtol=2e-6, atol=1e-7)
    if mode == "mean":
        np.testing.assert_allclose(ours.sum(-1), slowly(maps, word, mode).sum(-1), rtol=1e-5)
        np.testing.assert_allclose(ours.sum(-1), 1, atol=2e-3 if dtype is np.float16 else 1e-5)


def test_a_hand_made_example():
    maps = np.array(
        [
            [0.1, 0.2, 0.3, 0.4],
            [0.5, 0.1, 0.1, 0.3],
            [0.1, 0.3, 0.5, 0.1],
            [0.7, 0.1, 0.1, 0.1],
        ]
    )
    word = [-1, 0, 0, -1]
    np.testing.assert_allclose(to_words(maps, word), [[0.1, 0.5, 0.4], [0.3, 0.5, 0.2], [0.7, 0.2, 0.1]], atol=1e-7)
    np.testing.assert_allclose(to_words(maps, word, "first")[1], [0.5, 0.2, 0.3], atol=1e-7)
    np.testing.assert_allclose(to_words(maps, word, "max")[1], [0.5, 0.8, 0.3], atol=1e-7)


def test_units_begin_at_words_and_at_every_special_token():
    assert unit_starts([-1, 0, 0, 1, -1, -1, 2, 2, -1]).tolist() == [0, 1, 3, 4, 5, 6, 8]
    assert unit_starts([0]).tolist() == [0]
    assert unit_starts([]).tolist() == []


@settings(max_examples=50, deadline=None)
@given(example=examples())
def test_unit_starts_equal_the_slow_loop(example):
    assert unit_starts(example[0]).tolist() == [group[0] for group in units(example[0])]


def test_long_float16_rows_are_summed_in_float32():
    # 1000 pieces of one word: in float16 a running sum would stop growing.
    maps = np.full((1, 1001, 1001), 1 / 1001, dtype=np.float16)
    ours = to_words(maps, [-1] + [0] * 1000)
    np.testing.assert_allclose(ours.sum(-1), np.float64(np.float16(1 / 1001)) * 1001, rtol=1e-5)


def test_wrong_modes_and_sizes_are_refused():
    maps = np.ones((2, 3, 3))
    with pytest.raises(ValueError, match="unknown word mode 'median', expected one of mean, first, max"):
        to_words(maps, [0, 1, 2], "median")
    for word in ([0, 1], [0, 1, 2, 3]):
        with pytest.raises(ValueError, match="do not match"):
            to_words(maps, word)
    with pytest.raises(ValueError, match="do not match 3 tokens"):
        to_words(np.ones((3, 2, 3)), [0, 1, 2])
