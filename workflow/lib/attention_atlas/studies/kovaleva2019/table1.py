"""Table 1: tasks without fine-tuning, fine-tuned from random weights, and fine-tuned from pre-trained weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.run_label import RunLabel, joint_lines
from attention_atlas.io.tables import read_parquet, write_table
from attention_atlas.published.values import load_published, published_column
from attention_atlas.stats.bootstrap import percentile_interval, resampled_counts
from attention_atlas.stats.extremes import widths
from attention_atlas.stats.levels import level_of_parts
from attention_atlas.stats.seed_variation import with_seed_variation
from attention_atlas.stats.simultaneous import random_exchanges
from attention_atlas.studies.kovaleva2019.names import (
    PREDICTION_COLUMNS,
    RANDOM,
    STATES,
    TASK_TITLES,
    TUNED,
    UNTRAINED,
)
from attention_atlas.studies.kovaleva2019.points import POINTS
from attention_atlas.studies.kovaleva2019.scoring import (
    CORRELATION,
    METRICS,
    as_numbers,
    best_constant,
    majority,
    one_answer_note,
    score,
    swapped_differences,
)

Floats = npt.NDArray[np.float64]
GAINS = ["task", "metric", "value", "ci_low", "ci_high", "level", "seeds", "random_seeds", "n", "unit"]
TABLE1 = [
    *("task", "metric", "state", "value", "sd", "min", "max", "ci_low", "ci_high", "paper_value", "seeds", "n", "unit"),
]
_COUNTED = "examples"
"""What n counts."""
MAJORITY, CONSTANT = "majority", "constant"
_TITLES = {
    UNTRAINED: "Pre-trained, no fine-tuning",
    RANDOM: "Random weights, fine-tuned",
    TUNED: "Pre-trained, fine-tuned",
    MAJORITY: "Majority",
    CONSTANT: "Best constant",
}


def table1(
    predictions: Mapping[str, str | Path],
    labels: Mapping[str, RunLabel],
    resamples: int,
    seed: int,
    out: str | Path,
    gains_out: str | Path,
    html_out: str | Path,
) -> None:
    """Write Table 1, `TABLE1`, in points (`points`).

    value: mean over seeds; ci_low, ci_high: over examples and, with several, over seeds; paper_value: the published score.

    And the gain from pre-training, `GAINS`: value (fine-tuned from pre-trained weights minus from random weights). Its
    intervals are those of the test that exchanges the predictions of the two at random, example by example, and cover all
    tasks together; they are about the models of these seeds.

    Args:
        predictions: task -> predictions of its models (`predictions.predict`).
        labels: task -> run, model and corpus.
        resamples, seed: of the bootstrap.
        out, gains_out, html_out: tables and page.

    Raises:
        AtlasError: a table cannot be used.
    """
    rows: list[dict[str, Any]] = []
    gains: list[dict[str, Any]] = []
    every_answer: dict[str, Floats] = {}
    for task, path in predictions.items():
        frame = read_parquet(path, PREDICTION_COLUMNS)
        truth = truth_of(task, frame)
        answers = {state: by_seed(task, frame[frame["state"] == state]) for state in STATES}
        every_answer |= {f"{TASK_TITLES[task]}: {_TITLES[state]}": values for state, values in answers.items()}
        tuned, random = answers[TUNED], answers[RANDOM]
        counts = np.concatenate(list(resampled_counts(len(truth), resamples, seed)))
        for metric in METRICS[task]:
            facts = {"task": task, "metric": metric, "n": len(truth), "unit": _COUNTED}
            if len(tuned) and len(random):
                seeds = {"seeds": len(tuned), "random_seeds": len(random)}
                gain = exchanged_gain(metric, tuned, random, truth, level_of_parts(len(predictions)), resamples, seed)
                gains.append(facts | seeds | gain)
            for state, seed_predictions in answers.items():
                if len(seed_predictions):
                    scores = _scores(metric, seed_predictions, truth, counts, seed)
                    rows.append(facts | {"state": state, "seeds": len(seed_predictions)} | scores)
            answer = np.full(len(truth), majority(truth))
            for state, value in ((MAJORITY, float(score(metric, answer, truth))), (CONSTANT, best_constant(metric, truth))):
                if metric != CORRELATION:
                    rows.append(facts | {"state": state, "seeds": 1, "value": 100 * value})
    table = pd.DataFrame(rows, columns=[name for name in TABLE1 if name != "paper_value"])
    paper = published_column(load_published("kovaleva2019"), "Table 1", "table1", "value", table)
    table = table.assign(paper_value=np.asarray(paper, dtype=float))[TABLE1]
    write_table(table, out)
    write_table(pd.DataFrame(gains, columns=GAINS), gains_out)
    _page(table, labels, one_answer_note(every_answer), html_out)


def exchanged_gain(
    metric: str, tuned: Floats, random: Floats, truth: Floats, level: float, draws: int, seed: int
) -> dict[str, float]:
    """value, ci_low, ci_high (in points) and level of the difference of two models' mean scores over seeds.

    Args:
        metric: see `scoring.score`.
        tuned, random: [seed, example] predictions; the seeds of both are paired in order, cycling through the shorter list.
        truth: [example].
        level: coverage of the interval.
        draws, seed: of the exchanges of the predictions of a pair.
    """
    pairs = [(k % len(random), k % len(tuned)) for k in range(max(len(tuned), len(random)))]
    null = [
        np.mean([swapped_differences(metric, random[r], tuned[t][None], truth, exchanges) for r, t in pairs], axis=0)
        for exchanges in random_exchanges(len(truth), draws, seed)
    ]
    value = float(np.mean([score(metric, tuned[t], truth) - score(metric, random[r], truth) for r, t in pairs]))
    width = float(widths(np.concatenate(null, axis=1), level)[0])
    return {"value": 100 * value, "ci_low": 100 * (value - width), "ci_high": 100 * (value + width), "level": level}


def truth_of(task: str, frame: pd.DataFrame) -> Floats:
    """[example] labels as numbers, in the order of the records."""
    first = frame.drop_duplicates("record").sort_values("record")
    return as_numbers(task, first["label"].astype(str).tolist())


def by_seed(task: str, frame: pd.DataFrame) -> Floats:
    """[seed, example] predictions as numbers, in the order of seeds and records."""
    wide = frame.pivot(index="seed", columns="record", values="prediction").sort_index()
    return as_numbers(task, wide.to_numpy().ravel().tolist()).reshape(wide.shape) if len(wide) else np.zeros((0, 0))


def _scores(metric: str, predictions: Floats, truth: Floats, counts: Floats, seed: int) -> dict[str, float]:
    values = 100 * score(metric, predictions, truth)
    over_examples = 100 * score(metric, predictions, truth, counts).mean(axis=0)
    over_seeds = with_seed_variation(over_examples[:, None], values[:, None], seed)[:, 0]
    # No score lies outside its range; Student's t has no bounds.
    low, high = percentile_interval(np.clip(over_seeds, -100 if metric == CORRELATION else 0, 100))
    spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    extremes = {"min": float(values.min()), "max": float(values.max())}
    return {"value": float(values.mean()), "sd": spread, **extremes, "ci_low": float(low), "ci_high": float(high)}


def _page(table: pd.DataFrame, labels: Mapping[str, RunLabel], warnings: Sequence[str], path: str | Path) -> None:
    rows = []
    for (task, metric), score_rows in table.groupby(["task", "metric"], sort=False):
        row = {"task": TASK_TITLES[str(task)], "metric": str(metric), "n": int(score_rows["n"].iloc[0])}
        for _, line in score_rows.iterrows():
            row[_TITLES[line["state"]]] = _cell(line)
            if line["state"] in STATES:
                row[f"Paper: {_TITLES[line['state']]}"] = "" if pd.isna(line["paper_value"]) else f"{line['paper_value']:.1f}"
        rows.append(row)
    order = [_TITLES[state] for state in (*STATES, MAJORITY, CONSTANT)] + [f"Paper: {_TITLES[state]}" for state in STATES]
    shown = pd.DataFrame(rows)
    shown = shown[["task", "metric", "n", *(name for name in order if name in shown.columns)]].fillna("")
    notes = [
        *joint_lines(labels.values()),
        f"Scores in {POINTS}: mean over seeds (minimum to maximum, where there are several) and 95 % interval over examples "
        "and, with several, over seeds (Student's t, so that it is wide for few of them). "
        "Without fine-tuning the classification layer is random, and its answers depend only on its seed. correlation: mean of "
        "Pearson's and Spearman's (the paper calls it accuracy). Best constant: one answer for all, the best by this metric.",
        "In the paper, models fine-tuned from random weights give a constant answer on MRPC (F1 81.2 = 2p / (1 + p)), QQP, RTE "
        "and QNLI: comparing them there with the model without fine-tuning compares chance with chance.",
        *warnings,
    ]
    write_html_table(shown, path, "Kovaleva et al. 2019, Table 1: gains from pre-training and fine-tuning", notes, {"n": "n"})


def _cell(line: pd.Series) -> str:
    if pd.isna(line["ci_low"]):
        return f"{line['value']:.1f}"
    spread = f" ({line['min']:.1f} to {line['max']:.1f}, {int(line['seeds'])} seeds)" if line["seeds"] > 1 else ""
    return f"{line['value']:.1f}{spread} [{line['ci_low']:.1f}, {line['ci_high']:.1f}]"
