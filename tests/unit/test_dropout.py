"""Fast dropout: its draws, and in place of torch's own."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attention_atlas.models.dropout import FastDropout, dropout


@pytest.mark.parametrize("rate", [0.2, 0.3])
def test_dropout_leaves_the_mean_and_drops_values_by_chance_alone(rate):
    values = torch.full((40, 50, 101), 3.0, requires_grad=True)
    dropped = dropout(values, rate, np.random.SFC64(1))
    zero = dropped == 0
    n = values.numel()
    assert abs(zero.float().mean().item() - rate) < 4 * math.sqrt(rate * (1 - rate) / n)
    kept = dropped[~zero]
    assert torch.allclose(kept, kept[0])
    assert kept[0].item() == pytest.approx(3 / (1 - rate), rel=1e-4)
    # Neighbours, rows and probes are dropped independently of each other.
    for shift, axis in ((1, 2), (1, 1), (1, 0), (4, 2)):
        both = (zero & zero.roll(shift, axis)).float().mean().item()
        assert abs(both - rate**2) < 4 * math.sqrt(rate**2 * (1 - rate**2) / n)
    dropped.sum().backward()
    assert torch.equal(values.grad == 0, zero)
    assert torch.equal(values.grad[~zero] * 3, kept)


def test_dropout_follows_from_its_seed():
    values = torch.ones(7, 33)
    first, again, second = (dropout(values, 0.3, np.random.SFC64(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    draws = np.random.SFC64(1)
    assert torch.equal(dropout(values, 0.3, draws), first)
    assert not torch.equal(dropout(values, 0.3, draws), first), "a step draws anew"


def test_dropout_of_modules_and_functions_is_replaced_in_training_alone():
    values = torch.ones(200, 50)
    module = nn.Dropout(0.1)
    torch.manual_seed(3)
    plain = module(values)
    with FastDropout():
        torch.manual_seed(3)
        dropped = module(values)
        state = torch.get_rng_state()
        following = nn.functional.dropout(values, 0.1)
        assert torch.equal(module.eval()(values), values)
        assert torch.equal(nn.Dropout(0.0)(values), values)
        assert not nn.functional.dropout(values, 1.0).any()
        torch.set_rng_state(state)
        assert torch.equal(nn.functional.dropout(values, 0.1), following), "as after a restart from a checkpoint"
    assert not torch.equal(dropped, plain)
    assert not torch.equal(dropped, following)
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.9], rel=1e-4)
    torch.manual_seed(3)
    assert torch.equal(module.train()(values), plain), "outside of the block it is torch's own"


MASKS = {
    "none": {},
    "causal": {"is_causal": True},
    "additive": {"attn_mask": torch.tensor([0.0, 0, 0, -1e4, -1e4]).expand(2, 1, 4, 5)},
    "boolean": {"attn_mask": torch.tensor([True, True, False, True, False]).expand(2, 1, 4, 5)},
    "scaled": {"scale": 0.7},
}


@pytest.mark.parametrize("options", MASKS.values(), ids=MASKS.keys())
def test_attention_is_torch_s_but_for_the_values_dropped(options):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, length, 8, requires_grad=True) for length in (4, 5, 5))

    def attend(rate):
        with FastDropout():
            output = scaled_dot_product_attention(query, key, value, dropout_p=rate, **options)
        return output, torch.autograd.grad(output.square().sum(), (query, key, value))

    expected, gradients = attend(0.0)
    nothing_dropped, its_gradients = attend(1e-9)
    assert torch.allclose(nothing_dropped, expected, atol=1e-6)
    assert all(torch.allclose(one, two, atol=1e-5) for one, two in zip(its_gradients, gradients, strict=True))
    draws = torch.stack([attend(0.3)[0].detach() for _ in range(3000)])
    error = 5 * draws.std(dim=0) / math.sqrt(len(draws)) + 1e-6
    assert ((draws.mean(dim=0) - expected).abs() < error).all(), "dropout keeps the mean"
    assert draws.std(dim=0).max() > 0.1
