"""Tables of the study: cumulative scores, mixing weights, expected layers of the tasks, and their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.io.tables import read_parquet, read_table, write_parquet, write_table
from attention_atlas.methods.units import UNIT_COLUMNS
from attention_atlas.stats.bootstrap import percentile_interval
from attention_atlas.studies.tenney2019.layers import (
    centre_of_gravity,
    differential_scores,
    divergence_of_gains,
    divergence_of_weights,
    expected_layer,
)
from attention_atlas.studies.tenney2019.names import (
    CONTROL_TASK,
    EARLY,
    EMBEDDINGS,
    EQUAL,
    LEXICAL,
    RANDOM_ENCODER,
    SHUFFLED_LABELS,
)
from attention_atlas.studies.tenney2019.resampling import is_noise, resampled_f1, seed_interval
from attention_atlas.studies.tenney2019.scores import COUNTS, SCORES, WEIGHTS

Floats = npt.NDArray[np.float64]
PROBE_SCORES = [
    "task", "layer", "seed", "f1", "layer0", "condition", "precision", "recall", "labels", "targets", "steps", "best_step"
]  # fmt: skip
"""`layer` is the top one of a probe on the layers 0 to l."""
SIZES = ["sentences", "targets", *UNIT_COLUMNS, "seeds"]
"""Evaluation data of a task, the units that intervals resample with their number, and the number of seeds."""
FIGURE1 = [
    "task", "f1_first", "f1_last", "f1_last_low", "f1_last_high", "expected_layer", "expected_low", "expected_high",
    "centre", "centre_low", "centre_high", "k_s", "k_delta", "within_noise", "layers",
    "training_targets", *SIZES,
]  # fmt: skip
FIGURE2 = [
    "model",
    "task",
    "layer",
    "weight",
    "weight_low",
    "weight_high",
    "f1",
    "delta",
    "share",
    "k_s",
    "k_delta",
    "within_noise",
    *SIZES,
]
CONTROLS = [
    "task", "labels", "sentences", "targets", *UNIT_COLUMNS, "layer", "f1", "f1_low", "f1_high",
    "f1_random_encoder", "above_random_encoder", "above_random_encoder_low", "above_random_encoder_high",
    "f1_control_task", "selectivity", "selectivity_low", "selectivity_high",
    "f1_shuffled_labels", "above_shuffled_labels", "above_shuffled_labels_low", "above_shuffled_labels_high",
    "seeds_shuffled_labels",
    "f1_equal_steps", "steps", "equal_steps", "seeds",
]  # fmt: skip
ORDER = [
    "task",
    "next_task",
    "expected_layer",
    "next_expected_layer",
    "difference",
    "low",
    "high",
    "probability",
    "within_noise",
    "unit",
]
OPTIONS = [
    "task",
    "layer0",
    "gains",
    "condition",
    "expected_layer",
    "centre",
    "k_s",
    "k_delta",
    "f1_first",
    "f1_last",
    "within_noise",
    "steps",
    *SIZES,
]
TaskFiles = Mapping[str, str | Path]
"""Kind of table -> file with the rows of a task: scores, weights, counts, see `probing.Outputs`; random_scores and
random_counts, of the model with random weights, where there is one."""
RESAMPLES = ["task", "resample", "expected_layer", "gain", "selectivity", "above_shuffled_labels", "above_random_encoder"]
"""Statistics of a task in a bootstrap resample of documents (or sentences) and seeds.

`expected_layer` is missing where layers gain nothing in that resample. For the probes on all layers: `gain`, F1 minus that of
the probe on layer 0; `selectivity`, minus that of the control task; `above_shuffled_labels`, minus that of probes trained on
shuffled labels; `above_random_encoder`, minus that on the model with random layers.
"""


@dataclass(frozen=True)
class SummaryOutputs:
    """Files that `summarise` writes.

    Attributes:
        probe_scores: `PROBE_SCORES` of all probes.
        mixing_weights: `WEIGHTS` of all probes on several layers.
        tasks: `FIGURE1`, one row for each task.
        layers: `FIGURE2`, one row for each task and layer.
        ends: `CONTROLS`, scores on layer 0 and on all layers.
        order: `ORDER`, neighbours in the order of tasks.
        options: `OPTIONS`, the effect of each option.
        resamples: `RESAMPLES`, as Parquet, for the intervals of claims.
    """

    probe_scores: str | Path
    mixing_weights: str | Path
    tasks: str | Path
    layers: str | Path
    ends: str | Path
    order: str | Path
    options: str | Path
    resamples: str | Path


def summarise(
    model: str,
    tasks: Mapping[str, TaskFiles],
    resamples: int,
    seed: int,
    outputs: SummaryOutputs,
) -> None:
    """Write all tables.

    Args:
        model: name of the probed model.
        tasks: task -> its files.
        resamples, seed: of the bootstrap over documents (or sentences) and seeds.
        outputs: files to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    task_tables = {task: _read(task, files) for task, files in tasks.items()}
    scores = pd.concat([tables.scores for tables in task_tables.values()]).rename(columns={"top": "layer"})
    write_table(scores[PROBE_SCORES], outputs.probe_scores)
    write_table(pd.concat([tables.weights for tables in task_tables.values()])[WEIGHTS], outputs.mixing_weights)
    resampled = {task: _resampled(tables, resamples, seed + k) for k, (task, tables) in enumerate(task_tables.items())}
    early = {task: task_resamples.early for task, task_resamples in resampled.items()}
    summary = [_summary(tables, early[task], seed) for task, tables in task_tables.items()]
    write_table(pd.DataFrame(summary)[FIGURE1], outputs.tasks)
    figure2 = pd.concat([_bars(model, tables, early[task], seed) for task, tables in task_tables.items()])
    write_table(figure2[FIGURE2], outputs.layers)
    controls = pd.concat([_first_and_last(tables, resampled[task]) for task, tables in task_tables.items()])[CONTROLS]
    write_table(controls, outputs.ends)
    points = {task: tables.points() for task, tables in task_tables.items()}
    unit_names = {task: str(tables.sizes["unit"]) for task, tables in task_tables.items()}
    write_table(order_of_tasks(points, early, unit_names), outputs.order)
    statistics = pd.concat([task_resamples.statistics(task) for task, task_resamples in resampled.items()], ignore_index=True)
    write_parquet(statistics[RESAMPLES], outputs.resamples)
    options = pd.concat([_options(tables, resamples, seed + k) for k, tables in enumerate(task_tables.values())])[OPTIONS]
    write_table(options, outputs.options)


@dataclass(frozen=True)
class _Task:
    """Tables of a task."""

    name: str
    scores: pd.DataFrame
    weights: pd.DataFrame
    counts: pd.DataFrame

    @property
    def sentences(self) -> int:
        """Number of sentences that probes are evaluated on."""
        return int(self.counts.loc[self.counts["condition"] == EARLY, "record"].nunique())

    @property
    def sizes(self) -> dict[str, Any]:
        """`SIZES`."""
        first = self.scores.iloc[0]
        targets, units = int(first["targets"]), {name: first[name] for name in UNIT_COLUMNS}
        return {"sentences": self.sentences, "targets": targets, **units, "seeds": len(self.f1())}

    def f1(self, condition: str = EARLY, layer0: str = EMBEDDINGS) -> pd.DataFrame:
        """[seed, top] F1."""
        rows = self.scores[(self.scores["condition"] == condition) & (self.scores["layer0"] == layer0)]
        return rows.pivot(index="seed", columns="top", values="f1")

    def steps(self, condition: str = EARLY, layer0: str = EMBEDDINGS) -> float:
        """Steps of the probes on all layers, mean over seeds."""
        rows = self.scores[(self.scores["condition"] == condition) & (self.scores["layer0"] == layer0)]
        return float(rows.loc[rows["top"] == rows["top"].max(), "steps"].mean())

    def points(self, layer0: str = EMBEDDINGS) -> Floats:
        """[top] mean F1 over seeds."""
        return self.f1(layer0=layer0).mean().to_numpy()

    def mixing(self, condition: str = EARLY, layer0: str = EMBEDDINGS) -> Floats:
        """[seed, layer] weights of the probe on all layers."""
        rows = self.weights[(self.weights["condition"] == condition) & (self.weights["layer0"] == layer0)]
        rows = rows[rows["top"] == rows["top"].max()]
        return rows.pivot(index="seed", columns="layer", values="weight").to_numpy()


def _read(task: str, files: TaskFiles) -> _Task:
    def rows(table: pd.DataFrame) -> pd.DataFrame:
        return table[table["task"] == task].reset_index(drop=True)

    scores = rows(read_table(files["scores"], SCORES))
    counts = rows(read_parquet(files["counts"], COUNTS))
    if "random_scores" in files:
        scores = pd.concat([scores, rows(read_table(files["random_scores"], SCORES)).assign(condition=RANDOM_ENCODER)])
        random_counts = rows(read_parquet(files["random_counts"], COUNTS))
        counts = pd.concat([counts, random_counts.assign(condition=RANDOM_ENCODER)], ignore_index=True)
    return _Task(task, scores, rows(read_table(files["weights"], WEIGHTS)), counts)


@dataclass(frozen=True)
class _Resampled:
    """[resample, top] F1 of the probes of each condition: for each top layer, or only on layer 0 and on all layers.

    Probes of shuffled labels are on all layers only, of the first seed. Without a model with random layers, `random_encoder`
    has no column.
    """

    early: Floats
    control_task: Floats
    shuffled_labels: Floats
    random_encoder: Floats

    def statistics(self, task: str) -> pd.DataFrame:
        """`RESAMPLES`."""
        last = self.early[:, -1]
        controls = (self.control_task, self.shuffled_labels, self.random_encoder)
        selectivity, above_shuffled, above_random = (last - f1[:, -1] if f1.shape[1] else np.nan for f1 in controls)
        return pd.DataFrame(
            {
                "task": task,
                "resample": range(len(last)),
                "expected_layer": expected_layer(self.early),
                "gain": last - self.early[:, 0],
                "selectivity": selectivity,
                "above_shuffled_labels": above_shuffled,
                "above_random_encoder": above_random,
            }
        )


def _resampled(task: _Task, resamples: int, seed: int) -> _Resampled:
    conditions = (EARLY, CONTROL_TASK, SHUFFLED_LABELS, RANDOM_ENCODER)
    return _Resampled(*(resampled_f1(task.counts, resamples, seed, condition=condition) for condition in conditions))


def _summary(task: _Task, resampled: Floats, seed: int) -> dict[str, Any]:
    points, mixing = task.points(), task.mixing()
    noise = is_noise(points, resampled)
    expected, low, high = np.nan, np.nan, np.nan
    if not noise:
        expected = float(expected_layer(points))
        low, high = map(float, percentile_interval(expected_layer(resampled)))
    last_low, last_high = map(float, percentile_interval(resampled[:, -1]))
    centres = centre_of_gravity(mixing)
    centre_low, centre_high = seed_interval(centres, seed)
    return {
        "task": task.name,
        "f1_first": points[0],
        "f1_last": points[-1],
        "f1_last_low": last_low,
        "f1_last_high": last_high,
        "expected_layer": expected,
        "expected_low": low,
        "expected_high": high,
        "centre": float(centres.mean()),
        "centre_low": centre_low,
        "centre_high": centre_high,
        "k_s": float(divergence_of_weights(mixing).mean()),
        "k_delta": float(divergence_of_gains(points)),
        "within_noise": int(noise),
        "layers": len(points) - 1,
        "training_targets": int(task.scores["training_targets"].iloc[0]),
        **task.sizes,
    }


def _bars(model: str, task: _Task, resampled: Floats, seed: int) -> pd.DataFrame:
    points, mixing = task.points(), task.mixing()
    deltas = np.concatenate([[np.nan], differential_scores(points)])
    span = points.max() - points[0]
    intervals = [seed_interval(mixing[:, layer], seed) for layer in range(mixing.shape[1])]
    return pd.DataFrame(
        {
            "model": model,
            "task": task.name,
            "layer": range(len(points)),
            "weight": mixing.mean(axis=0),
            "weight_low": [low for low, _ in intervals],
            "weight_high": [high for _, high in intervals],
            "f1": points,
            "delta": deltas,
            "share": deltas / span if span > 0 else np.nan,
            "k_s": float(divergence_of_weights(mixing).mean()),
            "k_delta": float(divergence_of_gains(points)),
            "within_noise": int(is_noise(points, resampled)),
            **task.sizes,
        }
    )


def _first_and_last(task: _Task, resampled: _Resampled) -> pd.DataFrame:
    rows = []
    early_f1s, control_f1s, random_f1s = task.f1(), task.f1(CONTROL_TASK), task.f1(RANDOM_ENCODER)
    equal_f1s, shuffled_f1s, scores, sizes = task.f1(EQUAL), task.f1(SHUFFLED_LABELS), task.scores, task.sizes
    early = scores[(scores["condition"] == EARLY) & (scores["layer0"] == EMBEDDINGS)]
    for place, top in ((0, 0), (-1, int(early_f1s.columns.max()))):
        f1 = float(early_f1s[top].mean())
        row: dict[str, Any] = {
            "task": task.name,
            "labels": int(scores["labels"].iloc[0]),
            **sizes,
            "layer": top,
            "f1": f1,
            "f1_equal_steps": float(equal_f1s[top].mean()) if top in equal_f1s else np.nan,
            "steps": float(early.loc[early["top"] == top, "steps"].mean()),
            "equal_steps": float(scores.loc[scores["condition"] == EQUAL, "steps"].mean()) if top in equal_f1s else np.nan,
        }
        row["seeds_shuffled_labels"] = int(shuffled_f1s[top].notna().sum()) if top in shuffled_f1s else 0
        draws = resampled.early[:, place]
        row["f1_low"], row["f1_high"] = map(float, percentile_interval(draws))
        for f1_name, difference, f1s, control_draws in (
            ("f1_random_encoder", "above_random_encoder", random_f1s, resampled.random_encoder),
            ("f1_control_task", "selectivity", control_f1s, resampled.control_task),
            ("f1_shuffled_labels", "above_shuffled_labels", shuffled_f1s, resampled.shuffled_labels),
        ):
            row[f1_name] = float(f1s[top].mean()) if top in f1s else np.nan
            row[difference] = f1 - row[f1_name]
            interval = percentile_interval(draws - control_draws[:, place]) if top in f1s else (np.nan, np.nan)
            row[f"{difference}_low"], row[f"{difference}_high"] = map(float, interval)
        rows.append(row)
    return pd.DataFrame(rows)


def order_of_tasks(points: Mapping[str, Floats], resampled: Mapping[str, Floats], units: Mapping[str, str]) -> pd.DataFrame:
    """Tasks in the order of expected layers, with how often resamples have each before the next (`ORDER`).

    Tasks whose total gain is noise come last, without numbers.

    Args:
        points: task -> [top] F1.
        resampled: task -> [resample, top] F1; resamples of tasks are independent.
        units: task -> the resampled units (documents or sentences).
    """
    known = [task for task in points if not is_noise(points[task], resampled[task])]
    layers = {task: float(expected_layer(points[task])) for task in known}
    draws = {task: expected_layer(resampled[task]) for task in known}
    rows = []
    ordered = sorted(known, key=lambda task: layers[task])
    for task, later in pairwise(ordered):
        difference = draws[later] - draws[task]
        sound = difference[np.isfinite(difference)]
        low, high = percentile_interval(sound)
        probability = float((sound > 0).mean())
        unit = " or ".join(sorted({units[task], units[later]}))
        difference_columns = [layers[later] - layers[task], low, high, probability]
        rows.append([task, later, layers[task], layers[later], *difference_columns, 0, unit])
    rows += [[task, None, layers[task], *[np.nan] * 5, 0, None] for task in ordered[-1:]]
    rows += [[task, None, *[np.nan] * 6, 1, None] for task in points if task not in known]
    return pd.DataFrame(rows, columns=ORDER).astype(dict.fromkeys(ORDER[2:-2], float))


def _options(task: _Task, resamples: int, seed: int) -> pd.DataFrame:
    rows = []
    variants = [name for name in (EMBEDDINGS, LEXICAL) if len(task.f1(layer0=name))]
    for name in variants:
        points, mixing = task.points(name), task.mixing(layer0=name)
        noise = is_noise(points, resampled_f1(task.counts, resamples, seed, name))
        for gains in ("raw", "running_max"):
            expected = np.nan if noise else float(expected_layer(points, running_max=gains == "running_max"))
            mixed = [centre_of_gravity(mixing).mean(), divergence_of_weights(mixing).mean()]
            rest = [float(divergence_of_gains(points)), points[0], points[-1], int(noise), task.steps(layer0=name)]
            rows.append([task.name, name, gains, EARLY, expected, *mixed, *rest])
    mixing, f1 = task.mixing(EQUAL), task.f1(EQUAL)
    if len(f1):
        last = float(f1.iloc[:, -1].mean())
        centre, spread = centre_of_gravity(mixing).mean(), divergence_of_weights(mixing).mean()
        rows.append([task.name, EMBEDDINGS, None, EQUAL, np.nan, centre, spread, np.nan, np.nan, last, None, task.steps(EQUAL)])
    table = pd.DataFrame(rows, columns=OPTIONS[: -len(SIZES)]).astype({"within_noise": "Int64"})
    return table.assign(**task.sizes)
