"""Training the probe on attention and words: batches against a loop over sentences, the same loss, in one process."""

from __future__ import annotations

import numpy as np
import torch

from attention_atlas.studies.clark2019.probes.features import Sentence, batch_of
from attention_atlas.studies.clark2019.probes.models import AttentionWordsProbe
from attention_atlas.studies.clark2019.probes.training import Recipe, make_probes, train
from benchmarks.shapes import treebank_lengths
from benchmarks.timing import report, side_by_side

MAPS, DIMENSIONS, SENTENCES, BATCH = 144, 100, 256, 32
SEEDS = (0, 1, 2)
KEYS = [("attention_words", "legacy"), ("attention_words", "fixed")]


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
        maps = torch.from_numpy(s.maps)
        pairs = torch.cat([maps, maps.transpose(1, 2)]).permute(1, 2, 0)
        first = self.root[0] * torch.from_numpy(s.cls) + self.root[1] * torch.from_numpy(s.sep)
        features = torch.cat([first.T[:, None], pairs], dim=1)
        vectors, zero = torch.from_numpy(s.vectors), torch.zeros(1, DIMENSIONS)
        candidates = torch.cat([zero, vectors] if self.alignment == "fixed" else [vectors, zero])
        both = torch.cat([vectors[:, None].expand(-1, n + 1, -1), candidates[None].expand(n, -1, -1)], dim=-1)
        scores = (self.dense(both) * features).sum(-1)
        return torch.nn.functional.cross_entropy(scores, torch.from_numpy(s.heads), reduction="sum")


def run() -> None:
    """Print the ratios; both ways must give the same loss for the same weights."""
    generator = np.random.default_rng(0)
    sentences = [_sentence(generator, max(n - 2, 1), k) for k, n in enumerate(treebank_lengths(SENTENCES))]
    _check(sentences[:8])
    recipe = Recipe(BATCH, 1, 0.002, "shuffled", SEEDS)

    def batched() -> None:
        train(make_probes(KEYS, recipe, MAPS, DIMENSIONS), lambda epoch: iter(sentences), recipe)

    def loop() -> None:
        for seed in SEEDS:
            for _, alignment in KEYS:
                probe = Published(seed, alignment)
                optimiser = torch.optim.Adam(probe.parameters(), lr=0.002)
                for s in sentences:
                    optimiser.zero_grad()
                    probe.loss(s).backward()
                    optimiser.step()

    mean = np.mean([len(s.heads) for s in sentences])
    print(f"{SENTENCES} sentences of {mean:.0f} words, {MAPS} maps, {len(SEEDS)} seeds x 2 alignments; equal loss")
    reference = f"all seeds and alignments at once, batches of {BATCH}"
    report(side_by_side({reference: batched, "one probe and one sentence at a time": loop}, 2), reference)


def _sentence(generator: np.random.Generator, n: int, record: int) -> Sentence:
    raw = generator.random((MAPS, n + 2, n + 2)).astype(np.float32)
    maps = raw / raw.sum(-1, keepdims=True)
    cls = np.concatenate([maps[:, 1:-1, 0], maps[:, 0, 1:-1]])
    sep = np.concatenate([maps[:, 1:-1, -1], maps[:, -1, 1:-1]])
    vectors = generator.normal(size=(n, DIMENSIONS)).astype(np.float32)
    words = tuple(f"w{record}-{k}" for k in range(n))
    inner = np.ascontiguousarray(maps[:, 1:-1, 1:-1])
    return Sentence(record, words, inner, cls, sep, vectors, generator.integers(0, n + 1, n), np.zeros(n, dtype=bool))


def _check(group: list[Sentence]) -> None:
    for alignment in ("legacy", "fixed"):
        slow = Published(0, alignment)
        fast = AttentionWordsProbe((0,), MAPS, DIMENSIONS, alignment)
        weight = slow.dense.weight.detach().T
        fast.of_word.data[0], fast.of_candidate.data[0] = weight[:DIMENSIONS], weight[DIMENSIONS:]
        ours, theirs = float(fast.loss(batch_of(group)).sum()), float(sum(slow.loss(s) for s in group))
        assert abs(ours - theirs) <= 1e-4 * theirs, (ours, theirs)
