"""Edge probes: what can be told of spans from frozen hidden states, many probes at once (Tenney et al. 2019, section 3).

Each probe mixes the layers from 0 to its own top one by learnt weights, projects and pools the pieces of a span by
self-attention, and classifies one or two pooled spans by a layer with a sigmoid for every label. Probes of different top layers
and seeds share every tensor operation; no parameter belongs to two probes, so that training them together is training each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

SIZE = 256
"""Width of a span (published code)."""
MIX_DROPOUT, CLASS_DROPOUT = 0.2, 0.3
CLIP = 5.0
"""Largest norm of the gradient of a probe (published code)."""


@dataclass(frozen=True)
class ProbeKey:
    """A probe: the layers that it may use, `bottom` to `top` (0 for what goes into the first), and its seed."""

    top: int
    seed: int
    bottom: int = 0


@dataclass(frozen=True)
class Spans:
    """Spans of pieces in a batch of sentences, one a target.

    Attributes:
        sentence: [target] row of the sentence in the batch.
        start, stop: [target] first piece, and the piece after the last.
    """

    sentence: torch.Tensor
    start: torch.Tensor
    stop: torch.Tensor


class _Side(nn.Module):
    """Projection and pooling of one of two spans, for all probes."""

    def __init__(self, keys: Sequence[ProbeKey], width: int) -> None:
        super().__init__()
        self.project = nn.Parameter(_uniform(keys, (width, SIZE), width, 1))
        self.bias = nn.Parameter(_uniform(keys, (SIZE,), width, 2))
        self.attend = nn.Parameter(_uniform(keys, (SIZE,), SIZE, 3))
        # The bias of the score is left out: a softmax does not see it.

    def forward(self, mixed: torch.Tensor, spans: Spans) -> torch.Tensor:
        """[probe, target, size] from mixed states [probe, sentence, piece, width]."""
        longest = int((spans.stop - spans.start).max())
        places = spans.start[:, None] + torch.arange(longest, device=mixed.device)
        inside = places < spans.stop[:, None]
        places = places.clamp(max=mixed.shape[2] - 1)
        # Only pieces of spans are projected; a span's words are few beside a sentence's.
        pieces = mixed[:, spans.sentence[:, None], places]  # [probe, target, piece, width]
        shape = pieces.shape
        projected = torch.baddbmm(self.bias[:, None], pieces.flatten(1, 2), self.project).view(*shape[:3], SIZE)
        scores = (projected * self.attend[:, None, None]).sum(-1).masked_fill(~inside, -math.inf)
        return (scores.softmax(-1)[..., None] * projected).sum(2)


class EdgeProbes(nn.Module):
    """Probes for one task.

    Args:
        keys: the probes.
        layers: hidden states of the model, the input of the first layer included (L + 1).
        width: of a hidden state.
        labels: outputs, each with a sigmoid of its own.
        pairs: whether targets have two spans; each has a projection of its own.
    """

    def __init__(self, keys: Sequence[ProbeKey], layers: int, width: int, labels: int, pairs: bool) -> None:
        super().__init__()
        self.keys = tuple(keys)
        count = len(self.keys)
        self.mix = nn.Parameter(torch.zeros(count, layers))
        self.scale = nn.Parameter(torch.ones(count))
        allowed = torch.tensor([[key.bottom <= layer <= key.top for layer in range(layers)] for key in self.keys])
        self.register_buffer("allowed", allowed, persistent=False)
        self.sides = nn.ModuleList(_Side(_salted(self.keys, side), width) for side in range(1 + pairs))
        spans = SIZE * (1 + pairs)
        self.hidden = nn.Parameter(_uniform(self.keys, (spans, SIZE), spans, 4))
        self.hidden_bias = nn.Parameter(_uniform(self.keys, (SIZE,), spans, 5))
        self.norm = nn.Parameter(torch.ones(count, SIZE))
        self.norm_bias = nn.Parameter(torch.zeros(count, SIZE))
        self.out = nn.Parameter(_uniform(self.keys, (SIZE, labels), SIZE, 6))
        self.out_bias = nn.Parameter(_uniform(self.keys, (labels,), SIZE, 7))

    @property
    def weights(self) -> torch.Tensor:
        """[probe, layer] mixing weights s: they sum to 1 over the layers that a probe may use, and are 0 on others."""
        return self.mix.masked_fill(~self.allowed, -math.inf).softmax(-1)

    def forward(self, states: torch.Tensor, first: Spans, second: Spans | None = None) -> torch.Tensor:
        """Logits [probe, target, label].

        Args:
            states: [sentence, layer, piece, width].
            first, second: spans of each target.
        """
        weights = self.weights * self.scale[:, None]
        mixed = torch.einsum("pl,slnw->psnw", weights, states)
        mixed = nn.functional.dropout(mixed, MIX_DROPOUT, self.training)
        spans = [first] if second is None else [first, second]
        pooled = torch.cat([side(mixed, own) for side, own in zip(self.sides, spans, strict=True)], dim=-1)
        inner = torch.baddbmm(self.hidden_bias[:, None], pooled, self.hidden).tanh()
        inner = nn.functional.layer_norm(inner, (SIZE,)) * self.norm[:, None] + self.norm_bias[:, None]
        inner = nn.functional.dropout(inner, CLASS_DROPOUT, self.training)
        return torch.baddbmm(self.out_bias[:, None], inner, self.out)


def probe_losses(logits: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """[probe] mean binary cross-entropy over targets and labels.

    Args:
        logits: [probe, target, label].
        truth: [target, label] 0 or 1.
    """
    own = truth.to(logits).expand_as(logits)
    return nn.functional.binary_cross_entropy_with_logits(logits, own, reduction="none").mean(dim=(1, 2))


def clip_each(parameters: Iterable[nn.Parameter], largest: float = CLIP) -> None:
    """Scale the gradients of each probe down to a norm; parameters have the probes as first axis."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return
    squares = sum(gradient.flatten(1).square().sum(1) if gradient.ndim > 1 else gradient.square() for gradient in gradients)
    factors = (largest / (torch.as_tensor(squares).sqrt() + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factors.view(-1, *(1,) * (gradient.ndim - 1)))


def optimiser(probes: EdgeProbes, learning_rate: float = 1e-4, mix_rate: float = 1.0) -> torch.optim.Optimizer:
    """Adam in its AMSGrad form (published code).

    Args:
        probes: what is trained.
        learning_rate: of all parameters.
        mix_rate: times that, for mixing weights and their scale: with the published 1, ten thousand steps move a weight's logit
            by about one, whatever the data say.
    """
    mixing = {id(probes.mix), id(probes.scale)}
    others = [parameter for parameter in probes.parameters() if id(parameter) not in mixing]
    groups = [{"params": others}, {"params": [probes.mix, probes.scale], "lr": learning_rate * mix_rate}]
    return torch.optim.Adam(groups, lr=learning_rate, amsgrad=True)


def _salted(keys: Sequence[ProbeKey], side: int) -> list[ProbeKey]:
    """Keys whose random weights differ from those of the other side."""
    return [ProbeKey(key.top, key.seed * 2 + side, key.bottom) for key in keys]


def _uniform(keys: Sequence[ProbeKey], shape: tuple[int, ...], inputs: int, salt: int) -> torch.Tensor:
    """[probe, *shape] first weights of a linear layer of torch, by the seed of each probe and a number of the parameter."""
    bound = 1 / math.sqrt(inputs)
    drawn: dict[int, torch.Tensor] = {}
    for key in keys:
        if key.seed not in drawn:
            generator = torch.Generator().manual_seed(1000 * key.seed + salt)
            drawn[key.seed] = torch.empty(shape).uniform_(-bound, bound, generator=generator)
    return torch.stack([drawn[key.seed] for key in keys])
