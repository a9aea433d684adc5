"""Classes of maps by rules: three numbers of a map and thresholds that are tuned on labelled maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import torch

from attention_atlas.studies.kovaleva2019.names import BLOCK, CLASSES, DIAGONAL, HETEROGENEOUS, VERTICAL, VERTICAL_DIAGONAL

Labels = npt.NDArray[np.intp]
_GRID = {
    "vertical": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5),
    "diagonal": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
    "block": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35),
}


@dataclass(frozen=True)
class Thresholds:
    """Smallest values at which a map counts as vertical, diagonal or block."""

    vertical: float
    diagonal: float
    block: float


def map_numbers(maps: torch.Tensor, special: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
    """[..., 3]: how vertical, diagonal and block-like maps are.

    vertical: mass on the columns of special tokens. Of the mass between other tokens: diagonal: the share on the token itself
    and its neighbours, block: the share within the segment, each minus what it would be if every row were uniform.

    Args:
        maps: [..., n, n] rows sum to 1.
        special: [n] which tokens are special.
        segment: [n] segment of each token.
    """
    inner = ~special
    n = len(special)
    vertical = maps[..., special].sum(-1).mean(-1)
    between = maps * (inner[:, None] & inner[None, :])
    total = between.sum((-2, -1)).clamp(min=1e-9)
    place = torch.arange(n, device=maps.device)
    pairs = (inner[:, None] & inner[None, :]).to(maps.dtype)
    near = ((place[:, None] - place[None, :]).abs() <= 1) * pairs
    same = (segment[:, None] == segment[None, :]) * pairs
    count = pairs.sum().clamp(min=1)

    def beyond(cells: torch.Tensor) -> torch.Tensor:
        return (between * cells).sum((-2, -1)) / total - cells.sum() / count

    return torch.stack([vertical, beyond(near), beyond(same)], dim=-1)


def rule_labels(numbers: npt.NDArray[np.floating], thresholds: Thresholds) -> Labels:
    """[map] class of each map, its place in `CLASSES`.

    Args:
        numbers: [map, 3] of `map_numbers`.
        thresholds: the bounds.
    """
    vertical, diagonal, block = (
        numbers[:, k] >= getattr(thresholds, name) for k, name in enumerate(("vertical", "diagonal", "block"))
    )
    conditions = [vertical & diagonal, diagonal, block, vertical]
    names = [VERTICAL_DIAGONAL, DIAGONAL, BLOCK, VERTICAL]
    return np.select(conditions, [CLASSES.index(name) for name in names], CLASSES.index(HETEROGENEOUS)).astype(np.intp)


def tuned_thresholds(numbers: npt.NDArray[np.floating], labels: Sequence[int]) -> Thresholds:
    """The thresholds of a grid with the largest macro-F1 on labelled maps; the first one if several tie."""
    grid = [Thresholds(*values) for values in product(*_GRID.values())]
    truth = np.asarray(labels)
    present = sorted(set(truth.tolist()))
    scores = [_f1_by_class(truth, rule_labels(numbers, thresholds))[present].mean() for thresholds in grid]
    return grid[int(np.argmax(scores))]


def _f1_by_class(truth: Labels, predicted: Labels) -> npt.NDArray[np.float64]:
    """[class] F1, 0 for a class that neither has; scikit-learn's takes 20 times as long, which is seconds for the grid."""
    both, labelled, classified = (
        np.bincount(classes, minlength=len(CLASSES)) for classes in (truth[truth == predicted], truth, predicted)
    )
    return np.asarray(2 * both / np.maximum(labelled + classified, 1))
