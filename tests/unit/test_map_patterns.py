"""Classes of maps: numbers of the rules against loops, pictures, the network, labels, and agreement."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from rules_text import ROOT
from safetensors.numpy import save_file
from sklearn.metrics import f1_score
from small_tokenizer import save_tokenizer
from tiny_models import installed

from attention_atlas.corpora.alignment import SPECIAL as SPECIAL_WORD
from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import ModelCard, read_card
from attention_atlas.models.loading import describe, load_model
from attention_atlas.studies.kovaleva2019 import CLASSES
from attention_atlas.studies.kovaleva2019 import patterns as pt

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


def recall_of(annotator, n):
    """[class] share of generated maps of this length that get their class; annotator: map, special, segment -> class."""
    maps = [[drawn_map(kind, n, np.random.default_rng([n, place, k])) for k in range(8)] for place, kind in enumerate(CLASSES)]
    return np.array([np.mean([annotator(*one) == place for one in of_kind]) for place, of_kind in enumerate(maps)])


def test_the_numbers_of_the_rules_are_those_of_loops():
    generator = torch.Generator().manual_seed(0)
    maps = torch.rand((2, 3, N, N), generator=generator).softmax(dim=-1)
    # The maps with a band are those that are diagonal.
    maps[:, 1:] = (maps[:, 1:] + torch.eye(N)) / 2
    numbers = pt.map_numbers(maps, SPECIAL, SEGMENT)
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
        slow[1] *= slow[1] * total / len(inner) >= pt.FAINTEST_BAND
        assert numbers[a, b].tolist() == pytest.approx(slow, abs=1e-5)
    # A uniform map is neither diagonal nor block, and a single sentence has no block.
    assert pt.map_numbers(torch.full((1, N, N), 1 / N), SPECIAL, SEGMENT)[0].tolist() == pytest.approx([3 / N, 0, 0], abs=1e-6)
    assert pt.map_numbers(maps, SPECIAL, torch.zeros(N))[..., 2].abs().max() < 1e-6


def test_tuned_thresholds_have_the_largest_macro_f1_of_scikit_learn():
    generator = np.random.default_rng(3)
    numbers = generator.uniform(0, 0.6, (40, 3)).astype(np.float32)
    labels = generator.choice([0, 1, 2, 4], 40)
    tuned = pt.tuned_thresholds(numbers, labels.tolist())

    def macro(thresholds):
        present = sorted(set(labels.tolist()))
        return f1_score(labels, pt.rule_labels(numbers, thresholds), labels=present, average="macro", zero_division=0.0)

    others = [pt.Thresholds(*values) for values in product((0.05, 0.2, 0.5), (0.05, 0.2, 0.5), (0.05, 0.2, 0.35))]
    assert macro(tuned) >= max(macro(thresholds) for thresholds in others)


def test_pictures_are_means_over_areas_alike_at_every_length():
    maps = torch.rand(2, 8, 8)
    small, largest, columns, rows = pt.as_pictures(maps, torch.tensor([True] + [False] * 6 + [True]), 4).unbind(1)
    areas = maps.numpy().reshape(2, 4, 2, 4, 2)
    # Two keys to an area.
    assert small.square().numpy() == pytest.approx(2 * areas.mean(axis=(2, 4)))
    assert largest.square().numpy() == pytest.approx(areas.max(axis=(2, 4)))
    assert columns[1].tolist() == [[1, 0, 0, 1]] * 4
    assert rows[1].tolist() == [[1] * 4, [0] * 4, [0] * 4, [1] * 4]
    for length in (16, 48, 256):
        blocks = np.kron(np.eye(2), np.full((length // 2, length // 2), 2 / length, np.float32))
        stripe = np.eye(length, dtype=np.float32)[[0] * length]
        pictures = (
            pt.as_pictures(torch.from_numpy(np.stack([blocks, stripe])).float(), torch.zeros(length))[:, 0].square().numpy()
        )
        assert pictures[0] == pytest.approx(np.kron(np.eye(2), np.full((8, 8), 1 / 8)))
        assert pictures[1] == pytest.approx(np.eye(16)[[0] * 16])


def test_the_network_learns():
    kinds = list(enumerate(CLASSES)) * 40
    maps = [drawn_map(kind, 24, np.random.default_rng(k)) for k, (_, kind) in enumerate(kinds)]
    pictures = torch.cat([pt.as_pictures(weights[None], special) for weights, special, _ in maps])
    labels = [label for label, _ in kinds]
    # One map more than five batches hold.
    networks = [pt.train_network([pictures[:161]], labels[:161], 20, 0) for _ in range(2)]
    probabilities = pt.classify(networks[0], pictures[161:])
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (probabilities.argmax(axis=1) == labels[161:]).mean() > 0.8
    assert torch.equal(*(network.output.weight for network in networks))


def test_the_labels_that_come_with_the_workflow():
    labels = pt.read_labels()
    assert len(labels) >= 400
    entries = [json.loads(line) for line in Path(pt.TEXTS).read_text(encoding="utf-8").splitlines()]
    texts = {entry["id"]: entry["texts"] for entry in entries}
    assert set(labels["text"]) <= set(texts)
    assert np.bincount(labels["label"], minlength=len(CLASSES)).min() >= 20
    # A single sentence has no blocks.
    assert {len(texts[text]) for text in labels.loc[labels["label"] == CLASSES.index("block"), "text"]} == {2}


def test_labels_that_cannot_be_used_are_named(tmp_path):
    path = tmp_path / "labels.csv"
    for row in ("rte-1,1,2,blok", "a,1,1,block"):
        path.write_text(f"text,layer,head,label\na,1,1,block\n{row}\n")
        with pytest.raises(AtlasError, match=f":3: a map of {row.split(',')[0]} that is labelled twice, or a class other than"):
            pt.read_labels(path)


def test_agreement_counts_as_scikit_learn_and_groups_texts():
    labels = np.asarray([0, 0, 1, 1, 2, 2, 4, 4])
    predicted = {"network": labels.copy(), "rules": np.asarray([0, 1, 1, 1, 2, 4, 4, 4])}
    table = pt.agreement(labels, np.asarray(list("aabbccdd")), predicted, 200, 0)
    macro = table[table["class"] == "macro"].set_index("annotator")
    assert macro.loc["network", ["f1", "kappa"]].tolist() == [1, 1]
    assert macro.loc["rules", "f1"] == pytest.approx(np.mean([2 / 3, 0.8, 2 / 3, 0.8]))
    assert macro.loc["rules", "kappa"] == pytest.approx((0.75 - 0.25) / (1 - 0.25))
    assert macro.loc["rules", "ci_low"] < macro.loc["rules", "f1"] <= macro.loc["rules", "ci_high"]
    by_class = table[(table["annotator"] == "rules") & (table["class"] != "macro")]
    assert by_class["f1"].tolist() == pytest.approx(f1_score(labels, predicted["rules"], average=None, labels=[0, 1, 2, 4]))


RULES = pt.Thresholds(vertical=0.3, diagonal=0.15, block=0.25)
"""The thresholds that the labels of the workflow give."""
CARD = ModelCard("tiny", "made up", "bert", 3, 4, 40, "[CLS]", "[SEP]", 0, "", "random", 0, "float32")


def test_patterns_are_trained_and_read_again(monkeypatch, tmp_path):
    save_tokenizer(tmp_path / "tokenizer.json")
    texts = [{"id": f"t-{k}", "texts": ["the cat b c d", "the b"][: 1 + k % 2]} for k in range(6)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    rows = [f"t-{k},{1 + h % 3},{1 + h % 4},{CLASSES[(k + h) % 5]}" for k in range(6) for h in range(5)]
    (tmp_path / "labels.csv").write_text("\n".join(["text,layer,head,label", *rows]) + "\n")
    files = str(tmp_path / "texts.jsonl"), str(tmp_path / "labels.csv")
    model = installed("bert"), CARD, WordPieces(tmp_path / "tokenizer.json")
    read = pt.labelled_maps
    monkeypatch.setattr(pt, "labelled_maps", lambda *model: read(*model, *files))
    monkeypatch.setattr(pt, "drawn", lambda *arguments: arguments[-1])
    made = pt.patterns(*model, None, CARD, [], "mrpc", {"epochs": 2, "folds": 2}, 100, 0)
    save_file(made["network"], tmp_path / "network")
    assert pt.classify(pt.load_network(tmp_path / "network"), torch.rand(3, pt.VIEWS, 16, 16)).shape == (3, 5)
    assert list(made["thresholds"]) == list(pt.Thresholds._fields)
    macro = made["table"].query("`class` == 'macro'")
    assert set(zip(macro["annotator"], macro["folds"], strict=True)) == set(product(("network", "rules"), ("text", "layer")))
    held_out = made["held_out"]
    assert (held_out["text"] + "," + held_out["layer"].astype(str)).tolist() == [row.rsplit(",", 2)[0] for row in rows]
    rules = macro.set_index(["annotator", "folds"]).loc[("rules", "layer"), "f1"]
    assert f1_score(held_out["label"], held_out["rules"], average="macro", zero_division=0) == pytest.approx(rules)
    (tmp_path / "network").write_bytes(b"x")
    with pytest.raises(AtlasError, match="not the network of maps"):
        pt.load_network(tmp_path / "network")
    (tmp_path / "labels.csv").write_text("text,layer,head,label\nt-0,9,1,block\n")
    with pytest.raises(AtlasError, match=r"no map 9-1 of text t-0 in tiny \(3 layers of 4 heads\)"):
        read(*model, *files)


def test_a_block_is_told_from_a_band_along_the_diagonal():
    place = torch.arange(N)
    band = ((place[:, None] - place[None, :]).abs() <= 2) & ~SPECIAL
    block = (SEGMENT[:, None] == SEGMENT[None, :]) & ~SPECIAL
    maps = torch.stack([band, block]).float()
    maps = maps / maps.sum(-1, keepdim=True).clamp(min=1)
    of_band, of_block = pt.far_block(maps, SPECIAL, SEGMENT).tolist()
    assert of_band == pytest.approx(0, abs=1e-6)
    assert of_block > 0.01
    assert pt.map_numbers(maps, SPECIAL, SEGMENT)[0, 2] > 0.3, "by the rules alone, the band is a block"


def test_figure1_draws_an_example_with_all_classes(monkeypatch):
    kinds_of = {"few": ["block"] * 5, "all": CLASSES[::-1]}
    # Maps of one seed have their special tokens and their segments at the same places.
    maps = {name: [drawn_map(kind, 40, np.random.default_rng(2)) for kind in kinds] for name, kinds in kinds_of.items()}
    _, special, segment = maps["all"][0]
    word = [SPECIAL_WORD if is_special else k for k, is_special in enumerate(special.tolist())]
    pieces = {"tokens": ["t"] * 40, "input_ids": [1] * 40, "segment_ids": segment.tolist(), "word": word}
    examples = [Example(id=name, record=k, words=["a"], **pieces) for k, name in enumerate(kinds_of)]
    stacked = [torch.stack([weights for weights, *_ in of_example])[None].numpy() for of_example in maps.values()]
    monkeypatch.setattr(pt, "attention_maps", lambda *_: stacked)
    table = pt.drawn(None, replace(CARD, layers=1, heads=5), examples, pt.MapNetwork(), RULES, "stsb")
    assert set(table["example"]) == {"all"}
    assert table["class"].unique().tolist() == list(CLASSES)
    assert table.groupby("class", sort=False)["head"].first().tolist() == [5, 4, 3, 2, 1]
    weights = table.loc[table["class"] == "block", "weight"].to_numpy().reshape(40, 40)
    np.testing.assert_allclose(weights, maps["all"][CLASSES[::-1].index("block")][0], atol=1e-6)


TOKENS = np.array([True, False, False, False, True, False, False, True])
"""Which of eight tokens are special."""


def test_augmentation_keeps_a_map_that_nothing_changes():
    weights = np.random.default_rng(0).dirichlet(np.ones(8), size=8).astype(np.float32)
    parts = pt.parts_of(weights, TOKENS)
    assert parts.stripes[:, ~TOKENS].max() == parts.rest[:, TOKENS].max() == parts.band[TOKENS].max() == 0
    # Above the mean of the words that are no neighbours.
    excess = (weights[1, 1:3] - weights[1, [3, 5, 6]].mean()).clip(0)
    assert (excess.max() > 0, parts.band[1, 1:].tolist()) == (True, pytest.approx(excess.tolist(), abs=1e-6))
    for kind in CLASSES:
        changed = pt.varied(parts, kind, np.random.default_rng(0))
        assert (changed.rest <= parts.rest).all(), "what is not the pattern gets weaker"
        assert (changed.stripes <= parts.stripes).all()
    same, _ = pt.resized(parts, TOKENS, 8, np.random.default_rng(0))
    assert same == pytest.approx(weights, abs=1e-6)
    # A narrower band has the same weight.
    assert pt.varied(parts, "diagonal", np.random.default_rng(0)).band.sum() == pytest.approx(parts.band.sum(), abs=1e-5)
    firsts = set()
    for seed in range(20):
        moved, special = pt.special_moved(np.arange(64).reshape(8, 8), TOKENS, np.random.default_rng(seed))
        # The others keep their order.
        assert moved[np.ix_(~special, ~special)].tolist() == np.arange(64).reshape(8, 8)[np.ix_(~TOKENS, ~TOKENS)].tolist()
        firsts.add(moved[special][0, special][0])
    assert len(firsts) == 3, "special tokens do not"


def test_augmented_maps_keep_their_class_and_get_other_lengths():
    lengths = []
    for place, kind in enumerate(CLASSES):
        classes = []
        for seed in range(40):
            generator = np.random.default_rng([place, seed])
            weights, special, _ = drawn_map(kind, 24, generator)
            weights, special = pt.augmented(weights.numpy(), special.numpy(), kind, generator)
            assert weights.sum(axis=1) == pytest.approx(1, abs=1e-5)
            assert (special.sum(), weights.shape) == (3, (len(special),) * 2)
            lengths.append(len(special))
            numbers = pt.map_numbers(
                torch.from_numpy(weights.copy()), torch.from_numpy(special.copy()), torch.zeros(len(special))
            )
            classes.append(pt.rule_labels(numbers[None].numpy(), RULES)[0])
        # Which segment a token is of is not kept, so that the rules see no blocks.
        expected = "heterogeneous" if kind == "block" else kind
        print(kind, np.mean(np.equal(classes, CLASSES.index(expected))))
        assert np.mean(np.equal(classes, CLASSES.index(expected))) >= 0.8, kind
    assert pt.SHORTEST <= min(lengths) < 16
    assert 200 < max(lengths) <= pt.LONGEST


@pytest.mark.parametrize("n", [16, 48, 256])
def test_the_rules_know_each_class_at_every_length_and_column(n):
    recall = recall_of(lambda *one: pt.rule_labels(pt.map_numbers(*one)[None].numpy(), RULES)[0], n)
    assert recall.min() >= 0.6, recall
    assert recall.mean() >= 0.9, recall


@pytest.mark.parametrize("n", [16, 48, 256])
@pytest.mark.parametrize(("band", "spread", "kind"), [(0.05, 0.05, "vertical"), (0.15, 0.05, "vertical_diagonal")])
def test_a_faint_band_beside_a_strong_stripe_is_no_diagonal(n, band, spread, kind):
    special = np.isin(np.arange(n), (0, n // 2, n - 1))
    others, near = (~special / (n - 3)), np.eye(n, k=1) * ~special * ~special[:, None]
    weights = band * near + spread * others
    weights[:, n // 2] += 1 - weights.sum(axis=1)
    numbers = pt.map_numbers(torch.from_numpy(weights), torch.from_numpy(special), torch.zeros(n))
    assert CLASSES[pt.rule_labels(numbers[None].numpy(), RULES)[0]] == kind


@pytest.mark.long
def test_the_network_of_the_labels_knows_each_class_at_every_length(tmp_path):
    """Trained on the labels that come with the workflow, as `patterns` does by default; augmentation is needed for that."""
    with open(ROOT / "config/models.yaml", encoding="utf-8") as stream:
        entry = {"init": "pretrained", "seed": 0, "dtype": "float32"} | yaml.safe_load(stream)["models"]["minilm"]
    describe("minilm", entry, tmp_path / "card.json", tmp_path / "tokenizer.json")
    model = load_model(entry), read_card(tmp_path / "card.json"), WordPieces(tmp_path / "tokenizer.json")
    examples, maps, table = pt.labelled_maps(*model)
    labels = table["label"].to_numpy(np.intp)
    pictures = pt.training_pictures(maps, [pt.special_tokens(example).numpy() for example in examples], labels, 40, 0)
    network = pt.train_network(pictures, labels.tolist(), 40, 0)

    def by_network(weights, special, _):
        return pt.classify(network, pt.as_pictures(weights[None], special)).argmax()

    recall = np.stack([recall_of(by_network, n) for n in (16, 24, 48, 96, 160, 256)])
    print(recall)
    assert recall.min() >= 0.5
    assert recall.mean(axis=0).min() >= 0.7
    assert recall.mean() >= 0.85
