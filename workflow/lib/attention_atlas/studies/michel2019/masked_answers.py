"""Answers of a model with each head masked, and with all other heads of its layer masked, in one pass over the examples."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import torch

from attention_atlas.io.tables import write_parquet
from attention_atlas.methods.experiment import Experiment
from attention_atlas.methods.masking import UNMASKED, Mask, masks
from attention_atlas.methods.names import ANSWERS, KEYS, ONE
from attention_atlas.studies.michel2019.experiments import ExampleFiles, ModelSource, open_experiment

_log = logging.getLogger(__name__)


def mask_heads(
    name: str,
    model: ModelSource,
    examples: ExampleFiles,
    second_examples: ExampleFiles,
    threads: int,
    out: str | Path,
    second_out: str | Path,
) -> None:
    """Write the answers without a mask and under every mask, for every example of two corpora: columns `KEYS` and `ANSWERS`.

    Args:
        name: of the experiment.
        model: the experiment's model.
        examples: examples with references or labels.
        second_examples: those of the second corpus, on which only single heads are masked (Figure 2).
        threads: threads of the forward passes.
        out, second_out: Parquet files.

    Raises:
        AtlasError: the model has no head for this task, or an example has no reference or label.
    """
    torch.set_num_threads(threads)
    experiment = open_experiment(name, model.entry, model.card_path, model.tokenizer_path, model.search)
    all_masks = list(masks(experiment.shape))
    single_heads = [mask for mask in all_masks if mask.masked == ONE]
    for corpus_masks, files, path in ((all_masks, examples, out), (single_heads, second_examples, second_out)):
        write_parquet(masked_rows(experiment, corpus_masks, files), path)


def masked_rows(experiment: Experiment, masks: Sequence[Mask], files: ExampleFiles) -> pd.DataFrame:
    """Answers of the full model and under each mask, columns `KEYS` and `ANSWERS`."""
    examples = files.read()
    expected = experiment.expected(examples)
    _log.info("%d examples under %d masks", len(examples), len(masks))
    records = [example.record for example in examples]
    answers = experiment.answers(examples, [mask.plan for mask in masks])
    frames = [
        pd.DataFrame({**dict(zip(KEYS, key, strict=True)), **dict(zip(ANSWERS, (records, texts, expected), strict=True))})
        for key, texts in zip([UNMASKED, *(mask.key for mask in masks)], answers, strict=True)
    ]
    return pd.concat(frames, ignore_index=True)
