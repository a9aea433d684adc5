"""Models that are not like BERT: they are right, or refused with a reason. `test_model_matrix.py` has every type."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from model_matrix import text_types, tiny_model
from tiny_models import installed
from torch import nn

from attention_atlas.attention.engine import DECODER_SELF, ENCODER_SELF, Plan, attention_shape, install, self_attention, watch
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.models.extraction import attention_maps
from attention_atlas.models.loading import text_part

TYPES = {name: (configuration, model) for name, configuration, model in text_types()}


def example(record: int, length: int) -> Example:
    ids = tuple(np.random.default_rng(record).integers(5, 60, length).tolist())
    return Example(record, str(record), ids, (0,) * length, ("",) * length, tuple(range(length)), ("",) * length)


def tiny(name: str) -> nn.Module:
    model = tiny_model(name, *TYPES[name])
    install(model)
    return model


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lfm2_moe", r"Lfm2MoeModel: 2 of 4 layers \(1, 3\) have no attention"),
        ("nemotron_h", r"3 of 4 layers \(1, 2, 4\) have no attention"),
        ("gpt_oss", "learnt sinks"),
        ("granite_swa", "learnt sinks"),
        ("diffllama", r"one pass computed the attention of layers \[1, 1, 2, 2, 3, 3, 4, 4\]"),
    ],
)
def test_models_whose_maps_are_not_complete_are_refused(name, message):
    with pytest.raises(AtlasError, match=message):
        attention_maps(tiny(name), [example(0, 9)], pad=1)


@pytest.mark.parametrize("name", ["bigbird_pegasus", "pegasus_x", "longt5"])
def test_a_decoders_attention_is_never_that_of_the_encoder(name):
    model = tiny(name)
    assert next(iter(attention_shape(model))) == DECODER_SELF
    with pytest.raises(AtlasError, match="encoder is computed outside the attention interface"):
        self_attention(model)
    with pytest.raises(AtlasError, match="without the attention interface"):
        self_attention(text_part(model))


def test_a_layer_that_is_skipped_is_an_error():
    model = installed("bert")
    model.encoder.layer[1].forward = lambda states, *_, **__: states
    with pytest.raises(AtlasError, match=r"attention of layers \[1, 3\], not that of each of its 3 layers once"):
        attention_maps(model, [example(0, 9)], pad=1)


def test_layers_keep_the_numbers_of_the_model_and_only_those_with_attention_take_plans():
    model = tiny("lfm2_moe")
    seen = []
    ids = torch.tensor([example(0, 9).input_ids])
    with torch.no_grad(), watch(model, observers=[lambda site, _: seen.append(site.layer)], plan=Plan().zero(3, 0)):
        model(input_ids=ids)
    assert seen == [1, 3]
    with pytest.raises(AtlasError, match=r"layer 2 .* has no decoder/self attention"), watch(model, plan=Plan().zero(2, 0)):
        pass


@pytest.mark.parametrize(
    ("name", "kind", "layers"), [("t5", ENCODER_SELF, 4), ("bart", ENCODER_SELF, 2), ("dpr", ENCODER_SELF, 4)]
)
def test_the_part_that_reads_text_has_the_encoders_maps(name, kind, layers):
    part = text_part(tiny(name))
    assert self_attention(part) == (kind, layers, 4)
    examples = [example(0, 9), example(1, 5)]
    maps = attention_maps(part, examples, pad=1)
    assert {record: of.shape for record, of in maps.items()} == {0: (layers, 4, 9, 9), 1: (layers, 4, 5, 5)}


@pytest.mark.parametrize("name", ["clip_text_model", "doge", "opt", "bigbird_pegasus"])
def test_causal_attention_is_a_decoders_whatever_its_class_says(name):
    assert next(iter(attention_shape(tiny(name)))) == DECODER_SELF


def test_texts_that_read_their_padding_do_not_share_a_batch():
    examples = [example(0, 9), example(1, 5)]
    model = tiny("mobilebert")
    together = attention_maps(model, examples, pad=1)
    for one in examples:
        np.testing.assert_array_equal(together[one.record], attention_maps(model, [one], pad=1)[one.record])


def test_attention_can_only_be_masked_where_it_does_not_determine_the_output():
    model = tiny("granite_swa")
    ids = torch.tensor([example(0, 9).input_ids])
    with torch.no_grad(), watch(model, plan=Plan().zero(0, 0)):
        model(input_ids=ids)
    with torch.no_grad(), watch(model, plan=Plan().gated(torch.ones(4))), pytest.raises(AtlasError, match="only masking"):
        model(input_ids=ids)
