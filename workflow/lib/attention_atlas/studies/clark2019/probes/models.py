"""The probes of section 5, several seeds of one at a time: every parameter has a leading axis of seeds.

Each gives scores [seed, b, N, N + 1]: for every word the candidates ROOT, w_1 .. w_N; their softmax is p(head | word).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn

from attention_atlas.studies.clark2019.probes.features import DISTANCES, Batch, distance_features

HIDDEN = 256


def glorot(seeds: Sequence[int], rows: int, columns: int) -> nn.Parameter:
    """[seed, rows, columns] uniform with Glorot's bound, as TensorFlow's default; the draw depends on the seed alone."""
    bound = math.sqrt(6 / (rows + columns))
    drawn = [torch.rand((rows, columns), generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    return nn.Parameter((2 * torch.stack(drawn) - 1) * bound)


class Probe(nn.Module):
    """Base of the probes: what they have in common is the loss."""

    def loss(self, batch: Batch) -> torch.Tensor:
        """[seed] cross-entropy in nats summed over all words of the batch, punctuation included."""
        scores = self(batch)
        wanted = batch.mask
        targets = batch.heads[wanted].expand(scores.shape[0], -1)
        return nn.functional.cross_entropy(scores[:, wanted].transpose(1, 2), targets, reduction="none").sum(-1)


class AttentionProbe(Probe):
    """Attention alone: sum_k w_k a_ij + u_k a_ji; ROOT by attention to and from [CLS] and [SEP] with two learned scalars."""

    def __init__(self, seeds: Sequence[int], maps: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(glorot(seeds, 2 * maps, 1)[..., 0].detach())
        self.root = nn.Parameter(torch.ones(len(seeds), 2) * 0.5)

    def forward(self, batch: Batch) -> torch.Tensor:
        inner = torch.einsum("sk,bikj->sbij", self.weights, batch.pairs)
        root = _root(self.root, batch)
        first = torch.einsum("sk,sbik->sbi", self.weights, root)
        return _masked(torch.cat([first[..., None], inner], dim=-1), batch)


class AttentionWordsProbe(Probe):
    """Attention weighted by words: the weights of every pair's maps are linear in the vectors of word and candidate, with a
    bias.

    The published code has the bias, the paper's formula has not. Since the weights are a sum of what the word and what the
    candidate give, scores are two matrix products, and no tensor over pairs and weights is built.
    """

    def __init__(self, seeds: Sequence[int], maps: int, dimensions: int, alignment: str) -> None:
        super().__init__()
        self.alignment = alignment
        full = glorot(seeds, 2 * dimensions, 2 * maps).detach()
        self.of_word = nn.Parameter(full[:, :dimensions].clone())
        self.of_candidate = nn.Parameter(full[:, dimensions:].clone())
        self.bias = nn.Parameter(torch.zeros(len(seeds), 2 * maps))
        self.root = nn.Parameter(torch.ones(len(seeds), 2) * 0.5)

    def forward(self, batch: Batch) -> torch.Tensor:
        maps = self.bias.shape[-1] // 2
        rows = torch.einsum("bid,sdk->bisk", batch.vectors, self.of_word) + self.bias
        candidates = batch.candidates(self.alignment)
        # pairs[b, i, k, j] seen from the candidate: its own row j holds a_ji in the first half and a_ij in the second.
        swapped = torch.cat([self.of_candidate[..., maps:], self.of_candidate[..., :maps]], dim=-1)
        columns = torch.einsum("bjd,sdk->bjsk", candidates[:, 1:], swapped)
        # One product for both, since reading the maps is what takes the time.
        seeds = len(self.bias)
        both = torch.matmul(torch.cat([rows, columns], dim=2), batch.pairs)
        inner = both[:, :, :seeds].permute(2, 0, 1, 3) + both[:, :, seeds:].permute(2, 0, 3, 1)
        weights = rows + torch.einsum("bd,sdk->bsk", candidates[:, 0], self.of_candidate)[:, None]
        # ROOT: s F[i, CLS] + e F[i, SEP], each a product of its own.
        to_cls, to_sep = (torch.matmul(weights, f[..., None])[..., 0].permute(2, 0, 1) for f in (batch.cls, batch.sep))
        first = self.root[:, 0, None, None] * to_cls + self.root[:, 1, None, None] * to_sep
        return _masked(torch.cat([first[..., None], inner], dim=-1), batch)


class DistanceProbe(Probe):
    """No attention: a hidden layer over distances and both words' vectors (and, as in the published code, one zero)."""

    def __init__(self, seeds: Sequence[int], dimensions: int, alignment: str) -> None:
        super().__init__()
        self.alignment = alignment
        # One input more than is used: the published code feeds a zero, which only widens the initial bound.
        full = glorot(seeds, 1 + DISTANCES + 2 * dimensions, HIDDEN).detach()[:, 1:]
        self.of_distance = nn.Parameter(full[:, :DISTANCES].clone())
        self.of_word = nn.Parameter(full[:, DISTANCES : DISTANCES + dimensions].clone())
        self.of_candidate = nn.Parameter(full[:, DISTANCES + dimensions :].clone())
        self.bias = nn.Parameter(torch.zeros(len(seeds), HIDDEN))
        self.out = nn.Parameter(glorot(seeds, HIDDEN, 1)[..., 0].detach())

    def forward(self, batch: Batch) -> torch.Tensor:
        lengths = batch.mask.sum(-1)
        features = torch.zeros(*batch.mask.shape, batch.mask.shape[1] + 1, DISTANCES, device=batch.mask.device)
        for row, n in enumerate(lengths.tolist()):
            features[row, :n, : n + 1] = distance_features(n)
        scores = []
        # A seed at a time: the hidden layer of all pairs is the largest tensor of all probes.
        for s in range(len(self.bias)):
            word = batch.vectors @ self.of_word[s] + self.bias[s]
            candidate = batch.candidates(self.alignment) @ self.of_candidate[s]
            hidden = torch.tanh(features @ self.of_distance[s] + word[:, :, None] + candidate[:, None])
            scores.append(hidden @ self.out[s])
        return _masked(torch.stack(scores), batch)


def _root(scalars: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Features of ROOT: s F[i, CLS] + e F[i, SEP], [seed, b, N, 2 K]."""
    s, e = scalars[:, 0, None, None, None], scalars[:, 1, None, None, None]
    return s * batch.cls + e * batch.sep


def _masked(scores: torch.Tensor, batch: Batch) -> torch.Tensor:
    return scores.masked_fill(~batch.candidate_mask[:, None], -1e9)
