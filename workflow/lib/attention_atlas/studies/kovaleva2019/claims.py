"""Claims of Kovaleva et al. (2019) on order and size, tested on a run's models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from attention_atlas.published.claims import Claim, all_hold
from attention_atlas.studies.kovaleva2019.change_statistics import FREQUENT, LAST_LAYERS, RARE
from attention_atlas.studies.kovaleva2019.names import (
    CLASS_TITLES,
    CLASSES,
    FEWEST_EXAMPLES,
    HEADLINE,
    PADDED,
    REAL,
    TASK_TITLES,
)

RARE_SHARE = 0.1
"""Diagonal maps are rare below this share; the paper's Figure 2 has 4 to 7 %."""
_CROPS = {REAL: "maps of real length", PADDED: "maps padded as in the published code"}


def claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[Claim]:
    """The claims.

    Args:
        frames: the tables statistics (`change_statistics`), gains (`table1`), disabling, figure2, and figure3 where the run has
            a corpus of frames.
    """
    yield from _last_layers(frames["statistics"])
    yield from _disabled_heads(frames["disabling"])
    yield from _pretraining(frames["gains"], tasks=frames["table1"]["task"].nunique())
    yield from _classes(frames["statistics"], frames["figure2"])
    if "figure3" in frames:
        yield _frame_heads(frames["figure3"])


def _last_layers(statistics: pd.DataFrame) -> Iterator[Claim]:
    rows = statistics[(statistics["statistic"] == LAST_LAYERS) & (statistics["task"] != "qqp")]
    for crop, maps in _CROPS.items():
        parts = _by_task(rows[rows["of"] == crop], "smallest mean cosine of an earlier layer minus that of the last two")
        if parts:
            yield all_hold(
                f"Fine-tuning changes the last two layers most in all tasks but QQP ({maps})",
                f"{_listed(parts, '+.3f')}{_few(parts)}",
                list(parts.values()),
            )


def _disabled_heads(disabling: pd.DataFrame) -> Iterator[Claim]:
    heads = disabling[(disabling["action"] == "uniform") & (disabling["unit"] == "heads")]
    largest = _by_task(
        heads, "largest gain of disabling a head, percentage points (interval corrected for the choice)", "best", "best_delta"
    )
    yield all_hold("In every task some head can be disabled with a gain", _listed(largest, "+.1f"), list(largest.values()))
    statistic = "gain of disabling the head that is best on the other half of the examples, percentage points"
    heldout = _by_task(heads, statistic, "heldout", "heldout_delta")
    yield all_hold(
        "In every task a head that is chosen for its gain also gains on other examples (not tested in the paper)",
        _listed(heldout, "+.1f"),
        list(heldout.values()),
    )


def _pretraining(gains: pd.DataFrame, tasks: int) -> Iterator[Claim]:
    parts = _by_task(
        gains[gains["metric"] != "f1"], "score from pre-trained minus score from random weights, percentage points"
    )
    if parts:
        some = f" ({len(parts)} of {tasks} tasks trained from random weights)" if len(parts) < tasks else ""
        statement = f"Fine-tuning from pre-trained weights beats random weights in every task{some}"
        yield all_hold(statement, _listed(parts, "+.1f"), list(parts.values()))


def _classes(statistics: pd.DataFrame, figure2: pd.DataFrame) -> Iterator[Claim]:
    shares = figure2[figure2["annotator"] == HEADLINE].groupby("class")["share"].mean()
    ours = ", ".join(f"{CLASS_TITLES[name]} {shares[name]:.0%}" for name in CLASSES)
    rows = statistics[statistics["of"] == HEADLINE].set_index("statistic")
    yield _claim(
        "Vertical and heterogeneous maps are the two most frequent classes",
        ours,
        "smaller share of the two minus the largest of the others, mean over tasks",
        rows.loc[FREQUENT],
    )
    yield _claim(
        f"Diagonal maps are rare (less than {RARE_SHARE:.0%})",
        ours,
        "share of diagonal maps, mean over tasks",
        rows.loc[RARE],
        threshold=RARE_SHARE,
        above=False,
    )


def _frame_heads(heads: pd.DataFrame) -> Claim:
    best = [row for _, row in heads.nlargest(2, "value").iterrows()]
    statistic = "attention on frame links above pairs at the same distance (interval for all heads together)"
    parts = [
        Claim(
            "", "", statistic, row["margin"], row["margin_all_low"], row["margin_all_high"], int(row["n_margin"]), "sentences"
        )
        for row in best
    ]
    ours = ", ".join(f"{row['layer']:.0f}-{row['head']:.0f} {row['value']:.2f} (control {row['control']:.2f})" for row in best)
    few = f"; fewer than {FEWEST_EXAMPLES} sentences, no interval" if parts[0].n < FEWEST_EXAMPLES else ""
    statement = "The two heads with the most attention on frame links exceed the attention expected from token distance"
    return all_hold(statement, ours + few, parts)


def _by_task(rows: pd.DataFrame, statistic: str, interval: str = "", value: str = "value") -> dict[str, Claim]:
    """Task -> a claim about this task alone.

    Args:
        rows: task, value, ci_low, ci_high, level, n.
        statistic: what the value is.
        interval: prefix of the columns ci_low and ci_high, where they have one.
        value: name of the column value.
    """
    ends = {f"{interval}_{end}": end for end in ("ci_low", "ci_high")}
    renamed = rows.rename(columns={**ends, value: "value"})
    return {str(row["task"]): _claim("", "", statistic, row) for _, row in renamed.iterrows()}


def _claim(statement: str, ours: str, statistic: str, row: pd.Series, threshold: float = 0.0, above: bool = True) -> Claim:
    value, low, high, level = (float(row[name]) for name in ("value", "ci_low", "ci_high", "level"))
    return Claim(statement, ours, statistic, value, low, high, int(row["n"]), "examples", threshold, above, level)


def _listed(parts: Mapping[str, Claim], form: str) -> str:
    """The value and interval of every task."""

    def listed(part: Claim) -> str:
        known = not math.isnan(part.ci_low)
        return f"{part.value:{form}}" + (f" [{part.ci_low:{form}}, {part.ci_high:{form}}]" if known else " [no interval]")

    return ", ".join(f"{TASK_TITLES[task]} {listed(part)}" for task, part in parts.items())


def _few(parts: Mapping[str, Claim]) -> str:
    few = [TASK_TITLES[task] for task, part in parts.items() if part.n < FEWEST_EXAMPLES]
    return f"; fewer than {FEWEST_EXAMPLES} examples: {', '.join(few)}" if few else ""
