"""Figures 8 and 9: predictions of a task's model with each head, and each layer, disabled; in one pass over the examples."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import Site, self_attention, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_parquet
from attention_atlas.models.card import read_card
from attention_atlas.models.classifying import classes_of, labels_of, logits_under, predicted
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_trained
from attention_atlas.studies.kovaleva2019.names import BASELINE, DISABLED_COLUMNS, MEAN, UNIFORM, ZERO

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DisablingCondition:
    """A condition: the action on a head, layer and head from 1; head 0 is all heads of the layer."""

    action: str
    layer: int
    head: int
    plan: Plan


def disable(
    model_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    limit: int,
    regression: bool,
    actions: Sequence[str],
    threads: int,
    out: str | Path,
) -> None:
    """Write a row for every head, layer and example: `DISABLED_COLUMNS`.

    Args:
        model_entry: registry entry of the fine-tuned model.
        card_path: card of the model that it was trained from.
        example_files: the examples.
        limit: use at most this many records.
        regression: whether labels are scores.
        actions: of `ACTIONS`.
        threads: threads of the forward passes.
        out: Parquet file.

    Raises:
        AtlasError: the model has no classification head, or the examples have no labels.
    """
    torch.set_num_threads(threads)
    pad = read_card(card_path).pad or 0
    examples = list(read_examples(example_files, limit))
    labels = labels_of(examples)
    model = load_trained(model_entry, "labels", pick_device())
    means = mean_outputs(model, examples, pad) if MEAN in actions else []
    conditions = list(disabling_conditions(model, actions, means))
    _log.info("%d examples under %d conditions", len(examples), 1 + len(conditions))
    condition_logits = logits_under(model, examples, [condition.plan for condition in conditions], pad)
    names = [] if regression else classes_of(model, labels)
    records = [example.record for example in examples]
    frames = []
    keys = [(BASELINE, 0, 0), *((condition.action, condition.layer, condition.head) for condition in conditions)]
    for key, logits in zip(keys, condition_logits, strict=True):
        facts = dict(zip(DISABLED_COLUMNS, key, strict=False))
        values = {"record": records, "prediction": predicted(logits, names, regression), "label": labels}
        frames.append(pd.DataFrame({**facts, **values}))
    write_parquet(pd.concat(frames, ignore_index=True), out)


def disabling_conditions(
    model: PreTrainedModel, actions: Sequence[str], means: Sequence[torch.Tensor]
) -> Iterator[DisablingCondition]:
    """Every head and every layer under every action.

    Args:
        model: with the engine installed.
        actions: of `ACTIONS`.
        means: layer by layer the mean outputs [head, size], for the action mean.
    """
    _, layers, heads = self_attention(model)
    for action in actions:
        for layer in range(layers):
            for head in range(heads + 1):
                which = None if head == 0 else head - 1
                if action == UNIFORM:
                    plan = Plan().uniform(layer, which)
                elif action == ZERO:
                    plan = Plan().zero(layer, which)
                else:
                    plan = Plan().constant(layer, means[layer], which)
                yield DisablingCondition(action, layer + 1, head, plan)


@torch.inference_mode()
def mean_outputs(model: PreTrainedModel, examples: Sequence[Example], pad: int) -> list[torch.Tensor]:
    """Layer by layer the mean output of each head over all real tokens, [head, size]."""
    sums: dict[int, torch.Tensor] = {}
    tokens = 0
    for batch in progress(list(batch_by_length(examples)), label="mean outputs"):
        inputs = model_inputs(model, batch, pad)
        real = inputs["attention_mask"].bool()

        def add(site: Site, output: torch.Tensor, real: torch.Tensor = real) -> None:
            token_sum = output[real].double().sum(dim=0)
            sums[site.layer] = sums[site.layer] + token_sum if site.layer in sums else token_sum

        with watch(model, outputs=[add]) as session:
            session.batch(inputs["attention_mask"])
            model(**inputs)
        tokens += int(real.sum())
    return [(sums[layer] / tokens).float() for layer in sorted(sums)]
