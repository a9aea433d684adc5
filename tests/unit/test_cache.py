"""The attention cache: what is written is read, in single precision and over words; whatever is damaged or foreign is named."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_shards import write_shard

from attention_atlas.attention import cache
from attention_atlas.attention.cache import StoredAttention, read_attention, to_words, with_attention
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.io.shards import FORMAT

LAYERS, HEADS = 2, 3
TOKENS = ("[CLS]", "the", "cat", "##s", "[SEP]", "sat", "[SEP]")
WORD = (-1, 0, 1, 1, -1, 2, -1)
WORDS = ("the", "cats", "sat")


def maps_of(record: int, size: int = len(WORD)) -> np.ndarray:
    maps = np.random.default_rng(record).random((LAYERS, HEADS, size, size))
    return (maps / maps.sum(-1, keepdims=True)).astype(np.float16)


def write(folder: Path, shard: int, records: list[int], level: str = "tokens", size: int = len(WORD)) -> Path:
    path = folder / f"{shard}.safetensors"
    examples = [{"record": r, "id": f"n{r} é", "tokens": TOKENS, "word": WORD, "words": WORDS} for r in records]
    facts = {"level": level, "layers": LAYERS, "heads": HEADS, "examples": examples}
    write_shard(path, path.with_suffix(".json"), {r: maps_of(r, size) for r in records}, facts)
    return path


def test_shards_are_read_in_the_order_of_their_numbers_up_to_the_limit(tmp_path):
    with pytest.raises(AtlasError, match="there are no attention shards in this folder"):
        list(read_attention(tmp_path))
    for shard, records in {10: [100, 107], 0: [0, 7], 2: [20, 27], 1: []}.items():
        write(tmp_path, shard, records)
    everything = [0, 7, 20, 27, 100, 107]
    examples = list(read_attention(tmp_path))
    assert [example.record for example in examples] == everything
    for example in examples:
        assert np.array_equal(example.maps, maps_of(example.record))
        assert (example.id, example.tokens, example.word, example.gold_words) == (f"n{example.record} é", TOKENS, WORD, WORDS)
    # The limit counts records, not examples.
    for limit in (0, 7, 8, 27, 200):
        assert [e.record for e in read_attention(tmp_path, limit)] == [r for r in everything if r < limit]
    stored = StoredAttention(tmp_path, 25)
    assert [[e.record for e in stored] for _ in range(2)] == [[0, 7, 20]] * 2


def test_examples_get_their_own_attention(tmp_path):
    cached = list(read_attention([write(tmp_path, 0, [0, 3])]))
    examples = [Example(e.record, e.id, (0,), (0,), ("a",), (0,), ("a",)) for e in cached]
    assert [(a.record, b.record) for a, b in with_attention(examples, cached)] == [(0, 0), (3, 3)]
    with pytest.raises(AtlasError, match="ends before n3 é: delete"):
        list(with_attention(examples, cached[:1]))
    with pytest.raises(AtlasError, match="has example n3 é in place of n0 é: delete"):
        list(with_attention(examples, cached[::-1]))


def test_rows_of_word_maps_are_words_with_the_special_tokens_in_their_places(tmp_path):
    (example,) = read_attention([write(tmp_path, 0, [0])])
    assert example.words == ("[CLS]", "the", "cats", "[SEP]", "sat", "[SEP]")
    assert example.special_units.tolist() == [True, False, False, True, False, True]
    assert np.array_equal(example.word_maps("max"), to_words(maps_of(0), WORD, "max"))
    (example,) = read_attention([write(tmp_path, 0, [0], level="words", size=6)])
    assert np.array_equal(example.word_maps(), maps_of(0, 6).astype(np.float32))
    with pytest.raises(AtlasError, match=r"was stored at level words .* mode first needs level: tokens"):
        example.word_maps("first")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[300] ^= 1
    path.write_bytes(content)


def edit(path: Path) -> None:
    """Another first token in the description of a shard."""
    description = path.with_suffix(".json")
    facts = json.loads(description.read_text())
    facts["examples"][0]["tokens"][0] = "[SEP]"
    description.write_text(json.dumps(facts))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (flip, "the checksum is wrong"),
        (edit, "the checksum is wrong"),
        (lambda path: path.write_bytes(path.read_bytes()[:-2]), ""),
        (Path.unlink, ""),
        (lambda path: path.with_suffix(".json").unlink(), "its description 0.json cannot be read"),
        (lambda path: path.with_suffix(".json").write_text("[]"), f"format None instead of {FORMAT}"),
    ],
)
def test_a_damaged_or_foreign_shard_is_named(tmp_path, damage, problem):
    path = write(tmp_path, 0, [0, 1])
    damage(path)
    with pytest.raises(AtlasError, match=re.escape(f"{path}: this shard cannot be used ({problem}")):
        list(read_attention([path]))


def test_a_description_with_any_other_value_is_refused(tmp_path):
    path = write(tmp_path, 0, [0, 1])
    text = path.with_suffix(".json").read_text()
    for key, value in itertools.product(json.loads(text), (None, True, 0, 10**30, 0.5, "", "\ud800", [[]], {"x": None})):
        path.with_suffix(".json").write_text(json.dumps(json.loads(text) | {key: value}))
        with pytest.raises(AtlasError, match=re.escape(f"{path}: this shard cannot be used")):
            list(read_attention([path]))


def test_every_half_that_is_not_negative_is_the_same_number_in_single_precision():
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16)  # zero, subnormal and normal ones, up to the largest
    maps = halves[:450].reshape(2, 3, 5, 15)
    for view in (halves, maps[:, ::2], maps.transpose(0, 1, 3, 2), maps[0, 0, 0, 0]):
        before = view.copy()
        assert np.array_equal(cache.widened(view), before.astype(np.float32))
        assert np.array_equal(view, before)


def units(word: list[int]) -> list[list[int]]:
    """Tokens of each unit by a slow loop: neighbours of the same word, each special token alone."""
    groups: list[list[int]] = []
    for place, mark in enumerate(word):
        if place and mark != -1 and word[place - 1] == mark:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def slowly(maps: np.ndarray, word: list[int], mode: str) -> np.ndarray:
    groups = units(word)
    columns = np.stack([maps.astype(np.float64)[..., group].sum(axis=-1) for group in groups], axis=-1)
    reduce = {"mean": np.mean, "max": np.max, "first": lambda rows, axis: rows[..., 0, :]}[mode]
    rows = np.stack([reduce(columns[..., group, :], axis=-2) for group in groups], axis=-2)
    return rows / rows.sum(axis=-1, keepdims=True) if mode == "max" and len(groups) < len(word) else rows


@st.composite
def marked_tokens(draw) -> tuple[list[int], int]:
    """Marks of tokens, special ones at any place (two together as well), and a seed for the maps."""
    word: list[int] = []
    for number, size in enumerate(draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))):
        word += [-1] * draw(st.integers(0, 2)) + [number] * size
    return word + [-1] * draw(st.integers(0, 2)), draw(st.integers(0, 99))


@settings(max_examples=60, deadline=None)
@given(example=marked_tokens(), dtype=st.sampled_from([np.float16, np.float32, np.float64]))
def test_words_equal_the_slow_loop(example, dtype):
    word, seed = example
    assert cache.unit_starts(word).tolist() == [group[0] for group in units(word)]
    maps = np.random.default_rng(seed).gamma(0.3, size=(2, 3, len(word), len(word))) + 1e-6
    maps = (maps / maps.sum(-1, keepdims=True)).astype(dtype)
    for mode in cache.WORD_MODES:
        reduced = to_words(maps, word, mode)
        assert reduced.dtype == np.float32
        np.testing.assert_allclose(reduced, slowly(maps, word, mode), rtol=2e-6, atol=1e-7)
    np.testing.assert_allclose(to_words(maps, word).sum(-1), 1, atol=2e-3 if dtype is np.float16 else 1e-5)


def test_long_words_are_summed_in_single_precision():
    # 1000 tokens of one word: in float16 a running sum would stop growing.
    long = np.full((1, 1001, 1001), 1 / 1001, dtype=np.float16)
    np.testing.assert_allclose(to_words(long, [-1] + [0] * 1000).sum(-1), np.float64(np.float16(1 / 1001)) * 1001, rtol=1e-5)
    with pytest.raises(ValueError, match="do not match 3 tokens"):
        to_words(np.ones((2, 4, 4)), [0, 1, 2])
