"""Answers under every row of Tables 2 and 3, in one pass over the questions with a shared unchanged forward pass."""

from __future__ import annotations

import functools
import logging
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
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
from attention_atlas.studies.guan2020.rows import (
    BASELINE,
    INTRA,
    OTHERS,
    PERMUTED,
    PRUNED,
    ROWS,
    SENTENCEX,
    STOPS,
    TYPE,
    UNIFORM,
    WHOLE,
    ZERO,
    crowded_layers,
    sentences_of,
)
from attention_atlas.studies.guan2020.rows import baselines as baseline_means

_log = logging.getLogger(__name__)
KEY = ["row", "sentences", "drawn_from", "draw"]
ANSWERED = [*KEY, "record", "answer", "score"]
COLUMNS = [*KEY, "question", "passage", "answer", "em", "f1"]
Heads = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Condition:
    """One evaluation of a row (its number), under a definition of a sentence: the heads that are changed, and how.

    Attributes:
        drawn_from: type, others or permuted, see `rows`.
        draw: 0 for the heads of the row's types, 1, 2 ... for random sets.
        heads: (layer, head) from 0.
    """

    row: int
    sentences: str
    drawn_from: str
    draw: int
    heads: Heads
    plan: Plan


UNCHANGED = Condition(BASELINE, WHOLE, TYPE, 0, (), Plan())


def ablations(
    model: Annotated[PreTrainedModel, load_answering],
    card: Card,
    head_types: pd.DataFrame,
    examples: Examples,
    settings: Mapping[str, Any],
    seed: int,
) -> pd.DataFrame:
    """Answers to questions under all conditions: one row for each window and condition, `ANSWERED`.

    settings: sentences, special_tokens, renormalise, random_sets, permutations.
    """
    row_conditions = conditions_of(card, head_types, settings, seed)
    _log.info("%d questions and windows under %d conditions", len(examples), 1 + len(row_conditions))
    return answered(answer_all(model, examples, row_conditions, card.pad or 0, settings["special_tokens"]))


def answers(
    card: Card,
    head_types: pd.DataFrame,
    examples: Examples,
    shards: Sequence[pd.DataFrame],
    settings: Mapping[str, Any],
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """The answer to each question under each condition: the best of its windows, which may be in two shards.

    Returns:
        answers: one row for each question and condition: `COLUMNS`; passage numbers the passages.
        heads: row, sentences, drawn_from, draw, layer, head: the heads that each condition changes.
        answer_baselines: windows, references, question, passage, em, f1: the unchanged model under all ways of scoring.
        baselines: their means, see `rows.baselines`.
    """
    row_conditions = conditions_of(card, head_types, settings, seed)
    by_condition = answers_of(shards)
    changed = [(*_key(c), layer + 1, head + 1) for c in row_conditions for layer, head in c.heads]
    by_question = baselines(by_condition[_key(UNCHANGED)], examples)
    return {
        "answers": pd.DataFrame(scored_rows(by_condition, examples), columns=COLUMNS),
        "heads": pd.DataFrame(changed, columns=[*KEY, "layer", "head"]),
        "answer_baselines": by_question,
        "baselines": baseline_means(by_question, resamples, seed),
    }


def conditions_of(card: Card, head_types: pd.DataFrame, settings: Mapping[str, Any], seed: int) -> list[Condition]:
    """The conditions for a model."""
    types = {(row.layer - 1, row.head - 1): str(row.cluster) for row in head_types.itertuples()}
    if len(types) != card.layers * card.heads:
        raise AtlasError(f"the types are those of {len(types)} heads, the model {card.name} has {card.layers * card.heads}.")
    numbers = settings["random_sets"], settings["permutations"]
    return conditions(types, card.heads, *numbers, settings["sentences"], settings["renormalise"], seed)


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
        random_sets: number of sets of other heads; rows with the same types share them.
        permutations: number of permutations of the types, for the rows that prune one type.
        splitter: of the passage into sentences, one of `SPLITTERS`.
        renormalise: rescale rows with dropped weights to 1.
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
        sentences: segments (question 0, passage 1), sentencex or stops (the question 0, the sentences of the passage from 1).
        special_tokens: none, or segment: [CLS] and the first [SEP] belong to the question, the last one to the passage.
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


Key = tuple[int, str, str, int]
"""Row, sentences, drawn_from and draw of a condition."""
Answers = dict[Key, dict[int, tuple[str, float]]]
"""Condition -> record of each window -> answer and its score."""


def _key(condition: Condition) -> Key:
    return condition.row, condition.sentences, condition.drawn_from, condition.draw


def answered(answers: Answers) -> pd.DataFrame:
    """A row for every condition and window: `ANSWERED`."""
    rows = [(*key, record, *answer) for key, by_window in answers.items() for record, answer in by_window.items()]
    return pd.DataFrame(rows, columns=ANSWERED)


def answers_of(frames: Sequence[pd.DataFrame]) -> Answers:
    """Answers from tables of `answered`, one for each shard."""
    answers: Answers = {}
    # The table of a shard beyond the limit is empty.
    for row in pd.concat([frame for frame in frames if len(frame)]).itertuples(index=False):
        answers.setdefault((row.row, row.sentences, row.drawn_from, row.draw), {})[row.record] = (row.answer, row.score)
    return answers


def answer_all(
    model: PreTrainedModel,
    examples: Sequence[Example],
    row_conditions: Sequence[Condition],
    pad: int,
    special_tokens: str,
    batch_tokens: int = EXTRACTION_TOKENS,
) -> Answers:
    """Answers of the unchanged model and under every condition.

    Windows of similar length share a batch. Each batch has one unchanged forward pass; each condition starts from its hidden
    states below the first layer that the condition changes.
    """
    answers: Answers = {_key(c): {} for c in (UNCHANGED, *row_conditions)}
    definitions = dict.fromkeys(c.sentences for c in row_conditions if c.sentences != WHOLE)
    batches = list(batch_by_length(examples, batch_tokens))
    for batch in progress(batches, label="batches of questions"):
        inputs = model_inputs(model, batch, pad)
        mask = inputs["attention_mask"]
        length = mask.shape[1]
        allowed = passage_pieces(batch, length).to(mask.device)
        ids = {kind: sentence_ids(batch, length, kind, special_tokens).to(mask.device) for kind in definitions}
        plans = ((condition.plan, ids.get(condition.sentences)) for condition in row_conditions)
        for condition, output in zip((UNCHANGED, *row_conditions), outputs_under(model, inputs, plans), strict=True):
            texts = answer_texts(batch, output.start_logits, output.end_logits, allowed)
            answers[_key(condition)].update(zip((example.record for example in batch), texts, strict=True))
    return answers


def scored_rows(answers: Answers, examples: Sequence[Example]) -> Iterator[tuple[Any, ...]]:
    """A row for every condition and question, in the order of the conditions and records: `COLUMNS`."""
    windows = _windows(examples)
    numbers = _passages(examples)
    for key, by_window in answers.items():
        for question, question_windows in windows.items():
            squad_item = question_of(question_windows[0])
            text = _best_answer(by_window, question_windows)
            yield *key, question, numbers[squad_item.context], text, *score(text, squad_item.answers)


def _best_answer(by_window: Mapping[int, tuple[str, float]], windows: Sequence[Example]) -> str:
    """Text of the answer with the highest score over windows."""
    return max((by_window[window.record] for window in windows), key=lambda answer: answer[1])[0]


def baselines(by_window: Mapping[int, tuple[str, float]], examples: Sequence[Example]) -> pd.DataFrame:
    """Scores of the unchanged model: best answer in the first window or in all, first reference answer or the best of all."""
    rows = []
    numbers = _passages(examples)
    for question, windows in _windows(examples).items():
        squad_item = question_of(windows[0])
        for name, scored_windows in (("first", windows[:1]), ("all", windows)):
            text = _best_answer(by_window, scored_windows)
            for references, texts in (("first", squad_item.answers[:1]), ("all", squad_item.answers)):
                rows.append((name, references, question, numbers[squad_item.context], *score(text, texts)))
    return pd.DataFrame(rows, columns=["windows", "references", "question", "passage", "em", "f1"])


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
