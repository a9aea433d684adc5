"""Types of heads by their distance features: clusters, and names for them (Guan et al. 2020, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import confusion_matrix
from sklearn.mixture import GaussianMixture

from attention_atlas.errors import AtlasError
from attention_atlas.methods.distance_features import FEATURES
from attention_atlas.methods.head_type_fits import fits, profiles
from attention_atlas.methods.head_type_names import TYPES, UNNAMED

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]
METHODS = ("kmeans", "mixture")
_STARTS = 50
_TIE = 1e-9


def clusters(features: Floats, count: int, seed: int, method: str = "kmeans") -> tuple[Labels, Floats]:
    """Cluster heads.

    Args:
        features: [head, 21], not scaled.
        count: number of clusters.
        seed: seed of the starting points.
        method: kmeans (k-means++, best of 50 starts) or mixture (Gaussian mixture, diagonal covariances).

    Returns:
        [head] cluster of each head, and [cluster, 21] means of the clusters' features.

    Raises:
        AtlasError: there are fewer heads than clusters.
    """
    if len(features) < count:
        raise AtlasError(
            f"{len(features)} heads cannot be grouped into {count} clusters: use a larger model or fewer clusters."
        )
    if method == "kmeans":
        labels = KMeans(count, n_init=_STARTS, random_state=seed).fit(features).labels_
    else:
        mixture = GaussianMixture(count, covariance_type="diag", n_init=_STARTS, random_state=seed, reg_covar=1e-6)
        labels = mixture.fit_predict(features)
    means = np.stack(
        [features[labels == k].mean(axis=0) if (labels == k).any() else np.zeros(len(FEATURES)) for k in range(count)]
    )
    return labels.astype(np.intp), means


def scores(means: Floats) -> Floats:
    """[cluster, type] how well each cluster's means fit each of `TYPES`.

    With the parts of `head_type_fits.PROFILE`: dense is far - special, vertical is special, diagonal is near; the remaining
    type, dense and vertical, scores 0. Scores rank the possible namings; `head_type_fits.fits` says whether a cluster fits its
    name.
    """
    special, near, far = profiles(means).T
    return np.stack([far - special, np.zeros(len(means)), special, near], axis=1)


def names(means: Floats) -> tuple[str, ...]:
    """Names of four clusters: the assignment of names with the largest sum of scores.

    Raises:
        AtlasError: two namings fit equally well, so that the choice would be arbitrary.
    """
    table = scores(means)
    totals = {naming: float(table[range(len(TYPES)), naming].sum()) for naming in permutations(range(len(TYPES)))}
    best, second = sorted(totals, key=totals.__getitem__, reverse=True)[:2]
    if totals[best] - totals[second] <= _TIE:
        shown = " or ".join(", ".join(TYPES[k] for k in naming) for naming in (best, second))
        raise AtlasError(
            f"the four clusters of heads cannot be named: two namings fit equally well ({shown}). "
            "Use more examples or another model: heads that are all alike have no types."
        )
    return tuple(TYPES[k] for k in best)


@dataclass(frozen=True)
class HeadTypes:
    """Types of heads, as arrays [head].

    Attributes:
        clusters: the type of `TYPES` that the best naming assigns to the head's cluster, one type per cluster.
        names: the same, or `UNNAMED` if the cluster does not fit the type.
    """

    clusters: tuple[str, ...]
    names: tuple[str, ...]


def types_of(features: Floats, seed: int, method: str = "kmeans") -> HeadTypes:
    """Types of heads: four clusters, named.

    Raises:
        AtlasError: as for `clusters` and `names`.
    """
    labels, means = clusters(features, len(TYPES), seed, method)
    named = names(means)
    fitting = fits(means)[range(len(named)), [TYPES.index(name) for name in named]] > 0
    fitted = [name if fit else UNNAMED for name, fit in zip(named, fitting, strict=True)]
    return HeadTypes(tuple(named[label] for label in labels), tuple(fitted[label] for label in labels))


def nearest_clusters(features: Floats, reference: Floats, reference_clusters: Sequence[str]) -> tuple[str, ...]:
    """[head] cluster of each head: the cluster of the reference heads with the nearest mean.

    Args:
        features: [head, 21].
        reference: [reference head, 21].
        reference_clusters: [reference head] their clusters, by the names of `TYPES`.
    """
    known = [name for name in TYPES if name in reference_clusters]
    means = np.stack([reference[np.asarray(reference_clusters) == name].mean(axis=0) for name in known])
    distance = np.square(features[:, None] - means[None]).sum(axis=-1)
    return tuple(known[k] for k in distance.argmin(axis=1))


def matched(labels: Labels, reference: Labels, count: int) -> Labels:
    """Labels renumbered to maximise agreement with a reference (Hungarian assignment)."""
    table = confusion_matrix(labels, reference, labels=range(count))
    label_numbers, reference_numbers = linear_sum_assignment(-table)
    renumbered = np.empty(count, dtype=np.intp)
    renumbered[label_numbers] = reference_numbers
    return renumbered[labels]
