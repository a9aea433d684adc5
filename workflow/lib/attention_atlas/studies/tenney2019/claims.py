"""Claims of Tenney et al. (2019), and objections to them: statistics, intervals and verdicts.

Intervals of F1 and of expected layers resample evaluated documents, or sentences where a corpus does not name its documents,
and with them probe seeds (`resampling.resampled_f1`); n counts the documents or sentences. Intervals of mixing weights resample
probe seeds alone. A claim about several tasks is tested task by task, or pair by pair of tasks (`claims.all_hold`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.published.claims import Claim, all_hold
from attention_atlas.published.values import Published
from attention_atlas.stats.levels import LEVEL, level_of_parts
from attention_atlas.stats.rank_correlation import spearman
from attention_atlas.studies.tenney2019.layers import centre_of_gravity, divergence_of_weights
from attention_atlas.studies.tenney2019.names import EARLY, EMBEDDINGS, EQUAL
from attention_atlas.studies.tenney2019.resampling import interval_of_resamples, interval_over_seeds
from attention_atlas.studies.tenney2019.summary import at_step_limit

Floats = npt.NDArray[np.float64]
Stages = Sequence[Sequence[str]]
SECTION = (("pos",), ("constituents",), ("dependencies",), ("roles",), ("coreference",))
"""Order of tasks in section 4.1; it does not name entities."""
ABSTRACT = (("pos",), ("constituents", "dependencies"), ("entities",), ("roles",), ("coreference",))
"""Order of stages in the abstract: tagging, parsing, entities, roles, coreference; parsing is both kinds of syntax."""
SPREAD = ("protoroles", "relations")
"""Tasks whose mixing weights are close to uniform (section 4.1)."""
BY_SEEDS = "probe seeds"
_EXPECTED, _CENTRE = "expected_layer", "cog"
_CORRELATED = 0.5
NONE_STOPPED = (
    "no probe on all layers stopped early, so all took the same number of steps in both conditions. These start from the same "
    "weights and see the same batches; their scores differ in this run only because each probe draws its own dropout, and "
    "because early stopping keeps the weights of the best evaluation, not the last ones, and halves learning rates on a plateau"
)


@dataclass(frozen=True)
class Results:
    """Tables of the run, see `summary`.

    Attributes:
        tasks: `FIGURE1`.
        controls: `CONTROLS`.
        weights: mixing weights of all probes.
        resamples: `RESAMPLES`.
    """

    tasks: pd.DataFrame
    controls: pd.DataFrame
    weights: pd.DataFrame
    resamples: pd.DataFrame

    def by_task(self, column: str) -> dict[str, Any]:
        """Task -> value of `tasks`."""
        return dict(zip(self.tasks["task"], self.tasks[column], strict=True))

    def units(self, tasks: Iterable[str]) -> tuple[int, str]:
        """Units that intervals of some tasks resample besides probe seeds: the smallest number over tasks, and their name."""
        rows = self.tasks[self.tasks["task"].isin(list(tasks))]
        return int(rows["units"].min()), " or ".join(sorted(rows["unit"].unique()))

    def at_step_limit(self, tasks: Iterable[str]) -> list[str]:
        """Tasks whose probes on layer 0 reached the largest number of steps for most seeds: their F1(0) may be too low."""
        limited = set(at_step_limit(self.tasks)) & set(tasks)
        return [task for task in EDGE_TASKS if task in limited]

    def draws(self, statistic: str) -> dict[str, Floats]:
        """Task -> [resample] statistic."""
        return {str(task): rows[statistic].to_numpy() for task, rows in self.resamples.groupby("task", sort=False)}

    def by_seed(self, statistic: Callable[[Floats], Floats], condition: str = EARLY) -> dict[str, Floats]:
        """Task -> [seed] statistic of the mixing weights of the probes on all layers."""
        rows = self.weights[(self.weights["condition"] == condition) & (self.weights["layer0"] == EMBEDDINGS)]
        values = {}
        for task, of_task in rows.groupby("task", sort=False):
            top = of_task[of_task["top"] == of_task["top"].max()]
            values[str(task)] = statistic(top.pivot(index="seed", columns="layer", values="weight").to_numpy())
        return values

    @property
    def solved(self) -> dict[str, float]:
        """Task -> expected layer, for tasks whose gain exceeds noise."""
        return {task: layer for task, layer in self.by_task("expected_layer").items() if not self.by_task("within_noise")[task]}


def claims(results: Results, published: Mapping[str, Published]) -> Iterator[Claim]:
    """All claims that the run's tables can test.

    Args:
        results: tables of the run.
        published: the paper's values, whose order of tasks is reported beside the run's.
    """
    for stages, place in ((SECTION, "section 4.1"), (ABSTRACT, "abstract")):
        yield from order_by_expected_layers(results, stages, place, paper_layers(published, _EXPECTED))
    yield from order_by_centres(results, SECTION, "section 4.1", paper_layers(published, _CENTRE))
    yield gains(results)
    yield from lower_half(results)
    yield from centres_agree(results)
    yield from spread(results)
    yield from above_controls(results)


def paper_layers(published: Mapping[str, Published], statistic: str, model: str = "large") -> dict[str, float]:
    """Task -> the paper's expected layer or centre of gravity."""
    values = [value for name, value in published.items() if name.startswith(f"t19.{model}.") and name.endswith(f".{statistic}")]
    return {value.role: float(number.value) for value in values for number in value.numbers if isinstance(number.value, float)}


def order_by_expected_layers(results: Results, stages: Stages, place: str, paper: Mapping[str, float]) -> Iterator[Claim]:
    """Tasks come in an order of stages, by their expected layers; also without those that have none."""
    layers, draws = results.solved, results.draws("expected_layer")

    def part(earlier: str, later: str, level: float) -> Claim:
        n, unit = results.units([earlier, later])
        interval = interval_of_resamples(draws[later] - draws[earlier], level, n)
        return _difference(earlier, later, "expected layer", layers[later] - layers[earlier], interval, n, level, unit)

    missing = [task for task in _tasks(stages) if task not in layers]
    reasons = {task: "gain within noise" if task in draws else "not probed" for task in missing}
    ours = f"expected layers: {_listed(layers, '.2f')}"
    if missing:
        words = ", ".join(f"{EDGE_TASKS[task]} ({reasons[task]})" for task in missing)
        ours = f"{ours}; without an expected layer: {words}"
    ours += _undefined(draws, layers) + _undertrained(results, layers)
    words = "Tasks come in the order of the pipeline, by expected layers"
    yield from _in_order(_Order(words, place, stages, layers, reasons), ours, part, paper, results.units(draws))


def order_by_centres(results: Results, stages: Stages, place: str, paper: Mapping[str, float]) -> Iterator[Claim]:
    """Tasks come in an order of stages, by the centres of gravity of their mixing weights; also without tasks not probed."""
    centres = results.by_seed(centre_of_gravity)
    means = {task: float(values.mean()) for task, values in centres.items()}

    def part(earlier: str, later: str, level: float) -> Claim:
        interval = interval_over_seeds(centres[later], centres[earlier], level)
        seeds = min(len(centres[earlier]), len(centres[later]))
        return _difference(earlier, later, "centre of gravity", means[later] - means[earlier], interval, seeds, level, BY_SEEDS)

    reasons = {task: "not probed" for task in _tasks(stages) if task not in means}
    order = _Order("Tasks come in the same order by centres of gravity", place, stages, means, reasons)
    seeds = min(map(len, centres.values()))
    yield from _in_order(order, f"centres: {_listed(means, '.2f')}", part, paper, (seeds, BY_SEEDS))


@dataclass(frozen=True)
class _Order:
    """An order of stages, and where a run has its tasks.

    Attributes:
        words: the claim.
        place: in the paper.
        stages: tasks, stage by stage.
        layers: task -> layer, for tasks that can be placed.
        missing: task -> why it cannot be placed.
    """

    words: str
    place: str
    stages: Stages
    layers: Mapping[str, float]
    missing: Mapping[str, str]

    def statement(self, placed_only: bool) -> str:
        """The claim, about all tasks or about those that can be placed."""
        tasks = {task for task in _tasks(self.stages) if not (placed_only and task in self.missing)}
        stages = [[task for task in stage if task in tasks] for stage in self.stages]
        left_out = f", without {_names(self.missing)}" if placed_only else ""
        return f"{self.words}: {_in_words([stage for stage in stages if stage])} ({self.place}{left_out})"

    @property
    def undefined(self) -> str:
        """Statistic of an order that has tasks which cannot be placed."""
        return f"order undefined: {', '.join(f'{EDGE_TASKS[task]} {reason}' for task, reason in self.missing.items())}"


def _in_order(
    order: _Order,
    ours: str,
    part: Callable[[str, str, float], Claim],
    paper: Mapping[str, float],
    units: tuple[int, str],
) -> Iterator[Claim]:
    """Every task of a stage comes before every task of the next stage.

    Tasks that cannot be placed leave the order of all tasks untested, unless the others refute it or leave it undecided; the
    order of the others is then a second claim.
    """
    pairs = _pairs(order.stages, order.layers)
    level = level_of_parts(max(len(pairs), 1))
    parts = [part(earlier, later, level) for earlier, later in pairs]
    inverted = [(later, earlier) for earlier, later in _pairs(order.stages, paper) if paper[later] <= paper[earlier]]
    if inverted:
        words = [f"{EDGE_TASKS[a]} {paper[a]:.2f} before {EDGE_TASKS[b]} {paper[b]:.2f}" for a, b in inverted]
        ours += f"; the paper's own numbers are not in this order: {', '.join(words)}"
    whole = order.statement(placed_only=False)
    undefined = [_untested(whole, ours, order.undefined, units, level)] if order.missing else []
    yield all_hold(whole, ours, parts + undefined)
    if parts and undefined:
        yield all_hold(order.statement(placed_only=True), ours, parts)


def _pairs(stages: Stages, layer_by_task: Mapping[str, float]) -> list[tuple[str, str]]:
    """Pairs of tasks of adjacent stages, among the stages that have a known task."""
    kept = [[task for task in stage if task in layer_by_task] for stage in stages]
    return [pair for stage, later in pairwise([tasks for tasks in kept if tasks]) for pair in product(stage, later)]


def gains(results: Results) -> Claim:
    """Every task gains from the layers above layer 0."""
    values = dict(zip(results.tasks["task"], results.tasks["f1_last"] - results.tasks["f1_first"], strict=True))
    statement = "Every task gains from layers above 0: F1 on all layers above F1 on layer 0"
    claim = _every_task(statement, "gain of F1, percentage points", values, results.draws("gain"), results)
    return replace(claim, ours=claim.ours + _undertrained(results, values))


def above_controls(results: Results) -> Iterator[Claim]:
    """Probes score higher than on a control task, than label frequencies alone, and on a model with random layers."""
    last = results.controls.sort_values("layer").groupby("task", sort=False).tail(1).set_index("task")
    for column, statement in (
        ("selectivity", "Probes beat the control task in F1 (Hewitt & Liang 2019)"),
        (
            "above_label_frequencies",
            "Probes beat label frequencies in F1: the better of the best constant answer and probes of shuffled labels",
        ),
        ("above_random_encoder", "Probes beat probes of a model with random layers in F1"),
    ):
        values = {str(task): float(value) for task, value in last[column].dropna().items()}
        if values:
            yield _every_task(statement, "difference of F1, percentage points", values, results.draws(column), results)


def _every_task(
    statement: str, statistic: str, values: Mapping[str, float], draws: Mapping[str, Floats], results: Results
) -> Claim:
    """A statistic lies above 0 for every task."""
    level = level_of_parts(len(values))
    parts = []
    for task, value in values.items():
        n, unit = results.units([task])
        low, high = interval_of_resamples(draws[task], level, n)
        words = f"{EDGE_TASKS[task]}: {statistic}"
        parts.append(Claim(statement, "", words, value, low, high, n, unit, level=level))
    return all_hold(statement, _listed(values, "+.1f"), parts)


def lower_half(results: Results) -> Iterator[Claim]:
    """Most tasks have an expected layer in the lower half of the model; a task without one could have any value."""
    draws = results.draws("expected_layer")
    if not draws:
        return
    middle = float(results.tasks["layers"].iloc[0]) / 2
    layers = np.stack([draws[task] for task in results.tasks["task"]])
    # A resample without an expected layer for a task counts against either verdict.
    least, most = ((np.nan_to_num(layers, nan=unknown) < middle).mean(axis=0) for unknown in (np.inf, -np.inf))
    n, unit = results.units(draws)
    low, high = interval_of_resamples(least, LEVEL, n)[0], interval_of_resamples(most, LEVEL, n)[1]
    solved = results.solved
    below = sum(layer < middle for layer in solved.values())
    yield Claim(
        "Most tasks are solved in the lower half of the layers",
        f"{below} of {len(draws)} tasks have an expected layer below layer {middle:g}; "
        f"{len(draws) - len(solved)} have none, because their gain is within noise"
        + _undefined(draws, draws)
        + _undertrained(results, draws),
        "share of tasks with an expected layer in the lower half",
        below / len(draws),
        low,
        high,
        n,
        unit,
        threshold=0.5,
    )


def centres_agree(results: Results) -> Iterator[Claim]:
    """Centres of gravity order tasks as expected layers do."""
    solved = results.solved
    if len(solved) < 3:
        return
    tasks, draws, centres = list(solved), results.draws("expected_layer"), results.by_seed(centre_of_gravity)
    means = [centres[task].mean() for task in tasks]
    generator = np.random.default_rng(0)
    resampled_layers = np.stack([draws[task] for task in tasks])
    resampled_centres = np.stack(
        [generator.choice(centres[task], size=(resampled_layers.shape[1], len(centres[task]))).mean(axis=1) for task in tasks]
    )
    by_resample = spearman(resampled_layers.T, resampled_centres.T)
    n, unit = results.units(tasks)
    value = float(spearman(np.array([solved[task] for task in tasks]), np.array(means)))
    yield Claim(
        f"Centres of gravity order tasks as expected layers do (Spearman above {_CORRELATED})",
        f"Spearman {value:.2f} over {len(tasks)} tasks{_undefined(draws, tasks)}{_undertrained(results, tasks)}",
        f"Spearman correlation over {len(tasks)} tasks",
        value,
        *interval_of_resamples(by_resample, LEVEL, n, bounds=(-1, 1)),
        n,
        unit,
        threshold=_CORRELATED,
    )


def spread(results: Results) -> Iterator[Claim]:
    """The weights of proto-roles and relations are spread most evenly: also if all probes take the same number of steps?"""
    for condition, statement in (
        (EARLY, "Weights of proto-roles and relations are spread most evenly (K(s), section 4.1)"),
        (
            EQUAL,
            "Weights of proto-roles and relations are spread most evenly if all tasks train for the same number of steps",
        ),
    ):
        divergences = results.by_seed(divergence_of_weights, condition)
        spread_tasks = [task for task in SPREAD if task in divergences]
        other_tasks = [task for task in divergences if task not in SPREAD]
        if not spread_tasks or not other_tasks:
            continue
        ours = f"bits: {_listed({task: float(values.mean()) for task, values in divergences.items()}, '.2f')}"
        if condition == EQUAL and not stopped_early(results.controls):
            ours = f"{NONE_STOPPED}; {ours}"
            seeds = min(map(len, divergences.values()))
            yield _untested(statement, ours, "difference of K(s), bits", (seeds, BY_SEEDS), LEVEL)
            continue
        level = level_of_parts(len(spread_tasks) * len(other_tasks))
        parts = []
        for task, other_task in product(spread_tasks, other_tasks):
            interval = interval_over_seeds(divergences[other_task], divergences[task], level)
            value = divergences[other_task].mean() - divergences[task].mean()
            parts.append(
                _difference(task, other_task, "K(s) in bits", value, interval, len(divergences[task]), level, BY_SEEDS)
            )
        yield all_hold(statement, ours, parts)


def stopped_early(controls: pd.DataFrame) -> bool:
    """Whether early stopping gave some task a different number of steps than the condition of equal steps (`CONTROLS`)."""
    rows = controls.dropna(subset=["equal_steps"])
    return bool((rows["steps"] != rows["equal_steps"]).any())


def _difference(
    earlier: str,
    later: str,
    statistic: str,
    value: float,
    interval: tuple[float, float],
    n: int,
    level: float,
    unit: str,
) -> Claim:
    """The later task's statistic minus the earlier one's."""
    words = f"{statistic}: {EDGE_TASKS[later]} minus {EDGE_TASKS[earlier]}"
    return Claim("", "", words, float(value), *interval, int(n), unit, level=level)


def _untested(statement: str, ours: str, statistic: str, units: tuple[int, str], level: float) -> Claim:
    """A claim without a value or an interval."""
    return Claim(statement, ours, statistic, np.nan, np.nan, np.nan, *units, level=level)


def _undefined(draws: Mapping[str, Floats], tasks: Iterable[str]) -> str:
    """Tasks without an expected layer in some resamples, in words."""
    shares = {task: float(np.isnan(draws[task]).mean()) for task in tasks}
    words = [f"{EDGE_TASKS[task]} ({share:.1%})" for task, share in shares.items() if share > 0]
    return f"; no expected layer in some resamples (no gain over layer 0): {', '.join(words)}" if words else ""


def _undertrained(results: Results, tasks: Iterable[str]) -> str:
    """Tasks whose F1 on layer 0 may be too low, in words."""
    limited = results.at_step_limit(tasks)
    return f"; F1 on layer 0 is that of probes at the step limit in most seeds: {_names(limited)}" if limited else ""


def _names(tasks: Iterable[str]) -> str:
    return ", ".join(EDGE_TASKS[task] for task in tasks)


def _tasks(stages: Stages) -> list[str]:
    return [task for stage in stages for task in stage]


def _in_words(stages: Stages) -> str:
    return ", ".join(" and ".join(EDGE_TASKS[task] for task in stage) for stage in stages)


def _listed(values: Mapping[str, float], format_spec: str) -> str:
    """Tasks with their values, from the smallest."""
    return ", ".join(f"{EDGE_TASKS[task]} {values[task]:{format_spec}}" for task in sorted(values, key=values.__getitem__))
