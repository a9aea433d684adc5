"""Accuracy of systems that select one of several mentions, by group of items: the rows of Table 2 and of the GAP table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.methods.units import UNIT_COLUMNS, Units
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.stats.held_out import Bools, Resampling, best_head, folds_of, heldout

ALL, BEST_HEAD = "all", "best_head"
RANDOM_HEAD = "random_best_head"
"""The best head of a model with random weights."""
HEADS = (BEST_HEAD, RANDOM_HEAD)


def system_columns(group: str) -> list[str]:
    """Columns of `system_rows`."""
    return [
        *("system", group, "layer", "head", "direction", "n", "correct", "accuracy"),
        *("ci_low", "ci_high", "heldout_accuracy", "heldout_ci_low", "heldout_ci_high", *UNIT_COLUMNS),
    ]


def system_rows(
    heads: Bools,
    directions: Sequence[str],
    baselines: Mapping[str, npt.NDArray[np.float64]],
    groups: tuple[str, Mapping[str, Bools]],
    units: Units,
    resampling: Resampling,
) -> pd.DataFrame:
    """Accuracy of the baselines and of the best head in every group.

    The best head has the highest accuracy over all items, as in the paper. Its held-out accuracy is that of heads that are
    chosen on the other folds of units.

    Args:
        heads: [item, direction, layer, head] whether each head is right.
        directions: their names.
        baselines: system -> [item], as 0 and 1, or as a share for chance.
        groups: name of the column, and group -> [item] which items belong to it.
        units: of the items (documents or passages), for folds and bootstrap.
        resampling: folds and bootstrap.

    Returns:
        `system_columns`, one row for each system and group; the best head comes last.
    """
    direction, layer, head = best_head(heads.sum(axis=0))
    heldout_right = heldout_of_units(heads, units, resampling)
    column, members = groups
    rows = []
    for system, right in {**baselines, BEST_HEAD: heads[:, direction, layer, head].astype(float)}.items():
        is_head = system == BEST_HEAD
        for name, of_group in members.items():
            group_right, group_units = right[of_group], units.at(of_group)
            low, high = _interval(group_right, group_units, resampling)
            group_heldout = heldout_right[of_group].astype(float) if is_head else np.empty(0)
            heldout_low, heldout_high = _interval(group_heldout, group_units, resampling)
            rows.append(
                {
                    "system": system,
                    column: name,
                    "layer": layer + 1 if is_head else None,
                    "head": head + 1 if is_head else None,
                    "direction": directions[direction] if is_head else None,
                    "n": len(group_right),
                    "correct": group_right.sum(),
                    "accuracy": group_right.mean() if len(group_right) else np.nan,
                    "ci_low": low,
                    "ci_high": high,
                    "heldout_accuracy": group_heldout.mean() if len(group_heldout) else np.nan,
                    "heldout_ci_low": heldout_low,
                    "heldout_ci_high": heldout_high,
                    "unit": group_units.name,
                    "units": group_units.count,
                }
            )
    return pd.DataFrame(rows, columns=system_columns(column)).astype({"layer": "Int64", "head": "Int64"})


def heldout_of_units(heads: Bools, units: Units, resampling: Resampling) -> Bools:
    """[item] whether the head that is best on the other folds of units is right."""
    fold = folds_of(units.count, min(resampling.folds, units.count), resampling.seed)[units.of_item]
    return heldout(heads, fold)


def _interval(right: npt.NDArray[np.float64], units: Units, resampling: Resampling) -> tuple[float, float]:
    if not len(right):
        return np.nan, np.nan
    sums, sizes = units.sums(right[:, None]), units.sizes()[:, None]
    low, high = bootstrap_ratio(sums, sizes, resampling.resamples, resampling.seed)
    return float(low[0]), float(high[0])


def shown_rows(table: pd.DataFrame, group: str, names: Mapping[str, str], heldout_name: str) -> pd.DataFrame:
    """`system_rows` for a page: a row for each system with accuracies and intervals in %, held-out selection, and n.

    Args:
        table: of `system_rows`.
        group: column of the groups.
        names: system -> its title, in the order of the rows.
        heldout_name: title of the row of held-out selection, in lower case.
    """
    groups = list(dict.fromkeys(table[group]))
    rows = []
    for system, name in names.items():
        by_group = table[table["system"] == system].set_index(group)
        if by_group.empty:
            continue
        title = f"{name} {by_group.iloc[0]['layer']}-{by_group.iloc[0]['head']}" if system in HEADS else name
        rows.append({"system": title} | {g: _cell(by_group.loc[g]) for g in groups})
        if system in HEADS:
            title = heldout_name[0].upper() + heldout_name[1:] if system == BEST_HEAD else f"Random weights: {heldout_name}"
            rows.append({"system": title} | {g: _cell(by_group.loc[g], "heldout_accuracy", "heldout_ci") for g in groups})
    best = table[table["system"] == BEST_HEAD].set_index(group)
    return pd.DataFrame([*rows, {"system": "n"} | {g: str(best.loc[g, "n"]) for g in groups}])


def _cell(row: pd.Series, accuracy: str = "accuracy", interval: str = "ci") -> str:
    shown_interval = f"({100 * row[f'{interval}_low']:.1f} to {100 * row[f'{interval}_high']:.1f})"
    return f"{100 * row[accuracy]:.1f} {shown_interval}" if row["n"] else ""
