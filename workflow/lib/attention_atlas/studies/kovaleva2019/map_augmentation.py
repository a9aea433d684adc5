"""Augmentation of labelled maps: special tokens at other positions, other lengths, patterns of other strength.

The labelled maps are of short texts and of one model. Its stripe is at [CLS], its sharp diagonals are at the previous token,
and all of its block maps also have a stripe. The classes depend on none of these: BERT's stripe is at [SEP], its texts are
longer, and a band at the same or the next token is a diagonal, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attention_atlas.studies.kovaleva2019.names import BLOCK, DIAGONAL, HETEROGENEOUS, VERTICAL, VERTICAL_DIAGONAL

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
SHORTEST, LONGEST = 12, 256
"""Range of the number of tokens of an augmented map."""
OFFSETS = (-1, 0, 1)
"""Offsets from the query of the keys that form a diagonal."""
_STRONGEST_BAND = 2
"""Largest ratio of band to stripes in a vertical and diagonal map."""


@dataclass(frozen=True)
class Parts:
    """The parts that sum to a map.

    Attributes:
        band: [n, 3] attention to the tokens at `OFFSETS` above what a token attends to others on average; 0 from and to special
            tokens.
        stripes: [n, n] attention to special tokens.
        rest: [n, n] all other attention.
    """

    band: Floats
    stripes: Floats
    rest: Floats


def augmented(weights: Floats, special: Bools, kind: str, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """A map of the same class with special tokens at other positions, another length, and a pattern of another strength.

    Args:
        weights: [n, n], rows sum to 1.
        special: [n] which tokens are special tokens.
        kind: its class, one of `names.CLASSES`.
        generator: random choices; lengths are drawn from `SHORTEST` to `LONGEST` on a logarithmic scale.

    Returns:
        [m, m] rows sum to 1, and [m] which tokens are special tokens.
    """
    length = round(float(np.exp(generator.uniform(np.log(SHORTEST), np.log(LONGEST)))))
    weights, special = moved(weights, special, generator)
    if generator.integers(2):
        weights, special = weights[::-1, ::-1], special[::-1]
    parts = varied(parts_of(weights, special), kind, generator)
    return resized(parts, special, max(length, 2 * int(special.sum())), generator)


def moved(weights: Floats, special: Bools, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """The same tokens with the special tokens at random places; the order of the others stays."""
    n = len(special)
    places = np.sort(generator.choice(n, int(special.sum()), replace=False))
    there = np.zeros(n, dtype=bool)
    there[places] = True
    order = np.empty(n, dtype=np.intp)
    order[there] = generator.permutation(np.flatnonzero(special))
    order[~there] = np.flatnonzero(~special)
    return weights[np.ix_(order, order)], there


def parts_of(weights: Floats, special: Bools) -> Parts:
    """The band, the stripes and the rest of a map."""
    n = len(special)
    place = np.arange(n)
    inner = ~special[:, None] & ~special[None, :]
    far = inner & (np.abs(place[:, None] - place[None, :]) > 1)
    background = (weights * far).sum(axis=1) / np.maximum(far.sum(axis=1), 1)
    band = np.zeros((n, len(OFFSETS)), np.float32)
    rest = np.where(special, np.float32(0), weights)
    for k, offset in enumerate(OFFSETS):
        rows, columns = _neighbours(n, offset)
        near = np.where(inner[rows, columns], np.maximum(weights[rows, columns] - background[rows], 0), 0)
        band[rows, k] = near
        rest[rows, columns] -= near
    return Parts(band, np.where(special, weights, np.float32(0)), rest)


def varied(parts: Parts, kind: str, generator: np.random.Generator) -> Parts:
    """The parts of a map of the same class whose pattern is clearer, or whose stripes are weaker where they do not matter.

    The defining pattern of a class only gets stronger, so that the label still holds; a block or heterogeneous map can lose its
    stripes, which neither needs. A band is made narrower, since sharp ones are rare among the labelled maps, and its offsets
    are permuted.
    """
    band, stripes, rest = parts.band, parts.stripes, parts.rest
    factor = np.float32(generator.uniform())
    if kind in (BLOCK, HETEROGENEOUS):
        stripes = stripes * factor
    elif kind == VERTICAL:
        band, rest = band * factor, rest * factor
    elif kind == DIAGONAL:
        stripes, rest = stripes * factor**2, rest * factor
    elif kind == VERTICAL_DIAGONAL:
        rest = rest * factor
        ratio = stripes.sum() / max(float(band.sum()), 1e-6)
        band = band * np.float32(1 + generator.uniform() * max(_STRONGEST_BAND * float(ratio) - 1, 0))
    if kind in (DIAGONAL, VERTICAL_DIAGONAL):
        narrow = np.float32(np.sqrt(generator.uniform()))
        strongest = np.eye(len(OFFSETS), dtype=np.float32)[band.sum(axis=0).argmax()]
        band = (1 - narrow) * band + narrow * band.sum(axis=1, keepdims=True) * strongest
    return Parts(band[:, generator.permutation(len(OFFSETS))], stripes, rest)


def resized(parts: Parts, special: Bools, length: int, generator: np.random.Generator) -> tuple[Floats, Bools]:
    """The map at another length: tokens are left out at random, or stand for several neighbours.

    Special tokens stay single, and a band keeps its width. The rest of the attention to a token is shared among the tokens
    that stand for the same one.
    """
    inner = np.flatnonzero(~special)
    count = max(1, length - int(special.sum()))
    if count <= len(inner):
        chosen = np.sort(generator.choice(inner, count, replace=False))
    else:
        chosen = inner[np.arange(count) * len(inner) // count]
    source = np.sort(np.concatenate([np.flatnonzero(special), chosen]))
    there = special[source]
    copies = np.bincount(source, minlength=len(special)).astype(np.float32)
    weights = (parts.rest / copies.clip(1) + parts.stripes)[np.ix_(source, source)]
    for k, offset in enumerate(OFFSETS):
        rows, columns = _neighbours(len(source), offset)
        kept = ~there[rows] & ~there[columns]
        weights[rows[kept], columns[kept]] += parts.band[source[rows[kept]], k]
    total = weights.sum(axis=1, keepdims=True)
    return (weights / np.where(total > 0, total, 1)).astype(np.float32), there


def _neighbours(n: int, offset: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of the cells of a diagonal."""
    rows = np.arange(max(0, -offset), n - max(0, offset))
    return rows, rows + offset
