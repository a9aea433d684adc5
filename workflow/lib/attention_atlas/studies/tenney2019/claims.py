"""Claims of Tenney et al. (2019), and objections to them: statistics, intervals and verdicts.

Intervals of F1 and of expected layers resample evaluated documents, or sentences where a corpus does not name its documents,
and with them probe seeds (`resampled_f1`); n counts the documents or sentences. Intervals of mixing weights resample
probe seeds alone. A claim about several tasks is tested task by task, or pair by pair of tasks (`claims.all_hold`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind

from attention_atlas.corpora.layers import EDGE_TASKS
from attention_atlas.published.compare import Claim, all_hold
from attention_atlas.published.values import Published
from attention_atlas.stats.intervals import LEVEL, expanded_level, level_of_parts
from attention_atlas.stats.ranks import spearman
from attention_atlas.studies.tenney2019.summary import (
    Floats,
    at_step_limit,
    centre_of_gravity,
    divergence_of_weights,
    weights_on_all_layers,
)
from attention_atlas.studies.tenney2019.targets import EARLY, EQUAL

Stages = Sequence[Sequence[str]]
SECTION = (("pos",), ("constituents",), ("dependencies",), ("roles",), ("coreference",))
"""Order of tasks in section 4.1; it does not name entities."""
ABSTRACT = (("pos",), ("constituents", "dependencies"), ("entities",), ("roles",), ("coreference",))
"""Order of stages in the abstract: tagging, parsing, entities, roles, coreference; parsing is both kinds of syntax."""
SPREAD = ("protoroles", "relations")
"""Tasks whose mixing weights are close to uniform (section 4.1)."""
BY_SEEDS = "probe seeds"
_CORRELATED = 0.5
NONE_STOPPED = (
    "no probe on all layers stopped early, so all took the same number of steps in both conditions. These start from the same "
    "weights and see the same batches; their scores differ in this run only because each probe draws its own dropout, and "
    "because early stopping keeps the weights of the best evaluation, not the last ones, and halves learning rates on a plateau"
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
        rows = self.weights[self.weights["condition"] == condition]
        groups = rows.groupby("task", sort=False)
        return {str(task): statistic(weights_on_all_layers(of_task, condition)) for task, of_task in groups}

    @property
    def solved(self) -> dict[str, float]:
        """Task -> expected layer, for tasks whose gain exceeds noise."""
        solved = self.tasks[self.tasks["within_noise"] == 0]
        return dict(zip(solved["task"], solved["expected_layer"], strict=True))


def claims(results: Results, published: Mapping[str, Published]) -> Iterator[Claim]:
    """All claims that the run's tables can test; the order of tasks in the paper's values is reported beside the run's."""
    for stages, place in ((SECTION, "section 4.1"), (ABSTRACT, "abstract")):
        yield from order_by_expected_layers(results, stages, place, paper_layers(published, "expected_layer"))
    yield from order_by_centres(results, SECTION, "section 4.1", paper_layers(published, "cog"))
    yield gains(results)
    yield lower_half(results)
    yield from centres_agree(results)
    yield from spread(results)
    yield from above_controls(results)


def paper_layers(published: Mapping[str, Published], statistic: str) -> dict[str, float]:
    """Task -> expected layer or centre of gravity of the paper's BERT-large."""
    values = [value for name, value in published.items() if name.startswith("t19.large.") and name.endswith(f".{statistic}")]
    return {value.role: float(number.value) for value in values for number in value.numbers if isinstance(number.value, float)}


def order_by_expected_layers(results: Results, stages: Stages, place: str, paper: Mapping[str, float]) -> Iterator[Claim]:
    """Tasks come in an order of stages, by their expected layers; also without those that have none."""
    layers, draws = results.solved, results.draws("expected_layer")

    def difference(earlier: str, later: str, level: float) -> Claim:
        n, unit = results.units([earlier, later])
        interval = interval_of_resamples(draws[later] - draws[earlier], level, n)
        words = f"expected layer: {EDGE_TASKS[later]} minus {EDGE_TASKS[earlier]}"
        return Claim("", "", words, layers[later] - layers[earlier], *interval, n, unit, level=level)

    reasons = {task: "gain within noise" if task in draws else "not probed" for task in chain(*stages) if task not in layers}
    ours = f"expected layers: {_listed(layers, '.2f')}"
    if reasons:
        words = ", ".join(f"{EDGE_TASKS[task]} ({reason})" for task, reason in reasons.items())
        ours = f"{ours}; without an expected layer: {words}"
    ours += _undefined(draws, layers) + _undertrained(results, layers)
    words = "Tasks come in the order of the pipeline, by expected layers"
    yield from _in_order(words, place, stages, layers, reasons, ours, difference, paper, results.units(draws))


def order_by_centres(results: Results, stages: Stages, place: str, paper: Mapping[str, float]) -> Iterator[Claim]:
    """Tasks come in an order of stages, by the centres of gravity of their mixing weights; also without tasks not probed."""
    centres = results.by_seed(centre_of_gravity)
    means = {task: float(values.mean()) for task, values in centres.items()}

    def difference(earlier: str, later: str, level: float) -> Claim:
        return _difference_over_seeds(earlier, later, "centre of gravity", centres, level)

    reasons = {task: "not probed" for task in chain(*stages) if task not in means}
    words, ours = "Tasks come in the same order by centres of gravity", f"centres: {_listed(means, '.2f')}"
    units = (min(map(len, centres.values())), BY_SEEDS)
    yield from _in_order(words, place, stages, means, reasons, ours, difference, paper, units)


def _in_order(
    words: str,
    place: str,
    stages: Stages,
    layers: Mapping[str, float],
    missing: Mapping[str, str],
    ours: str,
    difference: Callable[[str, str, float], Claim],
    paper: Mapping[str, float],
    units: tuple[int, str],
) -> Iterator[Claim]:
    """Every task of a stage comes before every task of the next stage.

    Tasks that cannot be placed (missing: task -> why) leave the order of all tasks untested, unless the others refute it or
    leave it undecided; the order of the others is then a second claim. difference: claim of an earlier and a later task.
    """

    def statement(without: Collection[str]) -> str:
        kept = [[EDGE_TASKS[task] for task in stage if task not in without] for stage in stages]
        left_out = f", without {_names(without)}" if without else ""
        return f"{words}: {', '.join(' and '.join(stage) for stage in kept if stage)} ({place}{left_out})"

    pairs = _pairs(stages, layers)
    level = level_of_parts(max(len(pairs), 1))
    parts = [difference(earlier, later, level) for earlier, later in pairs]
    inverted = [(later, earlier) for earlier, later in _pairs(stages, paper) if paper[later] <= paper[earlier]]
    if inverted:
        listed = [f"{EDGE_TASKS[a]} {paper[a]:.2f} before {EDGE_TASKS[b]} {paper[b]:.2f}" for a, b in inverted]
        ours += f"; the paper's own numbers are not in this order: {', '.join(listed)}"
    undefined = f"order undefined: {', '.join(f'{EDGE_TASKS[task]} {reason}' for task, reason in missing.items())}"
    untested = [Claim("", "", undefined, np.nan, np.nan, np.nan, *units, level=level)] if missing else []
    yield all_hold(statement({}), ours, parts + untested)
    if parts and missing:
        yield all_hold(statement(missing), ours, parts)


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
    frequencies = "Probes beat label frequencies in F1: the better of the best constant answer and probes of shuffled labels"
    for column, statement in (
        ("selectivity", "Probes beat the control task in F1 (Hewitt & Liang 2019)"),
        ("above_label_frequencies", frequencies),
        ("above_random_encoder", "Probes beat probes of a model with random layers in F1"),
    ):
        if values := {str(task): float(value) for task, value in last[column].dropna().items()}:
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


def lower_half(results: Results) -> Claim:
    """Most tasks have an expected layer in the lower half of the model; a task without one could have any value."""
    draws = results.draws("expected_layer")
    middle = float(results.tasks["layers"].iloc[0]) / 2
    layers = np.stack([draws[task] for task in results.tasks["task"]])
    # A resample without an expected layer for a task counts against either verdict.
    least, most = ((np.nan_to_num(layers, nan=unknown) < middle).mean(axis=0) for unknown in (np.inf, -np.inf))
    n, unit = results.units(draws)
    low, high = interval_of_resamples(least, LEVEL, n)[0], interval_of_resamples(most, LEVEL, n)[1]
    solved = results.solved
    below = sum(layer < middle for layer in solved.values())
    return Claim(
        "Most tasks are solved in the lower half of the layers",
        f"{below} of {len(draws)} tasks have an expected layer below layer {middle:g}; {len(draws) - len(solved)} have none, "
        f"because their gain is within noise{_undefined(draws, draws)}{_undertrained(results, draws)}",
        "share of tasks with an expected layer in the lower half",
        *(below / len(draws), low, high, n, unit, 0.5),
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
    size = resampled_layers.shape[1]
    resampled_centres = [generator.choice(centres[task], (size, len(centres[task]))).mean(axis=1) for task in tasks]
    by_resample = spearman(resampled_layers.T, np.stack(resampled_centres).T)
    n, unit = results.units(tasks)
    value = float(spearman(np.array([solved[task] for task in tasks]), np.array(means)))
    yield Claim(
        f"Centres of gravity order tasks as expected layers do (Spearman above {_CORRELATED})",
        f"Spearman {value:.2f} over {len(tasks)} tasks{_undefined(draws, tasks)}{_undertrained(results, tasks)}",
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
        spread_tasks = [task for task in SPREAD if task in divergences]
        other_tasks = [task for task in divergences if task not in SPREAD]
        if not spread_tasks or not other_tasks:
            continue
        ours = f"bits: {_listed({task: float(values.mean()) for task, values in divergences.items()}, '.2f')}"
        if condition == EQUAL and not stopped_early(results.controls):
            ours = f"{NONE_STOPPED}; {ours}"
            seeds = min(map(len, divergences.values()))
            yield Claim(statement, ours, "difference of K(s), bits", np.nan, np.nan, np.nan, seeds, BY_SEEDS)
            continue
        pairs = list(product(spread_tasks, other_tasks))
        level = level_of_parts(len(pairs))
        yield all_hold(statement, ours, [_difference_over_seeds(*pair, "K(s) in bits", divergences, level) for pair in pairs])


def stopped_early(controls: pd.DataFrame) -> bool:
    """Whether early stopping gave some task a different number of steps than the condition of equal steps (`CONTROLS`)."""
    rows = controls.dropna(subset=["equal_steps"])
    return bool((rows["steps"] != rows["equal_steps"]).any())


def _difference_over_seeds(earlier: str, later: str, statistic: str, by_seed: Mapping[str, Floats], level: float) -> Claim:
    """The later task's mean over probe seeds minus the earlier one's."""
    values = by_seed[later], by_seed[earlier]
    words = f"{statistic}: {EDGE_TASKS[later]} minus {EDGE_TASKS[earlier]}"
    value = float(values[0].mean() - values[1].mean())
    return Claim("", "", words, value, *interval_over_seeds(*values, level), min(map(len, values)), BY_SEEDS, level=level)


def _undefined(draws: Mapping[str, Floats], tasks: Iterable[str]) -> str:
    """Tasks without an expected layer in some resamples, in words."""
    shares = {task: float(np.isnan(draws[task]).mean()) for task in tasks}
    words = [f"{EDGE_TASKS[task]} ({share:.1%})" for task, share in shares.items() if share > 0]
    return f"; no expected layer in some resamples (no gain over layer 0): {', '.join(words)}" if words else ""


def _undertrained(results: Results, tasks: Iterable[str]) -> str:
    """Tasks whose F1 on layer 0 may be too low, in words."""
    reached = set(at_step_limit(results.tasks)) & set(tasks)
    limited = [task for task in EDGE_TASKS if task in reached]
    return f"; F1 on layer 0 is that of probes at the step limit in most seeds: {_names(limited)}" if limited else ""


def _names(tasks: Iterable[str]) -> str:
    return ", ".join(EDGE_TASKS[task] for task in tasks)


def _listed(values: Mapping[str, float], format_spec: str) -> str:
    """Tasks with their values, from the smallest."""
    return ", ".join(f"{EDGE_TASKS[task]} {values[task]:{format_spec}}" for task in sorted(values, key=values.__getitem__))


def interval_of_resamples(
    values: Floats, level: float, units: int, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float]:
    """Percentile interval of a statistic [resample] over `units` units; a resample without one (NaN) could have any value.

    Such a resample counts as the lowest possible value (`bounds`) for the lower end and as the highest for the upper end. The
    interval is widened for few units (`expanded_level`); there is none for one unit.
    """
    if units < 2:
        return np.nan, np.nan
    tail = (1 - expanded_level(level, units)) / 2
    unknown = np.isnan(values)
    low = np.quantile(np.where(unknown, bounds[0], values), tail, method="lower")
    high = np.quantile(np.where(unknown, bounds[1], values), 1 - tail, method="higher")
    return float(low), float(high)


def interval_over_seeds(later: Floats, earlier: Floats, level: float) -> tuple[float, float]:
    """Interval of the difference of two means over probe seeds (Welch); NaN where one of them has a single seed."""
    if min(len(later), len(earlier)) < 2 or np.ptp(later) + np.ptp(earlier) == 0:
        return np.nan, np.nan
    interval = ttest_ind(later, earlier, equal_var=False).confidence_interval(level)
    return float(interval.low), float(interval.high)
