"""Pruning orders (which heads are masked first) and pruning steps (how many) (Michel et al. 2019, section 4)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.corpora.examples import Example
from attention_atlas.methods.experiment import Experiment
from attention_atlas.methods.masking import plan_without
from attention_atlas.methods.names import ANSWERS, CLASSIFICATION, STEP

_log = logging.getLogger(__name__)


def ascending(values: npt.ArrayLike) -> list[int]:
    """Indices of values in ascending order; ties keep their order."""
    return [int(place) for place in np.argsort(np.asarray(values), kind="stable")]


def steps(heads: int, step: int, experiment: str) -> list[tuple[int, int]]:
    """(percent, heads masked) from 0 to 100 %: rounded down for classification, up for translation (published code)."""
    percents = [*range(0, 100, step), 100]
    if experiment == CLASSIFICATION:
        return [(percent, percent * heads // 100) for percent in percents]
    return [(percent, -(-percent * heads // 100)) for percent in percents]


def random_orders(heads: int, draws: int, seed: int) -> list[list[int]]:
    """Random orders of all heads, the same for the same seed."""
    generator = np.random.default_rng(seed)
    return [[int(place) for place in generator.permutation(heads)] for _ in range(draws)]


def next_places(values: npt.ArrayLike, masked: Sequence[int], count: int) -> list[int]:
    """The masked indices plus those with the smallest remaining values, `count` in total."""
    already_masked = set(masked)
    remaining_places = [place for place in ascending(values) if place not in already_masked]
    return [*masked, *remaining_places[: count - len(masked)]]


@dataclass(frozen=True)
class Step:
    """A pruning step; `half` says which examples use it: 0 (even positions), 1 (odd positions) or None (all)."""

    order: str
    scope: str
    draw: int
    percent: int
    places: tuple[int, ...]
    half: int | None = None


def step_answers(
    experiment: Experiment, heads: pd.DataFrame, pruning_steps: Sequence[Step], examples: Sequence[Example]
) -> pd.DataFrame:
    """Answers of the model at each step, columns `STEP` and `ANSWERS`; equal sets of masked heads are evaluated once."""
    expected = dict(zip((e.record for e in examples), experiment.expected(examples), strict=True))
    place = {example.record: number for number, example in enumerate(examples)}
    known: dict[tuple[int | None, frozenset[int]], list[str]] = {}
    for half in sorted({step.half for step in pruning_steps}, key=str):
        part = examples if half is None else examples[half::2]
        masked = list(dict.fromkeys(frozenset(step.places) for step in pruning_steps if step.half == half and step.places))
        _log.info("%d examples with %d sets of heads masked", len(part), len(masked))
        plans = [plan_without(heads.iloc[sorted(places)]) for places in masked]
        for places, answers in zip([frozenset(), *masked], experiment.answers(part, plans), strict=True):
            known[half, places] = answers
    frames = []
    for step in pruning_steps:
        part = examples if step.half is None else examples[step.half :: 2]
        records = [example.record for example in part]
        values = (records, known[step.half, frozenset(step.places)], [expected[record] for record in records])
        key = (step.order, step.scope, step.draw, step.percent, len(step.places))
        frames.append(pd.DataFrame({**dict(zip(STEP, key, strict=True)), **dict(zip(ANSWERS, values, strict=True))}))
    table = pd.concat(frames, ignore_index=True)
    # The two halves of a held-out order together form one step over all examples.
    order = {key: number for number, key in enumerate(table[STEP].drop_duplicates().itertuples(index=False, name=None))}
    numbers = [order[key] for key in table[STEP].itertuples(index=False, name=None)]
    table = table.assign(_step=numbers, _place=table["record"].map(place)).sort_values(["_step", "_place"], kind="stable")
    return table.drop(columns=["_step", "_place"]).reset_index(drop=True)
