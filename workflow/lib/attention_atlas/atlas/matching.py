"""Heads of two models matched by their measures, and the agreement of matched heads on measures left out of the matching.

The assignment minimises the distances between matched heads, so small distances alone are no evidence. A measure is therefore
compared over heads that were matched by the other measures, and its agreement is compared with that of heads matched at random.

No quantity counts twice in a match (`counted_once`). Surface measures on the atlas's sentences are in two tables: those of
Clark et al. count, and the same ones among the head scores (`sentence_entropy`, ...) are parts there, which are not matched by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from attention_atlas.atlas.compared import read_compared
from attention_atlas.atlas.correlations import LEVEL, Draws, shuffle_p
from attention_atlas.atlas.head_measures import BREADTH
from attention_atlas.atlas.measures import by_definition, numeric
from attention_atlas.io.tables import write_table
from attention_atlas.stats.bootstrap import percentile_interval
from attention_atlas.stats.rank_correlation import pearson
from attention_atlas.stats.simultaneous import corrected_p

Floats = npt.NDArray[np.float64]
MATCHES = ["model", "layer", "head", "matched_layer", "matched_head", "distance"]
AGREEMENT = ["model", "random_weights", "measure", "matched_by", "agreement", "null_low", "null_high", "p", "p_holm", "n"]
DEPTH, MEAN = "depth", "mean"
"""Rows of the agreement in addition to measures: the depth of a head (not used for matching), and the mean of all measures."""
_MOST_SHUFFLES = 5000


@dataclass(frozen=True)
class Behaviour:
    """Measures of the heads of two models that both models have.

    Attributes:
        names: names of the measures.
        first, second: [head, measure] of each model, standardised over the heads of both.
    """

    names: tuple[str, ...]
    first: Floats
    second: Floats


def behaviour(first: pd.DataFrame, second: pd.DataFrame) -> Behaviour:
    """Measures that all heads of two models have, standardised by their mean and standard deviation over all these heads.

    Args:
        first, second: one row per head, one column per measure.
    """
    names, columns = [], []
    for name in numeric(first):
        if name not in second or first[name].isna().any() or second[name].isna().any():
            continue
        values = np.concatenate([first[name].to_numpy(np.float64), second[name].to_numpy(np.float64)])
        # Measures whose values differ only by rounding cannot be used for matching.
        if values.std() > 1e-9 * max(1.0, np.abs(values).max()):
            names.append(name)
            columns.append((values - values.mean()) / values.std())
    both = np.stack(columns, axis=1) if columns else np.empty((len(first) + len(second), 0))
    return Behaviour(tuple(names), both[: len(first)], both[len(first) :])


def counted_once(names: Sequence[str]) -> tuple[str, ...]:
    """The measures that heads are matched by: the first of those that count the same weights (`Measure.shares`).

    Attention to [SEP] is a part of the attention to sinks, for example, and would have twice the weight of other measures. The
    surface measures come first in the order of the atlas; a model without [SEP] is matched by the attention to sinks. Those of
    `BREADTH` all count: they rank most heads alike, but tell induction heads from others.

    Args:
        names: measures in the order of the atlas.
    """
    kept: list[str] = []
    for name in names:
        if not any(by_definition(name, counted) and not {name, counted} <= {*BREADTH} for counted in kept):
            kept.append(name)
    return tuple(kept)


def matched(first: Floats, second: Floats) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """Matched rows of two matrices [head, measure] and their distances: the assignment with the smallest sum of distances.

    Distance: root mean squared difference over measures, in standard deviations. If the models have different numbers of heads,
    all heads of the smaller one are matched.
    """
    distances = cdist(first, second) / np.sqrt(max(first.shape[1], 1))
    rows, columns = linear_sum_assignment(distances)
    return rows, columns, distances[rows, columns]


def match_rows(model: str, first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """One row per matched head of the first model, columns `MATCHES`; no rows if the models share no measure.

    Heads are matched by the measures that `counted_once` keeps.
    """
    both = behaviour(first, second)
    if not both.names:
        return pd.DataFrame(columns=MATCHES)
    used = [both.names.index(name) for name in counted_once(both.names)]
    rows, columns, distances = matched(both.first[:, used], both.second[:, used])
    return pd.DataFrame(
        {
            "model": model,
            **{name: first[name].to_numpy()[rows] for name in ("layer", "head")},
            **{f"matched_{name}": second[name].to_numpy()[columns] for name in ("layer", "head")},
            "distance": distances,
        }
    )


def agreement_rows(model: str, random_weights: bool, first: pd.DataFrame, second: pd.DataFrame, draws: Draws) -> pd.DataFrame:
    """One row per measure, columns `AGREEMENT`: rank correlation of matched heads on a measure left out of the matching.

    For each measure, heads are matched by the other measures that `counted_once` keeps, except those that correlate with it by
    definition. `depth` is the layer, with matching by all that are kept; `mean` is the mean over these. null_low, null_high:
    central 95 % of the same statistic when the heads of the second model are permuted at random, with the same shuffles for all
    measures; p is two-sided (`shuffle_p`), p_holm is over the measures of a model. Measures may correlate in any model, even
    with random weights: compare the agreement with that of a random-weights control.

    Args:
        model: name of the second model.
        random_weights: whether it is a control.
        first, second: one row per head, one column per measure.
        draws: settings of the shuffles; at most `_MOST_SHUFFLES` are used.
    """
    both = behaviour(first, second)
    shuffles = min(draws.shuffles, _MOST_SHUFFLES)
    chance = np.random.default_rng(draws.seed)
    places = chance.permuted(np.tile(np.arange(len(second)), (shuffles, 1)), axis=1)
    columns = {name: (both.first[:, k], both.second[:, k]) for k, name in enumerate(both.names)}
    columns[DEPTH] = tuple(table["layer"].to_numpy(np.float64) for table in (first, second))
    kept = counted_once(both.names)
    rows, observed, shuffled = [], [], []
    for name, (first_values, second_values) in columns.items():
        used = [both.names.index(counted) for counted in kept if counted != name and not by_definition(name, counted)]
        if not used or np.ptp(first_values) == 0 or np.ptp(second_values) == 0:
            continue
        heads, partners, _ = matched(both.first[:, used], both.second[:, used])
        ranks, partner_ranks = rankdata(first_values)[heads], rankdata(second_values)
        value = float(pearson(ranks, partner_ranks[partners]))
        null = np.asarray(pearson(ranks[None], partner_ranks[places[:, partners]]))
        rows.append(
            [model, random_weights, name, len(used), value, *percentile_interval(null), shuffle_p(value, null), len(heads)]
        )
        if name in kept:
            observed.append(value)
            shuffled.append(null)
    if observed:
        value, null = float(np.mean(observed)), np.mean(shuffled, axis=0)
        facts = [model, random_weights, MEAN, len(observed), value]
        rows.append([*facts, *_ends(null), shuffle_p(value, null), min(len(first), len(second))])
    table = pd.DataFrame(rows, columns=[name for name in AGREEMENT if name != "p_holm"])
    measured = ~table["measure"].isin([DEPTH, MEAN])
    holm = pd.Series(np.nan, index=table.index)
    if measured.any():
        holm[measured] = corrected_p(table.loc[measured, "p"], "holm", 1 / (1 + shuffles), LEVEL)
    return table.assign(p_holm=holm)[AGREEMENT]


def _ends(null: Floats) -> tuple[float, float]:
    low, high = percentile_interval(null)
    return float(low), float(high)


def write_matching(models: Sequence[Mapping[str, Any]], draws: Draws, out: str | Path, agreement_out: str | Path) -> None:
    """Write the matched heads of each compared model (`MATCHES`), and the agreement of each (`AGREEMENT`).

    Args:
        models: attributes of `ComparedModel` for each model, the run's model first.
        draws: settings of the shuffles.
        out, agreement_out: files to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    compared, tables = read_compared(models)
    first, *others = compared
    matches = [match_rows(model.name, tables[first.name], tables[model.name]) for model in others]
    agreement = [
        agreement_rows(model.name, model.random_weights, tables[first.name], tables[model.name], draws) for model in others
    ]
    write_table(pd.concat(matches)[MATCHES], out)
    write_table(pd.concat(agreement)[AGREEMENT], agreement_out)
