"""Answers under every row of Tables 2 and 3, in one pass over a shard of questions with a shared unchanged forward pass."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch

from attention_atlas.attention.batch_sizes import EXTRACTION_TOKENS
from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.plans import Plan
from attention_atlas.attention.prefix import outputs_under
from attention_atlas.corpora.examples import Example, question_of, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import read_table, write_parquet, write_table
from attention_atlas.models.answering import answer_texts, passage_pieces
from attention_atlas.models.card import ModelCard, read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained
from attention_atlas.studies.guan2020.ablation_rows import BASELINE, TYPE, WHOLE
from attention_atlas.studies.guan2020.conditions import Condition, conditions, sentence_ids

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
UNCHANGED = Condition(BASELINE, WHOLE, TYPE, 0, (), Plan())
KEY = ["row", "sentences", "drawn_from", "draw"]
ANSWERED = [*KEY, "record", "answer", "score"]
COLUMNS = [*KEY, "question", "passage", "answer", "em", "f1"]


def ablate(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    types_path: str | Path,
    examples_path: str | Path,
    limit: int,
    settings: Mapping[str, Any],
    seed: int,
    threads: int,
    out: str | Path,
) -> None:
    """Answer the questions of a shard under all conditions.

    Args:
        model_entry: registry entry of a model that answers questions.
        card_path: its card.
        types_path: head_types.tsv of that model.
        examples_path: a shard of questions with windows of their passages.
        limit: use at most this many records.
        settings: sentences, special_tokens, renormalise, random_sets, permutations.
        seed: of the random sets.
        threads: threads of the forward passes.
        out: Parquet, one row for each window and condition: `ANSWERED`.

    Raises:
        AtlasError: the model has no head for answers, or the types are those of another model.
    """
    torch.set_num_threads(threads)
    card = read_card(card_path)
    row_conditions = _conditions(card, types_path, settings, seed)
    examples = list(read_examples([examples_path], limit))
    model = load_trained(model_entry, "questions", pick_device())
    _log.info("%d questions and windows under %d conditions", len(examples), 1 + len(row_conditions))
    write_parquet(answered(answer_all(model, examples, row_conditions, card.pad or 0, settings["special_tokens"])), out)


def score_answers(
    card_path: str | Path,
    types_path: str | Path,
    example_files: Sequence[str | Path],
    answer_files: Sequence[str | Path],
    limit: int,
    settings: Mapping[str, Any],
    seed: int,
    out: str | Path,
    heads_out: str | Path,
    baselines_out: str | Path,
) -> None:
    """Write the answer to each question under each condition: the best of its windows, which may be in two shards.

    Args:
        card_path, types_path, limit, settings, seed: as for `ablate`.
        example_files: shards of questions.
        answer_files: output of `ablate` for each.
        out: Parquet, one row for each question and condition: `COLUMNS`; passage numbers the passages.
        heads_out: row, sentences, drawn_from, draw, layer, head: the heads that each condition changes.
        baselines_out: windows, references, question, passage, em, f1: the unchanged model under all ways of scoring.

    Raises:
        AtlasError: the types are those of another model.
    """
    row_conditions = _conditions(read_card(card_path), types_path, settings, seed)
    examples = list(read_examples(example_files, limit))
    answers = answers_of([pd.read_parquet(path) for path in answer_files])
    write_parquet(pd.DataFrame(scored_rows(answers, examples), columns=COLUMNS), out)
    changed = [(*_key(c), layer + 1, head + 1) for c in row_conditions for layer, head in c.heads]
    write_table(pd.DataFrame(changed, columns=[*KEY, "layer", "head"]), heads_out)
    write_table(baselines(answers[_key(UNCHANGED)], examples), baselines_out)


def _conditions(card: ModelCard, types_path: str | Path, settings: Mapping[str, Any], seed: int) -> list[Condition]:
    table = read_table(types_path, ["layer", "head", "cluster"])
    types = {(row.layer - 1, row.head - 1): str(row.cluster) for row in table.itertuples()}
    if len(types) != card.layers * card.heads:
        raise AtlasError(f"{types_path}: it has {len(types)} heads, the model {card.name} {card.layers * card.heads}.")
    numbers = settings["random_sets"], settings["permutations"]
    return conditions(types, card.heads, *numbers, settings["sentences"], settings["renormalise"], seed)


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

    Args:
        model: with the engine installed.
        examples: questions with windows of their passages.
        row_conditions: conditions of the rows.
        pad: id of the padding token.
        special_tokens: see `sentence_of_pieces`.
        batch_tokens: tokens of a batch, padding included.
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
            _store(answers[_key(condition)], batch, output, allowed)
    return answers


def _store(by_window: dict[int, tuple[str, float]], batch: Sequence[Example], output: Any, allowed: torch.Tensor) -> None:
    texts = answer_texts(batch, output.start_logits, output.end_logits, allowed)
    by_window.update(zip((example.record for example in batch), texts, strict=True))


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
