"""Labelled maps at other places and lengths, and classifiers on maps of any length with stripes at any column."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from synthetic_maps import LENGTHS, draw

from attention_atlas.studies.kovaleva2019.map_augmentation import LONGEST, SHORTEST, augmented, moved, resized
from attention_atlas.studies.kovaleva2019.map_network import as_pictures, classify, train_network
from attention_atlas.studies.kovaleva2019.names import CLASSES
from attention_atlas.studies.kovaleva2019.rule_labels import Thresholds, map_numbers, rule_labels

SPECIAL = np.array([True, False, False, False, True, False, False, True])
IN_SAMPLE = Thresholds(vertical=0.3, diagonal=0.15, block=0.25)
"""Those that the 508 labels give."""


def striped(column, share=0.9, n=8):
    weights = np.full((n, n), (1 - share) / (n - 1), dtype=np.float32)
    weights[:, column] = share
    return weights


def test_a_stripe_moves_with_its_special_token():
    places = set()
    for seed in range(20):
        weights, special = moved(striped(7), SPECIAL, np.random.default_rng(seed))
        (column,) = np.flatnonzero(weights.mean(axis=0) > 0.8)
        assert special[column]
        assert special.sum() == 3
        assert weights.sum(axis=1) == pytest.approx(np.ones(8), abs=1e-6)
        places.add(int(column))
    assert len(places) > 4, "it comes to stand anywhere"


def test_the_other_pieces_keep_their_order():
    weights = np.arange(64, dtype=np.float32).reshape(8, 8)
    there, special = moved(weights, SPECIAL, np.random.default_rng(1))
    assert there[np.ix_(~special, ~special)].tolist() == weights[np.ix_(~SPECIAL, ~SPECIAL)].tolist()


@pytest.mark.parametrize("length", [6, 8, 12, 64, 256])
def test_a_map_of_another_length_keeps_its_pattern(length):
    generator = np.random.default_rng(length)
    n = 8
    diagonal = np.full((n, n), 0.02, dtype=np.float32)
    diagonal[np.arange(n), np.arange(n)] += 0.84
    weights, special = resized(diagonal / diagonal.sum(axis=1, keepdims=True), SPECIAL, length, generator)
    assert weights.shape == (length, length)
    assert weights.sum(axis=1) == pytest.approx(np.ones(length), abs=1e-5)
    assert special.sum() == 3
    assert np.diag(weights)[~special].min() > 0.7, "a diagonal stays one piece wide"
    weights, special = resized(striped(4), SPECIAL, length, generator)
    assert weights[:, np.flatnonzero(special)[1]] == pytest.approx(np.full(length, 0.9), abs=0.1)
    flat, _ = resized(np.full((n, n), 1 / n, dtype=np.float32), np.zeros(n, dtype=bool), length, generator)
    assert flat.max() < 2.1 / length, "a flat map stays flat"


def test_augmented_maps_have_all_lengths():
    generator = np.random.default_rng(0)
    lengths = [len(augmented(striped(0), SPECIAL, generator)[1]) for _ in range(40)]
    assert min(lengths) < 24
    assert max(lengths) > 120
    assert min(lengths) >= SHORTEST
    assert max(lengths) <= LONGEST


def shown(maps):
    return torch.cat([as_pictures(torch.from_numpy(m.weights)[None], torch.from_numpy(m.special), 16, "sqrt") for m in maps])


def held_out(n, count):
    return [
        (place, draw(kind, n, np.random.default_rng([n, place, k, 99])))
        for place, kind in enumerate(CLASSES)
        for k in range(count)
    ]


@pytest.mark.parametrize("n", LENGTHS)
def test_the_rules_know_each_class_at_every_length_and_column(n):
    maps = held_out(n, 8)
    numbers = [map_numbers(*(torch.from_numpy(a) for a in (m.weights, m.special, m.segment))).numpy() for _, m in maps]
    classes = rule_labels(np.stack(numbers), IN_SAMPLE)
    truth = np.asarray([place for place, _ in maps])
    right = {kind: float((classes[truth == place] == place).mean()) for place, kind in enumerate(CLASSES)}
    assert min(right.values()) >= 0.6, right
    assert np.mean(list(right.values())) >= 0.9, right


@pytest.mark.long
def test_augmentation_teaches_the_network_stripes_at_other_columns_and_lengths():
    """Trained on short maps with the stripe at the first column, as the labelled ones are."""
    generator = np.random.default_rng(0)
    train, labels = [], []
    for place, kind in enumerate(CLASSES):
        k = 0
        while len(labels) < 40 * (place + 1):
            map_ = draw(kind, int(generator.integers(16, 40)), np.random.default_rng([place, k]))
            k += 1
            if "vertical" not in kind or map_.weights.mean(axis=0)[:4].max() > 0.25:
                train.append(map_)
                labels.append(place)
    plain = shown(train)
    sets = []
    for _ in range(6):
        pairs = [augmented(m.weights, m.special, generator) for m in train]
        sets.append(torch.cat([as_pictures(torch.from_numpy(w)[None], torch.from_numpy(s), 16, "sqrt") for w, s in pairs]))
    maps = [pair for n in (96, 256) for pair in held_out(n, 8)]
    truth = np.asarray([place for place, _ in maps])
    pictures = shown([m for _, m in maps])

    def right(trained_on):
        network = train_network(trained_on, labels, 24, 0)
        return float((classify(network, pictures).argmax(axis=1) == truth).mean())

    augmented_right, plain_right = right([*sets, plain]), right([plain])
    assert augmented_right > plain_right + 0.1, (augmented_right, plain_right)
