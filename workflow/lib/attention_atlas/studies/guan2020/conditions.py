"""Conditions of the ablations: plans for the heads of a row, and for random heads in their place; sentence of each token."""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import torch

from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example, question_of
from attention_atlas.corpora.text import sentence_starts
from attention_atlas.studies.guan2020.ablation_rows import (
    INTRA,
    OTHERS,
    PERMUTED,
    PRUNED,
    ROWS,
    SENTENCEX,
    STOPS,
    TYPE,
    UNIFORM,
    ZERO,
    crowded_layers,
    sentences_of,
)

Heads = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Condition:
    """One evaluation: a row, a definition of a sentence, and the heads that are changed.

    Attributes:
        row: number of the row.
        sentences: definition of a sentence, see `ablation_rows`.
        drawn_from: type, others or permuted, see `ablation_rows`.
        draw: 0 for the heads of the row's types, 1, 2 ... for random sets.
        heads: (layer, head) from 0.
        plan: the intervention.
    """

    row: int
    sentences: str
    drawn_from: str
    draw: int
    heads: Heads
    plan: Plan


def conditions(
    types: Mapping[tuple[int, int], str],
    heads_a_layer: int,
    random_sets: int,
    permutations: int,
    splitter: str,
    renormalise: bool,
    seed: int,
) -> list[Condition]:
    """Every row under every definition of a sentence, for the heads of its types and for random sets of the same layers.

    Args:
        types: (layer, head) from 0 -> type.
        heads_a_layer: heads of a layer.
        random_sets: number of sets of other heads; rows with the same types share them.
        permutations: number of permutations of the types, for the rows that prune one type.
        splitter: of the passage into sentences, one of `SPLITTERS`.
        renormalise: rescale rows with dropped weights to 1.
        seed: of the random sets.
    """
    row_conditions = []
    for row in ROWS:
        type_heads = tuple(sorted(head for head, name in types.items() if name in row.types))
        sets = [(TYPE, 0, type_heads)]
        others = other_sets(type_heads, heads_a_layer, random_sets, seed)
        sets += [(OTHERS, draw, heads) for draw, heads in enumerate(others, start=1)]
        if row.number in PRUNED.values():
            permuted = permuted_sets(type_heads, heads_a_layer, permutations, seed)
            sets += [(PERMUTED, draw, heads) for draw, heads in enumerate(permuted, start=1)]
        for sentences in sentences_of(row, splitter):
            for drawn_from, draw, heads in sets:
                plan = plan_of(heads, row.action, renormalise)
                row_conditions.append(Condition(row.number, sentences, drawn_from, draw, heads, plan))
    return row_conditions


def other_sets(heads: Heads, heads_a_layer: int, count: int, seed: int) -> list[Heads]:
    """Different random sets with as many heads in each layer as `heads` and none of these.

    Returns:
        `count` sets, or all that there are if these are fewer; none where a layer has too few other heads.
    """
    if not heads or crowded_layers((layer for layer, _ in heads), heads_a_layer):
        return []
    sizes = dict(Counter(layer for layer, _ in heads))
    changed = set(heads)
    others = {layer: [head for head in range(heads_a_layer) if (layer, head) not in changed] for layer in sizes}
    generator = _generator(heads, seed)
    if math.prod(math.comb(len(others[layer]), size) for layer, size in sizes.items()) <= count:
        by_layer = ([tuple((layer, head) for head in c) for c in combinations(others[layer], n)] for layer, n in sizes.items())
        return [tuple(head for layer_heads in chosen for head in layer_heads) for chosen in product(*by_layer)]
    sets: dict[Heads, None] = {}
    while len(sets) < count:
        sets[_drawn(sizes, others, generator)] = None
    return list(sets)


def permuted_sets(heads: Heads, heads_a_layer: int, count: int, seed: int) -> list[Heads]:
    """Heads that have the types of `heads` after random permutations of the types within each layer.

    If types say nothing about heads, `heads` are one more such set: the rank of their effect among the sets is uniform.
    """
    sizes = dict(Counter(layer for layer, _ in heads))
    all_heads = {layer: list(range(heads_a_layer)) for layer in sizes}
    generator = _generator(heads, seed + 1)
    return [_drawn(sizes, all_heads, generator) for _ in range(count)] if heads else []


def _generator(heads: Heads, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, *(number for pair in heads for number in pair)])


def _drawn(sizes: Mapping[int, int], drawn_from: Mapping[int, Sequence[int]], generator: np.random.Generator) -> Heads:
    return tuple(
        (layer, int(head))
        for layer, size in sizes.items()
        for head in sorted(generator.choice(drawn_from[layer], size, replace=False))
    )


def plan_of(heads: Heads, action: str, renormalise: bool = False) -> Plan:
    """The plan of one action on some heads."""
    plan = Plan()
    for layer in sorted({layer for layer, _ in heads}):
        layer_heads = [head for head_layer, head in heads if head_layer == layer]
        if action == ZERO:
            plan = plan.zero(layer, layer_heads)
        elif action == UNIFORM:
            plan = plan.uniform(layer, layer_heads)
        else:
            plan = plan.drop(layer, layer_heads, which="intra" if action == INTRA else "inter", renormalise=renormalise)
    return plan


def sentence_of_pieces(example: Example, sentences: str, special_tokens: str) -> list[int]:
    """Sentence of each word piece, -1 for none.

    Args:
        example: question and passage.
        sentences: segments (question 0, passage 1), sentencex or stops (the question 0, the sentences of the passage from 1).
        special_tokens: none, or segment: [CLS] and the first [SEP] belong to the question, the last one to the passage.

    Raises:
        AtlasError: the example holds no question.
    """
    question = question_of(example)
    passage = example.words[question.size :]
    if sentences == SENTENCEX:
        starts = _sentence_starts(question.context)
        of_passage = [bisect_right(starts, start) for start in question.starts]
    elif sentences == STOPS:
        of_passage = [1, *(1 + np.cumsum([text == "." for text in passage[:-1]]))] if passage else []
    else:
        of_passage = [1] * len(passage)
    of_word = [0] * question.size + [int(number) for number in of_passage]
    if special_tokens == "none":
        return [of_word[word] if word >= 0 else -1 for word in example.word]
    of_piece, last = [], 0
    for word in example.word:
        last = of_word[word] if word >= 0 else last
        of_piece.append(last)
    return of_piece


@functools.lru_cache(maxsize=1 << 10)
def _sentence_starts(context: str) -> list[int]:
    """Starts of the sentences of a passage, the same for all its questions and windows."""
    return sentence_starts(context)


def sentence_ids(batch: Sequence[Example], length: int, sentences: str, special_tokens: str) -> torch.Tensor:
    """[example, length] of `sentence_of_pieces`, -1 for padding."""
    ids = torch.full((len(batch), length), -1, dtype=torch.long)
    for row, example in enumerate(batch):
        of_piece = sentence_of_pieces(example, sentences, special_tokens)
        ids[row, : len(of_piece)] = torch.tensor(of_piece)
    return ids
