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
from tiny_models import FIRST_WORD, HEADS, LAYERS, PAD, VOCABULARY, installed, masked_model, tiny
from transformers import GPT2LMHeadModel

from attention_atlas.atlas import relation_effects as module
from attention_atlas.atlas.head_measures import CAUSAL_EFFECTS, HEAD_ABLATION, RELATION_WEIGHTS
from attention_atlas.atlas.measures import read_measures
from attention_atlas.atlas.relation_effects import Chosen, effects_of_masking, head_ablation, relation_effects, relation_weights
from attention_atlas.attention.engine import Plan, install, watch
from attention_atlas.corpora.examples import Example
from attention_atlas.methods.dependency_scoring import DEPENDENT_TO_HEAD, HEAD_TO_DEPENDENT
from attention_atlas.methods.head_relations import HEAD_RELATIONS
from attention_atlas.methods.head_tables import Units
from attention_atlas.models.card import ModelCard
from attention_atlas.models.language_models import HeadFacts, LanguageModel

MASK = 4
CHOSEN = Chosen(heads=3, words=20, placebos=1, loss_words=8, resamples=200, seed=0)
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


def test_matches_have_the_part_of_speech_and_nearly_the_frequency_and_are_taken_once():
    example = sentence(0)
    assert module.carriers(example, "amod", DEPENDENT_TO_HEAD) == {0, 3}, "words that the head attends from"
    assert module.carriers(example, "amod", HEAD_TO_DEPENDENT) == {1, 4}
    usable = {(record, place): 2**place for record in (0, 1) for place in range(6)}
    arguments = DEPENDENT_TO_HEAD, usable
    # The other noun is eight times as frequent; there is no third adjective, in one sentence or in two.
    assert module.matched_pairs([example], "nsubj", *arguments, 9, 0) == ([], 1)
    assert module.matched_pairs([example], "amod", *arguments, 9, 0) == ([], 2)
    twins = [example, replace(example, record=1, layers={**example.layers, "relations": ("dep",) * 6})]
    pairs, unmatched = module.matched_pairs(twins, "amod", *arguments, 9, 0)
    assert (sorted(pairs), unmatched) == ([((0, k), (1, k)) for k in (0, 3)], 0), "the same words, the same places"
    assert len(module.matched_pairs(twins, "amod", *arguments, 1, 0)[0]) == 1
    for often, taken in ((32, 3), (0.25, 0)):  # four times 8, and a quarter of 1
        usable[1, 0] = usable[1, 3] = often
        assert {word for word, _ in module.matched_pairs(twins, "amod", *arguments, 9, 0)[0]} == {(0, taken)}


def decoder():
    torch.manual_seed(0)
    model = GPT2LMHeadModel(tiny("gpt2").config).eval().requires_grad_(False)
    install(model)
    return LanguageModel(model, None, HeadFacts("none"))


def loss_of(logits, place, piece):
    return -logits[place].log_softmax(-1)[piece].item()


def test_masked_losses_are_those_of_each_word_in_a_pass_of_its_own():
    model, examples, plan = masked_model(), [sentence(0), sentence(1)], Plan().zero(2, 3)
    probes = list(module.word_probes(model, examples, MASK).values())
    (whole, ours), expected = module.probe_losses(model, probes, PAD, [plan]), []
    for example, word in product(examples, range(6)):
        ids = torch.tensor([[MASK if of == word else i for i, of in zip(example.input_ids, example.word, strict=True)]])
        with torch.no_grad(), watch(model.model, plan=plan) as session:
            session.batch(torch.ones_like(ids))
            logits = model.model(ids).logits[0]
        places = [k for k, of in enumerate(example.word) if of == word]
        expected.append(np.mean([loss_of(logits, k, example.input_ids[k]) for k in places]))
    assert ours == pytest.approx(np.array(expected), abs=1e-4)
    assert not np.allclose(ours, whole, atol=1e-5), "the plan changes something"


def test_causal_losses_are_those_of_the_token_after_each_word():
    example, language_model = sentence(0), decoder()
    probes = module.word_probes(language_model, [example], None)
    assert list(probes) == [(0, place) for place in range(5)], "nothing of the text follows the last word"
    (ours,) = module.probe_losses(language_model, list(probes.values()), PAD)
    logits = language_model.model(torch.tensor([example.input_ids])).logits[0]
    expected = [loss_of(logits, place, example.input_ids[place + 1]) for place in (1, 3, 4, 5, 6)]
    assert ours == pytest.approx(np.array(expected), abs=1e-4)


def simulated(seed, effect=0.0, placebos=3):
    """A head with an effect on words of its relation, and placebo heads: 40 pairs, whose words are in any two of 25 documents.

    All heads are alike, but words of the relation are twice as fragile. Changes are skewed and share noise in a document.
    """
    generator = np.random.default_rng(seed)
    document = generator.integers(25, size=(40, 2))
    fragility = generator.gamma(1.0, size=25)[document] * [2.0, 1.0]
    noise = generator.normal(0, 0.5, (1 + placebos, 25))[:, document] + generator.exponential(size=(1 + placebos, 40, 2)) - 1
    changes = fragility + noise * np.sqrt(fragility)
    changes[0, :, 0] += effect
    present, numbers = np.unique(document, return_inverse=True)
    return module.effect_of(changes, Units(numbers.ravel(), len(present), "documents"), 200, seed + 1000)


@pytest.mark.parametrize("placebos", [1, 3])
def test_a_head_like_the_placebo_heads_of_its_layer_has_no_effect_though_its_words_are_fragile(placebos):
    null = [simulated(seed, placebos=placebos) for seed in range(400)]
    assert np.mean([effect["relation_change"] - effect["matched_change"] for effect in null]) > 0.8
    assert sum(effect["p"] < 0.05 for effect in null) <= binom.ppf(0.999, 400, 0.05)
    assert sum(not effect["ci_low"] <= 0 <= effect["ci_high"] for effect in null) <= binom.ppf(0.999, 400, 0.08)


def test_an_effect_beyond_that_of_placebo_heads_is_found_and_one_below_it_is_not():
    planted = [simulated(seed, effect=1.5) for seed in range(40)]
    assert sum(effect["p"] < 0.05 and effect["ci_low"] > 0 for effect in planted) >= 38
    assert np.mean([effect["value"] for effect in planted]) == pytest.approx(1.5, abs=0.2)
    assert all(simulated(seed, effect=-1.5)["p"] > 0.5 for seed in range(40)), "one-sided"


def relations(**columns):
    rows = [(2, 3, "nsubj", DEPENDENT_TO_HEAD), (1, 1, "amod", HEAD_TO_DEPENDENT), (3, 4, "xcomp", DEPENDENT_TO_HEAD)]
    return pd.DataFrame(rows, columns=["layer", "head", "relation", "direction"]).assign(**columns)


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
    """Adjectives are matched with each other: the idle head's placebo means something to the match alone."""
    examples = [copied_sentence(record) for record in range(20)]
    heads = pd.DataFrame({"layer": 1, "head": [1, 2], "relation": ["amod", "nmod"], "direction": DEPENDENT_TO_HEAD})
    heads = heads.assign(q=0.01, margin=0.5, ci_low=0.1)
    frequencies = Counter(word for example in examples for word in example.words)
    card = replace(CARD, layers=1, heads=2)
    arguments = copying_decoder(), examples, heads, frequencies, card
    needed, idle = effects_of_masking(*arguments, CHOSEN).itertuples()
    assert needed.loss < 0.1, "with its head the model predicts the token after the adjective"
    assert min(needed.relation_change, needed.ci_low) > 5
    assert needed.q < 0.05
    assert (needed.placebo, idle.relation_change) == (0, 0)
    assert idle.value > 5
    assert idle.p > 0.5
    # Confirmed relations first, then those with the larger margin.
    heads["q"] = [0.9, 0.01]
    (only,) = effects_of_masking(*arguments, CHOSEN._replace(heads=1)).itertuples()
    assert only.head == 2
    heads["relation"] = "amod"
    without = effects_of_masking(*arguments, CHOSEN)
    assert without["value"].isna().all()
    assert without["note"].str.contains("all heads of the layer have the relation").all()


def with_outputs(model, ids, layer, change):
    """Logits of a pass of its own, with the outputs of all heads of a layer before W_O changed."""
    bert = hasattr(model, "bert")
    module = model.bert.encoder.layer[layer].attention.output.dense if bert else model.transformer.h[layer].attn.c_proj
    hook = module.register_forward_pre_hook(lambda _, inputs: (change(inputs[0].clone()),))
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
    hook.remove()
    return logits


@pytest.mark.parametrize("causal", [False, True])
def test_ablated_outputs_are_those_of_a_hook_on_the_output_projection(causal):
    """Zero and mean ablation of two heads, of an encoder with masked words and of a decoder whose words share a pass."""
    short = replace(sentence(2), input_ids=(2, 7, 8, 3), segment_ids=(0,) * 4, word=(-1, 0, 1, -1))
    examples, language_model = [sentence(0), sentence(1), short], decoder() if causal else masked_model()
    chosen, model = CHOSEN._replace(loss_words=3 if causal else 100), language_model.model
    table = head_ablation(language_model, examples, CARD, chosen).set_index(["layer", "head"])
    assert len(table) == LAYERS * HEADS
    kept = []
    for example in examples:
        with_outputs(model, example.input_ids, 1, lambda output: kept.append(output[0]) or output)
    means = torch.cat(kept).mean(dim=0).reshape(HEADS, -1)
    torch.testing.assert_close(module.mean_outputs(model.base_model, examples, PAD)[1].float(), means, rtol=1e-4, atol=1e-5)
    # The three words drawn for the decoder are in two sentences.
    probes = list(module.word_probes(language_model, examples[: 2 if causal else 3], MASK).values())
    assert (table["n"] == len(probes)).all()
    whole = module.probe_losses(language_model, probes, PAD).mean()
    assert table["loss"].to_numpy() == pytest.approx(whole)
    for head, (column, vector) in product((0, 2), (("zero", torch.zeros_like(means)), ("mean", means))):

        def replaced(output, head=head, vector=vector):
            output.view(*output.shape[:2], HEADS, -1)[:, :, head] = vector[head]
            return output

        losses = []
        for example, targets in probes:
            logits = with_outputs(model, example.input_ids, 1, replaced)
            losses.append(np.mean([loss_of(logits, place, piece) for place, piece in targets.items()]))
        row = table.loc[(2, head + 1)]
        assert row[column] == pytest.approx(np.mean(losses) - whole, abs=1e-5)
        assert row[f"{column}_low"] < row[column] < row[f"{column}_high"]


def test_norm_weighted_accuracies_are_those_of_weighted_maps(monkeypatch):
    model, examples = installed("bert"), [sentence(k) for k in range(8)]
    table = relation_weights(model, examples, relations(), CARD, CHOSEN)
    assert table["n"].tolist() == [8, 16, 0]
    with monkeypatch.context() as patched:
        patched.setattr(module, "norm_weighted", lambda weights, norms: weights)
        raw = relation_weights(model, examples, relations(), CARD, CHOSEN)
    assert (raw["value"][:2] == 0).all()
    assert table["value"][:2].to_numpy() == pytest.approx((table["norm"] - raw["norm"])[:2].to_numpy())
    # Where all values have one norm, weighted maps are the maps.
    with torch.no_grad():
        for layer in model.encoder.layer:
            layer.attention.self.value.weight.zero_()
    same = relation_weights(model, examples, relations(), CARD, CHOSEN)
    assert (same["value"][:2] == 0).all()


def test_a_model_that_predicts_nothing_leaves_a_reason(tmp_path):
    tiny("bert").save_pretrained(tmp_path / "model")
    entry = {"source": {"path": str(tmp_path / "model")}, "init": "pretrained", "seed": 0, "dtype": "float32"}
    table = relations(rank=1).reindex(columns=HEAD_RELATIONS).head(2)
    settings = {"settings": {"heads": 2, "words": 4, "placebos": 1, "loss_words": 4}, "resamples": 100, "seed": 0}
    no_head = str(tmp_path / "head"), HeadFacts("none")
    tables = relation_effects(entry, replace(CARD, mask=None), *no_head, [sentence(k) for k in range(8)], table, **settings)
    names = {"weights": RELATION_WEIGHTS, "effects": CAUSAL_EFFECTS, "ablation": HEAD_ABLATION}
    measured = read_measures({name: tables[part] for part, name in names.items()}, LAYERS, HEADS)
    assert "norm_gain" in measured.heads
    for measure in ("causal_effect", "ablation_zero", "ablation_mean"):
        assert "predicts neither masked tokens" in measured.absent[measure]
