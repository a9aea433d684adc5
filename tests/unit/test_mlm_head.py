"""Masked tokens and the masked-LM head: the checkpoint's where it has one, else one trained on a frozen encoder."""

import numpy as np
import pytest
import torch
from tiny_models import HEADS, LAYERS, PAD, VOCABULARY, tiny
from torch import nn

from attention_atlas.attention.batches import model_inputs
from attention_atlas.corpora.examples import Example, write_examples
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import ModelCard, write_card
from attention_atlas.models.language_models import load_masked_model, mask_pieces, prepare_head, read_head_facts

CLS, SEP, MASK = 2, 3, 4
SETTINGS = {"copies": 2, "epochs": 1000, "steps": 60, "batch": 32, "learning_rate": 0.01, "seed": 0}


def example(record: int, n: int = 12, pieces=None) -> Example:
    generator = np.random.default_rng(record)
    inner = tuple(int(i) for i in (pieces if pieces is not None else generator.integers(5, VOCABULARY, n)))
    ids = (CLS, *inner, SEP)
    word = (-1, *range(len(inner)), -1)
    tokens = ("[CLS]", *(f"w{i}" for i in inner), "[SEP]")
    return Example(record, f"e{record}", ids, (0,) * len(ids), tokens, word, tokens[1:-1])


@pytest.mark.parametrize("n", [1, 3, 4, 13, 60])
def test_fifteen_per_cent_are_chosen_and_no_special_token(n):
    one = mask_pieces(example(7, n), MASK, VOCABULARY, 0)
    assert one.chosen.sum() == max(1, round(0.15 * n))
    assert not one.chosen[[0, -1]].any()
    assert (one.targets == example(7, n).input_ids).all()
    changed = one.input_ids != one.targets
    assert not (changed & ~one.chosen).any()
    other = mask_pieces(example(7, n), MASK, VOCABULARY, 1)
    assert n < 60 or (one.chosen != other.chosen).any(), "by the seed"


def test_four_fifths_become_mask_a_tenth_random_a_tenth_stays():
    ones = [mask_pieces(example(k, 100), MASK, 30000, 0) for k in range(400)]
    fed = np.concatenate([o.input_ids[o.chosen] for o in ones])
    true = np.concatenate([o.targets[o.chosen] for o in ones])
    assert np.mean(fed == MASK) == pytest.approx(0.8, abs=0.02)
    assert np.mean(fed == true) == pytest.approx(0.1, abs=0.02)
    assert len(set(fed[(fed != MASK) & (fed != true)])) > 200


def setup(folder, name, examples, mask=MASK, init="pretrained"):
    tiny(name).save_pretrained(folder / "model")
    card = ModelCard("t", "f", "bert", LAYERS, HEADS, 40, "[CLS]", "[SEP]", PAD, "", init, 0, "float32", mask)
    write_card(card, folder / "card.json")
    write_examples(folder / "0.parquet", examples)
    return {"source": {"path": str(folder / "model")}, "init": init, "seed": 0, "dtype": "float32"}


def prepare(folder, entry, limit=100, **settings):
    out, facts = folder / "head.safetensors", folder / "head.json"
    prepare_head(entry, folder / "card.json", [folder / "0.parquet"], limit, SETTINGS | settings, 1, out, facts)
    return out, read_head_facts(facts)


def test_the_head_of_the_checkpoint_is_used_as_it_is(tmp_path):
    examples = [example(k) for k in range(3)]
    entry = setup(tmp_path, "bert_mlm", examples)
    path, facts = prepare(tmp_path, entry)
    assert facts.origin == "checkpoint"
    model = load_masked_model(entry, path, facts)
    reference = tiny("bert_mlm")
    inputs = model_inputs(reference, examples, PAD)
    targets = torch.where(inputs["input_ids"] >= 5, inputs["input_ids"], -100)
    with torch.no_grad():
        expected = nn.functional.cross_entropy(reference(**inputs).logits.transpose(1, 2), targets, reduction="sum")
        assert model.loss(model.model(**inputs), targets) == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize("name", ["bert", "albert", "bert_mlm"])
def test_without_one_a_head_is_trained_and_never_left_random(tmp_path, name):
    entry = setup(tmp_path, name, [example(k) for k in range(20)], init="random" if name == "bert_mlm" else "pretrained")
    path, facts = prepare(tmp_path, entry, steps=3)
    assert (facts.origin, facts.texts, facts.steps, facts.positions) == ("trained", 18, 3, 18 * 2 * 2)
    if name == "bert":
        model = load_masked_model(entry, path, facts)
        assert all(map(torch.equal, model.model.parameters(), tiny("bert").parameters())), "the encoder is not trained"
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(AtlasError, match=r"head\.safetensors: not the head of this model"):
            load_masked_model(entry, path, facts)


def test_a_trained_head_learns_what_the_text_holds(tmp_path):
    # Each text repeats one piece, so that a masked token can be predicted from its neighbours.
    entry = setup(tmp_path, "bert", [example(k, pieces=[5 + k % 6] * 12) for k in range(60)])
    _, facts = prepare(tmp_path, entry, steps=200)
    assert facts.unigram_loss == pytest.approx(np.log(6), abs=0.2)
    assert facts.heldout_loss < 0.5 * facts.unigram_loss
    assert facts.heldout_accuracy > 0.8
