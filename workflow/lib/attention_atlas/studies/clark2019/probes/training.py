"""Training the probes on shards of attention, all probes and seeds in one pass, and their predictions."""

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
from attention_atlas.studies.clark2019.probes.decoding import decode
from attention_atlas.studies.clark2019.probes.features import ALIGNMENTS, Sentence, batch_of, sentences
from attention_atlas.studies.clark2019.probes.models import AttentionProbe, AttentionWordsProbe, DistanceProbe, Probe

ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS = "attention_only", "attention_words", "distances_words"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recipe:
    """How probes are trained.

    Attributes:
        batch: sentences a step; the paper has 1.
        epochs: passes over the training set; the paper has 1.
        learning_rate: of Adam.
        order: "file" as published, or "shuffled" within chunks, in batches of like length.
        seeds: one probe of each kind for each.
    """

    batch: int
    epochs: int
    learning_rate: float
    order: str
    seeds: tuple[int, ...]


def make_probes(names: Sequence[str], recipe: Recipe, maps: int, dimensions: int) -> dict[str, Probe]:
    """The named probes, each for all seeds and, where it sees word vectors, both alignments."""
    makers: dict[str, Callable[[], Probe]] = {
        ATTENTION: lambda: AttentionProbe(recipe.seeds, maps),
        ATTENTION_WORDS: lambda: AttentionWordsProbe(ALIGNMENTS, recipe.seeds, maps, dimensions),
        DISTANCES_WORDS: lambda: DistanceProbe(ALIGNMENTS, recipe.seeds, dimensions),
    }
    return {name: makers[name]() for name in names}


def train(probes: Mapping[str, Probe], stream: Callable[[int], Iterator[Sentence]], recipe: Recipe, device: str = "cpu") -> int:
    """Train all probes side by side; every batch is read and padded once for all of them.

    Args:
        probes: what is trained, in place.
        stream: epoch -> the sentences in file order; no more than a chunk of them is kept.
        recipe: batch size, epochs, rate, order.
        device: of the parameters.

    Returns:
        Sentences of an epoch.

    Raises:
        AtlasError: there is no sentence, or a loss is not finite.
    """
    optimisers = [torch.optim.Adam(probe.parameters(), lr=recipe.learning_rate) for probe in probes.values()]
    seen = 0
    for epoch in range(recipe.epochs):
        seen = 0
        generator = np.random.default_rng([epoch, *recipe.seeds])
        totals = {name: torch.zeros(len(probe.slots), dtype=torch.float64) for name, probe in probes.items()}
        for group in _batches(stream(epoch), recipe.batch, recipe.order, generator):
            batch = batch_of(group, device)
            seen += len(group)
            for (name, probe), optimiser in zip(probes.items(), optimisers, strict=True):
                losses = probe.loss(batch)
                optimiser.zero_grad(set_to_none=True)
                # Slots share no parameters, so the sum of their losses gives each its own gradient.
                losses.sum().backward()
                optimiser.step()
                totals[name] += losses.detach().double().cpu()
        if not seen:
            raise AtlasError("there is no sentence to train probes on: every record was dropped, or the limit is too small.")
        if not all(total.isfinite().all() for total in totals.values()):
            raise AtlasError("the loss of a probe is not finite: lower learning_rate of the probes, or check the word vectors.")
        shown = ", ".join(
            f"{name}/{alignment} {part.mean() / seen:.2f}"
            for name, probe in probes.items()
            for alignment, part in zip(probe.alignments, totals[name].chunk(len(probe.alignments)), strict=True)
        )
        _log.info("epoch %d of %d: %d sentences, loss a sentence: %s", epoch + 1, recipe.epochs, seen, shown)
    return seen


def _batches(stream: Iterator[Sentence], size: int, order: str, generator: np.random.Generator) -> Iterator[list[Sentence]]:
    # Sentences are shuffled and put into batches of like length within a chunk.
    for _, chunk in groupby(enumerate(stream), key=lambda numbered: numbered[0] // PROBE_CHUNK):
        group = [sentence for _, sentence in chunk]
        if order == "shuffled":
            # Like lengths together, ties at random; then the batches in random order.
            keys = [(len(s.heads), r) for s, r in zip(group, generator.random(len(group)), strict=True)]
            group = [group[k] for k in sorted(range(len(group)), key=keys.__getitem__)]
        parts = [group[start : start + size] for start in range(0, len(group), size)]
        for k in generator.permutation(len(parts)) if order == "shuffled" else range(len(parts)):
            yield parts[k]


@torch.inference_mode()
def predictions(
    probes: Mapping[str, Probe], stream: Iterator[Sentence], decodings: Sequence[str], batch: int = 32
) -> pd.DataFrame:
    """What every probe gets right on every sentence.

    Returns:
        probe, root_alignment, decoding, seed, record, words, right (without punctuation), words_all, right_all, roots,
        right_roots: a row a sentence.
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


def run_probes(
    model_name: str,
    own: bool,
    card_path: str | Path,
    training: tuple[Sequence[str | Path], Sequence[str | Path], int],
    evaluation: tuple[Sequence[str | Path], Sequence[str | Path], int],
    vectors_path: str | Path,
    vectors_facts: str | Path,
    recipe: Recipe,
    decodings: Sequence[str],
    threads: int,
    out: str | Path,
    summary_out: str | Path,
) -> None:
    """Train the probes of one model and write what they get right on the evaluation treebank.

    Args:
        model_name: whose attention is read.
        own: the run's own model, with all probes; otherwise (random weights) attention with words alone.
        card_path: its card.
        training, evaluation: shards of attention, of examples, and the limit of each treebank.
        vectors_path, vectors_facts: word vectors.
        recipe: of the training.
        decodings: argmax, tree.
        threads: threads of the training.
        out: columns of `predictions`, with the model.
        summary_out: quantity, value.

    Raises:
        AtlasError: a cache cannot be used, or there is nothing to train on.
    """
    torch.set_num_threads(threads)
    card, vectors = read_card(card_path), read_vectors(vectors_path, vectors_facts)
    judged = list(read_examples(evaluation[1], evaluation[2]))
    known = {example.words for example in judged}
    total, kept = 0, 0
    for example in read_examples(training[1], training[2]):
        total += 1
        kept += example.words not in known
    _log.info("%d of %d training sentences are in the evaluation treebank as well and left out", total - kept, total)

    def stream(epoch: int) -> Iterator[Sentence]:
        examples = read_examples(training[1], training[2])
        cached = read_attention(training[0], training[2], verify=epoch == 0)
        found = sentences(examples, cached, vectors, card.cls, card.sep)
        yield from (sentence for sentence in found if sentence.words not in known)

    names = (ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS) if own else (ATTENTION_WORDS,)
    device = pick_device()
    probes = make_probes(names, recipe, card.layers * card.heads, vectors.dimensions)
    for probe in probes.values():
        probe.to(device)
    seen = train(probes, stream, recipe, device)
    found = predictions(probes, _evaluation(judged, evaluation, vectors, card), decodings)
    write_table(found.assign(model=model_name), out)
    summary = {
        "sentences": seen,
        "duplicates": total - kept,
        "epochs": recipe.epochs,
        "batch": recipe.batch,
        "learning_rate": recipe.learning_rate,
        "order": recipe.order,
        "vectors": vectors.label,
        "coverage": vectors.coverage(judged),
    }
    write_quantities(summary, summary_out)


def _evaluation(
    judged: Sequence[Example],
    evaluation: tuple[Sequence[str | Path], Sequence[str | Path], int],
    vectors: WordVectors,
    card: ModelCard,
) -> Iterator[Sentence]:
    cached = progress(read_attention(evaluation[0], evaluation[2]), total=len(judged), label="evaluation")
    yield from sentences(judged, cached, vectors, card.cls, card.sep)
