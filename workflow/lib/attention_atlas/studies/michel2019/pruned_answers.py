"""Answers of a model with more and more heads masked, in several orders, and the derivatives of its loss by head gates.

Masking gives the same answers as pruning (`models.pruning`), without a new model at each step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.corpora.examples import Example
from attention_atlas.io.tables import write_parquet
from attention_atlas.methods.experiment import Experiment
from attention_atlas.methods.head_gradients import head_gradients
from attention_atlas.methods.importance import GRADIENTS, MEASURES, Derivatives, importance, read_derivatives
from attention_atlas.methods.masking import plan_without
from attention_atlas.methods.names import ALL, KEYS, ONE
from attention_atlas.methods.pruning import Step, ascending, next_places, random_orders, step_answers, steps
from attention_atlas.studies.michel2019.effects import MaskedScores, read_answers
from attention_atlas.studies.michel2019.experiments import ExampleFiles, ModelSource, open_experiment
from attention_atlas.studies.michel2019.names import ABLATION, HELDOUT, IMPORTANCE, RANDOM, RECOMPUTED


@dataclass(frozen=True)
class PruningOptions:
    """How importance is computed, and the steps and orders of pruning.

    Attributes:
        definition: of importance, see `methods.importance`.
        scaled: whether importance is divided by its norm within each layer.
        batch: examples of a batch, for definitions over batches.
        step: percent of heads per step.
        random_orders: number of random orders.
        recomputed: whether importance is also recomputed at each step.
    """

    definition: str
    scaled: bool
    batch: int
    step: int
    random_orders: int
    recomputed: bool

    def importance(self, derivatives: Derivatives) -> npt.NDArray[np.float64]:
        """[head] importance by these options."""
        return importance(derivatives, self.definition, self.batch, self.scaled)


def differentiate(name: str, model: ModelSource, scored_examples: ExampleFiles, threads: int, out: str | Path) -> None:
    """Write the derivatives of each example's loss by a gate on each head, columns `importance.GRADIENTS`.

    Args:
        name: of the experiment.
        model: the experiment's model.
        scored_examples: examples that importance is computed on.
        threads: threads of the passes.
        out: Parquet file.

    Raises:
        AtlasError: the model has no head for this task, or an example has no label or reference.
    """
    torch.set_num_threads(threads)
    experiment = open_experiment(name, model.entry, model.card_path, model.tokenizer_path, model.search)
    scored = scored_examples.read()
    experiment.expected(scored)
    write_parquet(_gradient_rows(head_gradients(experiment, scored), scored), out)


def prune_heads(
    name: str,
    model: ModelSource,
    examples: ExampleFiles,
    scored_examples: ExampleFiles,
    masked_path: str | Path,
    gradients_path: str | Path,
    options: PruningOptions,
    seed: int,
    threads: int,
    out: str | Path,
) -> None:
    """Write the answers of all steps of all curves, columns `STEP` and `ANSWERS`.

    Args:
        name: of the experiment.
        model: the experiment's model.
        examples: examples that the model is evaluated on.
        scored_examples: examples that importance is computed on.
        masked_path: table of `masked_answers`, for the order by single heads.
        gradients_path: table of `differentiate`.
        options: importance, steps and orders.
        seed: of the random orders.
        threads: threads of the passes.
        out: Parquet file.

    Raises:
        AtlasError: the model has no head for this task, or a table cannot be used.
    """
    torch.set_num_threads(threads)
    experiment = open_experiment(name, model.entry, model.card_path, model.tokenizer_path, model.search)
    derivatives = read_derivatives(gradients_path)
    masked = read_answers(masked_path, KEYS, name)
    single_heads = masked.only((masked.keys["masked"] == ONE).to_numpy())
    curves = _curves(experiment, derivatives, scored_examples.read(), single_heads, options, seed)
    pruning_steps = [step for curve in curves for step in curve()]
    write_parquet(step_answers(experiment, derivatives.heads, pruning_steps, examples.read()), out)


def _gradient_rows(derivatives: Derivatives, scored_examples: Sequence[Example]) -> pd.DataFrame:
    """One row for each head and example; columns `importance.GRADIENTS`."""
    heads = derivatives.heads.loc[derivatives.heads.index.repeat(len(scored_examples))].reset_index(drop=True)
    records = np.tile([example.record for example in scored_examples], len(derivatives.heads))
    return heads.assign(record=records, **{name: getattr(derivatives, name).T.ravel() for name in MEASURES})[GRADIENTS]


def _curves(
    experiment: Experiment,
    derivatives: Derivatives,
    scored_examples: Sequence[Example],
    single_heads: MaskedScores,
    options: PruningOptions,
    seed: int,
) -> list[Callable[[], Iterable[Step]]]:
    """The curves of pruning, in their order in the table: each gives its steps when it is called."""
    heads, values = derivatives.heads, options.importance(derivatives)

    def steps_in(order: str, places: Sequence[int], draw: int = 0, half: int | None = None) -> list[Step]:
        counts = steps(len(heads), options.step, experiment.name)
        return [Step(order, ALL, draw, percent, tuple(places[:count]), half) for percent, count in counts]

    def heldout() -> Iterator[Step]:
        even = np.arange(len(single_heads.base)) % 2 == 0
        for half, selection in ((0, ~even), (1, even)):
            if selection.any():
                yield from steps_in(HELDOUT, ascending(-single_heads.of_examples(selection).deltas), half=half)

    def of_kind(kind: str) -> Iterator[Step]:
        kind_places = np.flatnonzero(heads["kind"] == kind)
        ordered = kind_places[ascending(values[kind_places])]
        for percent, count in steps(len(kind_places), options.step, experiment.name):
            yield Step(IMPORTANCE, kind, 0, percent, tuple(int(place) for place in ordered[:count]))

    drawn = random_orders(len(heads), options.random_orders, seed)
    kinds = list(map(str, heads["kind"].unique()))
    return [
        lambda: steps_in(IMPORTANCE, ascending(values)),
        # Least harmful first.
        lambda: steps_in(ABLATION, ascending(-single_heads.deltas)),
        heldout,
        *(functools.partial(steps_in, RANDOM, places, draw) for draw, places in enumerate(drawn)),
        *([lambda: _recomputed_steps(experiment, derivatives, scored_examples, options)] if options.recomputed else []),
        *(functools.partial(of_kind, kind) for kind in kinds if len(kinds) > 1),
    ]


def _recomputed_steps(
    experiment: Experiment, derivatives: Derivatives, scored_examples: Sequence[Example], options: PruningOptions
) -> Iterator[Step]:
    """Steps in the order of importance, recomputed without the heads of the steps before."""
    heads, values = derivatives.heads, options.importance(derivatives)
    masked: list[int] = []
    for percent, count in steps(len(heads), options.step, experiment.name):
        current = values
        if masked and len(masked) < count < len(heads):
            current = options.importance(head_gradients(experiment, scored_examples, plan_without(heads.iloc[masked])))
        masked = next_places(current, masked, count)
        yield Step(RECOMPUTED, ALL, 0, percent, tuple(masked))
