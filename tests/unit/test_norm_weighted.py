"""Norm-weighted attention: head by head from the weights, and a sink that nothing is read from, made by hand."""

from itertools import product

import numpy as np
import pytest
import torch
from decoder_by_hand import PIECE, PLACE, POSITIONS, SIZE, VOCABULARY, WIDTH, empty_decoder, into, set_head
from tiny_models import HEADS, LAYERS, installed, saved_model, tiny
from tiny_models import WIDTH as TINY_WIDTH

from attention_atlas.atlas.head_scores import Inputs, even_map, even_scores, repeated_sequences, scores_of
from attention_atlas.attention.engine import attention_layers
from attention_atlas.models.extraction import each_example
from attention_atlas.models.head_weights import ValueNorms

SIZE_OF_HEAD = TINY_WIDTH // HEADS
SHORT = repeated_sequences(range(5, 60), [2], [3], 40, 4, 0)


def projections(model, name, head):
    """[size, width] weights and [size] bias of the value projection of a head, [width, size] weights of its output."""
    module, of_head = model.get_submodule(name), slice(head * SIZE_OF_HEAD, (head + 1) * SIZE_OF_HEAD)
    if hasattr(module, "c_attn"):
        values = slice(2 * TINY_WIDTH, 3 * TINY_WIDTH)
        weight, bias = module.c_attn.weight[:, values][:, of_head].T, module.c_attn.bias[values][of_head]
        return weight, bias, module.c_proj.weight[of_head].T
    around = model.get_submodule(name.rpartition(".")[0])
    output = around.output.dense if hasattr(around, "output") else getattr(module, "out_lin", getattr(module, "o_proj", None))
    values = next(getattr(module, layer) for layer in ("value", "v_lin", "v_proj") if hasattr(module, layer))
    # In Llama, two heads share their values, which have no bias.
    shared = of_head if values.out_features == TINY_WIDTH else slice(head // 2 * SIZE_OF_HEAD, (head // 2 + 1) * SIZE_OF_HEAD)
    bias = torch.zeros(SIZE_OF_HEAD) if values.bias is None else values.bias[shared]
    return values.weight[shared], bias, output.weight[:, of_head]


@pytest.mark.parametrize("name", ["bert", "distilbert", "gpt2", "llama"])
def test_norms_are_those_of_each_head_and_token_alone(name):
    model = installed(name)
    texts = [sequence.example for sequence in repeated_sequences(range(5, 60), [2], [3], 40, 3, 0)]
    norms = ValueNorms(model)
    collected = {e.record: norms.take(e) for e, _ in each_example(model, texts, 1, values=norms.observer)}
    names = attention_layers(model)[next(iter(attention_layers(model)))]
    inputs = []

    def keep(_, arguments, keywords):
        inputs.append(arguments[0] if arguments else keywords["hidden_states"])

    for path in names:
        model.get_submodule(path).register_forward_pre_hook(keep, with_kwargs=True)
    for example in texts:
        inputs.clear()
        with torch.no_grad():
            model(torch.tensor([example.input_ids]), attention_mask=torch.ones(1, len(example.input_ids), dtype=torch.long))
        assert collected[example.record].shape == (LAYERS, HEADS, len(example.input_ids))
        for (layer, path), head in product(enumerate(names), range(HEADS)):
            weight, bias, output = projections(model, path, head)
            written = (inputs[layer][0] @ weight.T + bias) @ output.T
            expected = written.norm(dim=-1).detach().numpy()
            np.testing.assert_allclose(collected[example.record][layer, head], expected, rtol=1e-3, atol=1e-5)


@pytest.fixture(scope="module")
def sinks(tmp_path_factory):
    """Both heads attend to the first token. Head 1 reads the piece, of which the first token has none; head 2 its place."""
    model = empty_decoder(layers=1)
    with torch.no_grad():
        # Layer norm subtracts the mean: without the mean over pieces, what the first token has of them is exactly nothing.
        model.wte.weight[0] = 0
        centred = into(PIECE)
        centred[PIECE, :VOCABULARY] -= 1 / VOCABULARY
        to_first = torch.zeros(WIDTH, SIZE)
        to_first[PLACE.start, 0] = 2.4
        always = torch.zeros(WIDTH, SIZE)
        always[PLACE, 0] = 1.0
        back = torch.zeros(SIZE, WIDTH)
        back[:POSITIONS, PLACE] = torch.eye(POSITIONS)
        for head, value in enumerate((centred, into(PLACE))):
            set_head(model.h[0], head, query=always, key=to_first, value=value, output=back)
    return saved_model(model, tmp_path_factory.mktemp("sinks"))


def test_a_sink_with_a_value_of_zero_gets_no_norm_weighted_share(sinks, tmp_path):
    sequences = repeated_sequences(range(1, VOCABULARY), [0], [], POSITIONS, 8, 0)
    inputs = Inputs([sequence.example for sequence in sequences], sequences, 0)
    scores = {name: values.mean(axis=0)[0] for name, values in scores_of(sinks, inputs).items()}
    assert (scores["sink"] > 0.95).all()
    assert scores["norm_sink"][0] < 1e-3
    assert scores["norm_sink"][1] > 0.9
    inputs, notes = Inputs([sequence.example for sequence in SHORT], SHORT, 0), {}
    assert np.isnan(scores_of(saved_model(tiny("albert"), tmp_path), inputs, notes)["norm_sink"]).all()
    assert "shares its layers in groups" in notes["norm_sink"]


def test_even_shares_are_those_of_attention_to_all_that_a_token_can_see(tmp_path):
    inputs = Inputs([sequence.example for sequence in SHORT], SHORT, 1)
    lengths = np.array([len(sequence.example.input_ids) for sequence in SHORT])
    entry = saved_model(tiny("bert"), tmp_path)
    both_ways = even_scores(entry, inputs, causal=False)
    assert both_ways["sink"] == both_ways["norm_sink"] == pytest.approx((2 / lengths).mean())
    assert both_ways["induction"] == pytest.approx((1 / lengths).mean())
    causal = even_scores(entry, inputs, causal=True)
    expected = np.mean([np.mean([1 / (place + 1) for place in range(1, n - 1)]) for n in lengths])
    assert causal["sink"] == pytest.approx(expected)
    assert even_map(3, True)[0, 0, :, 0] == pytest.approx([1, 1 / 2, 1 / 3])
