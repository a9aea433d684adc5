"""Training of the probes on shards of attention, all probes and seeds in one pass, and their predictions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from attention_atlas.attention.batch_sizes import PROBE_CHUNK
from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.corpora.word_vectors import WordVectors, read_vectors
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_quantities, write_table
from attention_atlas.models.card import ModelCard, read_card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.finite import check_loss
from attention_atlas.studies.clark2019.probes.decoding import decode
from attention_atlas.studies.clark2019.probes.early_stopping import EarlyStopping, development_sentences
from attention_atlas.studies.clark2019.probes.features import ALIGNMENTS, FIXED, HeadDistances, Sentence, batch_of, sentences
from attention_atlas.studies.clark2019.probes.models import (
    AttentionProbe,
    AttentionWordsProbe,
    DistanceProbe,
    Probe,
    ShuffledHeadsProbe,
)
from attention_atlas.studies.clark2019.probes.names import (
    ATTENTION,
    ATTENTION_WORDS,
    BIAS_FREE,
    DISTANCES_WORDS,
    SHUFFLED_WORDS,
)

ALL_PROBES = (ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS, SHUFFLED_WORDS, BIAS_FREE)
RANDOM_PROBES = (ATTENTION_WORDS,)
"""Probes of a randomly initialised model."""
_EVALUATION_BATCH = 32
"""Sentences of a batch that is only evaluated."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of the probes.

    Attributes:
        batch: sentences per step; the paper has 1.
        epochs: passes over the training set; the paper has 1. With development sentences, the largest number of passes.
        learning_rate: of Adam.
        order: "file" as published, or "shuffled" within chunks, in batches of similar length.
        seeds: one probe of each kind for each.
        development_share: share (0 to 1) of the training sentences that is kept for early stopping; 0, as published: none.
        patience: epochs without a lower development loss after which a probe of one seed ends.
        development_seed: of the choice of development sentences.
        duplicates: of training sentences that are in the evaluation treebank as well. "corrected": dropped; "released_code":
            trained on.
    """

    batch: int
    epochs: int
    learning_rate: float
    order: str
    seeds: tuple[int, ...]
    development_share: float = 0.0
    patience: int = 2
    development_seed: int = 0
    duplicates: str = "corrected"


@dataclass(frozen=True)
class Trained:
    """Sentences and epochs of a training.

    Attributes:
        sentences: trained on in an epoch.
        development_sentences: that the epochs were chosen on; 0 where all epochs were trained.
        epochs: probe -> [slot] epoch whose parameters were kept, from 1.
    """

    sentences: int
    development_sentences: int
    epochs: dict[str, tuple[int, ...]]


def make_probes(names: Sequence[str], recipe: Recipe, maps: int, dimensions: int) -> dict[str, Probe]:
    """The named probes, each for all seeds and, where it sees word vectors, both alignments (a control: one).

    The probe without a bias, which shows what the bias does, is trained for the first seed and the published alignment.
    """
    makers: dict[str, Callable[[], Probe]] = {
        ATTENTION: lambda: AttentionProbe(recipe.seeds, maps),
        ATTENTION_WORDS: lambda: AttentionWordsProbe(ALIGNMENTS, recipe.seeds, maps, dimensions),
        DISTANCES_WORDS: lambda: DistanceProbe(ALIGNMENTS, recipe.seeds, dimensions),
        # A control needs no second alignment of ROOT.
        SHUFFLED_WORDS: lambda: ShuffledHeadsProbe([FIXED], recipe.seeds, maps, dimensions),
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
    """Train all probes side by side; every batch is read and padded once for all of them.

    With development sentences every slot keeps the parameters of the epoch with the least development loss, and a probe is
    trained until all of its slots have ended (see `EarlyStopping`); without, all epochs are trained.

    Args:
        probes: trained in place.
        stream: epoch -> the sentences in file order; at most one chunk of them is in memory.
        recipe: batch size, epochs, rate, order, patience.
        device: of the parameters.
        development: the development sentences, in batches in memory; none of them is trained on.

    Returns:
        Number of sentences and the epochs kept.

    Raises:
        AtlasError: there is no sentence, or a loss is not finite.
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
        seen, totals = _train_epoch(trained, optimisers, batches, device)
        if not seen:
            raise AtlasError(
                "there is no sentence to train probes on: every record was dropped (see dropped.tsv), or `limit` is too small."
            )
        _check_finite(totals, epoch, recipe)
        losses = f"loss per sentence: {_shown(trained, totals, seen)}"
        if development is not None:
            development_seen, development_totals = _losses(trained, development(), device)
            _check_finite(development_totals, epoch, recipe)
            losses += f"; development loss per sentence: {_shown(trained, development_totals, development_seen)}"
            for name, total in development_totals.items():
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


def _train_epoch(
    probes: Mapping[str, Probe],
    optimisers: Mapping[str, torch.optim.Optimizer],
    batches: Iterator[list[Sentence]],
    device: str,
) -> tuple[int, dict[str, torch.Tensor]]:
    """Number of sentences, and probe -> [slot] their summed loss as it was before each step."""
    seen = 0
    totals = {name: torch.zeros(len(probe.slots), dtype=torch.float64) for name, probe in probes.items()}
    for group in batches:
        batch = batch_of(group, device)
        seen += len(group)
        for name, probe in probes.items():
            losses = probe.loss(batch)
            optimisers[name].zero_grad(set_to_none=True)
            # Slots share no parameters: the gradient of the sum of their losses is the gradient of each.
            losses.sum().backward()
            optimisers[name].step()
            totals[name] += losses.detach().double().cpu()
    return seen, totals


@torch.inference_mode()
def _losses(
    probes: Mapping[str, Probe], stream: Iterator[Sentence], device: str, batch: int = _EVALUATION_BATCH
) -> tuple[int, dict[str, torch.Tensor]]:
    """Number of sentences, and probe -> [slot] their summed loss, without training."""
    seen = 0
    totals = {name: torch.zeros(len(probe.slots), dtype=torch.float64) for name, probe in probes.items()}
    for group in _batches(stream, batch, "file", np.random.default_rng(0)):
        padded = batch_of(group, device)
        seen += len(group)
        for name, probe in probes.items():
            totals[name] += probe.loss(padded).double().cpu()
    return seen, totals


def _check_finite(totals: Mapping[str, torch.Tensor], epoch: int, recipe: Recipe) -> None:
    remedy = f"Lower learning_rate of the probes ({recipe.learning_rate:g}), or check the word vectors"
    check_loss(torch.cat([*totals.values()]), f"epoch {epoch}", remedy)


def _shown(probes: Mapping[str, Probe], totals: Mapping[str, torch.Tensor], sentences: int) -> str:
    """Mean loss per sentence of each probe and alignment, over seeds."""
    return ", ".join(
        f"{name}/{alignment} {part.mean() / sentences:.2f}"
        for name, probe in probes.items()
        for alignment, part in zip(probe.alignments, totals[name].chunk(len(probe.alignments)), strict=True)
    )


def _batches(stream: Iterator[Sentence], size: int, order: str, generator: np.random.Generator) -> Iterator[list[Sentence]]:
    # Sentences are shuffled and put into batches of similar length within a chunk.
    for _, chunk in groupby(enumerate(stream), key=lambda numbered: numbered[0] // PROBE_CHUNK):
        group = [sentence for _, sentence in chunk]
        if order == "shuffled":
            # Similar lengths together, ties in random order; then the batches in random order.
            keys = [(len(s.heads), r) for s, r in zip(group, generator.random(len(group)), strict=True)]
            group = [group[k] for k in sorted(range(len(group)), key=keys.__getitem__)]
        parts = [group[start : start + size] for start in range(0, len(group), size)]
        for k in generator.permutation(len(parts)) if order == "shuffled" else range(len(parts)):
            yield parts[k]


@torch.inference_mode()
def predictions(
    probes: Mapping[str, Probe], stream: Iterator[Sentence], decodings: Sequence[str], batch: int = _EVALUATION_BATCH
) -> pd.DataFrame:
    """Correct words of every probe on every sentence.

    Returns:
        probe, root_alignment, decoding, seed, record, words, right (without punctuation), words_all, right_all, roots,
        right_roots: one row for each sentence.
    """
    device = next(next(iter(probes.values())).parameters()).device
    rows: list[dict[str, Any]] = []
    for group in _batches(stream, batch, "file", np.random.default_rng(0)):
        padded = batch_of(group, str(device))
        for name, probe in probes.items():
            scores = probe(padded).double().cpu().numpy()
            for (slot, (alignment, seed)), decoding in product(enumerate(probe.slots), decodings):
                labels = {"probe": name, "root_alignment": alignment, "decoding": decoding, "seed": seed}
                for row, sentence in enumerate(group):
                    n = len(sentence.heads)
                    rows.append(labels | _counts(decode(scores[slot, row, :n, : n + 1], decoding), sentence))
    return pd.DataFrame(rows)


def _counts(picked: np.ndarray, sentence: Sentence) -> dict[str, int]:
    right = picked == sentence.heads
    words, root = ~sentence.punctuation, sentence.heads == 0
    return {
        "record": sentence.record,
        "words": int(words.sum()),
        "right": int(right[words].sum()),
        "words_all": len(right),
        "right_all": int(right.sum()),
        "roots": int(root.sum()),
        "right_roots": int(right[root].sum()),
    }


@dataclass(frozen=True)
class Treebank:
    """A treebank with the attention of one model.

    Attributes:
        shards: attention, in order.
        examples: tables of examples, in order.
        limit: use at most this many records.
    """

    shards: Sequence[str | Path]
    examples: Sequence[str | Path]
    limit: int


@dataclass(frozen=True)
class VectorFiles:
    """Word vectors as `prepare_vectors` writes them.

    Attributes:
        vectors, facts: the vectors, and their description.
    """

    vectors: str | Path
    facts: str | Path


@dataclass(frozen=True)
class ProbeOutputs:
    """Files that `run_probes` writes.

    Attributes:
        table: columns of `predictions`, with the model.
        summary: quantity, value; of each probe the least and the largest epoch that a slot kept.
    """

    table: str | Path
    summary: str | Path


def run_probes(
    model_name: str,
    card_path: str | Path,
    probe_names: Sequence[str],
    training: Treebank,
    evaluation: Treebank,
    vector_files: VectorFiles,
    recipe: Recipe,
    decodings: Sequence[str],
    threads: int,
    outputs: ProbeOutputs,
) -> None:
    """Train the probes of one model and evaluate them on the evaluation treebank.

    Args:
        model_name: the model whose attention the probes read.
        card_path: its card.
        probe_names: probes to train: `ALL_PROBES`, or `RANDOM_PROBES` for a randomly initialised model.
        training, evaluation: the treebanks.
        vector_files: word vectors.
        recipe: hyperparameters.
        decodings: argmax, tree.
        threads: threads of the training.
        outputs: files to write.

    Raises:
        AtlasError: a cache cannot be used, or there is nothing to train on.
    """
    torch.set_num_threads(threads)
    card, vectors = read_card(card_path), read_vectors(vector_files.vectors, vector_files.facts)
    evaluation_examples = list(read_examples(evaluation.examples, evaluation.limit))
    evaluation_sentences = {example.words for example in evaluation_examples}
    every_sentence = [example.words for example in read_examples(training.examples, training.limit)]
    unseen = [words for words in every_sentence if words not in evaluation_sentences]
    duplicates = len(every_sentence) - len(unseen)
    used = unseen if recipe.duplicates == "corrected" else every_sentence
    fate = "trained on" if used is every_sentence else "left out"
    _log.info("%d of %d training sentences are in the evaluation treebank, too: %s", duplicates, len(every_sentence), fate)
    for_development = development_sentences(used, recipe.development_share, recipe.development_seed)
    for_training = frozenset(used) - for_development

    distances = None
    if SHUFFLED_WORDS in probe_names:
        training_examples = read_examples(training.examples, training.limit)
        distances = HeadDistances(e.layers["heads"] for e in training_examples if e.words in for_training)

    def read(chosen: frozenset[tuple[str, ...]], verify: bool) -> Iterator[Sentence]:
        examples = read_examples(training.examples, training.limit)
        cached = read_attention(training.shards, training.limit, verify=verify)
        return sentences(examples, cached, vectors, card.cls, card.sep, lambda example: example.words in chosen, distances)

    device = pick_device()
    probes = make_probes(probe_names, recipe, card.layers * card.heads, vectors.dimensions)
    for probe in probes.values():
        probe.to(device)
    development = (lambda: read(for_development, verify=False)) if for_development else None
    trained = train(probes, lambda epoch: read(for_training, verify=epoch == 0), recipe, device, development)
    results = predictions(probes, _evaluation(evaluation_examples, evaluation, vectors, card), decodings)
    write_table(results.assign(model=model_name), outputs.table)
    summary = {
        "sentences": trained.sentences,
        "development_sentences": trained.development_sentences,
        "duplicates": duplicates,
        "duplicates_are": fate,
        "epochs": recipe.epochs,
        "patience": recipe.patience,
        "batch": recipe.batch,
        "learning_rate": recipe.learning_rate,
        "order": recipe.order,
        "vectors": vectors.label,
        "coverage": vectors.coverage(evaluation_examples),
    }
    for name, epochs in trained.epochs.items():
        summary |= {f"{name}_kept_epoch_min": min(epochs), f"{name}_kept_epoch_max": max(epochs)}
    write_quantities(summary, outputs.summary)


def _evaluation(
    examples: Sequence[Example],
    evaluation: Treebank,
    vectors: WordVectors,
    card: ModelCard,
) -> Iterator[Sentence]:
    cached = progress(read_attention(evaluation.shards, evaluation.limit), total=len(examples), label="evaluation")
    yield from sentences(examples, cached, vectors, card.cls, card.sep)
