"""Memory of a GPU that the training of edge probes leaves for a bank of hidden states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import torch

from attention_atlas.studies.tenney2019.probes import SIZE
from attention_atlas.studies.tenney2019.recipe import Recipe
from attention_atlas.studies.tenney2019.targets import ProbedSentence, TaskTargets
from attention_atlas.studies.tenney2019.training import random_orders

_FLOAT32 = 4
_TRAINING_COPIES, _EVALUATION_COPIES = 8, 3
"""Copies of the largest tensors that exist at once: values, gradients and what autograd keeps; values alone in evaluation."""
_STATE_BYTES = 10
"""Bytes of a hidden state of a batch: as it is gathered (float16), converted (float32) and selected (float32)."""
_WEIGHT_COPIES = 8
"""Weights, gradients, three moments of AMSGrad, the best weights, and those before and after a step."""
_LIBRARIES = 2e9
"""Bytes that the libraries of the GPU take."""


def free_bytes() -> float:
    """Free memory of the GPU in bytes; 0 where torch sees none."""
    return float(torch.cuda.mem_get_info()[0]) if torch.cuda.is_available() else 0.0


def training_bytes(targets: TaskTargets, recipe: Recipe, seeds: Sequence[int], probes: int, rows: int, width: int) -> float:
    """Upper estimate of the memory that training and evaluation take on a GPU, without a bank, in bytes.

    It follows from the batches that will be drawn: the pooling of spans takes memory for each target and word piece of the
    longest span, so that a few long sentences need ten times as much as an average batch.

    Args:
        targets: the task.
        recipe: batch size and largest number of steps.
        seeds: those of the probes, which determine the batches.
        probes: probes that are trained at once.
        rows, width: of the hidden states of a word piece.
    """
    training, evaluated = _Sizes(targets.training), _Sizes(targets.development)
    passes = -(-max(recipe.max_steps, recipe.equal_steps) * recipe.batch // len(targets.training))
    orders = (
        order for seed in seeds for order, _ in zip(random_orders(len(targets.training), seed), range(passes), strict=False)
    )
    by_length = np.argsort(evaluated.lengths, kind="stable")
    sides = 1 + targets.pairs
    weights = probes * (sides * (width + 2) * SIZE + SIZE * (sides * SIZE + len(targets.labels) + 4) + rows)
    return (
        _LIBRARIES
        + _WEIGHT_COPIES * _FLOAT32 * weights
        + max(
            training.batch_bytes(orders, recipe.batch, probes, rows, width, sides, _TRAINING_COPIES),
            evaluated.batch_bytes([by_length], recipe.batch, probes, rows, width, sides, _EVALUATION_COPIES),
        )
    )


class _Sizes:
    """Sizes of sentences: word pieces, targets, and word pieces of the longest span."""

    def __init__(self, sentences: Sequence[ProbedSentence]) -> None:
        self.lengths = np.asarray([len(sentence.example.input_ids) for sentence in sentences])
        self._targets = np.asarray([len(sentence.first) for sentence in sentences])
        self._spans = np.asarray([_longest_span(sentence) for sentence in sentences])

    def batch_bytes(
        self,
        orders: Iterable[npt.NDArray[np.int64]],
        batch: int,
        probes: int,
        rows: int,
        width: int,
        sides: int,
        copies: int,
    ) -> float:
        """Bytes for the largest batch of sentences in some orders."""
        largest = 0.0
        for order in orders:
            starts = np.arange(0, len(order), batch)
            lengths, targets = self.lengths[order], self._targets[order]
            pieces = np.add.reduceat(lengths, starts)
            pooled = np.add.reduceat(targets, starts) * np.maximum.reduceat(self._spans[order], starts)
            padded = np.maximum.reduceat(lengths, starts) * batch
            values = pieces * (width + sides * SIZE) + sides * SIZE * pooled
            sizes = copies * _FLOAT32 * probes * values + _STATE_BYTES * rows * width * padded
            largest = max(largest, float(sizes.max()))
        return largest


def _longest_span(sentence: ProbedSentence) -> int:
    bounds = [side for side in (sentence.first, sentence.second) if side is not None]
    return int(max((side[:, 1] - side[:, 0]).max() for side in bounds))
