"""Edge probes: classifiers of spans on frozen hidden states, many trained at once (Tenney et al. 2019, section 3).

Each probe mixes the layers from 0 to its top one by learnt weights, projects and pools the word pieces of a span by
self-attention, and classifies one or two pooled spans by a layer with a sigmoid for every label. Probes share every tensor
operation but no parameters, so training them together is training each alone. Library trainers have one learning rate, best
checkpoint and stopping point for all parameters; these differ by probe.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from attention_atlas.corpora.examples import Example
from attention_atlas.io.messages import progress
from attention_atlas.models import devices
from attention_atlas.models.extraction import Half
from attention_atlas.models.loading import check_loss
from attention_atlas.studies.tenney2019.targets import (
    EARLY,
    EMBEDDINGS,
    EQUAL,
    LEXICAL,
    TRUTH,
    Ints,
    ProbedSentence,
    Recipe,
    TaskTargets,
    f1_of,
)

States = Callable[[Example], Half]  # hidden states [row, n, width] of an example
SIZE = 256  # width of a span (published code)
MIX_DROPOUT, CLASS_DROPOUT = 0.2, 0.3
_GAIN = 0.01  # percentage points of F1 that keep the learning rate: 1e-4 on the scale from 0 to 1 (published code)


@dataclass(frozen=True)
class ProbeKey:
    top: int  # it mixes the layers from 0 (the input of the first) to this one
    seed: int  # of its initial weights
    lexical: bool = False  # layer 0 is the words alone, without positions
    labels: str = TRUTH  # what it is trained on, a field of `ProbedSentence`: `truth`, `control_task` or `shuffled_labels`
    equal: bool = False  # it takes a fixed number of steps, whatever its score; otherwise it stops early

    @property
    def columns(self) -> dict[str, Any]:
        """The probe in tables: kind of layer 0, condition of training, top layer, seed."""
        condition = self.labels if self.labels != TRUTH else EQUAL if self.equal else EARLY
        layer0 = LEXICAL if self.lexical else EMBEDDINGS
        return {"layer0": layer0, "condition": condition, "top": self.top, "seed": self.seed}


class Spans(NamedTuple):
    """Spans of word pieces in a batch, one for each target: row of its sentence, first word piece, the one after the last."""

    sentence: torch.Tensor
    start: torch.Tensor
    stop: torch.Tensor


class _Side(nn.Module):
    """Projection and pooling of one of two spans, for all probes."""

    def __init__(self, keys: Sequence[ProbeKey], width: int) -> None:
        super().__init__()
        self.project = nn.Parameter(_uniform(keys, (width, SIZE), width, 1))
        self.bias = nn.Parameter(_uniform(keys, (SIZE,), width, 2))
        self.attend = nn.Parameter(_uniform(keys, (SIZE,), SIZE, 3))
        # The score has no bias: a softmax does not see it.

    def forward(self, mixed: torch.Tensor, places: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
        """[probe, target, size] from mixed states [probe, place, width] at the places [target, longest] that are inside."""
        projected = torch.baddbmm(self.bias[:, None], mixed, self.project)
        scores = torch.bmm(projected, self.attend[:, :, None])[:, :, 0]
        shares = _at(scores, places).masked_fill(~inside, -math.inf).softmax(-1)
        return (shares[..., None] * _at(projected, places)).sum(2)


def _at(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    if devices.on_gpu(values):  # There index_select adds in any order on the way back: sums would differ from run to run.
        return values[:, places]
    return values.index_select(1, places.flatten()).unflatten(1, places.shape)


class EdgeProbes(nn.Module):
    """Probes for one task; rows, width: of the states of a word piece (L + 1 layers and, if stored, the words alone)."""

    allowed: torch.Tensor

    def __init__(self, keys: Sequence[ProbeKey], rows: int, width: int, labels: int, pairs: bool) -> None:
        super().__init__()
        self.keys = tuple(keys)
        count = len(self.keys)
        self.mix = nn.Parameter(torch.zeros(count, rows))
        self.scale = nn.Parameter(torch.ones(count))
        # Lexical probes use the last row, the words alone, in place of row 0.
        used = [{*range(key.lexical, key.top + 1), *([rows - 1] if key.lexical else [])} for key in self.keys]
        allowed = torch.tensor([[row in of_key for row in range(rows)] for of_key in used])
        self.register_buffer("allowed", allowed, persistent=False)
        # The two spans of pairs have separate projections, whose random weights differ.
        by_side = [[replace(key, seed=2 * key.seed + side) for key in self.keys] for side in range(1 + pairs)]
        self.sides = nn.ModuleList(_Side(keys_of_side, width) for keys_of_side in by_side)
        spans = SIZE * (1 + pairs)
        self.hidden = nn.Parameter(_uniform(self.keys, (spans, SIZE), spans, 4))
        self.hidden_bias = nn.Parameter(_uniform(self.keys, (SIZE,), spans, 5))
        self.norm = nn.Parameter(torch.ones(count, SIZE))
        self.norm_bias = nn.Parameter(torch.zeros(count, SIZE))
        self.out = nn.Parameter(_uniform(self.keys, (SIZE, labels), SIZE, 6))
        self.out_bias = nn.Parameter(_uniform(self.keys, (labels,), SIZE, 7))

    @property
    def weights(self) -> torch.Tensor:
        """[probe, row] mixing weights s: they sum to 1 over the rows that a probe may use, and are 0 on others."""
        return self.mix.masked_fill(~self.allowed, -math.inf).softmax(-1)

    def forward(self, states: torch.Tensor, *spans: Spans) -> torch.Tensor:
        """Logits [probe, target, label] from states [sentence, row, word piece, width] and one or two spans of each target."""
        pieces, places, inside = _needed(spans, states.shape[2])
        weights = self.weights * self.scale[:, None]
        piece_states = states[pieces // states.shape[2], :, pieces % states.shape[2]]  # [place, row, width]
        mixed = torch.einsum("pl,nlw->pnw", weights, piece_states)
        mixed = nn.functional.dropout(mixed, MIX_DROPOUT, self.training)
        pooled = torch.cat([side(mixed, *where) for side, *where in zip(self.sides, places, inside, strict=True)], dim=-1)
        inner = torch.baddbmm(self.hidden_bias[:, None], pooled, self.hidden).tanh()
        inner = nn.functional.layer_norm(inner, (SIZE,)) * self.norm[:, None] + self.norm_bias[:, None]
        inner = nn.functional.dropout(inner, CLASS_DROPOUT, self.training)
        return torch.baddbmm(self.out_bias[:, None], inner, self.out)


def _needed(spans: Sequence[Spans], length: int) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    """[place] word pieces in any span, each once, counted through the padded sentences: only these are mixed and projected;
    and, for each side, places [target, longest], and which of them are inside.
    """
    flat, inside = [], []
    for side_spans in spans:
        steps = torch.arange(int((side_spans.stop - side_spans.start).max()), device=side_spans.start.device)
        inside.append(steps < (side_spans.stop - side_spans.start)[:, None])
        at = side_spans.start[:, None] + torch.where(inside[-1], steps, 0)
        flat.append(side_spans.sentence[:, None] * length + at)
    pieces, piece_places = torch.unique(torch.cat([part.flatten() for part in flat]), return_inverse=True)
    parts = piece_places.split([part.numel() for part in flat])
    return pieces, [part.view_as(shape) for part, shape in zip(parts, flat, strict=True)], inside


def probe_losses(logits: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """[probe] mean binary cross-entropy over targets and labels; logits [probe, target, label], truth [..., target, label]."""
    labels = truth.to(logits).expand_as(logits)
    return nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none").mean(dim=(1, 2))


def clip_by_probe(parameters: Iterable[nn.Parameter], largest: float = 5.0) -> None:
    """Clip the gradient norm of each probe (published code); the first axis of all parameters is the probe."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    squares = sum(gradient.flatten(1).square().sum(1) if gradient.ndim > 1 else gradient.square() for gradient in gradients)
    factors = (largest / (torch.as_tensor(squares).sqrt() + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factors.view(-1, *(1,) * (gradient.ndim - 1)))


def _uniform(keys: Sequence[ProbeKey], shape: tuple[int, ...], inputs: int, salt: int) -> torch.Tensor:
    """[probe, *shape] initial weights of a linear layer of torch, by the seed of each probe and of the parameter."""
    bound = 1 / math.sqrt(inputs)
    drawn: dict[int, torch.Tensor] = {}
    for key in keys:
        if key.seed not in drawn:
            generator = torch.Generator().manual_seed(1000 * key.seed + salt)
            drawn[key.seed] = torch.empty(shape).uniform_(-bound, bound, generator=generator)
    return torch.stack([drawn[key.seed] for key in keys])


def train_probes(
    targets: TaskTargets, states: States, keys: Sequence[ProbeKey], recipe: Recipe, device: str = "cpu"
) -> tuple[EdgeProbes, Ints]:
    """Probes of one seed, which see the same batches, with the weights of their best evaluations (of the last step where the
    number of steps is fixed), and the steps [probe] that they took.
    """
    torch.manual_seed(keys[0].seed)
    sample = states(targets.training[0].example)
    probes = EdgeProbes(keys, sample.shape[0], sample.shape[2], len(targets.labels), targets.pairs).to(device)
    others: Any = {"params": [weights for name, weights in probes.named_parameters() if name not in ("mix", "scale")]}
    mixing: Any = {"params": [probes.mix, probes.scale], "lr": recipe.learning_rate * recipe.mixing_rate_factor}
    # The optimiser of the published code.
    adam = torch.optim.Adam([others, mixing], lr=recipe.learning_rate, amsgrad=True, fused=True)
    stopping = _EarlyStopping(keys, recipe, probes)
    # Evaluations in training count all labels, final scores those that `targets.scored` names (published code).
    every_label = torch.ones(len(targets.labels), dtype=torch.bool, device=device)
    evaluated = targets.development[: recipe.evaluation_sentences]
    summed = torch.zeros(len(keys), device=device)
    batches = _on_device(_random_batches(targets.training, recipe.batch, keys[0].seed), states, keys, device)
    for step in progress(range(1, stopping.last_step + 1), label=f"{targets.task}, seed {keys[0].seed}"):
        _, batch_states, spans, truth = next(batches)
        probes.train()
        adam.zero_grad()
        # Probes share no parameters: the gradient of the sum trains each as if alone.
        losses = probe_losses(probes(batch_states, *spans), truth)
        losses.sum().backward()
        summed += losses.detach()
        clip_by_probe(probes.parameters())
        stopping.step(adam)
        if step % recipe.evaluation_interval == 0 or step == stopping.last_step:
            check_loss(summed, f"or before step {step}", f"Lower learning_rate of the edge probes ({recipe.learning_rate:g})")
            counts = count_answers(probes, evaluated, states, every_label, recipe.batch, device).sum(axis=1)
            stopping.record(step, f1_of(counts))
            if stopping.ended.all():
                break
    return stopping.trained()


class _EarlyStopping:
    def __init__(self, keys: Sequence[ProbeKey], recipe: Recipe, probes: EdgeProbes) -> None:
        self._recipe, self._probes = recipe, probes
        self._equal = np.asarray([key.equal for key in keys])
        self.last_step = max(recipe.equal_steps if key.equal else recipe.max_steps for key in keys)
        self._factor = np.ones(len(keys))
        self._best, self._best_for_rate = np.full(len(keys), -np.inf), np.full(len(keys), -np.inf)
        self._without_gain = np.zeros(len(keys), np.int64)
        self._since_halved = np.zeros(len(keys), np.int64)
        self.ended = np.zeros(len(keys), np.bool_)
        self._steps = np.zeros(len(keys), np.int64)
        self._best_state = copy.deepcopy(probes.state_dict())
        self._steps_taken = 0

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
        done = self._equal & (self._steps_taken >= self._recipe.equal_steps) & ~self.ended
        if done.any():
            self._end(done, self._steps_taken)
            self._keep(done)

    def record(self, step: int, scores: npt.NDArray[np.float64]) -> None:
        """Keep the weights of probes that improve, halve learning rates on a plateau, stop with patience; scores: [probe]."""
        recipe = self._recipe
        active = ~self.ended & ~self._equal
        better = active & (scores > self._best)
        self._best[better] = scores[better]
        self._keep(better)
        self._without_gain = np.where(better, 0, self._without_gain + active)
        gains = active & (scores > self._best_for_rate + _GAIN)
        self._best_for_rate[gains] = scores[gains]
        self._since_halved = np.where(gains, 0, self._since_halved + active)
        halve = active & (self._since_halved > recipe.halve_after)
        self._factor[halve] /= 2
        self._since_halved[halve] = 0
        slow = recipe.learning_rate * self._factor < recipe.min_learning_rate
        self._end(active & ((self._without_gain > recipe.patience) | slow | (step >= recipe.max_steps)), step)

    def _keep(self, which: npt.NDArray[np.bool_]) -> None:
        chosen = torch.from_numpy(which)
        for name, tensor in self._probes.state_dict().items():
            best_tensor = self._best_state[name]
            best_tensor[chosen.to(best_tensor.device)] = tensor[chosen.to(tensor.device)]

    def _end(self, which: npt.NDArray[np.bool_], step: int) -> None:
        self.ended |= which
        self._factor[which] = 0.0
        self._steps[which] = step

    def trained(self) -> tuple[EdgeProbes, Ints]:
        self._steps[~self.ended] = self._steps_taken
        self._probes.load_state_dict(self._best_state)
        return self._probes.eval(), self._steps


def _on_device(
    batches: Iterable[Sequence[ProbedSentence]], states: States, keys: Sequence[ProbeKey], device: str
) -> Iterator[tuple[Sequence[ProbedSentence], torch.Tensor, list[Spans], torch.Tensor]]:
    """Each batch with its states [sentence, row, longest, width], padded with zeros, its spans, and the truth [target, label],
    or [probe, target, label]; while a GPU computes, a thread prepares the next batch in pinned memory.
    """
    pinned = device != "cpu" and torch.cuda.is_available()
    on_host = ((batch, _collated(batch, states, keys, pinned)) for batch in batches)
    for batch, host_tensors in on_host if device == "cpu" else ahead(on_host):
        padded, rows, truth, *sides = (tensor.to(device, non_blocking=pinned) for tensor in host_tensors)
        # Converted to float32 on the device, which halves the transfer.
        yield batch, padded.float(), [Spans(rows, *side.unbind(1)) for side in sides], truth


def _collated(
    batch: Sequence[ProbedSentence], states: States, keys: Sequence[ProbeKey], pinned: bool
) -> tuple[torch.Tensor, ...]:
    """States in float16, the row of each target's sentence, truth, and one or two spans [target, 2]."""
    values = [states(sentence.example) for sentence in batch]
    (rows, _, width), longest = values[0].shape, max(value.shape[1] for value in values)
    padded = torch.zeros((len(batch), rows, longest, width), dtype=torch.float16, pin_memory=pinned)
    for number, value in enumerate(values):
        padded[number, :, : value.shape[1]] = torch.from_numpy(value)
    places = torch.from_numpy(np.repeat(np.arange(len(batch)), [len(sentence.first) for sentence in batch]))

    def joined(name: str) -> torch.Tensor:
        return torch.from_numpy(np.concatenate([getattr(sentence, name) for sentence in batch]))

    of_labels = {name: joined(name) for name in dict.fromkeys(key.labels for key in keys)}
    truth = next(iter(of_labels.values())) if len(of_labels) == 1 else torch.stack([of_labels[key.labels] for key in keys])
    return padded, places, truth, joined("first"), *([] if batch[0].second is None else [joined("second")])


def ahead(values: Iterator[Any]) -> Iterator[Any]:
    """The values of an iterator, each prepared by a thread while the one before it is used."""
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(next, values, None)
        while (ready := waiting.result()) is not None:
            waiting = thread.submit(next, values, None)
            yield ready


def answers(
    probes: EdgeProbes, sentences: Sequence[ProbedSentence], states: States, batch: int, device: str = "cpu"
) -> Iterator[tuple[Sequence[ProbedSentence], torch.Tensor, torch.Tensor]]:
    """Yield some sentences at a time with logits [probe, target, label] and the truth of each probe's task."""
    probes.eval()
    # Sentences of similar length share a batch; counts are per sentence, so that their order is free.
    ordered = sorted(range(len(sentences)), key=lambda k: (len(sentences[k].example.input_ids), k))
    batches = ([sentences[k] for k in ordered[start : start + batch]] for start in range(0, len(ordered), batch))
    for batch_sentences, batch_states, spans, truth in _on_device(batches, states, probes.keys, device):
        with torch.inference_mode():
            logits = probes(batch_states, *spans)
        yield batch_sentences, logits, truth.expand_as(logits)


def count_answers(
    probes: EdgeProbes,
    sentences: Sequence[ProbedSentence],
    states: States,
    scored: torch.Tensor,
    batch: int,
    device: str = "cpu",
) -> Ints:
    """[probe, sentence, 3] true positives, false positives and false negatives over targets and scored labels, which are
    predicted if their probability is one half or more: a target may have none or several.
    """
    place = {id(sentence): k for k, sentence in enumerate(sentences)}
    counts = np.zeros((len(probes.keys), len(sentences), 3), np.int64)
    for batch_sentences, logits, truth in answers(probes, sentences, states, batch, device):
        predicted, gold = (logits >= 0) & scored, truth & scored
        kinds = torch.stack([predicted & gold, predicted & ~gold, ~predicted & gold], dim=-1).sum(dim=2).cpu().numpy()
        starts = np.cumsum([0, *(len(sentence.first) for sentence in batch_sentences[:-1])])
        counts[:, [place[id(sentence)] for sentence in batch_sentences]] = np.add.reduceat(kinds, starts, axis=1)
    return counts


def _random_batches(sentences: Sequence[ProbedSentence], batch: int, seed: int) -> Iterator[list[ProbedSentence]]:
    """Endless batches of all sentences, in a new random order in each pass."""
    generator = np.random.default_rng(seed)
    while True:
        order = generator.permutation(len(sentences))
        for start in range(0, len(order), batch):
            yield [sentences[k] for k in order[start : start + batch]]
