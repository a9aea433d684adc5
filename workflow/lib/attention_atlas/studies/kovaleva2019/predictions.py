"""Predictions of every model of a task: pre-trained, trained from random weights, and fine-tuned."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.io.tables import write_parquet
from attention_atlas.models.card import read_card
from attention_atlas.models.classifying import classes_of, labels_of, logits, predicted, untrained_logits
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained
from attention_atlas.studies.kovaleva2019.names import PREDICTION_COLUMNS, UNTRAINED

_log = logging.getLogger(__name__)


def predict(
    base_entry: Mapping[str, Any],
    members: Sequence[Mapping[str, Any]],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    regression: bool,
    classifier_seeds: int,
    threads: int,
    out: str | Path,
) -> None:
    """Write a row for every model and example: `PREDICTION_COLUMNS`; predictions and labels are names of classes, or numbers.

    Args:
        base_entry: registry entry of the pre-trained model.
        members: models trained on the task: state (random, tuned), seed, entry.
        card_path: card of the pre-trained model, whose tokenizer all share.
        example_files: the examples.
        limit: use at most this many records.
        regression: whether labels are scores.
        classifier_seeds: seeds of the random classification layers on the pre-trained model.
        threads: threads of the forward passes.
        out: Parquet file.

    Raises:
        AtlasError: the examples have no labels, or a model does not know one of them.
    """
    torch.set_num_threads(threads)
    pad, device = read_card(card_path).pad or 0, pick_device()
    examples = list(read_examples(example_files, limit))
    labels = labels_of(examples)
    classes = sorted(set(labels))
    frames = []
    untrained = untrained_logits(base_entry, examples, pad, 1 if regression else len(classes), range(classifier_seeds), device)
    for seed, seed_logits in enumerate(untrained):
        frames.append(_frame(UNTRAINED, seed, examples, predicted(seed_logits, classes, regression), labels))
    for member in members:
        model = load_trained(member["entry"], "labels", device)
        known = [] if regression else classes_of(model, labels)
        predictions = predicted(logits(model, examples, pad), known, regression)
        frames.append(_frame(member["state"], member["seed"], examples, predictions, labels))
        _log.info("%s, seed %d: predicted", member["state"], member["seed"])
    write_parquet(pd.concat(frames, ignore_index=True), out)


def _frame(state: str, seed: int, examples: Sequence[Example], predictions: list[str], labels: list[str]) -> pd.DataFrame:
    records = [example.record for example in examples]
    columns = {"state": state, "seed": seed, "record": records, "prediction": predictions, "label": labels}
    return pd.DataFrame(columns)[list(PREDICTION_COLUMNS)]
