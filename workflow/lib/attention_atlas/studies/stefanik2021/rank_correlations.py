"""Whether two rankings of heads agree: Spearman correlations over heads, with intervals over documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.stats.held_out import folds_of
from attention_atlas.stats.jackknife import correlation_interval
from attention_atlas.stats.rank_correlation import spearman
from attention_atlas.studies.stefanik2021.names import COEFFICIENT_RANKS, SLIDE_RANKS
from attention_atlas.studies.stefanik2021.ranking import CalibratedHeads
from attention_atlas.studies.stefanik2021.regression import Bools, Fit, coefficients_and_importances

Floats = npt.NDArray[np.float64]
RANK_CORRELATIONS = ["correlation", "value", "ci_low", "ci_high", "heads", "documents", "groups"]
GROUPS = 10
"""Groups of documents of the jackknife."""


def rank_correlation_rows(
    calibrated: CalibratedHeads, features: Floats, key: Bools, documents: Sequence[object], fit: Fit
) -> pd.DataFrame:
    """One row for each correlation; columns `RANK_CORRELATIONS`.

    `SLIDE_RANKS`: the slides' summed entropy with calibrated cross-entropy; the calibration is not refitted without a group
    of documents. `COEFFICIENT_RANKS`: absolute coefficients of the regression with permutation importance, both refitted.

    Args:
        calibrated: of `ranking.calibrated_heads`.
        features: [word, head].
        key: [word].
        documents: [word] its document.
        fit: options of the regression.
    """
    numbers = pd.factorize(np.asarray(documents, dtype=object))[0]
    count = int(numbers.max()) + 1
    group = folds_of(count, min(GROUPS, count), fit.seed)

    def slide(kept: Bools) -> float:
        return float(spearman(calibrated.slide[kept].sum(axis=0), calibrated.cross_entropy[kept].sum(axis=0)))

    def coefficient(kept: Bools) -> float:
        words = kept[numbers]
        coefficients, importances = coefficients_and_importances(features[words], key[words], numbers[words], fit)
        return float(spearman(np.abs(coefficients), importances.mean(axis=(0, 1))))

    statistics: dict[str, Callable[[Bools], float]] = {SLIDE_RANKS: slide, COEFFICIENT_RANKS: coefficient}
    rows = []
    for name, statistic in statistics.items():
        value = statistic(np.ones(count, dtype=bool))
        # The regression needs a document in every fold after a group is left out.
        too_few = name == COEFFICIENT_RANKS and count - int(np.bincount(group).max()) < fit.folds
        left = [] if too_few else [statistic(group != number) for number in np.unique(group)]
        low, high = correlation_interval(value, left)
        rows.append([name, value, low, high, features.shape[1], count, len(left)])
    return pd.DataFrame(rows, columns=RANK_CORRELATIONS)
