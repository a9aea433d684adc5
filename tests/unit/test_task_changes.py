"""What fine-tuning changes and what disabling costs: one pass against loops, plans against plain passes, tests of chance."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_models import HEADS, LAYERS, PAD, tiny

from attention_atlas.attention.engine import Plan, install, watch
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import ModelCard
from attention_atlas.models.fine_tuning import BertAdam
from attention_atlas.models.task_heads import logits, logits_under, predicted, untrained_logits
from attention_atlas.studies.kovaleva2019 import FEATURES, LINKS, MODES
from attention_atlas.studies.kovaleva2019 import models as models_module
from attention_atlas.studies.kovaleva2019.changes import MEASURED, MODELS
from attention_atlas.studies.kovaleva2019.models import (
    disabled,
    disabling_conditions,
    measures,
    one_pass,
    padded_cosine,
    predictions,
)
from attention_atlas.studies.kovaleva2019.patterns import MapNetwork, Thresholds
from attention_atlas.studies.kovaleva2019.scores import Effects, effect_rows, heldout_gain
from attention_atlas.studies.kovaleva2019.words import feature_masks, gold_analysis, negated, piece_pairs

CLS, SEP = "c", "s"
CARD = ModelCard("tiny", "made up", "bert", 3, 4, 40, CLS, SEP, PAD, "", "random", 0, "float32")


def example(record, sizes, tagged=True):
    """A pair of texts of so many words, two pieces to every third word."""
    generator = random.Random(record)
    words = tuple(generator.choice(("not", "cat", "cats", ".", "he", "runs", "nothing")) for _ in range(sum(sizes)))
    ids, word, segments, tokens = [2], [-1], [0], [CLS]
    for place, form in enumerate(words):
        segment = int(place >= sizes[0])
        for part in range(1 + (place % 3 == 0)):
            ids.append(generator.randrange(5, 60))
            word.append(place)
            segments.append(segment)
            tokens.append(form if part == 0 else "##x")
        if place + 1 in (sizes[0], sum(sizes)):
            ids.append(3)
            word.append(-1)
            segments.append(segment)
            tokens.append(SEP)
    tags = {"not": "RB", "cat": "NN", "cats": "NNS", ".": ".", "he": "PRP", "runs": "VBZ", "nothing": "NN"}
    layers = {"xpos": tuple(tags[w] for w in words), "relations": tuple("nsubj" if w == "he" else "dep" for w in words)}
    label = ("no", "yes")[record % 2]
    pieces = map(tuple, (ids, segments, tokens, word))
    return Example(record, f"e{record}", *pieces, words, layers if tagged else {}, label=label)


EXAMPLES = [example(k, sizes) for k, sizes in enumerate([(3, 4), (2, 6), (5, 2), (4, 4), (2, 3), (6, 5)])]


ANALYSES = {single.record: gold_analysis(single) for single in EXAMPLES}


def model(name="bert", seed=0):
    net = tiny(name, seed=seed)
    install(net)
    return net


def single_maps(net, single):
    """[layer, head, n, n] of one example by itself."""
    maps = []
    with torch.inference_mode(), watch(net, observers=[lambda site, p: maps.append(p[0].clone())]) as session:
        inputs = {
            "input_ids": torch.tensor([single.input_ids]),
            "attention_mask": torch.ones(1, len(single.input_ids), dtype=torch.long),
        }
        inputs["token_type_ids"] = torch.tensor([single.segment_ids])
        session.batch(inputs["attention_mask"])
        net(**inputs)
    return torch.stack(maps).numpy()


def test_one_pass_gives_what_loops_over_single_examples_give():
    base, tuned = model(seed=0), model(seed=1)
    patterns = MapNetwork().eval(), Thresholds(0.3, 0.2, 0.2)
    arrays = one_pass((base, tuned), EXAMPLES, CARD, ANALYSES, *patterns, 0)
    for row, single in enumerate(EXAMPLES):
        maps = {"base": single_maps(base, single), "tuned": single_maps(tuned, single)}
        for layer in range(LAYERS):
            for head in range(HEADS):
                before, after = (maps[name][layer, head].ravel() for name in MODELS)
                cosine = float(before @ after / np.linalg.norm(before) / np.linalg.norm(after))
                assert arrays["cosine"][row, layer, head] == pytest.approx(cosine, abs=1e-5)
        for place, name in enumerate(MODELS):
            means = maps[name].mean(axis=2)
            for number, mode in enumerate(MODES):
                masks = feature_masks(single, CLS, SEP, gold_analysis(single), mode)
                for k, feature in enumerate(MEASURED):
                    mask = masks["sep" if feature == "sep_sum" else feature]
                    reduce = np.sum if feature == "sep_sum" else np.max
                    here = arrays["columns"][place, number, row, k]
                    first = arrays["first_row"][place, number, row, k]
                    if not mask.any():
                        assert np.isnan(here).all()
                        assert np.isnan(first).all()
                        continue
                    assert here == pytest.approx(reduce(means[:, :, mask], axis=-1), abs=1e-5)
                    assert first == pytest.approx(reduce(maps[name][-1][:, 0, mask], axis=-1), abs=1e-5)
        for (number, mode), (k, link) in product(enumerate(MODES), enumerate(LINKS)):
            pairs = piece_pairs(single, ANALYSES[single.record], link, mode)
            for place, name in enumerate(MODELS if pairs else ()):
                largest = np.max([maps[name][:, :, query, key] for query, key in pairs], axis=0)
                assert arrays["links"][place, number, row, k] == pytest.approx(largest, abs=1e-5)
            assert pairs or np.isnan(arrays["links"][:, number, row, k]).all()
    linked = ~np.isnan(arrays["links"][..., 0, 0])
    assert 0 < linked.sum() < linked.size
    assert not (~np.isnan(arrays["link_controls"][..., 0, 0]) & ~linked).any()
    assert arrays["classes"].shape == (2, len(EXAMPLES), LAYERS, HEADS)


def test_padded_maps_are_compared_with_their_padding():
    base, tuned = model(seed=0), model(seed=1)
    length = 30
    cosines = padded_cosine((base, tuned), EXAMPLES[:3], PAD, length)
    for row, single in enumerate(EXAMPLES[:3]):
        n = len(single.input_ids)
        vectors = []
        for net in (base, tuned):
            maps = []
            ids = torch.tensor([[*single.input_ids, *[PAD] * (length - n)]])
            mask = torch.tensor([[1] * n + [0] * (length - n)])
            segments = torch.tensor([[*single.segment_ids, *[0] * (length - n)]])
            with (
                torch.inference_mode(),
                watch(net, observers=[lambda site, p, maps=maps: maps.append(p[0].clone())]) as session,
            ):
                session.batch(mask)
                net(input_ids=ids, attention_mask=mask, token_type_ids=segments)
            vectors.append(torch.stack(maps).flatten(2))
        assert vectors[0].shape[-1] == length**2
        # Padding is never attended to, but attends.
        assert float(vectors[0].reshape(LAYERS, HEADS, length, length)[..., n:].max()) == 0
        assert float(vectors[0].reshape(LAYERS, HEADS, length, length)[..., n:, :].sum()) > 0
        slow = torch.nn.functional.cosine_similarity(*vectors, dim=-1)
        assert cosines[row] == pytest.approx(slow.numpy(), abs=1e-5)
    patterns = MapNetwork().eval(), Thresholds(1, 1, 1)
    real = one_pass((base, tuned), EXAMPLES[:3], CARD, {}, *patterns, 0)
    assert not np.allclose(cosines, real["cosine"], atol=1e-2)


def test_measures_of_a_task(monkeypatch):
    thresholds = pd.DataFrame([{"vertical": 0.3, "diagonal": 0.2, "block": 0.2}])
    padded = {"length": 24, "records": 2}

    def measured(examples):
        tuned = model("bert_classifier", seed=1)
        tuned.config.id2label = {0: "no", 1: "yes", 2: "maybe"}
        args = MapNetwork().eval(), thresholds, padded, 4, 3, "no_such_model", "mrpc", 0
        return measures(model(seed=0), tuned, CARD, examples, *args)

    made, predictions = measured(EXAMPLES).values()
    assert predictions["record"].tolist() == [0, 1, 2]
    assert made.links.shape == made.link_controls.shape == (2, 2, 4, 4, LAYERS, HEADS)
    assert made.records.tolist() == [0, 1, 2, 3]
    assert len(made.padded_records) == 2
    assert made.feature("tuned", "corrected", "noun").shape == (4, LAYERS, HEADS)
    with pytest.raises(AtlasError, match="no example to measure"):
        measured([])


# --- features of words


def tagged(words, xpos, relations=None, spelled=None):
    """An example of one text; `spelled`: pieces of each word."""
    pieces = spelled or [[w] for w in words]
    word = [-1, *(k for k, word_pieces in enumerate(pieces) for _ in word_pieces), -1]
    tokens = [CLS, *(p for word_pieces in pieces for p in word_pieces), SEP]
    layers = {"xpos": tuple(xpos), "relations": tuple(relations or ["dep"] * len(words))}
    n = len(word)
    return Example(0, "t", (0,) * n, (0,) * n, tuple(tokens), tuple(word), tuple(words), layers)


def test_features_by_word_and_by_spelling():
    sentence = tagged(
        ["cats", "see", "bats", "."],
        ["NNS", "VBP", "NN", "."],
        ["nsubj", "root", "dobj", "punct"],
        [["cat", "##s"], ["see"], ["bat", "##s"], ["."]],
    )
    by_word = feature_masks(sentence, CLS, SEP, gold_analysis(sentence), "corrected")
    assert np.flatnonzero(by_word["subj"]).tolist() == [1, 2]
    assert by_word["noun"].sum() == 4
    assert by_word["punct"].tolist() == [False] * 6 + [True, False]
    # As published, the "##s" of the object counts as the subject's as well.
    by_spelling = feature_masks(sentence, CLS, SEP, gold_analysis(sentence), "as_published")
    assert np.flatnonzero(by_spelling["subj"]).tolist() == [1, 2, 5]
    assert set(by_word) == set(FEATURES)


@pytest.mark.parametrize(
    ("words", "corrected", "published"),
    [
        (["not", "here"], [0], [0]),
        (["another", "north"], [], [0, 1]),
        (["Nothing", "is"], [0], []),
        (["do", "n't", "go"], [0, 1], [0, 1]),
        (["don", "'", "t", "go"], [0, 1, 2], [0, 1, 2]),
        (["Don", "’", "t"], [0, 1, 2], []),
        (["a", "cat"], [], []),
    ],
)
def test_negation_by_words_and_by_parts_of_words(words, corrected, published):
    assert negated(words, "corrected") == corrected
    assert negated(words, "as_published") == published


def test_without_tags_only_features_of_spelling_are_left():
    untagged = example(0, (3, 3), tagged=False)
    assert set(feature_masks(untagged, CLS, SEP, None, "corrected")) == {"sep", "cls", "neg", "punct"}
    assert gold_analysis(untagged) is None


# --- disabling


def test_a_constant_output_replaces_what_a_head_gives():
    net = model("bert_classifier")
    size = 4
    outputs = torch.arange(HEADS * size, dtype=torch.float32).reshape(HEADS, size)
    seen = []
    plan = Plan().constant(1, outputs, [0, 2])
    assert plan.first_layer == 1
    inputs = {"input_ids": torch.randint(5, 60, (2, 7)), "attention_mask": torch.ones(2, 7, dtype=torch.long)}
    with torch.inference_mode(), watch(net, plan=plan, outputs=[lambda site, out: seen.append(out.clone())]) as session:
        session.batch(inputs["attention_mask"])
        changed = net(**inputs).logits
    with torch.inference_mode(), watch(net, outputs=[lambda site, out: seen.append(out.clone())]):
        plain = net(**inputs).logits
    replaced, before = seen[1], seen[LAYERS + 1]
    assert torch.equal(replaced[:, :, 0], outputs[0].expand(2, 7, size))
    assert torch.equal(replaced[:, :, 2], outputs[2].expand(2, 7, size))
    assert torch.equal(replaced[:, :, 1], before[:, :, 1])
    assert not torch.allclose(changed, plain)
    with pytest.raises(AtlasError, match=r"must be \[4 heads, size\]"), watch(net, plan=Plan().constant(0, torch.zeros(3, 4))):
        pass
    with pytest.raises(AtlasError, match="names layer 9"), watch(net, plan=Plan().constant(9, outputs)):
        pass


def test_every_head_and_layer_gives_what_a_plain_pass_gives():
    net = model("bert_classifier")
    conditions = disabling_conditions(net)
    assert list(conditions)[: HEADS + 1] == [f"1-{head}" for head in range(HEADS + 1)]
    assert len(conditions) == LAYERS * (HEADS + 1)
    condition_logits = logits_under(net, EXAMPLES, list(conditions.values()), PAD, batch_tokens=40)
    assert condition_logits[0].numpy() == pytest.approx(logits(net, EXAMPLES, PAD).numpy(), abs=1e-5)
    for number in random.Random(0).sample(range(len(conditions)), 12):
        for row, single in enumerate(EXAMPLES):
            ids, segments = torch.tensor([single.input_ids]), torch.tensor([single.segment_ids])
            with torch.inference_mode(), watch(net, plan=list(conditions.values())[number]) as session:
                session.batch(torch.ones_like(ids))
                slow = net(input_ids=ids, attention_mask=torch.ones_like(ids), token_type_ids=segments).logits[0]
            assert condition_logits[number + 1, row].numpy() == pytest.approx(slow.numpy(), abs=1e-4)
    # Every condition changes something.
    assert (condition_logits[1:] - condition_logits[0]).abs().amax(dim=(1, 2)).min() > 1e-6


def test_disabling_gives_a_column_for_each_condition():
    net = model("bert_classifier")
    net.config.id2label = {0: "no", 1: "yes", 2: "maybe"}
    table = disabled(net, CARD, EXAMPLES[:4], "mrpc")
    assert list(table.columns) == ["record", "label", "unchanged", *disabling_conditions(net)]
    assert table["record"].tolist() == [0, 1, 2, 3]
    assert table.iloc[:, 2:].isin(["no", "yes", "maybe"]).all(axis=None)
    assert table["unchanged"].tolist() == predicted(logits(net, EXAMPLES[:4], PAD), ["no", "yes", "maybe"], False)
    assert table["label"].tolist() == ["no", "yes", "no", "yes"]


def test_a_corpus_of_other_labels_is_refused(monkeypatch):
    monkeypatch.setattr(models_module, "untrained_logits", lambda *args: torch.zeros(2, len(EXAMPLES), 2))
    tuned = iter([("tuned", 1, model("bert_classifier"))])
    with pytest.raises(AtlasError, match="knows the labels LABEL_0, LABEL_1, LABEL_2, but the corpus has no, yes"):
        predictions({}, tuned, CARD, EXAMPLES, "mrpc", 2)


def made_effects(gain, examples=200, conditions=12, seed=0):
    """One condition is right `gain` more often than the rest, which change predictions at random."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(1, 3, examples).astype(float)
    base = np.where(generator.random(examples) < 0.5, truth, 3 - truth)
    changed = np.repeat(base[None], conditions, axis=0)
    for row in changed:
        flipped = generator.random(examples) < 0.1
        row[flipped] = 3 - row[flipped]
    wrong = np.flatnonzero(changed[5] != truth)[: int(gain * examples)]
    changed[5, wrong] = truth[wrong]
    return Effects(changed[None], base[None], truth, "accuracy")


def test_a_real_gain_is_found_and_chance_is_not():
    table, facts = effect_rows(made_effects(0.15), 500, 0)
    assert facts["best_delta"] == table.loc[5, "delta"]
    assert table.loc[5, "p"] < 0.01
    assert table.loc[5, "p_adjusted"] < 0.05
    assert table.loc[5, "ci_low"] > 0
    assert facts["heldout_delta"] > 5
    table, facts = effect_rows(made_effects(0.0, seed=3), 500, 0)
    assert facts["best_delta"] > 0
    assert (table["p_adjusted"] > 0.05).all()
    assert (table["p_adjusted"] >= table["p"]).all()
    assert facts["heldout_delta"] < facts["best_delta"]


def test_one_of_144_heads_is_significant_with_a_thousand_exchanges():
    table, facts = effect_rows(made_effects(0.2, examples=100, conditions=144), 1000, 0)
    assert facts["best_delta"] == table.loc[5, "delta"]
    assert table.loc[5, "p_adjusted"] < 0.01
    assert (table["p_adjusted"].drop(5) > 0.05).all()


def test_seeds_share_their_exchanges():
    one = made_effects(0.1)
    twice = Effects(np.repeat(one.changed, 2, axis=0), np.repeat(one.base, 2, axis=0), one.truth, "accuracy")
    pd.testing.assert_frame_equal(effect_rows(twice, 200, 0)[0], effect_rows(one, 200, 0)[0])


def test_seeds_that_differ_widen_the_interval_and_not_the_test():
    one = made_effects(0.0)
    changed = np.repeat(one.changed, 3, axis=0)
    # Condition 0 errs in 0, 30 and 60 of the examples that it otherwise gets right.
    right = np.flatnonzero(one.changed[0, 0] == one.truth)
    for seed, errors in enumerate((0, 30, 60)):
        changed[seed, 0, right[:errors]] = 3 - one.truth[right[:errors]]
    seeds = Effects(changed, np.repeat(one.base, 3, axis=0), one.truth, "accuracy")
    table = effect_rows(seeds, 1000, 0, pair_level=0.99)[0]
    assert table.loc[0, "p"] < 0.01
    assert table.loc[0, "ci_low"] < 0 < table.loc[0, "ci_high"]
    # Student's t of three seeds: 15, 0 and -15 percentage points around the mean.
    half = 4.30 * 15 / np.sqrt(3)
    assert (table.loc[0, "ci_high"] - table.loc[0, "ci_low"]) / 2 == pytest.approx(half, rel=0.1)
    other = effect_rows(one, 1000, 0)[0].loc[1:]
    assert table.loc[1:, "ci_low"].to_numpy() == pytest.approx(other["ci_low"].to_numpy()), "the other conditions do not differ"
    wider = (table["pair_ci_low"] <= table["ci_low"]) & (table["pair_ci_high"] >= table["ci_high"])
    assert wider.all()
    assert (table["pair_level"] == 0.99).all()


def test_differences_tests_and_halves_are_those_of_plain_formulas():
    effects = made_effects(0.1)
    table, facts = effect_rows(effects, 200, 0)
    right = effects.changed[0] == effects.truth
    before = effects.base[0] == effects.truth
    assert table["delta"].to_numpy() == pytest.approx(100 * (right.mean(axis=1) - before.mean()))
    even = np.arange(len(before)) % 2 == 0
    gains = []
    for selection, evaluation in ((even, ~even), (~even, even)):
        best = (right[:, selection].mean(axis=1)).argmax()
        gains.append(right[best, evaluation].mean() - before[evaluation].mean())
    gain, low, high = heldout_gain(effects, 200, 0, 0.95)
    assert gain == pytest.approx(np.mean(gains))
    assert low < gain < high
    # The half-width is that of one direction: 100 examples, not 200, since the directions are dependent.
    spread = [(right[5, half].astype(float) - before[half]).std() for half in (even, ~even)]
    assert (high - low) / 2 == pytest.approx(1.96 * np.mean(spread) / 10, rel=0.2)
    assert facts["heldout_delta"] == pytest.approx(100 * gain)
    assert facts["above"] == pytest.approx((right.mean(axis=1) > before.mean()).mean())


def test_a_loss_on_one_half_and_the_same_gain_on_the_other_are_zero():
    truth = np.ones(200)
    base = np.tile(np.repeat([1.0, 2.0], 100), (3, 1))
    changed = np.stack([base, base])
    for seed, examples in enumerate((1, 2, 4)):
        changed[0, seed, 1 : 2 * examples : 2] = 2  # Head 1 loses on odd examples, head 2 gains as much on even ones.
        changed[1, seed, 100 : 100 + 2 * examples : 2] = 1
    changed[0, :, 100:120:2] = 1  # Each is the better head on the half on which it is not measured.
    changed[1, :, 101:121:2] = 1
    for heads in (changed, changed[::-1]):
        _, facts = effect_rows(Effects(heads.swapaxes(0, 1), base, truth, "accuracy"), 100, 0)
        assert f"{facts['heldout_delta']:+}" == "+0.0"


def test_a_head_that_changes_nothing_has_no_effect():
    effects = made_effects(0.0)
    same = Effects(np.repeat(effects.base[:, None], 3, axis=1), effects.base, effects.truth, "accuracy")
    table, facts = effect_rows(same, 100, 0)
    assert (table["delta"] == 0).all()
    assert (table["p"] == 1).all()
    assert (table["p_adjusted"] == 1).all()
    assert facts["above"] == 0


# --- fine-tuning


def test_the_published_optimiser_by_hand():
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimiser = BertAdam([{"params": [weight], "weight_decay": 0.1}], lr=0.5, max_norm=1.0)
    mean, square, value = np.zeros(2), np.zeros(2), np.asarray([1.0, -2.0])
    for gradient in (np.asarray([3.0, 4.0]), np.asarray([0.1, -0.2])):
        weight.grad = torch.tensor(gradient, dtype=torch.float32)
        optimiser.step()
        clipped = gradient * min(1, 1 / (np.linalg.norm(gradient) + 1e-6))
        mean = 0.9 * mean + 0.1 * clipped
        square = 0.999 * square + 0.001 * clipped**2
        value = value - 0.5 * (mean / (np.sqrt(square) + 1e-6) + 0.1 * value)
        assert weight.detach().numpy() == pytest.approx(value, rel=1e-5)


def test_random_layers_of_classes_depend_on_their_seed_alone(tmp_path):
    net = tiny("bert")
    net.save_pretrained(tmp_path / "model")
    entry = {"source": {"path": str(tmp_path / "model")}, "init": "pretrained", "dtype": "float32", "seed": 0}
    seed_logits = untrained_logits(entry, EXAMPLES, PAD, 3, [0, 1, 0])
    assert seed_logits.shape == (3, len(EXAMPLES), 3)
    assert torch.equal(seed_logits[0], seed_logits[2])
    assert not torch.allclose(seed_logits[0], seed_logits[1])
    alone = untrained_logits(entry, EXAMPLES[2:4], PAD, 3, [1])
    assert alone[0].numpy() == pytest.approx(seed_logits[1, 2:4].numpy(), abs=1e-5)


def test_a_disabled_head_attends_uniformly():
    net = model("bert_classifier")
    seen = []
    plan = disabling_conditions(net)["2-3"]
    inputs = {"input_ids": torch.randint(5, 60, (1, 6)), "attention_mask": torch.ones(1, 6, dtype=torch.long)}
    with torch.inference_mode(), watch(net, plan=plan, applied=[lambda site, maps: seen.append(maps)]) as session:
        session.batch(inputs["attention_mask"])
        net(**inputs)
    assert seen[1][0, 2].numpy() == pytest.approx(1 / 6)
