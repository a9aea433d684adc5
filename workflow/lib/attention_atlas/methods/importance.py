"""Importance of heads from derivatives: the definition of Michel et al. (2019) and those of published code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.tables import read_parquet
from attention_atlas.methods.head_measures import CODE, HEAD, PAPER, PER_BATCH

Floats = npt.NDArray[np.float64]
MEASURES = ["gradient", "by_position", "positions"]
GRADIENTS = [*HEAD, "record", *MEASURES]
"""Columns of the table of derivatives: one row per head and example."""


@dataclass(frozen=True)
class Derivatives:
    """Derivatives of the loss of each example by gates on the `heads`, [example, head].

    gradient: by the gate; by_position: magnitudes of output times gradient, summed over positions; positions: those of the
    head's layer that affect the loss: not padding, and in the last layer of a classifier only the classified token.
    """

    heads: pd.DataFrame
    gradient: Floats
    by_position: Floats
    positions: Floats


def read_derivatives(path: str | Path) -> Derivatives:
    """Read a table with columns `GRADIENTS`."""
    frame = read_parquet(path, GRADIENTS)
    heads = frame[HEAD].drop_duplicates(ignore_index=True)
    return Derivatives(heads, *(frame[name].to_numpy(np.float64).reshape(len(heads), -1).T for name in MEASURES))


HeadDerivatives = Annotated[Derivatives, read_derivatives]
"""Derivatives, as a parameter of a function that a job calls."""


def unnormalised(of: Derivatives, definition: str, batch: int, counts: Floats | None = None) -> Floats:
    """[..., head] importance before scaling within layers.

    * paper: mean over examples of the magnitude of the derivative (equation 2).
    * michel_code: magnitudes of output times gradient, summed over positions, per position that affects the loss.
    * per_batch: magnitude of the derivative summed over a batch, the batches in the order of the file, per example.
    * run_bertology: the same of all batches so far: transformers' script never resets the derivative to zero.

    batch: examples per batch, for the last two; counts: [resample, example] how often each is drawn, for the first two.
    """
    size = len(of.gradient)
    if definition in (PAPER, CODE):
        weights = np.ones(size) if counts is None else counts
        if definition == PAPER:
            return weights @ np.abs(of.gradient) / size
        return weights @ of.by_position / np.maximum(weights @ of.positions, 1)
    sums = np.add.reduceat(of.gradient, np.arange(0, size, batch), axis=0)
    return np.abs(sums if definition == PER_BATCH else sums.cumsum(axis=0)).sum(axis=0) / size


def normalised(values: Floats, heads: pd.DataFrame) -> Floats:
    """[..., head] values divided by their root sum of squares over the heads of the same kind and layer (section 4.1)."""
    _, layer = np.unique(heads[["kind", "layer"]].astype(str).agg(" ".join, axis=1), return_inverse=True)
    same = np.eye(layer.max() + 1)[layer]
    norms = np.sqrt(np.square(values) @ same) @ same.T
    return np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)


def importance(of: Derivatives, definition: str, batch: int) -> Floats:
    """[head] importance by a definition, divided by the norm of each layer."""
    return normalised(unnormalised(of, definition, batch), of.heads)
