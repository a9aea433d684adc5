"""Adam as in BERT's published code: no bias correction of the moments, and separate gradient clipping for each tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch


class BertAdam(torch.optim.Optimizer):
    """m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  w <- w - lr (m / (sqrt(v) + eps) + decay w).

    Source: the optimiser in the code of Devlin et al. (2019), on which that of Kovaleva et al. (2019) is based. torch's AdamW
    divides m and v by 1 - b^t, which makes its first steps up to a third smaller, and leaves clipping to the caller.

    Args:
        params: parameters or groups of them; `weight_decay` may differ by group.
        lr: learning rate.
        betas: decay rates of the two moments.
        eps: added to the root of the second moment.
        weight_decay: decoupled weight decay.
        max_norm: maximum norm of each tensor's gradient.
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
