"""The probes of section 5: attention between words with the ROOT column, probes of all seeds at a time, and their training.

Every parameter of a probe has a leading axis of its alignments and seeds, the slots. A probe gives scores [slot, b, N, N + 1]:
for every word the candidates ROOT, w_1 .. w_N; their softmax is p(head | word).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import nn

from attention_atlas.attention.batches import PROBE_CHUNK
from attention_atlas.attention.cache import Attention, CachedExample, RepeatedAttention, with_attention
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.word_vectors import VectorFile, WordVectors, static_vectors
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.models.card import Card
from attention_atlas.models.devices import pick_device
from attention_atlas.models.loading import check_loss, load_model
from attention_atlas.studies.clark2019.probe_scores import ATTENTION, ATTENTION_WORDS, BIAS_FREE, DISTANCES_WORDS, correct_words

LEGACY, FIXED = "legacy", "fixed"
ALIGNMENTS = (LEGACY, FIXED)
ALL_PROBES = (ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS, BIAS_FREE)
DISTANCES = 8
HIDDEN = 256
_log = logging.getLogger(__name__)


def probes(
    base_model: str,
    card: Card,
    training: RepeatedAttention,
    training_examples: Examples,
    evaluation: Attention,
    evaluation_examples: Examples,
    embeddings: Mapping[str, Any],
    recipe: Mapping[str, Any],
    file: VectorFile | None = None,
) -> dict[str, pd.DataFrame]:
    """Probes of one model, trained on one treebank and evaluated on the other: `predictions`, and a summary of the training.
    Another model than the `base_model` has random weights, and the probe on attention and words alone.

    Word vectors: of a file in GloVe's format, or the input embeddings of the base model (its registry entry), reduced.
    """
    if file is not None:
        words = {word.lower() for example in (*training_examples, *evaluation_examples) for word in example.words}
        vectors = file(words)
    else:
        weights = load_model(embeddings).get_input_embeddings().get_parameter("weight").detach().float().numpy()
        both = [*training_examples, *evaluation_examples]
        vectors = static_vectors(weights, both, training_examples, recipe["dimensions"], base_model)
    evaluated = {example.words for example in evaluation_examples}
    duplicates = sum(example.words in evaluated for example in training_examples)
    left_out = evaluated if recipe["duplicates"] == "corrected" else set()
    fate = "left out" if left_out else "trained on"
    names = ALL_PROBES if card.name == base_model else (ATTENTION_WORDS,)
    device = pick_device()
    by_name = make_probes(names, recipe["seeds"], card.layers * card.heads, vectors.dimensions)
    for probe in by_name.values():
        probe.to(device)

    def read() -> Iterator[Sentence]:
        return sentences(training_examples, iter(training), vectors, card, lambda example: example.words not in left_out)

    summary = {
        **{"sentences": train(by_name, read, recipe, device), "duplicates": duplicates, "duplicates_are": fate},
        **{name: recipe[name] for name in ("epochs", "batch", "learning_rate", "order")},
        **{"vectors": vectors.label, "coverage": vectors.coverage(evaluation_examples)},
    }
    cached = progress(evaluation, total=len(evaluation_examples), label="evaluation")
    return {
        "table": predictions(by_name, sentences(evaluation_examples, cached, vectors, card)).assign(model=card.name),
        "training": pd.DataFrame(summary.items(), columns=["quantity", "value"]),
    }


@dataclass(frozen=True)
class Sentence:
    """One sentence for the probes: n words, K maps; pairs: [n, 2 K, n + 2] as `laid_out` gives it; vectors: [n, d], equal for
    equal words; heads: [n] gold heads, 0 = ROOT; punctuation: [n] which words have the relation punct.
    """

    record: int
    words: tuple[str, ...]
    pairs: npt.NDArray[np.float32]
    vectors: npt.NDArray[np.float32]
    heads: npt.NDArray[np.int64]
    punctuation: npt.NDArray[np.bool_]


def sentences(
    examples: Iterable[Example],
    cached: Iterable[CachedExample],
    vectors: WordVectors,
    card: Card,
    wanted: Callable[[Example], bool] = lambda example: True,
) -> Iterator[Sentence]:
    """The wanted sentences of a treebank with their attention, one in memory at a time."""
    for example, maps in with_attention(examples, cached):
        if "heads" not in example.layers:
            raise AtlasError(f"example {example.id} has no dependency tree: Table 3 needs corpora of reader conllu.")
        if wanted(example):
            yield Sentence(
                example.record,
                example.words,
                laid_out(maps, card),
                vectors.of(example.words),
                np.asarray(example.layers["heads"], dtype=np.int64),
                np.asarray([relation == "punct" for relation in example.layers["relations"]]),
            )


def laid_out(cached: CachedExample, card: Card) -> npt.NDArray[np.float32]:
    """[n, 2 K, n + 2] raw attention as probes read it: of word i to [CLS], all [SEP] and each word (first K), and from them.

    Zeros where the model has no such token.
    """
    by_word = cached.word_maps()
    by_word = by_word.reshape(-1, *by_word.shape[-2:])
    special, names = cached.special_units, np.asarray(cached.words, dtype=object)
    maps, n = len(by_word), int((~special).sum())
    pairs = np.empty((n, 2, maps, n + 2), np.float32)
    for half, weights in enumerate((by_word[:, ~special], by_word[..., ~special].swapaxes(1, 2))):
        for column, token in enumerate((card.cls, card.sep)):
            pairs[:, half, :, column] = weights[..., special & (names == token)].sum(-1).T
        pairs[:, half, :, 2:] = weights[..., ~special].swapaxes(0, 1)
    return pairs.reshape(n, 2 * maps, n + 2)


@dataclass(frozen=True)
class Batch:
    """A batch of sentences, padded to the longest, N words. Maps are not padded: copying them would dominate the run time.

    pairs: of each sentence, see `laid_out`; special: [b, N, 2 K, 2] the first two columns of `pairs`; words: [U + 1, d] vectors
    of the distinct words, the first row zeros, for padding; word: [b, N] row of `words`; heads: [b, N], -100 for padding;
    mask: [b, N] real words.
    """

    pairs: tuple[torch.Tensor, ...]
    special: torch.Tensor
    words: torch.Tensor
    word: torch.Tensor
    heads: torch.Tensor
    mask: torch.Tensor

    def candidates(self, alignment: str) -> torch.Tensor:
        """[b, N + 1] row of `words` of the candidates ROOT, w_1 .. w_N.

        fixed: zeros for ROOT. legacy, as in the published code: the zeros come last, so that ROOT has the vector of w_1 and
        every word that of the next one.
        """
        return nn.functional.pad(self.word, (1, 0) if alignment == FIXED else (0, 1))


def batch_of(group: Sequence[Sentence], device: str = "cpu") -> Batch:
    rows: dict[str, int] = {}
    words = [np.zeros_like(group[0].vectors[0])]
    for name, vector in ((name, s.vectors[k]) for s in group for k, name in enumerate(s.words)):
        if name not in rows:
            rows[name] = len(words)
            words.append(vector)

    def padded(arrays: Iterable[npt.NDArray[Any]], value: int) -> torch.Tensor:
        tensors = [torch.from_numpy(array).to(device) for array in arrays]
        return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=value)

    heads = padded((s.heads for s in group), -100)
    return Batch(
        pairs=tuple(torch.from_numpy(s.pairs).to(device) for s in group),
        special=padded((s.pairs[..., :2] for s in group), 0),
        words=torch.from_numpy(np.stack(words)).to(device),
        word=padded((np.array([rows[name] for name in s.words]) for s in group), 0),
        heads=heads,
        mask=heads >= 0,
    )


def distance_features(words: int) -> torch.Tensor:
    """Distances from each word i to the candidates ROOT, w_1 .. w_n: [n, n + 1, 8].

    (j - i) / n for a candidate after the word, (i - j) / n for one before it; whether j - i is 0, -1, 1, -2, 2; whether the
    candidate is ROOT, which has no other feature.
    """
    i = torch.arange(1, words + 1)[:, None]
    j = torch.arange(words + 1)[None, :]
    offset = (j - i).float()
    real = (j > 0).float()
    columns = [offset.clamp(min=0) / words, (-offset).clamp(min=0) / words]
    columns += [(offset == k).float() for k in (0, -1, 1, -2, 2)]
    root = (j == 0).float().expand(words, -1)
    return torch.stack([*(column * real for column in columns), root], dim=-1)


class Probe(nn.Module):
    """Base of the probes; slots: alignment of ROOT and vectors ("-" without vectors) and seed; seeds vary fastest."""

    def __init__(self, alignments: Sequence[str], seeds: Sequence[int]) -> None:
        super().__init__()
        self.slots = tuple(product(alignments, seeds))
        self._generators = [torch.Generator().manual_seed(seed) for _, seed in self.slots]

    def initial(self, *shape: int, fans: int) -> torch.Tensor:
        """Initial values [slot, *shape] as TensorFlow 1 draws them where the published code names none.

        They are uniform within Glorot's bound sqrt(6 / fans); fans are inputs + outputs, where a vector of n weights counts n
        of each, and a scalar one of each. Each slot has its own generator: its values depend only on its seed.
        """
        drawn = torch.stack([torch.rand(shape, generator=generator) for generator in self._generators])
        return (2 * drawn - 1) * math.sqrt(6 / fans)

    def loss(self, batch: Batch) -> torch.Tensor:
        """[slot] cross-entropy in nats summed over all words of the batch, punctuation included."""
        scores = self(batch)
        targets = batch.heads[batch.mask].expand(scores.shape[0], -1)
        return nn.functional.cross_entropy(scores[:, batch.mask].transpose(1, 2), targets, reduction="none").sum(-1)


class AttentionProbe(Probe):
    """Attention alone: sum_k w_k a_ij + u_k a_ji; ROOT by attention to and from [CLS] and [SEP] with two learned scalars."""

    def __init__(self, seeds: Sequence[int], maps: int) -> None:
        super().__init__(["-"], seeds)
        self.weights = nn.Parameter(self.initial(2 * maps, fans=4 * maps))
        self.root = nn.Parameter(self.initial(2, fans=2))

    def forward(self, batch: Batch) -> torch.Tensor:
        weights = self.weights.expand(*batch.mask.shape, -1, -1)
        scores = _over_pairs(weights, batch.pairs).permute(2, 0, 1, 3)
        return _masked(_with_root(self.root, scores[..., :2], scores[..., 2:]), batch)


class AttentionWordsProbe(Probe):
    """Attention weighted by words: the weights of every pair's maps are linear in the vectors of word and candidate.

    The published code has a bias beside them, the paper's formula has none (`bias`). The weights are a sum of a term of the
    word and a term of the candidate, so that scores are two matrix products, without a tensor over pairs and weights.
    """

    def __init__(self, alignments: Sequence[str], seeds: Sequence[int], maps: int, dimensions: int, bias: bool = True) -> None:
        super().__init__(alignments, seeds)
        full = self.initial(2 * dimensions, 2 * maps, fans=2 * dimensions + 2 * maps)
        self.of_word = nn.Parameter(full[:, :dimensions].clone())
        self.of_candidate = nn.Parameter(full[:, dimensions:].clone())
        self.bias = nn.Parameter(torch.zeros(len(self.slots), 2 * maps), requires_grad=bias)
        self.root = nn.Parameter(self.initial(2, fans=2))

    def forward(self, batch: Batch) -> torch.Tensor:
        slots, maps = len(self.slots), self.bias.shape[-1]
        # The row of a candidate holds a_ji in the first half of the maps and a_ij in the second.
        parts = torch.cat([self.of_word, self.of_candidate.roll(maps // 2, dims=-1)])
        bias = torch.cat([self.bias, torch.zeros_like(self.bias)])
        word_terms = torch.addmm(bias.flatten(), batch.words, parts.transpose(0, 1).flatten(1)).view(-1, maps)
        candidates = torch.stack([batch.candidates(alignment) for alignment, _ in self.slots], dim=-1)
        rows_of_words = torch.cat([batch.word[..., None].expand(-1, -1, slots), candidates[:, 1:]], dim=-1)
        of_slot = torch.arange(2 * slots, device=rows_of_words.device)
        weights = nn.functional.embedding(rows_of_words * (2 * slots) + of_slot, word_terms)
        # One product for words and candidates of all slots, since reading the maps dominates the run time.
        products = _over_pairs(weights, batch.pairs)
        rows, columns = products[:, :, :slots].permute(2, 0, 1, 3), products[:, :, slots:].permute(2, 0, 3, 1)
        of_root = nn.functional.embedding(candidates[:, 0] * (2 * slots) + of_slot[slots:], word_terms).roll(maps // 2, dims=-1)
        to_root = rows[..., :2] + torch.einsum("bsk,bikc->sbic", of_root, batch.special)
        return _masked(_with_root(self.root, to_root, rows[..., 2:] + columns[:, :, 2:]), batch)


class DistanceProbe(Probe):
    """No attention: a hidden layer over distances and both words' vectors (and, as in the published code, one zero)."""

    def __init__(self, alignments: Sequence[str], seeds: Sequence[int], dimensions: int) -> None:
        super().__init__(alignments, seeds)
        # One more input than is used: the published code feeds a zero, which only widens the initial bound.
        inputs = 1 + DISTANCES + 2 * dimensions
        full = self.initial(inputs, HIDDEN, fans=inputs + HIDDEN)[:, 1:]
        self.of_distance = nn.Parameter(full[:, :DISTANCES].clone())
        self.of_word = nn.Parameter(full[:, DISTANCES : DISTANCES + dimensions].clone())
        self.of_candidate = nn.Parameter(full[:, DISTANCES + dimensions :].clone())
        self.bias = nn.Parameter(torch.zeros(len(self.slots), HIDDEN))
        self.out = nn.Parameter(self.initial(HIDDEN, 1, fans=HIDDEN + 1)[..., 0])

    def forward(self, batch: Batch) -> torch.Tensor:
        features = torch.zeros(*batch.mask.shape, batch.mask.shape[1] + 1, DISTANCES, device=batch.mask.device)
        for row, n in enumerate(batch.mask.sum(-1).tolist()):
            features[row, :n, : n + 1] = distance_features(n)
        scores = []
        # One slot at a time: the hidden layer of all pairs is the largest tensor of all probes.
        for s, (alignment, _) in enumerate(self.slots):
            word = (batch.words @ self.of_word[s] + self.bias[s])[batch.word]
            candidate = (batch.words @ self.of_candidate[s])[batch.candidates(alignment)]
            hidden = torch.tanh(features @ self.of_distance[s] + word[:, :, None] + candidate[:, None])
            scores.append(hidden @ self.out[s])
        return _masked(torch.stack(scores), batch)


def _over_pairs(weights: torch.Tensor, pairs: Sequence[torch.Tensor]) -> torch.Tensor:
    """Maps summed with weights: [b, N, slot, 2 K] of every word -> [b, N, slot, N + 2] for [CLS], [SEP] and the words."""
    sums = [torch.bmm(of_sentence[: len(maps)], maps) for of_sentence, maps in zip(weights, pairs, strict=True)]
    absent = [weights.shape[1] - len(maps) for maps in pairs]
    return torch.stack([nn.functional.pad(part, (0, n, 0, 0, 0, n)) for part, n in zip(sums, absent, strict=True)])


def _with_root(scalars: torch.Tensor, special: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Scores with ROOT first: s times that of [CLS] and e times that of [SEP]; scalars [slot, 2], others [slot, b, N, _]."""
    return torch.cat([(special * scalars[:, None, None]).sum(-1, keepdim=True), words], dim=-1)


def _masked(scores: torch.Tensor, batch: Batch) -> torch.Tensor:
    candidates = nn.functional.pad(batch.mask, (1, 0), value=True)
    return scores.masked_fill(~candidates[:, None], -1e9)


def make_probes(names: Sequence[str], seeds: Sequence[int], maps: int, dimensions: int) -> dict[str, Probe]:
    """The named probes for all seeds and both alignments; the one without a bias for the first seed and as published."""
    makers: dict[str, Callable[[], Probe]] = {
        ATTENTION: lambda: AttentionProbe(seeds, maps),
        ATTENTION_WORDS: lambda: AttentionWordsProbe(ALIGNMENTS, seeds, maps, dimensions),
        DISTANCES_WORDS: lambda: DistanceProbe(ALIGNMENTS, seeds, dimensions),
        BIAS_FREE: lambda: AttentionWordsProbe(ALIGNMENTS[:1], seeds[:1], maps, dimensions, bias=False),
    }
    return {name: makers[name]() for name in names}


def train(
    probes: Mapping[str, Probe], stream: Callable[[], Iterator[Sentence]], recipe: Mapping[str, Any], device: str = "cpu"
) -> int:
    """Train all probes side by side, in place; the number of sentences of an epoch, which `stream` gives in file order."""
    optimisers = {
        name: torch.optim.Adam([p for p in probe.parameters() if p.requires_grad], lr=recipe["learning_rate"])
        for name, probe in probes.items()
    }
    for epoch in range(1, recipe["epochs"] + 1):
        totals = {name: torch.zeros(len(probe.slots), dtype=torch.float64) for name, probe in probes.items()}
        seen = 0
        # Epochs count from 0 here, as in all earlier results.
        generator = np.random.default_rng([epoch - 1, *recipe["seeds"]]) if recipe["order"] == "shuffled" else None
        for group in _batches(stream(), recipe["batch"], generator):
            batch = batch_of(group, device)
            seen += len(group)
            for name, probe in probes.items():
                losses = probe.loss(batch)
                optimisers[name].zero_grad(set_to_none=True)
                # Slots share no parameters: the gradient of the sum of their losses is the gradient of each.
                losses.sum().backward()
                optimisers[name].step()
                totals[name] += losses.detach().double().cpu()
        if not seen:
            raise AtlasError(
                "there is no sentence to train probes on: every record was dropped (see dropped.tsv), or `limit` is too small."
            )
        remedy = f"Lower learning_rate of the probes ({recipe['learning_rate']:g}), or check the word vectors"
        check_loss(torch.cat([*totals.values()]), f"epoch {epoch}", remedy)
        per_sentence = ", ".join(f"{name} {losses.mean() / seen:.2f}" for name, losses in totals.items())
        _log.info("epoch %d of %d: %d sentences, loss per sentence: %s", epoch, recipe["epochs"], seen, per_sentence)
    return seen


def _batches(stream: Iterator[Sentence], size: int, generator: np.random.Generator | None = None) -> Iterator[list[Sentence]]:
    """Batches of sentences, one chunk in memory: in file order, or with a generator shuffled within a chunk, by length."""
    for _, chunk in groupby(enumerate(stream), key=lambda numbered: numbered[0] // PROBE_CHUNK):
        group = [sentence for _, sentence in chunk]
        numbers = list(range(len(group)))
        if generator is not None:
            ties = generator.random(len(group))
            numbers.sort(key=lambda k: (len(group[k].heads), ties[k]))
        batches = [[group[k] for k in numbers[start : start + size]] for start in range(0, len(group), size)]
        if generator is not None:
            batches = [batches[k] for k in generator.permutation(len(batches))]
        yield from batches


@torch.inference_mode()
def predictions(probes: Mapping[str, Probe], stream: Iterator[Sentence]) -> pd.DataFrame:
    """Probe, root_alignment, seed, record, and `correct_words` of each word's best candidate, which can be the word itself."""
    device = next(next(iter(probes.values())).parameters()).device
    rows: list[dict[str, Any]] = []
    for group in _batches(stream, size=32):
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
