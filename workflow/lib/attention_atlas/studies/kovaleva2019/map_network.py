"""Classes of maps by a small convolutional network (Kovaleva et al. 2019, section 4.1: eight convolutions with ReLU)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from attention_atlas.studies.kovaleva2019.names import CHANNELS, CLASSES

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
        special: [n] which tokens are special.
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
        epochs: passes over them.
        seed: of the weights and the order.
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
    probabilities = [network(part).softmax(dim=1).cpu() for part in pictures.split(256)]
    return torch.cat(probabilities).numpy() if probabilities else np.zeros((0, len(CLASSES)), np.float32)
