"""Classes of maps: numbers of the rules against loops, pictures, the network, labels, agreement, and the labelling page."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import f1_score
from small_tokenizer import save_tokenizer
from tiny_models import installed

from attention_atlas.corpora.alignment import SPECIAL as SPECIAL_WORD
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_table
from attention_atlas.models.card import ModelCard, write_card
from attention_atlas.studies.kovaleva2019 import annotations, drawn_patterns
from attention_atlas.studies.kovaleva2019.annotations import (
    FOLDER,
    LABELS,
    TEXTS,
    LabelledMap,
    annotated_maps,
    by_annotator,
    read_labels,
)
from attention_atlas.studies.kovaleva2019.drawn_patterns import candidates, draw_patterns, far_block
from attention_atlas.studies.kovaleva2019.labelling_page import write_labelling_page
from attention_atlas.studies.kovaleva2019.map_network import VIEWS, MapNetwork, as_pictures, classify, train_network
from attention_atlas.studies.kovaleva2019.names import (
    BLOCK,
    CLASSES,
    DIAGONAL,
    FOLDS,
    GENERATED,
    HETEROGENEOUS,
    NETWORK,
    RULES,
    VERTICAL,
    VERTICAL_DIAGONAL,
)
from attention_atlas.studies.kovaleva2019.patterns import (
    MAJORITY,
    PatternOutputs,
    PatternSettings,
    agreement,
    between_annotators,
    read_patterns,
    train_patterns,
)
from attention_atlas.studies.kovaleva2019.rule_labels import Thresholds, map_numbers, rule_labels, tuned_thresholds

N = 14
SPECIAL = torch.tensor([k in (0, 6, N - 1) for k in range(N)])
SEGMENT = torch.tensor([int(k > 6) for k in range(N)])


def pure(kind, n=N, noise=0.0, seed=0):
    """A map of one class, with some noise."""
    generator = np.random.default_rng(seed)
    maps = np.full((n, n), 1e-3)
    half = n // 2 - 1
    if kind in (VERTICAL, VERTICAL_DIAGONAL):
        maps[:, 0] += 1
    if kind in (DIAGONAL, VERTICAL_DIAGONAL):
        maps[np.arange(n), np.maximum(np.arange(n) - 1, 0)] += 1
    if kind == BLOCK:
        maps[: half + 1, : half + 1] += 0.2
        maps[half + 1 :, half + 1 :] += 0.2
    if kind == HETEROGENEOUS:
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
    small, largest, columns, rows = as_pictures(maps, special, 4, "none").unbind(1)
    slow = [[[float(m[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean()) for j in range(4)] for i in range(4)] for m in maps]
    # Two keys to an area.
    assert small.numpy() == pytest.approx(2 * np.asarray(slow))
    slow = [[[float(m[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max()) for j in range(4)] for i in range(4)] for m in maps]
    assert largest.numpy() == pytest.approx(np.asarray(slow))
    assert columns[1].tolist() == [[1, 0, 0, 1]] * 4
    assert rows[1].tolist() == [[1] * 4, [0] * 4, [0] * 4, [1] * 4]
    assert as_pictures(maps, special, 8, "sqrt")[:, 0].square().numpy() == pytest.approx(maps.numpy(), abs=1e-6)
    logarithms = as_pictures(torch.tensor([[[1.0, 0.001], [0.1, 0.0]]]), torch.zeros(2), 2, "log")[0, 0]
    assert logarithms.flatten().tolist() == pytest.approx([1, 0, 2 / 3, 0], abs=1e-6)
    assert as_pictures(torch.rand(1, 5, 5), torch.ones(5), 16, "sqrt").shape == (1, VIEWS, 16, 16)


def test_the_network_has_eight_convolutions_and_learns():
    network = MapNetwork()
    assert sum(isinstance(module, torch.nn.Conv2d) for module in network.modules()) == 8
    pictures = torch.cat(
        [as_pictures(pure(kind, noise=1, seed=seed)[None], SPECIAL, 16, "sqrt") for seed in range(12) for kind in CLASSES]
    )
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
    texts = {}
    for line in (FOLDER / TEXTS).read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        texts[entry["id"]] = entry["texts"]
    assert {map_.text for map_ in labels} <= set(texts)
    counts = np.bincount([map_.label for map_ in labels], minlength=len(CLASSES))
    assert counts.min() >= 20
    # A single sentence has no blocks.
    assert all(len(texts[map_.text]) == 2 for map_ in labels if CLASSES[map_.label] == BLOCK)
    assert (FOLDER / "RUBRIC.md").is_file()


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
    predicted = {NETWORK: labels.copy(), RULES: np.asarray([0, 1, 1, 1, 2, 4, 4, 4])}
    table = agreement(labels, np.asarray(list("aabbccdd")), predicted, 200, 0)
    macro = table[table["class"] == "macro"].set_index("annotator")
    assert macro.loc[NETWORK, "f1"] == 1
    assert macro.loc[RULES, "f1"] == pytest.approx(np.mean([2 / 3, 0.8, 2 / 3, 0.8]))
    assert macro.loc[RULES, "ci_low"] < macro.loc[RULES, "f1"] <= macro.loc[RULES, "ci_high"]
    kappa = table.dropna(subset=["kappa"]).set_index(["annotator", "with"])["kappa"]
    assert kappa[NETWORK, "hand"] == 1
    assert kappa[RULES, "hand"] == kappa[NETWORK, RULES] < 1


def test_a_second_annotator_is_compared_on_the_maps_that_both_labelled():
    def label(text, kind, annotator):
        return LabelledMap(text, 1, 1, CLASSES.index(kind), annotator)

    first = [label(f"t{k}", kind, "A") for k, kind in enumerate([BLOCK, BLOCK, VERTICAL, VERTICAL, DIAGONAL])]
    second = [label(f"t{k}", kind, "B") for k, kind in enumerate([BLOCK, BLOCK, VERTICAL, BLOCK])] + [label("new", BLOCK, "B")]
    (row,) = between_annotators([*second, *first, label("t9", BLOCK, "A")]).to_dict("records")
    assert (row["annotator"], row["with"], row["n"]) == ("B", "A", 4)
    # Alike in 3 of 4; by chance 3/4 * 2/4 + 1/4 * 2/4.
    assert row["kappa"] == pytest.approx((0.75 - 0.5) / 0.5)
    assert between_annotators(first).empty
    assert [maps[0].annotator for maps in by_annotator([*second, *first, label("t9", BLOCK, "A")])] == ["A", "B"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Patterns of a tiny model on a few labelled maps of its own."""
    folder = tmp_path_factory.mktemp("patterns")
    model = installed("bert")
    save_tokenizer(folder / "tokenizer.json")
    card = ModelCard("tiny", "made up", "bert", 3, 4, 40, "[CLS]", "[SEP]", 0, "", "random", 0, "float32")
    write_card(card, folder / "card.json")
    texts = [{"id": f"t-{k}", "texts": ["the cat b c d", "the b"][: 1 + k % 2]} for k in range(6)]
    (folder / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    rows = [f"t-{k},{1 + h % 3},{1 + h % 4},{CLASSES[(k + h) % 5]},A" for k in range(6) for h in range(5)]
    (folder / "labels.csv").write_text("\n".join(["text,layer,head,label,annotator", *dict.fromkeys(rows)]) + "\n")
    patch = pytest.MonkeyPatch()
    patch.setattr(annotations, "load_model", lambda entry, device: model)
    yield folder, patch
    patch.undo()


def test_patterns_are_trained_written_and_read(trained, monkeypatch):
    folder, _ = trained
    module = "attention_atlas.studies.kovaleva2019.patterns.annotated_maps"
    files = (folder / "texts.jsonl", folder / "labels.csv")
    monkeypatch.setattr(module, lambda entry, card, tokenizer: annotated_maps(entry, card, tokenizer, *files))
    names = ("network", "thresholds", "table", "page.html", "labelling.html")
    settings = PatternSettings(size=16, scale="sqrt", epochs=2, folds=2)
    outputs = PatternOutputs(*(folder / name for name in names))
    train_patterns({}, folder / "card.json", folder / "tokenizer.json", settings, 100, 0, "Test run", 1, outputs)
    network, thresholds, size, scale = read_patterns(outputs.network, outputs.thresholds)
    assert (size, scale) == (16, "sqrt")
    assert isinstance(thresholds, Thresholds)
    assert classify(network, torch.rand(3, VIEWS, 16, 16)).shape == (3, 5)
    table = pd.read_csv(outputs.table, sep="\t")
    assert {NETWORK, RULES, MAJORITY} == set(table["annotator"])
    macro = table[table["class"] == "macro"].set_index(["annotator", "folds"])["f1"]
    assert set(table.loc[table["least"].notna(), "folds"]) == {GENERATED}
    note = (folder / "page.html").read_text(encoding="utf-8")
    assert "2 folds each, the network for 2 epochs" in note
    assert f"folds = {GENERATED}" in note
    assert set(macro.index) == {(name, folds) for name in (NETWORK, RULES, MAJORITY) for folds in FOLDS}
    page = outputs.labelling.read_text(encoding="utf-8")
    data = json.loads(re.search(r"const data = (.*);\n", page)[1])
    assert [kind["name"] for kind in data["classes"]] == list(CLASSES)
    labelled = {(map_.text, map_.layer, map_.head) for map_ in read_labels(files[1])}
    shown = [(m["text"], m["layer"], m["head"]) for m in data["maps"]]
    assert len(shown) == len(set(shown)) == 6 * 12 - len(labelled)
    assert not labelled & set(shown)
    again = {(m["text"], m["layer"], m["head"]): m["label"] for m in data["labelled"]}
    assert again == {(m.text, m.layer, m.head): CLASSES[m.label] for m in read_labels(files[1])}
    assert all(map_["label"] is None for map_ in data["maps"])
    assert "http://" not in page
    assert "https://" not in page
    outputs.network.write_bytes(b"x")
    with pytest.raises(AtlasError, match="not the network of maps"):
        read_patterns(outputs.network, outputs.thresholds)


def test_the_labelling_page_compares_a_second_annotator_with_the_first(browser, tmp_path):
    generator = np.random.default_rng(0)
    example = Example(
        id="e", record=0, tokens=["a"] * 6, input_ids=[1] * 6, segment_ids=[0] * 6, word=[-1, 0, 1, 2, 3, -1], words=["a"] * 4
    )
    kinds = [BLOCK, BLOCK, VERTICAL, VERTICAL]
    maps = [(f"t{k}", 1, 1, generator.random((6, 6)), example, CLASSES.index(kind)) for k, kind in enumerate(kinds)]
    write_labelling_page([(*maps[0][:5], None)], maps, tmp_path / "labelling.html")
    page = browser.new_page()
    page.goto((tmp_path / "labelling.html").as_uri())
    page.click("#compare")
    assert "None of the maps" in page.inner_text("#kappa")
    page.select_option("#set", "labelled")
    assert "Map 1 of 4" in page.inner_text("#place")
    assert not page.locator('button[aria-pressed="true"]').count(), "the first annotator's label stays hidden"
    for kind in (BLOCK, BLOCK, VERTICAL, BLOCK):
        page.keyboard.press(str(1 + CLASSES.index(kind)))
    page.click("#compare")
    # As in the test of the table: (0.75 - 0.5) / 0.5.
    assert page.inner_text("#kappa") == "4 maps labelled by both: 75 % alike, Cohen's kappa 0.50"
    assert page.evaluate("csv()").splitlines()[1:] == [
        f"t{k},1,1,{kind},B" for k, kind in enumerate((BLOCK, BLOCK, VERTICAL, BLOCK))
    ]
    page.close()


def test_a_label_of_a_map_that_is_not_there_is_refused(trained, tmp_path):
    folder, _ = trained
    labels = tmp_path / "labels.csv"
    labels.write_text("text,layer,head,label,annotator\nt-0,9,1,block,A\n")
    with pytest.raises(AtlasError, match=r"no map 9-1 of text t-0 in tiny \(3 layers of 4 heads\)"):
        annotated_maps({}, folder / "card.json", folder / "tokenizer.json", folder / "texts.jsonl", labels)


def test_the_labels_file_has_one_annotator_a_line():
    assert (FOLDER / LABELS).read_text().splitlines()[0] == "text,layer,head,label,annotator"


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
    assert of_block > 0.1
    assert map_numbers(maps, SPECIAL, SEGMENT)[0, 2] > 0.3, "by the rules alone, the band is a block"


def test_more_examples_keep_those_that_figure1_is_drawn_from():
    def example(number, size):
        return Example(
            id=f"e{number}",
            record=number,
            tokens=["a"] * size,
            input_ids=[1] * size,
            segment_ids=[0] * size,
            word=[0] * size,
            words=["a"],
        )

    examples = [example(k, 50 if k % 3 == 0 else 20) for k in range(90)]
    few, many = (candidates(examples[:size]) for size in (45, 90))
    assert [e.record for e in few] == [e.record for e in many] == [k for k in range(36) if k % 3]
    assert [e.record for e in candidates(examples[::3])] == [0], "the shortest where none is short"


def drawn(folder, monkeypatch, maps_of):
    """Figure 1 of examples whose maps are of these kinds: id -> kinds of the five heads of a layer."""
    word = [SPECIAL_WORD if special else k for k, special in enumerate(SPECIAL.tolist())]
    pieces = {"tokens": [f"t{k}" for k in range(N)], "input_ids": [1] * N, "segment_ids": SEGMENT.tolist(), "word": word}
    examples = [Example(id=name, record=k, words=["a"], **pieces) for k, name in enumerate(maps_of)]
    maps = {k: torch.stack([pure(kind) for kind in kinds])[None].numpy() for k, kinds in enumerate(maps_of.values())}
    monkeypatch.setattr(drawn_patterns, "read_examples", lambda files, limit: examples)
    monkeypatch.setattr(drawn_patterns, "load_model", lambda entry, device: None)
    monkeypatch.setattr(drawn_patterns, "attention_maps", lambda *_: maps)
    monkeypatch.setattr(drawn_patterns, "read_patterns", lambda *_: (MapNetwork(), Thresholds(0.4, 0.3, 0.3), 16, "sqrt"))
    write_card(
        ModelCard("tiny", "made up", "bert", 1, 5, 40, "[CLS]", "[SEP]", 0, "", "random", 0, "float32"), folder / "card.json"
    )
    draw_patterns({}, folder / "card.json", [], 9, "", "", "stsb", folder / "drawn.tsv")
    return read_table(folder / "drawn.tsv")


def test_figure1_draws_an_example_with_all_classes(tmp_path, monkeypatch):
    table = drawn(tmp_path, monkeypatch, {"few": [BLOCK] * 5, "all": CLASSES[::-1]})
    assert set(table["example"]) == {"all"}
    assert table["class"].unique().tolist() == list(CLASSES)
    assert (table["class"] == table["rule_class"]).all()
    assert table.groupby("class", sort=False)["head"].first().tolist() == [5, 4, 3, 2, 1]
    weights = table.loc[table["class"] == BLOCK, "weight"].to_numpy().reshape(N, N)
    np.testing.assert_allclose(weights, pure(BLOCK), atol=1e-6)
