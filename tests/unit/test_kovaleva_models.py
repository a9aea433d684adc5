"""Passes of models over the examples of a task: measures of heads against loops, features and links, disabled heads."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_models import HEADS, LAYERS, PAD, installed, recorder, run, tiny

from attention_atlas.attention.engine import Plan
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import ModelCard
from attention_atlas.models.fine_tuning import BertAdam
from attention_atlas.models.task_heads import logits, predicted, untrained_logits
from attention_atlas.studies.kovaleva2019 import LINKS, MODES
from attention_atlas.studies.kovaleva2019 import models as module
from attention_atlas.studies.kovaleva2019.changes import MEASURED, MODELS
from attention_atlas.studies.kovaleva2019.models import feature_masks, gold_analysis, one_pass, piece_pairs
from attention_atlas.studies.kovaleva2019.patterns import MapNetwork, Thresholds

CLS, SEP = "[CLS]", "[SEP]"
CARD = ModelCard("tiny", "made up", "bert", LAYERS, HEADS, 40, CLS, SEP, PAD, "", "random", 0, "float32")
TAGS_OF = {"not": "RB", "cat": "NN", "cats": "NNS", ".": ".", "he": "PRP", "runs": "VBZ", "nothing": "NN"}


def pair(words, pieces, first, layers, record=0, **more):
    """Two texts, the first of `first` words; pieces: of each word, separated by spaces."""
    ids = random.Random(record)
    tokens, word, segments = [CLS], [-1], [0]
    for place, spelled in enumerate(pieces):
        tokens += spelled.split()
        word += [place] * len(spelled.split())
        if place + 1 in (first, len(pieces)):
            tokens.append(SEP)
            word.append(-1)
        segments += [int(place >= first)] * (len(tokens) - len(segments))
    input_ids = tuple(ids.randrange(5, 60) for _ in tokens)
    layers = {name: tuple(values) for name, values in layers.items()}
    return Example(record, "e", input_ids, tuple(segments), tuple(tokens), tuple(word), tuple(words), layers, **more)


def random_pair(record, sizes):
    """A pair of texts of so many words, two tokens to every third word."""
    generator = random.Random(record)
    words = [generator.choice(list(TAGS_OF)) for _ in range(sum(sizes))]
    pieces = [f"{form} ##x" if place % 3 == 0 else form for place, form in enumerate(words)]
    relations = ["nsubj" if form == "he" else "dep" for form in words]
    layers = {"xpos": [TAGS_OF[form] for form in words], "relations": relations, "heads": [2] * len(words)}
    return pair(words, pieces, sizes[0], layers, record, label=("no", "yes")[record % 2])


EXAMPLES = [random_pair(k, sizes) for k, sizes in enumerate([(3, 4), (2, 6), (5, 2), (4, 4), (2, 3), (6, 5)])]
ANALYSES = {example.record: gold_analysis(example) for example in EXAMPLES}


def single_maps(net, example, plan=None, length=None):
    """[layer, head, n, n] of one example by itself, padded to a length, and the output of the model."""
    n, length = len(example.input_ids), length or len(example.input_ids)
    batch = {
        "input_ids": torch.tensor([[*example.input_ids, *[PAD] * (length - n)]]),
        "attention_mask": torch.tensor([[1] * n + [0] * (length - n)]),
        "token_type_ids": torch.tensor([[*example.segment_ids, *[0] * (length - n)]]),
    }
    maps = {}
    output = run(net, batch, plan=plan, applied=[recorder(maps)])
    return torch.cat(list(maps.values())).numpy(), output


def test_one_pass_gives_what_loops_over_single_examples_give():
    base, tuned = installed("bert"), installed("bert", seed=1)
    arrays = one_pass((base, tuned), EXAMPLES, CARD, ANALYSES, MapNetwork().eval(), Thresholds(0.3, 0.2, 0.2), 0)
    for row, example in enumerate(EXAMPLES):
        maps = {"base": single_maps(base, example)[0], "tuned": single_maps(tuned, example)[0]}
        for layer, head in product(range(LAYERS), range(HEADS)):
            before, after = (maps[name][layer, head].ravel() for name in MODELS)
            cosine = float(before @ after / np.linalg.norm(before) / np.linalg.norm(after))
            assert arrays["cosine"][row, layer, head] == pytest.approx(cosine, abs=1e-5)
        for (place, name), (number, mode) in product(enumerate(MODELS), enumerate(MODES)):
            masks = feature_masks(example, CLS, SEP, ANALYSES[example.record], mode)
            for k, feature in enumerate(MEASURED):
                mask = masks["sep" if feature == "sep_sum" else feature]
                reduce = np.sum if feature == "sep_sum" or not mask.any() else np.max
                column, first = arrays["columns"][place, number, row, k], arrays["first_row"][place, number, row, k]
                slow = [reduce(m[..., mask], axis=-1) for m in (maps[name].mean(axis=2), maps[name][-1][:, 0])]
                if feature == "neg" and mode == "as_published" and not mask.any() and module.listed_negations(example):
                    assert (column == 0).all()
                elif mask.any():
                    assert column == pytest.approx(slow[0], abs=1e-5)
                    assert first == pytest.approx(slow[1], abs=1e-5)
                else:
                    assert np.isnan([*column.ravel(), *first]).all()
            for k, link in enumerate(LINKS):
                pairs = piece_pairs(example, ANALYSES[example.record], link, mode)
                weights = arrays["links"][place, number, row, k]
                largest = np.max([maps[name][:, :, query, key] for query, key in pairs], axis=0) if pairs else np.nan
                assert weights == pytest.approx(np.broadcast_to(largest, weights.shape), abs=1e-5, nan_ok=True)
    linked = ~np.isnan(arrays["links"][..., 0, 0])
    assert 0 < linked.sum() < linked.size
    controlled = ~np.isnan(arrays["link_controls"][..., 0, 0])
    assert controlled.any()
    assert not (controlled & ~linked).any()


def test_padded_maps_are_compared_with_their_padding():
    base, tuned = installed("bert"), installed("bert", seed=1)
    cosines = module.padded_cosine((base, tuned), EXAMPLES[:3], PAD, 30)
    for row, example in enumerate(EXAMPLES[:3]):
        before, after = (torch.from_numpy(single_maps(net, example, length=30)[0]) for net in (base, tuned))
        assert float(before[..., len(example.input_ids) :, :].sum()) > 0, "padding attends"
        slow = torch.nn.functional.cosine_similarity(before.flatten(2), after.flatten(2), dim=-1)
        assert cosines[row] == pytest.approx(slow.numpy(), abs=1e-5)


def classifier(seed=0):
    net = installed("bert_classifier", seed=seed)
    net.config.id2label = {0: "no", 1: "yes", 2: "maybe"}
    return net


def test_measures_of_a_task():
    thresholds = pd.DataFrame([{"vertical": 0.3, "diagonal": 0.2, "block": 0.2}])

    def measured(examples, base=None, tagged=()):
        args = MapNetwork().eval(), thresholds, {"length": 24, "records": 2}, 4, 3, "no_such_model", "mrpc", 0
        return module.measures(base or installed("bert"), classifier(1), CARD, examples, *args, tagged)

    made, answers = measured(EXAMPLES).values()
    assert answers["record"].tolist() == [0, 1, 2]
    assert made.records.tolist() == [0, 1, 2, 3]
    assert len(made.padded_records) == len(made.cosines()["padded"]) == 2
    # Without tags: the features of a tagged corpus, and the others of the task.
    gold, plain = made, [replace(example, layers={}) for example in EXAMPLES[4:]]
    made = measured([replace(e, record=k) for k, e in enumerate(plain)], tagged=EXAMPLES)["measures"]
    assert [made.unit("noun"), made.unit("subj_verb")] == ["tagged sentences"] * 2
    assert [made.unit("neg"), gold.unit("noun")] == ["examples"] * 2
    for feature, count in {"noun": 4, "neg": 2}.items():
        assert [len(made.feature("tuned", "corrected", feature, *column)) for column in ((), ("first_row",))] == [count] * 2
    np.testing.assert_allclose(*(of.feature("tuned", "corrected", "noun") for of in (made, gold)), atol=1e-6)
    np.testing.assert_allclose(made.links, gold.links, atol=1e-6)
    with pytest.raises(AtlasError, match="no example to measure"):
        measured([])
    with pytest.raises(AtlasError, match="another shape than the one it was trained from"):
        measured(EXAMPLES, installed("gpt2"))


def test_every_head_and_layer_gives_what_a_plain_pass_gives():
    net = classifier()
    assert module.disabled(net, CARD, EXAMPLES, "mrpc")["label"].tolist() == ["no", "yes"] * 3
    # The predictions of a regression are the first logits.
    table = module.disabled(net, CARD, EXAMPLES, "stsb")
    names = [f"{layer}-{head}" for layer in range(1, LAYERS + 1) for head in range(HEADS + 1)]
    assert list(table.columns) == ["record", "label", "unchanged", *names]
    assert not (table["unchanged"] == table[names].T).all(axis=1).any(), "every condition changes something"
    for name, (row, example) in product(["unchanged", *names], enumerate(EXAMPLES)):
        layer, head = (0, 0) if name == "unchanged" else map(int, name.split("-"))
        plan = Plan().uniform(layer, head or None) if layer else None
        maps, slow = single_maps(net, example, plan)
        assert float(table[name][row]) == pytest.approx(float(slow.logits[0, 0]), abs=1e-4)
        if layer:
            assert maps[layer - 1, slice(head - 1, head) if head else slice(None)] == pytest.approx(1 / len(example.input_ids))


def test_predictions_of_every_model(monkeypatch):
    untrained = torch.eye(2)[[0, 1, 0, 1, 0, 1]]
    monkeypatch.setattr(module, "untrained_logits", lambda *args: torch.stack([untrained, 1 - untrained]))
    table = module.predictions({}, iter([("tuned", 7, classifier())]), CARD, EXAMPLES, "mrpc", 2)
    rows = {key: of_model["prediction"].tolist() for key, of_model in table.groupby(["state", "seed"])}
    assert rows["untrained", 0] == ["no", "yes"] * 3
    assert rows["untrained", 1] == ["yes", "no"] * 3
    assert rows["tuned", 7] == predicted(logits(classifier(), EXAMPLES, PAD), ["no", "yes", "maybe"], False)
    assert (table["label"] == np.tile(["no", "yes"], 9)).all()
    with pytest.raises(AtlasError, match="knows the labels LABEL_0, LABEL_1, LABEL_2, but the corpus has no, yes"):
        module.predictions({}, iter([("tuned", 1, installed("bert_classifier"))]), CARD, EXAMPLES, "mrpc", 2)


def test_random_layers_of_classes_depend_on_their_seed_alone(tmp_path):
    tiny("bert").save_pretrained(tmp_path / "model")
    entry = {"source": {"path": str(tmp_path / "model")}, "init": "pretrained", "dtype": "float32", "seed": 0}
    seed_logits = untrained_logits(entry, EXAMPLES, PAD, 3, [0, 1, 0])
    assert torch.equal(seed_logits[0], seed_logits[2])
    assert not torch.allclose(seed_logits[0], seed_logits[1])
    alone = untrained_logits(entry, EXAMPLES[2:4], PAD, 3, [1])
    assert alone[0].numpy() == pytest.approx(seed_logits[1, 2:4].numpy(), abs=1e-5)


def test_the_published_optimiser_by_hand():
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimiser = BertAdam([{"params": [weight], "weight_decay": 0.1}], lr=0.5)
    mean, square, value = np.zeros(2), np.zeros(2), np.asarray([1.0, -2.0])
    for gradient in (np.asarray([3.0, 4.0]), np.asarray([0.1, -0.2])):
        weight.grad = torch.tensor(gradient, dtype=torch.float32)
        optimiser.step()
        clipped = gradient * min(1, 1 / (np.linalg.norm(gradient) + 1e-6))
        mean, square = 0.9 * mean + 0.1 * clipped, 0.999 * square + 0.001 * clipped**2
        value = value - 0.5 * (mean / (np.sqrt(square) + 1e-6) + 0.1 * value)
        assert weight.detach().numpy() == pytest.approx(value, rel=1e-5)


WORDS = "the cats see the boy who sees cats it fled".split()
PIECES = ["the", "cat ##s", "see", "the", "boy", "who", "see ##s", "cat ##s", "it", "fled"]
LAYERS_OF_WORDS = {
    "xpos": "DT NNS VBP DT NN WP VBZ NNS PRP VBD".split(),
    "relations": "det nsubj root det dobj nsubj rcmod dobj nsubj root".split(),
    "heads": (2, 3, 0, 5, 3, 7, 5, 7, 10, 0),
}
EXAMPLE = pair(WORDS, PIECES, 8, LAYERS_OF_WORDS)
"""[CLS] the cat ##s see the boy who see ##s cat ##s [SEP] it fled [SEP]"""
ONE_TEXT = pair(WORDS, PIECES, 10, LAYERS_OF_WORDS)


def test_features_by_word_and_by_spelling():
    masks = {mode: feature_masks(EXAMPLE, CLS, SEP, gold_analysis(EXAMPLE), mode) for mode in MODES}
    expected = {"subj": [2, 3, 7, 13], "obj": [6, 10, 11], "noun": [2, 3, 6, 10, 11], "verb": [4, 8, 9, 14], "pron": [13]}
    expected |= {"sep": [12, 15], "cls": [0], "neg": [], "punct": []}
    assert {name: np.flatnonzero(mask).tolist() for name, mask in masks["corrected"].items()} == expected
    # As published, "cat" and "##s" elsewhere count as the subject's as well.
    assert np.flatnonzero(masks["as_published"]["subj"]).tolist() == [2, 3, 7, 9, 10, 11, 13]
    words = ["I", "...", "U.S."]
    untagged = feature_masks(pair(words, words, 3, {}), CLS, SEP, None, "corrected")
    assert set(untagged) == {"sep", "cls", "neg", "punct"}
    assert np.flatnonzero(untagged["punct"]).tolist() == [2]


def test_negation_by_words_and_as_published():
    # Text -> words of negations; whether the published code finds one in it, and the tokens that it then reads.
    cases = {
        "not here": ([0], True, [1]),
        "another north": ([], True, []),
        "another is not": ([2], True, [3]),
        "Nothing is": ([0], False, []),
        "do n't go": ([0, 1], False, []),
        "don ' t go ' t": ([0, 1, 2], True, [1, 2, 3, 5, 6]),
        "Don ’ t": ([0, 1, 2], False, []),
    }
    for text, (words, found, tokens) in cases.items():
        example = pair(text.split(), text.split(), 0, {}, texts=(text.replace(" ' ", "'"),))
        read = feature_masks(example, CLS, SEP, None, "as_published")["neg"]
        assert (module.negated(text.split()), np.flatnonzero(read).tolist()) == (words, tokens)
        assert bool(module.listed_negations(example)) == found


def test_a_text_whose_negation_is_part_of_a_word_counts_as_zero():
    examples = [pair(text.split(), text.split(), 3, {}, k) for k, text in enumerate(("another cat runs", "the cat runs"))]
    arrays = one_pass((installed("bert"),) * 2, examples, CARD, {}, MapNetwork().eval(), Thresholds(0.3, 0.2, 0.2), 0)
    k = MEASURED.index("neg")
    assert (arrays["columns"][:, 0, 0, k] == 0).all()
    assert np.isnan(arrays["columns"][:, 0, 1, k]).all()
    assert np.isnan(arrays["first_row"][:, :, :, k]).all()


def test_links_by_words_and_as_published():
    analysis = gold_analysis(EXAMPLE)
    linked = [(2, 4), (3, 4), (7, 8), (7, 9), (13, 14)]
    assert piece_pairs(EXAMPLE, analysis, "subj_verb", "corrected") == linked
    assert sorted(piece_pairs(EXAMPLE, analysis, "verb_subj", "corrected")) == [(b, a) for a, b in linked]
    # All cat, ##s, who, it (2 3 7 9 10 11 13) and see, ##s, fled (3 4 8 9 11 14) one by one.
    assert piece_pairs(EXAMPLE, analysis, "subj_verb", "as_published") == [(2, 3), (3, 4), (7, 8), (9, 9), (10, 11), (11, 14)]
    # The pronoun is in the other text than the nouns; "who" is no personal pronoun.
    assert piece_pairs(EXAMPLE, analysis, "noun_pron", "corrected") == []
    assert piece_pairs(ONE_TEXT, gold_analysis(ONE_TEXT), "pron_noun", "corrected") == [(12, k) for k in (2, 3, 6, 10, 11)]
    assert piece_pairs(ONE_TEXT, gold_analysis(ONE_TEXT), "noun_pron", "as_published") == []
    unknown = pair(WORDS, PIECES, 8, LAYERS_OF_WORDS | {"heads": (2, -1, 0, 5, 3, 7, 5, 7, -1, 0)})
    assert piece_pairs(EXAMPLE, gold_analysis(unknown), "subj_verb", "corrected") == [(7, 8), (7, 9)]


RAW = "We don't owe 1,250.50 dollars."
CUT = ["We", "don", "'", "t", "owe", "1", ",", "250", ".", "50", "dollars", "."]
RAW_EXAMPLE = pair([*CUT, "It", "rains", "."], [*CUT, "It", "rains", "."], len(CUT), {}, texts=(RAW, "It rains."))


def test_controls_are_no_links_in_either_mode(monkeypatch):
    calls = []
    monkeypatch.setattr(module, "control_weights", lambda maps, *call: calls.append(call) or np.zeros(maps.shape[:2]))
    analyses = {0: gold_analysis(EXAMPLE)}
    one_pass((installed("bert"),) * 2, [EXAMPLE], CARD, analyses, MapNetwork().eval(), Thresholds(0.3, 0.2, 0.2), 0)
    published = piece_pairs(EXAMPLE, analyses[0], "subj_verb", "as_published")
    excluded = [linked for pairs, linked, *_ in calls if pairs == published]
    assert excluded == [{*published, *piece_pairs(EXAMPLE, analyses[0], "subj_verb", "corrected")}] * 2, "of either model"


def fake_document(*tokens):
    """Tokens (text, character, tag, relation, head) as spaCy gives them."""
    made = [SimpleNamespace(i=k, text=t, idx=at, tag_=tag, dep_=rel) for k, (t, at, tag, rel, _) in enumerate(tokens)]
    for token, (*_, head) in zip(made, tokens, strict=True):
        token.head = made[head]
    return made


def test_tokens_of_running_text_are_aligned_by_characters():
    first = fake_document(
        ("We", 0, "PRP", "nsubj", 3),
        ("do", 3, "VBP", "aux", 3),
        ("n't", 5, "RB", "neg", 3),
        ("owe", 9, "VB", "ROOT", 3),
        ("1,250.50", 13, "CD", "nummod", 5),
        ("dollars", 22, "NNS", "dobj", 3),
        (".", 29, ".", "punct", 3),
    )
    second = fake_document(("It", 0, "PRP", "nsubj", 1), ("rains", 3, "VBZ", "ROOT", 1), (".", 8, ".", "punct", 1))
    analysis = module.aligned(RAW_EXAMPLE, [first, second])
    assert [token.words for token in analysis] == [(0,), (1,), (2, 3), (4,), (5, 6, 7, 8, 9), (10,), (11,), (12,), (13,), (14,)]
    assert [token.head for token in analysis] == [3, 3, 3, None, 5, 3, 3, 8, None, 8]


def test_without_gold_tags_and_a_tagger_there_is_no_analysis(caplog):
    assert module.analyses_of([EXAMPLE], "no_such_model") == {0: gold_analysis(EXAMPLE)}
    assert module.analyses_of([RAW_EXAMPLE], "no_such_model") == {}
    assert "no_such_model" in caplog.text
