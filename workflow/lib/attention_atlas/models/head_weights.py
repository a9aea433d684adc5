"""The weights of single heads: their projections, norms of what they write, and models without some heads.

The value vectors (x W_V + b_V) are those of the forward pass. The norm of v W_O is the square root of v (W_O W_O^T) v^T, which
avoids computing a vector of the model's width for each head and token. The bias of the output projection belongs to no head
and no token and is omitted, as in the source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from attention_atlas.attention.cache import widened
from attention_atlas.attention.engine import Observer, Site, attention_layers, attention_shape, self_attention
from attention_atlas.attention.plans import SiteKind
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


_Layer = TypeVar("_Layer", bound=nn.Module)
_NAMES = (
    # Projections of the attention module, and the output projection relative to it or to its parent module.
    (("query", "key", "value"), "output.dense"),
    (("q_proj", "k_proj", "v_proj"), "out_proj"),
    (("q_proj", "k_proj", "v_proj"), "o_proj"),
    (("q_lin", "k_lin", "v_lin"), "out_lin"),
    (("q", "k", "v"), "o"),
)
_FUSED = (("c_attn", "c_proj"), ("query_key_value", "dense"))
"""Names of the joint projection of query, key and value, and of the output projection: GPT-2 and GPT-NeoX."""


@dataclass(frozen=True)
class ValueOutput:
    """Weights by which the heads of a layer read their input and write to the residual stream, without biases."""

    value: torch.Tensor  # [head, size, hidden] W_V: from the input of the layer to the values of a head
    output: torch.Tensor  # [head, hidden, size] W_O: from the values of a head to the output of the layer


def _separate_projections(model: nn.Module, name: str) -> list[nn.Linear]:
    """Linear layers of query, key, value and output of the attention module of this name; none if it has no such four.

    A head is a block of rows in the first three, and of columns in the last.
    """
    module, around = model.get_submodule(name), model.get_submodule(name.rpartition(".")[0])
    for inner, outer in _NAMES:
        output = _layer(module, outer, nn.Linear) or _layer(around, outer, nn.Linear)
        found = [layer for layer in (*(_layer(module, part, nn.Linear) for part in inner), output) if layer is not None]
        if len(found) == len(inner) + 1:
            return found
    return []


@torch.no_grad()
def value_outputs(model: PreTrainedModel) -> list[ValueOutput]:
    """W_V and W_O of every layer, in float32; layers that share weights have the same ones."""
    kind, layers, heads = self_attention(model)
    names = attention_layers(model)[kind]
    if len(names) != layers and len(names) != 1:
        raise AtlasError(f"{type(model).__name__} shares its layers in groups: weights of single layers are not supported.")
    weights = [_value_output(model, name, heads) for name in names]
    return weights if len(weights) == layers else weights * layers


def _value_output(model: PreTrainedModel, name: str, heads: int) -> ValueOutput:
    separate = _separate_projections(model, name)
    value, output = (separate[2].weight, separate[3].weight) if separate else _fused(model, name, heads)
    size = output.shape[1] // heads
    by_head = value.float().reshape(-1, size, value.shape[1])
    # Heads of one group are adjacent.
    by_head = by_head.repeat_interleave(heads // len(by_head), dim=0)
    return ValueOutput(by_head, output.float().reshape(output.shape[0], heads, size).transpose(0, 1))


def _fused(model: PreTrainedModel, name: str, heads: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights of the value and of the output projection, [out, in], if one layer projects query, key and value."""
    module = model.get_submodule(name)
    for inner, outer in _FUSED:
        transposed = _layer(module, inner, Conv1D), _layer(module, outer, Conv1D)
        if transposed[0] is not None and transposed[1] is not None:
            # GPT-2: [in, out], all queries first, then all keys, then all values.
            return transposed[0].weight.T.chunk(3)[2], transposed[1].weight.T
        linear = _layer(module, inner, nn.Linear), _layer(module, outer, nn.Linear)
        if linear[0] is not None and linear[1] is not None and linear[0].out_features == 3 * linear[1].in_features:
            # GPT-NeoX: query, key and value of each head.
            parts = linear[0].weight.reshape(heads, 3, -1, linear[0].in_features)
            return parts[:, 2].reshape(-1, linear[0].in_features), linear[1].weight
    raise AtlasError(f"{type(model).__name__}: the value and output projections of {name} are unknown.")


def _layer(module: nn.Module, name: str, kind: type[_Layer]) -> _Layer | None:
    """The layer of this name and kind in a module, None if there is none."""
    try:
        layer = module.get_submodule(name)
    except AttributeError:
        return None
    return layer if isinstance(layer, kind) else None


Norms = npt.NDArray[np.float32]


class ValueNorms:
    """Collects norms during the forward passes of a model, for `extraction.each_example(values=norms.observer)`."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._kind, *self._shape = self_attention(model)
        # [head, size, size] products W_O W_O^T, by layer.
        self._products = [layer.output.transpose(1, 2) @ layer.output for layer in value_outputs(model)]
        self._collected: dict[int, Norms] = {}

    def observer(self, batch: Sequence[Example]) -> Observer:
        """An observer of the value vectors of a batch, padded on the right."""
        layers, heads = self._shape

        def keep(site: Site, values: torch.Tensor) -> None:
            if site.site_kind != self._kind:
                return
            wide = values.float()
            squares = torch.einsum("bhks,hst,bhkt->bhk", wide, self._products[site.layer].to(wide.device), wide)
            # Rounding can make the square of a zero norm negative.
            norms = squares.clamp(min=0).sqrt().cpu().numpy()
            for row, example in enumerate(batch):
                n = len(example.input_ids)
                of_example = self._collected.setdefault(example.record, np.empty((layers, heads, n), np.float32))
                of_example[site.layer] = norms[row, :, :n]

        return keep

    def take(self, example: Example) -> Norms:
        """[layer, head, n] norms of an example after its forward pass; they are then released."""
        return self._collected.pop(example.record)


def value_norms(model: PreTrainedModel) -> tuple[ValueNorms | None, str]:
    """Collector of the norms of value vectors, or the reason why the model has none."""
    try:
        return ValueNorms(model), ""
    except AtlasError as error:
        return None, str(error)


def norm_weighted(maps: npt.NDArray[np.floating], norms: Norms) -> npt.NDArray[np.float32]:
    """[layer, head, n, n] alpha_ij ||f(x_j)||, divided by its sum over j, so that rows sum to 1 like attention weights.

    ||alpha_ij f(x_j)|| says how much token j contributes to the output of a head for token i (Kobayashi et al. 2020, Attention
    Is Not Only a Weight, section 3). A row to which no token contributes stays 0. `norms`: [layer, head, n] ||f(x_j)||.
    """
    weighted = widened(maps) * norms[:, :, None, :].astype(np.float32)
    sums = weighted.sum(axis=-1, keepdims=True)
    return np.divide(weighted, sums, out=np.zeros_like(weighted), where=sums > 0)


@torch.no_grad()
def prune_heads(model: PreTrainedModel, heads: Mapping[tuple[SiteKind, int], Collection[int]]) -> None:
    """Remove heads from the weights of a model in place; its output equals that with these heads masked.

    The value bias of a head is removed with it; the bias of the output projection stays, as when the head is masked. The
    configuration keeps the old number of heads, so the model cannot be saved and loaded again. `heads`: (kind of attention,
    layer from 0) -> heads from 0.
    """
    shape, names = attention_shape(model), attention_layers(model)
    for (site, layer), pruned in heads.items():
        layers, count = shape.get(site, (0, 0))
        if not 0 <= layer < layers or not all(0 <= head < count for head in pruned):
            raise AtlasError(f"there is no {site} attention with layer {layer} and heads {sorted(pruned)} (counted from 0).")
        if len(names[site]) != layers:
            raise AtlasError(f"{type(model).__name__} shares its layers: heads of a single layer cannot be pruned.")
        projections = _separate_projections(model, names[site][layer])
        if not projections or projections[0].out_features != projections[1].out_features:
            raise AtlasError(
                f"{type(model).__name__}: no head can be pruned alone, because the projections of {names[site][layer]} are "
                "unknown, or heads share keys and values."
            )
        size = projections[0].out_features // count
        remaining_heads = [head for head in range(count) if head not in set(pruned)]
        places = torch.tensor([head * size + k for head in remaining_heads for k in range(size)], dtype=torch.long)
        for projection, axis in zip(projections, (0, 0, 0, 1), strict=True):
            _keep(projection, places, axis)


def _keep(linear: nn.Linear, places: torch.Tensor, axis: int) -> None:
    places = places.to(linear.weight.device)
    linear.weight = nn.Parameter(linear.weight.index_select(axis, places), requires_grad=linear.weight.requires_grad)
    linear.out_features, linear.in_features = linear.weight.shape
    if axis == 0 and linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias.index_select(0, places), requires_grad=linear.bias.requires_grad)
