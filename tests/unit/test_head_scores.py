"""Scores of heads: a decoder made by hand, its projections and eigenvalues in full, and false alarms under random weights."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from decoder_by_hand import BEFORE, PIECE, PLACE, POSITIONS, SIZE, VOCABULARY, WIDTH, empty_decoder, into, set_head
from scipy.stats import binom
from tiny_models import ARCHITECTURES, batch_for, installed, tiny
from tokenizers import Tokenizer
from torch import nn
from transformers import BertConfig, BertModel, GPTNeoXConfig, GPTNeoXForCausalLM

from attention_atlas.atlas.head_measures import HEAD_SCORES, MEASURES
from attention_atlas.atlas.head_scores import (
    COLUMNS,
    Draws,
    Inputs,
    copying_scores,
    draw_inputs,
    random_entries,
    repeated_sequences,
    score_rows,
    scores_of,
)
from attention_atlas.atlas.measures import inside_null
from attention_atlas.attention.engine import attention_layers, install, watch
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.head_weights import prune_heads, separate_projections, value_outputs

SMALL = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    """A decoder that was not trained. Layer 1: head 1 previous token, head 2 same piece (copies it). Layer 2: head 1 induction,
    head 2 spreads its attention (and writes the negative of what it reads)."""
    model = empty_decoder(layers=2)
    with torch.no_grad():
        first, second = model.h
        sharp = 10.0
        # The query of place p is p - 1; what it finds goes to the part for the piece before.
        copy_before = torch.zeros(SIZE, WIDTH)
        copy_before[:VOCABULARY, BEFORE] = torch.eye(VOCABULARY)
        back = torch.zeros(SIZE, WIDTH)
        back[:VOCABULARY, PIECE] = torch.eye(VOCABULARY)
        set_head(first, 0, query=into(PLACE, -1, sharp), key=into(PLACE), value=into(PIECE), output=copy_before)
        set_head(first, 1, query=into(PIECE, 0, sharp), key=into(PIECE), value=into(PIECE), output=back)
        set_head(second, 0, query=into(PIECE, 0, sharp), key=into(BEFORE), value=into(PIECE), output=back)
        set_head(second, 1, value=into(PIECE), output=-back)
    folder = tmp_path_factory.mktemp("by_hand")
    model.save_pretrained(folder)
    return {"source": {"path": str(folder)}, "init": "pretrained", "seed": 0, "dtype": "float32"}


def inputs_for(before=(), after=(), sep=None):
    sequences = repeated_sequences(range(1, VOCABULARY), before, after, POSITIONS, 8, 0)
    return Inputs([sequence.example for sequence in sequences], sequences, 0, sep)


def test_heads_have_what_they_were_made_for(by_hand):
    scores = {name: values.mean(axis=0) for name, values in scores_of(by_hand, inputs_for()).items()}
    assert scores["previous_token"][0, 0] > 0.95
    assert scores["duplicate_token"][0, 1] == pytest.approx(0.5, abs=0.03), "the other half goes to the piece itself"
    assert scores["induction"][1, 0] > 0.95
    assert scores["ov_copying"][0, 1] == pytest.approx(1, abs=1e-5)
    assert scores["ov_copying"][1, 0] == pytest.approx(1, abs=1e-5)
    assert scores["ov_copying"][1, 1] == pytest.approx(-1, abs=1e-5)
    for name, place in {"previous_token": (0, 0), "duplicate_token": (0, 1), "induction": (1, 0)}.items():
        others = np.delete(scores[name].ravel(), np.ravel_multi_index(place, (2, 2)))
        assert others.max() < 0.2, name
    assert "next_token" not in scores, "what a decoder cannot see is no measure of it"


@pytest.mark.parametrize("name", [*(name for name in ARCHITECTURES if name != "albert"), "neox"])
def test_projections_are_those_that_the_model_computes_with(name):
    """Without biases, a head's output is its map times the inputs times W_V, and the layer's output that times W_O."""
    if name == "neox":
        torch.manual_seed(0)
        settings = GPTNeoXConfig(
            vocab_size=50,
            hidden_size=32,
            num_hidden_layers=3,
            num_attention_heads=4,
            intermediate_size=40,
            max_position_embeddings=64,
        )
        model = GPTNeoXForCausalLM(settings).base_model.eval()
        install(model)
        batch = {"input_ids": torch.randint(1, 50, (2, 9)), "attention_mask": torch.ones(2, 9, dtype=torch.long)}
    else:
        model, batch = installed(name), batch_for(name)
    with torch.no_grad():
        for parameter_name, weight in model.named_parameters():
            if parameter_name.endswith("bias"):
                weight.zero_()
    try:
        weights = value_outputs(model)
    except AtlasError as error:
        pytest.skip(f"not known: {error}")
    kind = next(iter(attention_layers(model)))
    modules = [model.get_submodule(path) for path in attention_layers(model)[kind]]
    seen = {"input": {}, "map": {}, "heads": {}, "linear": []}

    def keep_input(module, arguments, keywords):
        seen["input"][modules.index(module)] = (arguments[0] if arguments else keywords["hidden_states"]).detach()

    def keep_linear(module, arguments, output):
        seen["linear"].append((arguments[0].detach(), output.detach()))

    hooks = [module.register_forward_pre_hook(keep_input, with_kwargs=True) for module in modules]
    linear = [module for module in model.modules() if isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"]
    hooks += [module.register_forward_hook(keep_linear) for module in linear]

    def keep(place):
        return lambda site, tensor: seen[place].__setitem__(site.layer, tensor.detach()) if site.site_kind == kind else None

    with torch.no_grad(), watch(model, observers=[keep("map")], outputs=[keep("heads")]):
        model(**batch)
    for hook in hooks:
        hook.remove()
    for layer, of in enumerate(weights):
        values = torch.einsum("bkd,hsd->bhks", seen["input"][layer], of.value)
        by_head = torch.einsum("bhqk,bhks->bqhs", seen["map"][layer], values)
        torch.testing.assert_close(by_head, seen["heads"][layer], rtol=1e-4, atol=1e-5)
        put_out = torch.einsum("bqhs,hds->bqd", by_head, of.output)
        inputs = seen["heads"][layer].flatten(2)
        (computed,) = [out for given, out in seen["linear"] if given.shape == inputs.shape and torch.equal(given, inputs)]
        torch.testing.assert_close(put_out, computed, rtol=1e-4, atol=1e-5)


def test_copying_is_that_of_the_whole_matrix_of_pieces():
    generator = torch.Generator().manual_seed(0)
    heads, size, width, pieces = 5, 4, 12, 30
    value, output = torch.randn(heads, size, width, generator=generator), torch.randn(heads, width, size, generator=generator)
    embedding, unembedding = torch.randn(pieces, width, generator=generator), torch.randn(pieces, width, generator=generator)
    ours = copying_scores(value, output, embedding.T @ unembedding)
    for head in range(heads):
        whole = unembedding.double() @ output[head].double() @ value[head].double() @ embedding.double().T
        eigenvalues = np.linalg.eigvals(whole.numpy())
        assert ours[head].item() == pytest.approx(eigenvalues.real.sum() / np.abs(eigenvalues).sum(), abs=1e-4)


def tiny_bert(folder):
    """Registry entry of a small encoder with random weights."""
    torch.manual_seed(0)
    BertModel(BertConfig(**SMALL)).save_pretrained(folder)
    return {"source": {"path": str(folder)}, "init": "pretrained", "seed": 0, "dtype": "float32"}


def test_heads_with_random_weights_raise_few_false_alarms(tmp_path):
    """Of models whose weights are random too, few have a head that is said to be unlike those with random weights."""
    entry, inputs = tiny_bert(tmp_path), inputs_for([0], [0], sep="0")
    generator = np.random.default_rng(0)
    sizes = {example.record: len(example.input_ids) for example in inputs.sentences}
    inputs = replace(inputs, pairs={"pattern": {record: generator.random((n, n)) < 0.1 for record, n in sizes.items()}})
    draws = Draws(8, 100, 8, 100, 0)
    null = [scores_of(random, inputs) for random in random_entries(entry, draws)]
    alarms, trials = 0, 0
    for random in random_entries(entry, Draws(8, 25, 8, 100, 1)):
        for measure, values in scores_of(random, inputs).items():
            drawn = np.concatenate([scores[measure].mean(axis=0).ravel() for scores in null])
            rows = score_rows(measure, values, drawn, inputs, draws)
            assert rows["q"].notna().all()
            alarms += bool((rows["q"] < 0.05).any())
            trials += 1
    assert trials == 25 * 9
    assert alarms <= binom.ppf(0.999, trials, 0.05)


def test_copying_needs_embeddings_of_the_width_of_layers_and_an_unembedding(tmp_path, caplog):
    torch.manual_seed(0)
    settings = GPTNeoXConfig(**SMALL)
    entry = {"source": {"path": str(tmp_path)}, "init": "pretrained", "seed": 0, "dtype": "float32"}
    whole = GPTNeoXForCausalLM(settings)
    whole.save_pretrained(tmp_path)
    scores = scores_of(entry, inputs_for())["ov_copying"]
    product = whole.base_model.embed_in.weight.T @ whole.get_output_embeddings().weight
    install(whole.base_model)
    expected = [
        copying_scores(layer.value, layer.output, product).detach().numpy() for layer in value_outputs(whole.base_model)
    ]
    np.testing.assert_allclose(scores[0], expected, atol=1e-5)
    whole.base_model.save_pretrained(tmp_path)
    with caplog.at_level("INFO"):
        assert np.isnan(scores_of(entry, inputs_for())["ov_copying"]).all()
    assert "the checkpoint has no output embeddings" in caplog.text


def test_inputs_are_the_same_again_and_parts_are_of_like_lengths(tmp_path):
    tokenizer = Tokenizer.from_file(str(save(tmp_path)))
    card = SimpleNamespace(max_tokens=64, pad=0, mask=None, sep="[SEP]", cls="[CLS]")
    texts = [
        Example(k, f"s{k}", (2, *[5] * (k + 1), 3), (0,) * (k + 3), ("",) * (k + 3), (-1, *range(k + 1), -1), ())
        for k in range(40)
    ]
    draws = Draws(16, 2, 4, 100, 0)
    inputs = draw_inputs(card, tokenizer, texts, draws)
    assert inputs == draw_inputs(card, tokenizer, texts, draws)
    assert len(inputs.sentences) == len(inputs.sequences) == 16
    assert {example.record for example in inputs.sentences} != set(range(16)), "not the first ones of the file"
    tokenizer.enable_padding(length=40)
    assert inputs == draw_inputs(card, tokenizer, texts, draws), "padding is no part of what is read"
    drawn = {piece for sequence in inputs.sequences for piece in sequence.example.input_ids[1:-1]}
    assert not drawn & {0, 2, 3}
    parts = [inputs.part(number, 4) for number in range(5)]
    assert parts[0] == parts[4]
    assert {len(part.sentences) for part in parts} == {4}
    assert sorted(example.record for part in parts[:4] for example in part.sentences) == sorted(
        example.record for example in inputs.sentences
    )
    with pytest.raises(AtlasError, match="no sentence that the model can read"):
        draw_inputs(card, tokenizer, [], draws)


def save(folder):
    from small_tokenizer import save_tokenizer

    return save_tokenizer(folder / "tokenizer.json")


def test_the_table_becomes_columns_of_the_atlas():
    rows = [
        [measure, layer, head, 0.1 * head, 0.0, 0.2, 8, 0.01, 0.02, 0.001, 0.2 if head == 1 else 0.01, 0.05, "", ""]
        for measure in ("sink", "induction", "ov_copying")
        for layer in (1, 2)
        for head in (1, 2)
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    wide = next(source for source in MEASURES if source.table == HEAD_SCORES).select(table)
    declared = {measure.name: measure for source in MEASURES for measure in source.measures}
    assert wide["induction"].tolist() == pytest.approx([0.1, 0.2, 0.1, 0.2])
    assert wide["induction_null_high"].unique() == [0.02]
    assert inside_null(wide, "induction").tolist() == [True, False, True, False]
    untested = wide.assign(induction_q=[0.01, np.nan, 0.01, np.nan], induction=[0.1, 0.2, 0.1, np.nan])
    assert inside_null(untested, "induction").tolist() == [False, True, False, False]
    assert inside_null(wide.drop(columns="induction_q"), "induction") is None
    assert "next_token" not in wide, "a measure that the model cannot have is left out"
    assert not {"ov_copying_low", "ov_copying_high"} & set(declared), "weights have no interval"


def test_heads_that_share_keys_and_values_are_not_pruned_alone():
    name = next(name for name in ARCHITECTURES if name == "llama")
    model = tiny(name)
    kind = next(iter(attention_layers(model)))
    projections = separate_projections(model, attention_layers(model)[kind][0])
    assert projections is not None
    if projections.key.out_features == projections.query.out_features:
        pytest.fail("this test needs a model with grouped-query attention")
    with pytest.raises(AtlasError, match="heads share keys and values"):
        prune_heads(model, {(kind, 0): [1]})
