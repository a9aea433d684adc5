"""What a model answers when more and more heads are masked, in several orders; and what each head is worth to its loss.

Heads are masked, which gives the same answers as cutting them out (`models.pruning`), without a new model at each step.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.io.tables import write_parquet
from attention_atlas.methods.experiment import Experiment
from attention_atlas.methods.head_gradients import head_gradients
from attention_atlas.methods.importance import GRADIENTS, MEASURES, Derivatives, importance
from attention_atlas.methods.masking import plan_without
from attention_atlas.methods.names import ALL, KEYS, ONE
from attention_atlas.methods.pruning import Step, ascending, next_places, random_orders, step_answers, steps
from attention_atlas.studies.michel2019.effects import Masked, read_answers
from attention_atlas.studies.michel2019.experiments import open_experiment
from attention_atlas.studies.michel2019.names import ABLATION, HELDOUT, IMPORTANCE, RANDOM, RECOMPUTED

_log = logging.getLogger(__name__)


def prune_heads(
    name: str,
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    tokenizer_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    weighed_files: Sequence[str | Path],
    weighed_limit: int,
    masked_path: str | Path,
    settings: Mapping[str, Any],
    search: Mapping[str, Any],
    seed: int,
    threads: int,
    gradients_out: str | Path,
    out: str | Path,
) -> None:
    """Write the derivatives, columns `importance.GRADIENTS`, and the answers of all steps, columns `STEP` and `ANSWERS`.

    Args:
        name: of the experiment.
        model_entry, card_path, tokenizer_path: the model.
        example_files, limit: what it is evaluated on.
        weighed_files, weighed_limit: examples that importance is computed on.
        masked_path: table of `masked_answers`, for the order by single heads.
        settings: definition, scaled, batch (of importance), step (percent), random_orders, recomputed.
        search: beams and length_penalty of translations.
        seed: of the random orders.
        threads: threads of the passes.
        gradients_out, out: Parquet files.

    Raises:
        AtlasError: the model cannot do what it is named for, or a table cannot be used.
    """
    torch.set_num_threads(threads)
    experiment = open_experiment(name, model_entry, card_path, tokenizer_path, search)
    weighed = list(read_examples(weighed_files, weighed_limit))
    experiment.expected(weighed)
    found = head_gradients(experiment, weighed)
    write_parquet(_gradient_rows(found, weighed), gradients_out)
    single = read_answers(masked_path, KEYS, name)
    made = list(_steps(experiment, found, weighed, single, settings, seed))
    examples = list(read_examples(example_files, limit))
    write_parquet(step_answers(experiment, found.heads, made, examples), out)


def _gradient_rows(found: Derivatives, weighed: Sequence[Example]) -> pd.DataFrame:
    """A row a head and example; columns `importance.GRADIENTS`."""
    heads = found.heads.loc[found.heads.index.repeat(len(weighed))].reset_index(drop=True)
    records = np.tile([example.record for example in weighed], len(found.heads))
    return heads.assign(record=records, **{name: getattr(found, name).T.ravel() for name in MEASURES})[GRADIENTS]


def _steps(
    experiment: Experiment,
    found: Derivatives,
    weighed: Sequence[Example],
    single: Masked,
    settings: Mapping[str, Any],
    seed: int,
) -> Iterator[Step]:
    """All steps of all orders."""
    definition = {"definition": settings["definition"], "batch": settings["batch"], "scaled": settings["scaled"]}
    heads, values = found.heads, importance(found, **definition)
    counted = steps(len(heads), settings["step"], experiment.name)

    def along(order: str, places: Sequence[int], draw: int = 0, half: int | None = None) -> Iterator[Step]:
        for percent, count in counted:
            yield Step(order, ALL, draw, percent, tuple(places[:count]), half)

    yield from along(IMPORTANCE, ascending(values))
    one = single.only((single.keys["masked"] == ONE).to_numpy())
    # Least harmful first.
    yield from along(ABLATION, ascending(-one.deltas))
    even = np.arange(len(one.base)) % 2 == 0
    for half, others in ((0, ~even), (1, even)):
        if others.any():
            yield from along(HELDOUT, ascending(-one.of_examples(others).deltas), half=half)
    for draw, places in enumerate(random_orders(len(heads), settings["random_orders"], seed)):
        yield from along(RANDOM, places, draw)
    if settings["recomputed"]:
        gone: list[int] = []
        for percent, count in counted:
            if len(gone) < count < len(heads):
                now = head_gradients(experiment, weighed, plan_without(heads.iloc[gone])) if gone else found
                values_now = importance(now, **definition)
            else:
                values_now = values
            gone = next_places(values_now, gone, count)
            yield Step(RECOMPUTED, ALL, 0, percent, tuple(gone))
    for kind in heads["kind"].unique() if heads["kind"].nunique() > 1 else ():
        own = np.flatnonzero(heads["kind"] == kind)
        places = own[ascending(values[own])]
        for percent, count in steps(len(own), settings["step"], experiment.name):
            yield Step(IMPORTANCE, str(kind), 0, percent, tuple(int(place) for place in places[:count]))
