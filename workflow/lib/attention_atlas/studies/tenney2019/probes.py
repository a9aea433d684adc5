"""Edge probes: classifiers of spans on frozen hidden states, many trained at once (Tenney et al. 2019, section 3).

Each probe mixes the layers from 0 to its top one by learnt weights, projects and pools the word pieces of a span by
self-attention, and classifies one or two pooled spans by a layer with a sigmoid for every label. Probes of different top layers
and seeds share every tensor operation; no two probes share parameters, so training them together is the same as training each
alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from attention_atlas.models import devices
from attention_atlas.studies.tenney2019.names import TRUTH

SIZE = 256
"""Width of a span (published code)."""
MIX_DROPOUT, CLASS_DROPOUT = 0.2, 0.3
CLIP = 5.0
"""Largest norm of the gradient of a probe (published code)."""


@dataclass(frozen=True)
class ProbeKey:
    """A probe.

    Attributes:
        top: it mixes the layers from 0 (the input of the first) to this one.
        seed: of its initial weights.
        lexical: layer 0 is the words alone, without positions.
        labels: the labels that it is trained on, a key of `names.LABELS`.
        equal: it takes a fixed number of steps, whatever its score; otherwise it stops early.
    """

    top: int
    seed: int
    lexical: bool = False
    labels: str = TRUTH
    equal: bool = False

    def uses(self, row: int, rows: int) -> bool:
        """Whether it may use a row of the cached states; if it is lexical, the last row is the words alone."""
        return row == rows - 1 or 0 < row <= self.top if self.lexical else row <= self.top


@dataclass(frozen=True)
class Spans:
    """Spans of word pieces in a batch of sentences, one for each target.

    Attributes:
        sentence: [target] row of the sentence in the batch.
        start, stop: [target] first word piece, and the one after the last.
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
        # The score has no bias: a softmax does not see it.

    def forward(self, mixed: torch.Tensor, places: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
        """[probe, target, size] from mixed states [probe, place, width] at the places [target, longest] that are inside."""
        projected = torch.baddbmm(self.bias[:, None], mixed, self.project)
        scores = torch.bmm(projected, self.attend[:, :, None])[:, :, 0]
        shares = _at(scores, places).masked_fill(~inside, -math.inf).softmax(-1)
        return (shares[..., None] * _at(projected, places)).sum(2)


def _at(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """[probe, target, longest, ...] values [probe, place, ...] at places [target, longest]."""
    if devices.on_gpu(values):  # There index_select adds in any order on the way back: sums would differ from run to run.
        return values[:, places]
    return values.index_select(1, places.flatten()).unflatten(1, places.shape)


class EdgeProbes(nn.Module):
    """Probes for one task.

    Args:
        keys: the probes.
        rows: cached states of a word piece: the layers with the input of the first (L + 1), and the words alone if stored.
        width: of a hidden state.
        labels: number of outputs, each with a sigmoid.
        pairs: whether targets have two spans; the spans have separate projections.
    """

    allowed: torch.Tensor

    def __init__(self, keys: Sequence[ProbeKey], rows: int, width: int, labels: int, pairs: bool) -> None:
        super().__init__()
        self.keys = tuple(keys)
        count = len(self.keys)
        self.mix = nn.Parameter(torch.zeros(count, rows))
        self.scale = nn.Parameter(torch.ones(count))
        allowed = torch.tensor([[key.uses(row, rows) for row in range(rows)] for key in self.keys])
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
        """[probe, row] mixing weights s: they sum to 1 over the rows that a probe may use, and are 0 on others."""
        return self.mix.masked_fill(~self.allowed, -math.inf).softmax(-1)

    def forward(self, states: torch.Tensor, first: Spans, second: Spans | None = None) -> torch.Tensor:
        """Logits [probe, target, label].

        Args:
            states: [sentence, row, word piece, width].
            first, second: spans of each target.
        """
        spans = [first] if second is None else [first, second]
        pieces, places, inside = _needed(spans, states.shape[2])
        weights = self.weights * self.scale[:, None]
        piece_states = states[pieces // states.shape[2], :, pieces % states.shape[2]]  # [place, row, width]
        mixed = torch.einsum("pl,nlw->pnw", weights, piece_states)
        mixed = nn.functional.dropout(mixed, MIX_DROPOUT, self.training)
        pooled = torch.cat([side(mixed, *where) for side, *where in zip(self.sides, places, inside, strict=True)], dim=-1)
        inner = torch.baddbmm(self.hidden_bias[:, None], pooled, self.hidden).tanh()
        inner = nn.functional.layer_norm(inner, (SIZE,)) * self.norm[:, None] + self.norm_bias[:, None]
        inner = nn.functional.dropout(inner, CLASS_DROPOUT, self.training)
        return torch.baddbmm(self.out_bias[:, None], inner, self.out)


def _needed(spans: Sequence[Spans], length: int) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    """Word pieces in any span, each once, however many spans share it: only these are mixed and projected.

    Returns:
        [place] word piece, counted through the padded sentences; and for the spans of each side their places
        [target, longest] with which of them are inside.
    """
    flat, inside = [], []
    for side_spans in spans:
        steps = torch.arange(int((side_spans.stop - side_spans.start).max()), device=side_spans.start.device)
        inside.append(steps < (side_spans.stop - side_spans.start)[:, None])
        at = side_spans.start[:, None] + torch.where(inside[-1], steps, 0)
        flat.append(side_spans.sentence[:, None] * length + at)
    pieces, piece_places = torch.unique(torch.cat([part.flatten() for part in flat]), return_inverse=True)
    parts = piece_places.split([part.numel() for part in flat])
    return pieces, [part.view_as(shape) for part, shape in zip(parts, flat, strict=True)], inside


def probe_losses(logits: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """[probe] mean binary cross-entropy over targets and labels.

    Args:
        logits: [probe, target, label].
        truth: [target, label] 0 or 1, or [probe, target, label] where probes are trained on different labels.
    """
    labels = truth.to(logits).expand_as(logits)
    return nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none").mean(dim=(1, 2))


def clip_by_probe(parameters: Iterable[nn.Parameter], largest: float = CLIP) -> None:
    """Clip the gradient norm of each probe; the first axis of all parameters is the probe."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return
    factors = (largest / (_norms(gradients) + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factors.view(-1, *(1,) * (gradient.ndim - 1)))


def _norms(gradients: Sequence[torch.Tensor]) -> torch.Tensor:
    """[probe] norm of all gradients of a probe."""
    if devices.on_gpu(gradients[0]):  # A third of the kernels, which take longer to start than to run.
        norms = [torch.linalg.vector_norm(gradient.reshape(len(gradient), -1), dim=1) for gradient in gradients]
        return torch.linalg.vector_norm(torch.stack(norms), dim=0)
    squares = sum(gradient.flatten(1).square().sum(1) if gradient.ndim > 1 else gradient.square() for gradient in gradients)
    return torch.as_tensor(squares).sqrt()


def optimiser(probes: EdgeProbes, learning_rate: float = 1e-4, mixing_rate_factor: float = 1.0) -> torch.optim.Optimizer:
    """Adam in its AMSGrad form (published code).

    Args:
        probes: the probes to train.
        learning_rate: of all parameters.
        mixing_rate_factor: factor of that rate for mixing weights and their scale: with the published 1, ten thousand steps
            move a weight's logit by about one, whatever the data.
    """
    mixing = {id(probes.mix), id(probes.scale)}
    probe_parameters = [parameter for parameter in probes.parameters() if id(parameter) not in mixing]
    groups: list[dict[str, Any]] = [
        {"params": probe_parameters},
        {"params": [probes.mix, probes.scale], "lr": learning_rate * mixing_rate_factor},
    ]
    return torch.optim.Adam(groups, lr=learning_rate, amsgrad=True, fused=True)


def _salted(keys: Sequence[ProbeKey], side: int) -> list[ProbeKey]:
    """Keys whose random weights differ from those of the other side."""
    return [replace(key, seed=key.seed * 2 + side) for key in keys]


def _uniform(keys: Sequence[ProbeKey], shape: tuple[int, ...], inputs: int, salt: int) -> torch.Tensor:
    """[probe, *shape] initial weights of a linear layer of torch, by the seed of each probe and the number of the parameter."""
    bound = 1 / math.sqrt(inputs)
    drawn: dict[int, torch.Tensor] = {}
    for key in keys:
        if key.seed not in drawn:
            generator = torch.Generator().manual_seed(1000 * key.seed + salt)
            drawn[key.seed] = torch.empty(shape).uniform_(-bound, bound, generator=generator)
    return torch.stack([drawn[key.seed] for key in keys])
