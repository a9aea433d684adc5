"""Starting a forward pass in the middle: layers before the first one that a plan changes are computed once (`outputs_under`).

Only the blocks of one encoder (or decoder) are skipped; embeddings and everything after the blocks run as always.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import nn

from attention_atlas.attention.engine import attention_layers, attention_shape, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.errors import AtlasError


class _RecordedOutput(nn.Module):
    """Replaces a block: returns the output that the block had in an earlier pass."""

    def __init__(self, output: Any) -> None:
        super().__init__()
        self.output = output

    def forward(self, *_: Any, **__: Any) -> Any:
        return self.output


def blocks(model: nn.Module) -> nn.ModuleList:
    """The layers of a model with one kind of attention, in order."""
    kinds = attention_layers(model)
    if len(kinds) != 1:
        raise AtlasError(
            f"{type(model).__name__} has {', '.join(map(str, kinds))} attention: pass the part with the intended layers."
        )
    ((kind, names),) = kinds.items()
    layers, _ = attention_shape(model)[kind]
    parts = names[0].split(".")
    for place, part in enumerate(parts):
        holder = model.get_submodule(".".join(parts[:place]))
        if part.isdecimal() and isinstance(holder, nn.ModuleList) and len(holder) == layers == len(names):
            return holder
    raise AtlasError(f"{type(model).__name__} does not keep its layers in a list of modules, so none can be skipped.")


def outputs_under(
    model: nn.Module, inputs: Mapping[str, torch.Tensor], plans: Iterable[tuple[Plan, torch.Tensor | None]]
) -> Iterator[Any]:
    """Outputs of a model for a batch: unchanged, then under each plan, from the first layer that the plan changes.

    If no layer can be skipped (layers of ALBERT share modules), all are run.
    No probabilities are observed, so attention is fused where the plan allows it (`engine.watch`).

    `plans`: each with the sentence ids [batch, n] that it needs, or None.
    """
    # No context stays open between two outputs: it would also apply in the caller.
    try:
        blocks(model)
        recording: contextlib.AbstractContextManager[list[Any]] = recorded(model)
    except AtlasError:
        recording = contextlib.nullcontext([])
    with torch.inference_mode(), watch(model, fused=True), recording as outputs:
        output = model(**inputs)
    yield output
    for plan, sentence_ids in plans:
        changed = watch(model, plan=plan, fused=True)
        skipped = plan.unchanged_layers if outputs else 0
        with torch.inference_mode(), changed as session, resumed(model, outputs, skipped):
            session.batch(inputs["attention_mask"], sentence_ids)
            output = model(**inputs)
        yield output


@contextlib.contextmanager
def recorded(model: nn.Module) -> Iterator[list[Any]]:
    """Collect the output of every layer of the forward pass within the block, in order."""
    outputs: list[Any] = []
    hooks = [block.register_forward_hook(lambda _, __, output: outputs.append(output)) for block in blocks(model)]
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def resumed(model: nn.Module, outputs: list[Any], skipped: int) -> Iterator[None]:
    """Skip the first layers, as many as `skipped`, with their recorded outputs in their place.

    Use it inside `watch`, which needs the whole model.
    """
    if skipped == 0:
        yield
        return
    holder = blocks(model)
    if len(outputs) != len(holder) or not 0 <= skipped < len(holder):
        raise AtlasError(f"{len(outputs)} recorded outputs for {len(holder)} layers: run the batch within `recorded` first.")
    replaced_blocks = [holder[place] for place in range(skipped)]
    try:
        for place in range(skipped):
            holder[place] = _RecordedOutput(outputs[place])
        yield
    finally:
        for place, block in enumerate(replaced_blocks):
            holder[place] = block
