"""Classes of maps: numbers of the rules against loops, pictures, the network, labels, and agreement."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from attention_atlas.errors import AtlasError
from attention_atlas.studies.kovaleva2019 import CLASSES
from attention_atlas.studies.kovaleva2019.patterns import (
    LONGEST,
    SHORTEST,
    Thresholds,
    agreement,
    as_pictures,
    augmented,
    classify,
    map_numbers,
    read_labels,
    rule_labels,
    train_network,
    tuned_thresholds,
)

N = 14
SPECIAL = torch.tensor([k in (0, 6, N - 1) for k in range(N)])
SEGMENT = torch.tensor([int(k > 6) for k in range(N)])


def drawn_map(kind, n, generator):
    """A map [n, n] of a class, which of its tokens are special, three at random places, and the segment of each."""
    border = int(generator.integers(n // 3, 2 * n // 3))
    places = [int(generator.integers(0, border)), border, int(generator.integers(border + 1, n))]
    special, segment = np.isin(np.arange(n), places), (np.arange(n) > border).astype(np.int64)
    target, share = np.zeros((n, n)), generator.uniform(0.55, 0.9)
    if kind in ("vertical", "vertical_diagonal"):
        target[:, places[generator.integers(3)]] += 1.0
    if kind in ("diagonal", "vertical_diagonal"):
        target[np.arange(n), np.clip(np.arange(n) + generator.integers(-1, 2), 0, n - 1)] += 1.0
    if kind == "block":
        target += segment[:, None] == segment[None, :]
    if kind == "heterogeneous":
        # A few words, others for each row.
        for row in range(n):
            target[row, generator.choice(np.flatnonzero(~special), max(2, n // 8), replace=False)] += 1.0
    noise = generator.gamma(0.7, size=(n, n))
    rows = np.clip(generator.normal(share, 0.08, size=(n, 1)), 0.3, 0.97)
    weights = rows * target / target.sum(axis=1, keepdims=True) + (1 - rows) * noise / noise.sum(axis=1, keepdims=True)
    return tuple(map(torch.from_numpy, (weights.astype(np.float32), special, segment)))


def test_the_numbers_of_the_rules_are_those_of_loops():
    generator = torch.Generator().manual_seed(0)
    maps = torch.rand((2, 3, N, N), generator=generator).softmax(dim=-1)
    numbers = map_numbers(maps, SPECIAL, SEGMENT)
    inner = [k for k in range(N) if not SPECIAL[k]]
    pairs = [(i, j) for i in inner for j in inner]
    near = [(i, j) for i, j in pairs if abs(i - j) <= 1]
    same = [(i, j) for i, j in pairs if SEGMENT[i] == SEGMENT[j]]
    for a, b in np.ndindex(2, 3):
        weights = maps[a, b].double().numpy()
        total = sum(weights[i, j] for i, j in pairs)
        slow = [np.mean([sum(weights[i, j] for j in range(N) if SPECIAL[j]) for i in range(N)])]
        for cells in (near, same):
            slow.append(sum(weights[i, j] for i, j in cells) / total - len(cells) / len(pairs))
        assert numbers[a, b].tolist() == pytest.approx(slow, abs=1e-5)
    # A uniform map is neither diagonal nor block, and a single sentence has no block.
    assert map_numbers(torch.full((1, N, N), 1 / N), SPECIAL, SEGMENT)[0].tolist() == pytest.approx([3 / N, 0, 0], abs=1e-6)
    assert map_numbers(maps, SPECIAL, torch.zeros(N))[..., 2].abs().max() < 1e-6


def test_tuned_thresholds_have_the_largest_macro_f1_of_scikit_learn():
    generator = np.random.default_rng(3)
    numbers = generator.uniform(0, 0.6, (40, 3)).astype(np.float32)
    labels = generator.choice([0, 1, 2, 4], 40)
    tuned = tuned_thresholds(numbers, labels.tolist())

    def macro(thresholds):
        present = sorted(set(labels.tolist()))
        return f1_score(labels, rule_labels(numbers, thresholds), labels=present, average="macro", zero_division=0.0)

    others = [Thresholds(*values) for values in product((0.05, 0.2, 0.5), (0.05, 0.2, 0.5), (0.05, 0.2, 0.35))]
    assert macro(tuned) >= max(macro(thresholds) for thresholds in others)


def test_pictures_are_means_over_areas_alike_at_every_length():
    maps = torch.rand(2, 8, 8)
    small, largest, columns, rows = as_pictures(maps, torch.tensor([True] + [False] * 6 + [True]), 4).unbind(1)
    areas = maps.numpy().reshape(2, 4, 2, 4, 2)
    # Two keys to an area.
    assert small.square().numpy() == pytest.approx(2 * areas.mean(axis=(2, 4)))
    assert largest.square().numpy() == pytest.approx(areas.max(axis=(2, 4)))
    assert columns[1].tolist() == [[1, 0, 0, 1]] * 4
    assert rows[1].tolist() == [[1] * 4, [0] * 4, [0] * 4, [1] * 4]


def test_the_network_learns():
    kinds = list(enumerate(CLASSES)) * 40
    maps = [drawn_map(kind, 24, np.random.default_rng(k)) for k, (_, kind) in enumerate(kinds)]
    pictures = torch.cat([as_pictures(weights[None], special) for weights, special, _ in maps])
    labels = [label for label, _ in kinds]
    # One map more than five batches hold.
    networks = [train_network([pictures[:161]], labels[:161], 20, 0) for _ in range(2)]
    probabilities = classify(networks[0], pictures[161:])
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (probabilities.argmax(axis=1) == labels[161:]).mean() > 0.8
    assert torch.equal(*(network.output.weight for network in networks))


def test_labels_that_cannot_be_used_are_named(tmp_path):
    path = tmp_path / "labels.csv"
    for row in ("rte-1,1,2,blok", "a,1,1,block"):
        path.write_text(f"text,layer,head,label\na,1,1,block\n{row}\n")
        with pytest.raises(AtlasError, match=f":3: a map of {row.split(',')[0]} that is labelled twice, or a class other than"):
            read_labels(path)


def test_agreement_counts_as_scikit_learn_and_groups_texts():
    labels = np.asarray([0, 0, 1, 1, 2, 2, 4, 4])
    predicted = {"network": labels.copy(), "rules": np.asarray([0, 1, 1, 1, 2, 4, 4, 4])}
    table = agreement(labels, np.asarray(list("aabbccdd")), predicted, 200, 0)
    macro = table[table["class"] == "macro"].set_index("annotator")
    assert macro.loc["network", ["f1", "kappa"]].tolist() == [1, 1]
    assert macro.loc["rules", "f1"] == pytest.approx(np.mean([2 / 3, 0.8, 2 / 3, 0.8]))
    assert macro.loc["rules", "kappa"] == pytest.approx((0.75 - 0.25) / (1 - 0.25))
    assert macro.loc["rules", "ci_low"] < macro.loc["rules", "f1"] <= macro.loc["rules", "ci_high"]
    by_class = table[(table["annotator"] == "rules") & (table["class"] != "macro")]
    assert by_class["f1"].tolist() == pytest.approx(f1_score(labels, predicted["rules"], average=None, labels=[0, 1, 2, 4]))


RULES = Thresholds(vertical=0.3, diagonal=0.15, block=0.25)
"""The thresholds that the labels of the workflow give."""


def test_augmented_maps_keep_their_class_and_get_other_lengths():
    lengths = []
    for place, kind in enumerate(CLASSES):
        classes = []
        for seed in range(40):
            generator = np.random.default_rng([place, seed])
            weights, special, _ = drawn_map(kind, 24, generator)
            weights, special = augmented(weights.numpy(), special.numpy(), kind, generator)
            assert weights.sum(axis=1) == pytest.approx(1, abs=1e-5)
            assert (special.sum(), weights.shape) == (3, (len(special),) * 2)
            lengths.append(len(special))
            numbers = map_numbers(torch.from_numpy(weights.copy()), torch.from_numpy(special.copy()), torch.zeros(len(special)))
            classes.append(rule_labels(numbers[None].numpy(), RULES)[0])
        # Which segment a token is of is not kept, so that the rules see no blocks.
        expected = "heterogeneous" if kind == "block" else kind
        assert np.mean(np.equal(classes, CLASSES.index(expected))) >= 0.8, kind
    assert SHORTEST <= min(lengths) < 16
    assert 200 < max(lengths) <= LONGEST


@pytest.mark.parametrize("n", [16, 48, 256])
def test_the_rules_know_each_class_at_every_length_and_column(n):
    maps = [[drawn_map(kind, n, np.random.default_rng([n, place, k])) for k in range(8)] for place, kind in enumerate(CLASSES)]
    classes = [[rule_labels(map_numbers(*one)[None].numpy(), RULES)[0] for one in of_kind] for of_kind in maps]
    recall = np.array([np.mean(np.equal(of_kind, place)) for place, of_kind in enumerate(classes)])
    assert recall.min() >= 0.6, recall
    assert recall.mean() >= 0.9, recall
