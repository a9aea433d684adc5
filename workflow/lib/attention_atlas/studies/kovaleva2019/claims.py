"""Claims of Kovaleva et al. (2019) on order and size, tested on a run's models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from attention_atlas.published.claims import Claim, all_hold
from attention_atlas.studies.kovaleva2019.change_statistics import FREQUENT, LAST_LAYERS, RARE
from attention_atlas.studies.kovaleva2019.disabling_tables import FRAME_HEADS
from attention_atlas.studies.kovaleva2019.names import (
    CLASS_TITLES,
    CLASSES,
    DIAGONAL,
    FEWEST_EXAMPLES,
    HEADLINE,
    LAYER,
    NETWORK,
    PADDED,
    REAL,
    RULES,
    TASK_TITLES,
)
from attention_atlas.studies.kovaleva2019.points import POINTS

RARE_SHARE = 0.1
"""Diagonal maps are rare below this share; the paper's Figure 2 has 4 to 7 %."""
TOLERATED = 1.0
"""A task does not suffer if it loses less than this many percentage points; the paper names no number."""
_ANNOTATORS = {RULES: "rules", NETWORK: "network"}
_MOST_DECIMALS = 6
_CROPS = {REAL: "maps of real length", PADDED: "maps padded as in the published code"}


def claims(frames: Mapping[str, pd.DataFrame]) -> Iterator[Claim]:
    """The claims.

    Args:
        frames: the tables statistics (`change_statistics`), gains and table1, disabling, figure2, patterns, figure8, and
            figure3 where the run has a corpus of frames.
    """
    yield from _last_layers(frames["statistics"])
    yield from _disabled_heads(frames["disabling"])
    yield from _pretraining(frames["gains"], tasks=frames["table1"]["task"].nunique())
    yield from _classes(frames["statistics"], frames["figure2"], frames["patterns"])
    if "figure3" in frames:
        yield _frame_heads(frames["figure3"])
        yield from _disabled_frame_heads(frames["figure3"], frames["figure8"])


def _last_layers(statistics: pd.DataFrame) -> Iterator[Claim]:
    rows = statistics[(statistics["statistic"] == LAST_LAYERS) & (statistics["task"] != "qqp")]
    for crop, maps in _CROPS.items():
        parts = _by_task(rows[rows["of"] == crop], "smallest mean cosine of an earlier layer minus that of the last two")
        if parts:
            yield all_hold(
                f"Fine-tuning changes the last two layers most in all tasks but QQP (Figure 5; {maps})",
                f"{_listed(parts, 3)}{_few(parts)}",
                list(parts.values()),
            )


def _disabled_heads(disabling: pd.DataFrame) -> Iterator[Claim]:
    heads = disabling[(disabling["action"] == "uniform") & (disabling["unit"] == "heads")]
    largest = _by_task(
        heads,
        f"largest gain from disabling a head (interval corrected for the choice; these models), {POINTS}",
        "best",
        "best_delta",
    )
    yield all_hold(
        "In every task some head can be disabled with a gain (section 4.6)", _listed(largest, 1), list(largest.values())
    )
    statistic = f"gain from disabling the head that is best on the other half of the examples (these models), {POINTS}"
    heldout = _by_task(heads, statistic, "heldout", "heldout_delta")
    yield all_hold(
        "In every task a head that is chosen for its gain also gains on other examples (not tested in the paper)",
        _listed(heldout, 1),
        list(heldout.values()),
    )


def _pretraining(gains: pd.DataFrame, tasks: int) -> Iterator[Claim]:
    parts = _by_task(
        gains[gains["metric"] != "f1"], f"score from pre-trained minus score from random weights (these models), {POINTS}"
    )
    if parts:
        some = f" ({len(parts)} of {tasks} tasks trained from random weights)" if len(parts) < tasks else ""
        statement = f"Fine-tuning from pre-trained weights beats random weights in every task (Table 1){some}"
        yield all_hold(statement, _listed(parts, 1), list(parts.values()))


def _classes(statistics: pd.DataFrame, figure2: pd.DataFrame, patterns: pd.DataFrame) -> Iterator[Claim]:
    """The claims about classes: tested with the maps as `HEADLINE` classifies them, beside those of the other annotator."""
    shares = figure2.groupby(["annotator", "class"])["share"].mean()
    by_annotator = [
        f"{title}: " + ", ".join(f"{CLASS_TITLES[name]} {100 * shares[annotator, name]:.0f} %" for name in CLASSES)
        for annotator, title in _ANNOTATORS.items()
    ]
    rows = statistics.set_index(["statistic", "of"])
    classified = f"maps classified by the {_ANNOTATORS[HEADLINE]}; classification errors are not in the interval"
    differences = _of_annotators(rows.loc[FREQUENT], 100, 0)
    yield _claim(
        "Vertical and heterogeneous maps are the two most frequent classes (Figure 2)",
        f"{'; '.join(by_annotator)}. Difference in percentage points: {differences}",
        f"smaller share of the two minus the largest of the others, mean over tasks ({classified})",
        rows.loc[(FREQUENT, HEADLINE)],
    )
    labelled = patterns[(patterns["folds"] == LAYER) & (patterns["class"] == DIAGONAL)].set_index("annotator")
    errors = ", ".join(
        f"{title} {100 * labelled.loc[name, 'recall']:.0f} % and {100 * labelled.loc[name, 'precision']:.0f} %"
        for name, title in _ANNOTATORS.items()
    )
    yield _claim(
        f"Diagonal maps are rare (Figure 2; less than {100 * RARE_SHARE:.0f} %, our threshold)",
        f"Share in %: {_of_annotators(rows.loc[RARE], 100, 100 * RARE_SHARE)}. Recall and precision on labelled maps of other "
        f"layers: {errors}",
        f"share of diagonal maps, mean over tasks ({classified})",
        rows.loc[(RARE, HEADLINE)],
        threshold=RARE_SHARE,
        above=False,
    )


def _of_annotators(rows: pd.DataFrame, scale: float, threshold: float) -> str:
    """The value and interval of a statistic with the maps as each annotator classifies them."""

    def text(name: str) -> str:
        value, low, high = (_shown(scale * float(rows.loc[name, of]), 1, threshold) for of in ("value", "ci_low", "ci_high"))
        return f"{_ANNOTATORS[name]} {value} [{low} to {high}]"

    return ", ".join(text(name) for name in _ANNOTATORS)


def _frame_heads(heads: pd.DataFrame) -> Claim:
    best = [row for _, row in heads.nlargest(FRAME_HEADS, "value").iterrows()]
    statistic = "attention on frame links above pairs at the same distance (interval for all heads together)"
    parts = [
        Claim(
            "", "", statistic, row["margin"], row["margin_all_low"], row["margin_all_high"], int(row["n_margin"]), "sentences"
        )
        for row in best
    ]
    ours = ", ".join(f"{row['layer']:.0f}-{row['head']:.0f} {row['value']:.2f} (control {row['control']:.2f})" for row in best)
    few = f"; fewer than {FEWEST_EXAMPLES} sentences, no interval" if parts[0].n < FEWEST_EXAMPLES else ""
    statement = (
        "The two heads with the most attention on frame links exceed the attention expected from token distance (section 4.2)"
    )
    return all_hold(statement, ours + few, parts)


def _disabled_frame_heads(heads: pd.DataFrame, disabled: pd.DataFrame) -> Iterator[Claim]:
    """Section 5: the heads with the most attention on frame links are not needed for the tasks.

    None where the fine-tuned models do not have these heads.
    """
    uniform = disabled[disabled["action"] == "uniform"]
    best = heads.nlargest(FRAME_HEADS, "value")[["layer", "head"]]
    rows = best.merge(uniform, on=["layer", "head"])
    if len(rows) < len(best) * uniform["task"].nunique() or rows.empty:
        return
    statistic = f"change in score when one of the two heads attends uniformly (interval over examples and seeds), {POINTS}"
    renamed = rows.drop(columns=["ci_low", "ci_high"]).rename(
        columns={"delta": "value", "pair_ci_low": "ci_low", "pair_ci_high": "ci_high", "pair_level": "level"}
    )
    parts: list[Claim] = []
    texts: list[str] = []
    for (layer, head), of_head in renamed.groupby(["layer", "head"], sort=False):
        of_tasks = _by_task(of_head, statistic, threshold=-TOLERATED)
        parts += of_tasks.values()
        texts.append(f"{layer}-{head}: {_listed(of_tasks, 1)}")
    statement = (
        "Disabling either of the two heads with the most attention on frame links lowers the score of no task by one "
        "percentage point or more (section 5; our threshold)"
    )
    yield all_hold(statement, "; ".join(texts), parts)


def _by_task(
    rows: pd.DataFrame, statistic: str, interval: str = "", value: str = "value", threshold: float = 0.0
) -> dict[str, Claim]:
    """Task -> a claim about this task alone.

    Args:
        rows: task, value, ci_low, ci_high, level, n.
        statistic: what the value is.
        interval: prefix of the columns ci_low and ci_high, where they have one.
        value: name of the column value.
        threshold: above which the claim holds.
    """
    ends = {f"{interval}_{end}": end for end in ("ci_low", "ci_high")}
    renamed = rows.rename(columns={**ends, value: "value"})
    return {str(row["task"]): _claim("", "", statistic, row, threshold) for _, row in renamed.iterrows()}


def _claim(statement: str, ours: str, statistic: str, row: pd.Series, threshold: float = 0.0, above: bool = True) -> Claim:
    value, low, high, level = (float(row[name]) for name in ("value", "ci_low", "ci_high", "level"))
    return Claim(statement, ours, statistic, value, low, high, int(row["n"]), "examples", threshold, above, level)


def _listed(parts: Mapping[str, Claim], decimals: int) -> str:
    """The value and interval of every task."""

    def listed(part: Claim) -> str:
        value, low, high = (_shown(number, decimals, part.threshold, "+") for number in (part.value, part.ci_low, part.ci_high))
        return value + (" [no interval]" if math.isnan(part.ci_low) else f" [{low}, {high}]")

    return ", ".join(f"{TASK_TITLES[task]} {listed(part)}" for task, part in parts.items())


def _shown(value: float, decimals: int, threshold: float, sign: str = "") -> str:
    """A number with at least so many decimals, and as many more as show on which side of the threshold it lies."""
    while decimals < _MOST_DECIMALS and value != threshold and round(value, decimals) == round(threshold, decimals):
        decimals += 1
    return f"{value:{sign}.{decimals}f}"


def _few(parts: Mapping[str, Claim]) -> str:
    few = [TASK_TITLES[task] for task, part in parts.items() if part.n < FEWEST_EXAMPLES]
    return f"; fewer than {FEWEST_EXAMPLES} examples: {', '.join(few)}" if few else ""
