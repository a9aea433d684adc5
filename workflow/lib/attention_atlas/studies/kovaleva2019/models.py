"""What the models of a task are run for: predictions (Table 1), also with heads disabled (Figures 8 and 9), and measures."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch.nn.functional import cosine_similarity
from transformers import PreTrainedModel

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import self_attention, watch
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.glue import TASKS
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.models.card import Card, ModelCard
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_encoder
from attention_atlas.models.task_heads import (
    classes_of,
    labels_of,
    load_classifier,
    logits,
    logits_under,
    predicted,
    untrained_logits,
)
from attention_atlas.studies.kovaleva2019 import ANNOTATORS, FEATURES, LINKS, MODES
from attention_atlas.studies.kovaleva2019.changes import MEASURED, Measures
from attention_atlas.studies.kovaleva2019.patterns import MapNetwork, Thresholds, annotated, load_network, thresholds_of
from attention_atlas.studies.kovaleva2019.words import (
    Analysis,
    analyses_of,
    control_weights,
    feature_masks,
    largest_weights,
    piece_pairs,
)

_log = logging.getLogger(__name__)
Models = tuple[PreTrainedModel, PreTrainedModel]
"""The pre-trained and the fine-tuned model."""
_PADDED_BATCH = 8


def load_tuned(entries: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> Iterator[tuple[str, int, PreTrainedModel]]:
    """State, seed and model from state -> seed -> registry entry; one model at a time is in memory."""
    for state, by_seed in entries.items():
        for seed, entry in by_seed.items():
            yield state, seed, load_classifier(entry)


def predictions(
    base: Mapping[str, Any],
    tuned: Annotated[Iterator[tuple[str, int, PreTrainedModel]], load_tuned],
    card: Card,
    examples: Examples,
    task: str,
    classifier_seeds: int,
) -> pd.DataFrame:
    """state, seed, record, prediction, label: of every model of a task and example, as names of classes, or numbers (Table 1).

    base: registry entry of the pre-trained model, which gets `classifier_seeds` random classification layers.
    """
    pad, regression, labels = card.pad or 0, TASKS[task].regression, labels_of(examples)
    classes = sorted(set(labels))
    seeds = range(classifier_seeds)
    untrained = untrained_logits(base, examples, pad, 1 if regression else len(classes), seeds, pick_device())
    predicted_by = {("untrained", seed): predicted(untrained[seed], classes, regression) for seed in seeds}
    for state, seed, model in tuned:
        names = [] if regression else classes_of(model, labels)
        predicted_by[state, seed] = predicted(logits(model, examples, pad), names, regression)
        _log.info("%s, seed %d: predicted", state, seed)
    records = [example.record for example in examples]
    frames = [
        pd.DataFrame({"state": state, "seed": seed, "record": records, "prediction": values, "label": labels})
        for (state, seed), values in predicted_by.items()
    ]
    return pd.concat(frames, ignore_index=True)


def measures(
    base: Annotated[PreTrainedModel, load_encoder],
    tuned: Annotated[PreTrainedModel, load_classifier],
    card: Card,
    examples: Examples,
    network: Annotated[MapNetwork, load_network],
    thresholds: pd.DataFrame,
    padded: Mapping[str, int],
    measured_records: int,
    ablated_records: int,
    tagger: str,
    task: str,
    seed: int,
) -> dict[str, Any]:
    """Measures of Figures 2, 5, 6 and 7 and sections 4.4 and 4.5, in one pass of two models over the examples of a task; and
    its predictions with heads disabled. padded: length and (at most) records of the comparison of padded maps.
    """
    measured = [example for example in examples if example.record < measured_records]
    if not measured:
        raise AtlasError("there is no example to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    encoder = tuned.base_model
    assert isinstance(encoder, PreTrainedModel)
    if self_attention(base) != self_attention(encoder):
        raise AtlasError(f"{tuned.config.name_or_path}: this model has another shape than the one it was trained from.")
    analyses = analyses_of(measured, tagger)
    short = [e for e in measured if len(e.input_ids) <= padded["length"]][: padded["records"]]
    arrays = Measures(
        **one_pass((base, encoder), measured, card, analyses, network, thresholds_of(thresholds), seed),
        padded=padded_cosine((base, encoder), short, card.pad or 0, padded["length"]),
        padded_records=np.asarray([e.record for e in short], dtype=np.int64),
    )
    return {"measures": arrays, "disabled": disabled(tuned, card, [e for e in examples if e.record < ablated_records], task)}


def disabled(model: PreTrainedModel, card: ModelCard, examples: Sequence[Example], task: str) -> pd.DataFrame:
    """Predictions of a task's model, unchanged and with each head and each layer disabled, in one pass over the examples
    (Figures 8 and 9): record, label, unchanged, and a column for each layer-head from 1 (head 0: the whole layer).
    """
    labels, conditions = labels_of(examples), disabling_conditions(model)
    _log.info("%d examples under %d conditions", len(examples), 1 + len(conditions))
    condition_logits = logits_under(model, examples, list(conditions.values()), card.pad or 0)
    regression = TASKS[task].regression
    names = [] if regression else classes_of(model, labels)
    predictions = [predicted(values, names, regression) for values in condition_logits]
    columns = dict(zip(["unchanged", *conditions], predictions, strict=True))
    return pd.DataFrame({"record": [example.record for example in examples], "label": labels, **columns})


def disabling_conditions(model: PreTrainedModel) -> dict[str, Plan]:
    """Layer-head from 1 (head 0 is the whole layer) -> the plan: uniform attention to all real tokens."""
    _, layers, heads = self_attention(model)
    places = product(range(layers), range(heads + 1))
    return {f"{layer + 1}-{head}": Plan().uniform(layer, head - 1 if head else None) for layer, head in places}


def one_pass(
    models: Models,
    examples: Sequence[Example],
    card: ModelCard,
    analyses: Mapping[int, Analysis],
    network: MapNetwork,
    thresholds: Thresholds,
    seed: int,
) -> dict[str, npt.NDArray[Any]]:
    """The arrays of `Measures` except the padded ones; `analyses`: record -> its words, empty without tags."""
    _, layers, heads = self_attention(models[0])
    count, features = len(examples), len(MEASURED)
    places = {example.record: place for place, example in enumerate(examples)}
    shapes = {
        "columns": (2, len(MODES), count, features, layers, heads),
        "first_row": (2, len(MODES), count, features, heads),
        "links": (2, len(MODES), count, len(LINKS), layers, heads),
        "link_controls": (2, len(MODES), count, len(LINKS), layers, heads),
    }
    arrays: dict[str, npt.NDArray[Any]] = {name: np.full(shape, np.nan, np.float32) for name, shape in shapes.items()}
    arrays["records"] = np.asarray([example.record for example in examples], dtype=np.int64)
    arrays["cosine"] = np.zeros((count, layers, heads), np.float32)
    arrays["classes"] = np.zeros((len(ANNOTATORS), count, layers, heads), np.int8)
    for batch in progress(list(batch_by_length(examples)), label="examples"):
        inputs = model_inputs(models[0], batch, card.pad or 0)
        rows, real = [places[example.record] for example in batch], inputs["attention_mask"].to(torch.float32)
        marks = _marks(batch, real.shape[1], card, analyses).to(real.device)
        maps = [_attention(model, inputs) * real[:, None, :, None] for model in models]
        for number, of_model in enumerate(maps):
            for layer, of_layer in enumerate(of_model):
                means = of_layer.sum(2) / real.sum(1)[:, None, None]
                arrays["columns"][number, :, :, :, layer][:, rows] = _largest(means, marks).cpu().numpy()
            arrays["first_row"][number][:, rows] = _largest(of_model[-1, :, :, 0], marks).cpu().numpy()
        cosines = cosine_similarity(maps[0].flatten(3), maps[1].flatten(3), -1)
        arrays["cosine"][rows] = cosines.transpose(0, 1).cpu().numpy()
        for k, (row, example) in enumerate(zip(rows, batch, strict=True)):
            n = len(example.input_ids)
            probabilities, by_rules = annotated(maps[1][:, k, :, :n, :n].flatten(0, 1), example, network, thresholds)
            by_annotator = np.stack([probabilities.argmax(axis=1), by_rules])
            arrays["classes"][:, row] = by_annotator.reshape(-1, layers, heads)
            if example.record in analyses:
                of_example = [of_model[:, k].cpu().numpy() for of_model in maps]
                _measure_links(of_example, example, analyses[example.record], arrays, row, seed)
    return arrays


def _measure_links(
    maps: Sequence[npt.NDArray[np.float32]],
    example: Example,
    analysis: Analysis,
    arrays: Mapping[str, npt.NDArray[Any]],
    row: int,
    seed: int,
) -> None:
    """Fill the row of an example, of maps [layer, head, n, n] of each model."""
    for (mode, mode_name), (link, name) in product(enumerate(MODES), enumerate(LINKS)):
        pairs = piece_pairs(example, analysis, name, mode_name)
        linked = {*pairs, *piece_pairs(example, analysis, name, "corrected")}
        for number, of_model in enumerate(maps if pairs else ()):
            place, generator = (number, mode, row, link), np.random.default_rng([seed, example.record, mode, link])
            arrays["links"][place] = largest_weights(of_model, pairs)
            arrays["link_controls"][place] = control_weights(of_model, pairs, linked, example, generator)


def _attention(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """[layer, example, head, n, n] weights of a batch."""
    layers: list[torch.Tensor] = []
    with torch.inference_mode(), watch(model, observers=[lambda _, weights: layers.append(weights.float())]) as session:
        session.batch(inputs["attention_mask"])
        model(**inputs)
    return torch.stack(layers)


def _marks(batch: Sequence[Example], length: int, card: ModelCard, analyses: Mapping[int, Analysis]) -> torch.Tensor:
    """[mode, example, feature, n] which tokens have a feature."""
    marks = torch.zeros((len(MODES), len(batch), len(FEATURES), length), dtype=torch.bool)
    for (number, mode), (row, example) in product(enumerate(MODES), enumerate(batch)):
        for name, mask in feature_masks(example, card.cls, card.sep, analyses.get(example.record), mode).items():
            marks[number, row, FEATURES.index(name), : len(mask)] = torch.from_numpy(mask)
    return marks


def _largest(weights: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """[mode, example, measure, head] of weights [example, head, n]: the largest over the marked tokens, NaN without any."""
    marked = marks[:, :, :, None, :]
    largest = weights[None, :, None].masked_fill(~marked, -1).amax(-1)
    largest = torch.where(marked.any(-1), largest, torch.nan)
    separators = marked[:, :, FEATURES.index("sep")]
    total = (weights[None] * separators).sum(-1)
    total = torch.where(separators.any(-1), total, torch.nan)
    return torch.cat([largest, total[:, :, None]], dim=2)


def padded_cosine(models: Models, examples: Sequence[Example], pad: int, length: int) -> npt.NDArray[np.float32]:
    """[example, layer, head] cosine of maps padded to one length, rows of padding included, as in the published code.

    Padding is never attended to, but attends: for a short example most of what is compared is the attention of [PAD].
    """
    _, layers, heads = self_attention(models[0])
    cosines = np.zeros((len(examples), layers, heads), np.float32)
    for start in progress(range(0, len(examples), _PADDED_BATCH), label="padded examples"):
        batch = slice(start, start + _PADDED_BATCH)
        inputs = model_inputs(models[0], examples[batch], pad, length)
        before, after = (_attention(model, inputs).flatten(3) for model in models)
        cosines[batch] = cosine_similarity(before, after, -1).transpose(0, 1).cpu().numpy()
    return cosines
