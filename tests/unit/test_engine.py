"""The engine on tiny random models, against eager attention, hooks on the models, loops and finite differences."""

import contextvars
import weakref

import pytest
import torch
from tiny_models import ARCHITECTURES, DECODERS, FIRST_WORD, batch_for, installed, main_output, plan_for, recorder, run, tiny
from torch import nn
from transformers import GPT2Config, GPT2Model, MPNetConfig, MPNetModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attention_atlas.attention.engine import DECODER_SELF, ENCODER_SELF, NAME, Plan, Site, attention_shape, install, watch
from attention_atlas.errors import AtlasError


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_without_a_plan_everything_equals_eager_bit_for_bit(name, side):
    batch = batch_for(name, side)
    options = {"output_attentions": True, "output_hidden_states": True}
    clean, changed = {}, {}
    model = installed(name)
    ours = run(model, batch, [recorder(clean)], Plan(), [recorder(changed)], **options)
    with torch.no_grad():
        eager, outside = tiny(name)(**batch, **options), model(**batch)
    assert torch.equal(main_output(ours), main_output(eager))
    assert torch.equal(main_output(outside), main_output(eager))
    first = "encoder_attentions" if name == "marian" else "attentions"
    keys = [first, "decoder_attentions", "cross_attentions"][: len(attention_shape(model))]
    expected = {
        Site(*kind, layer): maps
        for kind, key in zip(attention_shape(model), keys, strict=True)
        for layer, maps in enumerate(eager[key], 1)
    }
    assert expected.keys() == clean.keys()
    assert all(torch.equal(clean[site], maps) and torch.equal(changed[site], maps) for site, maps in expected.items())
    for key in (*keys, "hidden_states", "encoder_hidden_states", "decoder_hidden_states"):
        assert all(torch.equal(*both) for both in zip(ours.get(key) or (), eager.get(key) or (), strict=True))


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_training_mode_draws_the_dropout_of_eager(name):
    ours, eager = installed(name).train(), tiny(name).train()
    torch.manual_seed(3)
    expected = main_output(eager(**batch_for(name)))
    torch.manual_seed(3)
    assert torch.equal(main_output(run(ours, batch_for(name))), expected)
    assert not torch.equal(main_output(run(ours.eval(), batch_for(name))), expected)


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize(("name", "side"), [(name, "right") for name in ARCHITECTURES] + [(name, "left") for name in DECODERS])
def test_a_padded_batch_equals_single_examples(name, side, planned):
    model, batch = installed(name), batch_for(name, side)
    plan = plan_for(model, "uniform", [1, 3]) if planned else None
    maps: dict[Site, torch.Tensor] = {}
    together = main_output(run(model, batch, plan=plan, applied=[recorder(maps)]))
    source = batch["attention_mask"].bool()
    target = batch.get("decoder_attention_mask", source).bool()
    for row in range(len(source)):
        single = {
            key: value[row : row + 1, (target if key.startswith("decoder") else source)[row]] for key, value in batch.items()
        }
        alone: dict[Site, torch.Tensor] = {}
        expected = main_output(run(model, single, plan=plan, applied=[recorder(alone)]))
        torch.testing.assert_close(together[row, target[row]], expected[0], rtol=0, atol=1e-6 * expected.abs().max())
        for site, probabilities in maps.items():
            queries = source if site.stack == "encoder" else target
            keys = target if (site.stack, site.kind) == DECODER_SELF else source
            of_real = probabilities[row][:, queries[row]]
            assert of_real[..., ~keys[row]].abs().sum() == 0
            torch.testing.assert_close(of_real[..., keys[row]], alone[site][0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_observers_see_one_layer_at_a_time(name):
    model, alive, sites = installed(name), [], []

    def observe(site, probabilities):
        assert [reference for reference in alive if reference() is not None] == []
        alive.append(weakref.ref(probabilities))
        sites.append(site)

    with torch.no_grad(), watch(model, [observe], plan_for(model, "zero", 1)):
        model(**batch_for(name))
    for where, (layers, _) in attention_shape(model).items():
        assert [site.layer for site in sites if (site.stack, site.kind) == where] == list(range(1, layers + 1))


def test_shared_layers_are_counted_afresh_after_an_interrupted_pass():
    model = installed("albert")

    def interrupt(site, probabilities):
        sites.append(site.layer)
        if len(sites) == 2:
            raise KeyboardInterrupt

    sites: list[int] = []
    with torch.no_grad(), watch(model, [interrupt]) as session:
        session.batch()
        with pytest.raises(KeyboardInterrupt):
            model(**batch_for("albert"))
        session.batch()
        model(**batch_for("albert"))
        model(**batch_for("albert"))
    assert sites == [1, 2, 1, 2, 3, 4, 1, 2, 3, 4]


def test_a_session_belongs_to_its_model_and_the_innermost_one_counts():
    first, second = installed("bert"), installed("bert", seed=1)
    batch = batch_for("bert")
    plain = [main_output(run(model, batch)) for model in (first, second)]
    seen = []
    with torch.no_grad(), watch(first, [lambda *_: seen.append("outer")], Plan().zero(1)) as session:
        session.batch(batch["attention_mask"])
        zeroed = main_output(first(**batch))
        with watch(second, [lambda *_: seen.append("inner")]):
            assert torch.equal(main_output(second(**batch)), plain[1])
            assert torch.equal(main_output(first(**batch)), zeroed)
        with watch(first, [lambda *_: seen.append("again")]):
            assert torch.equal(main_output(first(**batch)), plain[0])
        assert torch.equal(contextvars.Context().run(lambda: main_output(first(**batch))), plain[0])
    assert seen == ["outer"] * 3 + ["inner"] * 3 + ["outer"] * 3 + ["again"] * 3
    assert not torch.equal(zeroed, plain[0])
    with pytest.raises(ZeroDivisionError), watch(first, plan=Plan().zero(1)):
        raise ZeroDivisionError
    with torch.no_grad():
        assert torch.equal(main_output(first(**batch)), plain[0])


def test_attention_outside_the_interface_is_refused(monkeypatch):
    shape = {"vocab_size": FIRST_WORD, "n_embd": 8, "n_layer": 1, "n_head": 2}
    outside = MPNetModel(
        MPNetConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=FIRST_WORD)
    )
    for use in (install, attention_shape, lambda model: watch(model).__enter__()):
        with pytest.raises(AtlasError, match="MPNetModel computes attention without the attention interface"):
            use(outside)
    states = torch.ones(1, 2, 3, 4)
    with pytest.raises(AtlasError, match="Linear computes attention without the attention interface"):
        ALL_ATTENTION_FUNCTIONS[NAME](nn.Linear(2, 2), states, states, states, None)
    with pytest.raises(AtlasError, match="reorder_and_upcast_attn"):
        install(GPT2Model(GPT2Config(**shape, reorder_and_upcast_attn=True)))
    with pytest.raises(AtlasError, match=r"by 'sdpa', .* call install\(model\) first"), watch(tiny("bert", "sdpa")):
        pass
    with pytest.raises(AtlasError, match="cannot be distinguished by their names"):
        attention_shape(nn.ModuleDict({"left": tiny("bert"), "right": tiny("bert")}))
    model = tiny("bert")
    monkeypatch.setattr(model, "set_attn_implementation", lambda name: None)
    with pytest.raises(AtlasError, match="still computes attention by 'eager'"):
        install(model)


def test_a_part_of_a_model_and_a_wrapped_one_can_be_watched():
    model = installed("bert")
    every, of_part, of_wrapped = {}, {}, {}
    run(model, batch_for("bert"), [recorder(every)])
    part = model.encoder.layer[2].attention
    for watched, maps in ((part, of_part), (nn.Sequential(model), of_wrapped)):
        with torch.no_grad(), watch(watched, [recorder(maps)]):
            model(**batch_for("bert"))
    assert list(of_part) == [Site(*ENCODER_SELF, 1)]
    assert torch.equal(of_part[Site(*ENCODER_SELF, 1)], every[Site(*ENCODER_SELF, 3)])
    assert list(of_wrapped) == list(every)
