"""Classes of maps: numbers of the rules against loops, pictures, the network, labels, and agreement."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from sklearn.metrics import f1_score
from small_tokenizer import save_tokenizer
from tiny_models import installed

from attention_atlas.corpora.alignment import SPECIAL as SPECIAL_WORD
from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import ModelCard
from attention_atlas.studies.kovaleva2019 import CLASSES
from attention_atlas.studies.kovaleva2019 import patterns as patterns_module
from attention_atlas.studies.kovaleva2019.patterns import (
    TEXTS,
    VIEWS,
    MapNetwork,
    Thresholds,
    agreement,
    as_pictures,
    classify,
    drawn,
    far_block,
    labelled_maps,
    load_network,
    map_numbers,
    patterns,
    read_labels,
    rule_labels,
    thresholds_of,
    train_network,
    tuned_thresholds,
)

N = 14
SPECIAL = torch.tensor([k in (0, 6, N - 1) for k in range(N)])
SEGMENT = torch.tensor([int(k > 6) for k in range(N)])


def pure(kind, n=N, noise=0.0, seed=0):
    """A map of one class, with some noise."""
    generator = np.random.default_rng(seed)
    maps = np.full((n, n), 1e-3)
    half = n // 2 - 1
    if kind in ("vertical", "vertical_diagonal"):
        maps[:, 0] += 1
    if kind in ("diagonal", "vertical_diagonal"):
        maps[np.arange(n), np.maximum(np.arange(n) - 1, 0)] += 1
    if kind == "block":
        maps[: half + 1, : half + 1] += 0.2
        maps[half + 1 :, half + 1 :] += 0.2
    if kind == "heterogeneous":
        maps += generator.random((n, n)) * (generator.random((1, n)) < 0.5)
    maps = maps * (1 + noise * generator.random((n, n))) + noise * 0.02 * generator.random((n, n))
    return torch.from_numpy(maps / maps.sum(axis=1, keepdims=True)).float()


def test_the_numbers_of_the_rules_are_those_of_loops():
    generator = torch.Generator().manual_seed(0)
    maps = torch.rand((2, 3, N, N), generator=generator).softmax(dim=-1)
    numbers = map_numbers(maps, SPECIAL, SEGMENT)
    inner = [k for k in range(N) if not SPECIAL[k]]
    for a in range(2):
        for b in range(3):
            weights = maps[a, b].double().numpy()
            vertical = np.mean([sum(weights[i, j] for j in range(N) if SPECIAL[j]) for i in range(N)])
            pairs = [(i, j) for i in inner for j in inner]
            total = sum(weights[i, j] for i, j in pairs)
            near = [(i, j) for i, j in pairs if abs(i - j) <= 1]
            same = [(i, j) for i, j in pairs if SEGMENT[i] == SEGMENT[j]]
            slow = [vertical]
            for cells in (near, same):
                slow.append(sum(weights[i, j] for i, j in cells) / total - len(cells) / len(pairs))
            assert numbers[a, b].tolist() == pytest.approx(slow, abs=1e-5)


def test_a_uniform_map_is_neither_diagonal_nor_block():
    numbers = map_numbers(torch.full((1, N, N), 1 / N), SPECIAL, SEGMENT)[0]
    assert numbers.tolist() == pytest.approx([3 / N, 0, 0], abs=1e-6)
    one_segment = map_numbers(torch.rand((4, N, N)).softmax(-1), SPECIAL, torch.zeros(N, dtype=torch.long))
    # With one sentence there is no block.
    assert one_segment[:, 2].tolist() == pytest.approx([0] * 4, abs=1e-6)


@pytest.mark.parametrize("kind", CLASSES)
def test_the_rules_know_pure_maps(kind):
    numbers = map_numbers(pure(kind)[None], SPECIAL, SEGMENT).numpy()
    assert CLASSES[rule_labels(numbers, Thresholds(0.4, 0.3, 0.3))[0]] == kind


def test_thresholds_are_tuned_on_labels():
    maps = [pure(kind, noise=0.5, seed=seed) for seed in range(4) for kind in CLASSES]
    numbers = map_numbers(torch.stack(maps), SPECIAL, SEGMENT).numpy()
    labels = list(range(len(CLASSES))) * 4
    assert rule_labels(numbers, tuned_thresholds(numbers, labels)).tolist() == labels


def test_tuned_thresholds_have_the_largest_macro_f1_of_scikit_learn():
    generator = np.random.default_rng(3)
    numbers = generator.uniform(0, 0.6, (40, 3)).astype(np.float32)
    labels = generator.choice([0, 1, 2, 4], 40)
    tuned = tuned_thresholds(numbers, labels.tolist())

    def macro(thresholds):
        present = sorted(set(labels.tolist()))
        return f1_score(labels, rule_labels(numbers, thresholds), labels=present, average="macro", zero_division=0.0)

    others = [Thresholds(v, d, b) for v in (0.05, 0.2, 0.3, 0.5) for d in (0.05, 0.2, 0.3, 0.5) for b in (0.05, 0.2, 0.35)]
    assert macro(tuned) >= max(macro(thresholds) for thresholds in others)


def test_pictures_are_means_over_areas():
    maps = torch.rand(2, 8, 8)
    special = torch.tensor([True] + [False] * 6 + [True])
    small, largest, columns, rows = as_pictures(maps, special, 4).unbind(1)
    slow = [[[float(m[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean()) for j in range(4)] for i in range(4)] for m in maps]
    # Two keys to an area.
    assert small.square().numpy() == pytest.approx(2 * np.asarray(slow))
    slow = [[[float(m[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max()) for j in range(4)] for i in range(4)] for m in maps]
    assert largest.square().numpy() == pytest.approx(np.asarray(slow))
    assert columns[1].tolist() == [[1, 0, 0, 1]] * 4
    assert rows[1].tolist() == [[1] * 4, [0] * 4, [0] * 4, [1] * 4]
    assert as_pictures(torch.rand(1, 5, 5), torch.ones(5)).shape == (1, VIEWS, 16, 16)


def test_the_network_has_eight_convolutions_and_learns():
    network = MapNetwork()
    assert sum(isinstance(module, torch.nn.Conv2d) for module in network.modules()) == 8
    pictures = torch.cat([as_pictures(pure(kind, noise=1, seed=seed)[None], SPECIAL) for seed in range(12) for kind in CLASSES])
    labels = list(range(len(CLASSES))) * 12
    trained = train_network([pictures[:40]], labels[:40], 25, 0)
    probabilities = classify(trained, pictures[40:])
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (probabilities.argmax(axis=1) == labels[40:]).mean() > 0.8
    # One map more than a batch holds.
    train_network([pictures[:33]], labels[:33], 1, 0)
    again = train_network([pictures[:40]], labels[:40], 25, 0)
    assert all(torch.equal(a, b) for a, b in zip(trained.state_dict().values(), again.state_dict().values(), strict=True))


def test_the_labels_that_come_with_the_workflow():
    labels = read_labels()
    assert len(labels) >= 400
    entries = [json.loads(line) for line in Path(TEXTS).read_text(encoding="utf-8").splitlines()]
    texts = {entry["id"]: entry["texts"] for entry in entries}
    assert set(labels["text"]) <= set(texts)
    assert np.bincount(labels["label"], minlength=len(CLASSES)).min() >= 20
    # A single sentence has no blocks.
    assert {len(texts[text]) for text in labels.loc[labels["label"] == CLASSES.index("block"), "text"]} == {2}
    assert Path(TEXTS).with_name("RUBRIC.md").is_file()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("rte-1,1,2,blok,B", r":3: there is no class 'blok'"),
        ("a,1,1,block,A", r":3: map 1-1 of text a is labelled twice"),
    ],
)
def test_labels_that_cannot_be_used_are_named(tmp_path, row, problem):
    path = tmp_path / "labels.csv"
    path.write_text(f"text,layer,head,label,annotator\na,1,1,block,A\n{row}\n")
    with pytest.raises(AtlasError, match=problem):
        read_labels(path)


def test_agreement_counts_as_scikit_learn_and_groups_texts():
    labels = np.asarray([0, 0, 1, 1, 2, 2, 4, 4])
    predicted = {"network": labels.copy(), "rules": np.asarray([0, 1, 1, 1, 2, 4, 4, 4])}
    table = agreement(labels, np.asarray(list("aabbccdd")), predicted, 200, 0)
    macro = table[table["class"] == "macro"].set_index("annotator")
    assert macro.loc["network", "f1"] == 1
    assert macro.loc["rules", "f1"] == pytest.approx(np.mean([2 / 3, 0.8, 2 / 3, 0.8]))
    assert macro.loc["rules", "ci_low"] < macro.loc["rules", "f1"] <= macro.loc["rules", "ci_high"]
    assert macro.loc["network", "kappa"] == 1
    assert macro.loc["rules", "kappa"] < 1
    by_class = table[(table["annotator"] == "rules") & (table["class"] != "macro")]
    assert by_class["f1"].tolist() == pytest.approx(f1_score(labels, predicted["rules"], average=None, labels=[0, 1, 2, 4]))
    assert by_class["n"].tolist() == [2] * 4


CARD = ModelCard("tiny", "made up", "bert", 3, 4, 40, "[CLS]", "[SEP]", 0, "", "random", 0, "float32")


@pytest.fixture
def labelled(tmp_path):
    """A tiny model with its card and tokenizer, and texts and labels of a few of its maps."""
    save_tokenizer(tmp_path / "tokenizer.json")
    texts = [{"id": f"t-{k}", "texts": ["the cat b c d", "the b"][: 1 + k % 2]} for k in range(6)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    rows = [f"t-{k},{1 + h % 3},{1 + h % 4},{CLASSES[(k + h) % 5]},A" for k in range(6) for h in range(5)]
    (tmp_path / "labels.csv").write_text("\n".join(["text,layer,head,label,annotator", *dict.fromkeys(rows)]) + "\n")
    model = installed("bert"), CARD, WordPieces(tmp_path / "tokenizer.json")
    return model, (str(tmp_path / "texts.jsonl"), str(tmp_path / "labels.csv"))


def test_patterns_are_trained_and_read_again(labelled, monkeypatch, tmp_path):
    model, files = labelled
    monkeypatch.setattr(patterns_module, "labelled_maps", lambda *model: labelled_maps(*model, *files))
    monkeypatch.setattr(patterns_module, "drawn", lambda *arguments: arguments[-1])
    made = patterns(*model, None, CARD, [], "mrpc", {"epochs": 2, "folds": 2}, 100, 0)
    assert made["drawn"] == "mrpc"
    save_file(made["network"], tmp_path / "network")
    assert thresholds_of(made["thresholds"])._fields == tuple(made["thresholds"])
    assert classify(load_network(tmp_path / "network"), torch.rand(3, VIEWS, 16, 16)).shape == (3, 5)
    table = made["table"]
    assert {"network", "rules"} == set(table["annotator"])
    macro = table[table["class"] == "macro"].set_index(["annotator", "folds"])["f1"]
    assert set(macro.index) == {(name, folds) for name in ("network", "rules") for folds in ("text", "layer")}
    (tmp_path / "network").write_bytes(b"x")
    with pytest.raises(AtlasError, match="not the network of maps"):
        load_network(tmp_path / "network")


def test_a_label_of_a_map_that_is_not_there_is_refused(labelled, tmp_path):
    model, (texts, _) = labelled
    labels = tmp_path / "wrong.csv"
    labels.write_text("text,layer,head,label,annotator\nt-0,9,1,block,A\n")
    with pytest.raises(AtlasError, match=r"no map 9-1 of text t-0 in tiny \(3 layers of 4 heads\)"):
        labelled_maps(*model, texts, labels)


def test_a_block_is_told_from_a_band_along_the_diagonal():
    place = torch.arange(N)
    inner = ~SPECIAL
    band = ((place[:, None] - place[None, :]).abs() <= 2) & inner[None, :]
    block = (SEGMENT[:, None] == SEGMENT[None, :]) & inner[None, :]
    maps = torch.stack([band, block, inner[None, :].expand(N, N)]).float()
    maps = maps / maps.sum(-1, keepdim=True).clamp(min=1)
    of_band, of_block, of_uniform = far_block(maps, SPECIAL, SEGMENT).tolist()
    assert of_band == pytest.approx(0, abs=1e-6)
    assert of_uniform == pytest.approx(0, abs=1e-6)
    assert of_block > 0.01
    assert map_numbers(maps, SPECIAL, SEGMENT)[0, 2] > 0.3, "by the rules alone, the band is a block"


def test_figure1_draws_an_example_with_all_classes(monkeypatch):
    kinds_of = {"few": ["block"] * 5, "all": CLASSES[::-1]}
    word = [SPECIAL_WORD if special else k for k, special in enumerate(SPECIAL.tolist())]
    pieces = {"tokens": [f"t{k}" for k in range(N)], "input_ids": [1] * N, "segment_ids": SEGMENT.tolist(), "word": word}
    examples = [Example(id=name, record=k, words=["a"], **pieces) for k, name in enumerate(kinds_of)]
    maps = {k: torch.stack([pure(kind) for kind in kinds])[None].numpy() for k, kinds in enumerate(kinds_of.values())}
    monkeypatch.setattr(patterns_module, "attention_maps", lambda *_: maps)
    thresholds = Thresholds(0.4, 0.3, 0.3)
    table = drawn(None, replace(CARD, layers=1, heads=5), examples, MapNetwork(), thresholds, "stsb")
    assert set(table["example"]) == {"all"}
    assert table["class"].unique().tolist() == list(CLASSES)
    assert table.groupby("class", sort=False)["head"].first().tolist() == [5, 4, 3, 2, 1]
    weights = table.loc[table["class"] == "block", "weight"].to_numpy().reshape(N, N)
    np.testing.assert_allclose(weights, pure("block"), atol=1e-6)
