"""Answers under every row of Tables 2 and 3, in one pass over the questions with a shared unchanged forward pass."""

from __future__ import annotations

import functools
import logging
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from attention_atlas.attention.batches import EXTRACTION_TOKENS, batch_by_length, model_inputs
from attention_atlas.attention.plans import Plan
from attention_atlas.attention.prefix import outputs_under
from attention_atlas.corpora.examples import Example, Examples, question_of
from attention_atlas.corpora.text import sentence_starts
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.models.card import Card
from attention_atlas.models.task_heads import answer_texts, load_answering, passage_pieces
from attention_atlas.studies.guan2020.rows import BASELINE, PRUNED, ROWS, SCORES, Action, passage_interval, sentences_of

_log = logging.getLogger(__name__)
KEY = ["row", "sentences", "drawn_from", "draw"]
ANSWERED = [*KEY, "record", "answer", "score"]
COLUMNS = [*KEY, "question", "passage", "answer", "em", "f1"]
Heads = tuple[tuple[int, int], ...]


class Condition(NamedTuple):
    """One evaluation of a row (its number), under a definition of a sentence: the (layer, head) from 0 to change, and how.

    drawn_from: type (the heads of the row's types, draw 0), others (as many other heads of the same layers, the control) or
    permuted (those that have the type after a permutation of all types within each layer, the null distribution).
    """

    row: int
    sentences: str
    drawn_from: str
    draw: int
    heads: Heads
    plan: Plan


_sentence_starts = functools.lru_cache(maxsize=1 << 10)(sentence_starts)
UNCHANGED = Condition(BASELINE, "", "type", 0, (), Plan())
Key = tuple[int, str, str, int]
"""The first four fields of a condition, `KEY`."""
Answers = dict[Key, dict[int, tuple[str, float]]]
"""Condition -> record of each window -> answer and its score."""


def ablations(
    model: Annotated[PreTrainedModel, load_answering],
    card: Card,
    head_types: pd.DataFrame,
    examples: Examples,
    settings: Mapping[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Answers to questions under all conditions: one row for each window and condition, `ANSWERED`."""
    types = {(row.layer - 1, row.head - 1): str(row.cluster) for row in head_types.itertuples()}
    if len(types) != card.layers * card.heads:
        raise AtlasError(f"the types are those of {len(types)} heads, the model {card.name} has {card.layers * card.heads}.")
    row_conditions = conditions(types, card.heads, settings, seed)
    _log.info("%d questions and windows under %d conditions", len(examples), 1 + len(row_conditions))
    by_condition = answer_all(model, examples, row_conditions, card.pad or 0, settings["special_tokens"])
    rows = [(*key, record, *answer) for key, by_window in by_condition.items() for record, answer in by_window.items()]
    return pd.DataFrame(rows, columns=ANSWERED)


def answers(examples: Examples, shards: Sequence[pd.DataFrame], resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """The answer to each question under each condition, `COLUMNS`: the best of its windows, which may be in two shards; and the
    means of the unchanged model under all ways of scoring.
    """
    by_condition: Answers = {}
    # The table of a shard beyond the limit is empty.
    for row in pd.concat([shard for shard in shards if len(shard)]).itertuples(index=False):
        by_condition.setdefault((row.row, row.sentences, row.drawn_from, row.draw), {})[row.record] = (row.answer, row.score)
    numbers, rows = _passages(examples), []
    for (key, by_window), (question, windows) in product(by_condition.items(), _windows(examples).items()):
        squad_item, text = question_of(windows[0]), _best_answer(by_window, windows)
        rows.append((*key, question, numbers[squad_item.context], text, *score(text, squad_item.answers)))
    return {
        "answers": pd.DataFrame(rows, columns=COLUMNS),
        "baselines": baselines(by_condition[UNCHANGED[:4]], examples, resamples, seed),
    }


def conditions(
    types: Mapping[tuple[int, int], str], heads_a_layer: int, settings: Mapping[str, Any], seed: int
) -> list[Condition]:
    """Every row under every definition of a sentence, for the heads of its types, for random sets of other heads of the same
    layers, and, where it prunes one type, for permutations of the types. types: (layer, head) from 0 -> type.
    """
    permutations = permuted_types(types, settings["permutations"], seed)
    row_conditions = []
    for row in ROWS:
        type_heads = heads_of(types, row.types)
        sets = [("type", 0, type_heads)]
        others = other_sets(type_heads, heads_a_layer, settings["random_sets"], seed)
        sets += [("others", n, heads) for n, heads in enumerate(others, 1)]
        if row.number in PRUNED.values():
            sets += [("permuted", n, heads_of(permuted, row.types)) for n, permuted in enumerate(permutations, 1)]
        row_conditions += [
            Condition(row.number, sentences, *drawn, plan_of(drawn[2], row.action, settings["renormalise"]))
            for sentences in sentences_of(row, settings["sentences"])
            for drawn in sets
        ]
    return row_conditions


def heads_of(types: Mapping[tuple[int, int], str], names: Sequence[str]) -> Heads:
    return tuple(sorted(head for head, name in types.items() if name in names))


def other_sets(heads: Heads, heads_a_layer: int, count: int, seed: int) -> list[Heads]:
    """`count` different random sets (or all, if these are fewer) with as many heads in each layer as `heads` and none of these;
    none where a layer has too few other heads.
    """
    sizes = Counter(layer for layer, _ in heads)
    if not heads or 2 * max(sizes.values()) > heads_a_layer:
        return []
    changed = set(heads)
    others = {layer: [head for head in range(heads_a_layer) if (layer, head) not in changed] for layer in sizes}
    if math.prod(math.comb(len(others[layer]), size) for layer, size in sizes.items()) <= count:
        by_layer = ([tuple((layer, head) for head in c) for c in combinations(others[layer], n)] for layer, n in sizes.items())
        return [tuple(head for layer_heads in chosen for head in layer_heads) for chosen in product(*by_layer)]
    generator = np.random.default_rng([seed, *(number for pair in heads for number in pair)])
    sets: dict[Heads, None] = {}
    while len(sets) < count:
        drawn = {layer: sorted(generator.choice(others[layer], size, replace=False)) for layer, size in sizes.items()}
        sets[tuple((layer, int(head)) for layer, chosen in drawn.items() for head in chosen)] = None
    return list(sets)


def permuted_types(types: Mapping[tuple[int, int], str], count: int, seed: int) -> list[dict[tuple[int, int], str]]:
    """The types of all heads after random permutations within each layer; the rows of all types share them."""
    generator, layers = np.random.default_rng(seed), sorted({layer for layer, _ in types})
    by_layer = [[head for head in sorted(types) if head[0] == layer] for layer in layers]
    return [
        {head: types[heads[k]] for heads in by_layer for head, k in zip(heads, generator.permutation(len(heads)), strict=True)}
        for _ in range(count)
    ]


def plan_of(heads: Heads, action: Action, renormalise: bool) -> Plan:
    plan = Plan()
    for layer in sorted({layer + 1 for layer, _ in heads}):
        layer_heads = [head + 1 for head_layer, head in heads if head_layer + 1 == layer]
        if action == "zero":
            plan = plan.zero(layer, layer_heads)
        elif action == "uniform":
            plan = plan.uniform(layer, layer_heads)
        else:
            plan = plan.drop(layer, layer_heads, which=action, renormalise=renormalise)
    return plan


def sentence_of_pieces(example: Example, sentences: str, special_tokens: str) -> list[int]:
    """Sentence of each word piece, -1 for none.

    sentences: segments (question 0, passage 1), sentencex or stops (the question 0, the sentences of the passage from 1).
    special_tokens: none, or segment: [CLS] and the first [SEP] belong to the question, the last one to the passage.
    """
    question = question_of(example)
    passage = example.words[question.size :]
    if sentences == "sentencex":
        starts = _sentence_starts(question.context)
        of_passage = [bisect_right(starts, start) for start in question.starts]
    elif sentences == "stops":
        of_passage = [1, *(1 + np.cumsum([text == "." for text in passage[:-1]]))] if passage else []
    else:
        of_passage = [1] * len(passage)
    of_word = [0] * question.size + [int(number) for number in of_passage]
    if special_tokens == "none":
        return [of_word[word] if word >= 0 else -1 for word in example.word]
    of_piece = [0]
    for word in example.word:
        of_piece.append(of_word[word] if word >= 0 else of_piece[-1])
    return of_piece[1:]


def answer_all(
    model: PreTrainedModel,
    examples: Sequence[Example],
    row_conditions: Sequence[Condition],
    pad: int,
    special_tokens: str,
    batch_tokens: int = EXTRACTION_TOKENS,
) -> Answers:
    """Answers of the unchanged model and under every condition, which starts from the unchanged hidden states below the first
    layer that it changes.
    """
    answers: Answers = {condition[:4]: {} for condition in (UNCHANGED, *row_conditions)}
    definitions = dict.fromkeys(c.sentences for c in row_conditions if c.sentences)
    for batch in progress(list(batch_by_length(examples, batch_tokens)), label="batches of questions"):
        inputs = model_inputs(model, batch, pad)
        mask = inputs["attention_mask"]
        allowed = passage_pieces(batch, mask.shape[1]).to(mask.device)
        ids = {}
        for kind in definitions:
            of_pieces = [torch.tensor(sentence_of_pieces(example, kind, special_tokens)) for example in batch]
            ids[kind] = pad_sequence(of_pieces, batch_first=True, padding_value=-1).to(mask.device)
        plans = ((condition.plan, ids.get(condition.sentences)) for condition in row_conditions)
        for condition, output in zip((UNCHANGED, *row_conditions), outputs_under(model, inputs, plans), strict=True):
            texts = answer_texts(batch, output.start_logits, output.end_logits, allowed)
            answers[condition[:4]].update(zip((example.record for example in batch), texts, strict=True))
    return answers


def _best_answer(by_window: Mapping[int, tuple[str, float]], windows: Sequence[Example]) -> str:
    """Text of the answer with the highest score over windows."""
    return max((by_window[window.record] for window in windows), key=lambda answer: answer[1])[0]


def baselines(
    by_window: Mapping[int, tuple[str, float]], examples: Sequence[Example], resamples: int, seed: int
) -> pd.DataFrame:
    """Scores of the unchanged model with the best answer in the first window or in all, and the first reference answer or the
    best of all: windows, references, n, em and f1 with intervals over passages.
    """
    numbers, by_question, rows = _passages(examples), _windows(examples), []
    passages = np.array([numbers[question_of(windows[0]).context] for windows in by_question.values()])
    for (name, used), (references, last) in product((("all", None), ("first", 1)), repeat=2):
        ways = [(_best_answer(by_window, w[:used]), question_of(w[0]).answers[:last]) for w in by_question.values()]
        scores = np.array([score(*way) for way in ways])
        low, high = passage_interval(scores, passages, resamples, seed)
        row: dict[str, Any] = {"windows": name, "references": references, "n": len(scores)}
        for column, metric in enumerate(SCORES):
            row |= {metric: scores[:, column].mean(), f"{metric}_ci_low": low[column], f"{metric}_ci_high": high[column]}
        rows.append(row)
    return pd.DataFrame(rows)


def _windows(examples: Sequence[Example]) -> dict[str, list[Example]]:
    """Windows of each question, in order."""
    windows: dict[str, list[Example]] = {}
    for example in examples:
        windows.setdefault(question_of(example).question, []).append(example)
    return windows


def _passages(examples: Sequence[Example]) -> dict[str, int]:
    """Number of each passage, from 1: questions on one passage are not independent."""
    contexts = dict.fromkeys(question_of(example).context for example in examples)
    return {context: number for number, context in enumerate(contexts, start=1)}


@functools.lru_cache(maxsize=1 << 16)
def score(answer: str, references: tuple[str, ...]) -> tuple[float, float]:
    """Exact match and F1 in percent, the best over the reference answers, with the official normalisation of SQuAD."""
    from torchmetrics.functional.text import squad

    scores = squad(
        [{"prediction_text": answer, "id": ""}],
        [{"answers": {"text": list(references), "answer_start": [0] * len(references)}, "id": ""}],
    )
    return float(scores["exact_match"]), float(scores["f1"])
