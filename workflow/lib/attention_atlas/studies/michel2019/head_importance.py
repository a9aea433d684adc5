"""The table of head importance: the definition of the paper and those of published code, and their rank correlations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_table
from attention_atlas.methods.importance import Derivatives, importance, normalised, read_derivatives, unnormalised
from attention_atlas.methods.names import CODE, DEFINITIONS, HEAD, PAPER, TRANSLATION
from attention_atlas.stats.bootstrap import percentile_interval, resampled_counts
from attention_atlas.studies.michel2019.claim_statistics import agreement_statistics, statistics_table
from attention_atlas.studies.michel2019.effects import ACCURACY, BLEU, unit_of
from attention_atlas.studies.michel2019.names import TITLES

COLUMNS = [
    *("model", "task", *HEAD, "definition", "importance", "ci_low", "ci_high", "unnormalised"),
    *("spearman", "n", "unit"),
]


def importance_table(
    derivatives: Mapping[str, str | Path],
    models: Mapping[str, str],
    labels: Mapping[str, RunLabel],
    batch: int,
    resamples: int,
    seed: int,
    out: str | Path,
    html_out: str | Path,
    statistics_out: str | Path,
) -> None:
    """Write head_importance.tsv, columns `COLUMNS`, and a page with the rank correlations of the definitions.

    spearman: rank correlation of a definition with the paper's, over all heads of the model. Intervals by bootstrap over
    examples, where the definition is a mean over examples.

    Args:
        derivatives: experiment -> its table of derivatives.
        models: experiment -> name of the model.
        labels: experiment -> model and corpus of the run.
        batch: examples of a batch, for definitions over batches.
        resamples, seed: of the bootstrap.
        out, html_out: files to write.
        statistics_out: the statistics of the claims, `claim_statistics.STATISTICS`.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames, statistics = [], []
    for name, path in derivatives.items():
        task_derivatives = read_derivatives(path)
        frames += [
            _rows(task_derivatives, definition, batch, resamples, seed).assign(
                model=models[name], task=name, unit=unit_of(BLEU if name == TRANSLATION else ACCURACY)
            )
            for definition in DEFINITIONS
        ]
        statistics += list(agreement_statistics(task_derivatives, name, batch, resamples, seed))
    write_table(statistics_table(statistics), statistics_out)
    table = pd.concat(frames, ignore_index=True)[COLUMNS]
    write_table(table, out)
    summary = table.groupby(["task", "definition"], sort=False).agg({"spearman": "first", "n": "first", "head": "size"})
    summary = summary.rename(columns={"head": "heads"}).reset_index()
    summary["task"] = [TITLES[name] for name in summary["task"]]
    notes = [
        *(label.line for label in labels.values()),
        "Importance of a head: expected magnitude of the derivative of the loss with respect to a gate on its output (paper), "
        "and as computed in published code: per position (michel_code), per batch (per_batch), per batch without ever clearing "
        "the gradient (run_bertology). All are divided by their norm over the heads of a layer. spearman: rank correlation "
        "with the paper's definition over all heads; n: examples. Derivatives are computed for each example separately, in "
        "float32. For the values of each head see head_importance.tsv.",
    ]
    formats = {"spearman": ".3f", "heads": "d", "n": "d"}
    write_html_table(summary, html_out, "Michel et al. 2019: importance of heads by four definitions", notes, formats=formats)


def _rows(derivatives: Derivatives, definition: str, batch: int, resamples: int, seed: int) -> pd.DataFrame:
    from scipy.stats import spearmanr

    values = importance(derivatives, definition, batch)
    low = high = np.full(len(derivatives.heads), np.nan)
    if definition in (PAPER, CODE):
        chunks = resampled_counts(len(derivatives.gradient), resamples, seed)
        resampled = [normalised(unnormalised(derivatives, definition, batch, counts), derivatives.heads) for counts in chunks]
        low, high = percentile_interval(np.concatenate(resampled))
    return derivatives.heads.assign(
        definition=definition,
        importance=values,
        ci_low=low,
        ci_high=high,
        unnormalised=unnormalised(derivatives, definition, batch),
        spearman=spearmanr(values, importance(derivatives, PAPER, batch)).statistic,
        n=len(derivatives.gradient),
    )
