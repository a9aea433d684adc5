"""Figures 3, 4 and 5: scores along the steps of pruning, by order, by kind of attention, and by epoch of training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import read_parquet, write_table
from attention_atlas.methods.names import ALL, ANSWERS, CLASSIFICATION, STEP, TRANSLATION
from attention_atlas.stats.bootstrap import percentile_interval
from attention_atlas.studies.michel2019.claim_statistics import (
    curves_of,
    mean_of_curve,
    pruning_statistics,
    statistics_table,
    training_statistics,
)
from attention_atlas.studies.michel2019.effects import MaskedScores, masked_terms, read_answers, resampled_scores, unit_of
from attention_atlas.studies.michel2019.names import CURVE, LEAST_BLEU, ORDER_TITLES, RANDOM, TITLES, TOLERATED

Floats = npt.NDArray[np.float64]
FIGURE3 = ["experiment", "order", "draw", "percent", "count", "heads", *CURVE, "floor", "n", "unit"]
FIGURE4 = ["kind", "percent", "count", "heads", *CURVE, "n", "unit"]
FIGURE5 = ["epoch", "percent", "count", "heads", *CURVE, "share", "n", "unit"]


def pruning_curves(
    answers: Mapping[str, str | Path],
    labels: Mapping[str, RunLabel],
    translator: str,
    resamples: int,
    seed: int,
    curves_out: str | Path,
    by_kind_out: str | Path,
    out: str | Path,
    html_out: str | Path,
    statistics_out: str | Path,
) -> None:
    """Write the scores of all steps, with intervals by bootstrap over examples.

    Args:
        answers: experiment -> table of `pruned_answers`.
        labels: experiment -> model and corpus of the run.
        translator: the translation model in words.
        resamples, seed: of the bootstrap.
        curves_out: `FIGURE3`, heads of all kinds of attention together; floor: share of the most frequent label.
        by_kind_out: `FIGURE4`, curves within one kind of attention of the translation model.
        out, html_out: experiment, order, baseline, scores at some shares of heads, mean of the curve with its interval,
            `prunable`, n, unit; its page. For random orders the interval is the range of their means.
        statistics_out: the statistics of the claims, `claim_statistics.STATISTICS`.

    Raises:
        AtlasError: a table cannot be used.
    """
    tables, statistics, means = {}, [], []
    for name, path in answers.items():
        masked = read_answers(path, STEP, name)
        resampled = resampled_scores(masked, resamples, seed)
        rows = curve_rows(masked, resampled)
        tables[name] = rows.assign(heads=rows.groupby("scope")["count"].transform("max"))
        statistics += list(pruning_statistics(masked, resampled, name, resamples, seed))
        means.append(_mean_intervals(masked, resampled).assign(experiment=name))
    write_table(statistics_table(statistics), statistics_out)
    all_heads = [
        rows[rows["scope"] == ALL].assign(experiment=name, floor=_floor(answers[name], name)) for name, rows in tables.items()
    ]
    figure3 = pd.concat(all_heads, ignore_index=True)[FIGURE3]
    write_table(figure3, curves_out)
    by_kind = tables[TRANSLATION]
    write_table(by_kind[by_kind["scope"] != ALL].rename(columns={"scope": "kind"})[FIGURE4], by_kind_out)
    _summary(figure3, pd.concat(means), labels, translator, out, html_out)


def curve_rows(masked: MaskedScores, resampled: Floats) -> pd.DataFrame:
    """One row for each step: its keys, `CURVE`, n, unit.

    Args:
        masked: the steps.
        resampled: [resample, step] their scores.
    """
    low, high = percentile_interval(resampled)
    delta = masked.deltas
    columns = {"metric": masked.metric, "score": masked.baseline + delta, "baseline": masked.baseline, "delta": delta}
    return masked.keys.assign(**columns, ci_low=low, ci_high=high, n=len(masked.base), unit=unit_of(masked.metric))


def _mean_intervals(masked: MaskedScores, resampled: Floats) -> pd.DataFrame:
    """For each curve over all heads: order, mean_low, mean_high; random orders are one row with the range of their means."""
    curves = {name: rows for name, rows in curves_of(masked.keys).items() if name[1] == ALL}
    scores = masked.baseline + masked.deltas
    random = [float(mean_of_curve(rows, scores)) for name, rows in curves.items() if name[0] == RANDOM]
    ends = {name[0]: percentile_interval(mean_of_curve(rows, resampled)) for name, rows in curves.items() if name[0] != RANDOM}
    low_high = {order: (float(low), float(high)) for order, (low, high) in ends.items()} | {RANDOM: (min(random), max(random))}
    return pd.DataFrame(
        [(order, *interval) for order, interval in low_high.items()], columns=["order", "mean_low", "mean_high"]
    )


def _floor(path: str | Path, experiment: str) -> float:
    """Score of the most frequent label, in percent; 0 for translations."""
    if experiment == TRANSLATION:
        return 0.0
    frame = read_parquet(path, ANSWERS).drop_duplicates("record")
    return 100 * float(frame["expected"].value_counts(normalize=True).iloc[0])


def mean_score(rows: pd.DataFrame) -> float:
    """Mean of a curve over percent of heads masked (area below straight lines between its steps)."""
    ordered = rows.sort_values("percent")
    return float(np.trapezoid(ordered["score"], ordered["percent"]) / 100)


def prunable(rows: pd.DataFrame, tolerated: float = TOLERATED) -> int:
    """Percent of heads up to which no step of a curve loses more than `tolerated` BLEU or percentage points."""
    lost = rows.sort_values("percent")["delta"].to_numpy() < -tolerated
    percents = np.sort(rows["percent"].to_numpy())
    return int(percents[lost.argmax() - 1] if lost.any() and lost.argmax() > 0 else 0 if lost.any() else percents[-1])


def mean_curves(figure3: pd.DataFrame) -> pd.DataFrame:
    """The curves of `FIGURE3` with one mean curve of the random orders; their range as interval."""
    random = figure3["order"] == RANDOM
    groups = figure3[random].groupby(["experiment", "order", "percent"], sort=False)
    first = groups[["count", "heads", "metric", "baseline", "floor", "n", "unit"]].first()
    spread = groups["score"].agg(ci_low="min", ci_high="max")
    mean = groups[["score", "delta"]].mean().join(first).join(spread).reset_index().assign(draw=-1)
    return pd.concat([figure3[~random], mean[FIGURE3]], ignore_index=True)


def _summary(
    figure3: pd.DataFrame,
    intervals: pd.DataFrame,
    labels: Mapping[str, RunLabel],
    translator: str,
    out: str | Path,
    html_out: str | Path,
) -> None:
    rows = []
    ends = intervals.set_index(["experiment", "order"])
    for (name, order), curve in mean_curves(figure3).groupby(["experiment", "order"], sort=False):
        scores = curve.set_index("percent")["score"]
        at = {f"at_{percent}": scores[percent] for percent in (20, 40, 50, 60, 80) if percent in scores.index}
        facts = {"experiment": name, "order": order, "baseline": curve["baseline"].iloc[0]}
        mean = {"mean": mean_score(curve), **ends.loc[(name, order)]}
        rows.append(
            {**facts, **at, **mean, "prunable": prunable(curve), "n": curve["n"].iloc[0], "unit": curve["unit"].iloc[0]}
        )
    table = pd.DataFrame(rows)
    write_table(table, out)
    shown = table.assign(
        experiment=[TITLES[name] for name in table["experiment"]], order=[ORDER_TITLES[order] for order in table["order"]]
    )
    floor = figure3.loc[figure3["experiment"] == CLASSIFICATION, "floor"].iloc[0]
    draws = figure3.loc[figure3["order"] == RANDOM, "draw"].nunique()
    notes = [
        *(label.line for label in labels.values()),
        f"Translation model: {translator}.",
        "BLEU and accuracy (%) with the first heads of an order masked: at_20 with 20 % of them; mean: over the whole curve, "
        "with its interval by bootstrap over the n examples (sentences). prunable: percent of heads up to which no "
        f"step loses more than {TOLERATED:g} BLEU point or percentage point; the paper says 20 % and 40 % by "
        f"importance, but does not define a noticeable loss. Random: mean of {draws} orders, with the range of their means. "
        f"The most frequent label alone scores {floor:.1f} %.",
        "As in the paper, the order by scores with one head masked is chosen on the examples that it is evaluated on; under "
        "held-out selection, each half of the examples is pruned in the order of the other half.",
    ]
    formats = dict.fromkeys(table.columns[2:-3], ".1f") | {"prunable": "d", "n": "d"}
    write_html_table(shown, html_out, "Michel et al. 2019, Figure 3: pruning in several orders", notes, formats=formats)


def dynamics_table(path: str | Path, resamples: int, seed: int, out: str | Path, statistics_out: str | Path) -> None:
    """Write `FIGURE5`: share is the score over that of the full model after the same epoch, from `LEAST_BLEU` on.

    Args:
        path: table of `dynamics`.
        resamples, seed: of the bootstrap.
        out: file to write.
        statistics_out: the statistics of the claims, `claim_statistics.STATISTICS`.

    Raises:
        AtlasError: the table cannot be used.
    """
    keys = ["epoch", "percent", "count"]
    frame = read_parquet(path, [*keys, *ANSWERS])
    epochs = {int(epoch): masked_terms(answers, keys, TRANSLATION) for epoch, answers in frame.groupby("epoch", sort=True)}
    resampled = {epoch: resampled_scores(masked, resamples, seed) for epoch, masked in epochs.items()}
    table = pd.concat([curve_rows(masked, resampled[epoch]) for epoch, masked in epochs.items()], ignore_index=True)
    share = table["score"] / table["baseline"].where(table["baseline"] >= LEAST_BLEU)
    write_table(table.assign(heads=table["count"].max(), share=share)[FIGURE5], out)
    write_table(statistics_table(list(training_statistics(epochs, resampled, TRANSLATION))), statistics_out)
