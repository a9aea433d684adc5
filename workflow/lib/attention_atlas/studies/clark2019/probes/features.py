"""Inputs of the probes: attention between words with the ROOT column, distances, and word vectors with their alignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from attention_atlas.attention.cache import CachedExample
from attention_atlas.attention.pairing import with_attention
from attention_atlas.corpora.examples import Example
from attention_atlas.corpora.word_vectors import WordVectors
from attention_atlas.errors import AtlasError

LEGACY, FIXED = "legacy", "fixed"
ALIGNMENTS = (LEGACY, FIXED)
DISTANCES = 8


@dataclass(frozen=True)
class Sentence:
    """One sentence for the probes: n words, K maps.

    Attributes:
        record, words: of the example.
        pairs: [n, 2 K, n + 2] attention between words as `laid_out` gives it.
        vectors: [n, d] word vectors; equal words have equal vectors.
        heads: [n] gold heads, 0 = ROOT.
        punctuation: [n] which words have the relation punct.
        shuffled_heads: [n] heads of a control, see `HeadDistances`; None where no probe is trained on them.
    """

    record: int
    words: tuple[str, ...]
    pairs: npt.NDArray[np.float32]
    vectors: npt.NDArray[np.float32]
    heads: npt.NDArray[np.int64]
    punctuation: npt.NDArray[np.bool_]
    shuffled_heads: npt.NDArray[np.int64] | None = None


class HeadDistances:
    """How far heads are from their words in a treebank, for a control whose heads carry no information about the sentence.

    Each word gets the distance of a random word of the treebank, among those that put its head inside its sentence. Heads
    shuffled within a sentence would be no control: attention still marks these words as heads.

    Args:
        heads: of the words of each sentence, 0 = ROOT.
    """

    def __init__(self, heads: Iterable[Sequence[int]]) -> None:
        self._counts: Counter[int] = Counter()
        self._roots = 0
        for sentence_heads in heads:
            self._counts.update(head - word for word, head in enumerate(sentence_heads, start=1) if head)
            self._roots += sum(not head for head in sentence_heads)

    def shuffled(self, words: int, record: int) -> npt.NDArray[np.int64]:
        """[word] heads of a sentence of this length; the same for a record each time."""
        distances = np.arange(words)[None, :] - np.arange(words)[:, None]
        lookup = np.array([self._counts[distance] for distance in range(1 - words, words)], dtype=np.float64)
        weights = np.concatenate([np.full((words, 1), float(self._roots)), lookup[distances + words - 1]], axis=1)
        # Where no word of the treebank has such a distance, only ROOT is left.
        weights[weights.sum(axis=1) == 0, 0] = 1
        shares = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        drawn = np.random.default_rng([record, words]).random((words, 1))
        return np.minimum((drawn >= shares).sum(axis=1), words)


def laid_out(
    maps: npt.NDArray[np.float32], cls: npt.NDArray[np.float32], sep: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Attention in the order in which probes read it: from a word to a candidate and back, all maps of a word together.

    Args:
        maps: [K, n, n] attention from word to word, raw weights; no rows or columns of special tokens, no renormalisation.
        cls, sep: [2 K, n] for ROOT: attention from each word to [CLS] and to all [SEP] (first K rows), and from them to the
            word (last K rows); zeros where the model has no such token.

    Returns:
        [n, 2 K, n + 2] of word i: attention to a candidate (first K) and from it (last K); the candidates are [CLS], [SEP] and
        the words.
    """
    heads, n, _ = maps.shape
    pairs = np.empty((n, 2 * heads, n + 2), np.float32)
    pairs[..., 0], pairs[..., 1] = cls.T, sep.T
    pairs[:, :heads, 2:], pairs[:, heads:, 2:] = maps.transpose(1, 0, 2), maps.transpose(2, 0, 1)
    return pairs


def sentences(
    examples: Iterable[Example],
    cached: Iterable[CachedExample],
    vectors: WordVectors,
    cls: str | None,
    sep: str | None,
    wanted: Callable[[Example], bool] = lambda example: True,
    distances: HeadDistances | None = None,
) -> Iterator[Sentence]:
    """Sentences of a treebank with their attention, one in memory at a time.

    Args:
        examples: the sentences, in the order of the cache.
        cached: their attention.
        vectors: word vectors.
        cls, sep: vocabulary entries of the special tokens, None where the model has none.
        wanted: which examples become sentences.
        distances: for sentences that get shuffled heads.

    Raises:
        AtlasError: cache and examples are not of the same corpus, or there are no trees.
    """
    for example, maps in with_attention(examples, cached):
        if "heads" not in example.layers:
            raise AtlasError(f"example {example.id} has no dependency tree: Table 3 needs corpora of reader conllu.")
        if wanted(example):
            sentence = _sentence(example, maps, vectors, cls, sep)
            yield (
                replace(sentence, shuffled_heads=distances.shuffled(len(sentence.heads), example.record))
                if distances
                else sentence
            )


def _sentence(example: Example, cached: CachedExample, vectors: WordVectors, cls: str | None, sep: str | None) -> Sentence:
    by_word = cached.word_maps()
    by_word = by_word.reshape(-1, *by_word.shape[-2:])
    special = cached.special_units
    names = np.asarray(cached.words, dtype=object)

    def root(token: str | None) -> npt.NDArray[np.float32]:
        is_token = special & (names == token)
        to_token = by_word[:, ~special][..., is_token].sum(-1)
        from_token = by_word[:, is_token][..., ~special].sum(-2)
        return np.concatenate([to_token, from_token])

    return Sentence(
        example.record,
        example.words,
        laid_out(by_word[:, ~special][..., ~special], root(cls), root(sep)),
        vectors.of(example.words),
        np.asarray(example.layers["heads"], dtype=np.int64),
        np.asarray([relation == "punct" for relation in example.layers["relations"]]),
    )


@dataclass(frozen=True)
class Batch:
    """A batch of sentences, padded to the longest, N words. Maps are not padded: copying them would dominate the run time.

    Attributes:
        pairs: of each sentence, [n, 2 K, n + 2], see `laid_out`.
        special: [b, N, 2 K, 2] the first two columns of `pairs`.
        words: [U + 1, d] vectors of the distinct words of the batch; the first row is zeros, for padding.
        word: [b, N] row of `words`.
        heads: [b, N] gold heads, -100 for padding.
        shuffled_heads: [b, N] heads of a control, the gold ones where sentences have none.
        mask: [b, N] real words.
    """

    pairs: tuple[torch.Tensor, ...]
    special: torch.Tensor
    words: torch.Tensor
    word: torch.Tensor
    heads: torch.Tensor
    shuffled_heads: torch.Tensor
    mask: torch.Tensor

    def candidates(self, alignment: str) -> torch.Tensor:
        """[b, N + 1] row of `words` of the candidates ROOT, w_1 .. w_N.

        fixed: zeros for ROOT. legacy, as in the published code: the zeros come last, so that ROOT has the vector of w_1 and
        every word that of the next one.
        """
        return torch.nn.functional.pad(self.word, (1, 0) if alignment == "fixed" else (0, 1))

    @property
    def candidate_mask(self) -> torch.Tensor:
        """[b, N + 1] ROOT and the real words."""
        return torch.nn.functional.pad(self.mask, (1, 0), value=True)


def batch_of(group: Sequence[Sentence], device: str = "cpu") -> Batch:
    """A batch of sentences; everything but the maps is padded to the longest sentence."""
    longest = max(len(s.heads) for s in group)
    size = (len(group), longest)
    special = np.zeros((*size, group[0].pairs.shape[1], 2), np.float32)
    rows: dict[str, int] = {}
    words = [np.zeros_like(group[0].vectors[0])]
    word, heads, shuffled_heads = np.zeros(size, np.int64), np.full(size, -100), np.full(size, -100)
    for row, s in enumerate(group):
        n = len(s.heads)
        special[row, :n] = s.pairs[..., :2]
        for k, name in enumerate(s.words):
            if name not in rows:
                rows[name] = len(words)
                words.append(s.vectors[k])
            word[row, k] = rows[name]
        heads[row, :n] = s.heads
        shuffled_heads[row, :n] = s.heads if s.shuffled_heads is None else s.shuffled_heads
    gold_heads = torch.from_numpy(heads).to(device)
    return Batch(
        pairs=tuple(torch.from_numpy(s.pairs).to(device) for s in group),
        special=torch.from_numpy(special).to(device),
        words=torch.from_numpy(np.stack(words)).to(device),
        word=torch.from_numpy(word).to(device),
        heads=gold_heads,
        shuffled_heads=torch.from_numpy(shuffled_heads).to(device),
        mask=gold_heads >= 0,
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
