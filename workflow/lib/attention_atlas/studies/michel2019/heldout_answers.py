"""Answers with one head kept in a layer on the further corpus of Tables 5 and 6."""

from __future__ import annotations

from pathlib import Path

import torch

from attention_atlas.io.tables import write_parquet
from attention_atlas.methods.masking import masks
from attention_atlas.methods.names import OTHERS, TRANSLATION
from attention_atlas.studies.michel2019.effects import best_heads, one_head_left
from attention_atlas.studies.michel2019.experiments import ExampleFiles, ModelSource, open_experiment
from attention_atlas.studies.michel2019.masked_answers import masked_rows


def answer_with_one_head(
    name: str, model: ModelSource, examples: ExampleFiles, masked_path: str | Path, threads: int, out: str | Path
) -> None:
    """Write a row for every mask and example, as `masked_answers` does: all heads of a layer masked but one.

    Args:
        name: of the experiment. For translation (Table 5) the corpus is the one that the table reports, and only the best head
            of each layer on the first corpus is kept; for classification (Table 6) heads are selected on it, and each is kept
            in turn.
        model: the experiment's model.
        examples: of the further corpus.
        masked_path: table of `masked_answers` on the first corpus.
        threads: threads of the forward passes.
        out: Parquet file.

    Raises:
        AtlasError: the model has no head for this task, or an example has no reference or label.
    """
    torch.set_num_threads(threads)
    experiment = open_experiment(name, model.entry, model.card_path, model.tokenizer_path, model.search)
    one_left = [mask for mask in masks(experiment.shape) if mask.masked == OTHERS]
    if name == TRANSLATION:
        best = best_heads(one_head_left(masked_path, name))
        one_left = [mask for mask in one_left if (mask.kind, mask.layer, mask.head) in best]
    write_parquet(masked_rows(experiment, one_left, examples), out)
