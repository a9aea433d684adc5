"""Labelled maps at other places and lengths, and classifiers on maps of any length with stripes at any column."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import yaml

from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.models.card import read_card
from attention_atlas.models.loading import describe, load_model
from attention_atlas.studies.kovaleva2019.classes import (
    LENGTHS,
    LONGEST,
    SHORTEST,
    MapNetwork,
    MapParts,
    Thresholds,
    as_pictures,
    augmented,
    classify,
    draw,
    parts_of,
    resized,
    rule_labels,
    special_moved,
    train_network,
    varied,
)
from attention_atlas.studies.kovaleva2019.names import (
    BLOCK,
    CLASSES,
    DIAGONAL,
    HETEROGENEOUS,
    NETWORK,
    RULES,
    VERTICAL,
    VERTICAL_DIAGONAL,
)
from attention_atlas.studies.kovaleva2019.patterns import generated_recall, labelled_maps, training_pictures

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
    lengths = [len(augmented(striped(0), SPECIAL, VERTICAL, generator)[1]) for _ in range(40)]
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
        if kind == VERTICAL:
            assert (band <= 1, stripes, rest <= 1) == (True, 1, True)
        if kind == DIAGONAL:
            assert (round(band, 5), stripes <= 1, rest <= 1) == (1, True, True)
        if kind == VERTICAL_DIAGONAL:
            assert (band >= 1 - 1e-5, stripes, rest <= 1) == (True, 1, True)
        if kind in (BLOCK, HETEROGENEOUS):
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
    blocks, flats, stripes = as_pictures(maps, torch.zeros(length), 16, "none")[:, 0].numpy()
    assert flats == pytest.approx(np.full((16, 16), 1 / 16))
    assert blocks == pytest.approx(np.kron(np.eye(2), np.full((8, 8), 1 / 8)))
    assert stripes == pytest.approx(np.eye(16)[[0] * 16])


def shown(maps):
    return torch.cat([m.picture(16, "sqrt") for m in maps])


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
        sets.append(torch.cat([as_pictures(torch.from_numpy(w)[None], torch.from_numpy(s), 16, "sqrt") for w, s in pairs]))
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
    maps = labelled_maps(load_model(entry), read_card(tmp_path / "card.json"), WordPieces(tmp_path / "tokenizer.json"))
    network = train_network(training_pictures(maps, 16, "sqrt", 40, 0), maps.labels.tolist(), 40, 0)
    table = generated_recall(network, IN_SAMPLE, 16, "sqrt")
    recall = table[table["annotator"] == NETWORK].set_index("class")
    print(recall.to_string())
    assert recall["least"].min() >= 0.5
    assert recall["recall"].min() >= 0.7
    assert recall["recall"].mean() >= 0.85
    for n in LENGTHS:
        weights = np.full((n, n), 0.1 / (n - 1), np.float32)
        weights[:, -1] = 0.9
        special = np.isin(np.arange(n), [0, n // 2, n - 1])
        picture = as_pictures(torch.from_numpy(weights)[None], torch.from_numpy(special), 16, "sqrt")
        probabilities = classify(network, picture)[0]
        assert probabilities[CLASSES.index(VERTICAL)] > 0.9, f"90 % on [SEP], {n} tokens: {probabilities}"


def test_every_class_has_its_recall_among_generated_maps():
    table = generated_recall(MapNetwork().eval(), IN_SAMPLE, 16, "sqrt")
    assert table.groupby("annotator")["class"].agg(list).map(tuple).to_dict() == {NETWORK: CLASSES, RULES: CLASSES}
    assert (table["least"] <= table["recall"]).all()
    # A network without training gives every map the same class.
    assert sorted(table[table["annotator"] == NETWORK]["recall"]) == [0, 0, 0, 0, 1]
