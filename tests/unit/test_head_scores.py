"""Scores of heads: models made by hand, loops over single places, eigenvalues in full."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tokenizer import save_tokenizer
from tiny_models import saved_model, tiny
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel, GPTNeoXConfig, GPTNeoXForCausalLM, MistralConfig, MistralModel

from attention_atlas.atlas import head_scores as module
from attention_atlas.atlas.head_scores import Draws, Inputs, draw_inputs, head_scores, random_scores, scores_of
from attention_atlas.attention.engine import attention_layers, install
from attention_atlas.corpora.alignment import WordPieces
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.card import ModelCard
from attention_atlas.models.head_weights import prune_heads, value_outputs

SMALL = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 32}
NEOX = GPTNeoXConfig(vocab_size=60, max_position_embeddings=64, **SMALL)


PIECES = list(range(10, 60))


def sequences(count=40, before=(1,), after=(2,), max_tokens=512, seed=0):
    return module.repeated_sequences(PIECES, before, after, max_tokens, count, seed)


def test_a_block_of_different_pieces_comes_twice_between_special_tokens():
    drawn = sequences()
    for sequence in drawn:
        ids, m = sequence.example.input_ids, sequence.length
        assert (ids[0], ids[-1], len(ids)) == (1, 2, 2 * m + 2)
        assert ids[1 : 1 + m] == ids[1 + m : 1 + 2 * m]
        assert len(set(ids[1 : 1 + m])) == m
        assert set(ids[1:-1]) <= set(PIECES)
        assert module.SHORTEST <= m <= module.LONGEST
    assert len({sequence.length for sequence in drawn}) > 10, "no fixed offset fits all of them"
    assert max(sequence.length for sequence in sequences(max_tokens=22)) == 10
    with pytest.raises(AtlasError, match="does not fit twice into the model's longest input, 17 word pieces"):
        sequences(max_tokens=17)
    vocabulary = {"[PAD]": 0, "[unused7]": 1, "[CLS]": 2, "cat": 3, "##s": 4, "unused": 5, "<extra_id_0>": 6}
    assert module.ordinary_pieces(vocabulary, frozenset({0, 2})) == [3, 4, 5]


def loops(maps, sequence, causal):
    """The measures, place by place, from what the pieces are."""
    ids = sequence.example.input_ids
    places = range(sequence.start, sequence.start + 2 * sequence.length)
    names = ["previous_token", "duplicate_token", "induction", *([] if causal else ["next_token"])]
    values = {name: [] for name in names}
    for query in places:
        (occurrence,) = [place for place in places if ids[place] == ids[query] and place != query]
        targets = {"previous_token": query - 1, "next_token": query + 1}
        if not causal or occurrence < query:
            targets |= {"duplicate_token": occurrence, "induction": occurrence + 1}
        for name in names:
            if targets.get(name, 0) > 0 and targets[name] in places:
                values[name].append(maps[:, :, query, targets[name]])
    return {name: np.mean(of, axis=0) for name, of in values.items()}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.booleans(), st.integers(0, 2), st.integers(0, 2))
def test_measures_on_repeated_tokens_are_those_of_loops(seed, causal, before, after):
    (sequence,) = sequences(1, [1] * before, [2] * after, seed=seed)
    n = len(sequence.example.input_ids)
    maps = np.random.default_rng(seed).dirichlet(np.ones(n), size=(2, 3, n))
    ours, slow = module.repetition_measures(maps, sequence, causal), loops(maps, sequence, causal)
    assert ours.keys() == slow.keys()
    for name, values in slow.items():
        np.testing.assert_allclose(ours[name], values, rtol=1e-12)


def test_sinks_are_the_first_token_and_special_tokens():
    maps = np.random.default_rng(0).dirichlet(np.ones(6), size=(2, 3, 6))
    example = Example(0, "s", (1,) * 6, (0,) * 6, ("[SEP]", "b", "c", "[SEP]", "d", "[SEP]"), (-1, 1, 2, -1, 3, -1), ())
    slow = np.mean([maps[:, :, query, [0, 3, 5]].sum(-1) for query in (1, 2, 4)], axis=0)
    np.testing.assert_allclose(module.sink_share(maps, example), slow)


def test_copying_reads_the_unembedding_of_the_checkpoint_and_needs_it(tmp_path):
    torch.manual_seed(0)
    whole, repeated = GPTNeoXForCausalLM(NEOX).requires_grad_(False).eval(), sequences(4)
    inputs = Inputs([sequence.example for sequence in repeated], repeated, 0)
    scores = scores_of(saved_model(whole, tmp_path), inputs)["ov_copying"][0]
    product = whole.gpt_neox.embed_in.weight.T @ whole.get_output_embeddings().weight
    install(whole)
    expected = [module.copying_scores(*layer, product) for layer in value_outputs(whole.gpt_neox)]
    np.testing.assert_allclose(scores, torch.stack(expected), atol=1e-5)
    assert np.isnan(scores_of(saved_model(whole.base_model, tmp_path), inputs)["ov_copying"]).all()


def test_heads_that_share_keys_and_values_are_not_pruned_alone():
    model = tiny("llama")
    with pytest.raises(AtlasError, match="heads share keys and values"):
        prune_heads(model, {(next(iter(attention_layers(model))), 1): [2]})


def inputs_of_job(folder):
    """Sentences of one to six words in the form [CLS] ... [SEP], with card and tokenizer of a model of 2 x 3 heads."""
    tokenizer = save_tokenizer(folder / "tokenizer.json")
    pieces = WordPieces(tokenizer)
    facts = {"origin": "a folder", "model_type": "bert", "layers": 2, "heads": 3, "max_tokens": 64, "weights_sha256": ""}
    special = {"cls": "[CLS]", "sep": "[SEP]", "pad": 0, "mask": None, "init": "pretrained", "seed": 0, "dtype": "float32"}
    examples = []
    for record in range(12):
        words = ("small", "dogs", "bark", ".")[: 2 + record % 3]
        made = pieces.assemble([pieces.pieces(words)])
        examples.append(Example(record, f"s{record}", made.input_ids, made.segment_ids, made.tokens, made.word, words))
    settings = {"inputs": 8, "random_models": 2, "random_inputs": 4}
    read = {"card": ModelCard(name="tiny", **facts, **special), "tokenizer": Tokenizer.from_file(str(tokenizer))}
    return {**read, "examples": examples, "settings": settings, "resamples": 100, "seed": 0}


def test_models_of_one_architecture_share_the_scores_of_random_weights(tmp_path):
    of_job = inputs_of_job(tmp_path)
    torch.manual_seed(0)
    config = BertConfig(vocab_size=200, max_position_embeddings=64, **SMALL)
    entry = saved_model(BertModel(config), tmp_path / "model")
    null = random_scores(entry, **of_job)["scores"]
    again = random_scores(saved_model(BertModel(config), tmp_path / "another"), **of_job)["scores"]
    assert all(np.array_equal(again[measure], values, equal_nan=True) for measure, values in null.items())
    assert {values.shape for values in null.values()} == {(2, 2, 3)}
    inputs = draw_inputs(of_job["card"], of_job["tokenizer"], of_job["examples"], Draws(8, 2, 4, 100, 0))
    assert not {piece for sequence in inputs.sequences for piece in sequence.example.input_ids[1:-1]} & {0, 2, 3}
    table = head_scores(entry, null=null, **of_job).groupby("measure").first()
    assert (table.loc["sink", "null_low"] < table.loc["sink", "even_share"] < table.loc["sink", "null_high"]).all()
    even = table["even_share"]
    assert even["sink"] == pytest.approx(np.mean([2 / len(example.tokens) for example in inputs.sentences]))
    of_sequences = np.mean([1 / len(sequence.example.input_ids) for sequence in inputs.sequences])
    assert even[["induction", "next_token"]].tolist() == pytest.approx([of_sequences] * 2)


def test_random_weights_are_compared_on_even_terms(tmp_path):
    """Shares of random models depend on the lengths of the few inputs that each reads: divided by the uniform share, they do
    not, and a head with half as much again as the uniform share lies outside their range, where it lay inside.
    """
    of_job = inputs_of_job(tmp_path)
    words = ("small", "dogs", "bark", ".")
    pieces = WordPieces(tmp_path / "tokenizer.json")
    for record in range(12, 48):
        made = pieces.assemble([pieces.pieces(words * (1 + record % 4))])
        facts = (made.input_ids, made.segment_ids, made.tokens, made.word, words * (1 + record % 4))
        of_job["examples"].append(Example(record, f"s{record}", *facts))
    of_job["settings"] = {"inputs": 40, "random_models": 40, "random_inputs": 1}
    torch.manual_seed(0)
    entry = saved_model(BertModel(BertConfig(vocab_size=200, max_position_embeddings=64, **SMALL)), tmp_path / "model")
    relative = random_scores(entry, **of_job)["scores"]["sink"]
    inputs = draw_inputs(of_job["card"], of_job["tokenizer"], of_job["examples"], Draws(40, 40, 1, 100, 0))
    even = np.array([2 / len(inputs.part(k, 1).sentences[0].tokens) for k in range(40)])
    shares = relative * even[:, None, None]
    assert shares.std() / shares.mean() > 0.5, "the lottery of inputs"
    assert relative.std() < 0.05
    mean = np.mean([2 / len(example.tokens) for example in inputs.sentences])
    assert np.quantile(shares, 0.975) > 1.5 * mean
    assert relative.max() < 1.5


def test_scores_of_a_model_with_a_window_are_absolute_whatever_lengths_a_random_model_reads(tmp_path):
    """Some parts of the inputs are shorter than the window, and the whole is not: one scale for all."""
    of_job = inputs_of_job(tmp_path)
    of_job["settings"] |= {"random_models": 6, "random_inputs": 1}
    entry = saved_model(
        MistralModel(MistralConfig(vocab_size=200, num_key_value_heads=3, sliding_window=30, **SMALL)), tmp_path
    )
    draws = Draws(8, 6, 1, 100, 0)
    inputs = draw_inputs(of_job["card"], of_job["tokenizer"], of_job["examples"], draws)
    parts = [inputs.part(number, 1) for number in range(6)]
    assert 0 < sum(2 * part.sequences[0].length < 28 for part in parts) < 6
    means = [
        scores_of(one, part)["sink"].mean(axis=0) for one, part in zip(module.random_entries(entry, draws), parts, strict=True)
    ]
    assert random_scores(entry, **of_job)["scores"]["sink"] == pytest.approx(np.stack(means))
