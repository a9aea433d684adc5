"""Stability of the types of heads: clusters from halves of the data (Guan et al. 2020, Table 1).

The paper fits on a random half, ten times, and reports the share that is consistent. It does not
say whether heads or inputs are halved, nor whether a head must be consistent in pairs of fits or in all ten: all four are
computed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from attention_atlas.methods.head_types import Labels, clusters, matched

Floats = npt.NDArray[np.float64]
HALVES = ("heads", "inputs")
_STARTS = 50


def halved_labels(features: Floats, halve: str, count: int, fits: int, seed: int) -> npt.NDArray[np.intp]:
    """[fit, head] clusters from random halves.

    Args:
        features: [example, head, 21] features of every head on every example.
        halve: heads: cluster half of the heads by their mean features, and give each other head the nearest centre; inputs:
            cluster all heads by their mean features over half of the examples.
        count: number of clusters.
        fits: number of halves.
        seed: of the halves and the initial centres.
    """
    generator = np.random.default_rng(seed)
    examples, heads = features.shape[:2]
    labels = []
    for fit in range(fits):
        if halve == "heads":
            half = generator.permutation(heads)[: max(heads // 2, count)]
            means = features.mean(axis=0)
            model = KMeans(count, n_init=_STARTS, random_state=seed + fit).fit(means[half])
            labels.append(model.predict(means).astype(np.intp))
        else:
            half = generator.permutation(examples)[: max(examples // 2, 1)]
            labels.append(clusters(features[half].mean(axis=0), count, seed + fit)[0])
    return np.stack(labels)


def pairwise_agreement(labels: npt.NDArray[np.intp], count: int) -> Floats:
    """[pair] share of heads in the same cluster, for every two fits, clusters matched for the largest agreement."""
    pairs = combinations(range(len(labels)), 2)
    return np.asarray([(matched(labels[a], labels[b], count) == labels[b]).mean() for a, b in pairs])


def consistent_in_all(labels: npt.NDArray[np.intp], reference: Labels, count: int) -> float:
    """Share of heads that every fit assigns to the cluster of the reference, clusters matched to the reference."""
    agreed = np.stack([matched(fit_labels, reference, count) == reference for fit_labels in labels])
    return float(agreed.all(axis=0).mean())
