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

from attention_atlas.corpora.examples import read_examples
from attention_atlas.io.tables import read_parquet, read_table, write_parquet, write_table
from attention_atlas.methods.units import UNIT_COLUMNS
from attention_atlas.stats.bootstrap import percentile_interval
from attention_atlas.studies.tenney2019.constant_answer import ConstantAnswer, constant_answer
from attention_atlas.studies.tenney2019.layers import (
    centre_of_gravity,
    differential_scores,
    divergence_of_gains,
    divergence_of_weights,
    expected_layer,
    shares_of_gain,
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
from attention_atlas.studies.tenney2019.resampling import is_noise, resampled_f1, resampled_f1_of_answers, seed_interval
from attention_atlas.studies.tenney2019.scores import COUNTS, SCORES, WEIGHTS

Floats = npt.NDArray[np.float64]
PROBE_SCORES = [
    "task", "layer", "seed", "f1", "layer0", "condition", "precision", "recall", "labels", "targets", "steps", "best_step"
]  # fmt: skip
"""`layer` is the top one of a probe on the layers 0 to l."""
STEP_LIMITS = ["at_step_limit", "best_at_step_limit"]
"""Share of probes that trained to the largest number of steps, since early stopping did not end them before; and of those whose
best evaluation was at that last step, so that their F1 was still rising. More steps could raise the F1 of either."""
SIZES = ["sentences", "targets", *UNIT_COLUMNS, "seeds"]
"""Evaluation data of a task, the units that intervals resample with their number, and the number of seeds."""
FIGURE1 = [
    "task", "f1_first", "f1_last", "f1_last_low", "f1_last_high", "expected_layer", "expected_low", "expected_high",
    "centre", "centre_low", "centre_high", "k_s", "k_delta", "within_noise", "layers",
    *STEP_LIMITS, "at_step_limit_first", "training_targets", *SIZES,
]  # fmt: skip
"""`STEP_LIMITS` over the probes of all layers and seeds; `at_step_limit_first` over those on layer 0."""
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
    "share_low",
    "share_high",
    "k_s",
    "k_delta",
    "within_noise",
    *SIZES,
]
CONTROLS = [
    "task", "labels", "sentences", "targets", *UNIT_COLUMNS, "layer", "f1", "f1_low", "f1_high",
    "f1_random_encoder", "above_random_encoder", "above_random_encoder_low", "above_random_encoder_high",
    "f1_control_task", "selectivity", "selectivity_low", "selectivity_high",
    "f1_shuffled_labels", "seeds_shuffled_labels", "f1_constant_answer", "labels_constant_answer",
    "above_label_frequencies", "above_label_frequencies_low", "above_label_frequencies_high",
    "f1_equal_steps", "steps", "equal_steps", *STEP_LIMITS, "seeds",
]  # fmt: skip
"""`above_label_frequencies`: less the larger one of `f1_shuffled_labels` and `f1_constant_answer`, see `constant_answer`."""
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
RESAMPLES = ["task", "resample", "expected_layer", "gain", "selectivity", "above_label_frequencies", "above_random_encoder"]
"""Statistics of a task in a bootstrap resample of documents (or sentences) and seeds.

`expected_layer` is missing where layers gain nothing in that resample. For the probes on all layers: `gain`, F1 minus that of
the probe on layer 0; `selectivity`, minus that of the control task; `above_label_frequencies`, minus the larger one of that of
probes trained on shuffled labels and that of the constant answer; `above_random_encoder`, minus that on the model with random
layers.
"""


def at_step_limit(figure1: pd.DataFrame) -> list[str]:
    """Tasks whose probes on layer 0 trained to the step limit for most seeds, from `FIGURE1`: their F1 there may be too low."""
    return list(figure1.loc[figure1["at_step_limit_first"] > 0.5, "task"])


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
    recipes: Mapping[str, Mapping[str, Any]],
    resamples: int,
    seed: int,
    outputs: SummaryOutputs,
    evaluated: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Write all tables.

    Args:
        model: name of the probed model.
        tasks: task -> its files.
        recipes: task -> settings of its probes; `max_steps` is used.
        resamples, seed: of the bootstrap over documents (or sentences) and seeds.
        outputs: files to write.
        evaluated: task -> `examples`, files of the examples that its probes are evaluated on, and `limit`, how many records of
            them; None for a model without controls, which needs no constant answer.

    Raises:
        AtlasError: a table cannot be used, or the examples are not those that the probes were evaluated on.
    """
    evaluated = evaluated or {}
    task_tables = {
        task: _read(task, files, int(recipes[task]["max_steps"]), evaluated.get(task)) for task, files in tasks.items()
    }
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
    """Tables of a task, the largest number of steps of its probes, and its constant answer where that was computed."""

    name: str
    scores: pd.DataFrame
    weights: pd.DataFrame
    counts: pd.DataFrame
    max_steps: int
    constant: ConstantAnswer | None

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

    def step_limits(self, top: int | None = None) -> dict[str, float]:
        """`STEP_LIMITS` of the probes of all seeds on layers 0 to `top`; of those of every top layer if it is None."""
        rows = self.scores[(self.scores["condition"] == EARLY) & (self.scores["layer0"] == EMBEDDINGS)]
        if top is not None:
            rows = rows[rows["top"] == top]
        ended, best = (float((rows[name] >= self.max_steps).mean()) for name in ("steps", "best_step"))
        return dict(zip(STEP_LIMITS, (ended, best), strict=True))

    def points(self, layer0: str = EMBEDDINGS) -> Floats:
        """[top] mean F1 over seeds."""
        return self.f1(layer0=layer0).mean().to_numpy()

    def mixing(self, condition: str = EARLY, layer0: str = EMBEDDINGS) -> Floats:
        """[seed, layer] weights of the probe on all layers."""
        rows = self.weights[(self.weights["condition"] == condition) & (self.weights["layer0"] == layer0)]
        rows = rows[rows["top"] == rows["top"].max()]
        return rows.pivot(index="seed", columns="layer", values="weight").to_numpy()


def _read(task: str, files: TaskFiles, max_steps: int, evaluated: Mapping[str, Any] | None) -> _Task:
    def rows(table: pd.DataFrame) -> pd.DataFrame:
        return table[table["task"] == task].reset_index(drop=True)

    scores = rows(read_table(files["scores"], SCORES))
    counts = rows(read_parquet(files["counts"], COUNTS))
    if "random_scores" in files:
        scores = pd.concat([scores, rows(read_table(files["random_scores"], SCORES)).assign(condition=RANDOM_ENCODER)])
        random_counts = rows(read_parquet(files["random_counts"], COUNTS))
        counts = pd.concat([counts, random_counts.assign(condition=RANDOM_ENCODER)], ignore_index=True)
    constant = None
    if evaluated is not None:
        constant = constant_answer(task, read_examples(evaluated["examples"], evaluated["limit"]), counts)
    return _Task(task, scores, rows(read_table(files["weights"], WEIGHTS)), counts, max_steps, constant)


@dataclass(frozen=True)
class _Resampled:
    """[resample, top] F1 of the probes of each condition: for each top layer, or only on layer 0 and on all layers.

    Probes of shuffled labels are on all layers only, of the first seed. Without a model with random layers, `random_encoder`
    has no column. The constant answer reads no layer: it has one column, or none where it was not computed.
    """

    early: Floats
    control_task: Floats
    shuffled_labels: Floats
    random_encoder: Floats
    constant_answer: Floats

    @property
    def label_frequencies(self) -> Floats:
        """[resample] F1 by label frequencies: the larger one of that with shuffled labels and that of the constant answer."""
        controls = [f1[:, -1] for f1 in (self.shuffled_labels, self.constant_answer) if f1.shape[1]]
        return np.max(controls, axis=0) if controls else np.full(len(self.early), np.nan)

    def statistics(self, task: str) -> pd.DataFrame:
        """`RESAMPLES`."""
        last = self.early[:, -1]
        controls = (self.control_task, self.random_encoder)
        selectivity, above_random = (last - f1[:, -1] if f1.shape[1] else np.nan for f1 in controls)
        return pd.DataFrame(
            {
                "task": task,
                "resample": range(len(last)),
                "expected_layer": expected_layer(self.early),
                "gain": last - self.early[:, 0],
                "selectivity": selectivity,
                "above_label_frequencies": last - self.label_frequencies,
                "above_random_encoder": above_random,
            }
        )


def _resampled(task: _Task, resamples: int, seed: int) -> _Resampled:
    conditions = (EARLY, CONTROL_TASK, SHUFFLED_LABELS, RANDOM_ENCODER)
    by_condition = (resampled_f1(task.counts, resamples, seed, condition=condition) for condition in conditions)
    constant = np.empty((resamples, 0))
    if task.constant is not None:
        constant = resampled_f1_of_answers(task.constant.counts, resamples, seed)[:, None]
    early, control_task, shuffled_labels, random_encoder = by_condition
    return _Resampled(early, control_task, shuffled_labels, random_encoder, constant)


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
        "k_delta": _divergence_of_gains(points, noise),
        "within_noise": int(noise),
        "layers": len(points) - 1,
        **task.step_limits(),
        "at_step_limit_first": task.step_limits(0)["at_step_limit"],
        "training_targets": int(task.scores["training_targets"].iloc[0]),
        **task.sizes,
    }


def _divergence_of_gains(points: Floats, noise: bool) -> float:
    """K of the differential scores; NaN where the gain is noise."""
    return np.nan if noise else float(divergence_of_gains(points))


def _bars(model: str, task: _Task, resampled: Floats, seed: int) -> pd.DataFrame:
    points, mixing = task.points(), task.mixing()
    deltas = np.concatenate([[np.nan], differential_scores(points)])
    noise = is_noise(points, resampled)
    low, high = percentile_interval(shares_of_gain(resampled))
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
            "share": np.concatenate([[np.nan], shares_of_gain(points)]),
            "share_low": np.concatenate([[np.nan], low]),
            "share_high": np.concatenate([[np.nan], high]),
            "k_s": float(divergence_of_weights(mixing).mean()),
            "k_delta": _divergence_of_gains(points, noise),
            "within_noise": int(noise),
            **task.sizes,
        }
    )


def _first_and_last(task: _Task, resampled: _Resampled) -> pd.DataFrame:
    rows = []
    early_f1s, control_f1s = task.f1(), task.f1(CONTROL_TASK)
    # The model with random layers has other segment embeddings and another normalisation: its layer 0 is another input.
    random_f1s = task.f1(RANDOM_ENCODER).drop(columns=0, errors="ignore")
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
            **task.step_limits(top),
        }
        row["f1_shuffled_labels"] = float(shuffled_f1s[top].mean()) if top in shuffled_f1s else np.nan
        row["seeds_shuffled_labels"] = int(shuffled_f1s[top].notna().sum()) if top in shuffled_f1s else 0
        row["f1_constant_answer"] = np.nan if task.constant is None else task.constant.f1
        row["labels_constant_answer"] = None if task.constant is None else ", ".join(task.constant.labels)
        draws = resampled.early[:, place]
        row["f1_low"], row["f1_high"] = map(float, percentile_interval(draws))
        for name, difference, f1s, control_draws in (
            ("f1_random_encoder", "above_random_encoder", random_f1s, resampled.random_encoder),
            ("f1_control_task", "selectivity", control_f1s, resampled.control_task),
        ):
            row[name] = float(f1s[top].mean()) if top in f1s else np.nan
            row[difference] = f1 - row[name]
            interval = percentile_interval(draws - control_draws[:, place]) if top in f1s else (np.nan, np.nan)
            row[f"{difference}_low"], row[f"{difference}_high"] = map(float, interval)
        if top in shuffled_f1s:
            row["above_label_frequencies"] = f1 - np.fmax(row["f1_shuffled_labels"], row["f1_constant_answer"])
            interval = percentile_interval(draws - resampled.label_frequencies)
            row["above_label_frequencies_low"], row["above_label_frequencies_high"] = map(float, interval)
        rows.append(row)
    return pd.DataFrame(rows).reindex(columns=CONTROLS)


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
            rest = [_divergence_of_gains(points, noise), points[0], points[-1], int(noise), task.steps(layer0=name)]
            rows.append([task.name, name, gains, EARLY, expected, *mixed, *rest])
    mixing, f1 = task.mixing(EQUAL), task.f1(EQUAL)
    if len(f1):
        last = float(f1.iloc[:, -1].mean())
        centre, spread = centre_of_gravity(mixing).mean(), divergence_of_weights(mixing).mean()
        rows.append([task.name, EMBEDDINGS, None, EQUAL, np.nan, centre, spread, np.nan, np.nan, last, None, task.steps(EQUAL)])
    table = pd.DataFrame(rows, columns=OPTIONS[: -len(SIZES)]).astype({"within_noise": "Int64"})
    return table.assign(**task.sizes)
