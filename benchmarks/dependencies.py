"""Scoring all heads on all relations: whole arrays against a loop over heads and words."""

from __future__ import annotations

import numpy as np

from attention_atlas.methods.dependency_scoring import DIRECTIONS, gather_gold, is_correct, predicted_words
from benchmarks.shapes import examples_of, treebank_lengths
from benchmarks.timing import report, side_by_side

LAYERS, HEADS, SENTENCES = 12, 12, 40
LABELS = ("nsubj", "det", "prep", "pobj", "root")


def run() -> None:
    """Print the ratio; both ways must count the same."""
    generator = np.random.default_rng(0)
    examples = []
    maps = []
    for example in examples_of(treebank_lengths(SENTENCES)):
        m = len(example.words)
        heads = tuple(int(h) for h in generator.integers(0, m + 1, m))
        relations = tuple(str(r) for r in generator.choice(LABELS, m))
        examples.append(type(example)(**{**vars(example), "layers": {"heads": heads, "relations": relations}}))
        raw = generator.random((LAYERS, HEADS, m + 2, m + 2)).astype(np.float32)
        maps.append(raw / raw.sum(axis=-1, keepdims=True))

    def arrays() -> dict[str, np.ndarray]:
        gold = gather_gold(examples)
        special = [np.isin(np.arange(len(e.words) + 2), (0, len(e.words) + 1)) for e in examples]
        picked = np.concatenate([predicted_words(a, s) for a, s in zip(maps, special, strict=True)])
        right = is_correct(picked, gold, poss_rule=False)
        return {label: right[gold.relation == label].sum(axis=0) for label in LABELS}

    def loop() -> dict[str, np.ndarray]:
        counts = {label: np.zeros((len(DIRECTIONS), LAYERS, HEADS), dtype=int) for label in LABELS}
        for example, a in zip(examples, maps, strict=True):
            n = len(example.words)
            for layer in range(LAYERS):
                for head in range(HEADS):
                    one = a[layer, head].copy()
                    for i in range(1, n + 1):
                        one[i, i] = 0
                        for direction in range(len(DIRECTIONS)):
                            scores = [one[i, j] if direction == 0 else one[j, i] for j in range(1, n + 1) if j != i] or [0]
                            candidates = [j for j in range(1, n + 1) if j != i] or [1]
                            best = candidates[int(np.argmax(scores))]
                            right = best == example.layers["heads"][i - 1]
                            counts[example.layers["relations"][i - 1]][direction, layer, head] += right
        return counts

    fast, slow = arrays(), loop()
    assert all((fast[label] == slow[label]).all() for label in LABELS)
    print(f"{SENTENCES} sentences, {LAYERS} x {HEADS} heads, both directions; equal counts")
    report(side_by_side({"arrays": arrays, "loop over heads and words": loop}, 3), "arrays")
