"""Norm-weighted attention: head by head from the weights, and a sink that nothing is read from, made by hand."""

import model_matrix
import numpy as np
import pytest
import torch
from decoder_by_hand import PIECE, PLACE, POSITIONS, SIZE, VOCABULARY, WIDTH, empty_decoder, into, set_head
from tiny_models import saved_model
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

from attention_atlas.atlas.head_scores import Inputs, copying_scores, even_map, even_scores, repeated_sequences, scores_of
from attention_atlas.attention.engine import attention_layers, install, self_attention
from attention_atlas.errors import AtlasError
from attention_atlas.models.extraction import each_example
from attention_atlas.models.head_weights import ValueNorms, value_outputs
from attention_atlas.models.loading import text_part

SHORT = repeated_sequences(range(5, 60), [2], [3], 40, 4, 0)
LAYOUTS = {
    "albert": ("attention.value", "attention.dense", 0, 16, 1),
    "bert": ("self.value", "output.dense", 0, 16, 1),
    "codegen": ("attn.qkv_proj", "attn.out_proj", 16, 48, 1),
    "dbrx": ("attn.Wqkv", "attn.out_proj", 96, 16, 2),
    "deepseek_v3": ("self_attn.kv_b_proj", "self_attn.o_proj", 16, 32, 1),
    "distilbert": ("attention.v_lin", "attention.out_lin", 0, 16, 1),
    "gpt2": ("attn.c_attn", "attn.c_proj", 128, 16, 1),
    "gpt_bigcode": ("attn.c_attn", "attn.c_proj", 80, 0, 1),
    "gpt_neox": ("attention.query_key_value", "attention.dense", 32, 48, 1),
    "llama": ("self_attn.v_proj", "self_attn.o_proj", 0, 16, 2),
    "modernbert": ("attn.Wqkv", "attn.Wo", 128, 16, 1),
    "phi": ("self_attn.v_proj", "self_attn.dense", 0, 16, 2),
    "phi3": ("self_attn.qkv_proj", "self_attn.o_proj", 96, 16, 2),
    "t5": ("SelfAttention.v", "SelfAttention.o", 0, 16, 1),
}
"""Architecture -> the layers that give the values and read the outputs of 4 heads of 16 each; where the values of head 1 start
in the output of the first, how much further those of the next do, and how many heads share them."""


def small(name):
    configuration = CONFIG_MAPPING[name]
    return text_part(model_matrix.tiny_model(name, configuration, MODEL_MAPPING[configuration]))


@pytest.mark.parametrize("name", LAYOUTS)
def test_norms_and_copying_are_those_of_the_layers_of_each_head_alone(name, monkeypatch):
    monkeypatch.setitem(model_matrix._OVERRIDES, "albert", {"num_hidden_groups": 2})
    model = small(name)
    install(model)
    of_values, of_outputs, start, step, shared = LAYOUTS[name]
    around = [path.rpartition(".")[0] for path in attention_layers(model)[self_attention(model)[0]] for _ in range(4)]
    around = around[:: len(around) // 4]
    read, written = ([model.get_submodule(f"{path}.{part}") for path in around] for part in (of_values, of_outputs))

    def alone(layer, head, values):
        """[n, 64] what a layer writes if a head gives its part of `values` [n, out], and all other heads nothing."""
        first, outputs = start + step * (head // shared), torch.zeros(len(values), 64)
        outputs[:, 16 * head : 16 * head + 16] = values[:, first : first + 16]
        return written[layer](outputs) - written[layer](torch.zeros_like(outputs))

    texts = [sequence.example for sequence in repeated_sequences(range(5, 60), [2], [3], 40, 3, 0)]
    norms = ValueNorms(model)
    collected = {e.record: norms.take(e) for e, _ in each_example(model, texts, 1, values=norms.observer)}
    given = []
    for module in set(read):
        module.register_forward_hook(lambda _module, _inputs, output: given.append(output.flatten(0, -2)))
    with torch.no_grad():
        for example in texts:
            given.clear()
            model(torch.tensor([example.input_ids]), attention_mask=torch.ones(1, len(example.input_ids), dtype=torch.long))
            slow = [[alone(layer, head, values).norm(dim=-1) for head in range(4)] for layer, values in enumerate(given)]
            np.testing.assert_allclose(collected[example.record], torch.stack([*map(torch.stack, slow)]), rtol=1e-3, atol=1e-5)
        if name == "deepseek_v3":
            with pytest.raises(AtlasError, match="do not read and write the residual stream by a linear layer each"):
                value_outputs(model)
            return
        embedding, unembedding = torch.randn(2, 30, 64)
        for layer, weights in enumerate(value_outputs(model)):
            values = read[layer](embedding) - read[layer](torch.zeros_like(embedding))
            fast = copying_scores(*weights, embedding.T @ unembedding)
            for head in range(4):
                eigenvalues = np.linalg.eigvals((alone(layer, head, values) @ unembedding.T).double())
                assert fast[head].item() == pytest.approx(eigenvalues.real.sum() / np.abs(eigenvalues).sum(), abs=1e-3)


def test_a_sink_with_a_value_of_zero_gets_no_norm_weighted_share(tmp_path):
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
    sequences = repeated_sequences(range(1, VOCABULARY), [0], [], POSITIONS, 8, 0)
    inputs = Inputs([sequence.example for sequence in sequences], sequences, 0)
    scores = {name: values.mean(axis=0)[0] for name, values in scores_of(saved_model(model, tmp_path), inputs).items()}
    assert (scores["sink"] > 0.95).all()
    assert scores["norm_sink"][0] < 1e-3
    assert scores["norm_sink"][1] > 0.9


def test_heads_whose_outputs_are_gated_have_no_norm_weighted_attention_and_the_table_says_so(tmp_path):
    inputs, notes = Inputs([sequence.example for sequence in SHORT], SHORT, 0), {}
    assert np.isnan(scores_of(saved_model(small("afmoe"), tmp_path), inputs, notes)["norm_sink"]).all()
    assert "heads' outputs are gated" in notes["norm_sink"]


def test_even_shares_are_those_of_attention_to_all_that_a_token_can_see():
    inputs = Inputs([sequence.example for sequence in SHORT], SHORT, 1)
    lengths = np.array([len(sequence.example.input_ids) for sequence in SHORT])
    both_ways = even_scores(inputs, causal=False)
    assert both_ways["sink"] == both_ways["norm_sink"] == pytest.approx((2 / lengths).mean())
    assert both_ways["induction"] == pytest.approx((1 / lengths).mean())
    causal = even_scores(inputs, causal=True)
    expected = np.mean([np.mean([1 / (place + 1) for place in range(1, n - 1)]) for n in lengths])
    assert causal["sink"] == pytest.approx(expected)
    assert even_map(3, True)[0, 0, :, 0] == pytest.approx([1, 1 / 2, 1 / 3])
