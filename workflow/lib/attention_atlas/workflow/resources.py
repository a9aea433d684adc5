"""Resources that jobs request: memory and minutes, which grow with each attempt, and GPUs; and the size of attention caches.

Memory is in MiB. A cluster's user changes a number with `--set-resources` or in the profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attention_atlas.attention.batch_sizes import GRADIENT_TOKENS
from attention_atlas.models.devices import gpu_here
from attention_atlas.workflow.lookups import Config

Resource = Callable[[Any, int], int]
"""Function of the wildcards and the number of the attempt."""
_PROCESS = 1200
"""A process with torch, transformers and Snakemake."""
_VOCABULARY = 30522
"""Word pieces of BERT, for models whose vocabulary is not known before they are loaded."""
_SAVED_STATES = 34
"""Values saved for the backward pass for each layer and token, in units of the hidden size (upper bound)."""
_MIB = 2**20


def memory(megabytes: int) -> Resource:
    """A number of megabytes, increased after each failure."""
    return lambda wildcards, attempt: megabytes * attempt


minutes = memory
"""A number of minutes, increased after each failure."""


def gpus(config: Config) -> int:
    """GPUs of a job that runs a model: one if the configuration requests a GPU, or this machine has one."""
    wanted = config["device"]
    return int(wanted == "cuda" or (wanted == "auto" and gpu_here()))


def parameters(model: Mapping[str, Any]) -> int:
    """Weights in the blocks and the word embeddings of a model, by its registry entry."""
    width = model["hidden_size"]
    return int(12 * model["layers"] * width**2 + _VOCABULARY * width)


def cache_bytes(model: Mapping[str, Any], records: int, tokens: float) -> float:
    """Bytes of the maps of records of `tokens` tokens in float16."""
    return 2 * records * model["layers"] * model["heads"] * tokens**2


def model_megabytes(model: Mapping[str, Any], tokens: int) -> int:
    """A job that runs or trains a model on texts of at most `tokens` tokens.

    Weights with gradients and two moments; for the tokens of a batch the maps of all layers with their gradients, states saved
    for the backward pass, and vocabulary scores.
    """
    maps = 24 * model["layers"] * model["heads"] * tokens
    states = 4 * _SAVED_STATES * model["layers"] * model["hidden_size"]
    data = 16 * parameters(model) + GRADIENT_TOKENS * (maps + states + 16 * _VOCABULARY)
    return _PROCESS + int(data / _MIB)


def map_megabytes(model: Mapping[str, Any], tokens: int, records: int, stored: float) -> int:
    """A job that reads the maps of one example at a time, and stores some bytes for each head and record."""
    data = 8 * 2 * cache_bytes(model, 1, tokens) + stored * records * model["layers"] * model["heads"]
    return _PROCESS + int(data / _MIB)
