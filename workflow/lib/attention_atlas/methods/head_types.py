"""How far heads attend, and types of heads by it (Guan et al. 2020, Equation 2 and section 4).

Every cell of a map belongs to exactly one of 21 features. A feature is the sum of the map over its cells, divided by the number
of tokens; the features of a head sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from attention_atlas.attention.cache import CachedExample, widened
from attention_atlas.corpora.alignment import without_space_mark
from attention_atlas.errors import AtlasError
from attention_atlas.stats.simultaneous import widths

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]
WINDOWS = 16
SPECIAL, SELF = ("cls", "sep", "comma", "period"), "self"
FEATURES = (*SPECIAL, SELF, *(f"window_{i}" for i in range(WINDOWS)))
DENSE, DENSE_VERTICAL, VERTICAL, DIAGONAL = "dense", "dense_vertical", "vertical", "diagonal"
TYPES = (DENSE, DENSE_VERTICAL, VERTICAL, DIAGONAL)
UNNAMED = "unnamed"
"""Type of heads in a cluster that does not fit the type assigned to it."""
TITLES = dict(zip((*TYPES, UNNAMED), ("Dense", "Dense & vertical", "Vertical", "Diagonal", "Unnamed"), strict=True))


@dataclass(frozen=True)
class FeatureOptions:
    """Choices that Equation 2 leaves open.

    binning: floor: a token at distance d > 0 is in window floor(16 d / L); ceil: in window ceil(16 d / L) - 1.
    diagonal: special: attention of a special token to itself is attention to that special token; self: it is to itself.
    """

    binning: str = "floor"
    diagonal: str = "special"


DEFAULT = FeatureOptions()


def alternatives() -> list[FeatureOptions]:
    """Every combination of the options, the default first."""
    return [FeatureOptions(binning, diagonal) for binning in ("floor", "ceil") for diagonal in ("special", "self")]


def special_columns(tokens: Sequence[str], cls: str | None, sep: str | None) -> npt.NDArray[np.intp]:
    """[n] index of the special feature of each token (every occurrence of [CLS], [SEP], comma, full stop), or -1."""
    named = {",": 2, ".": 3}
    numbers = np.asarray([named.get(without_space_mark(token), -1) for token in tokens], dtype=np.intp)
    names = np.asarray(tokens, dtype=object)
    numbers[names == sep] = 1
    numbers[names == cls] = 0
    return numbers


def feature_of_cells(special: npt.NDArray[np.intp], options: FeatureOptions = DEFAULT) -> npt.NDArray[np.intp]:
    """[n, n] the feature that each cell belongs to; row = query token; special: [n] of `special_columns`."""
    n = len(special)
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    window = WINDOWS * distance // n if options.binning == "floor" else -(-WINDOWS * distance // n) - 1
    cells = len(SPECIAL) + 1 + window
    np.fill_diagonal(cells, len(SPECIAL))
    wins = special >= 0
    cells[:, wins] = special[wins]
    if options.diagonal == "self":
        np.fill_diagonal(cells, len(SPECIAL))
    return cells


def distance_features(maps: npt.NDArray[np.floating], cells: npt.NDArray[np.intp]) -> Floats:
    """[..., 21] features, summing to 1, of every map [..., n, n] without padding; cells: [n, n] from `feature_of_cells`."""
    n = len(cells)
    members = np.zeros((n * n, len(FEATURES)), np.float32)
    members[np.arange(n * n), cells.ravel()] = 1
    sums = (widened(maps).reshape(-1, n * n) @ members).astype(np.float64) / n
    return sums.reshape(*maps.shape[:-2], len(FEATURES))


def mean_features(
    cached: Iterable[CachedExample], cls: str | None, sep: str | None, options: Sequence[FeatureOptions]
) -> Floats:
    """[option, example, layer, head, 21] features in one pass over the cache of maps over word pieces."""
    features: list[Floats] = []
    for example in cached:
        if example.level != "tokens":
            raise AtlasError(
                f"example {example.id}: the attention cache was stored at level {example.level}, but distances are "
                "measured between word pieces: set level: tokens for this corpus."
            )
        special = special_columns(example.tokens, cls, sep)
        features.append(np.stack([distance_features(example.maps, feature_of_cells(special, option)) for option in options]))
    if not features:
        raise AtlasError("there is no example to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    return np.stack(features, axis=1)


def shown_types(types: Iterable[str]) -> tuple[str, ...]:
    """`TYPES`, and `UNNAMED` if a head has no type."""
    return (*TYPES, UNNAMED) if UNNAMED in set(types) else TYPES


PROFILE = ("special", "near", "far")
"""Parts of the attention that sum to 1: on `SPECIAL`; on the token itself and the nearest window; on all other windows."""


def profiles(means: Floats) -> Floats:
    """[cluster, 3] `PROFILE` of the clusters' mean features, [cluster, 21]."""
    near = len(SPECIAL) + 2
    parts = means[:, : len(SPECIAL)], means[:, len(SPECIAL) : near], means[:, near:]
    return np.stack([part.sum(axis=1) for part in parts], axis=1)


def fits(means: Floats) -> Floats:
    """[cluster, type] margin in attention, -1 to 1, by which a cluster meets the condition of each type; it fits if positive.

    Dense: far exceeds special and near. Dense and vertical: both special and far exceed near. Vertical: special exceeds near
    and far. Diagonal: near exceeds special and far.
    """
    special, near, far = profiles(means).T
    dense, vertical = far - np.maximum(special, near), special - np.maximum(near, far)
    return np.stack([dense, np.minimum(special, far) - near, vertical, near - np.maximum(special, far)], axis=1)


_STARTS, _TIE = 50, 1e-9


def clusters(features: Floats, count: int, seed: int, method: str = "kmeans") -> tuple[Labels, Floats]:
    """[head] cluster of each head by its features [head, 21], not scaled; and [cluster, 21] means of the clusters' features.

    method: kmeans (k-means++, best of 50 starts) or mixture (Gaussian mixture, diagonal covariances).
    """
    if len(features) < count:
        raise AtlasError(f"{len(features)} heads cannot be grouped into {count} clusters: use a larger model.")
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture

    if method == "kmeans":
        labels = KMeans(count, n_init=_STARTS, random_state=seed).fit(features).labels_
    else:
        mixture = GaussianMixture(count, covariance_type="diag", n_init=_STARTS, random_state=seed, reg_covar=1e-6)
        labels = mixture.fit_predict(features)
    members = [labels == k for k in range(count)]
    means = [features[of].mean(axis=0) if of.any() else np.zeros(len(FEATURES)) for of in members]
    return labels.astype(np.intp), np.stack(means)


def names(means: Floats) -> tuple[str, ...]:
    """Names of four clusters: those with the largest total of `fits`. A tie that leaves all types alike is no error."""
    table = fits(means)
    indices = range(len(TYPES))
    totals = {naming: float(table[indices, naming].sum()) for naming in permutations(indices)}
    best = max(totals, key=totals.__getitem__)
    for naming, total in totals.items():
        if totals[best] - total <= _TIE and fitted_names(table, naming) != fitted_names(table, best):
            shown = " or ".join(", ".join(TYPES[k] for k in tied) for tied in (best, naming))
            raise AtlasError(
                f"the four clusters of heads cannot be named: two namings fit equally well ({shown}). "
                "Use more examples or another model."
            )
    return tuple(TYPES[k] for k in best)


def fitted_names(table: Floats, naming: Sequence[int]) -> tuple[str, ...]:
    """[cluster] name of its type in a naming ([cluster] index of a type), or `UNNAMED`; table: [cluster, type] fits."""
    return tuple(TYPES[kind] if table[k, kind] > 0 else UNNAMED for k, kind in enumerate(naming))


class HeadTypes(NamedTuple):
    """[head] the type that the best naming assigns to the head's cluster; and the same, or `UNNAMED` if it does not fit."""

    clusters: tuple[str, ...]
    names: tuple[str, ...]


def types_of(features: Floats, seed: int, method: str = "kmeans") -> HeadTypes:
    """Types of heads: four clusters, named."""
    labels, means = clusters(features, len(TYPES), seed, method)
    if len(set(labels.tolist())) == 1:
        raise AtlasError("the clusters of heads cannot be named: heads that are all alike have no types. Use another model.")
    named = names(means)
    fitted = fitted_names(fits(means), [TYPES.index(name) for name in named])
    return HeadTypes(tuple(named[label] for label in labels), tuple(fitted[label] for label in labels))


def nearest_clusters(features: Floats, reference: Floats, reference_clusters: Sequence[str]) -> tuple[str, ...]:
    """[head] the cluster of the reference heads, named as in `TYPES`, whose mean is nearest to the head's features."""
    from sklearn.neighbors import NearestCentroid

    return tuple(NearestCentroid().fit(reference, list(reference_clusters)).predict(features).tolist())


def matched(labels: Labels, reference: Labels, count: int) -> Labels:
    """Labels renumbered to maximise agreement with a reference (Hungarian assignment)."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import confusion_matrix

    table = confusion_matrix(labels, reference, labels=range(count))
    # Rows of a square matrix come back in order.
    return linear_sum_assignment(-table)[1].astype(np.intp)[labels]


def shares_by_half(
    layer: npt.NDArray[np.integer], of_kind: npt.NDArray[np.bool_], draws: int, seed: int, level: float
) -> tuple[float, float, float, float]:
    """Share of heads of a type in the lower and in the upper half of the layers, and the interval of the difference.

    Heads of one layer resemble each other: all of them move together when layers change places. The interval contains 0 where
    the test by these permutations does not reject: always with six layers or fewer, with at most 20 ways to draw the halves.
    """
    layers, of_head, heads = np.unique(layer, return_inverse=True, return_counts=True)
    counts = np.bincount(of_head, weights=of_kind)
    lower = layers <= layers[-1] / 2
    if lower.all() or not lower.any():
        return math.nan, math.nan, math.nan, math.nan
    places = np.tile(np.arange(len(layers)), (draws + 1, 1))
    # The first row is the order of the model.
    order = np.concatenate([places[:1], np.random.default_rng(seed).permuted(places[1:], axis=1)])
    shares = [counts[order][:, half].sum(axis=1) / heads[order][:, half].sum(axis=1) for half in (lower, ~lower)]
    differences = shares[0] - shares[1]
    half_width = widths(differences[None, 1:], level)[0]
    low, high = np.clip([differences[0] - half_width, differences[0] + half_width], -1, 1)
    return float(shares[0][0]), float(shares[1][0]), float(low), float(high)
