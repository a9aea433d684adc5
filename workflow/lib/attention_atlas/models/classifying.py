"""Classification and regression of sentences and pairs: predictions of models with a task head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch

from attention_atlas.attention.batch_sizes import EXTRACTION_TOKENS
from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.plans import Plan
from attention_atlas.attention.prefix import outputs_under
from attention_atlas.corpora.examples import Example
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.models.loading import class_with_head, in_evaluation, initialised

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@torch.inference_mode()
def logits(
    model: PreTrainedModel, examples: Sequence[Example], pad: int, batch_tokens: int = EXTRACTION_TOKENS
) -> torch.Tensor:
    """[example, class] scores of each class in float32, or [example, 1] predicted scores, in the order of the examples."""
    batches = list(batch_by_length(examples, batch_tokens))
    batch_logits = [model(**model_inputs(model, batch, pad)).logits.float().cpu() for batch in batches]
    return torch.cat(batch_logits)[_places(batches, examples)]


def logits_under(
    model: PreTrainedModel,
    examples: Sequence[Example],
    plans: Sequence[Plan],
    pad: int,
    batch_tokens: int = EXTRACTION_TOKENS,
) -> torch.Tensor:
    """[1 + plan, example, class] scores of the unchanged model and under each plan, in the order of the examples.

    Examples of similar length share a batch; each plan starts from the states of the unchanged pass below its first layer.
    """
    batches = list(batch_by_length(examples, batch_tokens))
    scores = torch.zeros(1 + len(plans), len(examples), len(_output_names(model)))
    start = 0
    for batch in progress(batches, label="batches of examples"):
        inputs = model_inputs(model, batch, pad)
        for number, output in enumerate(outputs_under(model, inputs, ((plan, None) for plan in plans))):
            scores[number, start : start + len(batch)] = output.logits.float().cpu()
        start += len(batch)
    return scores[:, _places(batches, examples)]


def _places(batches: Sequence[Sequence[Example]], examples: Sequence[Example]) -> list[int]:
    """For each example, its row in the concatenated batches."""
    rows = {example.record: row for row, example in enumerate(chain.from_iterable(batches))}
    return [rows[example.record] for example in examples]


@torch.inference_mode()
def untrained_logits(
    entry: Mapping[str, Any], examples: Sequence[Example], pad: int, classes: int, seeds: Sequence[int], device: str = "cpu"
) -> torch.Tensor:
    """[seed, example, class] scores of a pre-trained encoder with a random output layer; the encoder runs once.

    Args:
        entry: registry entry of a model without a task head.
        examples: the examples.
        pad: id of the padding token.
        classes: number of outputs of the layer, 1 for a score.
        seeds: seeds of the layer's weights.
        device: device of the model.
    """
    model, _ = initialised(class_with_head("labels"), entry, num_labels=classes)
    model = in_evaluation(model, device).requires_grad_(False)
    classifier = model.classifier
    assert isinstance(classifier, torch.nn.Module)
    layer_inputs: list[torch.Tensor] = []
    hook = classifier.register_forward_hook(lambda _, inputs, __: layer_inputs.append(inputs[0].clone()))
    batches = list(batch_by_length(examples))
    for batch in batches:
        model(**model_inputs(model, batch, pad))
    hook.remove()
    seed_logits = []
    for seed in seeds:
        torch.manual_seed(seed)
        for module in classifier.modules():
            model._init_weights(module)
        seed_logits.append(torch.cat([classifier(part).float().cpu() for part in layer_inputs])[_places(batches, examples)])
    return torch.stack(seed_logits)


def labels_of(examples: Sequence[Example]) -> list[str]:
    """Labels of the examples.

    Raises:
        AtlasError: an example has no label.
    """
    labels = [example.label for example in examples]
    if not examples or None in labels:
        raise AtlasError("there is nothing to evaluate on: the examples have no labels. Use a corpus with reader glue.")
    return [str(label) for label in labels]


def predicted(scores: torch.Tensor, classes: Sequence[str], regression: bool) -> list[str]:
    """Names of the classes with the largest scores [example, class], or the scores themselves."""
    if regression:
        return [f"{value:.6g}" for value in scores[:, 0].tolist()]
    return [classes[k] for k in scores.argmax(dim=1).tolist()]


def classes_of(model: PreTrainedModel, labels: Sequence[str]) -> list[str]:
    """Names of the classes of a model, in the order of its outputs.

    Raises:
        AtlasError: the model does not know one of the labels.
    """
    names = _output_names(model)
    if not set(labels) <= set(names):
        raise AtlasError(
            f"{model.config.name_or_path}: this model knows the labels {', '.join(names)}, but the corpus has "
            f"{', '.join(sorted(set(labels)))}: name a corpus of the model's task."
        )
    return names


def _output_names(model: PreTrainedModel) -> list[str]:
    """Names of the outputs of a model with a classification head, in order."""
    names = model.config.id2label or {}
    return [str(name) for _, name in sorted(names.items(), key=lambda item: int(item[0]))]
