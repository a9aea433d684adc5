"""The same measures of several models: means, findings, and heads matched by their measures.

The assignment minimises the distances between matched heads, so small distances alone are no evidence. A measure is therefore
compared over heads that were matched by the other measures, and its agreement is compared with that of heads matched at random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from attention_atlas.atlas.correlations import LEVEL, Draws, drawn_heads, shuffle_p
from attention_atlas.atlas.head_measures import BREADTH
from attention_atlas.atlas.measures import by_definition, numeric, read_measures
from attention_atlas.methods.head_types import DENSE, VERTICAL, shares_by_half
from attention_atlas.published.compare import Claim
from attention_atlas.stats.extremes import largest_of_intervals, widths
from attention_atlas.stats.intervals import percentile_interval
from attention_atlas.stats.levels import LEVEL as COVERAGE
from attention_atlas.stats.ranks import pearson
from attention_atlas.stats.simultaneous import corrected_p

Floats = npt.NDArray[np.float64]
MODELS = ["model", "random_weights", "measure", "mean", "ci_low", "ci_high", "n", "chance"]
MODEL_FINDINGS = ["finding", "statistic", "model", "random_weights", "value", "threshold", "ci_low", "ci_high", "n", "unit"]
MODEL_FINDINGS += ["verdict"]
_TYPE = "distance_type"
"""Measure that names the type of each head by its distance features."""
MOST = 0.5
"""Share above which a head directs most of its attention to a target."""
MATCHES = ["model", "layer", "head", "matched_layer", "matched_head", "distance"]
AGREEMENT = ["model", "random_weights", "measure", "matched_by", "agreement", "null_low", "null_high", "p", "p_holm", "n"]
DEPTH, MEAN = "depth", "mean"
"""Rows of the agreement in addition to measures: the depth of a head (not used for matching), and the mean of all measures."""
_MOST_SHUFFLES = 5000


class Behaviour(NamedTuple):
    """Measures that all heads of two models have: [head, measure] of each model, standardised over the heads of both."""

    names: tuple[str, ...]
    first: Floats
    second: Floats


def behaviour(first: pd.DataFrame, second: pd.DataFrame) -> Behaviour:
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
    measures; p_holm is over the measures of a model. Measures may correlate even with random weights: compare with a control.
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
        low, high = percentile_interval(null)
        rows.append([*facts, float(low), float(high), shuffle_p(value, null), min(len(first), len(second))])
    table = pd.DataFrame(rows, columns=[name for name in AGREEMENT if name != "p_holm"])
    measured = ~table["measure"].isin([DEPTH, MEAN])
    holm = pd.Series(np.nan, index=table.index)
    if measured.any():
        holm[measured] = corrected_p(table.loc[measured, "p"], "holm", 1 / (1 + shuffles), LEVEL)
    return table.assign(p_holm=holm)[AGREEMENT]


def model_rows(
    tables: Mapping[str, pd.DataFrame],
    random_weights: Mapping[str, bool],
    draws: Draws,
    chances: Mapping[str, Mapping[str, float]],
) -> pd.DataFrame:
    """One row per model and measure, columns `MODELS`.

    tables: model -> one row per head, the run's model first. mean: over heads, with its interval by bootstrap over heads.
    chance: value of a head without the effect.
    """
    rows = []
    for model, table in tables.items():
        for name in numeric(table):
            present = table[name].dropna().to_numpy(np.float64)
            low, high = percentile_interval(present[drawn_heads(len(present), draws)].mean(axis=1))
            facts = (model, random_weights[model], name, float(present.mean()), float(low), float(high))
            rows.append([*facts, len(present), chances[model].get(name, np.nan)])
    return pd.DataFrame(rows, columns=MODELS)


class ModelTables(NamedTuple):
    """Tables for the findings about one model: one row per head, `clark2019/surface`, `clark2019/dependency_head_relations`."""

    heads: pd.DataFrame
    surface: pd.DataFrame
    relations: pd.DataFrame


class _Statement(NamedTuple):
    """A finding about one model's heads: the statement, the statistic in words, the measures it needs, and the test."""

    text: str
    statistic: str
    needs: tuple[str, ...]
    test: Callable[[ModelTables, Draws], Claim]


_claim = partial(Claim, "", "", "")


def depth_correlation(
    layer: npt.NDArray[np.integer], values: Floats, draws: Draws, level: float = COVERAGE
) -> tuple[float, float, float, int]:
    """Rank correlation of layer and measure over heads, the ends of its interval, and the number of layers.

    Layers are the independent units: permutations move all heads of a layer together. The interval contains 0 if their test
    does not reject (`extremes.widths`), which is always the case with fewer than five layers.
    """
    _, of_head, sizes = np.unique(layer, return_inverse=True, return_counts=True)
    ranks = rankdata(values) - (len(values) + 1) / 2
    sums = np.bincount(of_head, weights=ranks, minlength=len(sizes))
    places = np.tile(np.arange(len(sizes)), (draws.shuffles + 1, 1))
    # The first row is the order of the model.
    order = np.concatenate([places[:1], np.random.default_rng(draws.seed).permuted(places[1:], axis=1)])
    layer_ranks = sizes[order].cumsum(axis=1) - (sizes[order] + len(values)) / 2
    with np.errstate(invalid="ignore"):
        spread = np.sqrt((sizes[order] * layer_ranks**2).sum(axis=1) * (ranks**2).sum())
        correlations = (layer_ranks * sums[order]).sum(axis=1) / spread
    half = widths(correlations[None, 1:], level)[0]
    low, high = np.clip([correlations[0] - half, correlations[0] + half], -1, 1)
    return float(correlations[0]), float(low), float(high), len(sizes)


def _with_depth(tables: ModelTables, draws: Draws, name: str, above: bool) -> Claim:
    heads = tables.heads.dropna(subset=[name])
    correlation_with_depth = depth_correlation(heads["layer"].to_numpy(), heads[name].to_numpy(np.float64), draws)
    return _claim(*correlation_with_depth, "layers", above=above)


def _in_half(tables: ModelTables, draws: Draws, kind: str, lower: bool) -> Claim:
    heads = tables.heads.dropna(subset=[_TYPE])
    of_kind = (heads[_TYPE] == kind).to_numpy()
    if not of_kind.any():
        return _claim(np.nan, np.nan, np.nan, 0, "")
    below, above, low, high = shares_by_half(heads["layer"].to_numpy(), of_kind, draws.shuffles, draws.seed, COVERAGE)
    numbers = (below - above, low, high) if lower else (above - below, -high, -low)
    return _claim(*numbers, heads["layer"].nunique(), "layers")


def _most(tables: ModelTables, _: Draws, measures: Sequence[str]) -> Claim:
    rows = tables.surface[tables.surface["measure"].isin(measures)]
    values, low, high = (rows[name].to_numpy(np.float64) for name in ("value", "ci_low", "ci_high"))
    units = int(rows["units"].min())
    interval = largest_of_intervals(values, low, high, units, COVERAGE)
    return _claim(float(values.max()), *interval, units, str(rows["unit"].iloc[0]), threshold=MOST)


def _relations(tables: ModelTables, _: Draws) -> Claim:
    first = tables.relations[(tables.relations["rank"] == 1) & tables.relations["choice_low"].notna()]
    if first.empty:
        return _claim(np.nan, np.nan, np.nan, 0, "")
    chosen = first.loc[first["choice_low"].idxmax()]
    margin, low, high = (np.array([chosen[name]], dtype=np.float64) for name in ("margin", "ci_low", "ci_high"))
    units = int(chosen["units"])
    return _claim(float(margin[0]), *largest_of_intervals(margin, low, high, units, COVERAGE), units, str(chosen["unit"]))


STATEMENTS = (
    _Statement(
        "Attention to [SEP] rises with depth (our test; in Clark et al., Figure 2, it peaks in the middle layers)",
        "Spearman of layer with attention to [SEP]",
        ("to_sep",), partial(_with_depth, name="to_sep", above=True),
    ),
    _Statement(
        "Lower layers have the broad heads (Clark et al., section 3.3)", "Spearman of layer with entropy",
        ("entropy",), partial(_with_depth, name="entropy", above=False),
    ),
    _Statement(
        "Some head puts most of its attention on the next or the previous token (Clark et al., section 3.1)",
        "largest share of any head", ("to_previous",), partial(_most, measures=("next", "previous")),
    ),
    _Statement(
        "Some head puts most of its attention on [SEP] (Clark et al., section 3.2)", "largest share of any head",
        ("to_sep",), partial(_most, measures=("sep",)),
    ),
    _Statement(
        "Single heads find relations better than a fixed offset (Clark et al., Table 1)",
        "accuracy minus the best offset's, for the head and relation with the largest margin on the other half of the text",
        (), _relations,
    ),
    _Statement(
        "Dense heads are mainly in the lower half of the layers (Guan et al., section 4)",
        "share of heads of this type in the lower half of the layers minus that in the upper half", (_TYPE,),
        partial(_in_half, kind=DENSE, lower=True),
    ),
    _Statement(
        "Vertical heads are mainly in the upper half of the layers (Guan et al., section 4)",
        "share of heads of this type in the upper half of the layers minus that in the lower half", (_TYPE,),
        partial(_in_half, kind=VERTICAL, lower=False),
    ),
)  # fmt: skip
"""Findings on heads of one model that its attention alone can show."""


def model_findings(tables: Mapping[str, ModelTables], random_weights: Mapping[str, bool], draws: Draws) -> pd.DataFrame:
    """One row per finding and model that has its measures, columns `MODEL_FINDINGS`.

    Depth: interval by permutations of layers (`depth_correlation`, `shares_by_half`). Largest share of any head: an interval
    for the largest of all true shares, since the largest observed share is biased upwards by selection. Relations: head and
    relation are chosen on one half of the units and tested on the other. n: number of independent units, of the kind in `unit`.
    """
    rows = []
    for statement in STATEMENTS:
        for model, model_tables in tables.items():
            if not {*statement.needs} <= {*model_tables.heads}:
                continue
            claim = statement.test(model_tables, draws)
            facts = (statement.text, statement.statistic, model, random_weights[model], claim.value, claim.threshold)
            rows.append([*facts, claim.ci_low, claim.ci_high, claim.n, claim.unit, claim.verdict])
    return pd.DataFrame(rows, columns=MODEL_FINDINGS)


def models(
    tables: Mapping[str, Mapping[str, pd.DataFrame]],
    shapes: Mapping[str, Sequence[int]],
    random_weights: Mapping[str, bool],
    resamples: int,
    shuffles: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Tables of compared models: models (`MODELS`), findings (`MODEL_FINDINGS`), matches (`MATCHES`), agreement (`AGREEMENT`).

    tables: model -> its tables from `sentences.of_model` and `head_scores`, the run's model first; shapes: layers and heads.
    """
    draws = Draws(resamples, shuffles, seed)
    measured = {model: read_measures(of_model, shapes[model][0], shapes[model][1]) for model, of_model in tables.items()}
    heads = {model: measures.table for model, measures in measured.items()}
    chances = {model: measures.known_chances() for model, measures in measured.items()}
    tested = {
        model: ModelTables(heads[model], of_model["clark2019/surface"], of_model["clark2019/dependency_head_relations"])
        for model, of_model in tables.items()
    }
    first, *others = tables
    matches = [match_rows(model, heads[first], heads[model]) for model in others]
    agreement = [agreement_rows(model, random_weights[model], heads[first], heads[model], draws) for model in others]
    return {
        "models": model_rows(heads, random_weights, draws, chances),
        "findings": model_findings(tested, random_weights, draws),
        "matches": pd.concat(matches)[MATCHES],
        "agreement": pd.concat(agreement)[AGREEMENT],
    }
