"""The Trainer of batches in parts, and the optimiser of BERT's published code.

Random batches, as used in the papers, are padded to their longest example, about twice the mean length. The gradient of a mean
loss is the sum of the gradients of parts, each weighted by its share of the targets; only the dropout masks differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from transformers import Trainer

from attention_atlas.models import devices
from attention_atlas.models.loaded_weights import check_loss

PARTS, SHARE = "parts", "share"  # keys of a batch: its parts, and in each its share of the targets
PIECES_ON_CPU, PIECES_ON_GPU = 64, 768
"""Padded tokens that take as long as one more part: adding its gradients; on a GPU, an estimate, also starting operations."""


def pieces_of_a_part(weights: torch.Tensor) -> int:
    """Number of padded tokens that take as long as one more part, on the device of the model's weights."""
    return PIECES_ON_GPU if devices.on_gpu(weights) else PIECES_ON_CPU


def parts_of_like_length(lengths: Sequence[int], part_pieces: int) -> list[list[int]]:
    """Positions of the examples in each part, minimising the number of padded tokens plus `part_pieces` per part.

    Parts are ordered from long to short examples. If a single part is best, the batch keeps the order of its examples.

    `lengths`: [example] number of tokens; `part_pieces`: cost of one more part, in padded tokens.
    """
    places = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    # least[n], first[n]: minimum number of tokens for the n longest examples, and the start of their last part.
    least, first = [0], [0]
    for end in range(1, len(places) + 1):
        costs = [least[start] + part_pieces + lengths[places[start]] * (end - start) for start in range(end)]
        first.append(min(range(end), key=costs.__getitem__))
        least.append(costs[first[-1]])
    parts: list[list[int]] = []
    end = len(places)
    while end:
        parts.insert(0, places[first[end] : end])
        end = first[end]
    return parts if len(parts) > 1 else [list(range(len(lengths)))]


class PartsTrainer(Trainer):
    """A Trainer for batches {PARTS: [part, ...]}: each part contains model inputs and its SHARE of the batch's targets."""

    def training_step(
        self, model: torch.nn.Module, inputs: dict[str, Any], num_items_in_batch: torch.Tensor | int | None = None
    ) -> torch.Tensor:
        """The loss of a batch; its gradient is added to that of the weights."""
        loss = torch.zeros((), device=self.args.device)
        for part in inputs[PARTS]:
            loss += super().training_step(model, part)
        check_loss(loss, f"step {self.state.global_step + 1}", f"Lower learning_rate ({self.args.learning_rate:g})")
        return loss

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> torch.Tensor:
        """Contribution of a part to the mean loss of its batch."""
        share = inputs[SHARE]
        loss = super().compute_loss(model, {name: values for name, values in inputs.items() if name != SHARE})
        assert isinstance(loss, torch.Tensor)
        return loss if share == 1 else loss * share

    def floating_point_ops(self, inputs: dict[str, Any]) -> int:
        """Number of operations of a batch, for the Trainer's count."""
        return sum(int(super(PartsTrainer, self).floating_point_ops(part)) for part in inputs[PARTS])


class BertAdam(torch.optim.Optimizer):
    """m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - lr (m / (sqrt(v) + eps) + decay w).

    Source: the optimiser in the code of Devlin et al. (2019), on which that of Kovaleva et al. (2019) is based. torch's AdamW
    divides m and v by 1 - b^t, which makes its first steps up to a third smaller, and leaves clipping to the caller.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        max_norm: float = 1.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "max_norm": max_norm})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step; the closure, if given, computes the loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            first, second = group["betas"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient = parameter.grad
                norm = torch.linalg.vector_norm(gradient)
                gradient = gradient * (group["max_norm"] / (norm + 1e-6)).clamp(max=1)
                state = self.state[parameter]
                if not state:
                    state["mean"], state["square"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
                state["mean"].lerp_(gradient, 1 - first)
                state["square"].mul_(second).addcmul_(gradient, gradient, value=1 - second)
                update = state["mean"] / (state["square"].sqrt() + group["eps"]) + group["weight_decay"] * parameter
                parameter.sub_(update, alpha=group["lr"])
        return loss
