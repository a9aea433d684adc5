"""Distance features: equal to the equation cell by cell, a partition of every map, in every reading."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_atlas.attention.cache import CachedExample
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_types import (
    DEFAULT,
    FEATURES,
    FeatureOptions,
    alternatives,
    distance_features,
    feature_of_cells,
    mean_features,
    special_columns,
)


def attention(heads, n, seed=0):
    raw = np.random.default_rng(seed).random((heads, n, n))
    return raw / raw.sum(axis=-1, keepdims=True)


def slow(a, special, options):
    """One head, one token, one other token at a time."""
    n = len(a)
    sums = dict.fromkeys(FEATURES, 0.0)
    for s in range(n):
        for t in range(n):
            is_self = s == t and (special[t] < 0 or options.diagonal == "self")
            if is_self:
                name = "self"
            elif special[t] >= 0:
                name = FEATURES[special[t]]
            else:
                d = abs(s - t)
                window = math.floor(16 * d / n) if options.binning == "floor" else math.ceil(16 * d / n) - 1
                name = f"window_{window}"
            sums[name] += a[s, t]
    return [sums[name] / n for name in FEATURES]


@pytest.mark.parametrize("options", alternatives())
@pytest.mark.parametrize("n", [1, 2, 5, 16, 17, 40])
def test_features_equal_the_equation(options, n):
    special = np.random.default_rng(n).integers(-1, 4, n)
    maps = attention(6, n).reshape(2, 3, n, n)
    features = distance_features(maps, feature_of_cells(special, options))
    assert features.shape == (2, 3, 21)
    expected = [[slow(maps[i, j], special, options) for j in range(3)] for i in range(2)]
    assert features == pytest.approx(np.asarray(expected), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 70), seed=st.integers(0, 999), number=st.integers(0, 3))
def test_features_sum_to_one_and_each_cell_has_one(n, seed, number):
    special = np.random.default_rng(seed).integers(-1, 4, n)
    cells = feature_of_cells(special, alternatives()[number])
    assert cells.min() >= 0
    assert cells.max() < len(FEATURES)
    features = distance_features(attention(2, n, seed), cells)
    assert features.sum(axis=-1) == pytest.approx(1, abs=1e-5)


def test_readings_differ_where_the_text_is_open():
    n = 16
    plain = np.full(n, -1)
    # One token away is 16 * 1 / 16 = 1: window 1 rounded down, window 0 rounded up.
    assert FEATURES[feature_of_cells(plain, FeatureOptions("floor"))[0, 1]] == "window_1"
    assert FEATURES[feature_of_cells(plain, FeatureOptions("ceil"))[0, 1]] == "window_0"
    special = plain.copy()
    special[3] = 1
    assert FEATURES[feature_of_cells(special, DEFAULT)[3, 3]] == "sep"
    assert FEATURES[feature_of_cells(special, FeatureOptions(diagonal="self"))[3, 3]] == "self"
    assert FEATURES[feature_of_cells(special, FeatureOptions(diagonal="self"))[2, 3]] == "sep"


def test_special_tokens_are_known_by_their_pieces():
    tokens = ("[CLS]", "hi", ",", "there", ".", "##.", "[SEP]", "Ġ,", "[SEP]")
    assert special_columns(tokens, "[CLS]", "[SEP]").tolist() == [0, -1, 2, -1, 3, -1, 1, 2, 1]
    assert special_columns(("a", "."), None, None).tolist() == [-1, 3]


def cached(n, record, level="tokens"):
    maps = attention(6, n, record).reshape(2, 3, n, n).astype(np.float16)
    tokens = ("[CLS]", *("w" for _ in range(n - 2)), "[SEP]")
    return CachedExample(record, f"e{record}", level, tokens, (-1, *range(n - 2), -1), ("w",) * (n - 2), maps)


def test_one_pass_gives_all_options():
    examples = [cached(5, 0), cached(9, 1)]
    features = mean_features(examples, "[CLS]", "[SEP]", alternatives())
    assert features.shape == (4, 2, 2, 3, 21)
    special = special_columns(examples[1].tokens, "[CLS]", "[SEP]")
    alone = distance_features(examples[1].maps, feature_of_cells(special, alternatives()[2]))
    assert (features[2, 1] == alone).all()
    with pytest.raises(AtlasError, match="no example to measure"):
        mean_features([], "[CLS]", "[SEP]", [DEFAULT])
    with pytest.raises(AtlasError, match="level: tokens"):
        mean_features([cached(5, 0, "words")], "[CLS]", "[SEP]", [DEFAULT])
