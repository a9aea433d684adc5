"""Importance of heads from derivatives: the paper's definition and those of published code, and the table of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.html_tables import write_html_table
from attention_atlas.statistics import percentile_interval, resampled_counts
from attention_atlas.studies.michel2019.names import CODE, DEFINITIONS, HEAD, PAPER, PER_BATCH, TITLES
from attention_atlas.studies.setting import Setting
from attention_atlas.tables import read_parquet, write_table

Floats = npt.NDArray[np.float64]
MEASURES = ["gradient", "by_position", "positions"]
GRADIENTS = [*HEAD, "record", *MEASURES]
"""Columns of the table of derivatives: a row a head and example."""
COLUMNS = [
    *("model", "task", *HEAD, "definition", "importance", "ci_low", "ci_high", "unnormalised"),
    *("spearman", "n"),
]


@dataclass(frozen=True)
class Derivatives:
    """What a head's output is worth to the loss of each example.

    Attributes:
        heads: a row a head, columns `names.HEAD`.
        gradient: [example, head] derivative of the example's loss by a gate on the head.
        by_position: [example, head] magnitudes of output times gradient, summed over positions.
        positions: [example, head] positions of the head's layer that reach the loss: padding does not, nor does what the last
            layer gathers elsewhere than at the token that is classified.
    """

    heads: pd.DataFrame
    gradient: Floats
    by_position: Floats
    positions: Floats


def read_derivatives(path: str | Path) -> Derivatives:
    """Read a table with columns `GRADIENTS`.

    Raises:
        AtlasError: the table cannot be used.
    """
    frame = read_parquet(path, GRADIENTS)
    heads = frame[HEAD].drop_duplicates(ignore_index=True)
    return Derivatives(heads, *(frame[name].to_numpy(np.float64).reshape(len(heads), -1).T for name in MEASURES))


def unnormalised(of: Derivatives, definition: str, batch: int, counts: Floats | None = None) -> Floats:
    """[..., head] importance before it is scaled within layers.

    * paper: mean over examples of the magnitude of the derivative (equation 2).
    * michel_code: magnitudes of output times gradient at each position, summed, per position that reaches the loss. (The
      published code divides by tokens, and by examples in the last layer of BERT, where one position reaches it.)
    * per_batch: magnitude of the derivative summed over a batch, the batches in the order of the file, per example.
    * run_bertology: as per_batch, but of the sum over all batches so far: transformers' script never sets the derivative
      back to zero.

    Args:
        of: derivatives of the loss of each example.
        definition: of `DEFINITIONS`.
        batch: examples of a batch, for the last two.
        counts: [resample, example] how often each example is drawn, for the first two; None for the examples as they are.
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


def importance(of: Derivatives, definition: str, batch: int, scaled: bool = True) -> Floats:
    """[head] importance by a definition, divided by the norm of each layer or as it is."""
    values = unnormalised(of, definition, batch)
    return normalised(values, of.heads) if scaled else values


def importance_table(
    derivatives: Mapping[str, str | Path],
    models: Mapping[str, str],
    settings: Mapping[str, Setting],
    batch: int,
    resamples: int,
    seed: int,
    out: str | Path,
    html_out: str | Path,
) -> None:
    """Write head_importance.tsv, columns `COLUMNS`, and a page of how far the definitions agree.

    spearman: of a definition with the paper's, over all heads of the model. Intervals by bootstrap over examples, where the
    definition is a mean over examples.

    Args:
        derivatives: experiment -> its table of derivatives.
        models: experiment -> name of the model.
        settings: experiment -> what was looked at.
        batch: examples of a batch, for definitions over batches.
        resamples, seed: of the bootstrap.
        out, html_out: files to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = []
    for name, path in derivatives.items():
        of = read_derivatives(path)
        frames += [
            _rows(of, definition, batch, resamples, seed).assign(model=models[name], task=name) for definition in DEFINITIONS
        ]
    table = pd.concat(frames, ignore_index=True)[COLUMNS]
    write_table(table, out)
    summary = table.groupby(["task", "definition"], sort=False).agg({"spearman": "first", "n": "first", "head": "size"})
    summary = summary.rename(columns={"head": "heads"}).reset_index()
    summary["task"] = [TITLES[name] for name in summary["task"]]
    notes = [
        *(setting.line for setting in settings.values()),
        "Importance of a head: expected magnitude of the derivative of the loss by a gate on its output (paper), and as "
        "published code computes it: per position (michel_code), per batch (per_batch), per batch without ever clearing the "
        "derivative (run_bertology). All divided by their norm over the heads of a layer. spearman: rank correlation with the "
        "paper's definition over all heads; n: examples. Derivatives are those of each example's own loss, in float32. Values "
        "of each head: head_importance.tsv.",
    ]
    formats = {"spearman": ".3f", "heads": "d", "n": "d"}
    write_html_table(summary, html_out, "Michel et al. 2019: importance of heads by four definitions", notes, formats=formats)


def _rows(of: Derivatives, definition: str, batch: int, resamples: int, seed: int) -> pd.DataFrame:
    from scipy.stats import spearmanr

    values = importance(of, definition, batch)
    low = high = np.full(len(of.heads), np.nan)
    if definition in (PAPER, CODE):
        chunks = resampled_counts(len(of.gradient), resamples, seed)
        drawn = [normalised(unnormalised(of, definition, batch, counts), of.heads) for counts in chunks]
        low, high = percentile_interval(np.concatenate(drawn))
    return of.heads.assign(
        definition=definition,
        importance=values,
        ci_low=low,
        ci_high=high,
        unnormalised=unnormalised(of, definition, batch),
        spearman=spearmanr(values, importance(of, PAPER, batch)).statistic,
        n=len(of.gradient),
    )
