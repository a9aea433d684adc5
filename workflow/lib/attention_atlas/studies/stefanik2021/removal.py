"""Answers of a fine-tuned tagger with each head removed, and with heads removed cumulatively in several orders.

Heads are ranked and the stopping point is chosen on development documents; F1 is reported on test documents. The slides ranked,
stopped and reported on one set, which is also computed (`worst_to_best_on_test`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedModel

from attention_atlas.attention.engine import attention_shape
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import ALL, ANSWERS, PAPER
from attention_atlas.methods.importance import importance
from attention_atlas.methods.masked_heads import Step, ascending, head_gradients, heads_of, plan_without, step_answers, steps
from attention_atlas.methods.masked_heads import random_orders as shuffled_orders
from attention_atlas.models.card import Card
from attention_atlas.models.task_heads import gold_tags, load_tagger, tag_loss, tags_under
from attention_atlas.studies.stefanik2021.scores import REMOVED, f1_of, token_counts

_log = logging.getLogger(__name__)


class Tagging(NamedTuple):
    """A tagger as an `Experiment` (`methods.masked_heads`); loss: cross-entropy, summed over words."""

    model: PreTrainedModel
    pad: int
    name: str = "tagging"

    def expected(self, examples: Sequence[Example]) -> list[str]:
        """Gold tags of each document, one letter per word."""
        if not examples:
            raise AtlasError("there is no document to tag: raise the limit of the corpus, or its max_tokens.")
        return ["".join(gold_tags(example)) for example in examples]

    def answers(self, examples: Sequence[Example], plans: Sequence[Plan]) -> list[list[str]]:
        return tags_under(self.model, examples, plans, self.pad)

    def loss(self, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
        return tag_loss(self.model, inputs, batch)


def removal(
    model: Annotated[PreTrainedModel, load_tagger],
    card: Card,
    development: Examples,
    test: Examples,
    step: int,
    random_orders: int,
    seed: int,
) -> pd.DataFrame:
    """A row for every set of removed heads and document: `REMOVED`, layer, head, and `ANSWERS` of a tagger.

    layer and head (from 1) name the head if one is removed, 0 otherwise. Heads are removed cumulatively in steps of `step`
    percent; all orders on test documents, that from worst to best on development documents as well.
    """
    tagging = Tagging(model, card.pad or 0)
    examples = {"development": development, "test": test}
    heads = heads_of(attention_shape(model))
    single_plans = [plan_without(heads.iloc[[place]]) for place in range(len(heads))]
    tables, effects = [], {}
    for split, documents in examples.items():
        expected = tagging.expected(documents)
        _log.info("%d %s documents without each of %d heads", len(documents), split, len(heads))
        answers = tagging.answers(documents, single_plans)
        records = [example.record for example in documents]
        removed_heads = [(0, 0), *heads[["layer", "head"]].itertuples(index=False, name=None)]
        for (layer, head), tags in zip(removed_heads, answers, strict=True):
            key = dict(zip(REMOVED, (split, "one", 0, 0, int(layer > 0)), strict=True)) | {"layer": layer, "head": head}
            tables.append(pd.DataFrame(key | dict(zip(ANSWERS, (records, tags, expected), strict=True))))
        scores = [_token_f1(tags, expected) for tags in answers]
        effects[split] = np.array(scores[1:]) - scores[0]
    derivatives = head_gradients(tagging, development)
    orders = {
        # Heads whose removal helps most come first.
        "worst_to_best": ascending(-effects["development"]),
        "importance": ascending(importance(derivatives, PAPER, 1)),
        "worst_to_best_on_test": ascending(-effects["test"]),
    }
    draws_of_orders = [(name, 0, order) for name, order in orders.items()]
    draws_of_orders += [("random", draw, order) for draw, order in enumerate(shuffled_orders(len(heads), random_orders, seed))]
    counts = steps(len(heads), step, tagging.name)
    for split, documents in examples.items():
        pruning_steps = [
            Step(name, ALL, draw, percent, tuple(order[:count]))
            for name, draw, order in draws_of_orders
            if split == "test" or name == "worst_to_best"
            for percent, count in counts
        ]
        answers_of_steps = step_answers(tagging, heads, pruning_steps, documents).drop(columns="scope")
        tables.append(answers_of_steps.assign(split=split, layer=0, head=0))
    return pd.concat([table[[*REMOVED, "layer", "head", *ANSWERS]] for table in tables], ignore_index=True)


def _token_f1(answers: Sequence[str], expected: Sequence[str]) -> float:
    return float(f1_of(np.sum([token_counts(*pair) for pair in zip(answers, expected, strict=True)], axis=0)))
