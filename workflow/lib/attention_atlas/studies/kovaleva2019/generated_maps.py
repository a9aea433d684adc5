"""Attention maps of each class made from their definition, at any length and with stripes at any column, with noise.

They share no code with the augmentation of labelled maps. Each row is a mixture of the attention that defines the class and of
noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LENGTHS = (16, 24, 48, 96, 160, 256)


@dataclass(frozen=True)
class Drawn:
    """A map [n, n] with the positions of special tokens [n] and the segments [n]."""

    weights: npt.NDArray[np.float32]
    special: npt.NDArray[np.bool_]
    segment: npt.NDArray[np.int64]


def draw(kind: str, n: int, generator: np.random.Generator) -> Drawn:
    """A map of a class.

    Args:
        kind: vertical, diagonal, vertical_diagonal, block or heterogeneous.
        n: tokens; three of them, at random positions, are special tokens.
        generator: draws places, shares and noise.
    """
    border = int(generator.integers(n // 3, 2 * n // 3))
    places = [int(generator.integers(0, border)), border, int(generator.integers(border + 1, n))]
    special = np.zeros(n, dtype=bool)
    special[places] = True
    segment = (np.arange(n) > border).astype(np.int64)
    share = generator.uniform(0.55, 0.9)
    target = np.zeros((n, n))
    if kind in ("vertical", "vertical_diagonal"):
        column = places[generator.integers(3)]
        target[:, column] += 1.0
    if kind in ("diagonal", "vertical_diagonal"):
        offset = int(generator.integers(-1, 2))
        target[np.arange(n), np.clip(np.arange(n) + offset, 0, n - 1)] += 1.0
    if kind == "block":
        same = segment[:, None] == segment[None, :]
        target += same / same.sum(axis=1, keepdims=True)
    if kind == "heterogeneous":
        # A few words, others for each row.
        count = max(2, n // 8)
        for row in range(n):
            target[row, generator.choice(np.flatnonzero(~special), count, replace=False)] += 1.0
    target /= target.sum(axis=1, keepdims=True)
    noise = generator.gamma(0.7, size=(n, n))
    noise /= noise.sum(axis=1, keepdims=True)
    rows = np.clip(generator.normal(share, 0.08, size=(n, 1)), 0.3, 0.97)
    weights = rows * target + (1 - rows) * noise
    return Drawn((weights / weights.sum(axis=1, keepdims=True)).astype(np.float32), special, segment)
