"""Labelled maps at other places and lengths, and classifiers on maps of any length with stripes at any column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch
import yaml

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.models.card import read_card
from attention_atlas.models.loading import describe, load_model
from attention_atlas.studies.kovaleva2019 import CLASSES
from attention_atlas.studies.kovaleva2019.patterns import (
    LONGEST,
    SHORTEST,
    MapParts,
    Thresholds,
    as_pictures,
    augmented,
    classify,
    labelled_maps,
    map_numbers,
    parts_of,
    resized,
    rule_labels,
    special_moved,
    special_tokens,
    train_network,
    training_pictures,
    varied,
)

SPECIAL = np.array([True, False, False, False, True, False, False, True])
IN_SAMPLE = Thresholds(vertical=0.3, diagonal=0.15, block=0.25)
"""Those that the 508 labels give."""


LENGTHS = (16, 24, 48, 96, 160, 256)
"""Numbers of tokens of the generated maps, which share no code with the augmentation."""


class GeneratedMap(NamedTuple):
    """A map [n, n], which of its tokens are special [n], and the segment of each [n]."""

    weights: np.ndarray
    special: np.ndarray
    segment: np.ndarray

    def picture(self):
        """[1, view, size, size], see `as_pictures`."""
        return as_pictures(torch.from_numpy(self.weights)[None], torch.from_numpy(self.special))

    def numbers(self):
        """[3], see `map_numbers`."""
        return map_numbers(*(torch.from_numpy(values) for values in self)).numpy()


def draw(kind, n, generator):
    """A map of a class with n tokens, of which three at random positions are special."""
    border = int(generator.integers(n // 3, 2 * n // 3))
    places = [int(generator.integers(0, border)), border, int(generator.integers(border + 1, n))]
    special = np.zeros(n, dtype=bool)
    special[places] = True
    segment = (np.arange(n) > border).astype(np.int64)
    share = generator.uniform(0.55, 0.9)
    target = np.zeros((n, n))
    if kind in ("vertical", "vertical_diagonal"):
        column = places[generator.integers(3)]
        target[:, column] += 1.0
    if kind in ("diagonal", "vertical_diagonal"):
        offset = int(generator.integers(-1, 2))
        target[np.arange(n), np.clip(np.arange(n) + offset, 0, n - 1)] += 1.0
    if kind == "block":
        same = segment[:, None] == segment[None, :]
        target += same / same.sum(axis=1, keepdims=True)
    if kind == "heterogeneous":
        # A few words, others for each row.
        count = max(2, n // 8)
        for row in range(n):
            target[row, generator.choice(np.flatnonzero(~special), count, replace=False)] += 1.0
    target /= target.sum(axis=1, keepdims=True)
    noise = generator.gamma(0.7, size=(n, n))
    noise /= noise.sum(axis=1, keepdims=True)
    rows = np.clip(generator.normal(share, 0.08, size=(n, 1)), 0.3, 0.97)
    weights = rows * target + (1 - rows) * noise
    return GeneratedMap((weights / weights.sum(axis=1, keepdims=True)).astype(np.float32), special, segment)


def striped(column, share=0.9, n=8):
    weights = np.full((n, n), (1 - share) / (n - 1), dtype=np.float32)
    weights[:, column] = share
    return weights


def test_a_stripe_moves_with_its_special_token():
    places = set()
    for seed in range(20):
        weights, special = special_moved(striped(7), SPECIAL, np.random.default_rng(seed))
        (column,) = np.flatnonzero(weights.mean(axis=0) > 0.8)
        assert special[column]
        assert special.sum() == 3
        assert weights.sum(axis=1) == pytest.approx(np.ones(8), abs=1e-6)
        places.add(int(column))
    assert len(places) > 4, "it comes to stand anywhere"


def test_the_other_pieces_keep_their_order():
    weights = np.arange(64, dtype=np.float32).reshape(8, 8)
    there, special = special_moved(weights, SPECIAL, np.random.default_rng(1))
    assert there[np.ix_(~special, ~special)].tolist() == weights[np.ix_(~SPECIAL, ~SPECIAL)].tolist()


@pytest.mark.parametrize("length", [6, 8, 12, 64, 256])
def test_a_map_of_another_length_keeps_its_pattern(length):
    generator = np.random.default_rng(length)
    n = 8
    diagonal = np.full((n, n), 0.02, dtype=np.float32)
    diagonal[np.arange(n), np.arange(n)] += 0.84
    weights, special = resized(parts_of(diagonal / diagonal.sum(axis=1, keepdims=True), SPECIAL), SPECIAL, length, generator)
    assert weights.shape == (length, length)
    assert weights.sum(axis=1) == pytest.approx(np.ones(length), abs=1e-5)
    assert special.sum() == 3
    assert np.diag(weights)[~special].min() > 0.7, "a diagonal stays one piece wide"
    weights, special = resized(parts_of(striped(4), SPECIAL), SPECIAL, length, generator)
    assert weights[:, np.flatnonzero(special)[1]] == pytest.approx(np.full(length, 0.9), abs=0.1)
    no_special = np.zeros(n, dtype=bool)
    flat, _ = resized(parts_of(np.full((n, n), 1 / n, dtype=np.float32), no_special), no_special, length, generator)
    assert flat.max() < 2.1 / length, "a flat map stays flat"


def test_augmented_maps_have_all_lengths():
    generator = np.random.default_rng(0)
    lengths = [len(augmented(striped(0), SPECIAL, "vertical", generator)[1]) for _ in range(40)]
    assert min(lengths) < 24
    assert max(lengths) > 120
    assert min(lengths) >= SHORTEST
    assert max(lengths) <= LONGEST


def test_a_map_is_the_sum_of_its_parts():
    weights = np.random.default_rng(0).dirichlet(np.ones(8), size=8).astype(np.float32)
    parts = parts_of(weights, SPECIAL)
    whole = parts.stripes + parts.rest
    for row in range(8):
        for k, offset in enumerate((-1, 0, 1)):
            if 0 <= row + offset < 8:
                whole[row, row + offset] += parts.band[row, k]
            else:
                assert parts.band[row, k] == 0
    assert whole == pytest.approx(weights, abs=1e-6)
    assert parts.stripes[:, ~SPECIAL].max() == 0
    assert parts.rest[:, SPECIAL].max() == 0
    assert parts.band[SPECIAL].max() == 0


@pytest.mark.parametrize("kind", CLASSES)
def test_what_makes_a_class_gets_no_weaker(kind):
    weights = np.random.default_rng(1).dirichlet(np.ones(8), size=8).astype(np.float32)
    # A band as weak as those of vertical and diagonal maps often are, beside clear stripes.
    before = parts_of(0.5 * weights + 0.5 * striped(4), SPECIAL)

    def sums(parts: MapParts):
        return np.asarray([parts.band.sum(), parts.stripes.sum(), parts.rest.sum()])

    offsets = set()
    for seed in range(20):
        after = varied(before, kind, np.random.default_rng(seed))
        band, stripes, rest = sums(after) / sums(before)
        offsets.add(int(after.band.sum(axis=0).argmax()))
        if kind == "vertical":
            assert (band <= 1, stripes, rest <= 1) == (True, 1, True)
        if kind == "diagonal":
            assert (round(band, 5), stripes <= 1, rest <= 1) == (1, True, True)
        if kind == "vertical_diagonal":
            assert (band >= 1 - 1e-5, stripes, rest <= 1) == (True, 1, True)
        if kind in ("block", "heterogeneous"):
            assert (round(band, 5), stripes <= 1, rest) == (1, True, 1)
    assert offsets == {0, 1, 2}, "a band at any of the three offsets"


@pytest.mark.parametrize("length", [16, 48, 256])
def test_a_picture_does_not_depend_on_the_length(length):
    """Blocks, a stripe and a flat map, each without noise: what the areas attend to is the same at every length."""
    half = length // 2
    block, flat = np.zeros((length, length), np.float32), np.full((length, length), 1 / length, np.float32)
    block[:half, :half] = block[half:, half:] = 1 / half
    stripe = np.eye(length, dtype=np.float32)[[0] * length]
    maps = torch.from_numpy(np.stack([block, flat, stripe]))
    blocks, flats, stripes = as_pictures(maps, torch.zeros(length))[:, 0].square().numpy()
    assert flats == pytest.approx(np.full((16, 16), 1 / 16))
    assert blocks == pytest.approx(np.kron(np.eye(2), np.full((8, 8), 1 / 8)))
    assert stripes == pytest.approx(np.eye(16)[[0] * 16])


def shown(maps):
    return torch.cat([m.picture() for m in maps])


def held_out(n, count):
    return [
        (place, draw(kind, n, np.random.default_rng([n, place, k, 99])))
        for place, kind in enumerate(CLASSES)
        for k in range(count)
    ]


@pytest.mark.parametrize("n", LENGTHS)
def test_the_rules_know_each_class_at_every_length_and_column(n):
    maps = held_out(n, 8)
    classes = rule_labels(np.stack([m.numbers() for _, m in maps]), IN_SAMPLE)
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
        pairs = [augmented(m.weights, m.special, CLASSES[k], generator) for m, k in zip(train, labels, strict=True)]
        sets.append(torch.cat([as_pictures(torch.from_numpy(w)[None], torch.from_numpy(s)) for w, s in pairs]))
    maps = [pair for n in (96, 256) for pair in held_out(n, 8)]
    truth = np.asarray([place for place, _ in maps])
    pictures = shown([m for _, m in maps])

    def right(trained_on):
        network = train_network(trained_on, labels, 24, 0)
        return float((classify(network, pictures).argmax(axis=1) == truth).mean())

    augmented_right, plain_right = right([*sets, plain]), right([plain])
    assert augmented_right > plain_right + 0.1, (augmented_right, plain_right)


@pytest.mark.long
def test_the_network_of_the_labels_knows_each_class_at_every_length(tmp_path, at_root):
    """Trained on the labels that come with the workflow, as `patterns` does by default."""
    with open("config/models.yaml", encoding="utf-8") as stream:
        entry = {"init": "pretrained", "seed": 0, "dtype": "float32"} | yaml.safe_load(stream)["models"]["minilm"]
    describe("minilm", entry, tmp_path / "card.json", tmp_path / "tokenizer.json")
    labelled = labelled_maps(load_model(entry), read_card(tmp_path / "card.json"), WordPieces(tmp_path / "tokenizer.json"))
    examples, maps, labels = labelled[0], labelled[1], labelled[2]["label"].to_numpy(np.intp)
    pictures = training_pictures(maps, [special_tokens(example).numpy() for example in examples], labels, 40, 0)
    network = train_network(pictures, labels.tolist(), 40, 0)
    recall = np.zeros((len(CLASSES), len(LENGTHS)))
    for column, length in enumerate(LENGTHS):
        for place, kind in enumerate(CLASSES):
            drawn = [draw(kind, length, np.random.default_rng([length, place, number])) for number in range(8)]
            recall[place, column] = (classify(network, shown(drawn)).argmax(axis=1) == place).mean()
    print(recall)
    assert recall.min() >= 0.5
    assert recall.mean(axis=1).min() >= 0.7
    assert recall.mean() >= 0.85
    for n in LENGTHS:
        weights = np.full((n, n), 0.1 / (n - 1), np.float32)
        weights[:, -1] = 0.9
        special = np.isin(np.arange(n), [0, n // 2, n - 1])
        picture = as_pictures(torch.from_numpy(weights)[None], torch.from_numpy(special))
        probabilities = classify(network, picture)[0]
        assert probabilities[CLASSES.index("vertical")] > 0.9, f"90 % on [SEP], {n} tokens: {probabilities}"
