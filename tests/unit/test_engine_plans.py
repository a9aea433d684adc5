"""Plans on tiny random models, against hooks on the models, loops and finite differences; passes that start in the middle."""

import itertools

import numpy as np
import pytest
import torch
from tiny_models import ARCHITECTURES, DECODERS, HEADS, LAYERS, batch_for, installed, main_output, pieces, plan_for, run, tiny
from torch import nn
from transformers import Gemma2Config, Gemma2Model
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from attention_atlas.attention import engine
from attention_atlas.attention.engine import DECODER_CROSS, DECODER_SELF, Plan, attention_shape, install, watch
from attention_atlas.attention.prefix import blocks, outputs_under, recorded, resumed
from attention_atlas.errors import AtlasError

PROJECTIONS = {
    "distilbert": ".attention.out_lin",
    "albert": ".attention.dense",
    "gpt2": ".attn.c_proj",
    "llama": ".self_attn.o_proj",
    "marian": ".out_proj",
}


def remove_slices(name: str, model: nn.Module, removed: dict[tuple, list[int]]) -> list[int]:
    """Set heads to zero without the engine: the slices of the input of the output projection; returns the heads as they go."""
    hits, calls = [], itertools.count()

    def hook(path):
        stack, kind = "decoder" if "decoder" in path else "any", "cross" if "encoder_attn" in path else "self"
        number = next(int(part) for part in path.split(".") if part.isdecimal())

        def remove(_, inputs):
            # ALBERT's layers share their modules.
            heads = removed.get((stack, kind, next(calls) if name == "albert" else number), [])
            hits.extend(heads)
            slices = inputs[0].unflatten(-1, (HEADS, -1)).clone()
            slices[..., heads, :] = 0
            return (slices.flatten(-2),)

        return remove

    for path, module in model.named_modules():
        if path.endswith(PROJECTIONS.get(name, ".attention.output.dense")):
            module.register_forward_pre_hook(hook(path))
    return hits


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_zero_equals_removing_the_heads_slice_before_the_output_projection(name):
    model, reference = installed(name), tiny(name)
    first = next(iter(attention_shape(model)))
    plan = Plan().zero(2, [1, 4], where=first).zero(3, 3, where=first)
    removed = {("any", "self", 1): [0, 3], ("any", "self", 2): [2]}
    if name == "marian":
        plan = plan.zero(1, 2, where=DECODER_CROSS).zero(2, [3, 4], where=DECODER_SELF)
        removed |= {("decoder", "cross", 0): [1], ("decoder", "self", 1): [2, 3]}
    hits = remove_slices(name, reference, removed)
    with torch.no_grad():
        expected = main_output(reference(**batch_for(name)))
    assert len(hits) == sum(map(len, removed.values()))
    torch.testing.assert_close(main_output(run(model, batch_for(name), plan=plan)), expected, rtol=1e-6, atol=1e-6)


def test_one_backward_gives_the_gradient_of_every_example_by_every_gate():
    model, batch = installed("bert_classifier").double(), batch_for("bert")

    def losses(gates):
        with watch(model, plan=Plan().gated(gates)):
            return nn.functional.cross_entropy(model(**batch).logits, torch.tensor([0, 2, 1]), reduction="none")

    gates = torch.ones(3, 3, HEADS, dtype=torch.float64, requires_grad=True)
    (together,) = torch.autograd.grad(losses(gates).sum(), gates)
    assert together.abs().min(dim=-1).values.min() > 0
    step = 1e-5
    with torch.no_grad():
        for place in np.ndindex(3, HEADS):
            nudge = torch.zeros(3, HEADS, dtype=torch.float64)
            nudge[place] = step
            slow = (losses(1 + nudge) - losses(1 - nudge)) / (2 * step)
            torch.testing.assert_close(together[:, *place], slow, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", DECODERS)
def test_a_cache_does_not_change_what_a_plan_does(name):
    model, ids, parts, cache = installed(name), pieces(2, 6), [], None
    with torch.no_grad(), watch(model, plan=plan_for(model, "uniform", [1, 2])) as session:
        session.batch(torch.ones(2, 4))
        for start, stop in ((0, 4), (4, 5), (5, 6)):
            step = model(input_ids=ids[:, start:stop], past_key_values=cache, use_cache=True)
            parts.append(main_output(step))
            cache = step.past_key_values
        session.batch(torch.ones(2, 6))
        whole = main_output(model(input_ids=ids, use_cache=False))
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-5, atol=1e-5)


def test_a_constant_output_replaces_what_a_head_gives():
    model, batch = installed("bert"), batch_for("bert")
    outputs = torch.arange(HEADS * 4, dtype=torch.float32).reshape(HEADS, 4)
    plan = Plan().constant(2, outputs, [1, 3]).constant(2, -outputs, 4)
    seen = []
    for applied in (None, plan):
        with torch.no_grad(), watch(model, plan=applied, outputs=[lambda _, of_heads: seen.append(of_heads)]) as session:
            session.batch(batch["attention_mask"])
            model(**batch)
    before, replaced = seen[1], seen[4]
    for head, expected in ((0, outputs[0]), (2, outputs[2]), (3, -outputs[3]), (1, before[:, :, 1])):
        assert torch.equal(replaced[:, :, head], expected.expand(*before.shape[:2], 4))
    assert not torch.allclose(seen[5], seen[2])


def fused_output(model, batch, plan=None, **options):
    facts = {key: value for key, value in batch.items() if key.endswith("attention_mask")}
    with torch.no_grad(), watch(model, plan=plan, fused=True, **options) as session:
        session.batch(**facts)
        return model(**batch)


@pytest.fixture
def fused_layers(monkeypatch):
    """Modules whose attention was fused."""
    layers = []

    def spy(module, *arguments, **options):
        layers.append(module)
        return sdpa_attention_forward(module, *arguments, **options)

    monkeypatch.setattr(engine, "sdpa_attention_forward", spy)
    return layers


@pytest.mark.parametrize("padding", ["right", "left"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_fused_attention_equals_eager_up_to_rounding(name, padding, fused_layers):
    model, batch = installed(name), batch_for(name, padding)
    real = batch.get("decoder_attention_mask", batch["attention_mask"]).bool()
    for plan in (None, plan_for(model, "zero", [1, 3])):
        eager, fused = main_output(run(model, batch, plan=plan)), main_output(fused_output(model, batch, plan))
        torch.testing.assert_close(fused[real], eager[real], rtol=1e-5, atol=1e-5)
    assert len(fused_layers) == 2 * sum(layers for layers, _ in attention_shape(model).values())


def test_only_layers_whose_probabilities_are_needed_stay_eager(fused_layers):
    model, batch = installed("bert"), batch_for("bert")
    plan = Plan().uniform(2, 1).zero(2, 3).zero(3, 2)
    expected = main_output(run(model, batch, plan=plan))
    torch.testing.assert_close(main_output(fused_output(model, batch, plan)), expected, rtol=1e-5, atol=1e-5)
    assert len(fused_layers) == 2
    shape = {"vocab_size": 60, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    capped = Gemma2Model(Gemma2Config(**shape, num_key_value_heads=2, head_dim=4, attn_logit_softcapping=0.1)).eval()
    install(capped)
    expected = main_output(run(capped, batch_for("llama")))
    assert torch.equal(main_output(fused_output(capped, batch_for("llama"))), expected)
    assert len(fused_layers) == 2, "not with capped scores"


# --- passes from the first changed layer on ---------------------------------------------------------------------------


NAMES = ("bert", "roberta", "electra", "distilbert", "gpt2", "llama")


def changed(model, inputs, plan, outputs=None):
    with torch.inference_mode(), watch(model, plan=plan) as session:
        session.batch(inputs["attention_mask"])
        if outputs is None:
            return main_output(model(**inputs))
        with resumed(model, outputs, plan.unchanged_layers):
            return main_output(model(**inputs))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layer", range(1, LAYERS + 1))
def test_a_resumed_pass_equals_the_whole_one(name, layer):
    model, inputs = installed(name), batch_for(name)
    plan = Plan().zero(layer, [1, 3]).uniform(LAYERS, 2)
    with torch.inference_mode(), recorded(model) as outputs:
        plain = main_output(model(**inputs))
    whole = changed(model, inputs, plan)
    # The model is whole again after an error, and no hook is left.
    with pytest.raises(RuntimeError, match="in the midst"), resumed(model, outputs, plan.unchanged_layers):
        raise RuntimeError("in the midst")
    assert torch.equal(changed(model, inputs, plan, outputs), whole)
    assert not torch.allclose(whole, plain)
    assert torch.equal(changed(model, inputs, plan), whole)


def test_outputs_of_another_pass_and_shared_layers_are_refused():
    with pytest.raises(AtlasError, match="run the batch within `recorded` first"), resumed(installed("bert"), [], 1):
        pass
    with pytest.raises(AtlasError, match="list of modules"):
        blocks(installed("albert"))
    # Many plans are then run from the first layer.
    model, inputs, plan = installed("albert"), batch_for("albert"), Plan().zero(3, 2)
    plain, masked = map(main_output, outputs_under(model, inputs, [(plan, None)]))
    torch.testing.assert_close(plain, changed(model, inputs, None))
    torch.testing.assert_close(masked, changed(model, inputs, plan))
