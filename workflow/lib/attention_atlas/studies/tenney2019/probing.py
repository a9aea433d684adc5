"""All probes of a task on one model: trained on cached hidden states, with their counts and mixing weights."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from attention_atlas.corpora.examples import read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import write_parquet, write_table
from attention_atlas.methods.units import Units, independent_units
from attention_atlas.models.devices import pick_device
from attention_atlas.models.hidden_states import HiddenStates
from attention_atlas.studies.tenney2019.device_memory import free_bytes, training_bytes
from attention_atlas.studies.tenney2019.names import (
    CONTROL_TASK,
    EARLY,
    EMBEDDINGS,
    EQUAL,
    LEXICAL,
    SHUFFLED_LABELS,
    TRACED_TASKS,
    TRUTH,
)
from attention_atlas.studies.tenney2019.probes import ProbeKey
from attention_atlas.studies.tenney2019.recipe import Recipe
from attention_atlas.studies.tenney2019.scores import CASES, COUNTS, SCORES, TRACES, WEIGHTS, f1_of
from attention_atlas.studies.tenney2019.state_bank import StateBank
from attention_atlas.studies.tenney2019.targets import ProbedSentence, TaskTargets, probed_cases, span_words, task_targets
from attention_atlas.studies.tenney2019.traces import traced_cases
from attention_atlas.studies.tenney2019.training import States, Trained, answers, count_answers, train_probes

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ProbedCorpus:
    """Examples of a corpus, shards of their hidden states, and the largest number of records to use."""

    examples: Sequence[str | Path]
    states: Sequence[str | Path]
    limit: int


@dataclass(frozen=True)
class Plan:
    """The probes to train.

    Attributes:
        seeds: of each kind.
        layer0: `embeddings`, `lexical` or both.
        whole: probe every layer; otherwise only layer 0 and the last layer (a control model).
        controls: with equal steps, on a control task, and, for the first seed, on shuffled labels.
        max_targets: largest number of targets of a training sentence; None takes all.
        max_traced_sentences: number of development sentences that are searched for ambiguous targets.
    """

    seeds: Sequence[int]
    layer0: Sequence[str]
    whole: bool
    controls: bool
    max_targets: int | None
    max_traced_sentences: int

    def keys(self, layers: int, seed: int) -> list[ProbeKey]:
        """The probes of a seed for a model with `layers` layers."""
        tops = range(layers + 1) if self.whole else (0, layers)
        keys = [ProbeKey(top, seed, name == LEXICAL) for name in self.layer0 for top in tops]
        if self.controls:
            keys.append(ProbeKey(layers, seed, equal=True))
            keys += [ProbeKey(top, seed, labels=CONTROL_TASK) for top in (0, layers)]
            if seed == self.seeds[0]:
                keys.append(ProbeKey(layers, seed, labels=SHUFFLED_LABELS))
        return keys


@dataclass(frozen=True)
class ProbedTask:
    """Corpora that the probes of a task are trained and evaluated on, and the recipe of the training.

    Attributes:
        cases: sentences whose targets are always traced through the layers, ambiguous or not.
    """

    training: ProbedCorpus
    development: ProbedCorpus
    cases: ProbedCorpus | None
    recipe: Recipe


@dataclass(frozen=True)
class Outputs:
    """Files of a task: see the columns in `scores`."""

    scores: str | Path
    weights: str | Path
    counts: str | Path
    cases: str | Path


def probe_task(task: str, probed: ProbedTask, plan: Plan, out: Outputs, threads: int = 1) -> None:
    """Train and evaluate the probes of a task, and write their tables.

    Args:
        task: name.
        probed: corpora and recipe of its probes.
        plan: the probes to train.
        out: files to write.
        threads: of the arithmetic.

    Raises:
        AtlasError: no targets, misaligned spans, or a cache that cannot be used.
    """
    torch.set_num_threads(threads)
    device = pick_device()
    training, development = probed.training, probed.development
    targets = task_targets(task, _examples(training), _examples(development), plan.max_targets, seed=min(plan.seeds))
    _log.info(
        "%s: %d labels, %d sentences to train on, %d to evaluate on",
        task, len(targets.labels), len(targets.training), len(targets.development),
    )  # fmt: skip
    with contextlib.ExitStack() as stack:
        caches = [HiddenStates(part.states, part.limit) for part in (training, development)]
        for cache in caches:
            stack.callback(cache.close)
        states: States = _states_of_both(targets, caches)
        lexical = caches[0].lexical
        if LEXICAL in plan.layer0 and not lexical:
            raise AtlasError("layer0: lexical needs a model with embeddings like BERT's; remove it from layer0.")
        traced = []
        if plan.whole and task in TRACED_TASKS:
            traced = list(_traced(targets, plan, probed.cases, stack))
        if device != "cpu":
            states = _bank(targets, caches, plan, probed.recipe, device)
        units = _units(targets)
        tables: dict[str, list[pd.DataFrame]] = {"scores": [], "weights": [], "counts": []}
        for seed in plan.seeds:
            keys = plan.keys(caches[0].layers, seed)
            trained = train_probes(targets, states, keys, probed.recipe, device)
            scored = torch.from_numpy(targets.scored).to(device)
            counts = count_answers(trained.probes, targets.development, states, scored, probed.recipe.batch, device)
            tables["scores"].append(_scores(targets, trained, counts, units))
            tables["weights"].append(_weights(task, trained, caches[0].layers))
            tables["counts"].append(_counts(targets, trained, counts, units))
            for group in traced:
                group.add(targets, trained, states, probed.recipe.batch, device)
            _log.info(
                "%s, seed %d: F1 %.1f to %.1f", task, seed, *f1_of(counts.sum(1))[[0, caches[0].layers if plan.whole else 1]]
            )
    write_table(pd.concat(tables["scores"])[SCORES], out.scores)
    write_table(pd.concat(tables["weights"])[WEIGHTS], out.weights)
    write_parquet(pd.concat(tables["counts"])[COUNTS], out.counts)
    rows = [row for group in traced for row in traced_cases(group.frames)]
    write_table(pd.DataFrame(rows, columns=CASES), out.cases)


def _examples(corpus: ProbedCorpus) -> Iterable[Any]:
    return read_examples(corpus.examples, corpus.limit)


def _cache_of(targets: TaskTargets, caches: Sequence[HiddenStates]) -> dict[int, HiddenStates]:
    """`id` of an example of the training or development corpus, in this order -> stored states of its corpus."""
    return {
        id(sentence.example): cache
        for part, cache in zip((targets.training, targets.development), caches, strict=True)
        for sentence in part
    }


def _states_of_both(targets: TaskTargets, caches: Sequence[HiddenStates]) -> States:
    """Hidden states of an example of the training or development corpus."""
    cache_of = _cache_of(targets, caches)

    def states(example: Any) -> npt.NDArray[np.float16]:
        return cache_of[id(example)][example]

    return states


def _bank(targets: TaskTargets, caches: Sequence[HiddenStates], plan: Plan, recipe: Recipe, device: str) -> StateBank:
    """The states of both corpora in the memory that training leaves free on a GPU; those of training are placed first."""
    probes = max(len(plan.keys(caches[0].layers, seed)) for seed in plan.seeds)
    examples = [sentence.example for part in (targets.training, targets.development) for sentence in part]
    rows, _, width = caches[0][examples[0]].shape
    left = free_bytes() - training_bytes(targets, recipe, plan.seeds, probes, rows, width)
    bank = StateBank(_cache_of(targets, caches), examples, device, max(left, 0.0))
    _log.info(
        "%s: hidden states of %d of %d sentences are on the GPU (%.3g GB)",
        targets.task, bank.placed, bank.examples, bank.bytes / 1e9,
    )  # fmt: skip
    return bank


def condition_of(key: ProbeKey) -> str:
    """How a probe was trained."""
    if key.labels != TRUTH:
        return key.labels
    return EQUAL if key.equal else EARLY


def _key_columns(key: ProbeKey) -> dict[str, Any]:
    return {
        "layer0": LEXICAL if key.lexical else EMBEDDINGS,
        "condition": condition_of(key),
        "top": key.top,
        "seed": key.seed,
    }


def _units(targets: TaskTargets) -> Units:
    """Units that intervals resample: documents of the evaluated sentences, or the sentences; in the order of the sentences."""
    documents = {sentence.example.record: sentence.example.document for sentence in targets.development}
    return independent_units(documents.values(), "sentences")


def _scores(targets: TaskTargets, trained: Trained, counts: npt.NDArray[np.int64], units: Units) -> pd.DataFrame:
    rows = []
    training, evaluated = (sum(len(s.targets) for s in part) for part in (targets.training, targets.development))
    for number, (key, probe_counts) in enumerate(zip(trained.probes.keys, counts.sum(axis=1), strict=True)):
        true, false, missed = map(int, probe_counts)
        rows.append(
            {
                "task": targets.task,
                **_key_columns(key),
                "f1": float(f1_of(probe_counts)),
                "precision": 100 * true / (true + false) if true + false else np.nan,
                "recall": 100 * true / (true + missed) if true + missed else np.nan,
                "labels": len(targets.labels),
                "training_targets": training,
                "targets": evaluated,
                "steps": int(trained.steps[number]),
                "best_step": int(trained.best_steps[number]),
                "unit": units.name,
                "units": units.count,
            }
        )
    return pd.DataFrame(rows)


def _weights(task: str, trained: Trained, layers: int) -> pd.DataFrame:
    """Mixing weights over layers 0 to L; for lexical probes layer 0 is the words alone."""
    mixing = trained.probes.weights.detach().cpu().double().numpy()
    scales = trained.probes.scale.detach().cpu().double().numpy()
    rows = []
    for key, row_weights, scale in zip(trained.probes.keys, mixing, scales, strict=True):
        by_layer = row_weights[: layers + 1].copy()
        if key.lexical:
            by_layer[0] = row_weights[-1]
        rows += [{"task": task, **_key_columns(key), "layer": k, "weight": w, "scale": scale} for k, w in enumerate(by_layer)]
    return pd.DataFrame(rows)


def _counts(targets: TaskTargets, trained: Trained, counts: npt.NDArray[np.int64], units: Units) -> pd.DataFrame:
    """`COUNTS`, one row for each sentence: the predicates of one sentence are not independent."""
    records = [sentence.example.record for sentence in targets.development]
    frames = []
    for key, probe_counts in zip(trained.probes.keys, counts, strict=True):
        frame = pd.DataFrame(probe_counts, columns=["true", "false", "missed"]).groupby(records, sort=False).sum()
        frame = frame.rename_axis("record").reset_index().assign(unit_number=units.of_item)
        frames.append(frame.assign(task=targets.task, **_key_columns(key))[COUNTS])
    return pd.concat(frames, ignore_index=True)


class _TracedGroup:
    """Probabilities of the targets of some sentences, one table for each seed."""

    def __init__(self, source: str, sentences: Sequence[ProbedSentence], states: States | None = None) -> None:
        self.source, self.sentences, self._states = source, sentences, states
        self.frames: list[pd.DataFrame] = []

    def add(self, targets: TaskTargets, trained: Trained, states: States, batch: int, device: str) -> None:
        """Add the probabilities of the probes of another seed."""
        chosen = [k for k, key in enumerate(trained.probes.keys) if condition_of(key) == EARLY and not key.lexical]
        rows = []
        numbers: Counter[int] = Counter()
        for sentences, logits, _ in answers(trained.probes, self.sentences, self._states or states, batch, device):
            probabilities = logits[chosen].sigmoid().float().cpu().numpy()  # [top, target, label]
            traced = [(sentence, place) for sentence in sentences for place in range(len(sentence.targets))]
            for number, (sentence, place) in enumerate(traced):
                example = sentence.example
                rows.append(
                    {
                        "source": self.source,
                        "task": targets.task,
                        "id": example.id,
                        "record": example.record,
                        # Numbered among all targets of the example, since a record may have only some of them.
                        "target": numbers[example.record],
                        **span_words(example, sentence.targets[place]),
                        "words": " ".join(example.words),
                        "labels": list(targets.labels),
                        "gold": sentence.truth[place],
                        "probability": probabilities[:, number].ravel(),
                    }
                )
                numbers[example.record] += 1
        self.frames.append(pd.DataFrame(rows, columns=TRACES))


def _traced(
    targets: TaskTargets, plan: Plan, cases: ProbedCorpus | None, stack: contextlib.ExitStack
) -> Iterator[_TracedGroup]:
    first = set(list(dict.fromkeys(s.example.record for s in targets.development))[: plan.max_traced_sentences])
    yield _TracedGroup("development", [s for s in targets.development if s.example.record in first])
    if cases is None:
        return
    sentences = probed_cases(targets, _examples(cases))
    if sentences:
        cache = HiddenStates(cases.states, cases.limit)
        stack.callback(cache.close)
        yield _TracedGroup("cases", sentences, cache.__getitem__)
