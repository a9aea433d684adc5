"""Answers under every row of Tables 2 and 3, in one pass over a shard of questions: the unchanged forward pass is shared."""

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
from attention_atlas.corpora.examples import Example, asked_of, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import read_table, write_parquet, write_table
from attention_atlas.models.answering import answer_texts, passage_pieces
from attention_atlas.models.card import ModelCard, read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained
from attention_atlas.studies.guan2020.ablation_rows import BASELINE, SENTENCES, WHOLE
from attention_atlas.studies.guan2020.conditions import Condition, conditions, sentence_ids

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
UNCHANGED = Condition(BASELINE, WHOLE, 0, (), Plan())
KEY = ["row", "sentences", "draw"]
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
        limit: records that count.
        settings: special_tokens, renormalise, random_sets.
        seed: of the random sets.
        threads: threads of the forward passes.
        out: Parquet, a window under a condition a row: `ANSWERED`.

    Raises:
        AtlasError: the model has no head for answers, or the types are those of another model.
    """
    torch.set_num_threads(threads)
    card = read_card(card_path)
    wanted = _conditions(card, types_path, settings, seed)
    examples = list(read_examples([examples_path], limit))
    model = load_trained(model_entry, "questions", pick_device())
    _log.info("%d questions and windows under %d conditions", len(examples), 1 + len(wanted))
    write_parquet(answered(answer_all(model, examples, wanted, card.pad or 0, settings["special_tokens"])), out)


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
    """The answer to each question under each condition, the best of its windows, which may lie in two shards.

    Args:
        card_path, types_path, limit, settings, seed: as for `ablate`.
        example_files: shards of questions.
        answer_files: what `ablate` gave for each.
        out: Parquet, a question under a condition a row: `COLUMNS`; passage numbers the passages.
        heads_out: row, sentences, draw, layer, head: the heads that each condition changes.
        baselines_out: windows, references, question, passage, em, f1: the unchanged model by other ways of scoring.

    Raises:
        AtlasError: the types are those of another model.
    """
    wanted = _conditions(read_card(card_path), types_path, settings, seed)
    examples = list(read_examples(example_files, limit))
    answers = answers_of([pd.read_parquet(path) for path in answer_files])
    write_parquet(pd.DataFrame(scored_rows(answers, examples), columns=COLUMNS), out)
    changed = [(c.row, c.sentences, c.draw, layer + 1, head + 1) for c in wanted for layer, head in c.heads]
    write_table(pd.DataFrame(changed, columns=[*KEY, "layer", "head"]), heads_out)
    write_table(baselines(answers[UNCHANGED.row, UNCHANGED.sentences, UNCHANGED.draw], examples), baselines_out)


def _conditions(card: ModelCard, types_path: str | Path, settings: Mapping[str, Any], seed: int) -> list[Condition]:
    table = read_table(types_path, ["layer", "head", "type"])
    types = {(row.layer - 1, row.head - 1): str(row.type) for row in table.itertuples()}
    if len(types) != card.layers * card.heads:
        raise AtlasError(f"{types_path}: it has {len(types)} heads, the model {card.name} {card.layers * card.heads}.")
    return conditions(types, card.heads, settings["random_sets"], settings["renormalise"], seed)


Answers = dict[tuple[int, str, int], dict[int, tuple[str, float]]]
"""Condition -> record of each window -> answer and its score."""


def answered(answers: Answers) -> pd.DataFrame:
    """A row for every condition and window: `ANSWERED`."""
    rows = [(*key, record, *answer) for key, found in answers.items() for record, answer in found.items()]
    return pd.DataFrame(rows, columns=ANSWERED)


def answers_of(frames: Sequence[pd.DataFrame]) -> Answers:
    """Answers from tables of `answered`, one for each part of the examples."""
    found: Answers = {}
    # No question counts of a shard that lies beyond the limit.
    for row in pd.concat([frame for frame in frames if len(frame)]).itertuples(index=False):
        found.setdefault((row.row, row.sentences, row.draw), {})[row.record] = (row.answer, row.score)
    return found


def answer_all(
    model: PreTrainedModel,
    examples: Sequence[Example],
    wanted: Sequence[Condition],
    pad: int,
    special_tokens: str,
    batch_tokens: int = EXTRACTION_TOKENS,
) -> Answers:
    """Answers of the unchanged model and under every condition.

    Windows of like length share a batch. In each batch the unchanged forward pass is run once; each condition starts from what
    it gave below the first layer that the condition changes.

    Args:
        model: with the engine installed.
        examples: questions with windows of their passages.
        wanted: the conditions.
        pad: id of the padding token.
        special_tokens: see `sentence_of_pieces`.
        batch_tokens: padded pieces of a batch.
    """
    answers: Answers = {(c.row, c.sentences, c.draw): {} for c in (UNCHANGED, *wanted)}
    groups = list(batch_by_length(examples, batch_tokens))
    for batch in progress(groups, label="batches of questions"):
        inputs = model_inputs(model, batch, pad)
        mask = inputs["attention_mask"]
        length = mask.shape[1]
        allowed = passage_pieces(batch, length).to(mask.device)
        ids = {kind: sentence_ids(batch, length, kind, special_tokens).to(mask.device) for kind in SENTENCES}
        plans = ((condition.plan, ids.get(condition.sentences)) for condition in wanted)
        for condition, output in zip((UNCHANGED, *wanted), outputs_under(model, inputs, plans), strict=True):
            _keep(answers[condition.row, condition.sentences, condition.draw], batch, output, allowed)
    return answers


def _keep(found: dict[int, tuple[str, float]], batch: Sequence[Example], output: Any, allowed: torch.Tensor) -> None:
    texts = answer_texts(batch, output.start_logits, output.end_logits, allowed)
    found.update(zip((example.record for example in batch), texts, strict=True))


def scored_rows(answers: Answers, examples: Sequence[Example]) -> Iterator[tuple[Any, ...]]:
    """A row for every condition and question, in the order of the conditions and records: `COLUMNS`."""
    windows = _windows(examples)
    numbers = _passages(examples)
    for key, found in answers.items():
        for question, own in windows.items():
            asked = asked_of(own[0])
            text = max((found[e.record] for e in own), key=lambda answer: answer[1])[0]
            yield *key, question, numbers[asked.context], text, *score(text, asked.answers)


def baselines(found: Mapping[int, tuple[str, float]], examples: Sequence[Example]) -> pd.DataFrame:
    """The unchanged model by its answer in the first window or in all, and by the first reference answer or the best of all."""
    rows = []
    numbers = _passages(examples)
    for question, own in _windows(examples).items():
        asked = asked_of(own[0])
        for name, part in (("first", own[:1]), ("all", own)):
            text = max((found[e.record] for e in part), key=lambda answer: answer[1])[0]
            for references, texts in (("first", asked.answers[:1]), ("all", asked.answers)):
                rows.append((name, references, question, numbers[asked.context], *score(text, texts)))
    return pd.DataFrame(rows, columns=["windows", "references", "question", "passage", "em", "f1"])


def _windows(examples: Sequence[Example]) -> dict[str, list[Example]]:
    """Windows of each question, in order."""
    found: dict[str, list[Example]] = {}
    for example in examples:
        found.setdefault(asked_of(example).question, []).append(example)
    return found


def _passages(examples: Sequence[Example]) -> dict[str, int]:
    """Number of each passage, from 1: questions on one passage are not independent."""
    contexts = dict.fromkeys(asked_of(example).context for example in examples)
    return {context: number for number, context in enumerate(contexts, start=1)}


@functools.lru_cache(maxsize=1 << 16)
def score(answer: str, references: tuple[str, ...]) -> tuple[float, float]:
    """Exact match and F1 in percent, the best over the reference answers, with the official normalisation of SQuAD."""
    from torchmetrics.functional.text import squad

    found = squad(
        [{"prediction_text": answer, "id": ""}],
        [{"answers": {"text": list(references), "answer_start": [0] * len(references)}, "id": ""}],
    )
    return float(found["exact_match"]), float(found["f1"])
