"""The same measures of several models: which properties also appear in a randomly initialised model?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attention_atlas.atlas.compared import mean_over_heads, read_compared
from attention_atlas.atlas.correlations import Draws, correlation, drawn_heads
from attention_atlas.atlas.findings import NOT_TESTED
from attention_atlas.atlas.measures import numeric, takes_few_values
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_table, write_table
from attention_atlas.methods.head_measures import PLACE
from attention_atlas.methods.relation_tables import LEVEL
from attention_atlas.published.compare import UNDECIDED, claim_verdict
from attention_atlas.stats.bootstrap import percentile_interval
from attention_atlas.stats.rank_correlation import spearman

MODELS = ["model", "random_weights", "measure", "mean", "ci_low", "ci_high", "spearman", "spearman_low", "spearman_high"]
MODELS += ["within_layers", "p", "n"]
MODEL_FINDINGS = ["finding", "statistic", "model", "random_weights", "value", "ci_low", "ci_high", "n", "verdict"]


def model_rows(tables: Mapping[str, pd.DataFrame], random_weights: Mapping[str, bool], draws: Draws) -> pd.DataFrame:
    """A row a model and measure, columns `MODELS`.

    mean: over heads, with its interval by bootstrap over heads. spearman: with the first model's head at the same place, where
    the shapes are the same; within_layers and p as in `correlation`.

    Args:
        tables: model -> one row a head, the run's model first.
        random_weights: model -> whether it is a control.
        draws: of the bootstrap and of permutations.
    """
    first_model = next(iter(tables))
    rows = []
    for model, table in tables.items():
        for name in numeric(table):
            mean = mean_over_heads(table[name], draws)
            agreement = [np.nan] * 5 if model == first_model else _agreement(tables[first_model], table, name, draws)
            rows.append([model, random_weights[model], name, *mean, *agreement, int(table[name].count())])
    return pd.DataFrame(rows, columns=MODELS)


def _agreement(first_table: pd.DataFrame, table: pd.DataFrame, name: str, draws: Draws) -> Sequence[float]:
    if name not in first_table or len(first_table) != len(table):
        return [np.nan] * 5
    both = first_table[[*PLACE, name]].merge(table[[*PLACE, name]], on=PLACE, suffixes=("", "_other")).dropna()
    first_values, values = both[name].to_numpy(np.float64), both[f"{name}_other"].to_numpy(np.float64)
    if len(both) != len(first_table) or takes_few_values(first_values) or takes_few_values(values):
        return [np.nan] * 5
    return correlation(first_values, values, both["layer"].to_numpy(np.intp), draws)


_Test = Callable[[pd.DataFrame, pd.DataFrame, Draws], tuple[float, float, float, int, str]]
"""From heads, relations and draws to value, ci_low, ci_high, n, and verdict."""


@dataclass(frozen=True)
class _Statement:
    """A finding on one model's heads: what it says, the statistic in words, its needs, and the test."""

    text: str
    statistic: str
    needs: tuple[str, ...]
    test: _Test


def _with_depth(name: str, sign: int) -> _Test:
    def test(heads: pd.DataFrame, _: pd.DataFrame, draws: Draws) -> tuple[float, float, float, int, str]:
        measured_heads = heads.dropna(subset=[name])
        layer, values = measured_heads["layer"].to_numpy(np.float64), measured_heads[name].to_numpy(np.float64)
        drawn = drawn_heads(len(measured_heads), draws)
        low, high = percentile_interval(spearman(layer[drawn], values[drawn]))
        excludes_0 = bool(low > 0 or high < 0)
        verdict = claim_verdict(bool(low > 0) == (sign > 0)) if excludes_0 else UNDECIDED
        return float(spearman(layer, values)), float(low), float(high), len(measured_heads), verdict

    return test


def _most(names: Sequence[str]) -> _Test:
    def test(heads: pd.DataFrame, _: pd.DataFrame, __: Draws) -> tuple[float, float, float, int, str]:
        largest = float(heads[list(names)].max(axis=None))
        return largest, np.nan, np.nan, len(heads), claim_verdict(largest > 0.5)

    return test


def _relations(_: pd.DataFrame, relations: pd.DataFrame, __: Draws) -> tuple[float, float, float, int, str]:
    relation_rows = relations[relations["relation"] != "all"]
    above = (relation_rows["tested_margin"] > 0) & (relation_rows["p_holm"] < LEVEL)
    # Tests that reject nothing do not show that there is nothing.
    return float(above.sum()), np.nan, np.nan, len(relation_rows), claim_verdict(True if above.any() else None)


STATEMENTS = (
    _Statement(
        "Deeper heads attend more to [SEP] (Clark et al., section 3.2)", "Spearman of layer with attention to [SEP]",
        ("to_sep",), _with_depth("to_sep", 1),
    ),
    _Statement(
        "Lower layers have the broad heads (Clark et al., section 3.3)", "Spearman of layer with entropy",
        ("entropy",), _with_depth("entropy", -1),
    ),
    _Statement(
        "Some head puts most of its attention on the next or the previous piece (Clark et al., section 3.1)",
        "largest share of any head", ("to_next", "to_previous"), _most(("to_next", "to_previous")),
    ),
    _Statement(
        "Some head puts most of its attention on [SEP] (Clark et al., section 3.2)", "largest share of any head",
        ("to_sep",), _most(("to_sep",)),
    ),
    _Statement(
        "Single heads find relations better than a fixed offset (Clark et al., Table 1)",
        f"relations whose best head of one half beats the best offset on the other half (exchanges, p < {LEVEL} after Holm)",
        (), _relations,
    ),
)  # fmt: skip
"""Findings on heads of one model that its attention alone can show."""


def model_findings(
    tables: Mapping[str, pd.DataFrame],
    relations: Mapping[str, pd.DataFrame],
    random_weights: Mapping[str, bool],
    draws: Draws,
) -> pd.DataFrame:
    """A row a finding and model, columns `MODEL_FINDINGS`; "not tested" with the reason where a model lacks a measure.

    A finding on depth holds where its interval lies on the side of 0 that it claims, does not hold where it lies on the
    opposite side, and is undecided where the interval contains 0.

    Args:
        tables: model -> one row a head.
        relations: model -> a row a relation, as `clark2019/dependencies`.
        random_weights: model -> whether it is a control.
        draws: of the bootstrap over heads.
    """
    rows = []
    for statement in STATEMENTS:
        for model, table in tables.items():
            absent = [name for name in statement.needs if name not in table]
            facts = (statement.text, statement.statistic, model, random_weights[model])
            if absent:
                rows.append([*facts, np.nan, np.nan, np.nan, 0, f"{NOT_TESTED}: {', '.join(absent)} not measured"])
                continue
            rows.append([*facts, *statement.test(table, relations[model], draws)])
    return pd.DataFrame(rows, columns=MODEL_FINDINGS)


def surviving(findings: pd.DataFrame) -> dict[str, str]:
    """Finding that holds for the first model -> whether it holds with random weights, in words; empty without a control."""
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
        else:
            outcome = "does not hold with random weights"
        outcomes[str(text)] = f"{outcome} ({first_model['value']:.3g} trained, {values} random)"
    return outcomes


def write_models(
    models: Sequence[Mapping[str, Any]],
    draws: Draws,
    run: str,
    label: RunLabel,
    out: str | Path,
    findings_out: str | Path,
    html_out: str | Path,
) -> None:
    """Write models.tsv (`MODELS`), models_findings.tsv (`MODEL_FINDINGS`) with its page.

    Args:
        models: attributes of `ComparedModel` for each model, the run's model first.
        draws: of the bootstrap and of permutations.
        run: title of the run.
        label: model and sentences.
        out, findings_out, html_out: files to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    compared, tables = read_compared(models)
    controls = {model.name: model.random_weights for model in compared}
    write_table(model_rows(tables, controls, draws), out)
    needed = ["relation", "tested_margin", "p_holm"]
    relations = {model.name: read_table(model.tables["clark2019/dependencies"], needed) for model in compared}
    findings = model_findings(tables, relations, controls, draws)
    write_table(findings, findings_out)
    notes = [
        label.line,
        "Findings that a model's attention alone can show, tested on each model. Intervals: bootstrap over heads; a finding on "
        "depth holds where its interval lies on the side of 0 that it claims, does not hold where it lies on the opposite "
        "side, and is undecided where it contains 0.",
        *(f"{text}: {what}." for text, what in surviving(findings).items()),
    ]
    write_html_table(findings, html_out, f"{run}: findings model by model", notes, formats={"n": "d"})
