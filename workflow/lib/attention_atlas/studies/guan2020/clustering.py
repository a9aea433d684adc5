"""Figures 2 and 3: types of all heads, their t-SNE coordinates, their share of each layer; and sensitivity to choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score, silhouette_score

from attention_atlas.io.run_label import RunLabel
from attention_atlas.io.tables import write_quantities, write_table
from attention_atlas.methods.distance_features import FEATURES, FeatureOptions, alternatives, options_of
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.methods.head_type_names import TYPES, shown_types
from attention_atlas.methods.head_types import Labels, clusters, types_of
from attention_atlas.studies.guan2020.head_features import Features, read_features
from attention_atlas.studies.guan2020.stability import HALVES, halved_labels, pairwise_agreement

_SEEDS = 5
_COUNTS = (3, 4, 5)


@dataclass(frozen=True)
class ClusterOptions:
    """Choices of the clustering.

    Attributes:
        features: options of the features.
        method: kmeans or mixture.
        fits: number of halves of the data for stability.
        perplexity: of t-SNE; reduced for few heads.
        seed: of clusters, t-SNE and halves.
    """

    features: Mapping[str, Any]
    method: str
    fits: int
    perplexity: float
    seed: int


@dataclass(frozen=True)
class ClusterOutputs:
    """Files that `cluster_heads` writes.

    Attributes:
        types: model, layer, head, type, cluster (the type by which the rows of Tables 2 and 3 select it, which is the head's
            type unless that is unnamed), n (examples), and the 21 features.
        plane: layer, head, type, x, y.
        layers: layer, type, heads, share.
        summary: quantities: examples, layers, heads.
        agreement: aspect, setting, clusters, heads, ari (with the clusters of the chosen options), silhouette,
            stability_heads, stability_inputs.
    """

    types: str | Path
    plane: str | Path
    layers: str | Path
    summary: str | Path
    agreement: str | Path


def cluster_heads(features_path: str | Path, options: ClusterOptions, label: RunLabel, outputs: ClusterOutputs) -> None:
    """Type every head and write what Figures 2 and 3 show.

    Args:
        features_path: of `measure_features`.
        options: choices of the clustering.
        label: run, model and corpus.
        outputs: files to write.

    Raises:
        AtlasError: the clusters cannot be named, or there are too few heads.
    """
    features = read_features(features_path)
    chosen = options_of(options.features)
    means = features.means(chosen)
    types = types_of(means, options.seed, options.method)
    heads = head_rows(np.asarray(types.names, dtype=object).reshape(features.shape), "type")
    typed = heads.assign(cluster=types.clusters, n=len(features.records))
    table = pd.concat([typed, pd.DataFrame(means, columns=list(FEATURES))], axis=1)
    table.insert(0, "model", label.model)
    write_table(table, outputs.types)
    write_table(heads.assign(**plane(means, options.perplexity, options.seed)), outputs.plane)
    write_table(by_layer(heads), outputs.layers)
    layers, heads_a_layer = features.shape
    write_quantities({"examples": len(features.records), "layers": layers, "heads": layers * heads_a_layer}, outputs.summary)
    write_table(agreement(features, chosen, options.method, options.fits, options.seed), outputs.agreement)


def plane(means: npt.NDArray[np.float64], perplexity: float, seed: int) -> dict[str, npt.NDArray[np.float64]]:
    """Columns x and y: heads in the plane by t-SNE of their features, not scaled."""
    feasible = min(perplexity, (len(means) - 1) / 3)
    places = TSNE(perplexity=feasible, init="pca", random_state=seed).fit_transform(means)
    return {"x": places[:, 0].astype(np.float64), "y": places[:, 1].astype(np.float64)}


def by_layer(heads: pd.DataFrame) -> pd.DataFrame:
    """Heads of each type in each layer: layer, type, heads, share."""
    counts = heads.groupby(["layer", "type"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(shown_types(heads["type"])), fill_value=0)
    table = counts.stack().rename("heads").reset_index()
    table["share"] = table["heads"] / table.groupby("layer")["heads"].transform("sum")
    return table


def agreement(features: Features, chosen: FeatureOptions, method: str, fits: int, seed: int) -> pd.DataFrame:
    """Clusters of the heads with one choice changed: agreement with the chosen clusters, silhouette and stability."""
    means = features.means(chosen)
    count = len(TYPES)
    reference, _ = clusters(means, count, seed, method)
    by_example = features.by_example(chosen)
    alternative_method = "mixture" if method == "kmeans" else "kmeans"
    rows = [_row("as chosen", "", means, reference, reference, count)]
    for options in alternatives():
        if options != chosen:
            changed_means = features.means(options)
            labels, _ = clusters(changed_means, count, seed, method)
            rows.append(
                _row(
                    "features",
                    ", ".join(f"{k} {v}" for k, v in asdict(options).items()),
                    changed_means,
                    labels,
                    reference,
                    count,
                )
            )
    for new_seed in range(seed + 1, seed + 1 + _SEEDS):
        rows.append(_row("seed", str(new_seed), means, clusters(means, count, new_seed, method)[0], reference, count))
    labels, _ = clusters(means, count, seed, alternative_method)
    rows.append(_row("method", alternative_method, means, labels, reference, count))
    if len(by_example) > 1:
        middle = len(by_example) // 2
        for name, half in (("first half", by_example[:middle]), ("second half", by_example[middle:])):
            changed_means = half.mean(axis=0)
            rows.append(_row("inputs", name, changed_means, clusters(changed_means, count, seed, method)[0], reference, count))
    for number in _COUNTS:
        row = _row("clusters", str(number), means, clusters(means, number, seed, method)[0], reference, number)
        for halve in HALVES:
            labels = halved_labels(by_example, halve, number, fits, seed)
            row[f"stability_{halve}"] = float(pairwise_agreement(labels, number).mean())
        rows.append(row)
    return pd.DataFrame(rows, columns=[*rows[0], *(f"stability_{halve}" for halve in HALVES)])


def _row(
    aspect: str, choice: str, means: npt.NDArray[np.float64], labels: Labels, reference: Labels, count: int
) -> dict[str, Any]:
    silhouette = float(silhouette_score(means, labels)) if 1 < len(set(labels.tolist())) < len(labels) else float("nan")
    return {
        "aspect": aspect,
        "setting": choice,
        "clusters": count,
        "heads": len(labels),
        "ari": float(adjusted_rand_score(reference, labels)),
        "silhouette": silhouette,
    }
