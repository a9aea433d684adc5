"""Tables and claims of Tenney et al. (2019).

Intervals of F1 and of expected layers resample evaluated documents, or sentences, and probe seeds (`resampled_f1`); those of
mixing weights probe seeds alone. A claim about several tasks is tested task by task, or pair by pair of tasks (`all_hold`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, pairwise, product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.io.html_tables import Table
from attention_atlas.io.tables import RunLabel
from attention_atlas.methods.dropped import RecordsByCorpus, dropped_records
from attention_atlas.published.compare import CLOSE, EXACT, NO, Claim, Measured, all_hold, claims_table, compare, value_table
from attention_atlas.published.matching import Quantity, measure, quantities
from attention_atlas.published.values import Published, load_published
from attention_atlas.stats.intervals import LEVEL, Floats, expanded_level, level_of_parts
from attention_atlas.stats.ranks import spearman
from attention_atlas.studies.tenney2019.summary import (
    MOST_AT_LIMIT,
    RISING,
    centre_of_gravity,
    divergence_of_weights,
    weights_on_all_layers,
)
from attention_atlas.studies.tenney2019.targets import AMBIGUOUS, EARLY, EQUAL, Recipe, recipe_of
from attention_atlas.workflow.shown import table

PUBLISHED_RECIPES = dict.fromkeys(("protoroles", "relations"), Recipe(evaluation_interval=100, max_steps=10_000))
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
"""Targets of each training and development set (corrected by the authors: nyu-mll/jiant-v1-legacy, probing/README.md)."""


@table(title="F1 of each task on layer 0 and on all layers, with controls", reads=("summary/ends",), labels=("tasks",))
def controls(summary_ends: pd.DataFrame) -> Table:
    """F1 of probes on the input of the first layer and on all layers, mean over seeds; beside it, of a model with random
    layers, a control task, shuffled labels, the best constant answer, and an equal number of steps. Intervals: bootstrap over
    seeds and documents, or sentences where these are unknown (unit). Not a table of the paper.
    """
    notes = [
        "Random encoder: layers with random weights; its layer 0 differs, and is not compared. Control task: every word type "
        "has one random label (Hewitt & Liang 2019), which a probe can only memorise; selectivity: difference in F1 from it. "
        "Shuffled labels: trained on labels shuffled among the training targets, of the first seed only. Constant answer: the "
        "labels with the highest F1 if every evaluated target gets them. Above label frequencies: difference in F1 from the "
        "better of these two. At the step limit: share of probes that no early stopping ended; where it "
        "is above one half on some layer (Figure 1), claims about the layers of the task are not tested.",
        *([] if stopped_early(summary_ends) else [f"Equal steps: {NONE_STOPPED}."]),
    ]
    formats = {name: ".1f" for name in summary_ends if name.startswith(("f1", "selectivity", "above"))}
    formats |= {"steps": ".0f", "equal_steps": ".0f", "at_step_limit": ".0%"}
    page = summary_ends.assign(task=summary_ends["task"].map(EDGE_TASKS))
    return Table(summary_ends, notes, page, formats=formats)


@table(title="Effect of options: layer 0, running maximum, equal steps", reads=("summary/options",), labels=("tasks",))
def options(summary_options: pd.DataFrame) -> Table:
    """The result under each option of the method (Tenney et al. 2019): layer 0 as the input of the first layer, or as the words
    alone, as in the published code; gains as measured, or of the best score so far; early stopping, or the same number of steps
    for all tasks (centre of gravity only). Means over seeds.
    """
    notes = ["No expected layer is given where the total gain is within two standard errors of 0."]
    formats = {"f1_first": ".1f", "f1_last": ".1f", "within_noise": "d", "steps": ".0f"}
    return Table(summary_options, notes, summary_options.assign(task=summary_options["task"].map(EDGE_TASKS)), formats=formats)


@table(
    title="The paper's claims, and objections to them, tested on this run's model",
    reads=("summary/tasks", "summary/ends", "summary/mixing_weights", "summary/resamples.parquet"),
    labels=("tasks",),
    resources=("published/fixed_claims.tsv",),
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
    return claims_table(all_claims(results))


@table(
    title="Every published number beside this run's",
    reads=("summary/tasks", "summary/layers", "summary/ends", "summary/options", "summary/mixing_weights"),
    gathers=("second_model",),
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
        "The paper's 9.47 for coreference is that of BERT-large; BERT-base gives 3.62. Values of the run's second model are "
        "compared with that model. Ids with rerun are from the authors' later logs, on the test set; f1_lex: on words alone."
    )
    return value_table(frame, [note])


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


@table(title="Dropped sentences, by reason", gathers=("shards_by_corpus",))
def dropped(shards_by_corpus: RecordsByCorpus) -> Table:
    """Number of sentences kept and dropped in each corpus of the study of Tenney et al. (2019), by reason."""
    return dropped_records(shards_by_corpus)


# --- claims --------------------------------------------------------------------------------------------------------------

Stages = Sequence[Sequence[str]]
# Orders of stages: section 4.1 does not name entities; parsing in the abstract is both kinds of syntax.
SECTION = (("pos",), ("constituents",), ("dependencies",), ("roles",), ("coreference",))
ABSTRACT = (("pos",), ("constituents", "dependencies"), ("entities",), ("roles",), ("coreference",))
SPREAD = ("protoroles", "relations")  # tasks whose mixing weights are close to uniform (section 4.1)
BY_SEEDS = "probe seeds"
_CORRELATED = 0.5
NONE_STOPPED = (
    "no probe on all layers stopped early, so all took the same number of steps in both conditions, whose scores differ only "
    "by dropout, and because early stopping keeps the weights of the best evaluation and halves learning rates on a plateau"
)


@dataclass(frozen=True)
class Results:
    """Tables `tasks`, `ends`, `mixing_weights` and `resamples` of `summary`."""

    tasks: pd.DataFrame
    controls: pd.DataFrame
    weights: pd.DataFrame
    resamples: pd.DataFrame

    def units(self, tasks: Iterable[str]) -> tuple[int, str]:
        """Units that intervals of some tasks resample besides probe seeds: the smallest number over tasks, and their name."""
        rows = self.tasks[self.tasks["task"].isin(list(tasks))]
        return int(rows["units"].min()), " or ".join(sorted(rows["unit"].unique()))

    def draws(self, statistic: str) -> dict[str, Floats]:
        """Task -> [resample] statistic."""
        return {str(task): rows[statistic].to_numpy() for task, rows in self.resamples.groupby("task", sort=False)}

    def by_seed(self, statistic: Callable[[Floats], Floats], condition: str = EARLY) -> dict[str, Floats]:
        """Task -> [seed] statistic of the mixing weights of the probes on all layers."""
        groups = self.weights[self.weights["condition"] == condition].groupby("task", sort=False)
        return {str(task): statistic(weights_on_all_layers(of_task, condition)) for task, of_task in groups}

    @property
    def rising(self) -> set[str]:
        """Tasks whose probes, of some layer and in most seeds, no early stopping ended: layers would measure learning speed."""
        return set(self.tasks.loc[self.tasks["at_step_limit"] > MOST_AT_LIMIT, "task"])

    def converged(self, claim: Claim, *tasks: str) -> Claim:
        """The claim, not tested if F1 of one of its tasks still rises."""
        if self.rising.isdisjoint(tasks):
            return claim
        return replace(claim, statistic=f"{claim.statistic} ({RISING})", ci_low=np.nan, ci_high=np.nan)

    @property
    def solved(self) -> dict[str, float]:
        """Task -> expected layer, for tasks whose gain exceeds noise and whose probes converged."""
        solved = self.tasks[(self.tasks["within_noise"] == 0) & ~self.tasks["task"].isin(self.rising)]
        return dict(zip(solved["task"], solved["expected_layer"], strict=True))


def all_claims(results: Results) -> Iterator[Claim]:
    for stages, place in ((SECTION, "section 4.1"), (ABSTRACT, "abstract")):
        yield from order_by_expected_layers(results, stages, place)
    yield from order_by_centres(results, SECTION, "section 4.1")
    gains = dict(zip(results.tasks["task"], results.tasks["f1_last"] - results.tasks["f1_first"], strict=True))
    all_gain = "Every task gains from layers above 0: F1 on all layers above F1 on layer 0"
    yield every_task(results, "gain", all_gain, "gain of F1", gains)
    yield lower_half(results)
    yield from centres_agree(results)
    yield from spread(results)
    last = results.controls.sort_values("layer").groupby("task", sort=False).tail(1).set_index("task")
    frequencies = "label frequencies in F1: the better of the best constant answer and probes of shuffled labels"
    for column, beaten in (
        ("selectivity", "the control task in F1 (Hewitt & Liang 2019)"),
        ("above_label_frequencies", frequencies),
        ("above_random_encoder", "probes of a model with random layers in F1"),
    ):
        if values := {str(task): float(value) for task, value in last[column].dropna().items()}:
            claim = every_task(results, column, f"Probes beat {beaten}", "difference of F1", values)
            yield replace(claim, of_paper=False)


def order_by_expected_layers(results: Results, stages: Stages, place: str) -> Iterator[Claim]:
    """Tasks come in an order of stages, by their expected layers; also without those that have none."""
    layers, draws = results.solved, results.draws("expected_layer")

    def difference(earlier: str, later: str, level: float) -> Claim:
        n, unit = results.units([earlier, later])
        interval = interval_of_resamples(draws[later] - draws[earlier], level, n)
        words = f"expected layer: {EDGE_TASKS[later]} minus {EDGE_TASKS[earlier]}"
        return Claim("", "", words, layers[later] - layers[earlier], *interval, n, unit, level=level)

    reasons = dict.fromkeys(draws, "gain within noise") | dict.fromkeys(results.rising, RISING)
    missing = {task: reasons.get(task, "not probed") for task in chain(*stages) if task not in layers}
    without = ", ".join(f"{EDGE_TASKS[task]} ({reason})" for task, reason in missing.items())
    ours = f"expected layers: {_listed(layers, '.2f')}{without and f'; without an expected layer: {without}'}"
    words = "Tasks come in the order of the pipeline, by expected layers"
    yield from _in_order(words, place, stages, missing, ours, difference, results.units(draws))


def order_by_centres(results: Results, stages: Stages, place: str) -> Iterator[Claim]:
    """Tasks come in an order of stages, by the centres of gravity of their mixing weights; also without tasks not probed."""
    centres = results.by_seed(centre_of_gravity)

    def difference(earlier: str, later: str, level: float) -> Claim:
        return _difference_over_seeds(earlier, later, "centre of gravity", centres, level)

    reasons = dict.fromkeys(set(EDGE_TASKS) - set(centres), "not probed") | dict.fromkeys(results.rising, RISING)
    missing = {task: reasons[task] for task in chain(*stages) if task in reasons}
    ours = f"centres: {_listed({task: float(values.mean()) for task, values in centres.items()}, '.2f')}"
    units = (min(map(len, centres.values())), BY_SEEDS)
    yield from _in_order("Tasks come in the same order by centres of gravity", place, stages, missing, ours, difference, units)


def _in_order(
    words: str,
    place: str,
    stages: Stages,
    missing: Mapping[str, str],
    ours: str,
    difference: Callable[[str, str, float], Claim],
    units: tuple[int, str],
) -> Iterator[Claim]:
    """Every task of a stage comes before every task of the next stage; place: of this order in the paper.

    Tasks that cannot be placed (missing: task -> why) leave the order of all tasks untested, unless the others refute it or
    leave it undecided; the order of the others is then a second claim. difference: claim of an earlier and a later task.
    """
    placed = [known for stage in stages if (known := [task for task in stage if task not in missing])]
    pairs = [pair for stage, later in pairwise(placed) for pair in product(stage, later)]
    level = level_of_parts(max(len(pairs), 1))
    parts, untested = [difference(earlier, later, level) for earlier, later in pairs], []
    if missing:
        undefined = f"order undefined: {', '.join(f'{EDGE_TASKS[task]} {reason}' for task, reason in missing.items())}"
        untested.append(Claim("", "", undefined, np.nan, np.nan, np.nan, *units, level=level))

    def statement(of: Stages, without: str) -> str:
        return f"{words}: {', '.join(' and '.join(EDGE_TASKS[task] for task in stage) for stage in of)} ({place}{without})"

    yield all_hold(statement(stages, ""), ours, parts + untested)
    if parts and missing:
        yield all_hold(statement(placed, f", without {', '.join(map(EDGE_TASKS.__getitem__, missing))}"), ours, parts)


def every_task(results: Results, column: str, statement: str, statistic: str, values: Mapping[str, float]) -> Claim:
    """A statistic lies above 0 for every task; column: of its resamples."""
    level, draws = level_of_parts(len(values)), results.draws(column)
    parts = []
    for task, value in values.items():
        n, unit = results.units([task])
        words = f"{EDGE_TASKS[task]}: {statistic}, percentage points"
        interval = interval_of_resamples(draws[task], level, n)
        part = Claim(statement, "", words, value, *interval, n, unit, level=level)
        # A constant answer has no training: a score that rises beats it all the more.
        parts.append(part if column == "above_label_frequencies" else results.converged(part, task))
    return all_hold(statement, _listed(values, "+.1f"), parts)


def lower_half(results: Results) -> Claim:
    """Most tasks have an expected layer in the lower half of the model; a task without one could have any value."""
    draws, middle = results.draws("expected_layer"), float(results.tasks["layers"].iloc[0]) / 2
    layers = np.stack([np.where(task in results.rising, np.nan, of_task) for task, of_task in draws.items()])
    # A resample without an expected layer for a task counts against either verdict.
    least, most = ((np.nan_to_num(layers, nan=unknown) < middle).mean(axis=0) for unknown in (np.inf, -np.inf))
    n, unit = results.units(draws)
    low, high = interval_of_resamples(least, LEVEL, n)[0], interval_of_resamples(most, LEVEL, n)[1]
    below = sum(layer < middle for layer in results.solved.values())
    claim = Claim(
        "Most tasks are solved in the lower half of the layers",
        f"{below} of {len(draws)} tasks have an expected layer below layer {middle:g}; {len(draws) - len(results.solved)} have "
        f"none, because their gain is within noise or their {RISING}",
        "share of tasks with an expected layer in the lower half",
        *(below / len(draws), low, high, n, unit, 0.5),
    )
    return claim if set(draws) - results.rising else results.converged(claim, *draws)


def centres_agree(results: Results) -> Iterator[Claim]:
    solved = results.solved
    if len(solved) < 3:
        return
    tasks, draws, centres = list(solved), results.draws("expected_layer"), results.by_seed(centre_of_gravity)
    generator = np.random.default_rng(0)
    layers = np.stack([draws[task] for task in tasks], axis=1)
    resampled = [generator.choice(centres[task], (len(layers), len(centres[task]))).mean(axis=1) for task in tasks]
    by_resample = spearman(layers, np.stack(resampled, axis=1))
    n, unit = results.units(tasks)
    value = float(spearman(np.array(list(solved.values())), np.array([centres[task].mean() for task in tasks])))
    yield Claim(
        f"Centres of gravity order tasks as expected layers do (Spearman above {_CORRELATED})",
        f"Spearman {value:.2f} over {len(tasks)} tasks",
        f"Spearman correlation over {len(tasks)} tasks",
        *(value, *interval_of_resamples(by_resample, LEVEL, n, bounds=(-1, 1)), n, unit, _CORRELATED),
    )


def spread(results: Results) -> Iterator[Claim]:
    """The weights of proto-roles and relations are spread most evenly: also if all probes take the same number of steps?"""
    for condition, statement in (
        (EARLY, "Weights of proto-roles and relations are spread most evenly (K(s), section 4.1)"),
        (EQUAL, "Weights of proto-roles and relations are spread most evenly if all tasks train for the same number of steps"),
    ):
        divergences = results.by_seed(divergence_of_weights, condition)
        others = [task for task in divergences if task not in SPREAD]
        pairs = list(product((task for task in SPREAD if task in divergences), others))
        if not pairs:
            continue
        ours = f"bits: {_listed({task: float(values.mean()) for task, values in divergences.items()}, '.2f')}"
        if condition == EQUAL and not stopped_early(results.controls):
            ours = f"{NONE_STOPPED}; {ours}"
            seeds = min(map(len, divergences.values()))
            yield Claim(statement, ours, "difference of K(s), bits", np.nan, np.nan, np.nan, seeds, BY_SEEDS)
            continue
        parts = [_difference_over_seeds(*pair, "K(s) in bits", divergences, level_of_parts(len(pairs))) for pair in pairs]
        if condition == EARLY:
            parts = [results.converged(part, *pair) for part, pair in zip(parts, pairs, strict=True)]
        yield all_hold(statement, ours, parts)


def stopped_early(controls: pd.DataFrame) -> bool:
    """Whether early stopping gave some task a different number of steps than the condition of equal steps (`CONTROLS`)."""
    return bool(controls.dropna(subset=["equal_steps"]).eval("steps != equal_steps").any())


def _difference_over_seeds(earlier: str, later: str, statistic: str, by_seed: Mapping[str, Floats], level: float) -> Claim:
    """The later task's mean over probe seeds minus the earlier one's."""
    values = by_seed[later], by_seed[earlier]
    words = f"{statistic}: {EDGE_TASKS[later]} minus {EDGE_TASKS[earlier]}"
    value = float(values[0].mean() - values[1].mean())
    interval = np.nan, np.nan  # with a single seed
    if min(map(len, values)) > 1 and np.ptp(values[0]) + np.ptp(values[1]) > 0:
        welch = ttest_ind(*values, equal_var=False).confidence_interval(level)
        interval = float(welch.low), float(welch.high)
    return Claim("", "", words, value, *interval, min(map(len, values)), BY_SEEDS, level=level)


def _listed(values: Mapping[str, float], format_spec: str) -> str:
    return ", ".join(f"{EDGE_TASKS[task]} {values[task]:{format_spec}}" for task in sorted(values, key=values.__getitem__))


def interval_of_resamples(
    values: Floats, level: float, units: int, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float]:
    """Percentile interval of a statistic [resample], widened for few units (`expanded_level`); none for one unit.

    A resample without one (NaN) counts as the lowest of `bounds` for the lower end and as the highest for the upper end.
    """
    if units < 2:
        return np.nan, np.nan
    tail = (1 - expanded_level(level, units)) / 2
    unknown = np.isnan(values)
    low = np.quantile(np.where(unknown, bounds[0], values), tail, method="lower")
    high = np.quantile(np.where(unknown, bounds[1], values), 1 - tail, method="higher")
    return float(low), float(high)
