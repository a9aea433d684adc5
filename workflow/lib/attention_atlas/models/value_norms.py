"""Norms of a head's transformed value vectors: ||f(x)||, with f(x) = (x W_V + b_V) W_O (Kobayashi et al. 2020).

The value vectors (x W_V + b_V) are those of the forward pass. The norm of v W_O is the square root of v (W_O W_O^T) v^T, which
avoids computing a vector of the model's width for each head and token. The bias of the output projection belongs to no head
and no token and is omitted, as in the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from attention_atlas.attention.engine import Observer, Site, self_attention
from attention_atlas.corpora.examples import Example
from attention_atlas.models.projections import value_outputs

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Norms = npt.NDArray[np.float32]


class ValueNorms:
    """Collects norms during the forward passes of a model, for `extraction.each_example(values=norms.observer)`."""

    def __init__(self, model: PreTrainedModel) -> None:
        """Read the output projections of the model.

        Raises:
            AtlasError: the model's projections are unknown.
        """
        self._kind, *self._shape = self_attention(model)
        # [head, size, size] products of the rows of W_O, by layer.
        self._products = [layer.output.transpose(1, 2) @ layer.output for layer in value_outputs(model)]
        self._collected: dict[int, Norms] = {}

    def observer(self, batch: Sequence[Example]) -> Observer:
        """An observer of the value vectors of a batch, padded on the right."""
        layers, heads = self._shape

        def keep(site: Site, values: torch.Tensor) -> None:
            if site.site_kind != self._kind:
                return
            norms = value_output_norms(values, self._products[site.layer]).cpu().numpy()
            for row, example in enumerate(batch):
                n = len(example.input_ids)
                of_example = self._collected.setdefault(example.record, np.empty((layers, heads, n), np.float32))
                of_example[site.layer] = norms[row, :, :n]

        return keep

    def take(self, example: Example) -> Norms:
        """[layer, head, n] norms of an example after its forward pass; they are then released."""
        return self._collected.pop(example.record)


def value_output_norms(values: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    """[batch, head, key] norms of v W_O.

    Args:
        values: [batch, head, key, size] v.
        products: [head, size, size] W_O W_O^T.
    """
    wide = values.float()
    squares = torch.einsum("bhks,hst,bhkt->bhk", wide, products.to(wide.device), wide)
    # Rounding can make the square of a zero norm negative.
    return squares.clamp(min=0).sqrt()
