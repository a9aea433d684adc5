"""Figure 6: divergence of all pairs of heads, heads in the plane, and whether heads of one layer are alike (section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, spearmanr

from attention_atlas.attention.cache import Attention, with_attention
from attention_atlas.attention.divergence import head_divergence
from attention_atlas.corpora.examples import Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import independent_units
from attention_atlas.models.devices import pick_device
from attention_atlas.stats.intervals import bootstrap_ratio

Floats = npt.NDArray[np.float64]
RELATIONS = ("det", "dobj", "pobj", "auxpass", "poss")
"""Relations whose best heads the paper marks in its figure."""
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


def head_distances(
    attention: Attention, examples: Examples, smoothing: float, blocks: int, threads: int
) -> dict[str, pd.DataFrame]:
    """Jensen-Shannon divergence between all pairs of heads, averaged over the tokens of all segments.

    smoothing: share of the uniform distribution mixed into every row. blocks: number of groups with separate sums, for the
    bootstrap; documents (segments where the corpus names no documents) are assigned in turn, so that none is in two groups.

    Returns:
        distances: layer_a, head_a, layer_b, head_b, js: every unordered pair once, a before b; js in nats, mean over all
            tokens.
        blocks: block, layer_distance, pairs, tokens, js: mean divergence of pairs at each distance of layers; unit: what a
            block is (documents, segments, or groups of them).
    """
    sums: Floats | None = None
    tokens = np.zeros(blocks)
    units = independent_units([example.document for example in examples], "segments")
    gpu = "cuda" if pick_device() == "cuda" else None
    heads = 0
    for number, (_, example) in enumerate(with_attention(examples, progress(attention, total=len(examples), label="segments"))):
        layers, heads, n = example.maps.shape[:3]
        divergence = head_divergence(example.maps.reshape(layers * heads, n, n), smoothing, threads, gpu)
        sums = np.zeros((blocks, *divergence.shape)) if sums is None else sums
        sums[units.of_item[number] % blocks] += divergence
        tokens[units.of_item[number] % blocks] += n
    if sums is None:
        raise AtlasError(
            "there is no segment to compare heads on: every record was dropped (see dropped.tsv), or `limit` is too small."
        )
    filled = np.flatnonzero(tokens)
    unit = units.name if units.count <= blocks else f"groups of {units.name}"
    by_block = []
    for block, group in enumerate(filled, start=1):
        pairs = pairs_frame(sums[group], heads)
        by_distance = pairs.groupby((pairs["layer_b"] - pairs["layer_a"]).rename("layer_distance"))["js"]
        frame = by_distance.agg(pairs="size", js="mean").reset_index()
        by_block.append(frame.assign(block=block, tokens=int(tokens[group]), js=frame["js"] / tokens[group]))
    columns = ["block", "layer_distance", "pairs", "tokens", "js"]
    return {
        "distances": pairs_frame(sums.sum(axis=0) / tokens.sum(), heads),
        "blocks": pd.concat(by_block, ignore_index=True)[columns].assign(unit=unit),
    }


def pairs_frame(distances: Floats, heads: int) -> pd.DataFrame:
    """[head, head] over all heads of all layers as a frame of the pairs above the diagonal."""
    a, b = np.triu_indices(len(distances), 1)
    places = {"layer_a": a // heads + 1, "head_a": a % heads + 1, "layer_b": b // heads + 1, "head_b": b % heads + 1}
    return pd.DataFrame({**places, "js": distances[a, b]})


def square(pairs: pd.DataFrame) -> tuple[Floats, pd.DataFrame]:
    """A frame of pairs as a symmetric matrix [head, head] in nats, and the heads of its rows: layer, head (from 1)."""
    heads_of_pairs = [pairs[[f"layer_{side}", f"head_{side}"]].set_axis(["layer", "head"], axis=1) for side in "ab"]
    names = pd.concat(heads_of_pairs).drop_duplicates().sort_values(["layer", "head"], ignore_index=True)
    size = len(names)
    if len(pairs) != size * (size - 1) // 2:
        raise AtlasError(f"head_distances.tsv: {len(pairs)} pairs of {size} heads; delete the file and run again.")
    index = pd.MultiIndex.from_frame(names)
    rows, columns = (index.get_indexer(pd.MultiIndex.from_frame(heads)) for heads in heads_of_pairs)
    matrix = np.zeros((size, size))
    matrix[rows, columns] = matrix[columns, rows] = pairs["js"]
    return matrix, names


def clusters(
    distances: pd.DataFrame,
    blocks: pd.DataFrame,
    surface: pd.DataFrame,
    dependencies: pd.DataFrame,
    options: Mapping[str, Any],
    resamples: int,
    seed: int,
    coreference: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """All heads in the plane with their behaviours, and whether heads of one layer are alike.

    Args:
        distances, blocks: of `head_distances`.
        surface, dependencies, coreference: behaviours of heads; no coreference without a corpus of chains.
        options: broad_entropy (nats), position, special (shares), permutations.
        resamples, seed: of the bootstrap over blocks; seed also of layout and permutations.

    Returns:
        heads: layer, head, x, y, behaviour, relation.
        layers: layer_distance, pairs, js, ci_low, ci_high, unit, units.
        test: quantity, value, ci_low, ci_high, n (heads), unit, units, meaning.
        starts: start (from 1), layer, head, x, y: layouts from other random starts, laid on the first (`on_layout`).
    """
    matrix, heads = square(distances)
    layout, reseeded = layouts(matrix, seed)
    table = heads.assign(x=layout[:, 0], y=layout[:, 1]).merge(behaviours(surface, options), on=["layer", "head"], how="left")
    named = named_heads(dependencies, coreference)
    table["relation"] = [named.get(pair, "") for pair in zip(table["layer"], table["head"], strict=True)]
    unit, units = blocks["unit"].iloc[0], blocks["block"].nunique()
    labels = heads["layer"].to_numpy()
    within, between = mean_within(matrix, labels), mean_between(matrix, labels)
    quantities = layout_quality(matrix, layout, reseeded)
    quantities |= {"within_layer": within, "between_layers": between, "difference": between - within}
    quantities["permutation_p"] = permutation_p(matrix, labels, options["permutations"], seed)
    test = pd.DataFrame(quantities.items(), columns=["quantity", "value"])
    low, high = _difference_interval(blocks, resamples, seed)
    is_difference = test["quantity"] == "difference"
    test["ci_low"], test["ci_high"] = np.where(is_difference, low, np.nan), np.where(is_difference, high, np.nan)
    test["n"] = len(heads)
    test["unit"] = np.where(is_difference, unit, "")
    test["units"] = pd.Series(np.where(is_difference, units, pd.NA), dtype="Int64")
    test["meaning"] = test["quantity"].map(_MEANING)
    starts = [
        heads.assign(start=start, x=aligned[:, 0], y=aligned[:, 1])
        for start, aligned in enumerate((on_layout(layout, again) for again in reseeded), start=1)
    ]
    return {
        "heads": table,
        "layers": by_layer_distance(blocks, resamples, seed).assign(unit=unit, units=units),
        "test": test,
        "starts": pd.concat(starts, ignore_index=True)[["start", "layer", "head", "x", "y"]],
    }


def layouts(distances: Floats, seed: int) -> tuple[Floats, list[Floats]]:
    """Metric multidimensional scaling to the plane: the layout [head, 2] and five layouts from other seeds.

    Options are those of the published code, with a seed; a layout is rotated so that x is its widest direction.
    """
    from sklearn.manifold import MDS

    options = {"n_init": 5, "init": "random", "max_iter": 1000, "eps": 1e-10}

    def scaled(random_state: int) -> Floats:
        scaling = MDS(n_components=2, metric_mds=True, metric="precomputed", random_state=random_state, **options)
        layout = scaling.fit_transform(distances)
        centred = layout - layout.mean(axis=0)
        rotated = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
        # The sign of an axis is chosen so that the farthest head has a positive coordinate.
        farthest = np.abs(rotated).argmax(axis=0)
        return np.asarray(rotated * np.sign(rotated[farthest, [0, 1]]))

    return scaled(seed), [scaled(seed + k) for k in range(1, 6)]


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
    best = relations[relations["relation"].isin(RELATIONS)][["layer", "head", "relation"]]
    if coreference is not None:
        of_all = coreference[(coreference["system"] == "best_head") & (coreference["mention_type"] == "all")]
        best = pd.concat([best, of_all[["layer", "head"]].assign(relation="coreference")])
    by_head = best.astype({"layer": int, "head": int}).sort_values("relation").groupby(["layer", "head"])["relation"]
    return by_head.agg(", ".join).to_dict()


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
    mass, tokens, pairs = _by_block(blocks)
    low, high = bootstrap_ratio(mass.to_numpy(), tokens[:, None], resamples, seed)
    means = mass.to_numpy().sum(axis=0) / tokens.sum()
    return pairs.reset_index().assign(js=means, ci_low=low, ci_high=high)


def _difference_interval(blocks: pd.DataFrame, resamples: int, seed: int) -> tuple[float, float]:
    """Interval of between minus within layers over groups of segments."""
    mass, tokens, pairs = _by_block(blocks)
    pairs = pairs[pairs.index > 0]
    between = (mass[pairs.index] * pairs).sum(axis=1) / pairs.sum()
    low, high = bootstrap_ratio((between - mass[0]).to_numpy()[:, None], tokens[:, None], resamples, seed)
    return float(low[0]), float(high[0])


def _by_block(blocks: pd.DataFrame) -> tuple[pd.DataFrame, Floats, pd.Series]:
    """Divergence summed over tokens, [block, layer distance]; the tokens of each block; the pairs at each distance."""
    wide = blocks.pivot(index="block", columns="layer_distance", values="js")
    tokens = blocks.groupby("block")["tokens"].first().to_numpy(dtype=float)
    return wide.mul(tokens, axis=0), tokens, blocks.groupby("layer_distance")["pairs"].first()
