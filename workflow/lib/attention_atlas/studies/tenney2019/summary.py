"""The layers at which tasks are solved: mixing weights and cumulative scores of L + 1 layers (sections 3.1, 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.methods.head_tables import UNIT_COLUMNS
from attention_atlas.stats.intervals import Floats, percentile_interval, resampled_counts
from attention_atlas.studies.tenney2019.targets import (
    ANSWERS,
    CONDITIONS,
    CONTROL_TASK,
    EARLY,
    EMBEDDINGS,
    EQUAL,
    LEXICAL,
    RANDOM_ENCODER,
    SHUFFLED_LABELS,
    f1_of,
    recipe_of,
)

Frames = Mapping[str, pd.DataFrame]  # task -> a table of its probes
FIGURE3 = ["sentence", "source", "task", "id", "words", "target", "span1", "span2", "layer", "label", "gold", "probability"]
RISING = "F1 still rising at the step limit"
MOST_AT_LIMIT = 0.5  # share of probes of a layer at the step limit; above it, the layers of the task measure learning speed
_PROBE_SCORES = ["task", "layer", "seed", "f1", "layer0", "condition", "labels", "targets", "steps"]
_CONSTANT_ANSWER = "constant_answer"


def centre_of_gravity(weights: npt.ArrayLike) -> Floats:
    """[...] mean layer under mixing weights [..., layer], layer 0 included (equation 2)."""
    mixing = np.asarray(weights, dtype=np.float64)
    return mixing @ np.arange(mixing.shape[-1]) / mixing.sum(axis=-1)


def divergence_of_weights(weights: npt.ArrayLike) -> Floats:
    """[...] divergence of weights [..., layer] from equal ones, in bits; NaN where none is above 0. K(s) is that of mixing
    weights, K(Delta) that of differential scores, of which only positive ones count.
    """
    mixing = np.maximum(np.asarray(weights, dtype=np.float64), 0)
    total = mixing.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = mixing / total
        terms = np.where(share > 0, share * np.log2(share * mixing.shape[-1]), 0.0)
    return np.where(total[..., 0] > 0, terms.sum(axis=-1), np.nan)


def differential_scores(scores: npt.ArrayLike, running_max: bool = False) -> Floats:
    """[..., L] gain of each layer from 1 on in cumulative scores [..., L + 1] (equation 3), or in the best score so far."""
    by_layer = np.asarray(scores, dtype=np.float64)
    return np.diff(np.maximum.accumulate(by_layer, axis=-1) if running_max else by_layer, axis=-1)


def shares_of_gain(scores: npt.ArrayLike) -> Floats:
    """[..., L] differential scores as a share of the largest gain over layer 0; NaN where no layer gains anything."""
    by_layer = np.asarray(scores, dtype=np.float64)
    largest = by_layer.max(axis=-1, keepdims=True) - by_layer[..., :1]
    return differential_scores(by_layer) / np.where(largest > 0, largest, np.nan)


def expected_layer(scores: npt.ArrayLike, running_max: bool = False) -> Floats:
    """[...] mean layer under the differential scores (equation 4), negative ones included, as in the published code: it can lie
    outside 0 to L where the total gain is small; NaN where nothing is gained over layer 0.
    """
    gains = differential_scores(scores, running_max)
    total = gains.sum(axis=-1)
    return np.asarray(gains @ np.arange(1, gains.shape[-1] + 1) / np.where(total > 0, total, np.nan))


def resampled_f1(counts: pd.DataFrame, resamples: int, seed: int, layer0: str = EMBEDDINGS, condition: str = EARLY) -> Floats:
    """[resample, top] F1 of probes of a condition, over resampled documents and seeds; no columns without such probes.

    Sentences are resampled where the corpus does not name its documents (`unit_number` of `COUNTS`). A resample is the mean F1
    over seeds on resampled documents, plus the mean deviation of resampled seeds from that mean, drawn separately for each
    layer, whose probes are trained separately. Deviations are scaled by sqrt(S / (S - 1)) for S seeds: the variance of the mean
    of S unscaled ones is too small by (S - 1) / S. All conditions share the resampled documents, not the seeds. A control of
    one seed has the deviations of the probes of the task itself (condition `EARLY`).
    """
    rows = counts[(counts["condition"] == condition) & (counts["layer0"] == layer0)]
    if not len(rows):
        return np.empty((resamples, 0))
    units, seeds, tops = (np.sort(rows[name].unique()) for name in ("unit_number", "seed", "top"))
    by_unit = rows.groupby(["unit_number", "seed", "top"])[ANSWERS].sum().to_numpy(np.float64).reshape(len(units), -1)
    by_seed = f1_of(by_unit.sum(axis=0).reshape(len(seeds), len(tops), 3))
    if len(seeds) == 1 and condition != EARLY:
        of_task = counts[(counts["condition"] == EARLY) & (counts["layer0"] == layer0) & counts["top"].isin(tops)]
        by_seed = f1_of(of_task.groupby(["seed", "top"])[ANSWERS].sum().to_numpy().reshape(-1, len(tops), 3))
    deviations = (by_seed - by_seed.mean(axis=0)) * np.sqrt(len(by_seed) / max(len(by_seed) - 1, 1))
    generator = np.random.default_rng([seed, 1 + CONDITIONS.index(condition)])
    chunks = []
    for drawn in resampled_counts(len(units), resamples, seed):
        on_units = f1_of((drawn @ by_unit).reshape(len(drawn), len(seeds), len(tops), 3)).mean(axis=1)
        chosen = generator.integers(len(deviations), size=(len(drawn), len(seeds), len(tops)))
        of_seeds = np.take_along_axis(deviations[None], chosen, axis=1).mean(axis=1)
        chunks.append(np.clip(on_units + of_seeds, 0, 100))
    return np.concatenate(chunks)


def is_noise(points: Floats, resampled: Floats) -> bool:
    """Whether the total gain [top] is within two standard errors of 0, by its resamples [resample, top]."""
    return bool(points[-1] - points[0] <= 2.0 * (resampled[:, -1] - resampled[:, 0]).std(ddof=1))


def seed_interval(values: Floats, seed: int, resamples: int = 1000) -> tuple[float, float]:
    """Interval of a mean over seeds, by bootstrap; rough for few seeds."""
    drawn = np.random.default_rng(seed).integers(len(values), size=(resamples, len(values)))
    low, high = percentile_interval(values[drawn].mean(axis=1))
    return float(low), float(high)


def weights_on_all_layers(weights: pd.DataFrame, condition: str = EARLY, layer0: str = EMBEDDINGS) -> Floats:
    """[seed, layer] mixing weights of the probes of a task on all layers."""
    rows = weights[(weights["condition"] == condition) & (weights["layer0"] == layer0)]
    rows = rows[rows["top"] == rows["top"].max()]
    return rows.pivot(index="seed", columns="layer", values="weight").to_numpy()


def summary(
    scores: Frames,
    weights: Frames,
    counts: Frames,
    training: Mapping[str, Any],
    tasks: Mapping[str, Any],
    model: str,
    resamples: int,
    seed: int,
    sentences: int,
    constant: Frames = {},  # noqa: B006
    cases: Frames = {},  # noqa: B006
    random_scores: Frames = {},  # noqa: B006
    random_counts: Frames = {},  # noqa: B006
) -> dict[str, pd.DataFrame]:
    """Tables of a model, of those of `probing.probes`; random_scores, random_counts: of a model with random layers, if any.

    probe_scores: `layer` is the top one. tasks: a row for each task (Figure 1; at_step_limit: of the layer with most).
    layers: a row for each task and layer (Figure 2). ends: scores on layer 0 and on all layers, with controls. resamples,
    for the intervals of claims: `expected_layer`, missing where layers gain nothing, and F1 on all layers less that on
    layer 0 (`gain`), of the control task (`selectivity`), of label frequencies, and on the model with random layers.
    traces: of Figure 3, if there are `cases`.
    """
    tables: dict[str, list[pd.DataFrame]] = {}
    for number, task in enumerate(scores):
        task_scores, task_counts, answer = scores[task], counts[task], constant.get(task, pd.DataFrame())
        if task in random_scores:
            task_scores = pd.concat([task_scores, random_scores[task].assign(condition=RANDOM_ENCODER)])
            task_counts = pd.concat([task_counts, random_counts[task].assign(condition=RANDOM_ENCODER)], ignore_index=True)
        conditions = (EARLY, CONTROL_TASK, SHUFFLED_LABELS, RANDOM_ENCODER)
        f1 = {name: resampled_f1(task_counts, resamples, seed + number, condition=name) for name in conditions}
        if len(answer):
            # No training varies these answers; the resampled documents are those of `resampled_f1`.
            by_unit = answer.groupby("unit_number")[ANSWERS].sum().to_numpy(np.float64)
            resampled = [f1_of(drawn @ by_unit) for drawn in resampled_counts(len(by_unit), resamples, seed + number)]
            f1[_CONSTANT_ANSWER] = np.concatenate(resampled)[:, None]
        max_steps = recipe_of(training, tasks[task]).max_steps
        of_task = _Task(task, task_scores, weights[task], task_counts, answer, max_steps, f1)
        row, layers = _by_task_and_layer(of_task, model, seed)
        frames = {"probe_scores": task_scores.rename(columns={"top": "layer"})[_PROBE_SCORES], "tasks": row, "layers": layers}
        frames |= {"mixing_weights": weights[task], "ends": _first_and_last(of_task)}
        first, last = f1[EARLY][:, 0], f1[EARLY][:, -1]
        statistics: dict[str, Any] = {"expected_layer": expected_layer(f1[EARLY]), "gain": last - first}
        statistics |= {name: last - of[:, -1] if of.shape[1] else np.nan for name, of in of_task.controls.items()}
        frames["resamples"] = pd.DataFrame({"task": task, "resample": range(resamples), **statistics})
        frames["options"] = _options(of_task, resamples, seed + number)
        for name, frame in frames.items():
            tables.setdefault(name, []).append(frame)
    joined = {name: pd.concat(frames, ignore_index=True) for name, frames in tables.items()}
    return joined | ({"traces": traces(cases, sentences)} if cases else {})


@dataclass(frozen=True)
class _Task:
    """Tables of a task, its constant answer, the largest number of steps of its probes, and resampled F1 by condition.

    F1 is [resample, top], for each top layer or only on layer 0 and on all layers; of shuffled labels on all layers only. There
    is no column without a model with random layers, and one of the constant answer, which is missing where not computed.
    """

    name: str
    scores: pd.DataFrame
    weights: pd.DataFrame
    counts: pd.DataFrame
    constant: pd.DataFrame
    max_steps: int
    resampled: Mapping[str, Floats]

    @property
    def sizes(self) -> dict[str, Any]:
        """Evaluation data, the units that intervals resample with their number, and the number of seeds."""
        sizes = dict(self.scores.iloc[0][["targets", *UNIT_COLUMNS]])
        sentences = self.counts.loc[self.counts["condition"] == EARLY, "record"].nunique()
        return {"sentences": sentences, **sizes, "seeds": self.rows()["seed"].nunique()}

    def rows(self, condition: str = EARLY, layer0: str = EMBEDDINGS) -> pd.DataFrame:
        return self.scores[(self.scores["condition"] == condition) & (self.scores["layer0"] == layer0)]

    def mean(self, column: str = "f1", condition: str = EARLY, layer0: str = EMBEDDINGS) -> pd.Series:
        """[top] mean over seeds."""
        return self.rows(condition, layer0).groupby("top")[column].mean()

    @property
    def at_step_limit(self) -> pd.Series:
        """[top] share of probes that no early stopping ended: more steps could raise their F1."""
        return (self.rows().set_index("top")["steps"] >= self.max_steps).groupby("top").mean()

    @property
    def controls(self) -> dict[str, Floats]:
        """Column of a difference in F1 -> resampled F1 [resample, top] of the control; of label frequencies: the larger one."""
        by_labels = [self.resampled[name][:, -1:] for name in (SHUFFLED_LABELS, _CONSTANT_ANSWER) if name in self.resampled]
        return {
            "selectivity": self.resampled[CONTROL_TASK],
            "above_label_frequencies": np.max([f1 for f1 in by_labels if f1.shape[1]] or by_labels, axis=0),
            "above_random_encoder": self.resampled[RANDOM_ENCODER],
        }


def _by_task_and_layer(task: _Task, model: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    f1, mixing, resampled = task.mean().to_numpy(), weights_on_all_layers(task.weights), task.resampled[EARLY]
    noise = is_noise(f1, resampled)
    centres = centre_of_gravity(mixing)
    k_delta = np.nan if noise else float(divergence_of_weights(differential_scores(f1)))
    divergences = {"k_s": divergence_of_weights(mixing).mean(), "k_delta": k_delta, "within_noise": int(noise)}
    row = {"task": task.name, "f1_first": f1[0], "f1_last": f1[-1], **_ends("f1_last", percentile_interval(resampled[:, -1]))}
    row |= {"expected_layer": np.nan if noise else float(expected_layer(f1))}
    row |= _ends("expected", None if noise else percentile_interval(expected_layer(resampled)))
    row |= {"centre": float(centres.mean()), **_ends("centre", seed_interval(centres, seed)), **divergences}
    row |= {"at_step_limit": task.at_step_limit.max()}
    row |= {"layers": len(f1) - 1, "training_targets": int(task.scores["training_targets"].iloc[0]), **task.sizes}
    weight_low, weight_high = zip(*(seed_interval(by_seed, seed) for by_seed in mixing.T), strict=True)
    share_low, share_high = percentile_interval(shares_of_gain(resampled))
    layers = {"model": model, "task": task.name, "layer": range(len(f1)), "f1": f1, "delta": [np.nan, *differential_scores(f1)]}
    layers |= {"weight": mixing.mean(axis=0), "weight_low": weight_low, "weight_high": weight_high}
    layers |= {"share": [np.nan, *shares_of_gain(f1)], "share_low": [np.nan, *share_low], "share_high": [np.nan, *share_high]}
    layers |= divergences | task.sizes
    return pd.DataFrame([row]), pd.DataFrame(layers)


def _ends(name: str, interval: tuple[Any, Any] | None) -> dict[str, float]:
    """Columns of the ends of an interval; NaN where there is none."""
    low, high = interval or (np.nan, np.nan)
    return {f"{name}_low": float(low), f"{name}_high": float(high)}


def _first_and_last(task: _Task) -> pd.DataFrame:
    rows, answer = [], task.constant
    points = {condition: task.mean(condition=condition) for condition in CONDITIONS}
    # The model with random layers has other segment embeddings and another normalisation: its layer 0 is another input.
    points[RANDOM_ENCODER] = points[RANDOM_ENCODER].drop(0, errors="ignore")
    of_constant = float(f1_of(answer[ANSWERS].sum())) if len(answer) else np.nan
    for column, top in ((0, 0), (-1, int(points[EARLY].index.max()))):
        f1, equal, control, random, shuffled = (float(points[condition].get(top, np.nan)) for condition in CONDITIONS)
        frequencies, draws = np.nan if np.isnan(shuffled) else np.fmax(shuffled, of_constant), task.resampled[EARLY][:, column]
        row = {"task": task.name, "labels": int(task.scores["labels"].iloc[0]), **task.sizes, "layer": top}
        row |= {"f1": f1, **_ends("f1", percentile_interval(draws)), "f1_random_encoder": random, "f1_control_task": control}
        row |= {"f1_shuffled_labels": shuffled, "f1_constant_answer": of_constant, "f1_equal_steps": equal}
        for (name, of_control), value in zip(task.controls.items(), (control, frequencies, random), strict=True):
            interval = None if np.isnan(value) else percentile_interval(draws - of_control[:, column])
            row |= {name: f1 - value, **_ends(name, interval)}
        row |= {"steps": task.mean("steps")[top], "equal_steps": task.mean("steps", EQUAL).get(top, np.nan)}
        rows.append(row | {"at_step_limit": task.at_step_limit[top]})
    return pd.DataFrame(rows)


def _options(task: _Task, resamples: int, seed: int) -> pd.DataFrame:
    """The table `options` of a task; with equal steps there are probes on all layers alone."""
    rows: list[dict[str, Any]] = []
    for layer0, condition in ((EMBEDDINGS, EARLY), (LEXICAL, EARLY), (EMBEDDINGS, EQUAL)):
        f1, steps = (task.mean(column, condition, layer0).to_numpy() for column in ("f1", "steps"))
        if not len(f1):
            continue
        mixing = weights_on_all_layers(task.weights, condition, layer0)
        row = {"task": task.name, "layer0": layer0, "condition": condition, "f1_last": f1[-1], "steps": steps[-1]}
        row |= {"centre": centre_of_gravity(mixing).mean(), "k_s": divergence_of_weights(mixing).mean()}
        if condition == EQUAL:
            rows.append(row)
            continue
        resampled = task.resampled[EARLY] if layer0 == EMBEDDINGS else resampled_f1(task.counts, resamples, seed, layer0)
        noise = is_noise(f1, resampled)
        k_delta = np.nan if noise else float(divergence_of_weights(differential_scores(f1)))
        row |= {"f1_first": f1[0], "within_noise": int(noise), "k_delta": k_delta}
        for gains in ("raw", "running_max"):
            expected = np.nan if noise else float(expected_layer(f1, running_max=gains == "running_max"))
            rows.append(row | {"gains": gains, "expected_layer": expected})
    return pd.DataFrame(rows).astype({"within_noise": "Int64"}).assign(**task.sizes)


def traces(cases: Frames, sentences: int) -> pd.DataFrame:
    """Traces of all cases and of at most so many `sentences` of the development set with several ambiguous targets (`FIGURE3`):
    first those with targets of the most tasks, then those where the prediction for the most targets changes through the layers.
    """
    table = pd.concat([frame for frame in cases.values() if len(frame)] or list(cases.values()))
    chosen = list(dict.fromkeys(table.loc[table["source"] == "cases", "id"]))
    in_doubt = table[table["source"] == "development"]
    if len(in_doubt):
        wide = in_doubt.pivot_table(index=["task", "id", "target"], columns=["gold", "top"], values="probability")
        lead = wide[1] - wide[0]
        flips = (lead.iloc[:, 0] * lead.iloc[:, -1] < 0).rename("flips").reset_index()
        ranked = flips.groupby("id").agg(targets=("flips", "size"), tasks=("task", "nunique"), flips=("flips", "sum"))
        ranked = ranked[ranked["targets"] > 1].sort_values(["tasks", "flips"], ascending=False, kind="stable")
        chosen += list(ranked.index[:sentences])
    shown = table[table["id"].isin(chosen)].rename(columns={"top": "layer"})
    shown = shown.assign(sentence=shown["id"].map({name: k for k, name in enumerate(chosen, start=1)}))
    shown = shown.sort_values(["sentence", "task", "target", "gold", "layer"], ascending=[True, True, True, False, True])
    return shown[FIGURE3]
