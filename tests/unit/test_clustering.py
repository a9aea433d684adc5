"""Figure 6: planted structure is found, names follow the rules of the published code, and p is uniform under the null."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from small_shards import write_example_shards

from attention_atlas.attention.cache import read_attention
from attention_atlas.attention.divergence import head_divergence
from attention_atlas.io.tables import RunLabel, read_table, write_table
from attention_atlas.studies.clark2019.clustering import (
    behaviours,
    clusters,
    layout_quality,
    mean_between,
    mean_within,
    named_heads,
    permutation_p,
    plane,
    summed_divergences,
)
from attention_atlas.studies.clark2019.figures import figure6

OPTIONS = {"smoothing": 0.001, "blocks": 4, "broad_entropy": 3.8, "position": 0.5, "special": 0.6, "permutations": 199}


def symmetric(generator, size):
    half = np.triu(generator.random((size, size)), 1)
    return half + half.T


def test_distances_of_segments_are_means_over_tokens(tmp_path):
    shards, maps = write_example_shards(tmp_path, sizes=[5, 9, 4], layers=2, heads=2)
    cached = list(read_attention(shards))
    sums, tokens, _ = summed_divergences(iter(cached), cached, 0.001, 2, 1)
    total = sum(head_divergence(m.reshape(4, *m.shape[2:]), 0.001) for m in maps)
    assert sums.sum(axis=0) == pytest.approx(total, abs=1e-6)
    assert tokens.tolist() == [9, 9]
    (one,), (n,), _ = summed_divergences(iter(cached[:1]), cached[:1], 0.001, 2, 1)
    assert n == 5
    assert one == pytest.approx(head_divergence(maps[0].reshape(4, 5, 5), 0.001), abs=1e-6)


def test_points_of_the_plane_are_found_again():
    points = np.random.default_rng(2).normal(size=(15, 2))
    distances = cdist(points, points)
    layout = plane(distances, seed=0)
    assert procrustes(points, layout)[2] < 1e-6
    quality = layout_quality(distances, layout)
    assert quality["stress"] < 1e-3
    assert quality["pearson"] > 0.999
    # Turned so that x is the widest direction.
    assert layout[:, 0].std() >= layout[:, 1].std()
    assert np.abs(layout.mean(axis=0)).max() < 1e-9
    assert plane(distances, seed=0) == pytest.approx(layout, abs=0)


def test_means_within_and_between_by_hand():
    distances = np.array([[0, 1, 5, 6], [1, 0, 7, 8], [5, 7, 0, 3], [6, 8, 3, 0]], dtype=float)
    labels = np.array([1, 1, 2, 2])
    assert mean_within(distances, labels) == 2
    assert mean_between(distances, labels) == 6.5


def test_permutation_finds_planted_layers_and_counts_by_enumeration():
    labels = np.repeat([1, 2, 3], 4)
    generator = np.random.default_rng(5)
    planted = symmetric(generator, 12) + 2 * (labels[:, None] != labels[None, :])
    np.fill_diagonal(planted, 0)
    assert permutation_p(planted, labels, 999, seed=0) == pytest.approx(1 / 1000)
    # Of the three ways to pair four heads one is the observed one: a third of all permutations is as extreme.
    small = np.array([[0, 1, 5, 6], [1, 0, 7, 8], [5, 7, 0, 3], [6, 8, 3, 0]], dtype=float)
    assert permutation_p(small, np.array([1, 1, 2, 2]), 3000, seed=1) == pytest.approx(1 / 3, abs=0.03)


def test_p_is_uniform_without_structure():
    labels = np.repeat([1, 2, 3, 4], 4)
    values = [permutation_p(symmetric(np.random.default_rng(k), 16), labels, 99, seed=k) for k in range(120)]
    assert 0.4 < np.mean(values) < 0.6
    assert np.mean(np.array(values) <= 0.1) < 0.2


def surface_of(values):
    rows = [(measure, 1, head, value) for measure, heads in values.items() for head, value in enumerate(heads, start=1)]
    return pd.DataFrame(rows, columns=["measure", "layer", "head", "value"])


def test_later_behaviours_override_earlier_ones():
    values = {
        "next": [0.6, 0.1, 0.1, 0.5, 0.6, 0.0, 0.6],
        "previous": [0.1, 0.6, 0.1, 0.1, 0.6, 0.0, 0.1],
        "entropy": [1.0, 1.0, 3.9, 1.0, 3.8, 1.0, 3.9],
        "cls": [0.0, 0.0, 0.0, 0.0, 0.0, 0.7, 0.0],
        "sep": [0.0, 0.0, 0.0, 0.0, 0.0, 0.7, 0.0],
        "punct": [0.0, 0.0, 0.0, 0.0, 0.0, 0.6, 0.61],
    }
    named = behaviours(surface_of(values), OPTIONS)["behaviour"].tolist()
    assert named == ["next", "previous", "broad", "none", "previous", "sep", "punctuation"]


def test_a_model_without_special_tokens_has_no_such_behaviour():
    values = {"next": [0.6, 0.1], "previous": [0.1, 0.1], "entropy": [1.0, 1.0], "punct": [0.0, 0.9]}
    assert behaviours(surface_of(values), OPTIONS)["behaviour"].tolist() == ["next", "punctuation"]


def test_heads_are_named_by_their_relations():
    relations = pd.DataFrame({"relation": ["det", "pobj", "prep", "dobj"], "layer": [1, 2, 3, 1], "head": [4, 5, 6, 4]})
    assert named_heads(relations, None) == {(1, 4): "det, dobj", (2, 5): "pobj"}
    table2 = pd.DataFrame(
        {
            "system": ["nearest", "best_head", "best_head"],
            "mention_type": ["all", "pronoun", "all"],
            "layer": [None, 6, 2],
            "head": [None, 6, 5],
        }
    )
    assert named_heads(relations, table2)[(2, 5)] == "coreference, pobj"


def test_tables_and_figure_from_shards(tmp_path):
    shards, maps = write_example_shards(tmp_path, sizes=[6, 8, 7, 9], layers=3, heads=3)
    cached = list(read_attention(shards))
    surface = pd.concat(
        [
            surface_of({m: [0.7] * 3 for m in ("next",)} | {m: [0.1] * 3 for m in ("previous", "entropy", "punct")}).assign(
                layer=k
            )
            for k in (1, 2, 3)
        ]
    )
    relations = pd.DataFrame({"relation": ["det"], "layer": [2], "head": [3]})
    tables, again = (clusters(iter(cached), cached, surface, relations, OPTIONS, 1, 100, 0) for _ in range(2))
    for name, frame in again.items():
        pd.testing.assert_frame_equal(frame, tables[name], check_exact=True)
    for name, frame in tables.items():
        write_table(frame, tmp_path / f"{name}.tsv")
        tables[name] = read_table(tmp_path / f"{name}.tsv")
    row = tables["distances"].query("layer_a == 1 and head_a == 3 and layer_b == 2 and head_b == 1").iloc[0]
    divergences = sum(head_divergence(m.reshape(9, *m.shape[2:]), 0.001) for m in maps) / 30
    assert (len(tables["distances"]), row["js"]) == (36, pytest.approx(divergences[2, 3], rel=1e-5))
    heads = tables["heads"]
    assert heads.columns.tolist() == ["layer", "head", "x", "y", "behaviour", "relation"]
    assert heads["behaviour"].tolist() == ["next"] * 9
    assert heads.loc[heads["relation"].notna(), ["layer", "head", "relation"]].to_numpy().tolist() == [[2, 3, "det"]]
    test = tables["test"].set_index("quantity")
    layers = np.repeat([1, 2, 3], 3)
    difference = mean_between(divergences, layers) - mean_within(divergences, layers)
    assert test.loc["difference", "value"] == pytest.approx(difference, rel=1e-4)
    assert test.loc["difference", ["n", "unit", "units"]].tolist() == [9, "segments", 4]
    assert test.loc["difference", "ci_low"] <= test.loc["difference", "value"] <= test.loc["difference", "ci_high"]
    pictures = {kind: tmp_path / f"f.{kind}" for kind in ("svg", "png", "pdf")}
    summary = pd.DataFrame({"quantity": ["segments"], "value": [4]})
    drawn = figure6(heads, summary)
    drawn.write(pictures, {"segments": RunLabel("r", "m", "c")})
    shown = pictures["svg"].read_text(encoding="utf-8")
    assert "det (2-3)" in shown
    assert all(path.stat().st_size > 1000 for path in pictures.values())
