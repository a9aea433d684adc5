"""Heads pruned from the weights: rows of the query, key and value projections and columns of the output projection."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import torch
from torch import nn

from attention_atlas.attention.engine import attention_layers, attention_shape
from attention_atlas.attention.plans import SiteKind
from attention_atlas.errors import AtlasError
from attention_atlas.models.projections import separate_projections

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@torch.no_grad()
def prune_heads(model: PreTrainedModel, heads: Mapping[tuple[SiteKind, int], Collection[int]]) -> None:
    """Remove heads from the weights of a model in place; its output equals that with these heads masked.

    The value bias of a head is removed with it; the bias of the output projection stays, as when the head is masked. A layer
    may lose all its heads. The configuration keeps the old number of heads, so the model cannot be saved and loaded again.

    Args:
        model: models like BERT, DistilBERT, or BART (Marian).
        heads: (kind of attention, layer from 0) -> heads from 0.

    Raises:
        AtlasError: the model's projections are unknown, or it has no such layer or head.
    """
    shape, names = attention_shape(model), attention_layers(model)
    for (site, layer), pruned in heads.items():
        layers, count = shape.get(site, (0, 0))
        if not 0 <= layer < layers or not all(0 <= head < count for head in pruned):
            raise AtlasError(f"there is no {site} attention with layer {layer} and heads {sorted(pruned)} (counted from 0).")
        if len(names[site]) != layers:
            raise AtlasError(f"{type(model).__name__} shares its layers: heads of a single layer cannot be pruned.")
        remaining_heads = [head for head in range(count) if head not in set(pruned)]
        _cut(model, names[site][layer], remaining_heads, count)


def _cut(model: PreTrainedModel, name: str, remaining_heads: list[int], count: int) -> None:
    projections = separate_projections(model, name)
    if projections is None:
        raise AtlasError(f"{type(model).__name__}: the projections of {name} were not found, so no head can be pruned.")
    size = projections.query.out_features // count
    if projections.key.out_features != projections.query.out_features:
        raise AtlasError(f"{type(model).__name__}: heads share keys and values, so no head can be pruned alone.")
    places = torch.tensor([head * size + k for head in remaining_heads for k in range(size)], dtype=torch.long)
    for projection in (projections.query, projections.key, projections.value):
        _keep(projection, places, 0)
    _keep(projections.output, places, 1)


def _keep(linear: nn.Linear, places: torch.Tensor, axis: int) -> None:
    places = places.to(linear.weight.device)
    linear.weight = nn.Parameter(linear.weight.index_select(axis, places), requires_grad=linear.weight.requires_grad)
    linear.out_features, linear.in_features = linear.weight.shape
    if axis == 0 and linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias.index_select(0, places), requires_grad=linear.bias.requires_grad)
