"""Tables of Tenney et al. (2019)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pandas as pd

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.io.html_tables import Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.dropped import RecordsByCorpus, dropped_records
from attention_atlas.published.compare import (
    CLOSE,
    EXACT,
    NO,
    Measured,
    claim_frame,
    claim_table,
    compare,
    value_table,
    verdict_counts,
)
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.values import Published, load_published
from attention_atlas.studies.tenney2019.claims import NONE_STOPPED, Results, stopped_early
from attention_atlas.studies.tenney2019.claims import claims as tested_claims
from attention_atlas.studies.tenney2019.targets import AMBIGUOUS, Recipe, recipe_of
from attention_atlas.workflow.shown import table

_SHORT = Recipe(evaluation_interval=100, max_steps=10_000)
PUBLISHED_RECIPES = {"protoroles": _SHORT, "relations": _SHORT}
"""Tasks whose training set is small -> their recipe in the published code; other tasks have the defaults."""
PUBLISHED_TARGETS = {
    "pos": (2_070_382, 290_013),
    "constituents": (1_851_590, 255_133),
    "dependencies": (203_919, 25_110),
    "entities": (128_738, 20_354),
    "roles": (598_983, 83_362),
    "coreference": (207_830, 26_333),
    "protoroles": (7_611, 1_071),
    "relations": (6_851, 1_149),
}
"""Targets of each training and development set (corrected table of the authors:
github:nyu-mll/jiant-v1-legacy:probing/README.md)."""


@table(
    id="controls",
    number="Controls",
    title="F1 of each task on layer 0 and on all layers, with controls",
    reads=("summary/ends",),
    labels=("tasks",),
)
def controls(summary_ends: pd.DataFrame) -> Table:
    """F1 of probes on the input of the first layer and on all layers, mean over seeds; beside it, of a model with random
    layers, a control task, shuffled labels, the best constant answer, and an equal number of steps. Intervals: bootstrap over
    seeds and documents, or sentences where these are unknown (unit). Not a table of the paper.
    """
    notes = [
        "Random encoder: a model whose layers have random weights. Its layer 0 is not compared, since its segment embeddings "
        "and layer normalisation are untrained. "
        "Control task: every word type has one random label (Hewitt & Liang 2019), so that a probe can memorise labels but "
        "learns nothing about the task; selectivity: difference in F1 from the control task. "
        "Shuffled labels: trained on labels shuffled among all training targets, of the first seed only, and evaluated on the "
        "true labels; where no label has a probability of one half, such probes have an F1 of 0. "
        "Constant answer: the labels that have the highest F1 if every evaluated target gets them. "
        "Above label frequencies: difference in F1 from the better of these two. "
        "At the step limit: share of probes (over seeds) that trained to the largest number of steps; more could raise F1.",
        *([] if stopped_early(summary_ends) else [f"Equal steps: {NONE_STOPPED}."]),
    ]
    names = {
        "f1_random_encoder": "F1, random encoder",
        "above_random_encoder": "Above random encoder",
        "f1_control_task": "F1, control task",
        "f1_shuffled_labels": "F1, shuffled labels",
        "f1_constant_answer": "F1, constant answer",
        "labels_constant_answer": "Labels, constant answer",
        "above_label_frequencies": "Above label frequencies",
        "at_step_limit": "At the step limit",
        "f1_equal_steps": "F1, equal steps",
    }
    formats = {name: ".1f" for name in summary_ends if name.startswith(("f1", "selectivity", "above"))}
    formats |= {"steps": ".0f", "equal_steps": ".0f", "at_step_limit": ".0%"}
    page = summary_ends.assign(task=summary_ends["task"].map(EDGE_TASKS))
    return Table(summary_ends, notes, page, names, formats)


@table(
    id="options",
    number="Options",
    title="Effect of options: layer 0, running maximum, equal steps",
    reads=("summary/options",),
    labels=("tasks",),
)
def options(summary_options: pd.DataFrame) -> Table:
    """The result under each option of the method (Tenney et al. 2019): layer 0 as the input of the first layer, or as the words
    alone, as in the published code; gains as measured, or of the best score so far; early stopping, or the same number of steps
    for all tasks (centre of gravity only). Means over seeds.
    """
    notes = ["No expected layer is given where the total gain is within two standard errors of 0."]
    formats = dict.fromkeys(("f1_first", "f1_last"), ".1f") | {"within_noise": "d", "steps": ".0f"}
    formats |= dict.fromkeys(("expected_layer", "centre", "k_s", "k_delta"), ".2f")
    return Table(summary_options, notes, summary_options.assign(task=summary_options["task"].map(EDGE_TASKS)), formats=formats)


@table(
    id="claims",
    number="Claims",
    title="The paper's claims, and objections to them, tested on this run's model",
    reads=("summary/tasks", "summary/ends", "summary/mixing_weights", "summary/resamples.parquet"),
    labels=("tasks",),
)
def claims(
    summary_tasks: pd.DataFrame,
    summary_ends: pd.DataFrame,
    summary_mixing_weights: pd.DataFrame,
    summary_resamples: pd.DataFrame,
) -> Table:
    """Claims of Tenney et al. (2019), and objections to them, tested on this run's model. Intervals of F1 and of expected
    layers resample the documents or sentences that n counts, and with them the seeds of the probes.
    """
    results = Results(summary_tasks, summary_ends, summary_mixing_weights, summary_resamples)
    return claim_table(claim_frame(tested_claims(results, load_published("tenney2019"))))


@table(
    id="comparison",
    number="Comparison",
    title="Every published number beside this run's",
    reads=("summary/tasks", "summary/layers", "summary/ends", "summary/options", "summary/mixing_weights"),
    gathers=("second_model",),
    settings=("training", "tasks", "max_targets"),
    labels=("compared",),
)
def comparison(
    summary_tasks: pd.DataFrame,
    summary_layers: pd.DataFrame,
    summary_ends: pd.DataFrame,
    summary_options: pd.DataFrame,
    summary_mixing_weights: pd.DataFrame,
    second_model: Mapping[str, pd.DataFrame],
    training: Mapping[str, Any],
    tasks: Mapping[str, Mapping[str, Any]],
    max_targets: int | None,
    labels: Mapping[str, RunLabel],
) -> Table:
    """Every published number of Tenney et al. (2019) beside this run's, with the reason where the two cannot be compared. A
    number is compared only with the same model on the same data, with as many training and development targets as the authors
    report, and probes trained by the published recipe.
    """
    published = load_published("tenney2019")
    recipes = {task: asdict(recipe_of(training, entry)) | {"max_targets": max_targets} for task, entry in tasks.items()}
    first = {name: label for name, label in labels.items() if name in EDGE_TASKS}
    second = {name.removeprefix("second "): label for name, label in labels.items() if name not in EDGE_TASKS}
    frames = {"figure1": summary_tasks, "figure2": summary_layers, "controls": summary_ends, "options": summary_options}
    frames["mixing_weights"] = summary_mixing_weights
    measured = _measured(published, frames, first, recipes)
    if second_model:
        frames = {"figure1": second_model["tasks"], "figure2": second_model["layers"], **second_model}
        of_second = _measured(published, frames, second, recipes)
        for name, value in published.items():
            model, role = value.same.get("model"), value.role
            # Where both models are the same published one, its values are those of the first.
            if model and role in second and model == second[role].model_reference != first[role].model_reference:
                measured[name] = of_second[name]
    frame = compare(published, measured)
    note = (
        "The paper's 9.47 for coreference is that of BERT-large with 24 layers; BERT-base gives 3.62. Values of the model that "
        "is the run's second model (Figure A.3) are compared with those of that model. Ids with rerun are from the authors' "
        "later logs, on the test set; those with f1_lex are probes on words alone."
    )
    return value_table(frame, [verdict_counts(frame), note])


def _measured(
    published: Mapping[str, Published],
    frames: Mapping[str, pd.DataFrame],
    labels: Mapping[str, RunLabel],
    recipes: Mapping[str, Mapping[str, Any]],
) -> dict[str, Measured]:
    """Published values in the tables of one model; those of another recipe or number of targets are not comparable."""
    tasks = frames["figure1"]
    weights = frames["mixing_weights"].merge(tasks[["task", "targets"]], on="task")
    derived = {**frames, "mixing_weights": weights, "quantities": quantities([Quantity("ambiguous", AMBIGUOUS)])}
    measured = measure(published, derived, labels)
    for name, value in measured.items():
        task = published[name].role
        if value.comparable not in (EXACT, CLOSE) or task not in recipes:
            continue
        counts = tasks.loc[tasks["task"] == task, ["targets", "training_targets"]].astype(int).iloc[0]
        differences = recipe_differences(task, recipes[task])
        reasons = {"different recipe": f"different recipe: {', '.join(differences)}"} if differences else {}
        names = ("targets", "development set"), ("training targets", "training set")
        for (what, part), count, in_paper in zip(names, counts, reversed(PUBLISHED_TARGETS[task]), strict=True):
            if count != in_paper:
                reasons[f"different number of {what}"] = f"{count} {what} (the authors' {part} has {in_paper})"
        if reasons:
            why, obstacle = "; ".join([*reasons.values(), value.why]), " and ".join(reasons)
            measured[name] = replace(value, comparable=NO, why=why, obstacle=obstacle)
    return measured


def recipe_differences(task: str, recipe: Mapping[str, Any]) -> list[str]:
    """Differences of a run's recipe for a task, settings of `Recipe` and max_targets, from the published code, in words."""
    published = asdict(PUBLISHED_RECIPES.get(task, Recipe())) | {"max_targets": None}
    # The paper does not have the control with equal steps.
    names = [name for name in published if name != "equal_steps" and recipe.get(name) != published[name]]
    pairs = {name: ["all" if of.get(name) is None else f"{of[name]:g}" for of in (recipe, published)] for name in names}
    return [f"{name} {ours} (published {theirs})" for name, (ours, theirs) in pairs.items()]


@table(id="dropped", number="Dropped", title="Dropped sentences, by reason", gathers=("shards_by_corpus",))
def dropped(shards_by_corpus: RecordsByCorpus) -> Table:
    """Number of sentences kept and dropped in each corpus of the study of Tenney et al. (2019), by reason."""
    return dropped_records(shards_by_corpus)
