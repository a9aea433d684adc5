"""The linear projections of an attention module: their names, and the weights W_V and W_O of each head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from attention_atlas.attention.engine import attention_layers, self_attention
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
class Projections:
    """The linear layers of an attention module: a head is a block of rows in the first three and of columns in the last."""

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    output: nn.Linear


@dataclass(frozen=True)
class ValueOutput:
    """Weights by which the heads of a layer read their input and write to the residual stream, without biases.

    Attributes:
        value: [head, size, hidden] W_V: from the input of the layer to the values of a head.
        output: [head, hidden, size] W_O: from the values of a head to the output of the layer.
    """

    value: torch.Tensor
    output: torch.Tensor


def separate_projections(model: nn.Module, name: str) -> Projections | None:
    """The projections of the attention module of this name; None if query, key and value are not three linear layers."""
    module, around = model.get_submodule(name), model.get_submodule(name.rpartition(".")[0])
    for inner, outer in _NAMES:
        query, key, value = (_layer(module, part, nn.Linear) for part in inner)
        output = _layer(module, outer, nn.Linear) or _layer(around, outer, nn.Linear)
        if query is not None and key is not None and value is not None and output is not None:
            return Projections(query, key, value, output)
    return None


@torch.no_grad()
def value_outputs(model: PreTrainedModel) -> list[ValueOutput]:
    """W_V and W_O of every layer, in float32; layers that share weights have the same ones.

    Heads that share keys and values (grouped-query attention) have the same W_V.

    Raises:
        AtlasError: the model's projections are unknown.
    """
    kind, layers, heads = self_attention(model)
    names = attention_layers(model)[kind]
    if len(names) != layers and len(names) != 1:
        raise AtlasError(f"{type(model).__name__} shares its layers in groups: weights of single layers are not supported.")
    weights = [_value_output(model, name, heads) for name in names]
    return weights if len(weights) == layers else weights * layers


def _value_output(model: PreTrainedModel, name: str, heads: int) -> ValueOutput:
    separate = separate_projections(model, name)
    if separate is not None:
        value, output = separate.value.weight, separate.output.weight
    else:
        value, output = _fused(model, name, heads)
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
