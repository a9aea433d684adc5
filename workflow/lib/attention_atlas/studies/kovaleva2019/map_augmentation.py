"""Labelled maps as they would look with special tokens in other places and at other lengths.

The labelled maps are of short texts and of a model whose stripe stands at [CLS], the first column. A class does not depend on
either: BERT's stripe stands at [SEP], and its texts are longer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
SHORTEST, LONGEST = 12, 256
"""Pieces of an augmented map."""


def augmented(weights: Floats, special: Bools, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """A map with its special tokens at other places, and of another length.

    Args:
        weights: [n, n], rows sum to 1.
        special: [n] which pieces are special tokens.
        generator: draws places and length, each length from `SHORTEST` to `LONGEST` on a logarithmic scale.

    Returns:
        [m, m] rows sum to 1, and [m] which pieces are special tokens.
    """
    length = round(float(np.exp(generator.uniform(np.log(SHORTEST), np.log(LONGEST)))))
    return resized(*moved(weights, special, generator), max(length, 2 * int(special.sum())), generator)


def moved(weights: Floats, special: Bools, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """The same pieces with the special tokens at random places; the order of the others stays."""
    n = len(special)
    places = np.sort(generator.choice(n, int(special.sum()), replace=False))
    there = np.zeros(n, dtype=bool)
    there[places] = True
    order = np.empty(n, dtype=np.intp)
    order[there] = generator.permutation(np.flatnonzero(special))
    order[~there] = np.flatnonzero(~special)
    return weights[np.ix_(order, order)], there


def resized(weights: Floats, special: Bools, length: int, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """The map at another length: pieces are left out at random, or stand for several neighbours.

    Special tokens stay single. What a piece attends to beyond itself and its neighbours is shared out among the pieces that
    stand for the same one; what it attends to itself and its neighbours above that stays with them, so that a diagonal keeps
    its width.
    """
    inner = np.flatnonzero(~special)
    count = max(1, length - int(special.sum()))
    if count <= len(inner):
        chosen = np.sort(generator.choice(inner, count, replace=False))
    else:
        chosen = inner[np.arange(count) * len(inner) // count]
    source = np.sort(np.concatenate([np.flatnonzero(special), chosen]))
    there = special[source]
    copies = np.bincount(source, minlength=len(special))
    near, rest = _near(weights, special)
    spread = (rest[np.ix_(source, source)] / copies[source]).astype(np.float64)
    for offset in (-1, 0, 1):
        rows = np.arange(max(0, -offset), len(source) - max(0, offset))
        columns = rows + offset
        # A neighbour in the old map is the neighbour in the new one, whichever piece it stands for.
        before = np.clip(source[rows] + offset, 0, len(special) - 1)
        kept = ~there[rows] & ~there[columns]
        spread[rows[kept], columns[kept]] += near[source[rows], before][kept]
    total = spread.sum(axis=1, keepdims=True)
    return (spread / np.where(total > 0, total, 1)).astype(np.float32), there


def _near(weights: Floats, special: Bools) -> tuple[Floats, Floats]:
    """What pieces attend to themselves and their neighbours above what they attend to others on average, and the rest."""
    n = len(special)
    place = np.arange(n)
    inner = ~special[:, None] & ~special[None, :]
    close = (np.abs(place[:, None] - place[None, :]) <= 1) & inner
    far = inner & ~close
    background = (weights * far).sum(axis=1) / np.maximum(far.sum(axis=1), 1)
    near = np.where(close, np.maximum(weights - background[:, None], 0), 0).astype(np.float32)
    return near, weights - near
