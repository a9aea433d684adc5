"""The weights of single heads: their projections, norms of what they write, and models without some heads.

The value vectors (x W_V + b_V) are those of the forward pass. The norm of v W_O is the square root of v (W_O W_O^T) v^T, which
avoids computing a vector of the model's width for each head and token. The bias of the output projection belongs to no head
and no token and is omitted, as in the source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from attention_atlas.attention.cache import widened
from attention_atlas.attention.engine import Observer, attention_layers, attention_shape, self_attention, watch
from attention_atlas.attention.plans import Site, SiteKind
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


_NAMES = (
    # Projections of the attention module, and the output projection relative to it or to its parent module.
    (("query", "key", "value"), "output.dense"),
    (("q_proj", "k_proj", "v_proj"), "out_proj"),
    (("q_proj", "k_proj", "v_proj"), "o_proj"),
    (("q_lin", "k_lin", "v_lin"), "out_lin"),
    (("q", "k", "v"), "o"),
)


def _separate_projections(model: nn.Module, name: str) -> list[nn.Linear]:
    """Linear layers of query, key, value and output of the attention module of this name; none if it has no such four.

    A head is a block of rows in the first three, and of columns in the last.
    """
    around, _, inside = name.rpartition(".")
    modules = dict(model.get_submodule(around).named_modules())
    for inner, outer in _NAMES:
        named = [f"{inside}.{part}" for part in (*inner, outer)]
        found = [modules.get(part) for part in (*named[:3], named[3] if named[3] in modules else outer)]
        linear = [layer for layer in found if isinstance(layer, nn.Linear)]
        if len(linear) == len(found):
            return linear
    return []


@torch.no_grad()
def _projections(model: PreTrainedModel) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """[head, size, hidden] W_V and [head, hidden, size] W_O of the layers that have them, in float32.

    In one forward pass every linear layer gives random numbers instead. They show which layer projects the values, in which
    order, and which one reads the outputs of the heads, whatever the names and layouts of an architecture are.
    """
    kind, layers, heads = self_attention(model)
    generator = torch.Generator().manual_seed(0)
    given: list[tuple[nn.Module, torch.Tensor]] = []
    read: dict[Site, torch.Tensor] = {}
    values, outputs = {}, {}

    def weight(module: nn.Module) -> torch.Tensor:
        stored = module.get_parameter("weight").float()
        return stored.T if isinstance(module, Conv1D) else stored

    def randomise(module: nn.Module, arguments: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
        for site, of_heads in read.items():
            if site.site_kind == kind and torch.equal(arguments[0].flatten(), of_heads.flatten()):
                outputs[site.layer] = weight(module).unflatten(1, (heads, -1)).transpose(0, 1)
        read.clear()
        given.append((module, torch.rand(output.shape, generator=generator).to(output)))
        return given[-1][1]

    def see_values(site: Site, of_heads: torch.Tensor) -> None:
        columns = of_heads[0].transpose(1, 2).flatten(0, 1).tolist()
        while given and site.site_kind == kind and site.layer not in values:
            module, numbers = given.pop()
            place_of = {tuple(column): place for place, column in enumerate(numbers.flatten(0, -2).T.tolist())}
            places = [place_of.get(tuple(column), -1) for column in columns]
            if min(places) >= 0:
                values[site.layer] = weight(module)[places].unflatten(0, (heads, -1))
        given.clear()

    # Subclasses need not be linear.
    hooks = [module.register_forward_hook(randomise) for module in model.modules() if type(module) in (nn.Linear, Conv1D)]
    try:
        with watch(model, values=[see_values], outputs=[read.__setitem__]):
            ids = torch.arange(8, device=model.device)[None]
            model(input_ids=ids, attention_mask=torch.ones_like(ids))
    finally:
        for hook in hooks:
            hook.remove()
    if len(outputs) < layers:
        raise AtlasError(f"{type(model).__name__}: heads' outputs are gated, normalised, or not projected by a linear layer.")
    return [layer for _, layer in sorted(values.items())], [layer for _, layer in sorted(outputs.items())]


def value_outputs(model: PreTrainedModel) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """[head, size, hidden] W_V, by which the heads of a layer read its input, and [head, hidden, size] W_O, by which they write
    to the residual stream: of every layer, in float32, without biases. Layers that share weights have the same ones.
    """
    values, outputs = _projections(model)
    if [value.shape[::2] + value.shape[1:2] for value in values] != [output.shape for output in outputs]:
        raise AtlasError(f"{type(model).__name__}: its heads do not read and write the residual stream by a linear layer each.")
    return list(zip(values, outputs, strict=True))


Norms = npt.NDArray[np.float32]


class ValueNorms:
    """Collects norms during the forward passes of a model, for `extraction.each_example(values=norms.observer)`."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._kind, *self._shape = self_attention(model)
        # [head, size, size] products W_O W_O^T, by layer.
        self._products = [output.transpose(1, 2) @ output for output in _projections(model)[1]]
        self._collected: dict[int, Norms] = {}

    def observer(self, batch: Sequence[Example]) -> Observer:
        """An observer of the value vectors of a batch, padded on the right."""
        layers, heads = self._shape

        def keep(site: Site, values: torch.Tensor) -> None:
            if site.site_kind != self._kind:
                return
            wide = values.float()
            squares = torch.einsum("bhks,hst,bhkt->bhk", wide, self._products[site.layer - 1].to(wide.device), wide)
            # Rounding can make the square of a zero norm negative.
            norms = squares.clamp(min=0).sqrt().cpu().numpy()
            for row, example in enumerate(batch):
                n = len(example.input_ids)
                of_example = self._collected.setdefault(example.record, np.empty((layers, heads, n), np.float32))
                of_example[site.layer - 1] = norms[row, :, :n]

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
    layer) -> heads, both from 1.
    """
    shape, names = attention_shape(model), attention_layers(model)
    for (site, layer), pruned in heads.items():
        layers, count = shape.get(site, (0, 0))
        if not 1 <= layer <= layers or not all(1 <= head <= count for head in pruned):
            raise AtlasError(f"there is no {site} attention with layer {layer} and heads {sorted(pruned)} (counted from 1).")
        if len(names[site]) != layers:
            raise AtlasError(f"{type(model).__name__} shares its layers: heads of a single layer cannot be pruned.")
        projections = _separate_projections(model, names[site][layer - 1])
        if not projections or projections[0].out_features != projections[1].out_features:
            raise AtlasError(
                f"{type(model).__name__}: no head can be pruned alone, because the projections of {names[site][layer - 1]} are "
                "unknown, or heads share keys and values."
            )
        size = projections[0].out_features // count
        remaining_heads = [head for head in range(count) if head + 1 not in set(pruned)]
        places = torch.tensor([head * size + k for head in remaining_heads for k in range(size)], dtype=torch.long)
        for projection, axis in zip(projections, (0, 0, 0, 1), strict=True):
            _keep(projection, places, axis)


def _keep(linear: nn.Linear, places: torch.Tensor, axis: int) -> None:
    places = places.to(linear.weight.device)
    linear.weight = nn.Parameter(linear.weight.index_select(axis, places), requires_grad=linear.weight.requires_grad)
    linear.out_features, linear.in_features = linear.weight.shape
    if axis == 0 and linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias.index_select(0, places), requires_grad=linear.bias.requires_grad)
