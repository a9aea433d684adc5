"""Training of edge probes from cached hidden states: all layers of a seed in one product, each with early stopping.

Library trainers have one learning rate, one best checkpoint and one stopping point for all parameters; these differ by probe.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from attention_atlas.corpora.examples import Example
from attention_atlas.io.progress import progress
from attention_atlas.models.finite import check_loss
from attention_atlas.studies.tenney2019.names import LABELS
from attention_atlas.studies.tenney2019.probes import EdgeProbes, ProbeKey, Spans, clip_by_probe, optimiser, probe_losses
from attention_atlas.studies.tenney2019.recipe import Recipe
from attention_atlas.studies.tenney2019.scores import f1_of
from attention_atlas.studies.tenney2019.state_bank import StateBank, ahead
from attention_atlas.studies.tenney2019.targets import ProbedSentence, TaskTargets

_log = logging.getLogger(__name__)
Counts = npt.NDArray[np.int64]
States = Callable[[Example], npt.NDArray[np.float16]] | StateBank
"""Hidden states [row, n, width] of an example, or of a batch from a bank."""
_GAIN = 0.01
"""Smallest gain of F1, in percentage points, that keeps the learning rate: 1e-4 on the scale from 0 to 1 (published code)."""


@dataclass(frozen=True)
class Trained:
    """Trained probes.

    Attributes:
        probes: with the weights of their best evaluations (of the last step where the number of steps is fixed).
        steps: [probe] steps taken.
        best_steps: [probe] step of the best weights.
    """

    probes: EdgeProbes
    steps: npt.NDArray[np.int64]
    best_steps: npt.NDArray[np.int64]


def train_probes(
    targets: TaskTargets, states: States, keys: Sequence[ProbeKey], recipe: Recipe, device: str = "cpu"
) -> Trained:
    """Train the probes of one seed, which see the same batches.

    Args:
        targets: the task.
        states: hidden states of both corpora.
        keys: the probes of one seed.
        recipe: learning rates, early stopping and other settings.
        device: of the training.

    Raises:
        AtlasError: the loss of a probe is not finite.
    """
    torch.manual_seed(keys[0].seed)
    sample = states(targets.training[0].example)
    probes = EdgeProbes(keys, sample.shape[0], sample.shape[2], len(targets.labels), targets.pairs).to(device)
    adam = optimiser(probes, recipe.learning_rate, recipe.mixing_rate_factor)
    stopping = _EarlyStopping(keys, recipe, probes)
    # Evaluations in training count all labels, final scores those that `targets.scored` names (published code).
    every_label = torch.ones(len(targets.labels), dtype=torch.bool, device=device)
    evaluated = targets.development[: recipe.evaluation_sentences]
    summed = torch.zeros(len(keys), device=device)
    batches = _collated(_random_batches(targets.training, recipe.batch, keys[0].seed), states, keys, device)
    for step in progress(range(1, stopping.last_step + 1), label=f"{targets.task}, seed {keys[0].seed}"):
        _, batch = next(batches)
        probes.train()
        adam.zero_grad()
        logits = probes(batch["states"], batch["first"], batch["second"])
        # Probes share no parameters: the gradient of the sum trains each as if alone.
        losses = probe_losses(logits, batch["truth"])
        losses.sum().backward()
        summed += losses.detach()
        clip_by_probe(probes.parameters())
        stopping.step(adam)
        if step % recipe.evaluation_interval == 0 or step == stopping.last_step:
            check_loss(summed, f"or before step {step}", f"Lower learning_rate of the edge probes ({recipe.learning_rate:g})")
            counts = count_answers(probes, evaluated, states, every_label, recipe.batch, device).sum(axis=1)
            stopping.record(step, f1_of(counts))
            if stopping.over:
                break
    return stopping.trained()


class _EarlyStopping:
    """Learning rates, best weights and early stopping with patience, for all probes."""

    def __init__(self, keys: Sequence[ProbeKey], recipe: Recipe, probes: EdgeProbes) -> None:
        self._recipe, self._probes = recipe, probes
        self._equal = np.asarray([key.equal for key in keys])
        self.last_step = max(recipe.equal_steps if key.equal else recipe.max_steps for key in keys)
        self._factor = np.ones(len(keys))
        self._best, self._best_for_rate = np.full(len(keys), -np.inf), np.full(len(keys), -np.inf)
        self._without_gain = np.zeros(len(keys), np.int64)
        self._since_halved = np.zeros(len(keys), np.int64)
        self._ended = np.zeros(len(keys), np.bool_)
        self._steps, self._best_steps = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        self._best_state = copy.deepcopy(probes.state_dict())
        self._steps_taken = 0

    @property
    def over(self) -> bool:
        return bool(self._ended.all())

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """A step of the optimiser, scaled by the probe: an Adam step is proportional to its learning rate."""
        if (self._factor == 1).all():
            optimizer.step()
        else:
            before = [parameter.detach().clone() for parameter in self._probes.parameters()]
            optimizer.step()
            with torch.no_grad():
                for old, parameter in zip(before, self._probes.parameters(), strict=True):
                    factor = torch.as_tensor(self._factor, dtype=old.dtype, device=old.device)
                    parameter.copy_(old + factor.view(-1, *(1,) * (old.ndim - 1)) * (parameter - old))
        self._steps_taken += 1
        done = self._equal & (self._steps_taken >= self._recipe.equal_steps) & ~self._ended
        if done.any():
            self._end(done, self._steps_taken)
            self._keep(done, self._steps_taken)

    def record(self, step: int, scores: npt.NDArray[np.float64]) -> None:
        """Keep the weights of probes that improve, halve learning rates on a plateau, and stop with patience.

        Args:
            step: just taken.
            scores: [probe] F1 in percent.
        """
        recipe = self._recipe
        active = ~self._ended & ~self._equal
        better = active & (scores > self._best)
        self._best[better] = scores[better]
        self._keep(better, step)
        self._without_gain = np.where(better, 0, self._without_gain + active)
        gains = active & (scores > self._best_for_rate + _GAIN)
        self._best_for_rate[gains] = scores[gains]
        self._since_halved = np.where(gains, 0, self._since_halved + active)
        halve = active & (self._since_halved > recipe.halve_after)
        self._factor[halve] /= 2
        self._since_halved[halve] = 0
        slow = recipe.learning_rate * self._factor < recipe.min_learning_rate
        self._end(active & ((self._without_gain > recipe.patience) | slow | (step >= recipe.max_steps)), step)

    def _keep(self, which: npt.NDArray[np.bool_], step: int) -> None:
        chosen = torch.from_numpy(which)
        for name, tensor in self._probes.state_dict().items():
            best_tensor = self._best_state[name]
            best_tensor[chosen.to(best_tensor.device)] = tensor[chosen.to(tensor.device)]
        self._best_steps[which] = step

    def _end(self, which: npt.NDArray[np.bool_], step: int) -> None:
        self._ended |= which
        self._factor[which] = 0.0
        self._steps[which] = step

    def trained(self) -> Trained:
        self._steps[~self._ended] = self._steps_taken
        self._probes.load_state_dict(self._best_state)
        return Trained(self._probes.eval(), self._steps, self._best_steps)


def collate(batch: Sequence[ProbedSentence], states: States, keys: Sequence[ProbeKey], device: str) -> dict[str, Any]:
    """Tensors of a batch: states [sentence, row, word piece, width], spans, truth [target, label], by probe if needed."""
    return _on_device(_on_host(batch, states, keys, device), device)


def _collated(
    batches: Iterable[Sequence[ProbedSentence]], states: States, keys: Sequence[ProbeKey], device: str
) -> Iterator[tuple[Sequence[ProbedSentence], dict[str, Any]]]:
    """Each batch with its tensors; while a GPU computes, a thread prepares the next batch."""
    if device == "cpu":
        for batch in batches:
            yield batch, collate(batch, states, keys, device)
        return
    for batch, host_batch in ahead((batch, _on_host(batch, states, keys, device)) for batch in batches):
        yield batch, _on_device(host_batch, device)


@dataclass(frozen=True)
class _HostBatch:
    """A batch before it is moved to the device.

    Attributes:
        states: function that brings its states to the device, see `collate`.
        rows: [target] sentence of the batch.
        first, second: [target, 2] first word piece of a span and the one after the last.
        truth: see `collate`.
    """

    states: Callable[[], torch.Tensor]
    rows: torch.Tensor
    first: torch.Tensor
    second: torch.Tensor | None
    truth: torch.Tensor


def _on_host(batch: Sequence[ProbedSentence], states: States, keys: Sequence[ProbeKey], device: str) -> _HostBatch:
    examples = [sentence.example for sentence in batch]
    if isinstance(states, StateBank):
        bring = partial(states.gather, states.prepare(examples))
    else:
        bring = partial(_converted, _padded(examples, states), device)
    fields = [LABELS[key.labels] for key in keys]
    labels = {name: _joined(batch, name) for name in dict.fromkeys(fields)}
    return _HostBatch(
        states=bring,
        rows=torch.from_numpy(np.repeat(np.arange(len(batch)), [len(sentence.first) for sentence in batch])),
        first=_joined(batch, "first"),
        second=None if batch[0].second is None else _joined(batch, "second"),
        truth=labels[fields[0]] if len(labels) == 1 else torch.stack([labels[name] for name in fields]),
    )


def _padded(examples: Sequence[Example], states: Callable[[Example], npt.NDArray[np.float16]]) -> torch.Tensor:
    """[sentence, row, longest, width] in float16, padded with zeros."""
    tensors = [torch.from_numpy(states(example)) for example in examples]
    longest = max(tensor.shape[1] for tensor in tensors)
    padded = torch.zeros(len(tensors), tensors[0].shape[0], longest, tensors[0].shape[2], dtype=torch.float16)
    for row, tensor in enumerate(tensors):
        padded[row, :, : tensor.shape[1]] = tensor
    return padded


def _converted(padded: torch.Tensor, device: str) -> torch.Tensor:
    # Converted to float32 on the device, which halves the transfer.
    return padded.to(device).float()


def _on_device(batch: _HostBatch, device: str) -> dict[str, Any]:
    rows = batch.rows.to(device)

    def spans(host_bounds: torch.Tensor) -> Spans:
        bounds = host_bounds.to(device)
        return Spans(rows, bounds[:, 0], bounds[:, 1])

    return {
        "states": batch.states(),
        "first": spans(batch.first),
        "second": None if batch.second is None else spans(batch.second),
        "truth": batch.truth.to(device),
    }


def _joined(batch: Sequence[ProbedSentence], name: str) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([getattr(sentence, name) for sentence in batch]))


def answers(
    probes: EdgeProbes, sentences: Sequence[ProbedSentence], states: States, batch: int, device: str = "cpu"
) -> Iterator[tuple[Sequence[ProbedSentence], torch.Tensor, torch.Tensor]]:
    """Yield some sentences at a time with logits [probe, target, label] and the truth of each probe's task."""
    probes.eval()
    # Sentences of similar length share a batch; counts are per sentence, so that their order is free.
    ordered = sorted(range(len(sentences)), key=lambda k: (len(sentences[k].example.input_ids), k))
    batches = ([sentences[k] for k in ordered[start : start + batch]] for start in range(0, len(ordered), batch))
    for batch_sentences, tensors in _collated(batches, states, probes.keys, device):
        with torch.inference_mode():
            logits = probes(tensors["states"], tensors["first"], tensors["second"])
        yield batch_sentences, logits, tensors["truth"].expand_as(logits)


def count_answers(
    probes: EdgeProbes,
    sentences: Sequence[ProbedSentence],
    states: States,
    scored: torch.Tensor,
    batch: int,
    device: str = "cpu",
) -> Counts:
    """[probe, sentence, 3] true positives, false positives and false negatives over targets and scored labels.

    A label is predicted if its probability is one half or more: a target may have none or several.
    """
    place = {id(sentence): k for k, sentence in enumerate(sentences)}
    counts = np.zeros((len(probes.keys), len(sentences), 3), np.int64)
    for batch_sentences, logits, truth in answers(probes, sentences, states, batch, device):
        predicted, gold = (logits >= 0) & scored, truth & scored
        kinds = torch.stack([predicted & gold, predicted & ~gold, ~predicted & gold], dim=-1).sum(
            dim=2
        )  # [probe, target, kind]
        sizes = torch.tensor([len(sentence.first) for sentence in batch_sentences], device=kinds.device)
        rows = torch.repeat_interleave(torch.arange(len(batch_sentences), device=kinds.device), sizes)
        sums = kinds.new_zeros(len(probes.keys), len(batch_sentences), 3).index_add_(1, rows, kinds)
        counts[:, [place[id(sentence)] for sentence in batch_sentences]] = sums.cpu().numpy()
    return counts


def _random_batches(sentences: Sequence[ProbedSentence], batch: int, seed: int) -> Iterator[list[ProbedSentence]]:
    """Endless batches of all sentences, in a new random order in each pass."""
    for order in random_orders(len(sentences), seed):
        for start in range(0, len(order), batch):
            yield [sentences[k] for k in order[start : start + batch]]


def random_orders(count: int, seed: int) -> Iterator[npt.NDArray[np.int64]]:
    """Order of the sentences in each pass of training, without an end."""
    generator = np.random.default_rng(seed)
    while True:
        yield generator.permutation(count)
