"""What the plan assumes of a GPU, against counts of operations: bytes read and written, kernels started, parts of a batch."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import BertConfig, BertModel, MarianConfig, MarianMTModel

from attention_atlas.attention.engine import install, watch
from attention_atlas.models import devices
from attention_atlas.models.batch_parts import PIECES_ON_CPU, PIECES_ON_GPU, parts_of_like_length
from attention_atlas.studies.tenney2019.probes import (
    EdgeProbes,
    ProbeKey,
    Spans,
    _needed,
    clip_by_probe,
    optimiser,
    probe_losses,
)
from attention_atlas.workflow import shared_jobs
from attention_atlas.workflow.costs import Shape
from attention_atlas.workflow.passes import SIDE_KERNELS, STEP_KERNELS, Probing, Search, decoding, forward, probing, training
from tools.plan import GPU_FLOP, GPU_SECONDS, gpu_seconds

BYTES_A_SECOND, KERNELS_A_SECOND = 1.6e12, 1e5
VIEWS = {
    *("view", "t", "transpose", "unsqueeze", "squeeze", "expand", "select", "slice", "permute", "_unsafe_view", "detach"),
    *("alias", "as_strided", "split", "split_with_sizes", "unbind", "_reshape_alias", "empty", "empty_like"),
}
PRODUCTS = {"mm", "bmm", "addmm", "baddbmm"}
EMBEDDINGS = {"embedding", "embedding_dense_backward"}
"""Their tables are counted as a whole, although only some rows are read."""


WITHOUT_KERNEL = VIEWS | {
    *("_record_function_enter_new", "_record_function_exit", "to", "is_nonzero", "_local_scalar_dense", "lift_fresh"),
    *("bernoulli_", "div_"),  # A processor makes the mask of a dropout by separate operations.
}
COMPOSED = {"_unique2": 8, "index_put": 6}
"""Operations that sort and start several kernels."""


class Counted(TorchDispatchMode):
    """Bytes of the tensors that each operation reads and writes (of an expanded tensor, those that exist), and its kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes_of: Counter[str] = Counter()
        self.kernels = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name not in WITHOUT_KERNEL:
            self.kernels += COMPOSED.get(name, 1)
        if name not in VIEWS:
            tensors = [part for part in tree_leaves((args, kwargs, result)) if isinstance(part, torch.Tensor)]
            self.bytes_of[name] += sum(min(t.numel() * t.element_size(), t.untyped_storage().nbytes()) for t in tensors)
        return result

    @property
    def bytes(self) -> int:
        """Bytes of element-wise operations."""
        return sum(count for name, count in self.bytes_of.items() if name not in PRODUCTS | EMBEDDINGS)


@pytest.mark.parametrize(("sides", "targets", "span"), [(1, 16, 1), (1, 16, 8), (2, 16, 1), (2, 5, 6)])
def test_a_training_step_of_probes_moves_and_starts_at_most_what_the_plan_counts(monkeypatch, sides, targets, span):
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
    adam = optimiser(module)
    for _ in range(2):  # The first step makes the moments of Adam.
        adam.zero_grad()
        with Counted() as traffic:
            logits = module(states, *both)
            probe_losses(logits, torch.zeros(sentences * targets, labels)).sum().backward()
        with Counted() as update:
            clip_by_probe(module.parameters())
            adam.step()
    kernels = STEP_KERNELS + SIDE_KERNELS * sides
    assert 0.7 * kernels < traffic.kernels + update.kernels < kernels
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
    with torch.set_grad_enabled(steps == 3), Counted() as traffic:
        states = model(**inputs).last_hidden_state
        if steps == 3:
            states.sum().backward()
    work = forward(shape, sentences, tokens)
    planned = steps * sum(work[kind] * GPU_SECONDS[kind] for kind in ("gactivations", "gweights")) * BYTES_A_SECOND
    assert 0.5 * planned < traffic.bytes < planned


@pytest.mark.parametrize("is_training", [False, True])
def test_a_layer_starts_at_most_the_kernels_that_the_plan_counts(is_training):
    def kernels(layers):
        # Attention without dropout is one operation on a processor, as all fused attention is on a GPU.
        sizes = {"num_hidden_layers": layers, "num_attention_heads": 2, "hidden_size": 32, "intermediate_size": 64}
        config = BertConfig(**sizes, vocab_size=50, attention_probs_dropout_prob=0.0)
        model = BertModel(config, add_pooling_layer=False).train(is_training)
        inputs = {"input_ids": torch.randint(0, 50, (3, 7)), "attention_mask": torch.ones(3, 7)}
        with torch.set_grad_enabled(is_training), Counted() as counted:
            states = model(**inputs).last_hidden_state
            if is_training:
                states.sum().backward()
        return counted.kernels

    counts = training(Shape(1, 2, 32), 3, 7, 3, 0) if is_training else forward(Shape(1, 2, 32), 3, 7)
    planned = counts["kblocks"] * GPU_SECONDS["kblocks"] * KERNELS_A_SECOND
    assert 0.5 * planned < (kernels(6) - kernels(2)) / 4 < planned


def test_a_search_moves_and_starts_what_the_plan_counts():
    layers, width, sentences, tokens, beams, steps, words = 6, 64, 4, 30, 5, 40, 200
    stack = {
        f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in (("layers", layers), ("ffn_dim", 256))
    }
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    ends = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": None}
    model = MarianMTModel(MarianConfig(vocab_size=words, d_model=width, **stack, **heads, **ends)).eval()
    install(model)
    ids = torch.randint(2, words, (sentences, tokens))
    mask = torch.ones_like(ids)
    lengths = {"max_new_tokens": steps, "min_new_tokens": steps}
    with torch.inference_mode(), watch(model) as session:
        session.batch(mask)
        encoded = model.get_encoder()(input_ids=ids, attention_mask=mask)
        with Counted() as counted:
            model.generate(encoder_outputs=encoded, attention_mask=mask, num_beams=beams, do_sample=False, **lengths)
    work = decoding(Shape(layers, 2, width), sentences, tokens, Search(beams, steps, words), on_gpu=True)
    # Reordering, appending and attention, which also reads and writes its short queries and outputs.
    moved = sum(counted.bytes_of[name] for name in ("index_select", "cat", "matmul"))
    assert work["gcached"] * GPU_SECONDS["gcached"] * BYTES_A_SECOND == pytest.approx(moved, rel=0.15)
    planned = work["kblocks"] * GPU_SECONDS["kblocks"] * KERNELS_A_SECOND
    assert 0.6 * planned < counted.kernels < planned
    # On a processor, the reordering is counted by other coefficients.
    on_cpu = decoding(Shape(layers, 2, width), sentences, tokens, Search(beams, steps, words))
    assert "gcached" not in on_cpu
    assert on_cpu["gactivations"] > work["gactivations"]


@pytest.mark.parametrize(
    ("pieces", "parts", "padding"),
    [
        (PIECES_ON_CPU, shared_jobs.PARTS_ON_CPU, shared_jobs.PADDING_ON_CPU),
        (PIECES_ON_GPU, shared_jobs.PARTS_ON_GPU, shared_jobs.PADDING_ON_GPU),
    ],
)
def test_a_random_batch_has_the_parts_and_the_padding_that_the_plan_counts(pieces, parts, padding):
    chance = np.random.default_rng(0)
    counts, tokens = [], []
    for _ in range(50):
        lengths = np.clip(chance.lognormal(np.log(33), 0.6, 32), 8, 128).astype(int).tolist()
        in_parts = parts_of_like_length(lengths, pieces)
        counts.append(len(in_parts))
        tokens.append(sum(len(part) * max(lengths[place] for place in part) for part in in_parts) / sum(lengths))
    assert np.mean(counts) == pytest.approx(parts, abs=0.9)
    assert np.mean(tokens) == pytest.approx(padding, abs=0.15)


def test_the_host_works_while_the_gpu_computes():
    model = {"seconds": {"x": {"fixed": 2.0, "records": 0.5}, "other": {"fixed": 1.0}}, "shared": {"gflop": 9.0}}

    def taken(**work):
        return gpu_seconds(model, "x", {"records": 4.0, **work}, "float32")

    assert taken() == 4.0
    computing = taken(gflop=22e3)
    assert computing == pytest.approx(5.0)
    assert taken(gflop=22e3, gread=1.0) == computing  # 0.8 s of reading
    assert taken(gflop=22e3, gread=1.0, kblocks=2.0) == pytest.approx(5.2)  # and 0.4 s of starting kernels


def test_tf32_is_faster_than_float32():
    assert GPU_FLOP["tf32"] / GPU_FLOP["float32"] == pytest.approx(494 / 67, rel=0.03)
