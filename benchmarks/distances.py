"""Distance features: all heads in one product against a loop over heads and tokens, the same numbers, in one process."""

from __future__ import annotations

import numpy as np

from attention_atlas.methods.head_types import (
    FEATURES,
    SPECIAL,
    WINDOWS,
    distance_features,
    feature_of_cells,
    special_columns,
)
from benchmarks.timing import report, side_by_side

HEADS, EXAMPLES, PIECES = 72, 8, 180


def run() -> None:
    """Print the ratio; both ways must agree to 1e-6."""
    generator = np.random.default_rng(0)
    examples = [_example(generator, int(n)) for n in generator.integers(PIECES // 2, 2 * PIECES, EXAMPLES)]

    def product() -> list[np.ndarray]:
        return [distance_features(maps, feature_of_cells(special)) for maps, special in examples]

    def loop() -> list[np.ndarray]:
        return [_loop(maps, special) for maps, special in examples]

    difference = max(float(np.abs(a - b).max()) for a, b in zip(product(), loop(), strict=True))
    assert difference < 1e-6, difference
    mean = np.mean([len(special) for _, special in examples])
    print(f"{HEADS} heads, {EXAMPLES} examples of {mean:.0f} pieces on average; largest difference {difference:.1e}")
    reference = "all heads in one product"
    report(side_by_side({reference: product, "a loop over heads and tokens": loop}, 3), reference)


def _example(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    raw = generator.random((HEADS, n, n)).astype(np.float32) ** 4
    maps = (raw / raw.sum(axis=-1, keepdims=True)).astype(np.float16)
    tokens = ["[CLS]", *generator.choice(["a", "b", "c", ",", "."], n - 2), "[SEP]"]
    return maps, special_columns(tokens, "[CLS]", "[SEP]")


def _loop(maps: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Equation 2, a head and a token at a time; the sums over the columns of a row are numpy's."""
    heads, n = maps.shape[:2]
    features = np.zeros((heads, len(FEATURES)))
    plain = special < 0
    columns = np.arange(n)
    for head in range(heads):
        for token in range(n):
            row = maps[head, token].astype(np.float64)
            for kind in range(len(SPECIAL)):
                features[head, kind] += row[special == kind].sum()
            features[head, len(SPECIAL)] += row[token] if plain[token] else 0.0
            distance = np.abs(columns - token)
            counted = plain & (distance > 0)
            features[head, len(SPECIAL) + 1 :] += np.bincount(WINDOWS * distance[counted] // n, row[counted], minlength=WINDOWS)
    return features / n
