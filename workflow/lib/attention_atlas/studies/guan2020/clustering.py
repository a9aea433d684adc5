"""Figures 2 and 3: types of all heads, their place in the plane, their share of each layer; and how far the choices matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score, silhouette_score

from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import write_quantities, write_table
from attention_atlas.methods.distance_features import FEATURES, FeatureOptions, alternatives, options_of
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.methods.head_type_names import TYPES
from attention_atlas.methods.head_types import Labels, clusters, types_of
from attention_atlas.studies.guan2020.head_features import Features, read_features
from attention_atlas.studies.guan2020.stability import HALVES, halved_labels, pairwise_agreement

_SEEDS = 5
_COUNTS = (3, 4, 5)


def cluster_heads(
    features_path: str | Path,
    options: Mapping[str, Any],
    method: str,
    fits: int,
    perplexity: float,
    seed: int,
    setting: Setting,
    out: str | Path,
    plane_out: str | Path,
    layers_out: str | Path,
    summary_out: str | Path,
    agreement_out: str | Path,
    html_out: str | Path,
) -> None:
    """Type every head and write what Figures 2 and 3 show.

    Args:
        features_path: of `measure_features`.
        options: of the features.
        method: kmeans or mixture.
        fits: halves of the data for stability.
        perplexity: of t-SNE; less where there are few heads.
        seed: of clusters, t-SNE and halves.
        setting: what was looked at.
        out: model, layer, head, type, and the 21 features.
        plane_out: layer, head, type, x, y.
        layers_out: layer, type, heads, share.
        summary_out: quantities: examples, layers, heads.
        agreement_out, html_out: aspect, setting, clusters, heads, ari (with the heads' clusters as chosen), silhouette,
            stability_heads, stability_inputs; its page.

    Raises:
        AtlasError: the clusters cannot be named, or there are too few heads.
    """
    features = read_features(features_path)
    chosen = options_of(options)
    means = features.means(chosen)
    types = types_of(means, seed, method)
    heads = head_rows(np.asarray(types, dtype=object).reshape(features.shape), "type")
    table = pd.concat([heads, pd.DataFrame(means, columns=list(FEATURES))], axis=1)
    table.insert(0, "model", setting.model)
    write_table(table, out)
    write_table(heads.assign(**plane(means, perplexity, seed)), plane_out)
    write_table(by_layer(heads), layers_out)
    layers, heads_a_layer = features.shape
    write_quantities({"examples": len(features.records), "layers": layers, "heads": layers * heads_a_layer}, summary_out)
    compared = agreement(features, chosen, method, fits, seed)
    write_table(compared, agreement_out)
    _page(compared, len(features.records), fits, setting, html_out)


def plane(means: npt.NDArray[np.float64], perplexity: float, seed: int) -> dict[str, npt.NDArray[np.float64]]:
    """Columns x and y: heads in the plane by t-SNE of their features, not scaled."""
    fitting = min(perplexity, (len(means) - 1) / 3)
    places = TSNE(perplexity=fitting, init="pca", random_state=seed).fit_transform(means)
    return {"x": places[:, 0].astype(np.float64), "y": places[:, 1].astype(np.float64)}


def by_layer(heads: pd.DataFrame) -> pd.DataFrame:
    """Heads of each type in each layer: layer, type, heads, share."""
    counts = heads.groupby(["layer", "type"]).size().unstack(fill_value=0).reindex(columns=list(TYPES), fill_value=0)
    table = counts.stack().rename("heads").reset_index()
    table["share"] = table["heads"] / table.groupby("layer")["heads"].transform("sum")
    return table


def agreement(features: Features, chosen: FeatureOptions, method: str, fits: int, seed: int) -> pd.DataFrame:
    """Clusters of the heads when one choice is moved: agreement with those as chosen, how distinct and how stable they are."""
    means = features.means(chosen)
    count = len(TYPES)
    reference, _ = clusters(means, count, seed, method)
    half = features.by_example(chosen)
    other = "mixture" if method == "kmeans" else "kmeans"
    rows = [_row("as chosen", "", means, reference, reference, count)]
    for options in alternatives():
        if options != chosen:
            moved = features.means(options)
            labels, _ = clusters(moved, count, seed, method)
            rows.append(
                _row("features", ", ".join(f"{k} {v}" for k, v in asdict(options).items()), moved, labels, reference, count)
            )
    for other_seed in range(seed + 1, seed + 1 + _SEEDS):
        rows.append(_row("seed", str(other_seed), means, clusters(means, count, other_seed, method)[0], reference, count))
    rows.append(_row("method", other, means, clusters(means, count, seed, other)[0], reference, count))
    if len(half) > 1:
        for name, part in (("first half", half[: len(half) // 2]), ("second half", half[len(half) // 2 :])):
            moved = part.mean(axis=0)
            rows.append(_row("inputs", name, moved, clusters(moved, count, seed, method)[0], reference, count))
    for number in _COUNTS:
        row = _row("clusters", str(number), means, clusters(means, number, seed, method)[0], reference, number)
        for halve in HALVES:
            labels = halved_labels(half, halve, number, fits, seed)
            row[f"stability_{halve}"] = float(pairwise_agreement(labels, number).mean())
        rows.append(row)
    return pd.DataFrame(rows, columns=[*rows[0], *(f"stability_{halve}" for halve in HALVES)])


def _row(
    aspect: str, setting: str, means: npt.NDArray[np.float64], labels: Labels, reference: Labels, count: int
) -> dict[str, Any]:
    distinct = float(silhouette_score(means, labels)) if 1 < len(set(labels.tolist())) < len(labels) else float("nan")
    return {
        "aspect": aspect,
        "setting": setting,
        "clusters": count,
        "heads": len(labels),
        "ari": float(adjusted_rand_score(reference, labels)),
        "silhouette": distinct,
    }


def _page(table: pd.DataFrame, samples: int, fits: int, setting: Setting, path: str | Path) -> None:
    notes = [
        setting.line,
        f"Clusters of the heads by their mean features over {samples} examples, with one choice moved at a time. ARI: adjusted "
        "Rand index against the clusters as chosen (1: the same, 0: as by chance). Silhouette: how distinct the clusters are "
        f"(-1 to 1). Stability: mean share of heads in the same cluster over all pairs of {fits} fits, each on half of the "
        "heads or of the inputs. The paper calls 3 and 5 clusters stable too, but not to be told apart by eye.",
    ]
    names = {"ari": "ARI", "stability_heads": "Stability, halved heads", "stability_inputs": "Stability, halved inputs"}
    formats = {"clusters": "d", "heads": "d", "ari": ".3f", "silhouette": ".3f"} | dict.fromkeys(
        ("stability_heads", "stability_inputs"), ".1%"
    )
    write_html_table(table, path, "Guan et al. 2020: agreement of the types of heads", notes, names, formats)
