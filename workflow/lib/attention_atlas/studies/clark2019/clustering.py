"""Figure 6: divergence of all pairs of heads, heads in the plane, and whether heads of one layer are alike (section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, spearmanr

from attention_atlas.attention.cache import Attention, with_attention
from attention_atlas.attention.divergence import head_divergence
from attention_atlas.corpora.examples import Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import head_rows, independent_units
from attention_atlas.models.devices import pick_device
from attention_atlas.stats.intervals import bootstrap_ratio

Floats = npt.NDArray[np.float64]
RELATIONS = ("det", "dobj", "pobj", "auxpass", "poss")
"""Relations whose best heads the paper marks in its figure."""
_CHUNK = 500


def clusters(
    attention: Attention,
    examples: Examples,
    surface: pd.DataFrame,
    dependencies: pd.DataFrame,
    options: Mapping[str, Any],
    threads: int,
    resamples: int,
    seed: int,
    coreference: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Divergence of all pairs of heads, all heads in the plane with their behaviours, and whether heads of one layer are alike.

    distances: Jensen-Shannon divergence in nats, averaged over the tokens of all segments; options: the settings `clustering`.
    """
    sums, tokens, unit = summed_divergences(attention, examples, options["smoothing"], options["blocks"], threads)
    layers, heads = (surface[name].max() for name in ("layer", "head"))
    matrix = sums.sum(axis=0) / tokens.sum()
    a, b = np.triu_indices(layers * heads, 1)
    places = {"layer_a": a // heads + 1, "head_a": a % heads + 1, "layer_b": b // heads + 1, "head_b": b % heads + 1}
    layout = plane(matrix, seed)
    table = head_rows(layout[:, 0].reshape(layers, heads), "x").assign(y=layout[:, 1])
    table = table.merge(behaviours(surface, options), on=["layer", "head"], how="left")
    named = named_heads(dependencies, coreference)
    table["relation"] = [named.get(pair, "") for pair in zip(table["layer"], table["head"], strict=True)]
    labels = table["layer"].to_numpy()
    within, between = mean_within(matrix, labels), mean_between(matrix, labels)
    quantities = layout_quality(matrix, layout)
    quantities |= {"within_layer": within, "between_layers": between, "difference": between - within}
    quantities["permutation_p"] = permutation_p(matrix, labels, options["permutations"], seed)
    differences = np.array([[mean_between(block, labels) - mean_within(block, labels)] for block in sums])
    low, high = bootstrap_ratio(differences, tokens[:, None], resamples, seed)
    test = pd.DataFrame(quantities.items(), columns=["quantity", "value"]).assign(n=len(table))
    interval = {"ci_low": float(low[0]), "ci_high": float(high[0]), "unit": unit, "units": len(tokens)}
    test.loc[test["quantity"] == "difference", list(interval)] = list(interval.values())
    return {"distances": pd.DataFrame({**places, "js": matrix[a, b]}), "heads": table, "test": test.astype({"units": "Int64"})}


def summed_divergences(
    attention: Attention, examples: Examples, smoothing: float, blocks: int, threads: int
) -> tuple[Floats, Floats, str]:
    """[block, head, head] divergences summed over the tokens of the segments of a block, [block] their tokens, and their unit.

    smoothing: share of the uniform distribution mixed into every row. Documents (segments where the corpus names no documents)
    are assigned to `blocks` groups in turn, for the bootstrap.
    """
    sums: Floats | None = None
    tokens = np.zeros(blocks)
    units = independent_units([example.document for example in examples], "segments")
    gpu = "cuda" if pick_device() == "cuda" else None
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
    filled = tokens > 0
    return sums[filled], tokens[filled], units.name if units.count <= blocks else f"groups of {units.name}"


def plane(distances: Floats, seed: int) -> Floats:
    """Metric multidimensional scaling to the plane [head, 2], with the options of the published code and a seed.

    The layout is rotated so that x is its widest direction; the head that is farthest along an axis has a positive coordinate.
    """
    from sklearn.manifold import MDS

    options = {"n_init": 5, "init": "random", "max_iter": 1000, "eps": 1e-10}
    scaling = MDS(n_components=2, metric_mds=True, metric="precomputed", random_state=seed, **options)
    layout = scaling.fit_transform(distances)
    centred = layout - layout.mean(axis=0)
    rotated = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    farthest = np.abs(rotated).argmax(axis=0)
    return np.asarray(rotated * np.sign(rotated[farthest, [0, 1]]))


def layout_quality(distances: Floats, layout: Floats) -> dict[str, float]:
    """How well the plane preserves the distances."""
    divergences, plane_distances = squareform(distances, checks=False), pdist(layout)
    return {
        "stress": float(np.sqrt(((divergences - plane_distances) ** 2).sum() / (divergences**2).sum())),
        "pearson": float(pearsonr(divergences, plane_distances).statistic),
        "spearman": float(spearmanr(divergences, plane_distances).statistic),
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
