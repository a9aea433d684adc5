"""Figure 5: the same pruning by importance after several epochs of a model's training."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from attention_atlas.corpora.examples import read_examples
from attention_atlas.io.tables import write_parquet
from attention_atlas.methods.head_gradients import head_gradients
from attention_atlas.methods.importance import importance
from attention_atlas.methods.names import ALL, ANSWERS, TRANSLATION
from attention_atlas.methods.pruning import Step, ascending, step_answers, steps
from attention_atlas.models.fine_tuning import kept_epochs, load_epoch
from attention_atlas.studies.michel2019.experiments import open_experiment
from attention_atlas.studies.michel2019.names import IMPORTANCE

_log = logging.getLogger(__name__)


def follow_training(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    tokenizer_path: str | Path,
    epochs_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    weighed_files: Sequence[str | Path],
    weighed_limit: int,
    settings: Mapping[str, Any],
    search: Mapping[str, Any],
    threads: int,
    out: str | Path,
) -> None:
    """Write the answers at all steps after each epoch that was kept: epoch, percent, count, and `names.ANSWERS`.

    Args:
        model_entry, card_path, tokenizer_path: the trained translation model.
        epochs_path: its weights after several epochs, see `fine_tuning`.
        example_files, limit: what it is evaluated on.
        weighed_files, weighed_limit: examples that importance is computed on, anew at each epoch.
        settings: definition, scaled, batch, step, see `pruned_answers`.
        search: beams and length_penalty.
        threads: threads of the passes.
        out: Parquet file.

    Raises:
        AtlasError: the model does not translate, or its weights cannot be read.
    """
    torch.set_num_threads(threads)
    experiment = open_experiment(TRANSLATION, model_entry, card_path, tokenizer_path, search)
    weighed, examples = list(read_examples(weighed_files, weighed_limit)), list(read_examples(example_files, limit))
    frames = []
    for epoch in kept_epochs(epochs_path):
        _log.info("after epoch %d", epoch)
        load_epoch(experiment.model, epochs_path, epoch)
        found = head_gradients(experiment, weighed)
        places = ascending(importance(found, settings["definition"], settings["batch"], settings["scaled"]))
        counted = steps(len(places), settings["step"], TRANSLATION)
        made = [Step(IMPORTANCE, ALL, 0, percent, tuple(places[:count])) for percent, count in counted]
        answers = step_answers(experiment, found.heads, made, examples)
        frames.append(answers[["percent", "count", *ANSWERS]].assign(epoch=epoch))
    write_parquet(pd.concat(frames, ignore_index=True)[["epoch", "percent", "count", *ANSWERS]], out)
