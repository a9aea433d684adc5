"""Effects of fine-tuning: all measures of Figures 2, 5, 6 and 7 in one pass of two models over the examples of a task."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import save_file

from attention_atlas.attention.batches import batch_by_length, model_inputs
from attention_atlas.attention.engine import Site, self_attention, watch
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import whole_file
from attention_atlas.io.progress import progress
from attention_atlas.models.card import read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import load_model
from attention_atlas.studies.kovaleva2019.map_network import MapNetwork, as_pictures, classify
from attention_atlas.studies.kovaleva2019.measured import MEASURED
from attention_atlas.studies.kovaleva2019.names import LINKS
from attention_atlas.studies.kovaleva2019.patterns import read_patterns
from attention_atlas.studies.kovaleva2019.rule_labels import Thresholds, map_numbers, rule_labels
from attention_atlas.studies.kovaleva2019.word_analysis import Analysis, gold_analysis, has_heads, spacy_analyser
from attention_atlas.studies.kovaleva2019.word_features import FEATURES, MODES, SEP, feature_masks
from attention_atlas.studies.kovaleva2019.word_links import LinkPlan, link_plan

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float32]
_PADDED_BATCH = 8


@dataclass(frozen=True)
class MeasureSettings:
    """Settings of the measures of a task.

    Attributes:
        limit: use at most this many records.
        padded_length, padded_records: length and records of the comparison of padded maps.
        tagger: spaCy model for examples without gold tags.
        seed: of the control of links.
    """

    limit: int
    padded_length: int
    padded_records: int
    tagger: str
    seed: int


def measure(
    base_entry: Mapping[str, Any],
    tuned_entry: Mapping[str, Any],
    card_path: str | Path,
    example_files: Sequence[str | Path],
    settings: MeasureSettings,
    network_path: str | Path,
    thresholds_path: str | Path,
    threads: int,
    out: str | Path,
) -> None:
    """Measure a task and write `Measures`.

    Args:
        base_entry, tuned_entry: registry entries of the pre-trained and of the fine-tuned model.
        card_path: card of the pre-trained model.
        example_files: the examples.
        settings: records, padding and tagger.
        network_path, thresholds_path: of `patterns.train_patterns`.
        threads: threads of the forward passes.
        out: safetensors file.

    Raises:
        AtlasError: a model cannot be loaded, the two have other shapes, or there is no example.
    """
    torch.set_num_threads(threads)
    card, device = read_card(card_path), pick_device()
    examples = list(read_examples(example_files, settings.limit))
    if not examples:
        raise AtlasError("there is no example to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    analyses, untagged, unlinked = _analyses(examples, settings.tagger)
    base, tuned = load_model(base_entry, device), load_model(tuned_entry, device)
    if self_attention(base) != self_attention(tuned):
        raise AtlasError(f"{tuned_entry['source']}: this model has another shape than the one it was trained from.")
    patterns = read_patterns(network_path, thresholds_path)
    short = [e for e in examples if len(e.input_ids) <= settings.padded_length][: settings.padded_records]
    tensors = one_pass(base, tuned, examples, card.pad or 0, card.cls, card.sep, analyses, patterns, settings.seed)
    tensors["padded"] = padded_cosine(base, tuned, short, card.pad or 0, settings.padded_length)
    tensors["padded_records"] = np.asarray([e.record for e in short], dtype=np.int64)
    facts = {"untagged": untagged, "unlinked": unlinked, "features": MEASURED}
    with whole_file(out) as part:
        save_file(tensors, part, metadata={"facts": json.dumps(facts)})


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
    unlinked = "" if has_heads(analyses.values()) else "the corpus has no heads of words"
    return analyses, untagged, unlinked


def one_pass(
    base: PreTrainedModel,
    tuned: PreTrainedModel,
    examples: Sequence[Example],
    pad: int,
    cls: str | None,
    sep: str | None,
    analyses: Mapping[int, Analysis],
    patterns: tuple[MapNetwork, Thresholds, int, str],
    seed: int,
) -> dict[str, npt.NDArray[Any]]:
    """The arrays of `Measures` except the padded ones, examples in their order.

    Args:
        base, tuned: with the engine installed.
        examples: the examples.
        pad: id of the padding token.
        cls, sep: vocabulary entries of the special tokens.
        analyses: record -> its words; empty without tags.
        patterns: network, thresholds, size and scale of its pictures.
        seed: of the control of links.
    """
    _, layers, heads = self_attention(base)
    count, features = len(examples), len(MEASURED)
    places = {example.record: place for place, example in enumerate(examples)}
    arrays: dict[str, npt.NDArray[Any]] = {
        "records": np.asarray([example.record for example in examples], dtype=np.int64),
        "cosine": np.zeros((count, layers, heads), np.float32),
        "columns": np.full((2, len(MODES), count, features, layers, heads), np.nan, np.float32),
        "first_row": np.full((2, len(MODES), count, features, heads), np.nan, np.float32),
        "classes": np.zeros((2, count, layers, heads), np.int8),
        "links": np.full((2, len(MODES), count, len(LINKS), layers, heads), np.nan, np.float32),
        "link_controls": np.full((2, len(MODES), count, len(LINKS), layers, heads), np.nan, np.float32),
    }
    for batch in progress(list(batch_by_length(examples)), label="examples"):
        inputs = model_inputs(base, batch, pad)
        marks = _marks(batch, inputs["attention_mask"].shape[1], cls, sep, analyses)
        links = link_plan(batch, analyses, seed, base.device) if analyses else None
        rows = [places[example.record] for example in batch]
        _measure_batch((base, tuned), batch, inputs, marks, links, patterns, arrays, rows)
    return arrays


def _measure_batch(
    models: Sequence[PreTrainedModel],
    batch: Sequence[Example],
    inputs: Mapping[str, torch.Tensor],
    marks: torch.Tensor,
    links: LinkPlan | None,
    patterns: tuple[MapNetwork, Thresholds, int, str],
    arrays: Mapping[str, npt.NDArray[Any]],
    rows: Sequence[int],
) -> None:
    """Fill the `rows` of the arrays of `one_pass`; `marks` is the output of `_marks`."""
    places = [(mode, rows[row], link) for mode, row, link in links.groups] if links is not None else []
    network, thresholds, size, scale = patterns
    layers, heads = arrays["cosine"].shape[1:]
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
                for place, of_heads in zip(places, weights.cpu().numpy(), strict=True):
                    arrays[name][(number, *place, site.layer)] = of_heads
        if site.layer == layers - 1:
            arrays["first_row"][number][:, rows] = _largest(maps[:, :, 0], marks).cpu().numpy()
        if number == 0:
            before[site.layer] = maps
            return
        arrays["cosine"][rows, site.layer] = _cosine(before[site.layer], maps).cpu().numpy()
        for k, example in enumerate(batch):
            n = len(example.input_ids)
            example_maps = maps[k, :, :n, :n]
            special = torch.tensor([word == SPECIAL for word in example.word], device=example_maps.device)
            pictures[k].append(as_pictures(example_maps, special, size, scale).cpu())
            segment = torch.tensor(example.segment_ids, device=example_maps.device)
            numbers[k].append(map_numbers(example_maps, special, segment).cpu())

    _run(models, inputs, see)
    for k, row in enumerate(rows):
        by_network = classify(network, torch.cat(pictures[k])).argmax(axis=1)
        by_rules = rule_labels(torch.cat(numbers[k]).numpy(), thresholds)
        arrays["classes"][:, row] = np.stack([by_network, by_rules]).reshape(2, layers, heads)


def _run(
    models: Sequence[PreTrainedModel], inputs: Mapping[str, torch.Tensor], see: Callable[[int, Site, torch.Tensor], None]
) -> None:
    """Run a batch through one model after the other; `see` gets the number of the model, the layer and its probabilities."""
    for number, model in enumerate(models):
        with torch.inference_mode(), watch(model, observers=[partial(see, number)]) as session:
            session.batch(inputs["attention_mask"])
            model(**inputs)


def _marks(
    batch: Sequence[Example], length: int, cls: str | None, sep: str | None, analyses: Mapping[int, Analysis]
) -> torch.Tensor:
    """[mode, example, feature, n] which tokens have a feature."""
    marks = torch.zeros((len(MODES), len(batch), len(FEATURES), length), dtype=torch.bool)
    for number, mode in enumerate(MODES):
        for row, example in enumerate(batch):
            for name, mask in feature_masks(example, cls, sep, analyses.get(example.record), mode).items():
                marks[number, row, FEATURES.index(name), : len(mask)] = torch.from_numpy(mask)
    return marks


def _largest(weights: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """[mode, example, measure, head] of weights [example, head, n]: the largest over the marked tokens, NaN without any."""
    marked = marks[:, :, :, None, :]
    largest = weights[None, :, None].masked_fill(~marked, -1).amax(-1)
    largest = torch.where(marked.any(-1), largest, torch.nan)
    separators = marked[:, :, FEATURES.index(SEP)]
    total = (weights[None] * separators).sum(-1)
    total = torch.where(separators.any(-1), total, torch.nan)
    return torch.cat([largest, total[:, :, None]], dim=2)


def _cosine(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """[example, head] cosine between maps [example, head, n, n] as vectors."""
    return torch.nn.functional.cosine_similarity(first.flatten(2), second.flatten(2), dim=-1)


def padded_cosine(base: PreTrainedModel, tuned: PreTrainedModel, examples: Sequence[Example], pad: int, length: int) -> Floats:
    """[example, layer, head] cosine of maps padded to one length, rows of padding included, as in the published code.

    Padding is never attended to, but attends: for a short example most of what is compared is the attention of [PAD].
    """
    _, layers, heads = self_attention(base)
    cosines = np.zeros((len(examples), layers, heads), np.float32)
    for start in progress(range(0, len(examples), _PADDED_BATCH), label="padded examples"):
        batch = examples[start : start + _PADDED_BATCH]
        _compare_batch((base, tuned), model_inputs(base, batch, pad, length), cosines[start : start + len(batch)])
    return cosines


def _compare_batch(models: Sequence[PreTrainedModel], inputs: Mapping[str, torch.Tensor], cosines: Floats) -> None:
    """Fill [example, layer, head] with the cosine of whole maps."""
    before: dict[int, torch.Tensor] = {}

    def see(number: int, site: Site, probabilities: torch.Tensor) -> None:
        if number == 0:
            before[site.layer] = probabilities.float()
        else:
            cosines[:, site.layer] = _cosine(before[site.layer], probabilities.float()).cpu().numpy()

    _run(models, inputs, see)
