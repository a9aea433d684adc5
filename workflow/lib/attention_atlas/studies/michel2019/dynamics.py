"""Figure 5: the same pruning by importance after several epochs of a model's training."""

from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd
import torch

from attention_atlas.io.tables import write_parquet
from attention_atlas.methods.head_gradients import head_gradients
from attention_atlas.methods.names import ALL, ANSWERS, TRANSLATION
from attention_atlas.methods.pruning import Step, ascending, step_answers, steps
from attention_atlas.models.fine_tuning import kept_epochs, load_epoch
from attention_atlas.studies.michel2019.experiments import ExampleFiles, ModelSource, open_experiment
from attention_atlas.studies.michel2019.names import IMPORTANCE
from attention_atlas.studies.michel2019.pruned_answers import PruningOptions

_log = logging.getLogger(__name__)


def follow_training(
    model: ModelSource,
    epochs_path: str | Path,
    examples: ExampleFiles,
    scored_examples: ExampleFiles,
    options: PruningOptions,
    threads: int,
    out: str | Path,
) -> None:
    """Write the answers at all steps after each stored epoch: epoch, percent, count, and `names.ANSWERS`.

    Args:
        model: the trained translation model.
        epochs_path: its weights after several epochs, see `fine_tuning`.
        examples: examples that the model is evaluated on.
        scored_examples: examples that importance is computed on, again after each epoch.
        options: definition of importance, and the step of pruning.
        threads: threads of the passes.
        out: Parquet file.

    Raises:
        AtlasError: the model does not translate, or its weights cannot be read.
    """
    torch.set_num_threads(threads)
    experiment = open_experiment(TRANSLATION, model.entry, model.card_path, model.tokenizer_path, model.search)
    scored, test_examples = scored_examples.read(), examples.read()
    frames = []
    for epoch in kept_epochs(epochs_path):
        _log.info("after epoch %d", epoch)
        load_epoch(experiment.model, epochs_path, epoch)
        derivatives = head_gradients(experiment, scored)
        places = ascending(options.importance(derivatives))
        counts = steps(len(places), options.step, TRANSLATION)
        pruning_steps = [Step(IMPORTANCE, ALL, 0, percent, tuple(places[:count])) for percent, count in counts]
        answers = step_answers(experiment, derivatives.heads, pruning_steps, test_examples)
        frames.append(answers[["percent", "count", *ANSWERS]].assign(epoch=epoch))
    write_parquet(pd.concat(frames, ignore_index=True)[["epoch", "percent", "count", *ANSWERS]], out)
