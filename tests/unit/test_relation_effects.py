"""Masked heads and words of their relation: matched words, losses against single passes, planted and null effects."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from decoder_by_hand import PIECE, PLACE, SIZE, WIDTH, empty_decoder, into, set_head
from decoder_by_hand import VOCABULARY as PIECES
from scipy.stats import binom
from tiny_models import FIRST_WORD, HEADS, LAYERS, PAD, VOCABULARY, installed, tiny
from transformers import GPT2LMHeadModel

from attention_atlas.atlas import relation_effects as relation_effects_module
from attention_atlas.atlas.head_measures import CAUSAL_EFFECTS, RELATION_WEIGHTS
from attention_atlas.atlas.measures import read_measures
from attention_atlas.atlas.relation_effects import (
    Chosen,
    Pair,
    carriers,
    effect_of,
    effects_of_masking,
    matched_pairs,
    probe_losses,
    relation_effects,
    relation_weights,
    word_probes,
)
from attention_atlas.attention.engine import Plan, install, watch
from attention_atlas.corpora.examples import Example
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD, HEAD_TO_DEPENDENT
from attention_atlas.methods.head_relations import HEAD_RELATIONS
from attention_atlas.models.card import ModelCard
from attention_atlas.models.language_models import HeadFacts, LanguageModel

MASK = 4
CARD = ModelCard(
    name="tiny", origin="a folder", model_type="bert", layers=LAYERS, heads=HEADS, max_tokens=40, cls="2", sep="3", pad=PAD,
    weights_sha256="", init="pretrained", seed=0, dtype="float32", mask=MASK,
)  # fmt: skip


def sentence(record):
    """Six words of random pieces, the second of two pieces."""
    pieces = np.random.default_rng(record).integers(FIRST_WORD, VOCABULARY, 7).tolist()
    ids, word = (2, *pieces, 3), (-1, 0, 1, 1, 2, 3, 4, 5, -1)
    words = tuple(f"w{piece}" for piece in pieces[:6])
    layers = {
        "heads": (2, 3, 0, 5, 3, 3),
        "relations": ("amod", "nsubj", "root", "amod", "dobj", "punct"),
        "xpos": ("JJ", "NN", "VB", "JJ", "NN", "."),
    }
    return Example(record, f"s{record}", ids, (0,) * 9, tuple(map(str, ids)), word, words, layers)


def test_matched_words_have_the_part_of_speech_or_else_the_frequency_of_the_word():
    example, usable = sentence(0), {0: range(6)}
    assert carriers(example, "amod", DEPENDENT_TO_HEAD) == [0, 3], "words that the head attends from"
    assert carriers(example, "amod", HEAD_TO_DEPENDENT) == [1, 4]
    frequencies = Counter({word.lower(): 2**k for k, word in enumerate(example.words)})
    assert matched_pairs([example], "nsubj", DEPENDENT_TO_HEAD, frequencies, usable, 9, 0) == [Pair(0, 1, 4, True)]
    pairs = matched_pairs([example], "amod", DEPENDENT_TO_HEAD, frequencies, usable, 9, 0)
    # No third adjective: the nearest frequency; full stops are no match, and the second of two equally near words is nearer.
    assert pairs == [Pair(0, 0, 1, False), Pair(0, 3, 2, False)]
    assert len(matched_pairs([example], "amod", DEPENDENT_TO_HEAD, frequencies, usable, 1, 0)) == 1


def masked_model():
    model = tiny("bert_mlm")
    install(model)
    return LanguageModel(model.requires_grad_(False), None, HeadFacts("checkpoint"))


def loss_of(logits, place, piece):
    return -logits[place].log_softmax(-1)[piece].item()


def test_masked_losses_are_those_of_each_word_in_a_pass_of_its_own():
    model, examples, plan = masked_model(), [sentence(0), sentence(1)], Plan().zero(1, 2)
    probes = [probe for example in examples for probe in word_probes(example, MASK).values()]
    ours, expected = probe_losses(model, probes, PAD, plan), []
    for example, word in product(examples, range(6)):
        ids = torch.tensor([[MASK if of == word else i for i, of in zip(example.input_ids, example.word, strict=True)]])
        with torch.no_grad(), watch(model.model, plan=plan) as session:
            session.batch(torch.ones_like(ids))
            logits = model.model(ids).logits[0]
        places = [k for k, of in enumerate(example.word) if of == word]
        expected.append(np.mean([loss_of(logits, k, example.input_ids[k]) for k in places]))
    assert ours == pytest.approx(np.array(expected), abs=1e-4)
    assert not np.allclose(ours, probe_losses(model, probes, PAD), atol=1e-5), "the plan changes something"


def test_causal_losses_are_those_of_the_token_after_each_word():
    torch.manual_seed(0)
    model = GPT2LMHeadModel(tiny("gpt2").config).eval().requires_grad_(False)
    install(model)
    example = sentence(0)
    probes = word_probes(example, None)
    assert list(probes) == [0, 1, 2, 3, 4], "nothing of the text follows the last word"
    ours = probe_losses(LanguageModel(model, None, HeadFacts("none")), list(probes.values()), PAD)
    logits = model(torch.tensor([example.input_ids])).logits[0]
    expected = [loss_of(logits, place, example.input_ids[place + 1]) for place in (1, 3, 4, 5, 6)]
    assert ours == pytest.approx(np.array(expected), abs=1e-4)


def simulated(effect, seed):
    """An effect on 40 pairs of words, two from each document; both words of a pair share the noise of the document."""
    generator = np.random.default_rng(seed)
    listed, documents = [Pair(k, 0, 1, True) for k in range(40)], [f"d{k // 2}" for k in range(40)]
    common = np.repeat(generator.normal(0, 1, 20), 2)
    relation = effect + common + generator.normal(0, 1, 40)
    return effect_of(listed, relation, common + generator.normal(0, 1, 40), documents, 200, seed)


def test_simulated_effects_are_found_and_their_absence_is_not_taken_for_one():
    null = [simulated(0.0, seed) for seed in range(100)]
    assert sum(effect["p"] < 0.05 for effect in null) <= binom.ppf(0.999, 100, 0.05)
    assert sum(not effect["ci_low"] <= 0 <= effect["ci_high"] for effect in null) <= binom.ppf(0.999, 100, 0.06)
    planted = [simulated(1.5, seed) for seed in range(20)]
    assert all(effect["p"] < 0.05 and effect["ci_low"] > 0 for effect in planted)
    assert (planted[0]["units"], planted[0]["unit"]) == (20, "documents")


def relations(**columns):
    rows = [(2, 3, "nsubj", DEPENDENT_TO_HEAD, 0.5), (1, 1, "amod", HEAD_TO_DEPENDENT, 0.1)]
    rows.append((3, 4, "xcomp", DEPENDENT_TO_HEAD, 0.05))
    return pd.DataFrame(rows, columns=["layer", "head", "relation", "direction", "choice_low"]).assign(**columns)


def copying_decoder():
    """A decoder whose head 1 predicts the piece before the current one; head 2 writes nothing."""
    model = GPT2LMHeadModel(empty_decoder(layers=1).config)
    model.transformer = empty_decoder(layers=1)
    model.tie_weights()
    back = torch.zeros(SIZE, WIDTH)
    back[:PIECES, PIECE] = torch.eye(PIECES)
    with torch.no_grad():
        set_head(model.transformer.h[0], 0, query=into(PLACE, -1, 10.0), key=into(PLACE), value=into(PIECE), output=back)
    install(model.eval())
    return LanguageModel(model, None, HeadFacts("none"))


def copied_sentence(record):
    """The piece of word 1 comes again after its adjective, word 2; nothing comes again after the other adjective, word 4."""
    noun, adjective, another, *rest = np.random.default_rng(record).permutation(np.arange(1, PIECES))[:5].tolist()
    ids = (noun, adjective, noun, another, *rest)
    layers = {
        "heads": (0, 1, 1, 5, 1, 1),
        "relations": ("root", "amod", "appos", "nmod", "dep", "dep"),
        "xpos": ("NN", "JJ", "NN", "JJ", "NN", "NN"),
    }
    words = tuple(f"w{piece}" for piece in ids)
    return Example(record, f"s{record}", ids, (0,) * 6, words, tuple(range(6)), words, layers)


def test_a_head_that_the_model_needs_for_its_relation_has_an_effect_and_an_idle_one_has_none():
    examples = [copied_sentence(record) for record in range(20)]
    heads = pd.DataFrame({"layer": 1, "head": [1, 2], "relation": "amod", "direction": DEPENDENT_TO_HEAD, "choice_low": 0.5})
    frequencies = Counter(word for example in examples for word in example.words)
    needed, idle = effects_of_masking(
        copying_decoder(), examples, heads, frequencies, replace(CARD, layers=1, heads=2), Chosen(2, 20, 200, 0)
    ).itertuples()
    assert needed.loss < 0.1, "with its head the model predicts the token after the adjective"
    assert min(needed.relation_change, needed.ci_low) > 5
    assert needed.q < 0.05
    assert (idle.relation_change, idle.value) == (0, 0)


def test_norm_weighted_accuracies_are_those_of_weighted_maps(monkeypatch):
    model, examples = installed("bert"), [sentence(k) for k in range(8)]
    table = relation_weights(model, examples, relations(), CARD, Chosen(3, 10, 100, 0))
    assert table["n"].tolist() == [8, 16, 0]
    with monkeypatch.context() as patched:
        patched.setattr(relation_effects_module, "norm_weighted", lambda weights, norms: weights)
        raw = relation_weights(model, examples, relations(), CARD, Chosen(3, 10, 100, 0))
    assert (raw["value"][:2] == 0).all()
    assert table["value"][:2].to_numpy() == pytest.approx((table["norm"] - raw["norm"])[:2].to_numpy())
    # Where all values have one norm, weighted maps are the maps.
    with torch.no_grad():
        for layer in model.encoder.layer:
            layer.attention.self.value.weight.zero_()
    same = relation_weights(model, examples, relations(), CARD, Chosen(3, 10, 100, 0))
    assert (same["value"][:2] == 0).all()


def test_a_model_that_predicts_nothing_leaves_a_reason(tmp_path):
    tiny("bert").save_pretrained(tmp_path / "model")
    entry = {"source": {"path": str(tmp_path / "model")}, "init": "pretrained", "seed": 0, "dtype": "float32"}
    table = relations(rank=1).reindex(columns=HEAD_RELATIONS).head(2)
    settings = {"settings": {"heads": 2, "words": 4}, "resamples": 100, "seed": 0}
    no_head = str(tmp_path / "head"), HeadFacts("none")
    tables = relation_effects(entry, replace(CARD, mask=None), *no_head, [sentence(k) for k in range(8)], table, **settings)
    measured = read_measures({RELATION_WEIGHTS: tables["weights"], CAUSAL_EFFECTS: tables["effects"]}, LAYERS, HEADS)
    assert "norm_gain" in measured.heads
    assert "predicts neither masked tokens" in measured.absent["causal_effect"]
