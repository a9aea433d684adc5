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
from attention_atlas.methods.head_type_fits import fits
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


def names(means: Floats) -> tuple[str, ...]:
    """Names of four clusters: the assignment of names with the largest total of `head_type_fits.fits`.

    The same fits say whether a cluster is named at all (`types_of`). Namings that differ only in the names of clusters that do
    not fit them give all heads the same types: such a tie is no error.

    Raises:
        AtlasError: two namings fit equally well, so that the choice would be arbitrary.
    """
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
    """Name of each cluster in a naming: that of its type, or `UNNAMED` if it does not fit.

    Args:
        table: [cluster, type] fits.
        naming: [cluster] index of a type.
    """
    return tuple(TYPES[kind] if table[k, kind] > 0 else UNNAMED for k, kind in enumerate(naming))


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
        AtlasError: as for `clusters` and `names`, or all heads are alike.
    """
    labels, means = clusters(features, len(TYPES), seed, method)
    if len(set(labels.tolist())) == 1:
        raise AtlasError(
            "the four clusters of heads cannot be named: heads that are all alike have no types. Use another model."
        )
    named = names(means)
    fitted = fitted_names(fits(means), [TYPES.index(name) for name in named])
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
