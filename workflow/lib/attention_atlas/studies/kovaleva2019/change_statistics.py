"""Statistics of all heads together, with intervals over examples, for the claims about Figures 2 and 5 and section 4.4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.stats.extremes import mean_deviations, smallest_interval, widths
from attention_atlas.stats.levels import LEVEL, level_of_parts
from attention_atlas.studies.kovaleva2019.measured import ANNOTATORS, MEASURED, Measures
from attention_atlas.studies.kovaleva2019.names import (
    BASE,
    CLASSES,
    DIAGONAL,
    FEWEST_EXAMPLES,
    HETEROGENEOUS,
    TUNED,
    VERTICAL,
)
from attention_atlas.studies.kovaleva2019.word_features import CORRECTED

Floats = npt.NDArray[np.float64]
STATISTICS = ["statistic", "of", "task", "value", "ci_low", "ci_high", "level", "n"]
"""`of` is the compared maps (padded, real_same, real), the annotator, or the feature; task is empty for a mean over tasks."""
LAST_LAYERS = "last_layers"
"""Smallest mean cosine of an earlier layer minus the largest of the last two layers: above 0 where both change most."""
FREQUENT = "vertical_and_heterogeneous"
"""Smaller share of vertical and heterogeneous maps minus the largest share of another class, mean over tasks."""
RARE = "diagonal"
"""Share of diagonal maps, mean over tasks."""
CHANGE = "change"
"""Attention to tokens with a feature after fine-tuning minus that before, mean over heads."""


class ChangeStatistics:
    """Collects the statistics task by task.

    Intervals of a task's last layers cover all tasks together (`published.claims.level_of_parts`).
    """

    def __init__(self, tasks: int, resamples: int, seed: int):
        self._tasks, self._resamples, self._seed = tasks, resamples, seed
        self._rows: list[dict[str, Any]] = []
        self._shares: dict[str, list[Floats]] = {annotator: [] for annotator in ANNOTATORS}

    def add(self, task: str, seed_measures: Sequence[Measures]) -> None:
        """Add a task: its last layers, its features, and the classes of its maps for `table`.

        Args:
            task: its name.
            seed_measures: the measures of each seed.
        """
        for crop in seed_measures[0].cosines():
            layers: Floats = np.mean([m.cosines()[crop] for m in seed_measures], axis=(0, 3), dtype=np.float64)
            if layers.shape[1] > 2:
                level = level_of_parts(self._tasks)
                self._rows.append(self._smallest(LAST_LAYERS, crop, task, _pairs(layers), level))
        for feature in MEASURED:
            gains = [m.feature(TUNED, CORRECTED, feature) - m.feature(BASE, CORRECTED, feature) for m in seed_measures]
            change: Floats = np.mean(gains, axis=(0, 2, 3), dtype=np.float64)
            change = change[~np.isnan(change)]
            if len(change):
                low, high = self._mean_interval(change, LEVEL)
                self._rows.append(_row(CHANGE, feature, task, float(change.mean()), low, high, LEVEL, len(change)))
        for place, annotator in enumerate(ANNOTATORS):
            classes = np.stack([m.classes[place] for m in seed_measures], axis=1)
            shares = np.stack([(classes == k).mean(axis=(1, 2, 3)) for k in range(len(CLASSES))], axis=1)
            self._shares[annotator].append(shares)

    def table(self) -> pd.DataFrame:
        """`STATISTICS`, those of all tasks last."""
        rows = [*self._rows]
        for annotator in ANNOTATORS:
            tasks = self._shares[annotator]
            n, enough = sum(map(len, tasks)), min(map(len, tasks)) >= FEWEST_EXAMPLES
            margins = [_margins(shares) for shares in tasks]
            values = np.mean([margin.mean(axis=0) for margin in margins], axis=0)
            low, high = smallest_interval(values, self._over_tasks(margins), LEVEL) if enough else (np.nan, np.nan)
            rows.append(_row(FREQUENT, annotator, "", float(values.min()), low, high, LEVEL, n))
            diagonal = [shares[:, [CLASSES.index(DIAGONAL)]] for shares in tasks]
            value = float(np.mean([share.mean() for share in diagonal]))
            width = float(widths(self._over_tasks(diagonal), LEVEL)[0]) if enough else np.nan
            rows.append(_row(RARE, annotator, "", value, value - width, value + width, LEVEL, n))
        return pd.DataFrame(rows, columns=STATISTICS)

    def _over_tasks(self, values: Sequence[Floats]) -> Floats:
        """[statistic, draw] deviations of the mean over tasks; the examples of each task are resampled separately."""
        deviations = [mean_deviations(v, self._resamples, self._seed + k) for k, v in enumerate(values)]
        return np.asarray(np.mean(deviations, axis=0))

    def _smallest(self, name: str, of: str, task: str, values: Floats, level: float) -> dict[str, Any]:
        means, low, high = values.mean(axis=0), np.nan, np.nan
        if len(values) >= FEWEST_EXAMPLES:
            low, high = smallest_interval(means, mean_deviations(values, self._resamples, self._seed), level)
        return _row(name, of, task, float(means.min()), low, high, level, len(values))

    def _mean_interval(self, values: Floats, level: float) -> tuple[float, float]:
        if len(values) < FEWEST_EXAMPLES:
            return np.nan, np.nan
        width = float(widths(mean_deviations(values[:, None], self._resamples, self._seed), level)[0])
        return float(values.mean()) - width, float(values.mean()) + width


def _row(name: str, of: str, task: str, value: float, low: float, high: float, level: float, n: int) -> dict[str, Any]:
    return dict(zip(STATISTICS, (name, of, task, value, low, high, level, n), strict=True))


def _pairs(layers: Floats) -> Floats:
    """[example, pair] each earlier layer minus each of the last two, of mean cosines [example, layer]."""
    return (layers[:, :-2, None] - layers[:, None, -2:]).reshape(len(layers), -1)


def _margins(shares: Floats) -> Floats:
    """[example, pair] the share of vertical, and of heterogeneous maps, minus that of each other class."""
    frequent = [CLASSES.index(name) for name in (VERTICAL, HETEROGENEOUS)]
    others = [k for k in range(len(CLASSES)) if k not in frequent]
    return (shares[:, frequent, None] - shares[:, None, others]).reshape(len(shares), -1)
