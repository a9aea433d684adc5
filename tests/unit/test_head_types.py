"""Distance features equal Equation 2 cell by cell in every reading; planted types are found and named, ties are refused."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from attention_atlas.attention.cache import CachedExample
from attention_atlas.errors import AtlasError
from attention_atlas.methods import head_types
from attention_atlas.methods.head_types import DEFAULT, FEATURES, TYPES, UNNAMED, alternatives, feature_of_cells, fits
from attention_atlas.studies.guan2020.types import (
    HALVES,
    Features,
    consistent_in_all,
    halved_labels,
    pairwise_agreement,
    stability,
)

# Mass on special tokens, near, far.
PLANTED = dict(zip(TYPES, [(0.1, 0.1, 0.8), (0.45, 0.1, 0.45), (0.9, 0.05, 0.05), (0.1, 0.8, 0.1)], strict=True))


def slow(a, special, options):
    """One head, one token, one other token at a time."""
    n = len(a)
    sums = dict.fromkeys(FEATURES, 0.0)
    for s, t in itertools.product(range(n), repeat=2):
        d = abs(s - t)
        if d == 0 and (special[t] < 0 or options.diagonal == "self"):
            name = "self"
        elif special[t] >= 0:
            name = FEATURES[special[t]]
        else:
            name = f"window_{math.floor(16 * d / n) if options.binning == 'floor' else math.ceil(16 * d / n) - 1}"
        sums[name] += a[s, t]
    return [sums[name] / n for name in FEATURES]


@pytest.mark.parametrize("options", alternatives())
@pytest.mark.parametrize("n", [1, 2, 5, 16, 17, 40])
def test_features_equal_the_equation_and_sum_to_one(options, n):
    generator = np.random.default_rng(n)
    special = generator.integers(-1, 4, n)
    maps = generator.dirichlet(np.ones(n), (2, 3, n))
    features = head_types.distance_features(maps, feature_of_cells(special, options))
    expected = [[slow(maps[i, j], special, options) for j in range(3)] for i in range(2)]
    assert features == pytest.approx(np.asarray(expected), abs=1e-6)
    assert features.sum(axis=-1) == pytest.approx(1, abs=1e-5)


def cached(n, record, level="tokens"):
    maps = np.random.default_rng(record).dirichlet(np.ones(n), (2, 3, n)).astype(np.float16)
    tokens = ("[CLS]", *("w" for _ in range(n - 2)), "[SEP]")
    return CachedExample(record, f"e{record}", level, tokens, (-1, *range(n - 2), -1), ("w",) * (n - 2), maps)


def test_one_pass_gives_all_options():
    examples = [cached(5, 0), cached(9, 1)]
    features = head_types.mean_features(examples, "[CLS]", "[SEP]", alternatives())
    special = head_types.special_columns(examples[1].tokens, "[CLS]", "[SEP]")
    alone = head_types.distance_features(examples[1].maps, feature_of_cells(special, alternatives()[2]))
    assert (features[2, 1] == alone).all()
    # Special tokens are known by their pieces.
    tokens = ("[CLS]", "hi", ",", "there", ".", "##.", "[SEP]", "Ġ,", "[SEP]")
    assert head_types.special_columns(tokens, "[CLS]", "[SEP]").tolist() == [0, -1, 2, -1, 3, -1, 1, 2, 1]
    with pytest.raises(AtlasError, match="level: tokens"):
        head_types.mean_features([cached(5, 0, "words")], "[CLS]", "[SEP]", [DEFAULT])


def feature(special, near, far):
    return np.concatenate([[special / 2] * 2, [0] * 2, [near / 2] * 2, [far / 15] * 15])


def planted(noise=0.01, seed=0):
    """Features of twelve heads of each type in random order, and their types."""
    generator = np.random.default_rng(seed)
    kinds = generator.permutation(np.repeat(TYPES, 12)).tolist()
    rows = np.abs([feature(*PLANTED[kind]) + noise * generator.normal(size=len(FEATURES)) for kind in kinds])
    return rows / rows.sum(axis=1, keepdims=True), kinds


@pytest.mark.parametrize("method", ["kmeans", "mixture"])
def test_planted_types_are_found_and_named(method):
    features, kinds = planted()
    labels, means = head_types.clusters(features, 4, 0, method)
    named = head_types.names(means)
    assert [named[k] for k in labels] == kinds
    assert means[labels[0]] == pytest.approx(features[labels == labels[0]].mean(axis=0))
    others, other_kinds = planted(noise=0.02, seed=5)
    assert list(head_types.nearest_clusters(others, features, kinds)) == other_kinds


def test_names_are_the_best_of_all_namings():
    for seed in range(20):
        means = np.random.default_rng(seed).dirichlet(np.ones(len(FEATURES)), 4)
        table = fits(means)
        assigned = [TYPES.index(name) for name in head_types.names(means)]
        best = max(sum(table[k, naming[k]] for k in range(4)) for naming in itertools.permutations(range(4)))
        assert sum(table[k, assigned[k]] for k in range(4)) == pytest.approx(best)


@pytest.mark.parametrize(
    ("special", "near", "far", "fitting"),
    [
        (0.1, 0.1, 0.8, {"dense"}),
        (0.3, 0.1, 0.6, {"dense", "dense_vertical"}),
        (0.6, 0.1, 0.3, {"vertical", "dense_vertical"}),
        (0.9, 0.05, 0.05, {"vertical"}),
        (0.1, 0.8, 0.1, {"diagonal"}),
        (0.4, 0.4, 0.2, set()),
    ],
)
def test_a_cluster_fits_the_types_whose_parts_of_attention_are_largest(special, near, far, fitting):
    mean = feature(special, near, far)[None]
    assert head_types.profiles(mean)[0] == pytest.approx([special, near, far])
    assert {name for name, fit in zip(TYPES, fits(mean)[0], strict=True) if fit > 1e-9} == fitting


def test_a_cluster_that_does_not_fit_what_is_left_is_unnamed():
    features, kinds = planted()
    # Instead of both special and far tokens the second cluster looks at near ones as well, less than the diagonal heads do.
    features[np.asarray(kinds) == "dense_vertical"] = feature(0.32, 0.45, 0.23)
    types = head_types.types_of(features, 0)
    assert list(types.clusters) == kinds
    assert list(types.names) == [UNNAMED if kind == "dense_vertical" else kind for kind in kinds]


def test_a_tie_is_refused_unless_it_is_between_names_that_fit_no_cluster():
    with pytest.raises(AtlasError, match="two namings fit equally well"):
        head_types.names(np.asarray([feature(0.3, 0.3, 0.4)] * 4))
    # The last two fit neither of the remaining types, and both by the same margin.
    means = np.asarray([feature(*shares) for shares in [(0.1, 0.1, 0.8), (0.1, 0.8, 0.1), (0.1, 0.6, 0.3), (0.15, 0.55, 0.3)]])
    assert fits(means)[2:, 1] == pytest.approx(fits(means)[2:, 2])
    assert head_types.names(means)[:2] == ("dense", "diagonal")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_matching_is_the_best_renumbering(pairs):
    labels, reference = (np.asarray(side) for side in zip(*pairs, strict=True))
    renumbered = head_types.matched(labels, reference, 4)
    best = max((np.asarray(p)[labels] == reference).mean() for p in itertools.permutations(range(4)))
    assert (renumbered == reference).mean() == pytest.approx(best)
    assert adjusted_rand_score(renumbered, labels) == 1


@pytest.mark.parametrize("halve", HALVES)
def test_planted_types_are_stable_and_others_are_not(halve):
    features, kinds = planted()
    examples = features + 0.001 * np.random.default_rng(1).normal(size=(6, *features.shape))
    labels = halved_labels(examples, halve, 4, 5, 0)
    assert labels.shape == (5, len(kinds))
    assert (pairwise_agreement(labels, 4) == 1).all()
    assert consistent_in_all(labels, head_types.clusters(features, 4, 0)[0], 4) == 1
    noise = np.random.default_rng(0).random((6, *features.shape))
    assert pairwise_agreement(halved_labels(noise, halve, 4, 5, 0), 4).mean() < 0.9


def test_the_interval_of_stability_is_that_of_a_further_set_of_halves():
    """One set of halves says little about heads without clusters."""
    noise = np.random.default_rng(0).random((4, 2, 6, 8, 21)).astype(np.float32)
    options, further = head_types.FeatureOptions(), []
    row = stability({"squad": Features(noise)}, options, 3, 12, 0).set_index("halved").loc["heads"]
    values = Features(noise).by_example(options)
    reference, _ = head_types.clusters(values.mean(axis=0), 4, 0)
    for seed in range(100, 160, 3):
        further.append(consistent_in_all(halved_labels(values, "heads", 4, 3, seed), reference, 4))
    assert min(further) < row["consistent_in_all"] < max(further)
    inside = [row["consistent_in_all_ci_low"] <= share <= row["consistent_in_all_ci_high"] for share in further]
    assert np.mean(inside) >= 0.8
    assert row["consistent_in_all_ci_high"] - row["consistent_in_all_ci_low"] < 1.5 * np.ptp(further)
