"""The probes of section 5, all alignments and seeds of one at a time: every parameter has a leading axis of them, the slots.

Each gives scores [slot, b, N, N + 1]: for every word the candidates ROOT, w_1 .. w_N; their softmax is p(head | word).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, cast

import torch
from torch import nn

from attention_atlas.studies.clark2019.probes.features import DISTANCES, Batch, distance_features

HIDDEN = 256


class InitialValues:
    """Initial parameters as TensorFlow 1 draws them by default, where the published code names none: uniform by Glorot's bound.

    The bound is sqrt(6 / (inputs + outputs)), where a vector of n weights counts n inputs and n outputs, and a scalar one of
    each. Every slot draws from its own generator, in the order of the calls, so that its values depend only on its seed.
    """

    def __init__(self, slots: Sequence[tuple[str, int]]) -> None:
        self._generators = [torch.Generator().manual_seed(seed) for _, seed in slots]

    def matrix(self, rows: int, columns: int) -> torch.Tensor:
        """[slot, rows, columns]"""
        return self._uniform((rows, columns), rows + columns)

    def vector(self, size: int) -> torch.Tensor:
        """[slot, size]"""
        return self._uniform((size,), 2 * size)

    def scalars(self, count: int) -> torch.Tensor:
        """[slot, count] scalars, each a separate variable."""
        return self._uniform((count,), 2)

    def _uniform(self, shape: tuple[int, ...], fans: int) -> torch.Tensor:
        drawn = torch.stack([torch.rand(shape, generator=generator) for generator in self._generators])
        return (2 * drawn - 1) * math.sqrt(6 / fans)


class Probe(nn.Module):
    """Base of the probes.

    Attributes:
        alignments: of ROOT and the word vectors, "-" where a probe sees no vectors.
        slots: alignment and seed of each entry of the leading axis; all seeds of the first alignment come first.
    """

    def __init__(self, alignments: Sequence[str], seeds: Sequence[int]) -> None:
        super().__init__()
        self.alignments = tuple(alignments)
        self.slots = tuple(product(alignments, seeds))

    def targets(self, batch: Batch) -> torch.Tensor:
        """[b, N] heads that it is trained on."""
        return batch.heads

    def loss(self, batch: Batch) -> torch.Tensor:
        """[slot] cross-entropy in nats summed over all words of the batch, punctuation included."""
        scores = self(batch)
        targets = self.targets(batch)[batch.mask].expand(scores.shape[0], -1)
        return nn.functional.cross_entropy(scores[:, batch.mask].transpose(1, 2), targets, reduction="none").sum(-1)


class AttentionProbe(Probe):
    """Attention alone: sum_k w_k a_ij + u_k a_ji; ROOT by attention to and from [CLS] and [SEP] with two learned scalars."""

    def __init__(self, seeds: Sequence[int], maps: int) -> None:
        super().__init__(["-"], seeds)
        initial = InitialValues(self.slots)
        self.weights = nn.Parameter(initial.vector(2 * maps))
        self.root = nn.Parameter(initial.scalars(2))

    def forward(self, batch: Batch) -> torch.Tensor:
        weights = self.weights.expand(*batch.mask.shape, -1, -1)
        scores = _over_pairs(weights, batch.pairs).permute(2, 0, 1, 3)
        return _masked(_with_root(self.root, scores[..., :2], scores[..., 2:]), batch)


class AttentionWordsProbe(Probe):
    """Attention weighted by words: the weights of every pair's maps are linear in the vectors of word and candidate.

    The published code has a bias beside them, the paper's formula has none (`bias`). The weights are a sum of a term of the
    word and a term of the candidate, so that scores are two matrix products, without a tensor over pairs and weights. The terms
    of a word are computed once for all its occurrences in the batch.
    """

    def __init__(self, alignments: Sequence[str], seeds: Sequence[int], maps: int, dimensions: int, bias: bool = True) -> None:
        super().__init__(alignments, seeds)
        initial = InitialValues(self.slots)
        full = initial.matrix(2 * dimensions, 2 * maps)
        self.of_word = nn.Parameter(full[:, :dimensions].clone())
        self.of_candidate = nn.Parameter(full[:, dimensions:].clone())
        self.bias = nn.Parameter(torch.zeros(len(self.slots), 2 * maps), requires_grad=bias)
        self.root = nn.Parameter(initial.scalars(2))

    def forward(self, batch: Batch) -> torch.Tensor:
        slots, maps = len(self.slots), self.bias.shape[-1]
        # The row of a candidate holds a_ji in the first half of the maps and a_ij in the second.
        parts = torch.cat([self.of_word, self.of_candidate.roll(maps // 2, dims=-1)])
        bias = torch.cat([self.bias, torch.zeros_like(self.bias)])
        word_terms = torch.addmm(bias.flatten(), batch.words, parts.transpose(0, 1).flatten(1)).view(-1, maps)
        candidates = torch.stack([batch.candidates(alignment) for alignment, _ in self.slots], dim=-1)
        rows_of_words = torch.cat([batch.word[..., None].expand(-1, -1, slots), candidates[:, 1:]], dim=-1)
        of_slot = torch.arange(2 * slots, device=rows_of_words.device)
        weights = nn.functional.embedding(rows_of_words * (2 * slots) + of_slot, word_terms)
        # One product for words and candidates of all slots, since reading the maps dominates the run time.
        products = _over_pairs(weights, batch.pairs)
        rows, columns = products[:, :, :slots].permute(2, 0, 1, 3), products[:, :, slots:].permute(2, 0, 3, 1)
        of_root = nn.functional.embedding(candidates[:, 0] * (2 * slots) + of_slot[slots:], word_terms).roll(maps // 2, dims=-1)
        to_root = rows[..., :2] + torch.einsum("bsk,bikc->sbic", of_root, batch.special)
        return _masked(_with_root(self.root, to_root, rows[..., 2:] + columns[:, :, 2:]), batch)


class ShuffledHeadsProbe(AttentionWordsProbe):
    """A control: the same probe, trained on shuffled heads (`features.HeadDistances`)."""

    def targets(self, batch: Batch) -> torch.Tensor:
        return batch.shuffled_heads


class DistanceProbe(Probe):
    """No attention: a hidden layer over distances and both words' vectors (and, as in the published code, one zero)."""

    def __init__(self, alignments: Sequence[str], seeds: Sequence[int], dimensions: int) -> None:
        super().__init__(alignments, seeds)
        # One more input than is used: the published code feeds a zero, which only widens the initial bound.
        initial = InitialValues(self.slots)
        full = initial.matrix(1 + DISTANCES + 2 * dimensions, HIDDEN)[:, 1:]
        self.of_distance = nn.Parameter(full[:, :DISTANCES].clone())
        self.of_word = nn.Parameter(full[:, DISTANCES : DISTANCES + dimensions].clone())
        self.of_candidate = nn.Parameter(full[:, DISTANCES + dimensions :].clone())
        self.bias = nn.Parameter(torch.zeros(len(self.slots), HIDDEN))
        self.out = nn.Parameter(initial.matrix(HIDDEN, 1)[..., 0])

    def forward(self, batch: Batch) -> torch.Tensor:
        lengths = batch.mask.sum(-1)
        features = torch.zeros(*batch.mask.shape, batch.mask.shape[1] + 1, DISTANCES, device=batch.mask.device)
        for row, n in enumerate(lengths.tolist()):
            features[row, :n, : n + 1] = distance_features(n)
        scores = []
        # One slot at a time: the hidden layer of all pairs is the largest tensor of all probes.
        for s, (alignment, _) in enumerate(self.slots):
            word = (batch.words @ self.of_word[s] + self.bias[s])[batch.word]
            candidate = (batch.words @ self.of_candidate[s])[batch.candidates(alignment)]
            hidden = torch.tanh(features @ self.of_distance[s] + word[:, :, None] + candidate[:, None])
            scores.append(hidden @ self.out[s])
        return _masked(torch.stack(scores), batch)


class _OverPairs(torch.autograd.Function):
    """`_over_pairs`; maps get no gradient."""

    @staticmethod
    def forward(context: Any, weights: torch.Tensor, *pairs: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(*pairs)
        context.shape = weights.shape
        size, longest, slots, _ = weights.shape
        scores = weights.new_zeros(size, longest, slots, longest + 2)
        for sentence_scores, sentence_weights, maps in zip(scores, weights, pairs, strict=True):
            n = len(maps)
            sentence_scores[:n, :, : n + 2] = torch.bmm(sentence_weights[:n], maps)
        return scores

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        pairs = context.saved_tensors
        weight_gradients = gradients[0].new_zeros(context.shape)
        for weight_gradient, score_gradient, maps in zip(weight_gradients, gradients[0], pairs, strict=True):
            n = len(maps)
            torch.bmm(score_gradient[:n, :, : n + 2], maps.transpose(1, 2), out=weight_gradient[:n])
        return weight_gradients, *[None] * len(pairs)


def _over_pairs(weights: torch.Tensor, pairs: Sequence[torch.Tensor]) -> torch.Tensor:
    """Maps summed with weights: [b, N, slot, 2 K] of every word -> [b, N, slot, N + 2] for [CLS], [SEP] and the words."""
    return cast(torch.Tensor, _OverPairs.apply(weights, *pairs))


def _with_root(scalars: torch.Tensor, special: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Scores of ROOT, s times that of [CLS] and e times that of [SEP], before those of the words.

    Args:
        scalars: [slot, 2] s and e.
        special: [slot, b, N, 2]
        words: [slot, b, N, N]
    """
    return torch.cat([(special * scalars[:, None, None]).sum(-1, keepdim=True), words], dim=-1)


def _masked(scores: torch.Tensor, batch: Batch) -> torch.Tensor:
    return scores.masked_fill(~batch.candidate_mask[:, None], -1e9)
