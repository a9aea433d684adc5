"""Targets of a task as tensors: spans of word pieces, labels as a matrix, and the labels of controls."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.layers import EdgeTarget, WordSpan
from attention_atlas.errors import AtlasError

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_CONTINUED_ROLE_PREFIXES = ("R-", "C-")
_NO_RELATION = ("Other", "no_relation")


@dataclass(frozen=True)
class ProbedSentence:
    """The targets of a task in one example; for semantic roles, the arguments of one predicate, as in the published code.

    Attributes:
        example: the example.
        targets: its targets of this task.
        first, second: [target, 2] first word piece and the one after the last; `second` is None for tasks with one span.
        truth: [target, label] which labels are right.
        control: [target, label] labels of the control task.
        shuffled: [target, label] labels of another target of the training set, drawn at random; the right labels in evaluation.
    """

    example: Example
    targets: tuple[EdgeTarget, ...]
    first: Ints
    second: Ints | None
    truth: Flags
    control: Flags
    shuffled: Flags


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
        """[label] which of them count in F1 (published code).

        Coreference: one chain only. Roles: arguments and modifiers, without those of relative clauses and continuations.
        Relations: without those that are none.
        """
        return np.asarray([_is_scored(self.task, label) for label in self.labels])


def _is_scored(task: str, label: str) -> bool:
    if task == "coreference":
        return label == "1"
    if task == "roles":
        return label.startswith("ARG") and not label.startswith(_CONTINUED_ROLE_PREFIXES)
    if task == "relations":
        return label not in _NO_RELATION
    return True


def task_targets(
    task: str,
    training: Iterable[Example],
    development: Iterable[Example],
    most: int | None = None,
    seed: int = 0,
) -> TaskTargets:
    """The targets of a task in examples of two corpora.

    Args:
        task: name of the task.
        training, development: examples with edge targets.
        most: largest number of targets of a training sentence, drawn at random; None takes all.
        seed: of that draw, of the control task and of the shuffled labels.

    Raises:
        AtlasError: no targets of this task, or a span that does not consist of whole words.
    """
    with_targets = [[(e, _of_task(e, task)) for e in examples] for examples in (training, development)]
    parts = [[(e, targets) for e, targets in part if targets] for part in with_targets]
    for name, part in zip(("train", "evaluate"), parts, strict=True):
        if not part:
            raise AtlasError(f"there is no target of the task {task} to {name} on: check edge_tasks of its corpus.")
    labels = tuple(sorted({label for part in parts for _, targets in part for target in targets for label in target.labels}))
    pairs = parts[0][0][1][0].span2 is not None
    drawn = control_labels(task, [target for _, targets in parts[0] for target in targets], seed)
    generator = random.Random(f"{task}-{seed}")
    probed_parts: list[tuple[ProbedSentence, ...]] = []
    for number, part in enumerate(parts):
        sentences = []
        for example, targets in part:
            sampled = targets
            if number == 0 and most is not None and len(targets) > most:
                sampled = tuple(targets[k] for k in sorted(generator.sample(range(len(targets)), most)))
            sentences += [_probed(example, record, labels, pairs, drawn) for record in _records(task, sampled)]
        probed_parts.append(tuple(sentences))
    training_part, development_part = probed_parts
    return TaskTargets(task, labels, pairs, _with_shuffled_labels(training_part, seed), development_part)


def _with_shuffled_labels(sentences: Sequence[ProbedSentence], seed: int) -> tuple[ProbedSentence, ...]:
    """Sentences with the labels permuted over all targets, so that only label frequencies are kept."""
    truth = np.concatenate([sentence.truth for sentence in sentences])
    shuffled = truth[np.random.default_rng(seed).permutation(len(truth))]
    stops = np.cumsum([len(sentence.truth) for sentence in sentences])
    parts = np.split(shuffled, stops[:-1])
    return tuple(replace(sentence, shuffled=part) for sentence, part in zip(sentences, parts, strict=True))


def _records(task: str, targets: tuple[EdgeTarget, ...]) -> list[tuple[EdgeTarget, ...]]:
    """The targets of a sentence as records: all in one, or for semantic roles one record for each predicate.

    Batches and evaluations are counted in records: with frames as records, SRL has 253,070 training records of OntoNotes
    5.0, three times as many as sentences (corrected table of the authors, probing/README.md).
    """
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
        known = tuple(t for t in _of_task(example, task.task) if t.labels and set(t.labels) <= set(task.labels))
        if known:
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
            control[row, [number[label] for label in drawn[example, target]]] = True
    return ProbedSentence(example, targets, first, second, truth, control, truth)


def piece_spans(example: Example) -> list[tuple[int, int]]:
    """Word pieces of each word: the first, and the one after the last.

    Raises:
        AtlasError: a word without word pieces, or with word pieces that are not contiguous.
    """
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
    """Word pieces of a span of words.

    Raises:
        AtlasError: the span leaves the words, or its word pieces are not those of its words: silent misalignment of spans
            has spoilt replications before.
    """
    if not 0 <= span[0] < span[1] <= len(word_spans):
        raise AtlasError(f"example {example.id}: the span {list(span)} does not lie within its {len(word_spans)} words.")
    start, stop = word_spans[span[0]][0], word_spans[span[1] - 1][1]
    if list(dict.fromkeys(example.word[start:stop])) != list(range(*span)):
        raise AtlasError(
            f"example {example.id}: the word pieces {start} to {stop - 1} are not those of the words {list(span)}."
        )
    return start, stop


class ControlLabels:
    """A control task (Hewitt & Liang 2019): every word type has one fixed label, drawn at random.

    The word is the last of a target's first span. Labels are drawn with their frequency in training, so that the task is
    as large as the real one, but can only be memorised.
    """

    def __init__(self, counts: Counter[tuple[str, ...]], salt: str) -> None:
        self._labels, self._weights = zip(*sorted(counts.items()), strict=True)
        self._salt = salt

    def __getitem__(self, key: tuple[Example, EdgeTarget]) -> tuple[str, ...]:
        example, target = key
        word = example.words[target.span1[1] - 1].lower()
        return random.Random(f"{self._salt}-{word}").choices(self._labels, self._weights)[0]


def control_labels(task: str, targets: Iterable[EdgeTarget], seed: int) -> ControlLabels:
    """The control task of a task, by the labels of its training targets."""
    return ControlLabels(Counter(target.labels for target in targets), f"{task}-{seed}")


def span_words(example: Example, target: EdgeTarget) -> dict[str, Any]:
    """Words of the spans of a target: span1, span2."""
    spans = {"span1": target.span1, "span2": target.span2}
    return {name: " ".join(example.words[slice(*span)]) if span else "" for name, span in spans.items()}
