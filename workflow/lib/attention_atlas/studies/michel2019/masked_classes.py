"""What a model of a task of GLUE predicts under every mask, in one pass over the examples."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from attention_atlas.attention.engine import attention_shape
from attention_atlas.corpora.examples import read_examples
from attention_atlas.models.card import read_card
from attention_atlas.models.classifying import classes_of, labels_of, logits_under, predicted
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained
from attention_atlas.studies.michel2019.masks import KEYS, UNMASKED, masks
from attention_atlas.tables import write_parquet

_log = logging.getLogger(__name__)
COLUMNS = (*KEYS, "record", "prediction", "label")


def classify_masked(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    threads: int,
    out: str | Path,
) -> None:
    """Write a row for every mask and example: `COLUMNS`.

    Args:
        model_entry: registry entry of a model fine-tuned on the task.
        card_path: card of the model that it was trained from.
        example_files: the examples, with labels.
        limit: records that count.
        threads: threads of the forward passes.
        out: Parquet file.

    Raises:
        AtlasError: the model has no head for labels, an example has no label, or one that the model does not know.
    """
    torch.set_num_threads(threads)
    examples = list(read_examples(example_files, limit))
    labels = labels_of(examples)
    model = load_trained(model_entry, "labels", pick_device())
    names = classes_of(model, labels)
    made = list(masks(attention_shape(model)))
    _log.info("%d examples under %d masks", len(examples), len(made))
    logits = logits_under(model, examples, [mask.plan for mask in made], read_card(card_path).pad or 0)
    records = [example.record for example in examples]
    frames = [
        pd.DataFrame(
            {
                **dict(zip(KEYS, key, strict=True)),
                "record": records,
                "prediction": predicted(own, names, regression=False),
                "label": labels,
            }
        )
        for key, own in zip([UNMASKED, *(mask.key for mask in made)], logits, strict=True)
    ]
    write_parquet(pd.concat(frames, ignore_index=True), out)
