"""Classes of attention maps, by rules and by a small convolutional network, and maps to train and test both.

The rules compare three numbers of a map with thresholds. The network has eight convolutions with ReLU (Kovaleva et al. 2019,
section 4.1). `patterns` tunes and trains both on labelled maps.

Labelled maps are augmented: special tokens at other positions, other lengths, patterns of another strength. They are of short
texts and of one model. Its stripe is at [CLS], its sharp diagonals are at the previous token, and all of its block maps also
have a stripe. The classes depend on none of these: BERT's stripe is at [SEP], its texts are longer, and a band at the same or
the next token is a diagonal, too. Generated maps, which test the classifiers, share no code with the augmentation: each row is
a mixture of the attention that defines the class and of noise.
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
from attention_atlas.studies.kovaleva2019.names import (
    BLOCK,
    CHANNELS,
    CLASSES,
    DIAGONAL,
    HETEROGENEOUS,
    VERTICAL,
    VERTICAL_DIAGONAL,
)

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
    """[..., 3]: how vertical, diagonal and block-like maps are.

    vertical: mass on the columns of special tokens. Of the mass between other tokens: diagonal: the share on the token itself
    and its neighbours, block: the share within the segment, each minus what it would be if every row were uniform.

    Args:
        maps: [..., n, n] rows sum to 1.
        special, segment: [n].
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
    """[map] class of each map, its place in `CLASSES`, from the numbers [map, 3] of `map_numbers`."""
    vertical, diagonal, block = (numbers >= np.asarray(thresholds, numbers.dtype)).T
    conditions = [vertical & diagonal, diagonal, block, vertical]
    names = [VERTICAL_DIAGONAL, DIAGONAL, BLOCK, VERTICAL]
    return np.select(conditions, [CLASSES.index(name) for name in names], CLASSES.index(HETEROGENEOUS)).astype(np.intp)


def tuned_thresholds(numbers: npt.NDArray[np.floating], labels: Sequence[int]) -> Thresholds:
    """The thresholds of a grid with the largest macro-F1 on labelled maps; the first one if several tie."""
    grid = [Thresholds(*values) for values in product(*_GRID)]
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


_BATCH, _RATE, _DECAY = 32, 5e-3, 1e-2
VIEWS = 4
"""Number of views of a map that the network sees, see `as_pictures`."""


class MapNetwork(nn.Module):
    """Eight 3 x 3 convolutions with ReLU, every second with stride 2, the mean over places, and a linear layer.

    The paper states only the number of convolutions and ReLU; everything else is our choice.
    """

    def __init__(self) -> None:
        super().__init__()
        input_channels = (VIEWS, *CHANNELS[:-1])
        layers: list[nn.Module] = []
        for place, (in_channels, out_channels) in enumerate(zip(input_channels, CHANNELS, strict=True)):
            convolution = nn.Conv2d(in_channels, out_channels, 3, stride=1 + place % 2, padding=1)
            layers += [convolution, nn.BatchNorm2d(out_channels), nn.ReLU()]
        self.convolutions = nn.Sequential(*layers)
        self.output = nn.Linear(CHANNELS[-1], len(CLASSES))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Scores [map, class] of pictures [map, view, size, size]."""
        return self.output(self.convolutions(pictures).mean((-2, -1)))


def as_pictures(maps: torch.Tensor, special: torch.Tensor, size: int, scale: str) -> torch.Tensor:
    """[map, view, size, size] maps [map, n, n] resized, weights on a scale of 0 to 1, with the places of special tokens.

    The views: the mean attention of a query of each area to all keys of the area, so that a pattern is as dark in a long map as
    in a short one; the largest weight of the area, which separates a stripe from many pale columns; columns and rows of special
    tokens, which were marked for the annotator as well.

    Args:
        maps: without padding.
        special: [n].
        size: rows and columns of the pictures.
        scale: sqrt, log (from a weight of 0.001 on) or none.
    """
    weights = maps.float()[:, None]
    # Keys of an area, on average.
    keys = weights.shape[-1] / size
    means, largest = nn.functional.adaptive_avg_pool2d(weights, size), nn.functional.adaptive_max_pool2d(weights, size)
    resized = torch.cat([means * keys, largest], 1)
    if scale == "sqrt":
        resized = resized.sqrt()
    elif scale == "log":
        resized = 1 + resized.clamp(min=1e-3).log10() / 3
    marked = nn.functional.adaptive_max_pool1d(special.to(resized)[None], size)
    columns = marked.expand(size, size)
    marks = torch.stack([columns, columns.T]).expand(len(maps), 2, size, size)
    return torch.cat([resized, marks], 1)


def train_network(pictures: Sequence[torch.Tensor], labels: Sequence[int], epochs: int, seed: int) -> MapNetwork:
    """Train on labelled pictures; classes have equal weight, however many maps they have.

    Args:
        pictures: sets of pictures of the same maps, each [map, view, size, size]; every epoch takes the next one.
        labels: [map] places in `CLASSES`.
        epochs, seed: passes over them; of the weights and the order.
    """
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
    """The trained network.

    Raises:
        AtlasError: the file is missing or damaged.
    """
    network = MapNetwork()
    try:
        network.load_state_dict(load_file(path))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise DamagedFile(path, f"not the network of maps ({type(error).__name__})") from error
    return network.eval()


class Classifiers(NamedTuple):
    """The network with the size and scale of its pictures, and the thresholds of the rules."""

    network: MapNetwork
    thresholds: Thresholds
    size: int
    scale: str


def classifiers_of(network: MapNetwork, thresholds: pd.DataFrame) -> Classifiers:
    """The classifiers from the network and a table of one row: vertical, diagonal, block, size, scale."""
    (row,) = thresholds.itertuples()
    return Classifiers(network, Thresholds(row.vertical, row.diagonal, row.block), int(row.size), str(row.scale))


def special_tokens(example: Example) -> torch.Tensor:
    """[n] which tokens of an example are special."""
    return torch.tensor([word == SPECIAL for word in example.word])


SHORTEST, LONGEST = 12, 256
"""Range of the number of tokens of an augmented map."""
LENGTHS = (16, 24, 48, 96, 160, 256)
"""Numbers of tokens of the generated maps."""
OFFSETS = (-1, 0, 1)
"""Offsets from the query of the keys that form a diagonal."""
_STRONGEST_BAND = 2
"""Largest ratio of band to stripes in a vertical and diagonal map."""


class MapParts(NamedTuple):
    """The parts that sum to a map.

    band: [n, 3] attention to the tokens at `OFFSETS` above what a token attends to others on average; 0 from and to special
    tokens. stripes: [n, n] attention to special tokens. rest: [n, n] all other attention.
    """

    band: Floats
    stripes: Floats
    rest: Floats


def augmented(weights: Floats, special: Bools, kind: str, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """A map [m, m] of the same class, from a labelled map [n, n], and which of its tokens are special.

    Lengths are drawn from `SHORTEST` to `LONGEST` on a logarithmic scale. Special tokens move to other positions; the pattern
    gets another strength.
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
    """The parts of a map of the same class with another strength.

    The defining pattern of a class only gets stronger, so that the label still holds; a block or heterogeneous map can lose its
    stripes, which neither needs. A band is made narrower, since sharp ones are rare among the labelled maps, and its offsets
    are permuted.
    """
    band, stripes, rest = parts.band, parts.stripes, parts.rest
    factor = np.float32(generator.uniform())
    if kind in (BLOCK, HETEROGENEOUS):
        stripes = stripes * factor
    elif kind == VERTICAL:
        band, rest = band * factor, rest * factor
    elif kind == DIAGONAL:
        stripes, rest = stripes * factor**2, rest * factor
    elif kind == VERTICAL_DIAGONAL:
        rest = rest * factor
        ratio = stripes.sum() / max(float(band.sum()), 1e-6)
        band = band * np.float32(1 + generator.uniform() * max(_STRONGEST_BAND * float(ratio) - 1, 0))
    if kind in (DIAGONAL, VERTICAL_DIAGONAL):
        narrow = np.float32(np.sqrt(generator.uniform()))
        strongest = np.eye(len(OFFSETS), dtype=np.float32)[band.sum(axis=0).argmax()]
        band = (1 - narrow) * band + narrow * band.sum(axis=1, keepdims=True) * strongest
    return MapParts(band[:, generator.permutation(len(OFFSETS))], stripes, rest)


def resized(parts: MapParts, special: Bools, length: int, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """The map at another length: tokens are left out at random, or stand for several neighbours.

    Special tokens stay single, and a band keeps its width. The rest of the attention to a token is shared among the tokens
    that stand for the same one.
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


class GeneratedMap(NamedTuple):
    """A map [n, n], which of its tokens are special [n], and the segment of each [n]."""

    weights: Floats
    special: Bools
    segment: npt.NDArray[np.int64]

    def picture(self, size: int, scale: str) -> torch.Tensor:
        """[1, view, size, size], see `as_pictures`."""
        return as_pictures(torch.from_numpy(self.weights)[None], torch.from_numpy(self.special), size, scale)

    def numbers(self) -> npt.NDArray[np.float32]:
        """[3], see `map_numbers`."""
        return map_numbers(*(torch.from_numpy(values) for values in self)).numpy()


def draw(kind: str, n: int, generator: np.random.Generator) -> GeneratedMap:
    """A map of a class with n tokens, of which three at random positions are special."""
    border = int(generator.integers(n // 3, 2 * n // 3))
    places = [int(generator.integers(0, border)), border, int(generator.integers(border + 1, n))]
    special = np.zeros(n, dtype=bool)
    special[places] = True
    segment = (np.arange(n) > border).astype(np.int64)
    share = generator.uniform(0.55, 0.9)
    target = np.zeros((n, n))
    if kind in (VERTICAL, VERTICAL_DIAGONAL):
        column = places[generator.integers(3)]
        target[:, column] += 1.0
    if kind in (DIAGONAL, VERTICAL_DIAGONAL):
        offset = int(generator.integers(-1, 2))
        target[np.arange(n), np.clip(np.arange(n) + offset, 0, n - 1)] += 1.0
    if kind == BLOCK:
        same = segment[:, None] == segment[None, :]
        target += same / same.sum(axis=1, keepdims=True)
    if kind == HETEROGENEOUS:
        # A few words, others for each row.
        count = max(2, n // 8)
        for row in range(n):
            target[row, generator.choice(np.flatnonzero(~special), count, replace=False)] += 1.0
    target /= target.sum(axis=1, keepdims=True)
    noise = generator.gamma(0.7, size=(n, n))
    noise /= noise.sum(axis=1, keepdims=True)
    rows = np.clip(generator.normal(share, 0.08, size=(n, 1)), 0.3, 0.97)
    weights = rows * target + (1 - rows) * noise
    return GeneratedMap((weights / weights.sum(axis=1, keepdims=True)).astype(np.float32), special, segment)
