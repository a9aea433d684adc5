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

from attention_atlas.io.tables import read_parquet, read_table, write_table
from attention_atlas.stats.bootstrap import percentile_interval, resampled_counts
from attention_atlas.studies.tenney2019.layers import (
    centre_of_gravity,
    differential_scores,
    divergence_of_gains,
    divergence_of_weights,
    expected_layer,
)
from attention_atlas.studies.tenney2019.names import CONTROL_TASK, EARLY, EMBEDDINGS, EQUAL, LEXICAL, RANDOM_ENCODER
from attention_atlas.studies.tenney2019.scores import COUNTS, SCORES, WEIGHTS, f1_of

Floats = npt.NDArray[np.float64]
PROBE_SCORES = [
    "task", "layer", "seed", "f1", "layer0", "condition", "precision", "recall", "labels", "targets", "steps", "best_step"
]  # fmt: skip
"""`layer` is the top one of a probe on the layers 0 to l."""
FIGURE1 = [
    "task", "f1_first", "f1_last", "f1_last_low", "f1_last_high", "expected_layer", "expected_low", "expected_high",
    "centre", "centre_low", "centre_high", "k_s", "k_delta", "within_noise", "layers", "sentences", "targets", "seeds",
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
]
CONTROLS = [
    "task", "labels", "sentences", "targets", "layer", "f1", "f1_low", "f1_high", "f1_random_encoder", "f1_control_task",
    "selectivity", "f1_equal_steps", "steps", "equal_steps", "seeds",
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
]
TaskFiles = Mapping[str, str | Path]
"""Kind of table -> file with the rows of a task: scores, weights, counts, see `probing.Outputs`; random_scores, of the model
with random weights, where there is one."""
_ERRORS = 2.0
"""Standard errors of the whole gain within which it is noise."""


@dataclass(frozen=True)
class SummaryOutputs:
    """Files that `summarise` writes.

    Attributes:
        probe_scores: `PROBE_SCORES` of all probes.
        mixing_weights: `WEIGHTS` of all probes on several layers.
        tasks: `FIGURE1`, one row for each task.
        layers: `FIGURE2`, one row for each task and layer.
        ends: `CONTROLS`, scores at both ends.
        order: `ORDER`, neighbours in the order of tasks.
        options: `OPTIONS`, what they change.
    """

    probe_scores: str | Path
    mixing_weights: str | Path
    tasks: str | Path
    layers: str | Path
    ends: str | Path
    order: str | Path
    options: str | Path


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
        resamples, seed: of the bootstrap over sentences and seeds.
        outputs: files to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    task_tables = {task: _read(task, files) for task, files in tasks.items()}
    scores = pd.concat([tables.scores for tables in task_tables.values()]).rename(columns={"top": "layer"})
    write_table(scores[PROBE_SCORES], outputs.probe_scores)
    write_table(pd.concat([tables.weights for tables in task_tables.values()])[WEIGHTS], outputs.mixing_weights)
    resampled = {task: resampled_f1(tables.counts, resamples, seed + k) for k, (task, tables) in enumerate(task_tables.items())}
    summary = [_summary(tables, resampled[task], seed) for task, tables in task_tables.items()]
    write_table(pd.DataFrame(summary)[FIGURE1], outputs.tasks)
    figure2 = pd.concat([_bars(model, tables, resampled[task], seed) for task, tables in task_tables.items()])
    write_table(figure2[FIGURE2], outputs.layers)
    controls = pd.concat([_first_and_last(tables, resampled[task]) for task, tables in task_tables.items()])[CONTROLS]
    write_table(controls, outputs.ends)
    order = order_of_tasks({task: tables.points() for task, tables in task_tables.items()}, resampled)
    write_table(order, outputs.order)
    options = pd.concat([_options(tables, resamples, seed + k) for k, tables in enumerate(task_tables.values())])[OPTIONS]
    write_table(options, outputs.options)


@dataclass(frozen=True)
class _Task:
    """Tables of a task."""

    name: str
    scores: pd.DataFrame
    weights: pd.DataFrame
    counts: pd.DataFrame

    def f1(self, condition: str = EARLY, layer0: str = EMBEDDINGS) -> pd.DataFrame:
        """[seed, top] F1."""
        rows = self.scores[(self.scores["condition"] == condition) & (self.scores["layer0"] == layer0)]
        return rows.pivot(index="seed", columns="top", values="f1")

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
    if "random_scores" in files:
        scores = pd.concat([scores, rows(read_table(files["random_scores"], SCORES)).assign(condition=RANDOM_ENCODER)])
    return _Task(task, scores, rows(read_table(files["weights"], WEIGHTS)), rows(read_parquet(files["counts"], COUNTS)))


def resampled_f1(counts: pd.DataFrame, resamples: int, seed: int, layer0: str = EMBEDDINGS) -> Floats:
    """[resample, top] F1 of probes that were stopped early, over resampled sentences and seeds.

    A resample draws sentences, and for each layer as many seeds as there are, whose F1s are averaged: probes of different
    layers are trained separately, so that their errors are independent.
    """
    rows = counts[(counts["condition"] == EARLY) & (counts["layer0"] == layer0)]
    seeds, tops, records = (np.sort(rows[name].unique()) for name in ("seed", "top", "record"))
    cube = rows.sort_values(["seed", "top", "record"])[["true", "false", "missed"]].to_numpy(np.float64)
    cube = cube.reshape(len(seeds), len(tops), len(records), 3)
    flat = cube.transpose(2, 0, 1, 3).reshape(len(records), -1)
    generator = np.random.default_rng(seed)
    chunks = []
    for drawn in resampled_counts(len(records), resamples, seed):
        scores = f1_of((drawn @ flat).reshape(len(drawn), len(seeds), len(tops), 3))
        chosen = generator.integers(len(seeds), size=scores.shape)
        chunks.append(np.take_along_axis(scores, chosen, axis=1).mean(axis=1))
    return np.concatenate(chunks)


def is_noise(points: Floats, resampled: Floats) -> bool:
    """Whether the whole gain [top] is within two standard errors of nothing, by its resamples [resample, top]."""
    gain = resampled[:, -1] - resampled[:, 0]
    return bool(points[-1] - points[0] <= _ERRORS * gain.std(ddof=1))


def _seed_interval(values: Floats, seed: int, resamples: int = 1000) -> tuple[float, float]:
    """Interval of a mean over seeds, by bootstrap; few seeds give a rough one."""
    drawn = np.random.default_rng(seed).integers(len(values), size=(resamples, len(values)))
    low, high = percentile_interval(values[drawn].mean(axis=1))
    return float(low), float(high)


def _summary(task: _Task, resampled: Floats, seed: int) -> dict[str, Any]:
    points, mixing = task.points(), task.mixing()
    noise = is_noise(points, resampled)
    expected, low, high = np.nan, np.nan, np.nan
    if not noise:
        expected = float(expected_layer(points))
        low, high = map(float, percentile_interval(expected_layer(resampled)))
    last_low, last_high = map(float, percentile_interval(resampled[:, -1]))
    centres = centre_of_gravity(mixing)
    centre_low, centre_high = _seed_interval(centres, seed)
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
        "sentences": task.counts["record"].nunique(),
        "targets": int(task.scores["targets"].iloc[0]),
        "seeds": len(mixing),
    }


def bars_of_models(models: Mapping[str, Mapping[str, TaskFiles]], resamples: int, seed: int, out: str | Path) -> None:
    """Write mixing weights and differential scores of several models (Figure A.3; `FIGURE2`).

    Args:
        models: name -> task -> its files.
        resamples, seed: of the bootstrap.
        out: table to write.

    Raises:
        AtlasError: a table cannot be used.
    """
    frames = []
    for model, tasks in models.items():
        for place, (task, files) in enumerate(tasks.items()):
            tables = _read(task, files)
            frames.append(_bars(model, tables, resampled_f1(tables.counts, resamples, seed + place), seed))
    write_table(pd.concat(frames)[FIGURE2], out)


def _bars(model: str, task: _Task, resampled: Floats, seed: int) -> pd.DataFrame:
    points, mixing = task.points(), task.mixing()
    deltas = np.concatenate([[np.nan], differential_scores(points)])
    span = points.max() - points[0]
    intervals = [_seed_interval(mixing[:, layer], seed) for layer in range(mixing.shape[1])]
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
        }
    )


def _first_and_last(task: _Task, resampled: Floats) -> pd.DataFrame:
    rows = []
    early_f1s, control_f1s, random_f1s = task.f1(), task.f1(CONTROL_TASK), task.f1(RANDOM_ENCODER)
    equal_f1s, scores = task.f1(EQUAL), task.scores
    early = scores[(scores["condition"] == EARLY) & (scores["layer0"] == EMBEDDINGS)]
    for place, top in ((0, 0), (-1, int(early_f1s.columns.max()))):
        low, high = map(float, percentile_interval(resampled[:, place]))
        f1 = float(early_f1s[top].mean())
        control_f1 = float(control_f1s[top].mean())
        rows.append(
            {
                "task": task.name,
                "labels": int(scores["labels"].iloc[0]),
                "sentences": task.counts["record"].nunique(),
                "targets": int(scores["targets"].iloc[0]),
                "layer": top,
                "f1": f1,
                "f1_low": low,
                "f1_high": high,
                "f1_random_encoder": float(random_f1s[top].mean()) if top in random_f1s else np.nan,
                "f1_control_task": control_f1,
                "selectivity": f1 - control_f1,
                "f1_equal_steps": float(equal_f1s[top].mean()) if top in equal_f1s else np.nan,
                "steps": float(early.loc[early["top"] == top, "steps"].mean()),
                "equal_steps": float(scores.loc[scores["condition"] == EQUAL, "steps"].mean()) if top in equal_f1s else np.nan,
                "seeds": len(early_f1s),
            }
        )
    return pd.DataFrame(rows)


def order_of_tasks(points: Mapping[str, Floats], resampled: Mapping[str, Floats]) -> pd.DataFrame:
    """Tasks in the order of expected layers, with how often resamples have each before the next (`ORDER`).

    Tasks whose whole gain is noise come last, without numbers.

    Args:
        points: task -> [top] F1.
        resampled: task -> [resample, top] F1; resamples of tasks are independent.
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
        rows.append([task, later, layers[task], layers[later], layers[later] - layers[task], low, high, probability, 0])
    rows += [[task, None, layers[task], *[np.nan] * 5, 0] for task in ordered[-1:]]
    rows += [[task, None, *[np.nan] * 6, 1] for task in points if task not in known]
    return pd.DataFrame(rows, columns=ORDER).astype(dict.fromkeys(ORDER[2:-1], float))


def _options(task: _Task, resamples: int, seed: int) -> pd.DataFrame:
    rows = []
    variants = [name for name in (EMBEDDINGS, LEXICAL) if len(task.f1(layer0=name))]
    for name in variants:
        points, mixing = task.points(name), task.mixing(layer0=name)
        noise = is_noise(points, resampled_f1(task.counts, resamples, seed, name))
        for gains in ("raw", "running_max"):
            expected = np.nan if noise else float(expected_layer(points, running_max=gains == "running_max"))
            mixed = [centre_of_gravity(mixing).mean(), divergence_of_weights(mixing).mean()]
            rest = [float(divergence_of_gains(points)), points[0], points[-1], int(noise)]
            rows.append([task.name, name, gains, EARLY, expected, *mixed, *rest])
    mixing, f1 = task.mixing(EQUAL), task.f1(EQUAL)
    if len(f1):
        last = float(f1.iloc[:, -1].mean())
        centre, spread = centre_of_gravity(mixing).mean(), divergence_of_weights(mixing).mean()
        rows.append([task.name, EMBEDDINGS, None, EQUAL, np.nan, centre, spread, np.nan, np.nan, last, None])
    return pd.DataFrame(rows, columns=OPTIONS).astype({"within_noise": "Int64"})
