"""All probes of a task on one model: trained on hidden states, with their answers, mixing weights and traced targets."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from transformers import PreTrainedModel

from attention_atlas.corpora.examples import Corpus, Example, read_corpus
from attention_atlas.errors import AtlasError
from attention_atlas.io.files import scratch_folder
from attention_atlas.methods.head_tables import Units, independent_units
from attention_atlas.models.card import Card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.extraction import Half, HiddenStates
from attention_atlas.models.loading import load_encoder
from attention_atlas.studies.tenney2019.probes import EdgeProbes, ProbeKey, States, answers, count_answers, train_probes
from attention_atlas.studies.tenney2019.targets import (
    AMBIGUOUS,
    ANSWERS,
    CASES,
    CONSTANT,
    CONTROL_TASK,
    COUNTS,
    EARLY,
    EMBEDDINGS,
    LEXICAL,
    SHUFFLED_LABELS,
    Ints,
    ProbedSentence,
    Recipe,
    TaskTargets,
    constant_answer,
    f1_of,
    piece_spans,
    probed_cases,
    recipe_of,
    task_targets,
)

_TRACED_TASKS = ("pos", "constituents", "entities", "roles", "coreference")  # those of Figure 3


@dataclass(frozen=True)
class Plan:
    seeds: Sequence[int]  # of each kind of probe
    layer0: Sequence[str]  # `embeddings`, `lexical` or both
    whole: bool  # probe every layer; otherwise only layer 0 and the last layer (a control model)
    controls: bool  # with equal steps, on a control task, and, for the first seed, on shuffled labels

    def keys(self, layers: int, seed: int) -> list[ProbeKey]:
        tops = range(layers + 1) if self.whole else (0, layers)
        keys = [ProbeKey(top, seed, name == LEXICAL) for name in self.layer0 for top in tops]
        if self.controls:
            keys.append(ProbeKey(layers, seed, equal=True))
            keys += [ProbeKey(top, seed, labels=CONTROL_TASK) for top in (0, layers)]
            if seed == self.seeds[0]:
                keys.append(ProbeKey(layers, seed, labels=SHUFFLED_LABELS))
        return keys


def probes(
    task: str,
    model: Annotated[PreTrainedModel, load_encoder],
    card: Card,
    corpora: Mapping[str, Annotated[Corpus, read_corpus]],
    task_settings: Mapping[str, Any],
    training: Mapping[str, Any],
    seeds: Sequence[int],
    layer0: Sequence[str],
    max_targets: int | None,
    max_traced_sentences: int,
    study_model: str,
    random_model: str | None,
    folder: str,
) -> dict[str, pd.DataFrame]:
    """Train and evaluate the probes of a task on a model.

    `folder` holds hidden states of the targets meanwhile: up to 135 GB for BERT-large. corpora: training and development; and
    cases, whose targets are always traced through the layers. The model `study_model` has controls (and the table `constant`);
    of `random_model`, only layer 0 and the last are probed.
    """
    plan = Plan(seeds, layer0, whole=True, controls=card.name == study_model)
    if card.name == random_model:
        plan = Plan(seeds, [EMBEDDINGS], whole=False, controls=False)
    evaluated = corpora["development"].examples
    targets = task_targets(task, corpora["training"].examples, evaluated, max_targets, seed=min(seeds))
    traced = {}
    if plan.whole and task in _TRACED_TASKS:
        first = set(list(dict.fromkeys(s.example.record for s in targets.development))[:max_traced_sentences])
        traced["development"] = [s for s in targets.development if s.example.record in first]
        traced["cases"] = probed_cases(targets, corpora["cases"].examples) if "cases" in corpora else []
    pieces_of = functools.partial(pieces_of_targets, task=task)
    with scratch_folder(folder) as scratch:
        states = {
            part: HiddenStates(model, corpora[part], pieces_of, card.pad or 0, scratch / part)
            for part in ("training", "development", *(["cases"] if traced.get("cases") else []))
        }
        tables = probe_tables(targets, states, traced, plan, recipe_of(training, task_settings))
    units = _units(targets).of_item
    return tables | {"constant": constant_answer(task, evaluated, units) if plan.controls else pd.DataFrame(columns=CONSTANT)}


def pieces_of_targets(example: Example, task: str) -> list[int]:
    """Word pieces in the spans of an example's targets of a task, each once and in order."""
    spans = {span for target in example.edges or () if target.task == task for span in (target.span1, target.span2) if span}
    # A span outside of the words is reported where its target is read.
    of_words = piece_spans(example) if spans else []
    return sorted({piece for start, stop in spans for words in of_words[start:stop] for piece in range(*words)})


def probe_tables(
    targets: TaskTargets,
    states: Mapping[str, HiddenStates],
    traced: Mapping[str, Sequence[ProbedSentence]],
    plan: Plan,
    recipe: Recipe,
) -> dict[str, pd.DataFrame]:
    """Tables of the probes of a task: scores, weights (layer 0 of lexical probes is the words alone), counts (`COUNTS`) and
    cases (`CASES`). traced: development and cases -> sentences whose targets are traced.
    """
    device, layers = pick_device(), states["training"].layers
    if LEXICAL in plan.layer0 and not states["training"].lexical:
        raise AtlasError("layer0: lexical needs a model with embeddings like BERT's; remove it from layer0.")
    parts = {"training": targets.training, "development": targets.development, "cases": traced.get("cases", ())}
    states_of = {id(sentence.example): states[name] for name, part in parts.items() for sentence in part}

    def states_of_example(example: Example) -> Half:
        return states_of[id(example)][example]

    scored = torch.from_numpy(targets.scored).to(device)
    tables: list[dict[str, pd.DataFrame]] = []
    by_source: dict[str, list[Any]] = {source: [] for source, sentences in traced.items() if sentences}
    for seed in plan.seeds:
        trained, steps = train_probes(targets, states_of_example, plan.keys(layers, seed), recipe, device)
        counts = count_answers(trained, targets.development, states_of_example, scored, recipe.batch, device)
        tables.append(_tables_of_seed(targets, trained, steps, counts, layers))
        for source, traces in by_source.items():
            traces.append(_traces(traced[source], trained, states_of_example, recipe.batch, device))
    cases = [
        {"source": source, "task": targets.task, **row}
        for source, traces in by_source.items()
        for row in traced_cases(traces[0][0], targets.labels, [by_seed for _, by_seed in traces], source == "cases")
    ]
    frames = {name: pd.concat([of_seed[name] for of_seed in tables], ignore_index=True) for name in tables[0]}
    return {**frames, "cases": pd.DataFrame(cases, columns=CASES)}


def _units(targets: TaskTargets) -> Units:
    """Units that intervals resample: documents of the evaluated sentences, or the sentences; in the order of the sentences."""
    return independent_units({s.example.record: s.example.document for s in targets.development}.values(), "sentences")


def _tables_of_seed(
    targets: TaskTargets, trained: EdgeProbes, steps: Ints, counts: Ints, layers: int
) -> dict[str, pd.DataFrame]:
    units, keys = _units(targets), trained.keys
    training, evaluated = (sum(len(s.targets) for s in part) for part in (targets.training, targets.development))
    sizes = {"labels": len(targets.labels), "training_targets": training, "targets": evaluated}
    scores = pd.DataFrame([{"task": targets.task, **key.columns} for key in keys])
    scores = scores.assign(f1=f1_of(counts.sum(axis=1)), **sizes, steps=steps, unit=units.name, units=units.count)
    mixing, scales = (tensor.detach().cpu().double().numpy() for tensor in (trained.weights, trained.scale))
    records = [sentence.example.record for sentence in targets.development]
    weights, frames = [], []
    for key, of_rows, scale, probe_counts in zip(keys, mixing, scales, counts, strict=True):
        columns = {"task": targets.task, **key.columns}
        by_layer = [of_rows[-1 if key.lexical else 0], *of_rows[1 : layers + 1]]
        weights += [{**columns, "layer": layer, "weight": weight, "scale": scale} for layer, weight in enumerate(by_layer)]
        # The predicates of one sentence are not independent.
        by_record = pd.DataFrame(probe_counts, columns=ANSWERS).groupby(records, sort=False).sum()
        by_record = by_record.rename_axis("record").reset_index().assign(unit_number=units.of_item)
        frames.append(by_record.assign(**columns)[COUNTS])
    return {"scores": scores, "weights": pd.DataFrame(weights), "counts": pd.concat(frames)}


def _traces(
    traced: Sequence[ProbedSentence], trained: EdgeProbes, states: States, batch: int, device: str
) -> tuple[list[dict[str, Any]], npt.NDArray[np.float32]]:
    """The targets of some sentences, and probabilities [top, target, label] of their labels by the probes of a seed."""
    chosen = [k for k, key in enumerate(trained.keys) if key.columns["condition"] == EARLY and not key.lexical]
    rows: list[dict[str, Any]] = []
    probabilities = []
    numbers: Counter[int] = Counter()
    for sentences, logits, _ in answers(trained, traced, states, batch, device):
        probabilities.append(logits[chosen].sigmoid().float().cpu().numpy())
        for sentence in sentences:
            example = sentence.example
            for target, gold in zip(sentence.targets, sentence.truth, strict=True):
                # Targets are numbered among all of the example, since a record may have only some of them.
                row = {"id": example.id, "record": example.record, "target": numbers[example.record], "gold": gold}
                for name, span in (("span1", target.span1), ("span2", target.span2), ("words", (0, len(example.words)))):
                    row[name] = " ".join(example.words[slice(*span)]) if span else ""
                rows.append(row)
                numbers[example.record] += 1
    return rows, np.concatenate(probabilities, axis=1)


def traced_cases(
    targets: Sequence[Mapping[str, Any]], labels: Sequence[str], by_seed: Sequence[npt.NDArray[np.float32]], unambiguous: bool
) -> Iterator[dict[str, Any]]:
    """The gold label and the likeliest wrong one of each traced target by layer; by_seed: probabilities [top, target, label];
    unambiguous: whether targets with a likely label are traced as well.
    """
    normalised = sum(of_seed / of_seed.sum(axis=-1, keepdims=True) for of_seed in by_seed) / len(by_seed)
    likely = np.asarray(sum(by_seed) / len(by_seed)).mean(axis=0)  # [target, label]
    for number, target in enumerate(targets):
        right = target["gold"]
        if not right.any() or right.all() or not (unambiguous or likely[number].max() <= AMBIGUOUS):
            continue
        gold = int(np.argmax(np.where(right, likely[number], -1)))
        wrong = int(np.argmax(np.where(right, -1, likely[number])))
        for label, is_gold in ((gold, 1), (wrong, 0)):
            for top, probability in enumerate(normalised[:, number, label]):
                yield {**target, "top": top, "label": labels[label], "gold": is_gold, "probability": float(probability)}
