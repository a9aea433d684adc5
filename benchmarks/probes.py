"""Training the probe on attention and words: batches against a loop over sentences, the same loss, in one process."""

from __future__ import annotations

import numpy as np
import torch

from attention_atlas.studies.clark2019.probes import (
    ALIGNMENTS,
    AttentionWordsProbe,
    Recipe,
    Sentence,
    batch_of,
    laid_out,
    make_probes,
    train,
)
from benchmarks.shapes import treebank_lengths
from benchmarks.timing import report, side_by_side

MAPS, DIMENSIONS, SENTENCES, BATCH = 144, 100, 1024, 32
SEEDS = (0, 1, 2)
# Words by Zipf's law; with this many, half of a batch's words are distinct, as in the English Web Treebank (50.1 %).
VOCABULARY = 4000


class Published(torch.nn.Module):
    """One probe as the published code builds it: a dense layer on both words' vectors for all weights of all pairs."""

    def __init__(self, seed: int, alignment: str) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.dense = torch.nn.Linear(2 * DIMENSIONS, 2 * MAPS)
        torch.nn.init.xavier_uniform_(self.dense.weight)
        torch.nn.init.zeros_(self.dense.bias)
        self.root = torch.nn.Parameter(torch.full((2,), 0.5))
        self.alignment = alignment

    def loss(self, s: Sentence) -> torch.Tensor:
        n = len(s.heads)
        pairs = torch.from_numpy(s.pairs).transpose(1, 2)
        first = self.root[0] * pairs[:, 0] + self.root[1] * pairs[:, 1]
        features = torch.cat([first[:, None], pairs[:, 2:]], dim=1)
        vectors, zero = torch.from_numpy(s.vectors), torch.zeros(1, DIMENSIONS)
        candidates = torch.cat([zero, vectors] if self.alignment == "fixed" else [vectors, zero])
        both = torch.cat([vectors[:, None].expand(-1, n + 1, -1), candidates[None].expand(n, -1, -1)], dim=-1)
        scores = (self.dense(both) * features).sum(-1)
        return torch.nn.functional.cross_entropy(scores, torch.from_numpy(s.heads), reduction="sum")


def run() -> None:
    """Print the ratios; both ways must give the same loss for the same weights."""
    generator = np.random.default_rng(0)
    vocabulary = generator.normal(size=(VOCABULARY, DIMENSIONS)).astype(np.float32)
    sentences = [_sentence(generator, max(n - 2, 1), k, vocabulary) for k, n in enumerate(treebank_lengths(SENTENCES))]
    _check(sentences[:8])
    recipe = Recipe(BATCH, 1, 0.002, "shuffled", SEEDS)

    def batched() -> None:
        train(make_probes(["attention_words"], recipe, MAPS, DIMENSIONS), lambda: iter(sentences), recipe)

    def loop() -> None:
        for seed in SEEDS:
            for alignment in ALIGNMENTS:
                probe = Published(seed, alignment)
                optimiser = torch.optim.Adam(probe.parameters(), lr=0.002)
                for s in sentences:
                    optimiser.zero_grad()
                    probe.loss(s).backward()
                    optimiser.step()

    mean = np.mean([len(s.heads) for s in sentences])
    groups = [sentences[start : start + BATCH] for start in range(0, SENTENCES, BATCH)]
    distinct = np.mean([len({w for s in g for w in s.words}) / sum(len(s.words) for s in g) for g in groups])
    print(f"{SENTENCES} sentences of {mean:.0f} words, {100 * distinct:.0f} % of a batch's words distinct")
    print(f"{MAPS} maps, {len(SEEDS)} seeds x 2 alignments; equal loss")
    reference = f"all seeds and alignments at once, batches of {BATCH}"
    report(side_by_side({reference: batched, "one probe and one sentence at a time": loop}, 2), reference)


def _sentence(generator: np.random.Generator, n: int, record: int, vocabulary: np.ndarray) -> Sentence:
    raw = generator.random((MAPS, n + 2, n + 2)).astype(np.float32)
    maps = raw / raw.sum(-1, keepdims=True)
    cls = np.concatenate([maps[:, 1:-1, 0], maps[:, 0, 1:-1]])
    sep = np.concatenate([maps[:, 1:-1, -1], maps[:, -1, 1:-1]])
    shares = 1 / np.arange(1, len(vocabulary) + 1)
    drawn = generator.choice(len(vocabulary), n, p=shares / shares.sum())
    pairs = laid_out(maps[:, 1:-1, 1:-1], cls, sep)
    words = tuple(f"w{k}" for k in drawn)
    return Sentence(record, words, pairs, vocabulary[drawn], generator.integers(0, n + 1, n), np.zeros(n, dtype=bool))


def _check(group: list[Sentence]) -> None:
    for alignment in ALIGNMENTS:
        slow = Published(0, alignment)
        fast = AttentionWordsProbe([alignment], [0], MAPS, DIMENSIONS)
        weight = slow.dense.weight.detach().T
        fast.of_word.data[0], fast.of_candidate.data[0] = weight[:DIMENSIONS], weight[DIMENSIONS:]
        batched_loss = float(fast.loss(batch_of(group)).detach().sum())
        published_loss = float(sum(slow.loss(s) for s in group).detach())
        assert abs(batched_loss - published_loss) <= 1e-4 * published_loss, (batched_loss, published_loss)
