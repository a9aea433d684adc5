"""Conditions of the ablations: plans for the heads of a row, and for random heads in their place; sentences of the pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example, asked_of
from attention_atlas.studies.guan2020.ablation_rows import INTRA, ROWS, STOPS, UNIFORM, ZERO, sentences_of

Heads = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Condition:
    """One evaluation: a row, what its sentences are, and whose heads are changed.

    Attributes:
        row: number of the row.
        sentences: segments, stops, or nothing where sentences do not matter.
        draw: 0 for the heads of the row's types, 1, 2 ... for random sets.
        heads: (layer, head) from 0.
        plan: the intervention.
    """

    row: int
    sentences: str
    draw: int
    heads: Heads
    plan: Plan


def conditions(
    types: Mapping[tuple[int, int], str], heads_a_layer: int, random_sets: int, renormalise: bool, seed: int
) -> list[Condition]:
    """Every row under every definition of a sentence, for its own heads and for random sets of the same layers.

    Args:
        types: (layer, head) from 0 -> type.
        heads_a_layer: heads of a layer.
        random_sets: how many; rows with the same types share them.
        renormalise: scale cut rows back to 1.
        seed: of the random sets.
    """
    found = []
    for row in ROWS:
        own = tuple(sorted(place for place, name in types.items() if name in row.types))
        sets = [own, *matched_sets(own, heads_a_layer, random_sets, seed)]
        for sentences in sentences_of(row):
            for draw, heads in enumerate(sets):
                plan = plan_of(heads, row.action, renormalise)
                found.append(Condition(row.number, sentences, draw, heads, plan))
    return found


def matched_sets(heads: Heads, heads_a_layer: int, count: int, seed: int) -> list[Heads]:
    """Random sets with as many heads in each layer as `heads`."""
    layers = np.bincount([layer for layer, _ in heads]) if heads else np.zeros(0, dtype=int)
    generator = np.random.default_rng([seed, *(number for pair in heads for number in pair)])
    return [
        tuple(
            (layer, int(head))
            for layer, number in enumerate(layers)
            for head in sorted(generator.choice(heads_a_layer, number, replace=False))
        )
        for _ in range(count)
    ]


def plan_of(heads: Heads, action: str, renormalise: bool = False) -> Plan:
    """The plan that does one thing to some heads."""
    plan = Plan()
    for layer in sorted({layer for layer, _ in heads}):
        own = [head for there, head in heads if there == layer]
        if action == ZERO:
            plan = plan.zero(layer, own)
        elif action == UNIFORM:
            plan = plan.uniform(layer, own)
        else:
            plan = plan.drop(layer, own, which="intra" if action == INTRA else "inter", renormalise=renormalise)
    return plan


def sentence_of_pieces(example: Example, sentences: str, special_tokens: str) -> list[int]:
    """Sentence of each piece, -1 for none.

    Args:
        example: question and passage.
        sentences: segments (question 0, passage 1) or stops (the question 0; a full stop ends each sentence of the passage).
        special_tokens: none, or segment: [CLS] and the first [SEP] belong to the question, the last one to the passage.

    Raises:
        AtlasError: the example holds no question.
    """
    size = asked_of(example).size
    of_word, current = [], 1
    for place, word in enumerate(example.words):
        of_word.append(0 if place < size else current)
        if place >= size and word == "." and sentences == STOPS:
            current += 1
    if special_tokens == "none":
        return [of_word[word] if word >= 0 else -1 for word in example.word]
    found, last = [], 0
    for word in example.word:
        last = of_word[word] if word >= 0 else last
        found.append(last)
    return found


def sentence_ids(batch: Sequence[Example], length: int, sentences: str, special_tokens: str) -> torch.Tensor:
    """[example, length] of `sentence_of_pieces`, -1 for padding."""
    ids = torch.full((len(batch), length), -1, dtype=torch.long)
    for row, example in enumerate(batch):
        own = sentence_of_pieces(example, sentences, special_tokens)
        ids[row, : len(own)] = torch.tensor(own)
    return ids
