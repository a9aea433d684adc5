"""Starting in the middle gives what the whole forward pass gives, for every architecture whose layers stand in a list."""

import pytest
import torch
from tiny_models import LAYERS, batch_for, installed, main_output

from attention_atlas.attention.engine import Plan, watch
from attention_atlas.attention.prefix import blocks, outputs_under, recorded, resumed
from attention_atlas.errors import AtlasError

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
