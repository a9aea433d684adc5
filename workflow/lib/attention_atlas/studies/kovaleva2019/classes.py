"""Classes of attention maps, by rules and by a small convolutional network, and maps to train both (section 4.1).

`patterns` tunes the thresholds of the rules and trains the network on labelled maps. These are of short texts and of one model:
its stripe is at [CLS], its sharp diagonals are at the previous token, and all of its block maps also have a stripe. The classes
depend on none of these, so labelled maps are augmented: special tokens at other positions, other lengths, patterns of another
strength.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import DamagedFile
from attention_atlas.studies.kovaleva2019.names import CHANNELS, CLASSES

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.intp]
_GRID = (
    (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5),
    (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
    (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35),
)
"""Thresholds that are tried for vertical, diagonal and block maps."""


class Thresholds(NamedTuple):
    """Smallest values at which a map counts as vertical, diagonal or block."""

    vertical: float
    diagonal: float
    block: float


def map_numbers(maps: torch.Tensor, special: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
    """[..., 3]: how vertical, diagonal and block-like maps [..., n, n] are, of special tokens and segments [n].

    vertical: mass on the columns of special tokens. Of the mass between other tokens: diagonal: the share on the token itself
    and its neighbours, block: the share within the segment, each minus what it would be if every row were uniform.
    """
    inner = ~special
    place = torch.arange(len(special), device=maps.device)
    pairs = (inner[:, None] & inner[None, :]).to(maps.dtype)
    near = ((place[:, None] - place[None, :]).abs() <= 1) * pairs
    same = (segment[:, None] == segment[None, :]) * pairs
    between = maps * pairs
    total, count = between.sum((-2, -1)).clamp(min=1e-9), pairs.sum().clamp(min=1)
    beyond = [(between * cells).sum((-2, -1)) / total - cells.sum() / count for cells in (near, same)]
    return torch.stack([maps[..., special].sum(-1).mean(-1), *beyond], dim=-1)


def rule_labels(numbers: npt.NDArray[np.floating], thresholds: Thresholds) -> Labels:
    """[map] class of each map, its place in `CLASSES`, from the numbers [map, 3] of `map_numbers`."""
    vertical, diagonal, block = (numbers >= np.asarray(thresholds, numbers.dtype)).T
    conditions = [vertical & diagonal, diagonal, block, vertical]
    names = ["vertical_diagonal", "diagonal", "block", "vertical"]
    return np.select(conditions, [CLASSES.index(name) for name in names], CLASSES.index("heterogeneous")).astype(np.intp)


def tuned_thresholds(numbers: npt.NDArray[np.floating], labels: Sequence[int]) -> Thresholds:
    """The thresholds of a grid with the largest macro-F1 on labelled maps; the first one if several tie."""
    grid = [Thresholds(*values) for values in product(*_GRID)]
    truth = np.asarray(labels)
    present = sorted(set(truth.tolist()))
    counts = np.ones(len(truth))
    scores = [f1_by_class(truth, rule_labels(numbers, thresholds), counts)[present].mean() for thresholds in grid]
    return grid[int(np.argmax(scores))]


def f1_by_class(truth: Labels, predicted: Labels, counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """[class] F1 of maps that count so often; 0 for a class that neither has. scikit-learn's takes 20 times as long."""
    right = truth == predicted
    both = np.bincount(truth[right], counts[right], len(CLASSES))
    sizes = np.bincount(truth, counts, len(CLASSES)) + np.bincount(predicted, counts, len(CLASSES))
    return np.asarray(2 * both / np.maximum(sizes, 1))


SIZE = 16
"""Rows and columns of the pictures that the network sees."""
_BATCH, _RATE, _DECAY = 32, 5e-3, 1e-2
VIEWS = 4
"""Number of views of a map that the network sees, see `as_pictures`."""


class MapNetwork(nn.Module):
    """Eight 3 x 3 convolutions, of which the paper states only the number and ReLU, the mean over places, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for place, (inputs, outputs) in enumerate(zip((VIEWS, *CHANNELS[:-1]), CHANNELS, strict=True)):
            convolution = nn.Conv2d(inputs, outputs, 3, stride=1 + place % 2, padding=1)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]
        self.convolutions = nn.Sequential(*layers)
        self.output = nn.Linear(CHANNELS[-1], len(CLASSES))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Scores [map, class] of pictures [map, view, size, size]."""
        return self.output(self.convolutions(pictures).mean((-2, -1)))


def as_pictures(maps: torch.Tensor, special: torch.Tensor, size: int = SIZE) -> torch.Tensor:
    """[map, view, size, size] square roots of maps [map, n, n] without padding, resized, and the places of special tokens [n].

    The views: the mean attention of a query of each area to all keys of the area, so that a pattern is as dark in a long map as
    in a short one; the largest weight of the area, which separates a stripe from many pale columns; columns and rows of special
    tokens, which were marked for the annotator as well.
    """
    weights = maps.float()[:, None]
    # Keys of an area, on average.
    keys = weights.shape[-1] / size
    means, largest = nn.functional.adaptive_avg_pool2d(weights, size), nn.functional.adaptive_max_pool2d(weights, size)
    resized = torch.cat([means * keys, largest], 1).sqrt()
    marked = nn.functional.adaptive_max_pool1d(special.to(resized)[None], size)
    columns = marked.expand(size, size)
    marks = torch.stack([columns, columns.T]).expand(len(maps), 2, size, size)
    return torch.cat([resized, marks], 1)


def train_network(pictures: Sequence[torch.Tensor], labels: Sequence[int], epochs: int, seed: int) -> MapNetwork:
    """Train on sets of pictures of the same maps, each [map, view, size, size], one set an epoch; classes weigh equally."""
    torch.manual_seed(seed)
    network = MapNetwork().to(pictures[0].device)
    targets = torch.tensor(labels, device=pictures[0].device)
    counts = torch.bincount(targets, minlength=len(CLASSES)).float()
    weights = torch.where(counts > 0, counts.sum() / counts.clamp(min=1), 0.0)
    loss = nn.CrossEntropyLoss(weights / weights.max())
    optimiser = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=_DECAY, fused=True)
    steps = epochs * -(-len(targets) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=steps)
    network.train()
    for epoch in range(epochs):
        shown = pictures[epoch % len(pictures)]
        # BatchNorm needs at least two maps: all batches have nearly the same size.
        for indices in torch.randperm(len(targets)).tensor_split(-(-len(targets) // _BATCH)):
            batch = indices.to(shown.device)
            optimiser.zero_grad()
            # Views last in memory: small convolutions are a fifth faster on a CPU.
            loss(network(shown[batch].contiguous(memory_format=torch.channels_last)), targets[batch]).backward()
            optimiser.step()
            schedule.step()
    return network.eval()


@torch.inference_mode()
def classify(network: MapNetwork, pictures: torch.Tensor) -> npt.NDArray[np.float32]:
    """[map, class] probabilities."""
    return torch.cat([network(batch).softmax(dim=1).cpu() for batch in pictures.split(256)]).numpy()


def load_network(path: str) -> MapNetwork:
    """The trained network."""
    network = MapNetwork()
    try:
        network.load_state_dict(load_file(path))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise DamagedFile(path, f"not the network of maps ({type(error).__name__})") from error
    return network.eval()


def thresholds_of(table: pd.DataFrame) -> Thresholds:
    """The thresholds of a table of one row."""
    return Thresholds(*table[list(Thresholds._fields)].to_numpy(float)[0].tolist())


def special_tokens(example: Example) -> torch.Tensor:
    """[n] which tokens of an example are special."""
    return torch.tensor([word == SPECIAL for word in example.word])


SHORTEST, LONGEST = 12, 256
"""Range of the number of tokens of an augmented map."""

OFFSETS = (-1, 0, 1)
"""Offsets from the query of the keys that form a diagonal."""
_STRONGEST_BAND = 2
"""Largest ratio of band to stripes in a vertical and diagonal map."""


class MapParts(NamedTuple):
    """The parts that sum to a map: attention to the tokens at `OFFSETS` above the average to others (band [n, 3], 0 from and to
    special tokens), to special tokens (stripes [n, n]), and all other attention (rest [n, n]).
    """

    band: Floats
    stripes: Floats
    rest: Floats


def augmented(weights: Floats, special: Bools, kind: str, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """A map [m, m] of the same class, from a labelled map [n, n], and which of its tokens are special: special tokens move, the
    pattern gets another strength, and the length is drawn from `SHORTEST` to `LONGEST` on a logarithmic scale.
    """
    length = round(float(np.exp(generator.uniform(np.log(SHORTEST), np.log(LONGEST)))))
    weights, special = special_moved(weights, special, generator)
    if generator.integers(2):
        weights, special = weights[::-1, ::-1], special[::-1]
    parts = varied(parts_of(weights, special), kind, generator)
    return resized(parts, special, max(length, 2 * int(special.sum())), generator)


def special_moved(weights: Floats, special: Bools, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """The same tokens with the special tokens at random places; the order of the others stays."""
    n = len(special)
    places = np.sort(generator.choice(n, int(special.sum()), replace=False))
    there = np.zeros(n, dtype=bool)
    there[places] = True
    order = np.empty(n, dtype=np.intp)
    order[there] = generator.permutation(np.flatnonzero(special))
    order[~there] = np.flatnonzero(~special)
    return weights[np.ix_(order, order)], there


def parts_of(weights: Floats, special: Bools) -> MapParts:
    """The band, the stripes and the rest of a map."""
    n = len(special)
    place = np.arange(n)
    inner = ~special[:, None] & ~special[None, :]
    far = inner & (np.abs(place[:, None] - place[None, :]) > 1)
    background = (weights * far).sum(axis=1) / np.maximum(far.sum(axis=1), 1)
    band = np.zeros((n, len(OFFSETS)), np.float32)
    rest = np.where(special, np.float32(0), weights)
    for k, offset in enumerate(OFFSETS):
        rows, columns = _neighbours(n, offset)
        near = np.where(inner[rows, columns], np.maximum(weights[rows, columns] - background[rows], 0), 0)
        band[rows, k] = near
        rest[rows, columns] -= near
    return MapParts(band, np.where(special, weights, np.float32(0)), rest)


def varied(parts: MapParts, kind: str, generator: np.random.Generator) -> MapParts:
    """The parts of a map of the same class: its defining pattern only gets stronger, so that the label still holds; a block or
    heterogeneous map can lose its stripes. Bands become narrower, since sharp ones are rare among the labelled maps, and their
    offsets are permuted.
    """
    band, stripes, rest = parts.band, parts.stripes, parts.rest
    factor = np.float32(generator.uniform())
    if kind in ("block", "heterogeneous"):
        stripes = stripes * factor
    elif kind == "vertical":
        band, rest = band * factor, rest * factor
    elif kind == "diagonal":
        stripes, rest = stripes * factor**2, rest * factor
    elif kind == "vertical_diagonal":
        rest = rest * factor
        ratio = stripes.sum() / max(float(band.sum()), 1e-6)
        band = band * np.float32(1 + generator.uniform() * max(_STRONGEST_BAND * float(ratio) - 1, 0))
    if kind in ("diagonal", "vertical_diagonal"):
        narrow = np.float32(np.sqrt(generator.uniform()))
        strongest = np.eye(len(OFFSETS), dtype=np.float32)[band.sum(axis=0).argmax()]
        band = (1 - narrow) * band + narrow * band.sum(axis=1, keepdims=True) * strongest
    return MapParts(band[:, generator.permutation(len(OFFSETS))], stripes, rest)


def resized(parts: MapParts, special: Bools, length: int, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """The map at another length: tokens are left out at random, or stand for several neighbours, which share the rest of the
    attention to it. Special tokens stay single, and a band keeps its width.
    """
    inner = np.flatnonzero(~special)
    count = max(1, length - int(special.sum()))
    if count <= len(inner):
        chosen = np.sort(generator.choice(inner, count, replace=False))
    else:
        chosen = inner[np.arange(count) * len(inner) // count]
    source = np.sort(np.concatenate([np.flatnonzero(special), chosen]))
    there = special[source]
    copies = np.bincount(source, minlength=len(special)).astype(np.float32)
    weights = (parts.rest / copies.clip(1) + parts.stripes)[np.ix_(source, source)]
    for k, offset in enumerate(OFFSETS):
        rows, columns = _neighbours(len(source), offset)
        kept = ~there[rows] & ~there[columns]
        weights[rows[kept], columns[kept]] += parts.band[source[rows[kept]], k]
    total = weights.sum(axis=1, keepdims=True)
    return (weights / np.where(total > 0, total, 1)).astype(np.float32), there


def _neighbours(n: int, offset: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of the cells of a diagonal."""
    rows = np.arange(max(0, -offset), n - max(0, offset))
    return rows, rows + offset
