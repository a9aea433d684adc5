"""Training of the probes of Table 3 on attention, all probes and seeds in one pass, with early stopping; their predictions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from attention_atlas.attention.batches import PROBE_CHUNK
from attention_atlas.attention.cache import Attention, RepeatedAttention
from attention_atlas.corpora.examples import Examples
from attention_atlas.corpora.word_vectors import VectorFile, WordVectors, static_vectors
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.models.card import Card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import check_loss, load_model
from attention_atlas.studies.clark2019.names import ATTENTION, ATTENTION_WORDS, BIAS_FREE, DISTANCES_WORDS
from attention_atlas.studies.clark2019.probe_models import (
    ALIGNMENTS,
    AttentionProbe,
    AttentionWordsProbe,
    DistanceProbe,
    Probe,
    Sentence,
    batch_of,
    sentences,
)
from attention_atlas.studies.clark2019.probes import correct_words

ALL_PROBES = (ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS, BIAS_FREE)
_EVALUATION_BATCH = 32
"""Sentences of a batch that is only evaluated."""
_log = logging.getLogger(__name__)
Words = tuple[str, ...]


def word_vectors(
    model: Mapping[str, Any],
    name: str,
    training: Examples,
    evaluation: Examples,
    dimensions: int,
    file: VectorFile | None = None,
) -> WordVectors:
    """Vectors of the words of both treebanks: of a file in GloVe format, or the model's input embeddings, reduced."""
    if file is not None:
        words = {word.lower() for example in (*training, *evaluation) for word in example.words}
        vectors = file(words)
    else:
        weights = load_model(model).get_input_embeddings().get_parameter("weight").detach().float().numpy()
        vectors = static_vectors(weights, [*training, *evaluation], training, dimensions, name)
    _log.info("word vectors: %s; %.1f %% of the evaluation words have one", vectors.label, 100 * vectors.coverage(evaluation))
    return vectors


def probes(
    model: str,
    random: bool,
    card: Card,
    training: RepeatedAttention,
    training_examples: Examples,
    evaluation: Attention,
    evaluation_examples: Examples,
    vectors: WordVectors,
    recipe: Mapping[str, Any],
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Probes of one model (its name and card), trained on one treebank and evaluated on the other: `predictions`, and a summary
    of the training. A `random` model has the probe on attention and words alone; `seed`: of the development sentences.
    """
    chosen = Recipe(**{**recipe, "seeds": tuple(recipe["seeds"])})
    evaluation_sentences = {example.words for example in evaluation_examples}
    used = [example.words for example in training_examples]
    unseen = [words for words in used if words not in evaluation_sentences]
    duplicates, fate = len(used) - len(unseen), "left out" if chosen.duplicates == "corrected" else "trained on"
    _log.info("%d of %d training sentences are in the evaluation treebank, too: %s", duplicates, len(used), fate)
    if chosen.duplicates == "corrected":
        used = unseen
    for_development = development_sentences(used, chosen.development_share, seed)
    for_training = frozenset(used) - for_development

    def read(words: frozenset[Words]) -> Iterator[Sentence]:
        return sentences(training_examples, iter(training), vectors, card.cls, card.sep, lambda e: e.words in words)

    device = pick_device()
    by_name = make_probes((ATTENTION_WORDS,) if random else ALL_PROBES, chosen, card.layers * card.heads, vectors.dimensions)
    for probe in by_name.values():
        probe.to(device)
    development = (lambda: read(for_development)) if for_development else None
    trained = train(by_name, lambda epoch: read(for_training), chosen, device, development)
    cached = progress(evaluation, total=len(evaluation_examples), label="evaluation")
    evaluated = sentences(evaluation_examples, cached, vectors, card.cls, card.sep)
    summary = {
        **{"sentences": trained.sentences, "development_sentences": trained.development_sentences},
        **{"duplicates": duplicates, "duplicates_are": fate},
        **{name: getattr(chosen, name) for name in ("epochs", "patience", "batch", "learning_rate", "order")},
        **{"vectors": vectors.label, "coverage": vectors.coverage(evaluation_examples)},
    }
    for name, epochs in trained.epochs.items():
        summary |= {f"{name}_kept_epoch_min": min(epochs), f"{name}_kept_epoch_max": max(epochs)}
    return {
        "table": predictions(by_name, evaluated).assign(model=model),
        "training": pd.DataFrame(summary.items(), columns=["quantity", "value"]),
    }


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of the probes: the settings `clark2019.probes`, which the schema of the configuration describes."""

    batch: int
    epochs: int
    learning_rate: float
    order: str
    seeds: tuple[int, ...]
    development_share: float = 0.0
    patience: int = 2
    duplicates: str = "corrected"


class Trained(NamedTuple):
    """Sentences of an epoch, those that the epochs were chosen on, and probe -> [slot] epoch that was kept, from 1."""

    sentences: int
    development_sentences: int
    epochs: dict[str, tuple[int, ...]]


def make_probes(names: Sequence[str], recipe: Recipe, maps: int, dimensions: int) -> dict[str, Probe]:
    """The named probes, each for all seeds and, where it sees word vectors, both alignments.

    The probe without a bias, which shows what the bias does, is trained for the first seed and the published alignment.
    """
    makers: dict[str, Callable[[], Probe]] = {
        ATTENTION: lambda: AttentionProbe(recipe.seeds, maps),
        ATTENTION_WORDS: lambda: AttentionWordsProbe(ALIGNMENTS, recipe.seeds, maps, dimensions),
        DISTANCES_WORDS: lambda: DistanceProbe(ALIGNMENTS, recipe.seeds, dimensions),
        BIAS_FREE: lambda: AttentionWordsProbe(ALIGNMENTS[:1], recipe.seeds[:1], maps, dimensions, bias=False),
    }
    return {name: makers[name]() for name in names}


def train(
    probes: Mapping[str, Probe],
    stream: Callable[[int], Iterator[Sentence]],
    recipe: Recipe,
    device: str = "cpu",
    development: Callable[[], Iterator[Sentence]] | None = None,
) -> Trained:
    """Train all probes side by side, in place; `stream` gives the sentences of an epoch in file order, one chunk in memory.

    With development sentences every slot keeps the parameters of the epoch with the least development loss, and a probe is
    trained until all of its slots have ended (see `EarlyStopping`); without, all epochs are trained.
    """
    optimisers = {
        name: torch.optim.Adam([p for p in probe.parameters() if p.requires_grad], lr=recipe.learning_rate)
        for name, probe in probes.items()
    }
    stopping = {} if development is None else {name: EarlyStopping(probe, recipe.patience) for name, probe in probes.items()}
    trained = dict(probes)
    seen = development_seen = 0
    for epoch in range(1, recipe.epochs + 1):
        # Epochs count from 0 here, as in all earlier results.
        generator = np.random.default_rng([epoch - 1, *recipe.seeds])
        batches = _batches(stream(epoch - 1), recipe.batch, recipe.order, generator)
        seen, totals = _pass(trained, batches, device, optimisers)
        if not seen:
            raise AtlasError(
                "there is no sentence to train probes on: every record was dropped (see dropped.tsv), or `limit` is too small."
            )
        _check_finite(totals, epoch, recipe)
        losses = f"loss per sentence: {_shown(totals, seen)}"
        if development is not None:
            development_seen, totals = _pass(trained, _batches(development()), device)
            _check_finite(totals, epoch, recipe)
            losses += f"; development loss per sentence: {_shown(totals, development_seen)}"
            for name, total in totals.items():
                stopping[name].record(epoch, total)
            trained = {name: probe for name, probe in trained.items() if not stopping[name].over}
        _log.info("epoch %d of %d: %d sentences, %s", epoch, recipe.epochs, seen, losses)
        if not trained:
            _log.info("no probe has improved for %d epochs: training ends", recipe.patience)
            break
    kept_epochs = {name: (recipe.epochs,) * len(probe.slots) for name, probe in probes.items()}
    for name, best in stopping.items():
        best.restore()
        kept_epochs[name] = tuple(best.epochs.tolist())
    return Trained(seen, development_seen, kept_epochs)


def _pass(
    probes: Mapping[str, Probe],
    batches: Iterator[list[Sentence]],
    device: str,
    optimisers: Mapping[str, torch.optim.Optimizer] | None = None,
) -> tuple[int, dict[str, torch.Tensor]]:
    """Number of sentences, and probe -> [slot] their summed loss, before each step where the pass trains."""
    seen = 0
    totals = {name: torch.zeros(len(probe.slots), dtype=torch.float64) for name, probe in probes.items()}
    for group in batches:
        batch = batch_of(group, device)
        seen += len(group)
        for name, probe in probes.items():
            with torch.set_grad_enabled(optimisers is not None):
                losses = probe.loss(batch)
            if optimisers is not None:
                optimisers[name].zero_grad(set_to_none=True)
                # Slots share no parameters: the gradient of the sum of their losses is the gradient of each.
                losses.sum().backward()
                optimisers[name].step()
            totals[name] += losses.detach().double().cpu()
    return seen, totals


def _check_finite(totals: Mapping[str, torch.Tensor], epoch: int, recipe: Recipe) -> None:
    remedy = f"Lower learning_rate of the probes ({recipe.learning_rate:g}), or check the word vectors"
    check_loss(torch.cat([*totals.values()]), f"epoch {epoch}", remedy)


def _shown(totals: Mapping[str, torch.Tensor], sentences: int) -> str:
    return ", ".join(f"{name} {losses.mean() / sentences:.2f}" for name, losses in totals.items())


def _batches(
    stream: Iterator[Sentence], size: int = _EVALUATION_BATCH, order: str = "file", generator: np.random.Generator | None = None
) -> Iterator[list[Sentence]]:
    """Batches of sentences, one chunk in memory: in file order, or shuffled within a chunk and of similar length."""
    for _, chunk in groupby(enumerate(stream), key=lambda numbered: numbered[0] // PROBE_CHUNK):
        group = [sentence for _, sentence in chunk]
        numbers = list(range(len(group)))
        if order != "file" and generator is not None:
            ties = generator.random(len(group))
            numbers.sort(key=lambda k: (len(group[k].heads), ties[k]))
        batches = [[group[k] for k in numbers[start : start + size]] for start in range(0, len(group), size)]
        if order != "file" and generator is not None:
            batches = [batches[k] for k in generator.permutation(len(batches))]
        yield from batches


@torch.inference_mode()
def predictions(probes: Mapping[str, Probe], stream: Iterator[Sentence]) -> pd.DataFrame:
    """Probe, root_alignment, seed, record, and `correct_words` of each word's best candidate, which can be the word itself."""
    device = next(next(iter(probes.values())).parameters()).device
    rows: list[dict[str, Any]] = []
    for group in _batches(stream):
        padded = batch_of(group, str(device))
        for name, probe in probes.items():
            scores = probe(padded).double().cpu().numpy()
            for of_slot, (alignment, seed) in zip(scores, probe.slots, strict=True):
                labels = {"probe": name, "root_alignment": alignment, "seed": seed}
                for of_sentence, sentence in zip(of_slot, group, strict=True):
                    n = len(sentence.heads)
                    counts = correct_words(of_sentence[:n, : n + 1].argmax(axis=1), sentence.heads, sentence.punctuation)
                    rows.append({**labels, "record": sentence.record, **counts})
    return pd.DataFrame(rows)


def development_sentences(training: Sequence[Words], share: float, seed: int) -> frozenset[Words]:
    """The distinct sentences that are held out for development, by a seeded permutation of all distinct sentences.

    Equal sentences are on the same side, so that none is in both sets. A share of 0 keeps none, any other at least one.
    """
    if not share:
        return frozenset()
    distinct = list(dict.fromkeys(training))
    if len(distinct) < 2:
        raise AtlasError(
            f"probes.development_share: {len(distinct)} distinct training sentences cannot be divided into a training and a "
            "development set; set it to 0, or use more sentences."
        )
    count = min(max(1, round(share * len(distinct))), len(distinct) - 1)
    return frozenset(distinct[k] for k in np.random.default_rng(seed).permutation(len(distinct))[:count])


class EarlyStopping:
    """Keeps the parameters of each slot's best epoch; a slot ends after `patience` epochs without a lower development loss.

    What a slot keeps does not depend on the others. epochs: [slot] epoch whose parameters are kept, from 1; 0: none yet.
    """

    def __init__(self, probe: Probe, patience: int) -> None:
        self._probe, self._patience = probe, patience
        self._least_losses = torch.full((len(probe.slots),), torch.inf, dtype=torch.float64)
        self._ended = torch.zeros(len(probe.slots), dtype=torch.bool)
        self._best_parameters = [parameter.detach().clone() for parameter in probe.parameters()]
        self.epochs = torch.zeros(len(probe.slots), dtype=torch.int64)

    @property
    def over(self) -> bool:
        """Whether all slots have ended."""
        return bool(self._ended.all())

    def record(self, epoch: int, losses: torch.Tensor) -> None:
        """Keep what improves at this epoch (from 1), by the development losses [slot]; end slots that have not for too long."""
        better = ~self._ended & (losses < self._least_losses)
        self._least_losses[better] = losses[better]
        self.epochs[better] = epoch
        for best, parameter in zip(self._best_parameters, self._probe.parameters(), strict=True):
            slots = better.to(parameter.device)
            best[slots] = parameter.detach()[slots]
        self._ended |= epoch - self.epochs >= self._patience

    def restore(self) -> None:
        """Load the kept parameters into the probe."""
        with torch.no_grad():
            for best, parameter in zip(self._best_parameters, self._probe.parameters(), strict=True):
                parameter.copy_(best)
