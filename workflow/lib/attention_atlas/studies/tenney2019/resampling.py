"""Bootstrap over evaluated documents (or sentences) and probe seeds: F1 of probes, and whether the gain is noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import ttest_ind

from attention_atlas.stats.bootstrap import expanded_level, percentile_interval, resampled_counts
from attention_atlas.studies.tenney2019.names import CONDITIONS, EARLY, EMBEDDINGS
from attention_atlas.studies.tenney2019.scores import f1_of

Floats = npt.NDArray[np.float64]
_ERRORS = 2.0
"""Number of standard errors within which the total gain is noise."""


def resampled_f1(counts: pd.DataFrame, resamples: int, seed: int, layer0: str = EMBEDDINGS, condition: str = EARLY) -> Floats:
    """[resample, top] F1 of probes of a condition, over resampled documents and seeds; no columns without such probes.

    Where the corpus does not name its documents, sentences are resampled instead (`unit_number` of `COUNTS`). A resample is the
    sum of two parts: the mean F1 over seeds on resampled documents, and the mean deviation of resampled
    seeds from that mean, drawn separately for each layer, because probes of different layers are trained separately. Deviations
    are scaled by sqrt(S / (S - 1)) for S seeds: the mean of S unscaled ones has a variance that is too small by (S - 1) / S.
    The interaction of documents and seeds is in both parts, so that intervals are too wide rather than too narrow. All
    conditions share the resampled documents, not the seeds. For a control trained with one seed, the deviation of that seed is
    taken to be that of the probes of the task itself (condition `EARLY`).
    """
    rows = counts[(counts["condition"] == condition) & (counts["layer0"] == layer0)]
    seeds, tops, records = (np.sort(rows[name].unique()) for name in ("seed", "top", "record"))
    if not len(rows):
        return np.empty((resamples, 0))
    cube = rows.sort_values(["seed", "top", "record"])[["true", "false", "missed"]].to_numpy(np.float64)
    cube = cube.reshape(len(seeds), len(tops), len(records), 3)
    flat = _by_unit(rows, cube.transpose(2, 0, 1, 3).reshape(len(records), -1))
    deviations = _deviations(f1_of(cube.sum(axis=2)))
    if len(seeds) == 1 and condition != EARLY:
        deviations = _deviations(_f1_by_seed(counts, layer0, tops))
    generator = np.random.default_rng([seed, 1 + CONDITIONS.index(condition)])
    chunks = []
    for drawn in resampled_counts(len(flat), resamples, seed):
        on_units = f1_of((drawn @ flat).reshape(len(drawn), len(seeds), len(tops), 3)).mean(axis=1)
        chosen = generator.integers(len(deviations), size=(len(drawn), len(seeds), len(tops)))
        of_seeds = np.take_along_axis(deviations[None], chosen, axis=1).mean(axis=1)
        chunks.append(np.clip(on_units + of_seeds, 0, 100))
    return np.concatenate(chunks)


def resampled_f1_of_answers(answers: pd.DataFrame, resamples: int, seed: int) -> Floats:
    """[resample] F1 of answers that no training varies, over the resampled documents of `resampled_f1` with the same seed.

    Args:
        answers: record, unit_number, true, false, missed; one row for each sentence.
        resamples, seed: of the bootstrap.
    """
    flat = _by_unit(answers, answers.sort_values("record")[["true", "false", "missed"]].to_numpy(np.float64))
    return np.concatenate([f1_of(drawn @ flat) for drawn in resampled_counts(len(flat), resamples, seed)])


def _deviations(by_seed: Floats) -> Floats:
    """[seed, top] deviations from the mean over seeds, scaled so that their variance is that of one seed."""
    seeds = len(by_seed)
    return (by_seed - by_seed.mean(axis=0)) * np.sqrt(seeds / max(seeds - 1, 1))


def _f1_by_seed(counts: pd.DataFrame, layer0: str, tops: npt.NDArray[np.int64]) -> Floats:
    """[seed, top] F1 of the probes of the task itself on the given top layers."""
    rows = counts[(counts["condition"] == EARLY) & (counts["layer0"] == layer0) & counts["top"].isin(tops)]
    sums = rows.groupby(["seed", "top"])[["true", "false", "missed"]].sum()
    return f1_of(sums.to_numpy().reshape(-1, len(tops), 3))


def _by_unit(rows: pd.DataFrame, of_records: Floats) -> Floats:
    """[unit, ...] sums of [record, ...] over the records of each unit."""
    units = rows.drop_duplicates("record").sort_values("record")["unit_number"].to_numpy()
    _, numbers = np.unique(units, return_inverse=True)
    sums = np.zeros((numbers.max() + 1, *of_records.shape[1:]))
    np.add.at(sums, numbers, of_records)
    return sums


def is_noise(points: Floats, resampled: Floats) -> bool:
    """Whether the total gain [top] is within two standard errors of 0, by its resamples [resample, top]."""
    gain = resampled[:, -1] - resampled[:, 0]
    return bool(points[-1] - points[0] <= _ERRORS * gain.std(ddof=1))


def seed_interval(values: Floats, seed: int, resamples: int = 1000) -> tuple[float, float]:
    """Interval of a mean over seeds, by bootstrap; rough for few seeds."""
    drawn = np.random.default_rng(seed).integers(len(values), size=(resamples, len(values)))
    low, high = percentile_interval(values[drawn].mean(axis=1))
    return float(low), float(high)


def interval_of_resamples(
    values: Floats, level: float, units: int, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float]:
    """Percentile interval of a statistic [resample] over `units` units; a resample without one (NaN) could have any value.

    Such a resample counts as below all others for the lower end and as above all others for the upper end. The interval is
    widened for few units (`expanded_level`); there is none for one unit.

    Args:
        values: of the statistic.
        level: coverage of the interval.
        units: how many units are resampled.
        bounds: lowest and highest value that the statistic can have, such as -1 and 1 for a correlation.
    """
    if units < 2:
        return np.nan, np.nan
    tail = (1 - expanded_level(level, units)) / 2
    unknown = np.isnan(values)
    low = np.quantile(np.where(unknown, bounds[0], values), tail, method="lower")
    high = np.quantile(np.where(unknown, bounds[1], values), 1 - tail, method="higher")
    return float(low), float(high)


def interval_over_seeds(later: Floats, earlier: Floats, level: float) -> tuple[float, float]:
    """Interval of the difference of two means over probe seeds (Welch); NaN where one of them has a single seed."""
    if min(len(later), len(earlier)) < 2 or np.ptp(later) + np.ptp(earlier) == 0:
        return np.nan, np.nan
    interval = ttest_ind(later, earlier, equal_var=False).confidence_interval(level)
    return float(interval.low), float(interval.high)
