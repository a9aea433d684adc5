"""Work of passes through a model and through edge probes, from shapes: kinds of work that all rules share.

    gflop: 1e9 floating-point operations of matrix products
    gactivations: 1e9 numbers that element-wise operations compute in the layers (tokens x layers x width)
    gweights: 1e9 attention weights that are computed
    kblocks: 1,000 runs of a layer on a batch
    gupdates: 1e9 parameters that an optimiser updates
    gscores: 1e9 vocabulary scores that a search ranks
    gread: 1e9 numbers of stored hidden states that are read on the host
    ggathered: 1e9 numbers of hidden states that batches gather; on a GPU only
    gprobed: 1e9 numbers that element-wise operations of edge probes compute; on a GPU only, gactivations elsewhere
    kkernels: 1,000 kernels that training steps of edge probes start on a GPU; kblocks elsewhere
    gcached: 1e9 numbers of keys and values that the steps of a search read or write; on a GPU only, gactivations elsewhere

A backward pass costs twice the forward pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attention_atlas.attention.batch_sizes import EXTRACTION_TOKENS, SEARCH_TOKENS
from attention_atlas.workflow.costs import EDGE_WIDTH, Shape

SHARED_KINDS = ("gflop", "gactivations", "gweights", "kblocks", "gupdates", "gscores", "gread")
"""Kinds of work whose seconds do not depend on the rule."""
GPU_KINDS = ("ggathered", "gprobed", "kkernels", "gcached")
"""Kinds of such work that only exist on a GPU."""
STEP_KERNELS, SIDE_KERNELS = 105, 55
"""Kernels that a training step of edge probes starts on a GPU, and as many more for each side of a target (upper bounds)."""
RANKING = 5
"""Layers that start as many kernels on a GPU as a step of a search does to rank and store its beams (upper bound)."""
TRAINING = 3
"""A forward and a backward pass, in forward passes."""
_GIGA, _KILO = 1e9, 1e3


def added(*works: Mapping[str, float]) -> dict[str, float]:
    """Sum of several amounts of work, by kind."""
    kinds = dict.fromkeys(kind for work in works for kind in work)
    return {kind: sum(work.get(kind, 0.0) for work in works) for kind in kinds}


def times(count: float, work: Mapping[str, float]) -> dict[str, float]:
    """An amount of work multiplied by `count`."""
    return {kind: count * amount for kind, amount in work.items()}


def forward(shape: Shape, records: float, tokens: float, batch_tokens: float = EXTRACTION_TOKENS) -> dict[str, float]:
    """A forward pass over examples of `tokens` tokens each, in batches of at most `batch_tokens` tokens."""
    return {
        "gflop": records * shape.forward_flop(tokens) / _GIGA,
        "gactivations": records * tokens * shape.layers * shape.hidden / _GIGA,
        "gweights": records * shape.cells(tokens) / _GIGA,
        "kblocks": shape.layers * max(records * tokens / batch_tokens, 1) / _KILO,
    }


def stacked(shape: Shape) -> Shape:
    """An encoder and a decoder of one shape, as one stack."""
    return Shape(2 * shape.layers, shape.heads, shape.hidden)


def training(shape: Shape, records: float, tokens: float, batch: int, parameters: float, parts: int = 1) -> dict[str, float]:
    """An epoch of training: forward and backward passes, and one optimiser step per batch.

    Args:
        shape: shape of the model.
        records: examples per epoch.
        tokens: tokens per example, including padding.
        batch: examples per batch.
        parameters: number of updated parameters.
        parts: parts of a batch, each with a separate pass through the layers.
    """
    passes = times(TRAINING, forward(shape, records, tokens, batch * tokens / parts))
    return passes | {"gupdates": parameters * records / batch / _GIGA}


@dataclass(frozen=True)
class Search:
    """A beam search for translations.

    Attributes:
        beams: beams per sentence.
        length: tokens per translation, until the longest of its batch has ended.
        vocabulary: tokens that each step ranks.
    """

    beams: int
    length: float
    vocabulary: int


def decoding(shape: Shape, records: float, tokens: float, search: Search, on_gpu: bool = False) -> dict[str, float]:
    """A search over sentences that are already encoded, with a decoder of the encoder's shape, on a processor or a GPU.

    A row of a step goes through self-attention (8 h^2 operations), the queries and outputs of cross-attention (4 h^2; its keys
    and values are kept), the feed-forward layer (16 h^2) and the vocabulary's scores. Each step reorders the keys and values of
    all beams by their new ranks.
    """
    rows = records * search.beams * search.length
    attended = tokens + search.length / 2
    kept = shape.layers * records * search.beams * tokens * 4 * shape.hidden**2
    products = 28 * shape.layers * shape.hidden**2 + 2 * search.vocabulary * shape.hidden
    attention = 4 * shape.layers * attended * shape.hidden
    states = rows * shape.layers * shape.hidden
    blocks = 2 * shape.layers + (RANKING if on_gpu else 0)
    # Keys and values: attention reads them, the reordering reads and writes them, and so does appending to those of the target.
    cached = states * 2 * (3 * attended + 2 * search.length / 2)
    return ({"gcached": cached / _GIGA} if on_gpu else {}) | {
        "gflop": (rows * (products + attention) + kept) / _GIGA,
        "gactivations": states * (1 if on_gpu else 1 + attended / 2) / _GIGA,
        "gweights": rows * shape.layers * shape.heads * attended / _GIGA,
        "kblocks": blocks * search.length * max(records * tokens / SEARCH_TOKENS, 1) / _KILO,
        "gscores": rows * search.vocabulary / _GIGA,
    }


@dataclass(frozen=True)
class Probing:
    """A joint training step of several edge probes.

    Attributes:
        probes: number of probes.
        pieces: tokens of the batch that are in targets.
        targets: targets of the batch.
        sides: spans per target, 1 or 2.
        labels: outputs per probe.
    """

    probes: int
    pieces: float
    targets: float
    sides: int
    labels: int


def probing(shape: Shape, steps: float, step: Probing) -> dict[str, float]:
    """Steps of training edge probes on the hidden states of a model: mixing, projection, pooling, two layers, an update."""
    rows = shape.layers + 2
    mixed = 4 * rows * step.pieces * shape.hidden
    projected = 2 * TRAINING * step.sides * step.pieces * shape.hidden * EDGE_WIDTH
    classified = 2 * TRAINING * step.targets * EDGE_WIDTH * (step.sides * EDGE_WIDTH + step.labels)
    parameters = step.sides * (shape.hidden + 2) * EDGE_WIDTH + EDGE_WIDTH * (step.sides * EDGE_WIDTH + step.labels)
    activations = step.pieces * (shape.hidden + 2 * step.sides * EDGE_WIDTH) + step.targets * (4 * EDGE_WIDTH + 2 * step.labels)
    return {
        "gflop": steps * step.probes * (mixed + projected + classified) / _GIGA,
        "gactivations": steps * step.probes * activations / _GIGA,
        "gread": steps * rows * step.pieces * shape.hidden / _GIGA,
        "kblocks": steps / _KILO,
        "gupdates": steps * step.probes * parameters / _GIGA,
    }
