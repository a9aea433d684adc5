"""Answers of a fine-tuned tagger with each head removed, and with heads removed cumulatively in several orders.

Heads are ranked on development documents. The table has answers on both splits: the stopping point is chosen on development
and reported on test. The slides ranked, stopped and reported on one set, which is also computed (`OPTIMISTIC`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.io.tables import write_parquet
from attention_atlas.methods.head_gradients import head_gradients
from attention_atlas.methods.importance import importance
from attention_atlas.methods.masking import heads_of, plan_without
from attention_atlas.methods.names import ALL, ANSWERS, PAPER
from attention_atlas.methods.pruning import Step, ascending, random_orders, step_answers, steps
from attention_atlas.studies.stefanik2021.names import (
    DEVELOPMENT,
    IMPORTANCE,
    ONE,
    OPTIMISTIC,
    RANDOM,
    REMOVED,
    SPLITS,
    TEST,
    WORST,
)
from attention_atlas.studies.stefanik2021.phrases import f1_of, token_counts
from attention_atlas.studies.stefanik2021.tagging import Tagging, open_tagging

_log = logging.getLogger(__name__)


def remove_heads(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    files: Mapping[str, Sequence[str | Path]],
    limits: Mapping[str, int],
    step: int,
    draws: int,
    seed: int,
    threads: int,
    out: str | Path,
) -> None:
    """Write a row for every set of removed heads and document: `REMOVED`, layer, head, and `ANSWERS`.

    Args:
        model_entry, card_path: the tagger.
        files: `DEVELOPMENT` and `TEST` -> examples.
        limits: split -> largest number of records to use.
        step: percent of heads per step of cumulative removal.
        draws: random orders, on test documents only.
        seed: of the random orders.
        threads: threads of the passes.
        out: Parquet file. layer and head (from 1) name the head if one is removed, 0 otherwise.

    Raises:
        AtlasError: the model is not a tagger, or a document has no tags.
    """
    torch.set_num_threads(threads)
    tagging = open_tagging(model_entry, card_path)
    examples = {split: list(read_examples(files[split], limits[split])) for split in SPLITS}
    write_parquet(pd.concat(removals(tagging, examples, step, draws, seed), ignore_index=True), out)


def removals(
    tagging: Tagging, examples: Mapping[str, Sequence[Example]], step: int, draws: int, seed: int
) -> list[pd.DataFrame]:
    """The tables of all removals, see `remove_heads`."""
    heads = heads_of(tagging.shape)
    single_plans = [plan_without(heads.iloc[[place]]) for place in range(len(heads))]
    tables, effects = [], {}
    for split, documents in examples.items():
        expected = tagging.expected(documents)
        _log.info("%d %s documents without each of %d heads", len(documents), split, len(heads))
        answers = tagging.answers(documents, single_plans)
        records = [example.record for example in documents]
        removed_heads = [(0, 0), *heads[["layer", "head"]].itertuples(index=False, name=None)]
        for (layer, head), tags in zip(removed_heads, answers, strict=True):
            key = dict(zip(REMOVED, (split, ONE, 0, 0, int(layer > 0)), strict=True)) | {"layer": layer, "head": head}
            tables.append(pd.DataFrame(key | dict(zip(ANSWERS, (records, tags, expected), strict=True))))
        scores = [float(_token_f1(tags, expected)) for tags in answers]
        effects[split] = np.array(scores[1:]) - scores[0]
    derivatives = head_gradients(tagging, examples[DEVELOPMENT])
    orders = {
        # Heads whose removal helps most come first.
        WORST: ascending(-effects[DEVELOPMENT]),
        IMPORTANCE: ascending(importance(derivatives, PAPER, 1, scaled=True)),
        OPTIMISTIC: ascending(-effects[TEST]),
    }
    draws_of_orders = [(name, 0, order) for name, order in orders.items()]
    draws_of_orders += [(RANDOM, draw, order) for draw, order in enumerate(random_orders(len(heads), draws, seed))]
    counts = steps(len(heads), step, tagging.name)
    for split, documents in examples.items():
        # Orders by test scores and random orders are evaluated on test documents only.
        pruning_steps = [
            Step(name, ALL, draw, percent, tuple(order[:count]))
            for name, draw, order in draws_of_orders
            if split == TEST or name in (WORST, IMPORTANCE)
            for percent, count in counts
        ]
        answers_of_steps = step_answers(tagging, heads, pruning_steps, documents).drop(columns="scope")
        tables.append(answers_of_steps.assign(split=split, layer=0, head=0))
    return [table[[*REMOVED, "layer", "head", *ANSWERS]] for table in tables]


def _token_f1(answers: Sequence[str], expected: Sequence[str]) -> float:
    return float(f1_of(np.sum([token_counts(*pair) for pair in zip(answers, expected, strict=True)], axis=0)))
