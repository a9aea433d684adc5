"""Targets of a task as arrays, the labels of controls, and what all tables of probes share: conditions, F1, recipe."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import EdgeTarget, WordSpan
from attention_atlas.errors import AtlasError

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
ControlLabels = Callable[[Example, EdgeTarget], tuple[str, ...]]

EMBEDDINGS, LEXICAL = "embeddings", "lexical"  # layer 0: the input of the first layer (with positions), or the words alone
EARLY, EQUAL, CONTROL_TASK, RANDOM_ENCODER = "early_stopping", "equal_steps", "control_task", "random_encoder"
SHUFFLED_LABELS = "shuffled_labels"
CONDITIONS = (EARLY, EQUAL, CONTROL_TASK, RANDOM_ENCODER, SHUFFLED_LABELS)
TRUTH = "truth"
AMBIGUOUS = 0.7  # highest mean probability of a label over layers of a target that is in doubt (footnote 6)
ANSWERS = ["true", "false", "missed"]
COUNTS = ["task", "layer0", "condition", "top", "seed", "record", "unit_number", *ANSWERS]
"""Answers to the targets of a sentence, and the number of the document (or sentence) that intervals resample it with."""
CONSTANT = ["record", "unit_number", *ANSWERS]  # the same for the best constant answer
CASES = ["source", "task", "id", "record", "target", "span1", "span2", "top", "label", "gold", "probability", "words"]


def f1_of(counts: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """[...] micro-F1 in percent from true positives, false positives and false negatives [..., 3]; 0 where all counts are 0."""
    true, false, missed = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    whole = 2 * true + false + missed
    return np.where(whole > 0, 200 * true / np.where(whole > 0, whole, 1), 0.0)


@dataclass(frozen=True)
class Recipe:
    """Training recipe of probes (see the schema of the study); the defaults are those of the published code."""

    batch: int = 32
    learning_rate: float = 1e-4
    mixing_rate_factor: float = 1.0
    evaluation_interval: int = 1000
    max_steps: int = 250_000
    equal_steps: int = 10_000
    halve_after: int = 5
    patience: int = 20
    min_learning_rate: float = 1e-6
    evaluation_sentences: int = 5000


def recipe_of(training: Mapping[str, Any], task: Mapping[str, Any]) -> Recipe:
    """The recipe of a run's settings for all tasks, overridden by those of one task."""
    names = {field.name for field in fields(Recipe)}
    return Recipe(**{**training, **{name: value for name, value in task.items() if name in names}})


@dataclass(frozen=True)
class ProbedSentence:
    """The targets of a task in one example; for semantic roles, the arguments of one predicate, as in the published code."""

    example: Example
    targets: tuple[EdgeTarget, ...]
    first: Ints  # [target, 2] first word piece and the one after the last
    second: Ints | None  # the same; None for tasks with one span
    truth: Flags  # [target, label] which labels are right
    control_task: Flags  # [target, label]
    shuffled_labels: Flags  # [target, label] labels of another training target, drawn at random; in evaluation, the right ones


@dataclass(frozen=True)
class TaskTargets:
    """A task: its labels, and the sentences to train and to evaluate on."""

    task: str
    labels: tuple[str, ...]
    pairs: bool
    training: tuple[ProbedSentence, ...]
    development: tuple[ProbedSentence, ...]

    @property
    def scored(self) -> Flags:
        """[label] which of them count in F1."""
        return np.asarray([_is_scored(self.task, label) for label in self.labels])


def _is_scored(task: str, label: str) -> bool:
    """Of coreference one chain only; arguments and modifiers without R- and C-; no relations that are none (published code)."""
    if task == "coreference":
        return label == "1"
    if task == "roles":
        return label.startswith("ARG")
    return task != "relations" or label not in ("Other", "no_relation")


def task_targets(
    task: str, training: Iterable[Example], development: Iterable[Example], most: int | None = None, seed: int = 0
) -> TaskTargets:
    """The targets of a task in examples of two corpora; of a training sentence at most `most`, drawn at random."""
    parts = [[(e, targets) for e in examples if (targets := _of_task(e, task))] for examples in (training, development)]
    for name, part in zip(("train", "evaluate"), parts, strict=True):
        if not part:
            raise AtlasError(f"there is no target of the task {task} to {name} on: check edge_tasks of its corpus.")
    labels = tuple(sorted({label for part in parts for _, targets in part for target in targets for label in target.labels}))
    pairs = parts[0][0][1][0].span2 is not None
    drawn = control_labels(task, [target for _, targets in parts[0] for target in targets], seed)
    generator = random.Random(f"{task}-{seed}")
    for place, (example, targets) in enumerate(parts[0]):
        if most is not None and len(targets) > most:
            kept = sorted(generator.sample(range(len(targets)), most))
            parts[0][place] = (example, tuple(targets[k] for k in kept))
    sentences, development_sentences = (
        [_probed(e, record, labels, pairs, drawn) for e, targets in part for record in _records(task, targets)]
        for part in parts
    )
    # Labels permuted over all training targets: only their frequencies are kept.
    truth = np.concatenate([sentence.truth for sentence in sentences])
    shuffled = truth[np.random.default_rng(seed).permutation(len(truth))]
    by_sentence = np.split(shuffled, np.cumsum([len(sentence.truth) for sentence in sentences])[:-1])
    trained = tuple(replace(sentence, shuffled_labels=part) for sentence, part in zip(sentences, by_sentence, strict=True))
    return TaskTargets(task, labels, pairs, trained, tuple(development_sentences))


def _records(task: str, targets: tuple[EdgeTarget, ...]) -> list[tuple[EdgeTarget, ...]]:
    """The targets of a sentence as records, in which batches are counted: one, or of semantic roles one for each predicate."""
    if task != "roles":
        return [targets]
    frames: dict[WordSpan, list[EdgeTarget]] = {}
    for target in targets:
        frames.setdefault(target.span1, []).append(target)
    return [tuple(frame) for frame in frames.values()]


def _of_task(example: Example, task: str) -> tuple[EdgeTarget, ...]:
    if example.edges is None:
        raise AtlasError(f"example {example.id} has no targets: use a corpus with reader edges.")
    return tuple(target for target in example.edges if target.task == task)


def probed_cases(task: TaskTargets, examples: Iterable[Example]) -> list[ProbedSentence]:
    """Sentences of another corpus with targets of a task; targets with labels that the probes do not know are skipped."""
    sentences = []
    for example in examples:
        if known := tuple(t for t in _of_task(example, task.task) if t.labels and set(t.labels) <= set(task.labels)):
            sentences += [_probed(example, record, task.labels, task.pairs, None) for record in _records(task.task, known)]
    return sentences


def _probed(
    example: Example, targets: tuple[EdgeTarget, ...], labels: Sequence[str], pairs: bool, drawn: ControlLabels | None
) -> ProbedSentence:
    word_spans = piece_spans(example)
    first = np.asarray([_pieces(example, word_spans, t.span1) for t in targets], np.int64)
    second = np.asarray([_pieces(example, word_spans, t.span2) for t in targets if t.span2], np.int64) if pairs else None
    if second is not None and len(second) != len(first):
        raise AtlasError(f"example {example.id}: some targets of a task have one span, others two.")
    number = {label: k for k, label in enumerate(labels)}
    truth = np.zeros((len(targets), len(labels)), np.bool_)
    control = np.zeros_like(truth)
    for row, target in enumerate(targets):
        truth[row, [number[label] for label in target.labels]] = True
        if drawn is not None:
            control[row, [number[label] for label in drawn(example, target)]] = True
    return ProbedSentence(example, targets, first, second, truth, control, truth)


def piece_spans(example: Example) -> list[tuple[int, int]]:
    """Word pieces of each word, which must be contiguous: the first, and the one after the last."""
    places: dict[int, list[int]] = {}
    for piece, word in enumerate(example.word):
        places.setdefault(word, []).append(piece)
    spans = []
    for word in range(len(example.words)):
        pieces = places.get(word)
        if not pieces or pieces[-1] - pieces[0] + 1 != len(pieces):
            raise AtlasError(f"example {example.id}: word {word + 1} ({example.words[word]!r}) has no contiguous word pieces.")
        spans.append((pieces[0], pieces[-1] + 1))
    return spans


def _pieces(example: Example, word_spans: Sequence[tuple[int, int]], span: WordSpan) -> tuple[int, int]:
    """Word pieces of a span of words; checked, since silent misalignment of spans has spoilt replications before."""
    if 0 <= span[0] < span[1] <= len(word_spans):
        start, stop = word_spans[span[0]][0], word_spans[span[1] - 1][1]
        if list(dict.fromkeys(example.word[start:stop])) == list(range(*span)):
            return start, stop
    raise AtlasError(f"example {example.id}: the span {list(span)} is not one of contiguous words of its {len(word_spans)}.")


def control_labels(task: str, targets: Iterable[EdgeTarget], seed: int) -> ControlLabels:
    """A control task (Hewitt & Liang 2019): every word type (the last of a target's first span) has one fixed random label,
    drawn with its frequency in training, so that the task is as large as the real one, but can only be memorised.
    """
    labels, weights = zip(*sorted(Counter(target.labels for target in targets).items()), strict=True)

    def labels_of(example: Example, target: EdgeTarget) -> tuple[str, ...]:
        word = example.words[target.span1[1] - 1].lower()
        return random.Random(f"{task}-{seed}-{word}").choices(labels, weights)[0]

    return labels_of


def constant_answer(task: str, examples: Iterable[Example], unit_numbers: npt.ArrayLike) -> pd.DataFrame:
    """`CONSTANT` of the set of labels that has the highest micro-F1 if every evaluated target gets it: k most frequent labels.

    It is chosen on these targets, so that no other constant answer does better. unit_numbers: of each example with targets.
    """
    gold = [
        (example.record, {label for label in target.labels if _is_scored(task, label)})
        for example in examples
        for target in _of_task(example, task)
    ]
    frequencies = Counter(label for _, labels in gold for label in sorted(labels))
    ranked = [label for label, _ in frequencies.most_common()]
    right = np.cumsum([0, *(frequencies[label] for label in ranked)])
    given = len(gold) * np.arange(len(right))
    best = f1_of(np.stack([right, given - right, right[-1] - right], axis=-1)).argmax()
    answer = ranked[: int(best)]
    rows = [[record, n := len(labels & set(answer)), len(answer) - n, len(labels) - n] for record, labels in gold]
    summed = pd.DataFrame(rows, columns=["record", *ANSWERS]).groupby("record", sort=False).sum()
    return summed.reset_index().assign(unit_number=np.asarray(unit_numbers))[CONSTANT]
