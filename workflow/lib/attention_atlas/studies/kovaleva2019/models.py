"""What the models of a task are run for: predictions (Table 1), also with heads disabled (Figures 8 and 9), and measures."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch.nn.functional import cosine_similarity
from transformers import PreTrainedModel

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import Site, self_attention, watch
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
from attention_atlas.studies.kovaleva2019.changes import MEASURED, Measures
from attention_atlas.studies.kovaleva2019.classes import (
    MapNetwork,
    Thresholds,
    as_pictures,
    classify,
    load_network,
    map_numbers,
    rule_labels,
    special_tokens,
    thresholds_of,
)
from attention_atlas.studies.kovaleva2019.names import LINKS
from attention_atlas.studies.kovaleva2019.words import (
    FEATURES,
    MODES,
    Analysis,
    LinkPlan,
    feature_masks,
    gold_analysis,
    link_plan,
    spacy_analyser,
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


def disabled(model: Annotated[PreTrainedModel, load_classifier], card: Card, examples: Examples, task: str) -> pd.DataFrame:
    """Predictions of a task's model with each head, and each layer, disabled, in one pass over the examples (Figures 8 and 9):
    action (uniform, or none for the unchanged model), layer, head (0: the whole layer), record, prediction, label.
    """
    labels, records = labels_of(examples), [example.record for example in examples]
    conditions = disabling_conditions(model)
    _log.info("%d examples under %d conditions", len(examples), 1 + len(conditions))
    condition_logits = logits_under(model, examples, [plan for _, _, plan in conditions], card.pad or 0)
    regression = TASKS[task].regression
    names = [] if regression else classes_of(model, labels)
    frames = []
    for (layer, head, _), values in zip([(0, 0, Plan()), *conditions], condition_logits, strict=True):
        condition = {"action": "uniform" if layer else "none", "layer": layer, "head": head, "record": records}
        frames.append(pd.DataFrame({**condition, "prediction": predicted(values, names, regression), "label": labels}))
    return pd.concat(frames, ignore_index=True)


def disabling_conditions(model: PreTrainedModel) -> list[tuple[int, int, Plan]]:
    """Layer and head from 1 (head 0 is the whole layer), and the plan: uniform attention to all real tokens."""
    _, layers, heads = self_attention(model)
    places = product(range(layers), range(heads + 1))
    return [(layer + 1, head, Plan().uniform(layer, head - 1 if head else None)) for layer, head in places]


def measures(
    base: Annotated[PreTrainedModel, load_encoder],
    tuned: Annotated[PreTrainedModel, load_encoder],
    card: Card,
    examples: Examples,
    network: Annotated[MapNetwork, load_network],
    thresholds: pd.DataFrame,
    padded: Mapping[str, int],
    tagger: str,
    seed: int,
) -> Measures:
    """All measures of Figures 2, 5, 6 and 7 and sections 4.4 and 4.5, in one pass of two models over the examples of a task.

    padded: length and (at most) records of the comparison of padded maps; tagger: spaCy model for examples without gold tags;
    seed: of the control of links.
    """
    if not examples:
        raise AtlasError("there is no example to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    if self_attention(base) != self_attention(tuned):
        raise AtlasError(f"{tuned.config.name_or_path}: this model has another shape than the one it was trained from.")
    analyses, untagged, unlinked = _analyses(examples, tagger)
    short = [e for e in examples if len(e.input_ids) <= padded["length"]][: padded["records"]]
    return Measures(
        **one_pass((base, tuned), examples, card, analyses, network, thresholds_of(thresholds), seed),
        padded=padded_cosine((base, tuned), short, card.pad or 0, padded["length"]),
        padded_records=np.asarray([e.record for e in short], dtype=np.int64),
        untagged=untagged,
        unlinked=unlinked,
    )


def _analyses(examples: Sequence[Example], tagger: str) -> tuple[dict[int, Analysis], str, str]:
    """Record -> the analysis of its words; and why there are no tags, and no heads of words; empty where they exist."""
    gold = {example.record: gold_analysis(example) for example in examples}
    analyses = {record: analysis for record, analysis in gold.items() if analysis is not None}
    untagged = ""
    if len(analyses) < len(examples):
        analyser, untagged = spacy_analyser(tagger)
        if analyser is None:
            _log.warning("nouns, verbs, pronouns, subjects, objects and links are absent: %s", untagged)
            return {}, untagged, untagged
        analyses = {example.record: analyser(example) for example in examples}
    linked = any(token.head is not None for analysis in analyses.values() for token in analysis)
    return analyses, untagged, "" if linked else "the corpus has no heads of words"


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
    arrays["classes"] = np.zeros((2, count, layers, heads), np.int8)
    for batch in progress(list(batch_by_length(examples)), label="examples"):
        inputs = model_inputs(models[0], batch, card.pad or 0)
        marks = _marks(batch, inputs["attention_mask"].shape[1], card, analyses)
        links = link_plan(batch, analyses, seed, models[0].device) if analyses else None
        rows = [places[example.record] for example in batch]
        pictures, numbers = _measure_batch(models, batch, inputs, marks, links, arrays, rows)
        for row, of_example, numbers_of_example in zip(rows, pictures, numbers, strict=True):
            by_network = classify(network, torch.cat(of_example)).argmax(axis=1)
            by_rules = rule_labels(torch.cat(numbers_of_example).numpy(), thresholds)
            arrays["classes"][:, row] = np.stack([by_network, by_rules]).reshape(2, layers, heads)
    return arrays


def _measure_batch(
    models: Models,
    batch: Sequence[Example],
    inputs: Mapping[str, torch.Tensor],
    marks: torch.Tensor,
    links: LinkPlan | None,
    arrays: Mapping[str, npt.NDArray[Any]],
    rows: Sequence[int],
) -> tuple[list[list[torch.Tensor]], list[list[torch.Tensor]]]:
    """Fill the `rows` of the arrays of `one_pass`; of each example the pictures and the numbers of its maps, layer by layer."""
    layers = arrays["cosine"].shape[1]
    real = inputs["attention_mask"].to(torch.float32)
    marks = marks.to(real.device)
    before: dict[int, torch.Tensor] = {}
    pictures: list[list[torch.Tensor]] = [[] for _ in batch]
    numbers: list[list[torch.Tensor]] = [[] for _ in batch]

    def see(number: int, site: Site, probabilities: torch.Tensor) -> None:
        maps = probabilities.float() * real[:, None, :, None]
        mean = maps.sum(2) / real.sum(1)[:, None, None]
        arrays["columns"][number, :, :, :, site.layer][:, rows] = _largest(mean, marks).cpu().numpy()
        if links is not None:
            for name, weights in zip(("links", "link_controls"), links.largest(maps), strict=True):
                for (mode, row, link), of_heads in zip(links.groups, weights.cpu().numpy(), strict=True):
                    arrays[name][number, mode, rows[row], link, site.layer] = of_heads
        if site.layer == layers - 1:
            arrays["first_row"][number][:, rows] = _largest(maps[:, :, 0], marks).cpu().numpy()
        if number == 0:
            before[site.layer] = maps
            return
        arrays["cosine"][rows, site.layer] = cosine_similarity(before[site.layer].flatten(2), maps.flatten(2), -1).cpu().numpy()
        for k, example in enumerate(batch):
            n = len(example.input_ids)
            example_maps = maps[k, :, :n, :n]
            special = special_tokens(example).to(example_maps.device)
            pictures[k].append(as_pictures(example_maps, special).cpu())
            segment = torch.tensor(example.segment_ids, device=example_maps.device)
            numbers[k].append(map_numbers(example_maps, special, segment).cpu())

    _run(models, inputs, see)
    return pictures, numbers


def _run(models: Models, inputs: Mapping[str, torch.Tensor], see: Callable[[int, Site, torch.Tensor], None]) -> None:
    """Run a batch through one model after the other; `see` gets the number of the model, the layer and its probabilities."""
    for number, model in enumerate(models):
        with torch.inference_mode(), watch(model, observers=[partial(see, number)]) as session:
            session.batch(inputs["attention_mask"])
            model(**inputs)


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
        seen: dict[tuple[int, int], torch.Tensor] = {}

        def see(number: int, site: Site, maps: torch.Tensor, seen: dict[tuple[int, int], torch.Tensor] = seen) -> None:
            seen[number, site.layer] = maps.float().flatten(2)

        _run(models, model_inputs(models[0], examples[batch], pad, length), see)
        for layer in range(layers):
            cosines[batch, layer] = cosine_similarity(seen[0, layer], seen[1, layer], -1).cpu().numpy()
    return cosines
