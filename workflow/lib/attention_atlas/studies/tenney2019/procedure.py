"""Differences of a run from the authors' procedure for edge probes: recipe and numbers of targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from attention_atlas.published.compare import CLOSE, EXACT, NO, Measured
from attention_atlas.published.values import Published
from attention_atlas.studies.tenney2019.recipe import Recipe

_SHORT = Recipe(evaluation_interval=100, max_steps=10_000)
PUBLISHED_RECIPES = {"protoroles": _SHORT, "relations": _SHORT}
"""Tasks whose training set is small -> their recipe in the published code; other tasks have the defaults."""
PUBLISHED_TARGETS = {
    "pos": 290_013,
    "constituents": 255_133,
    "dependencies": 25_110,
    "entities": 20_354,
    "roles": 83_362,
    "coreference": 26_333,
    "protoroles": 1_071,
    "relations": 1_149,
}
"""Targets of each development set (corrected table of the authors: github:nyu-mll/jiant-v1-legacy:probing/README.md)."""
PUBLISHED_TRAINING_TARGETS = {
    "pos": 2_070_382,
    "constituents": 1_851_590,
    "dependencies": 203_919,
    "entities": 128_738,
    "roles": 598_983,
    "coreference": 207_830,
    "protoroles": 7_611,
    "relations": 6_851,
}
"""Targets of each training set (the same table)."""
_NOT_COMPARED = ("equal_steps",)
"""Settings of controls that the paper does not have."""


def recipe_differences(task: str, recipe: Mapping[str, Any]) -> list[str]:
    """Differences of a run's recipe for a task from the published code, in words.

    Args:
        task: name of the task.
        recipe: settings of `Recipe`, and max_targets.
    """
    published = asdict(PUBLISHED_RECIPES.get(task, Recipe())) | {"max_targets": None}
    compared = [name for name in published if name not in _NOT_COMPARED]
    return [
        f"{name} {'all' if recipe.get(name) is None else f'{recipe[name]:g}'} "
        f"(published {'all' if published[name] is None else f'{published[name]:g}'})"
        for name in compared
        if recipe.get(name) != published[name]
    ]


def with_same_procedure(
    measured: Mapping[str, Measured],
    published: Mapping[str, Published],
    recipes: Mapping[str, Mapping[str, Any]],
    targets: Mapping[str, int],
    training_targets: Mapping[str, int],
) -> dict[str, Measured]:
    """Measured values, with those of a different recipe or number of targets marked as not comparable.

    Args:
        measured: by the id of their published values.
        published: the published values.
        recipes: task -> the run's recipe, see `recipe_differences`.
        targets: task -> number of targets that its probes are evaluated on.
        training_targets: task -> number of targets that they are trained on.
    """
    checked = {}
    for name, value in measured.items():
        task = published[name].role
        reasons, obstacles = [], []
        if value.comparable in (EXACT, CLOSE) and task in recipes:
            if differences := recipe_differences(task, recipes[task]):
                reasons.append(f"different recipe: {', '.join(differences)}")
                obstacles.append("different recipe")
            if targets[task] != PUBLISHED_TARGETS[task]:
                reasons.append(f"{targets[task]} targets (the authors' development set has {PUBLISHED_TARGETS[task]})")
                obstacles.append("different number of targets")
            if training_targets[task] != PUBLISHED_TRAINING_TARGETS[task]:
                reasons.append(
                    f"{training_targets[task]} training targets (the authors' set has {PUBLISHED_TRAINING_TARGETS[task]})"
                )
                obstacles.append("different number of training targets")
        if reasons:
            value = replace(value, comparable=NO, why="; ".join([*reasons, value.why]), obstacle=" and ".join(obstacles))
        checked[name] = value
    return checked
