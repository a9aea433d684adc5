"""The same measures of several models: which properties also appear in a randomly initialised model?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from attention_atlas.atlas.compared import ComparedModel, mean_over_heads, read_compared_measures
from attention_atlas.atlas.correlations import Draws, correlation
from attention_atlas.atlas.measures import numeric, takes_few_values
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.head_measures import PLACE
from attention_atlas.methods.head_type_names import DENSE, VERTICAL
from attention_atlas.methods.layer_halves import shares_by_half
from attention_atlas.methods.units import UNIT_COLUMNS
from attention_atlas.published.claims import Claim
from attention_atlas.published.compare import DOES_NOT_HOLD, HOLDS, NOT_TESTED, UNDECIDED, claim_verdict
from attention_atlas.stats.extremes import largest_of_intervals, widths
from attention_atlas.stats.levels import LEVEL

Floats = npt.NDArray[np.float64]
MODELS = ["model", "random_weights", "measure", "mean", "ci_low", "ci_high", "spearman", "spearman_low", "spearman_high"]
MODELS += ["within_layers", "p", "n", "chance"]
MODEL_FINDINGS = ["finding", "statistic", "model", "random_weights", "value", "threshold", "ci_low", "ci_high", "n", "unit"]
MODEL_FINDINGS += ["verdict"]
ALL_MODELS, OF_SERIES = "all models", "models of the series"
CLAIMS = ["finding", "among", "models", "holds", "does_not_hold", "undecided", "not_tested", "holds_in"]
_TYPE = "distance_type"
"""Measure that names the type of each head by its distance features."""
MOST = 0.5
"""Share above which a head directs most of its attention to a target."""


def model_rows(
    tables: Mapping[str, pd.DataFrame],
    random_weights: Mapping[str, bool],
    draws: Draws,
    chance: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> pd.DataFrame:
    """One row per model and measure, columns `MODELS`.

    mean: over heads, with its interval by bootstrap over heads. spearman: with the first model's head of the same layer and
    number, if the shapes are equal; within_layers and p as in `correlation`. chance: value of a head without the effect, if it
    is known.

    Args:
        tables: model -> one row per head, the run's model first.
        random_weights: model -> whether it is a random-weights control.
        draws: settings of the bootstrap and of permutations.
        chance: model -> measure -> value of a head without the effect.
    """
    first_model = next(iter(tables))
    rows = []
    for model, table in tables.items():
        for name in numeric(table):
            mean = mean_over_heads(table[name], draws)
            agreement = [np.nan] * 5 if model == first_model else _agreement(tables[first_model], table, name, draws)
            rows.append(
                [
                    *(model, random_weights[model], name, *mean, *agreement),
                    *(int(table[name].count()), chance.get(model, {}).get(name, np.nan)),
                ]
            )
    return pd.DataFrame(rows, columns=MODELS)


def _agreement(first_table: pd.DataFrame, table: pd.DataFrame, name: str, draws: Draws) -> Sequence[float]:
    if name not in first_table or len(first_table) != len(table):
        return [np.nan] * 5
    both = first_table[[*PLACE, name]].merge(table[[*PLACE, name]], on=PLACE, suffixes=("", "_other")).dropna()
    first_values, values = both[name].to_numpy(np.float64), both[f"{name}_other"].to_numpy(np.float64)
    if len(both) != len(first_table) or takes_few_values(first_values) or takes_few_values(values):
        return [np.nan] * 5
    return correlation(first_values, values, both["layer"].to_numpy(np.intp), draws)


@dataclass(frozen=True)
class ModelTables:
    """Tables on which findings about one model are tested.

    Attributes:
        heads: one row per head, one column per measure.
        surface: like `clark2019/surface`.
        relations: like `clark2019/dependency_head_relations`.
    """

    heads: pd.DataFrame
    surface: pd.DataFrame
    relations: pd.DataFrame


_Test = Callable[[ModelTables, Draws], Claim]
"""The test of a finding; its statement and the name of the statistic are those of `_Statement`."""


@dataclass(frozen=True)
class _Statement:
    """A finding about one model's heads: the statement, the statistic in words, the tables it needs, and the test."""

    text: str
    statistic: str
    needs: tuple[str, ...]
    test: _Test


def depth_correlation(
    layer: npt.NDArray[np.integer], values: Floats, draws: Draws, level: float = LEVEL
) -> tuple[float, float, float, int]:
    """Rank correlation of layer and measure over heads, the ends of its interval, and the number of layers.

    Heads of one layer resemble each other, so the independent units are layers: permutations move all heads of a layer
    together. The interval contains 0 if the permutation test does not reject (`extremes.widths`), which is always the case
    with fewer than five layers.

    Args:
        layer, values: layer and value of each head.
        draws: number of permutations (its shuffles), and their seed.
        level: coverage of the interval.
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


def _with_depth(name: str, above: bool) -> _Test:
    def test(tables: ModelTables, draws: Draws) -> Claim:
        heads = tables.heads.dropna(subset=[name])
        correlation_with_depth = depth_correlation(heads["layer"].to_numpy(), heads[name].to_numpy(np.float64), draws)
        return Claim("", "", "", *correlation_with_depth, "layers", above=above)

    return test


def _in_half(kind: str, lower: bool) -> _Test:
    def test(tables: ModelTables, draws: Draws) -> Claim:
        heads = tables.heads.dropna(subset=[_TYPE])
        of_kind = (heads[_TYPE] == kind).to_numpy()
        below, above, low, high = shares_by_half(heads["layer"].to_numpy(), of_kind, draws.shuffles, draws.seed, LEVEL)
        if not of_kind.any():
            return Claim("", "", "", np.nan, np.nan, np.nan, 0, "")
        numbers = (below - above, low, high) if lower else (above - below, -high, -low)
        return Claim("", "", "", *numbers, heads["layer"].nunique(), "layers")

    return test


def _most(*measures: str) -> _Test:
    def test(tables: ModelTables, _: Draws) -> Claim:
        rows = tables.surface[tables.surface["measure"].isin(measures)]
        values, low, high = (rows[name].to_numpy(np.float64) for name in ("value", "ci_low", "ci_high"))
        units = int(rows["units"].min())
        interval = largest_of_intervals(values, low, high, units, LEVEL)
        return Claim("", "", "", float(values.max()), *interval, units, str(rows["unit"].iloc[0]), threshold=MOST)

    return test


def _relations(tables: ModelTables, _: Draws) -> Claim:
    first = tables.relations[(tables.relations["rank"] == 1) & tables.relations["choice_low"].notna()]
    if first.empty:
        return Claim("", "", "", np.nan, np.nan, np.nan, 0, "")
    chosen = first.loc[first["choice_low"].idxmax()]
    margin, low, high = (np.array([chosen[name]], dtype=np.float64) for name in ("margin", "ci_low", "ci_high"))
    units = int(chosen["units"])
    interval = largest_of_intervals(margin, low, high, units, LEVEL)
    return Claim("", "", "", float(margin[0]), *interval, units, str(chosen["unit"]))


STATEMENTS = (
    _Statement(
        "Attention to [SEP] rises with depth (our test; in Clark et al., Figure 2, it peaks in the middle layers)",
        "Spearman of layer with attention to [SEP]",
        ("to_sep",), _with_depth("to_sep", above=True),
    ),
    _Statement(
        "Lower layers have the broad heads (Clark et al., section 3.3)", "Spearman of layer with entropy",
        ("entropy",), _with_depth("entropy", above=False),
    ),
    _Statement(
        "Some head puts most of its attention on the next or the previous token (Clark et al., section 3.1)",
        "largest share of any head", ("to_previous",), _most("next", "previous"),
    ),
    _Statement(
        "Some head puts most of its attention on [SEP] (Clark et al., section 3.2)", "largest share of any head",
        ("to_sep",), _most("sep"),
    ),
    _Statement(
        "Single heads find relations better than a fixed offset (Clark et al., Table 1)",
        "accuracy minus the best offset's, for the head and relation with the largest margin on the other half of the text",
        (), _relations,
    ),
    _Statement(
        "Dense heads are mainly in the lower half of the layers (Guan et al., section 4)",
        "share of heads of this type in the lower half of the layers minus that in the upper half", (_TYPE,),
        _in_half(DENSE, lower=True),
    ),
    _Statement(
        "Vertical heads are mainly in the upper half of the layers (Guan et al., section 4)",
        "share of heads of this type in the upper half of the layers minus that in the lower half", (_TYPE,),
        _in_half(VERTICAL, lower=False),
    ),
)  # fmt: skip
"""Findings on heads of one model that its attention alone can show."""


def model_findings(tables: Mapping[str, ModelTables], random_weights: Mapping[str, bool], draws: Draws) -> pd.DataFrame:
    """One row per finding and model, columns `MODEL_FINDINGS`; "not tested" with the reason if a model lacks a measure.

    The verdict is that of `Claim`: it depends on which side of the threshold the whole interval lies. Depth: interval by
    permutations of layers (`depth_correlation`, `shares_by_half`). Largest share of any head: an interval for the largest of
    all true shares, since the largest observed share is biased upwards by selection. Relations: head and relation are chosen on
    one half of the units and tested on the other; no interval if no head has a relation to test. n: number of independent
    units, of the kind in `unit`.

    Args:
        tables: model -> the tables on which its findings are tested.
        random_weights: model -> whether it is a random-weights control.
        draws: its number of shuffles is the number of permutations of layers.
    """
    rows = []
    for statement in STATEMENTS:
        for model, model_tables in tables.items():
            absent = [name for name in statement.needs if name not in model_tables.heads]
            facts = (statement.text, statement.statistic, model, random_weights[model])
            if absent:
                reason = f"{NOT_TESTED}: {', '.join(absent)} not measured"
                rows.append([*facts, np.nan, np.nan, np.nan, np.nan, 0, "", reason])
                continue
            claim = statement.test(model_tables, draws)
            numbers = (claim.value, claim.threshold, claim.ci_low, claim.ci_high)
            rows.append([*facts, *numbers, claim.n, claim.unit, claim.verdict])
    return pd.DataFrame(rows, columns=MODEL_FINDINGS)


def surviving(findings: pd.DataFrame) -> dict[str, str]:
    """Finding that holds for the first model -> whether it holds with random weights too, in words; empty without control."""
    outcomes = {}
    for text, rows in findings.groupby("finding", sort=False):
        first_model, controls = rows.iloc[0], rows[rows["random_weights"].astype(bool)]
        if first_model["verdict"] != claim_verdict(True) or controls.empty:
            continue
        values = ", ".join(f"{value:.3g}" for value in controls["value"])
        if (controls["verdict"] == claim_verdict(True)).any():
            outcome = "holds with random weights as well"
        elif (controls["verdict"] == UNDECIDED).any():
            outcome = "undecided with random weights"
        elif controls["verdict"].str.startswith(NOT_TESTED).any():
            outcome = "not tested with random weights"
        else:
            outcome = "does not hold with random weights"
        outcomes[str(text)] = f"{outcome} ({first_model['value']:.3g} trained, {values} random)"
    return outcomes


def claim_rows(findings: pd.DataFrame, series: Sequence[str] = ()) -> pd.DataFrame:
    """One row per finding, columns `CLAIMS`: the number of models in which it holds, and which; controls do not count.

    A second row counts the models of the series alone, if some models that were trained are not in it.

    Args:
        findings: from `model_findings`.
        series: names of the models of a series.
    """
    trained = findings[~findings["random_weights"].astype(bool)]
    in_series = trained["model"].isin(series)
    rows = []
    for finding, tested in trained.groupby("finding", sort=False):
        for among, counted in ((ALL_MODELS, tested), (OF_SERIES, tested[in_series[tested.index]])):
            if among == OF_SERIES and len(counted) in (0, len(tested)):
                continue
            counts = [int((counted["verdict"] == verdict).sum()) for verdict in (HOLDS, DOES_NOT_HOLD, UNDECIDED)]
            holds_in = ", ".join(counted.loc[counted["verdict"] == HOLDS, "model"])
            rows.append([finding, among, len(counted), *counts, len(counted) - sum(counts), holds_in])
    return pd.DataFrame(rows, columns=CLAIMS)


def write_models(
    models: Sequence[Mapping[str, Any]],
    draws: Draws,
    run: str,
    label: RunLabel,
    out: str | Path,
    findings_out: str | Path,
    html_out: str | Path,
    claims_out: str | Path,
    series: Sequence[str] = (),
) -> None:
    """Write models.tsv (`MODELS`), models_findings.tsv (`MODEL_FINDINGS`) with its page, and models_claims.tsv (`CLAIMS`).

    Args:
        models: attributes of `ComparedModel` for each model, the run's model first.
        draws: settings of the bootstrap and of permutations.
        run: title of the run.
        label: label of model and sentences.
        out, findings_out, html_out, claims_out: files to write.
        series: names of the models of a series.

    Raises:
        AtlasError: a table cannot be used.
    """
    compared, measured = read_compared_measures(models)
    tables = {name: measures.table for name, measures in measured.items()}
    controls = {model.name: model.random_weights for model in compared}
    write_table(
        model_rows(tables, controls, draws, {name: measures.known_chances() for name, measures in measured.items()}), out
    )
    tested = {model.name: _tables_of(model, tables[model.name]) for model in compared}
    findings = model_findings(tested, controls, draws)
    write_table(findings, findings_out)
    claims = claim_rows(findings, series)
    write_table(claims, claims_out)
    notes = [
        label.line,
        "Findings that a model's attention alone can show, tested on each model. A finding holds where its whole interval lies "
        "on the side of the threshold that it claims, does not hold where it lies on the opposite side, and is undecided where "
        "it contains the threshold. Depth: permutations of layers, since heads of one layer resemble each other; fewer than "
        "five layers decide nothing. Largest share: an interval that contains the largest true share of all heads. Relations: "
        "chosen on one half of the text, tested on the other. n: number of independent units.",
        *(f"{text}: {what}." for text, what in surviving(findings).items()),
        *(
            f"{row.finding}: holds in {row.holds} of {row.models} {row.among.removeprefix('all ')}."
            for row in claims.itertuples()
            if row.models > 1
        ),
    ]
    write_html_table(findings, html_out, f"{run}: findings model by model", notes, formats={"n": "d"})


def _tables_of(model: ComparedModel, heads: pd.DataFrame) -> ModelTables:
    intervals = ["value", "ci_low", "ci_high", *UNIT_COLUMNS]
    surface = read_table(model.tables["clark2019/surface"], ["measure", *intervals])
    relations = ["rank", "choice_low", "margin", "ci_low", "ci_high", *UNIT_COLUMNS]
    return ModelTables(heads, surface, read_table(model.tables["clark2019/dependency_head_relations"], relations))
