"""Bytes that element-wise operations read and write, against what the plan assumes for a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import BertConfig, BertModel

from attention_atlas.attention.engine import install
from attention_atlas.models import devices
from attention_atlas.studies.tenney2019.probes import EdgeProbes, ProbeKey, Spans, _needed, probe_losses
from attention_atlas.workflow.costs import Shape
from attention_atlas.workflow.passes import Probing, forward, probing
from tools.plan import GPU_FLOP, GPU_SECONDS

BYTES_A_SECOND = 1.6e12
VIEWS = {
    *("view", "t", "transpose", "unsqueeze", "squeeze", "expand", "select", "slice", "permute", "_unsafe_view", "detach"),
    *("alias", "as_strided", "split", "split_with_sizes", "unbind", "_reshape_alias", "empty", "empty_like"),
}
PRODUCTS = {"mm", "bmm", "addmm", "baddbmm"}
EMBEDDINGS = {"embedding", "embedding_dense_backward"}
"""Their tables are counted as a whole, although only some rows are read."""


class Traffic(TorchDispatchMode):
    """Sums the bytes of the tensors that operations read and write; of an expanded tensor, those that exist."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ not in VIEWS | PRODUCTS | EMBEDDINGS:
            tensors = [part for part in tree_leaves((args, kwargs, result)) if isinstance(part, torch.Tensor)]
            self.bytes += sum(min(t.numel() * t.element_size(), t.untyped_storage().nbytes()) for t in tensors)
        return result


@pytest.mark.parametrize(("sides", "targets", "span"), [(1, 16, 1), (1, 16, 8), (2, 16, 1), (2, 5, 6)])
def test_a_training_step_of_probes_moves_at_most_what_the_plan_counts(monkeypatch, sides, targets, span):
    monkeypatch.setattr(devices, "on_gpu", lambda tensor: True)
    probes, rows, width, labels, sentences, tokens = 6, 14, 768, 40, 8, 20
    module = EdgeProbes([ProbeKey(k, 1 + k) for k in range(probes)], rows, width, labels, sides == 2).train()
    chance = np.random.default_rng(0)
    states = torch.randn(sentences, rows, tokens + 2, width)

    def spans():
        start = torch.from_numpy(chance.integers(1, tokens - span + 1, sentences * targets))
        stop = start + torch.from_numpy(chance.integers(1, span + 1, sentences * targets))
        return Spans(torch.arange(sentences).repeat_interleave(targets), start, stop)

    both = [spans() for _ in range(sides)]
    pieces = len(_needed(both, tokens + 2)[0])
    with Traffic() as traffic:
        logits = module(states, *both)
        probe_losses(logits, torch.zeros(sentences * targets, labels)).sum().backward()
    work = probing(Shape(rows - 2, 12, width), 1, Probing(probes, pieces, sentences * targets, sides, labels))
    # The states of the batch are gathered once for all probes.
    gathered = work["gread"] * 1e9 * 4 * 2
    planned = work["gactivations"] * GPU_SECONDS["gprobed"] * BYTES_A_SECOND
    assert 0.5 * planned < traffic.bytes - gathered < planned


@pytest.mark.parametrize("steps", [1, 3])
def test_a_layer_moves_at_most_what_the_plan_counts(steps):
    shape, sentences, tokens = Shape(2, 4, 256), 32, 50
    settings = {"num_hidden_layers": shape.layers, "num_attention_heads": shape.heads, "hidden_size": shape.hidden}
    model = BertModel(BertConfig(**settings, intermediate_size=4 * shape.hidden, vocab_size=100)).train(steps == 3)
    install(model)
    inputs = {"input_ids": torch.randint(0, 100, (sentences, tokens)), "attention_mask": torch.ones(sentences, tokens)}
    with torch.set_grad_enabled(steps == 3), Traffic() as traffic:
        states = model(**inputs).last_hidden_state
        if steps == 3:
            states.sum().backward()
    work = forward(shape, sentences, tokens)
    planned = steps * sum(work[kind] * GPU_SECONDS[kind] for kind in ("gactivations", "gweights")) * BYTES_A_SECOND
    assert 0.5 * planned < traffic.bytes < planned


def test_tf32_is_faster_than_float32():
    assert GPU_FLOP["tf32"] / GPU_FLOP["float32"] == pytest.approx(494 / 67, rel=0.03)
