"""Rank correlations over heads: of the measures of one model, and of heads matched between models, both against a null.

Heads of one layer resemble each other, so two measures that both grow with depth correlate even if they are unrelated within
layers. Correlations of measures are therefore also taken within layers, and tested by shuffling heads within their layers.

Heads of two models are matched by their measures, which makes small distances no evidence. A measure is therefore compared over
heads that were matched by the other measures, and its agreement is compared with that of heads matched at random.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from attention_atlas.atlas.head_measures import BREADTH
from attention_atlas.atlas.measures import by_definition, measure_rows, numeric, read_measures, takes_few_values
from attention_atlas.errors import AtlasError
from attention_atlas.stats.intervals import Floats, percentile_interval
from attention_atlas.stats.ranks import pearson, spearman
from attention_atlas.stats.simultaneous import corrected_p

CORRELATIONS = ["measure_a", "measure_b", "spearman", "ci_low", "ci_high", "within_layers", "p", "p_holm", "n", "definitional"]
MATCHES = ["model", "layer", "head", "matched_layer", "matched_head", "distance"]
AGREEMENT = ["model", "random_weights", "measure", "matched_by", "agreement", "null_low", "null_high", "p", "p_holm", "n"]
LEVEL = 0.05
"""Level of significance for marks in the figure."""
LEAST = 8
"""Minimum number of heads with both measures."""
_MOST_SHUFFLES = 5000


@dataclass(frozen=True)
class Draws:
    """Numbers of bootstrap resamples of heads (intervals) and of shuffles within layers (p), and the seed of both."""

    resamples: int
    shuffles: int
    seed: int


def centred_ranks(values: Floats, layer: npt.NDArray[np.intp]) -> Floats:
    """[head] ranks minus the mean rank of their layer."""
    ranks = rankdata(values)
    sums, counts = np.bincount(layer, weights=ranks), np.bincount(layer)
    return ranks - (sums / np.maximum(counts, 1))[layer]


# Most pairs of measures have the same heads: compute their shuffles, and the ranks of a measure's resamples, only once.
@functools.lru_cache(maxsize=8)
def shuffles_within(layer: tuple[int, ...], draws: int, seed: int) -> npt.NDArray[np.intp]:
    """[draw, head] permuted positions of heads, within their layers."""
    chance = np.random.default_rng(seed).random((draws, len(layer)))
    shuffled = np.empty(chance.shape, dtype=np.intp)
    # Sort by layer, then by a random number: this shuffles each layer separately.
    shuffled[:, np.argsort(layer, kind="stable")] = np.argsort(np.asarray(layer) + chance, axis=1)
    return shuffled


@functools.lru_cache(maxsize=64)
def _drawn_ranks(values: tuple[float, ...], draws: Draws) -> Floats:
    """[resample, head] ranks of bootstrap resamples of heads."""
    return rankdata(np.asarray(values)[drawn_heads(len(values), draws)], axis=-1)


def drawn_heads(heads: int, draws: Draws) -> npt.NDArray[np.intp]:
    """[resample, head] positions of heads in bootstrap resamples."""
    return np.random.default_rng(draws.seed).integers(heads, size=(draws.resamples, heads))


def spearman_interval(first: Floats, second: Floats, draws: Draws) -> tuple[float, float, float]:
    """Rank correlation over all heads, and the ends of its 95 % interval by bootstrap over heads."""
    ranks = [_drawn_ranks(tuple(values.tolist()), draws) for values in (first, second)]
    low, high = percentile_interval(pearson(*ranks))
    return float(spearman(first, second)), float(low), float(high)


def within_layers(first: Floats, second: Floats, layer: npt.NDArray[np.intp], draws: Draws) -> tuple[float, Floats]:
    """Correlation of the ranks of two measures minus their means by layer, and [shuffle] its values after shuffles.

    Shuffles within layers give its exact distribution if the two measures are independent given the layer: heads of one layer
    are then exchangeable. NaN if a measure does not vary within any layer.
    """
    first_ranks, second_ranks = centred_ranks(first, layer), centred_ranks(second, layer)
    # Permutations change neither the means (0) nor the variance.
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt((first_ranks**2).sum() * (second_ranks**2).sum())
        shuffled = first_ranks[shuffles_within(tuple(layer.tolist()), draws.shuffles, draws.seed)] @ second_ranks / spread
    return float(pearson(first_ranks, second_ranks)), shuffled


def shuffle_p(observed: float, shuffled: Floats) -> float:
    """Share of shuffles at least as far from 0 as the observed value, which counts as one of them; NaN if it is NaN."""
    if not np.isfinite(observed):
        return np.nan
    beyond = int((np.abs(shuffled) >= abs(observed) - 1e-12).sum())  # less is rounding
    return (beyond + 1) / (len(shuffled) + 1)


def correlation_rows(table: pd.DataFrame, ranked: Sequence[str], draws: Draws) -> pd.DataFrame:
    """One row per pair of measures in heads.tsv that can be `ranked` and have enough heads, columns `CORRELATIONS`.

    spearman: over all heads; within_layers: of ranks minus their means by layer; p: two-sided, of within_layers, by shuffling
    heads within their layers. definitional: the two measures correlate by definition, and are not tested.
    """
    rows = []
    for first, second in combinations(ranked, 2):
        complete = table.dropna(subset=[first, second])
        if len(complete) < LEAST or takes_few_values(complete[first]) or takes_few_values(complete[second]):
            continue
        values = complete[first].to_numpy(np.float64), complete[second].to_numpy(np.float64)
        within, shuffled = within_layers(*values, complete["layer"].to_numpy(np.intp), draws)
        definitional = by_definition(first, second)
        p = np.nan if definitional else shuffle_p(within, shuffled)
        overall = spearman_interval(*values, draws)
        rows.append([first, second, *overall, within, p, np.nan, len(complete), definitional])
    frame = pd.DataFrame(rows, columns=CORRELATIONS)
    tested = frame["p"].notna()
    frame.loc[tested, "p_holm"] = corrected_p(frame.loc[tested, "p"], "holm", 1 / (1 + draws.shuffles), LEVEL)
    return frame


# --- heads matched between models -------------------------------------------------------------------------------------


def behaviour(first: pd.DataFrame, second: pd.DataFrame) -> tuple[list[str], Floats, Floats]:
    """Names of the measures that all heads of two models have, and [head, measure] of each, standardised over both."""
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
    return names, both[: len(first)], both[len(first) :]


def counted_once(names: Sequence[str]) -> tuple[str, ...]:
    """The measures that heads are matched by: the first of those that count the same weights (`Measure.shares`).

    Attention to [SEP], for example, is a part of the attention to sinks. Those of `BREADTH` all count: they rank most heads
    alike, but tell induction heads from others.
    """
    kept: list[str] = []
    for name in names:
        if not any(by_definition(name, counted) and not {name, counted} <= {*BREADTH} for counted in kept):
            kept.append(name)
    return tuple(kept)


def matched(first: Floats, second: Floats) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """Matched rows of two matrices [head, measure] and their distances: the assignment with the smallest sum of distances.

    Distance: root mean squared difference over measures, in standard deviations. All heads of the smaller model are matched.
    """
    distances = cdist(first, second) / np.sqrt(max(first.shape[1], 1))
    rows, columns = linear_sum_assignment(distances)
    return rows, columns, distances[rows, columns]


def match_rows(model: str, first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """One row per matched head of the first model, columns `MATCHES`; no rows if the models share no measure."""
    names, of_first, of_second = behaviour(first, second)
    if not names:
        return pd.DataFrame(columns=MATCHES)
    used = [names.index(name) for name in counted_once(names)]
    rows, columns, distances = matched(of_first[:, used], of_second[:, used])
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
    definition. null_low, null_high: central 95 % of the same statistic when the heads of the second model are shuffled within
    their layers: models that are alike in depth alone agree no better than that. p: one-sided; p_holm: over the measures of a
    model. Measures may correlate even with random weights: compare with a control.
    """
    names, of_first, of_second = behaviour(first, second)
    shuffles = min(draws.shuffles, _MOST_SHUFFLES)
    places = shuffles_within(tuple(second["layer"].tolist()), shuffles, draws.seed)
    kept = counted_once(names)
    rows = []
    for name, first_values, second_values in zip(names, of_first.T, of_second.T, strict=True):
        used = [names.index(counted) for counted in kept if counted != name and not by_definition(name, counted)]
        if not used or np.ptp(first_values) == 0 or np.ptp(second_values) == 0:
            continue
        heads, partners, _ = matched(of_first[:, used], of_second[:, used])
        ranks, partner_ranks = rankdata(first_values)[heads], rankdata(second_values)
        value = float(pearson(ranks, partner_ranks[partners]))
        null = np.asarray(pearson(ranks[None], partner_ranks[places[:, partners]]))
        p = (1 + int((null >= value - 1e-12).sum())) / (1 + shuffles)  # less is rounding
        facts = [model, random_weights, name, len(used), value, *percentile_interval(null), p]
        rows.append([*facts, np.nan, len(heads)])
    table = pd.DataFrame(rows, columns=AGREEMENT)
    return table.assign(p_holm=corrected_p(table["p"], "holm", 1 / (1 + shuffles), LEVEL))


def heads_of_run(
    tables: Mapping[str, pd.DataFrame],
    page_tables: Mapping[str, Mapping[str, pd.DataFrame]],
    model: str,
    shapes: Mapping[str, tuple[int, int]],
    table_models: Mapping[str, str],
    skip_reasons: Mapping[str, str],
    random_weights: Mapping[str, bool],
    resamples: int,
    shuffles: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """heads: model, layer, head and one column per measure of single heads from all studies; measures_long: columns `LONG`;
    measures: see `measure_rows`; correlations: see `correlation_rows`; the run's model matched with others (`MATCHES`,
    `AGREEMENT`).

    page_tables: compared model -> its tables from `sentences.of_model` and `head_scores`, the run's model first; none if the
    run compares no models. shapes: of each model, layers and heads per layer. table_models: table -> the model whose heads it
    measures: the run's model, or one trained from it.
    """
    if not tables:
        raise AtlasError("the run builds no study that measures single heads: name one in the run.")
    measured = read_measures(tables, *shapes[model], skip_reasons)
    heads = pd.concat([pd.Series(model, measured.heads.index, name="model"), measured.heads], axis=1)
    measures = measure_rows(measured, table_models)
    ranked = measures.loc[(measures["kind"] == "number") & (measures["not_ranked"] == ""), "measure"].tolist()
    compared = {name: read_measures(of_model, *shapes[name]).heads for name, of_model in page_tables.items()}
    first, draws = compared.pop(model, pd.DataFrame()), Draws(resamples, shuffles, seed)
    matches = [match_rows(name, first, table) for name, table in compared.items()]
    agreement = [agreement_rows(name, random_weights[name], first, table, draws) for name, table in compared.items()]
    return {
        "heads": heads,
        "measures_long": measured.long,
        "measures": measures,
        "correlations": correlation_rows(heads, ranked, draws),
        "matches": pd.concat(matches) if matches else pd.DataFrame(columns=MATCHES),
        "matching": pd.concat(agreement) if agreement else pd.DataFrame(columns=AGREEMENT),
    }
