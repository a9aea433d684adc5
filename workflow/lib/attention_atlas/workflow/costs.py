"""Resources of a job, computed from shapes: memory, floating-point operations, cells of attention maps.

Memory is an upper limit in MiB. The figures for a process were measured as `max_rss` in the sample run on Linux. They include
the memory of Snakemake itself inside a cluster job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attention_atlas.attention.batch_sizes import EXTRACTION_TOKENS, GRADIENT_TOKENS, LOSS_TOKENS, PROBE_CHUNK
from attention_atlas.models.head_training import CHOSEN

VOCABULARY = 30522
"""Word pieces of BERT, for models whose vocabulary is not known before they are loaded."""
SNAKEMAKE = 300
ANALYSIS = 600 + SNAKEMAKE
"""A process with numpy, pandas, scipy and matplotlib."""
TORCH = 900 + SNAKEMAKE
"""A process with torch and transformers."""
EDGE_WIDTH = 256
"""Width of a span in edge probes."""
_SAVED_STATES = 34
"""Values saved for the backward pass for each layer and token, in units of the hidden size (upper bound)."""
_MIB = 2**20


@dataclass(frozen=True)
class Shape:
    """Size of an encoder, from its registry entry: layers, heads per layer, and width of the hidden states."""

    layers: int
    heads: int
    hidden: int

    @property
    def parameters(self) -> int:
        """Number of weights in the blocks and the word embeddings."""
        return 12 * self.layers * self.hidden**2 + VOCABULARY * self.hidden

    def cells(self, tokens: float) -> float:
        """Cells in all maps of an example of `tokens` tokens."""
        return self.layers * self.heads * tokens**2

    def forward_flop(self, tokens: float) -> float:
        """Floating-point operations of a forward pass: 24 L h^2 per token for the weights, 4 L n h for attention."""
        return self.layers * tokens * (24 * self.hidden**2 + 4 * tokens * self.hidden)


def shape_of(model: Mapping[str, Any]) -> Shape:
    """Shape of a registry entry."""
    return Shape(model["layers"], model["heads"], model["hidden_size"])


def typical_tokens(corpus: Mapping[str, Any]) -> float:
    """Mean number of tokens per example of a corpus: from the registry, otherwise its maximum length."""
    return float(corpus.get("mean_tokens", corpus["max_tokens"]))


def mean_cells(model: Mapping[str, Any], corpus: Mapping[str, Any]) -> float:
    """Upper limit of the mean number of cells per example: twice the cells at the mean length, since lengths vary."""
    shape = shape_of(model)
    return min(2 * shape.cells(typical_tokens(corpus)), shape.cells(corpus["max_tokens"]))


def cache_bytes(model: Mapping[str, Any], corpus: Mapping[str, Any], records: int) -> float:
    """Bytes of the maps of `records` records in float16, at the largest length."""
    return 2 * records * shape_of(model).cells(corpus["max_tokens"])


def extraction_memory(model: Mapping[str, Any], corpus: Mapping[str, Any]) -> int:
    """The maps of a batch in float16, the weights, and four copies of one layer of a batch."""
    shape = shape_of(model)
    layer = EXTRACTION_TOKENS * corpus["max_tokens"] * shape.heads
    return _memory(TORCH, 2 * shape.layers * layer + 4 * shape.parameters + 16 * layer)


def loss_memory(model: Mapping[str, Any], corpus: Mapping[str, Any]) -> int:
    """The memory of extraction, and two copies of the vocabulary scores of a batch in float32."""
    return extraction_memory(model, corpus) + int(8 * LOSS_TOKENS * VOCABULARY / _MIB)


def gradient_memory(model: Mapping[str, Any], corpus: Mapping[str, Any]) -> int:
    """Maps and gradients of all layers of a batch, states saved for the backward pass, weights, and vocabulary scores."""
    shape = shape_of(model)
    maps = 24 * shape.layers * shape.heads * GRADIENT_TOKENS * corpus["max_tokens"]
    saved = 4 * shape.layers * GRADIENT_TOKENS * _SAVED_STATES * shape.hidden
    return _memory(TORCH, maps + saved + 12 * shape.parameters + 16 * GRADIENT_TOKENS * VOCABULARY)


def head_training_memory(model: Mapping[str, Any], corpus: Mapping[str, Any], copies: int, records: int) -> int:
    """Hidden states of the masked tokens of all copies, weights, and vocabulary scores."""
    shape = shape_of(model)
    states = 4 * CHOSEN * copies * records * corpus["max_tokens"] * shape.hidden
    return _memory(TORCH, 2 * states + 8 * shape.parameters + 16 * GRADIENT_TOKENS * VOCABULARY)


def hidden_memory(model: Mapping[str, Any], corpus: Mapping[str, Any]) -> int:
    """Three copies of the hidden states of all layers of a batch in float32, and the weights."""
    shape = shape_of(model)
    states = (shape.layers + 2) * shape.hidden
    return _memory(TORCH, 12 * EXTRACTION_TOKENS * states + 4 * shape.parameters)


def edge_probe_memory(model: Mapping[str, Any], corpus: Mapping[str, Any], variants: int, batch: int) -> int:
    """Edge probes of a seed on all layers with optimiser and best weights, and the mixed states of a batch for each probe."""
    shape = shape_of(model)
    probes = variants * (shape.layers + 1) + 4
    weights = 4 * 7 * probes * 2 * EDGE_WIDTH * (shape.hidden + EDGE_WIDTH)
    mixed = 4 * 4 * probes * batch * corpus["max_tokens"] * (shape.hidden + 2 * EDGE_WIDTH)
    return _memory(TORCH, weights + mixed + 8 * batch * corpus["max_tokens"] * (shape.layers + 2) * shape.hidden)


def probe_memory(model: Mapping[str, Any], corpus: Mapping[str, Any]) -> int:
    """Two copies of each map of a chunk of sentences in float32."""
    return _memory(TORCH, 8 * PROBE_CHUNK * mean_cells(model, corpus))


def example_memory(model: Mapping[str, Any], corpus: Mapping[str, Any], records: int, bytes_per_head: float) -> int:
    """Eight copies of one example's maps in float32, and `bytes_per_head` bytes for each head and record."""
    shape = shape_of(model)
    maps = 32 * shape.cells(corpus["max_tokens"])
    return _memory(ANALYSIS, maps + bytes_per_head * records * shape.layers * shape.heads)


def distance_memory(model: Mapping[str, Any], corpus: Mapping[str, Any], blocks: int) -> int:
    """The maps of one example and the sums over all pairs of heads in each block of segments."""
    shape = shape_of(model)
    return _memory(TORCH, 8 * shape.cells(corpus["max_tokens"]) + 16 * blocks * (shape.layers * shape.heads) ** 2)


def fine_tuning_memory(model: Mapping[str, Any], corpus: Mapping[str, Any], batch: int) -> int:
    """Weights, gradients, two moments of Adam, and the states of a batch saved for the backward pass."""
    shape = shape_of(model)
    n = corpus["max_tokens"]
    saved = 4 * shape.layers * batch * (_SAVED_STATES * n * shape.hidden + 5 * shape.heads * n * n)
    return _memory(TORCH, 16 * shape.parameters + saved)


def ablation_memory(model: Mapping[str, Any], corpus: Mapping[str, Any]) -> int:
    """The weights, four copies of one layer's maps of a batch, and the outputs of all layers."""
    shape = shape_of(model)
    layer = 16 * EXTRACTION_TOKENS * corpus["max_tokens"] * shape.heads
    outputs = 8 * EXTRACTION_TOKENS * shape.layers * shape.hidden
    return _memory(TORCH, 4 * shape.parameters + layer + outputs)


_MEASURED_BYTES = 4 * 50
"""Bytes per head and record: about 50 values, for two models, two ways to locate tokens, and a dozen features."""


def measures_memory(model: Mapping[str, Any], corpus: Mapping[str, Any], records: int, padded: int) -> int:
    """Two models, three copies of the maps of all layers of a batch, and the measures."""
    shape = shape_of(model)
    maps = 12 * shape.layers * shape.heads * max(EXTRACTION_TOKENS * corpus["max_tokens"], 8 * padded**2)
    return _memory(TORCH, 8 * shape.parameters + maps + _MEASURED_BYTES * records * shape.layers * shape.heads)


def changes_memory(model: Mapping[str, Any], records: int, seeds: int) -> int:
    """Two copies of the measures of one task for all seeds."""
    shape = shape_of(model)
    return _memory(ANALYSIS, 2 * _MEASURED_BYTES * seeds * records * shape.layers * shape.heads)


def _memory(process: int, data: float) -> int:
    return int(process + data / _MIB)
