"""Figure 6: heads in the plane by multidimensional scaling, their behaviours, and whether heads of one layer are alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, spearmanr

from attention_atlas.io.tables import read_table, write_table
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.studies.clark2019.head_distances import read_distances

Floats = npt.NDArray[np.float64]

# Relations whose best heads the paper marks in its figure.
RELATIONS = ("det", "dobj", "pobj", "auxpass", "poss")
_RESEEDED_LAYOUTS = 5
"""Layouts with other seeds, to show how much the layout depends on the seed."""
_CHUNK = 500
_MEANING = {
    "stress": "Kruskal's stress of the layout (0: the plane holds all distances)",
    "pearson": "correlation of distances in the plane with the divergences",
    "spearman": "rank correlation of the same",
    "layout_radius": "root-mean-square distance of the heads from the centre of the layout (nats per token)",
    "displacement_mean": "root-mean-square displacement of the heads in a layout from another seed, after moving, rotating and "
    "mirroring it (nats per token; 0: the same picture), mean over layouts",
    "displacement_max": "largest of these displacements (nats per token)",
    "within_layer": "mean divergence of heads of one layer (nats per token)",
    "between_layers": "mean divergence of heads of different layers (nats per token)",
    "difference": "between minus within (nats per token)",
    "permutation_p": "share of permuted layer labels with as large a difference",
}


@dataclass(frozen=True)
class ClusterTables:
    """Tables that Figure 6 is made from.

    Attributes:
        distances, blocks: tables of `head_distances`.
        surface, dependencies, coreference: behaviours of heads; the last is None without a coreference corpus.
    """

    distances: str | Path
    blocks: str | Path
    surface: str | Path
    dependencies: str | Path
    coreference: str | Path | None


def cluster_heads(
    tables: ClusterTables,
    options: Mapping[str, Any],
    resamples: int,
    seed: int,
    out: str | Path,
    layers_out: str | Path,
    test_out: str | Path,
    starts_out: str | Path,
) -> None:
    """Place all heads in the plane, name their behaviours, and test whether heads of one layer are alike.

    Args:
        tables: the tables to read.
        options: broad_entropy (nats), position, special (shares), permutations.
        resamples: of the bootstrap over blocks of documents or segments.
        seed: of layout, permutations and bootstrap.
        out: layer, head, x, y, behaviour, relation.
        layers_out: layer_distance, pairs, js, ci_low, ci_high, unit, units.
        test_out: quantity, value, ci_low, ci_high, n (heads), unit, units, meaning.
        starts_out: start (from 1), layer, head, x, y: the heads in layouts from other random starts, aligned with the layout by
            `on_layout`.

    Raises:
        AtlasError: a table cannot be used.
    """
    distances, heads = read_distances(tables.distances)
    layout, reseeded = layouts(distances, seed)
    table = heads.assign(x=layout[:, 0], y=layout[:, 1])
    surface = read_table(tables.surface, ["measure", "layer", "head", "value"])
    table = table.merge(behaviours(surface, options), on=["layer", "head"], how="left")
    relations = read_table(tables.dependencies, ["relation", "layer", "head"])
    coreference = read_table(tables.coreference, ["system", "mention_type", "layer", "head"]) if tables.coreference else None
    table["relation"] = [
        named_heads(relations, coreference).get(pair, "") for pair in zip(table["layer"], table["head"], strict=True)
    ]
    write_table(table, out)
    blocks = read_table(tables.blocks, ["block", "layer_distance", "pairs", "tokens", "js", "unit"])
    unit, units = blocks["unit"].iloc[0], blocks["block"].nunique()
    write_table(by_layer_distance(blocks, resamples, seed).assign(unit=unit, units=units), layers_out)
    labels = heads["layer"].to_numpy()
    test = layout_quality(distances, layout, reseeded) | {
        "within_layer": mean_within(distances, labels),
        "between_layers": mean_between(distances, labels),
    }
    test["difference"] = test["between_layers"] - test["within_layer"]
    test["permutation_p"] = permutation_p(distances, labels, options["permutations"], seed)
    summary = pd.DataFrame({"quantity": list(test), "value": list(test.values())})
    low, high = _difference_interval(blocks, resamples, seed)
    is_difference = summary["quantity"] == "difference"
    summary["ci_low"], summary["ci_high"] = np.where(is_difference, low, np.nan), np.where(is_difference, high, np.nan)
    summary["n"] = len(heads)
    summary["unit"] = np.where(is_difference, unit, "")
    summary["units"] = pd.Series(np.where(is_difference, units, pd.NA), dtype="Int64")
    summary["meaning"] = summary["quantity"].map(_MEANING)
    write_table(summary, test_out)
    starts = [
        heads.assign(start=start, x=aligned[:, 0], y=aligned[:, 1])
        for start, aligned in enumerate((on_layout(layout, again) for again in reseeded), start=1)
    ]
    write_table(pd.concat(starts, ignore_index=True)[["start", "layer", "head", "x", "y"]], starts_out)


def layouts(distances: Floats, seed: int) -> tuple[Floats, list[Floats]]:
    """Metric multidimensional scaling to the plane: the layout [head, 2] and layouts from other seeds.

    Options are those of the published code, with a seed; a layout is rotated so that x is its widest direction.
    """
    from sklearn.manifold import MDS

    def scaled(random_state: int) -> Floats:
        scaling = MDS(
            n_components=2,
            metric_mds=True,
            metric="precomputed",
            n_init=5,
            init="random",
            max_iter=1000,
            eps=1e-10,
            random_state=random_state,
        )
        return _rotated(scaling.fit_transform(distances))

    return scaled(seed), [scaled(seed + k) for k in range(1, _RESEEDED_LAYOUTS + 1)]


def _rotated(layout: Floats) -> Floats:
    centred = layout - layout.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    rotated = centred @ axes.T
    # The sign of an axis is chosen so that the farthest head has a positive coordinate.
    farthest = np.abs(rotated).argmax(axis=0)
    return rotated * np.sign(rotated[farthest, [0, 1]])


def on_layout(layout: Floats, moved: Floats) -> Floats:
    """A layout [head, 2] moved, rotated and mirrored so that it lies on another one (orthogonal Procrustes analysis).

    It keeps its size: scaling would shrink layouts that differ, and draw all heads towards the centre.
    """
    centre, centred = layout.mean(axis=0), moved - moved.mean(axis=0)
    rotation, _ = orthogonal_procrustes(centred, layout - centre)
    return centred @ rotation + centre


def root_mean_square(vectors: Floats) -> float:
    """Root of the mean squared length of vectors [head, 2]."""
    return float(np.sqrt(np.square(vectors).sum(axis=1).mean()))


def layout_quality(distances: Floats, layout: Floats, reseeded: list[Floats]) -> dict[str, float]:
    """How well the plane preserves the distances, and how much the layout depends on the seed."""
    divergences, plane_distances = squareform(distances, checks=False), pdist(layout)
    displacements = [root_mean_square(on_layout(layout, reseeded_layout) - layout) for reseeded_layout in reseeded]
    return {
        "stress": float(np.sqrt(((divergences - plane_distances) ** 2).sum() / (divergences**2).sum())),
        "pearson": float(pearsonr(divergences, plane_distances).statistic),
        "spearman": float(spearmanr(divergences, plane_distances).statistic),
        "layout_radius": root_mean_square(layout - layout.mean(axis=0)),
        "displacement_mean": float(np.mean(displacements)),
        "displacement_max": float(np.max(displacements)),
    }


def behaviours(surface: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
    """Main behaviour of each head: layer, head, behaviour; the last in the order of the published code if there are several."""
    wide = surface.pivot(index=["layer", "head"], columns="measure", values="value")
    absent = pd.Series(0.0, index=wide.index)
    rules = (
        ("next", "next", options["position"]),
        ("previous", "previous", options["position"]),
        ("broad", "entropy", options["broad_entropy"]),
        ("cls", "cls", options["special"]),
        ("sep", "sep", options["special"]),
        ("punctuation", "punct", options["special"]),
    )
    named = pd.Series("none", index=wide.index)
    for name, measure, threshold in rules:
        named = named.mask(wide.get(measure, absent) > threshold, name)
    return named.rename("behaviour").reset_index()


def named_heads(relations: pd.DataFrame, coreference: pd.DataFrame | None) -> dict[tuple[int, int], str]:
    """(layer, head) -> the relations, and coreference, of which it is the best head."""
    relations_of_head: dict[tuple[int, int], list[str]] = {}
    best = relations[relations["relation"].isin(RELATIONS)]
    for row in best.itertuples():
        relations_of_head.setdefault((int(row.layer), int(row.head)), []).append(row.relation)
    if coreference is not None:
        row = coreference[(coreference["system"] == "best_head") & (coreference["mention_type"] == "all")].iloc[0]
        relations_of_head.setdefault((int(row["layer"]), int(row["head"])), []).append("coreference")
    return {pair: ", ".join(sorted(names)) for pair, names in relations_of_head.items()}


def mean_within(distances: Floats, labels: npt.NDArray[np.integer]) -> float:
    """Mean distance of two different heads of one layer."""
    same = labels[:, None] == labels[None, :]
    np.fill_diagonal(same, False)
    return float(distances[same].mean())


def mean_between(distances: Floats, labels: npt.NDArray[np.integer]) -> float:
    """Mean distance of two heads of different layers."""
    return float(distances[labels[:, None] != labels[None, :]].mean())


def permutation_p(distances: Floats, labels: npt.NDArray[np.integer], permutations: int, seed: int) -> float:
    """One-sided p that heads of one layer are no closer than heads of different layers, over shuffled layer labels.

    The total of all distances does not change, so the difference of the means is as extreme as the sum within layers is small.
    """
    generator = np.random.default_rng(seed)
    one_hot = (labels[:, None] == np.unique(labels)[None, :]).astype(float)
    observed = float(np.einsum("al,ab,bl->", one_hot, distances, one_hot, optimize=True))
    as_small = 0
    for start in range(0, permutations, _CHUNK):
        size = min(_CHUNK, permutations - start)
        order = generator.permuted(np.tile(np.arange(len(labels)), (size, 1)), axis=1)
        shuffled = one_hot[order]
        sums = (np.matmul(distances, shuffled) * shuffled).sum(axis=(1, 2))
        # Equal sums may differ in their last digits, since the order of the terms does.
        as_small += int((sums <= observed * (1 + 1e-12)).sum())
    return (as_small + 1) / (permutations + 1)


def by_layer_distance(blocks: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Mean divergence by the distance between layers, with intervals over groups of segments."""
    mass, tokens = _by_block(blocks)
    low, high = bootstrap_ratio(mass.to_numpy(), tokens[:, None], resamples, seed)
    pairs = blocks.drop_duplicates("layer_distance").set_index("layer_distance")["pairs"]
    means = mass.to_numpy().sum(axis=0) / tokens.sum()
    return pd.DataFrame(
        {
            "layer_distance": mass.columns,
            "pairs": pairs.loc[mass.columns].to_numpy(),
            "js": means,
            "ci_low": low,
            "ci_high": high,
        }
    )


def _difference_interval(blocks: pd.DataFrame, resamples: int, seed: int) -> tuple[float, float]:
    """Interval of between minus within layers over groups of segments."""
    mass, tokens = _by_block(blocks)
    pairs = blocks.drop_duplicates("layer_distance").set_index("layer_distance")["pairs"].loc[mass.columns]
    different_layers = pairs.index > 0
    between = (mass.loc[:, different_layers] * pairs[different_layers]).sum(axis=1) / pairs[different_layers].sum()
    low, high = bootstrap_ratio((between - mass[0]).to_numpy()[:, None], tokens[:, None], resamples, seed)
    return float(low[0]), float(high[0])


def _by_block(blocks: pd.DataFrame) -> tuple[pd.DataFrame, Floats]:
    """Divergence summed over tokens, [block, layer distance], and the tokens of each block."""
    wide = blocks.pivot(index="block", columns="layer_distance", values="js")
    tokens = blocks.drop_duplicates("block").set_index("block")["tokens"].loc[wide.index].to_numpy(dtype=float)
    return wide.mul(tokens, axis=0), tokens
