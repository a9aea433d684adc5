"""What a model answers with each head masked, and with all others of its layer masked, in one pass over the examples."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from attention_atlas.corpora.examples import read_examples
from attention_atlas.io.tables import write_parquet
from attention_atlas.methods.experiment import Experiment
from attention_atlas.methods.masking import UNMASKED, Mask, masks
from attention_atlas.methods.names import ANSWERS, KEYS, ONE
from attention_atlas.studies.michel2019.experiments import open_experiment

_log = logging.getLogger(__name__)


def mask_heads(
    name: str,
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    tokenizer_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    other_files: Sequence[str | Path],
    other_limit: int,
    search: Mapping[str, Any],
    threads: int,
    out: str | Path,
    other_out: str | Path,
) -> None:
    """Write a row for every mask and example of two corpora: columns `KEYS` and `ANSWERS`.

    Args:
        name: of the experiment.
        model_entry, card_path, tokenizer_path: the model.
        example_files, limit: examples with references or labels, and how many records count.
        other_files, other_limit: those of the second corpus, on which single heads alone are masked (Figure 2).
        search: beams and length_penalty of translations.
        threads: threads of the forward passes.
        out, other_out: Parquet files.

    Raises:
        AtlasError: the model cannot do what it is named for, or an example says not what is expected.
    """
    torch.set_num_threads(threads)
    experiment = open_experiment(name, model_entry, card_path, tokenizer_path, search)
    made = list(masks(experiment.shape))
    write_parquet(_answers(experiment, made, example_files, limit), out)
    write_parquet(_answers(experiment, [mask for mask in made if mask.masked == ONE], other_files, other_limit), other_out)


def _answers(experiment: Experiment, made: Sequence[Mask], files: Sequence[str | Path], limit: int) -> pd.DataFrame:
    examples = list(read_examples(files, limit))
    expected = experiment.expected(examples)
    _log.info("%d examples under %d masks", len(examples), len(made))
    records = [example.record for example in examples]
    found = experiment.answers(examples, [mask.plan for mask in made])
    frames = [
        pd.DataFrame({**dict(zip(KEYS, key, strict=True)), **dict(zip(ANSWERS, (records, own, expected), strict=True))})
        for key, own in zip([UNMASKED, *(mask.key for mask in made)], found, strict=True)
    ]
    return pd.concat(frames, ignore_index=True)
