"""Distance features of heads, their types: clusters of the features (Figures 2 to 4), and their stability (Table 1); maps.

The paper fits on a random half, ten times, and reports the share that is "consistent on all models". It does not say whether
heads or inputs are halved: both are computed, and the mean over pairs of fits beside the share that is consistent in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score, silhouette_score

from attention_atlas.attention.cache import Attention, RepeatedAttention, widened
from attention_atlas.corpora.examples import Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import head_rows, map_rows
from attention_atlas.methods.head_types import (
    FEATURES,
    TYPES,
    FeatureOptions,
    Labels,
    alternatives,
    clusters,
    matched,
    mean_features,
    nearest_clusters,
    shown_types,
    types_of,
)
from attention_atlas.models.card import Card
from attention_atlas.stats.intervals import Floats, predicted_difference


@dataclass(frozen=True)
class Features:
    """Features of heads: values [option, example, layer, head, 21], options as in `alternatives`."""

    values: npt.NDArray[np.float32]

    def by_example(self, options: FeatureOptions) -> Floats:
        """[example, head, 21] under some options, heads in the order of layers."""
        values = self.values[alternatives().index(options)]
        return values.reshape(len(values), -1, values.shape[-1]).astype(np.float64)

    def means(self, options: FeatureOptions) -> Floats:
        """[head, 21] means over the examples, with equal weight."""
        return self.by_example(options).mean(axis=0)


def features(attention: Attention, examples: Examples, card: Card) -> Features:
    """Features of all heads under all options, of the first window of each passage."""
    later_windows = {e.record for e in examples if e.question is not None and e.id != e.question.question}
    first_windows = (example for example in attention if example.record not in later_windows)
    values = mean_features(progress(first_windows, label="examples"), card.cls, card.sep, alternatives())
    return Features(values.astype(np.float32))


HALVES = ("heads", "inputs")
FITS = ("reused", "refitted")
"""Types of the heads of a compared model: the nearest of the study's model, or clusters of the model itself."""
_STARTS = 50
_SEEDS = 5
_COUNTS = (3, 4, 5)


def head_types(
    features: Mapping[str, Features],
    attention: RepeatedAttention,
    options: Mapping[str, Any],
    method: str,
    fits: int,
    sets: int,
    perplexity: float,
    seed: int,
    model: str,
) -> dict[str, pd.DataFrame]:
    """The type of every head, and what Figures 1 to 5, Table 1 and the options show.

    features: name -> of a compared model, `squad` of the study's. attention: of its first examples. cluster: the type by which
    the rows of Tables 2 and 3 select a head, which is its type unless that is unnamed; n: examples.
    """
    chosen, measured = FeatureOptions(**options), features["squad"]
    means = measured.means(chosen)
    types = types_of(means, seed, method)
    heads = head_rows(np.asarray(types.names, dtype=object).reshape(measured.values.shape[2:4]), "type")
    typed = heads.assign(cluster=types.clusters, n=measured.values.shape[1]).join(pd.DataFrame(means, columns=list(FEATURES)))
    typed.insert(0, "model", model)
    places = TSNE(perplexity=min(perplexity, (len(means) - 1) / 3), init="pca", random_state=seed).fit_transform(means)
    return maps(attention, typed) | {
        "types": typed,
        "plane": heads.assign(x=places[:, 0].astype(np.float64), y=places[:, 1].astype(np.float64)),
        "agreement": agreement(measured, chosen, method, fits, seed),
        "stability": stability(features, chosen, fits, sets, seed),
        "models": models(typed, features, chosen, method, seed),
    }


def stability(features: Mapping[str, Features], options: FeatureOptions, fits: int, sets: int, seed: int) -> pd.DataFrame:
    """Shares of heads that keep their cluster on halves of heads or inputs; means over sets of fits, interval of one set."""
    rows, count = [], len(TYPES)
    for name, measured in features.items():
        values = measured.by_example(options)
        reference, _ = clusters(values.mean(axis=0), count, seed)
        for halve in HALVES:
            of_sets = [halved_labels(values, halve, count, fits, seed + fits * number) for number in range(sets)]
            in_all = np.array([consistent_in_all(labels, reference, count) for labels in of_sets])
            low, high = np.clip(predicted_difference(in_all.mean(), in_all, np.zeros(1)), 0, 1)
            row = {"model": name, "halved": halve, "fits": fits, "sets": sets}
            row |= {"pairwise": np.mean([pairwise_agreement(labels, count).mean() for labels in of_sets])}
            row |= {"consistent_in_all": in_all.mean(), "consistent_in_all_ci_low": low, "consistent_in_all_ci_high": high}
            rows.append(row | {"heads": values.shape[1], "examples": len(values)})
    return pd.DataFrame(rows)


def models(
    head_types: pd.DataFrame, features: Mapping[str, Features], options: FeatureOptions, method: str, seed: int
) -> pd.DataFrame:
    """The type of each head of each model, by `FITS`."""
    reference, study_clusters = head_types[list(FEATURES)].to_numpy(float), head_types["cluster"].tolist()
    type_of_cluster = dict(zip(study_clusters, head_types["type"], strict=True))
    frames = []
    for name, measured in features.items():
        means = measured.means(options)
        if name == "squad":
            by_fit = dict.fromkeys(FITS, tuple(head_types["type"]))
        else:
            nearest = nearest_clusters(means, reference, study_clusters)
            refitted = types_of(means, seed, method).names
            by_fit = {"reused": tuple(type_of_cluster[cluster] for cluster in nearest), "refitted": refitted}
        for fit in FITS:
            rows = head_rows(np.asarray(by_fit[fit], dtype=object).reshape(measured.values.shape[2:4]), "type")
            frames.append(rows.assign(model=name, fit=fit))
    return pd.concat(frames, ignore_index=True)[["model", "fit", "layer", "head", "type"]]


def agreement(features: Features, chosen: FeatureOptions, method: str, fits: int, seed: int) -> pd.DataFrame:
    """Clusters of the heads with one choice changed: agreement with the chosen clusters, silhouette and stability."""
    means, by_example, count = features.means(chosen), features.by_example(chosen), len(TYPES)
    reference, _ = clusters(means, count, seed, method)
    rows: list[dict[str, Any]] = []

    def add(aspect: str, setting: str, values: Floats = means, number: int = count, **changed: Any) -> None:
        labels, _ = clusters(values, number, **{"seed": seed, "method": method, **changed})
        separable = 1 < len(set(labels.tolist())) < len(labels)
        row = {"aspect": aspect, "setting": setting, "clusters": number, "heads": len(labels)}
        row["ari"] = float(adjusted_rand_score(reference, labels))
        rows.append(row | {"silhouette": float(silhouette_score(values, labels)) if separable else float("nan")})

    add("as chosen", "")
    for options in alternatives():
        if options != chosen:
            add("features", ", ".join(f"{k} {v}" for k, v in asdict(options).items()), features.means(options))
    for new_seed in range(seed + 1, seed + 1 + _SEEDS):
        add("seed", str(new_seed), seed=new_seed)
    other_method = "mixture" if method == "kmeans" else "kmeans"
    add("method", other_method, method=other_method)
    if len(by_example) > 1:
        middle = len(by_example) // 2
        add("inputs", "first half", by_example[:middle].mean(axis=0))
        add("inputs", "second half", by_example[middle:].mean(axis=0))
    for number in _COUNTS:
        add("clusters", str(number), number=number)
        for halve in HALVES:
            labels = halved_labels(by_example, halve, number, fits, seed)
            rows[-1][f"stability_{halve}"] = float(pairwise_agreement(labels, number).mean())
    return pd.DataFrame(rows, columns=[*rows[0], *(f"stability_{halve}" for halve in HALVES)])


def halved_labels(features: Floats, halve: str, count: int, fits: int, seed: int) -> npt.NDArray[np.intp]:
    """[fit, head] clusters from random halves, of features [example, head, 21].

    halve: heads: cluster half of the heads by their mean features, and give each other head the nearest centre; inputs: cluster
    all heads by their mean features over half of the examples.
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


_SHORT, _LONG = 24, 64
"""Smallest and largest number of word pieces of the example. Without such an example the shortest is shown."""
_CELLS = 24
"""Largest number of rows and columns of a map of Figure 5."""
_PER_TYPE = 2


def maps(attention: RepeatedAttention, head_types: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Maps of Figure 1 (the two heads nearest to the mean of each type) and of Figure 5 (all heads, means over blocks)."""
    suitable = (example for example in attention if _SHORT <= len(example.tokens) <= _LONG)
    example = next(suitable, None) or min(attention, key=lambda shown: len(shown.tokens), default=None)
    if example is None:
        raise AtlasError("there is no example to draw: every record of the first shard was dropped.")
    weights = widened(example.maps)
    typical = []
    for row in typical_heads(head_types).itertuples():
        cells = map_rows(example.tokens, weights[row.layer - 1, row.head - 1])
        typical.append(cells.assign(type=row.type, rank=row.rank, layer=row.layer, head=row.head, example=example.id))
    small = shrunk(weights, _CELLS)[head_types["layer"] - 1, head_types["head"] - 1]
    number, row, column = (places.ravel() for places in np.indices(small.shape))
    grid = head_types[["layer", "head", "type"]].iloc[number].reset_index(drop=True)
    grid = grid.assign(example=example.id, pieces=len(example.tokens), row=row + 1, column=column + 1, weight=small.ravel())
    order = ["type", "rank", "layer", "head", "example", "query", "key", "query_token", "key_token", "weight"]
    return {"maps": pd.concat(typical, ignore_index=True)[order], "map_grid": grid}


def typical_heads(types: pd.DataFrame) -> pd.DataFrame:
    """The two heads of each type whose features are nearest to the type's mean: type, rank, layer, head."""
    frames = []
    for name in shown_types(types["type"]):
        type_heads = types[types["type"] == name]
        values = type_heads[list(FEATURES)].to_numpy(float)
        if len(values):
            nearest = np.argsort(np.square(values - values.mean(axis=0)).sum(axis=1), kind="stable")[:_PER_TYPE]
            frames.append(type_heads.iloc[nearest].assign(rank=np.arange(len(nearest)) + 1))
    return pd.concat(frames)[["type", "rank", "layer", "head"]]


def shrunk(maps: npt.NDArray[np.float32], cells: int) -> Floats:
    """[..., n, n] as [..., m, m] with m = min(n, cells): means over blocks of rows and columns of similar size."""
    n = maps.shape[-1]
    m = min(n, cells)
    edges = np.linspace(0, n, m + 1).astype(int)[:-1]
    sizes = np.diff([*edges, n])
    sums = np.add.reduceat(np.add.reduceat(maps.astype(np.float64), edges, axis=-2), edges, axis=-1)
    return sums / (sizes[:, None] * sizes[None, :])
