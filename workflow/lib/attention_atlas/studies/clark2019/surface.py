"""Surface patterns of Clark et al. (2019), sections 3.1 to 3.3, and heads grouped by their maps, section 6 (Figure 6).

Measures are per segment and head, then averaged over segments with equal weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial.distance import pdist, squareform

from attention_atlas.attention.cache import Attention, CachedExample, widened, with_attention
from attention_atlas.attention.divergence import head_divergence
from attention_atlas.corpora.examples import Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import UNIT_COLUMNS, Units, head_rows, independent_units
from attention_atlas.methods.options import AS_PUBLISHED, alternatives, options_of
from attention_atlas.methods.surface import GROUPS, mean_frame, token_classes
from attention_atlas.models.card import Card
from attention_atlas.models.devices import pick_device
from attention_atlas.stats.held_out import choosing_half
from attention_atlas.stats.intervals import LEVEL, bootstrap_ratio, expanded_level, percentile_interval, resampled_counts
from attention_atlas.studies.clark2019.claims import BROAD_ENTROPY, middle_layers
from attention_atlas.studies.clark2019.maps import WINDOW, figure1_weights

Floats = npt.NDArray[np.float64]
RELATIONS = ("det", "dobj", "pobj", "auxpass", "poss")
"""Relations whose best heads the paper marks in Figure 6."""
BEHAVIOURS = (
    *(("next", "next", "position"), ("previous", "previous", "position"), ("broad", "entropy", "broad_entropy")),
    *(("cls", "cls", "special"), ("sep", "sep", "special"), ("punctuation", "punct", "special")),
)
"""Behaviour of a head, its measure, and the setting that is the threshold."""
_CHUNK = 500


def surface(
    attention: Attention,
    card: Card,
    options: Mapping[str, Any],
    figure1_heads: str | Sequence[Sequence[int]],
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Measures of every head on all segments; the bootstrap is over documents, or segments where there are none.

    options: the measures that an option affects, as published and with that option changed alone; weights: what Figure 1 draws,
    of the first segment of 15 tokens; empty if there is none.
    """
    chosen = options_of(options)
    by_measure: dict[str, list[Floats]] = {}
    by_option: dict[tuple[str, str, str], list[Floats]] = {}
    lengths: list[int] = []
    documents: list[str | None] = []
    drawn: CachedExample | None = None
    for example in progress(attention, label="segments"):
        if example.level != "tokens":
            raise AtlasError(
                f"example {example.id}: the attention cache was stored at level {example.level}, but surface patterns are "
                "those of word pieces: set level: tokens for this corpus."
            )
        maps = widened(example.maps)
        classes = token_classes(example.tokens, card.cls, card.sep)
        for group, option, affected in GROUPS:
            of_run = group(maps, classes, chosen)
            for measure, values in of_run.items():
                by_measure.setdefault(measure, []).append(values)
            for variant in [AS_PUBLISHED, *(variant for name, variant in alternatives() if name == option)]:
                same = getattr(variant, option) == getattr(chosen, option)
                of_variant = of_run if same else group(maps, classes, variant)
                for measure in affected:
                    by_option.setdefault((option, variant.option_text(option), measure), []).append(of_variant[measure])
        if drawn is None and len(example.tokens) >= WINDOW:
            drawn = example
        lengths.append(len(example.tokens))
        documents.append(example.document)
    if not lengths:
        raise AtlasError("there is no segment to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    units = independent_units(documents, "segments")
    frame = mean_frame(by_measure, units, resamples, seed)
    summary = {"segments": len(lengths), "mean_tokens": np.mean(lengths), "shortest": min(lengths), "longest": max(lengths)}
    summary["uniform_entropy"] = np.log(lengths).mean()
    means = []
    for (option, setting, measure), of_option in by_option.items():
        stacked = np.stack(of_option)
        if (valid := ~np.isnan(stacked[:, 0, 0])).any():
            rows = head_rows(stacked[valid].mean(axis=0), "value")
            means.append(rows.assign(option=option, setting=setting, measure=measure))
    return {
        "surface": frame,
        "options": pd.concat(means, ignore_index=True)[["option", "setting", "measure", "layer", "head", "value"]],
        "summary": pd.DataFrame(summary.items(), columns=["quantity", "value"]),
        "claims": claim_statistics(by_measure, units, resamples, seed),
        "weights": pd.DataFrame(columns=["kind"]) if drawn is None else figure1_weights(drawn, frame, figure1_heads),
    }


def claim_statistics(by_measure: Mapping[str, Sequence[Floats]], units: Units, resamples: int, seed: int) -> pd.DataFrame:
    """Statistics of the claims, from measure -> [layer, head] of every segment.

    claim: `previous`, `next` (attention of the strongest head), `middle_sep` (share of [SEP] in the middle layers), `sep_sep`
    (from [SEP] to [SEP] in the strongest layer), `broad_median` (largest weight of a row, of the broad heads). place: what is
    chosen on all segments. value: mean over one half of the units, of what is chosen on the other half; of all segments for
    `middle_sep`. ci_low, ci_high: bootstrap over units, made longer where they are few (`expanded_level`).
    """
    choosing = choosing_half(units.count, seed)[units.of_item]
    stacked = {name: np.stack(values) for name, values in by_measure.items()}
    rows = []

    def add(claim: str, place: str, values: Floats) -> None:
        rows.append({"claim": claim, "place": place} | _statistic(values, units, resamples, seed))

    def add_strongest(claim: str, values: Floats) -> None:
        """The strongest head or layer of one half, with its values on the other."""
        heldout = np.full(len(values), np.nan)
        if choosing.any():
            heldout[~choosing] = values[(~choosing, *_largest(values[choosing].mean(axis=0)))]
        add(claim, "-".join(str(number + 1) for number in _largest(values.mean(axis=0))), heldout)

    for claim in ("previous", "next"):
        add_strongest(claim, stacked[claim])
    if not np.isnan(stacked["sep"]).any():
        first, last = middle_layers(stacked["sep"].shape[1])
        add("middle_sep", f"{first + 1} to {last}", stacked["sep"][:, first:last].mean(axis=(1, 2)))
        add_strongest("sep_sep", stacked["sep_sep"].mean(axis=2))
    entropy = stacked["entropy"]
    broad = entropy[choosing].mean(axis=0) > BROAD_ENTROPY if choosing.any() else np.zeros(entropy.shape[1:], dtype=bool)
    count = int((entropy.mean(axis=0) > BROAD_ENTROPY).sum())
    of_broad = np.where(choosing[:, None], np.nan, stacked["row_maximum"][:, broad])  # [segment, broad head]
    add("broad_median", f"{count} heads" if count else "", of_broad)
    return pd.DataFrame(rows, columns=["claim", "place", "value", "ci_low", "ci_high", "n", *UNIT_COLUMNS])


def _largest(means: Floats) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(int(means.argmax()), means.shape))


def _statistic(values: Floats, units: Units, resamples: int, seed: int) -> dict[str, object]:
    """Mean over segments of values [segment], or the median over heads of the means of [segment, head]; NaN: no value."""
    by_head = values.reshape(len(values), -1)
    # Without a head there is no value, although no value is missing.
    has_value = np.asarray(np.isfinite(by_head).all(axis=1) & (by_head.shape[1] > 0), dtype=bool)
    drawn = units.at(has_value)
    row: dict[str, object] = {"n": int(has_value.sum()), "unit": units.name, "units": drawn.count}
    if has_value.any():
        row["value"] = np.median(by_head[has_value].mean(axis=0))
    if drawn.count > 1:
        sums, sizes = drawn.sums(by_head[has_value]), drawn.sizes()
        means = [(counts @ sums) / (counts @ sizes)[:, None] for counts in resampled_counts(drawn.count, resamples, seed)]
        medians = np.median(np.concatenate(means), axis=1)
        low, high = percentile_interval(medians, expanded_level(LEVEL, drawn.count))
        row |= {"ci_low": float(low), "ci_high": float(high)}
    return row


def clusters(
    attention: Attention,
    examples: Examples,
    surface: pd.DataFrame,
    options: Mapping[str, Any],
    threads: int,
    resamples: int,
    seed: int,
    dependencies: pd.DataFrame | None = None,
    coreference: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Jensen-Shannon divergence (nats per token) of all pairs of heads, heads in the plane with their behaviours, and whether
    heads of one layer are alike; options: the settings `clustering`.
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
    within, between = layer_means(matrix, labels)
    divergences = squareform(matrix, checks=False)
    # Kruskal's stress: 0 if the plane holds all divergences.
    stress = np.sqrt(((divergences - pdist(layout)) ** 2).sum() / (divergences**2).sum())
    quantities = {"stress": float(stress), "within_layer": within, "between_layers": between, "difference": between - within}
    quantities["displacement"] = displacement(matrix, layout)
    quantities["radius"] = float(np.sqrt(np.square(layout).sum(axis=1).mean()))
    quantities["permutation_p"] = permutation_p(matrix, labels, options["permutations"], seed)
    quantities["smallest_p"] = 2 / (options["permutations"] + 1)
    means = [layer_means(block, labels) for block in sums]
    differences = np.array([[of_layers - of_layer] for of_layer, of_layers in means])
    low, high = bootstrap_ratio(differences, tokens[:, None], resamples, seed)
    test = pd.DataFrame(quantities.items(), columns=["quantity", "value"]).assign(n=len(table))
    interval = {"ci_low": float(low[0]), "ci_high": float(high[0]), "unit": unit, "units": len(tokens)}
    test.loc[test["quantity"] == "difference", list(interval)] = list(interval.values())
    return {"distances": pd.DataFrame({**places, "js": matrix[a, b]}), "heads": table, "test": test.astype({"units": "Int64"})}


def summed_divergences(
    attention: Attention, examples: Examples, smoothing: float, blocks: int, threads: int
) -> tuple[Floats, Floats, str]:
    """[block, head, head] divergences summed over the tokens of the segments of a block, [block] their tokens, and their unit.

    smoothing: share of the uniform distribution mixed into every row; units are assigned to `blocks` groups in turn.
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
    """Multidimensional scaling to the plane [head, 2], with the options of the published code; x is its widest direction."""
    from sklearn.manifold import MDS

    options = {"n_init": 5, "init": "random", "max_iter": 1000, "eps": 1e-10}
    scaling = MDS(n_components=2, metric_mds=True, metric="precomputed", random_state=seed, **options)
    layout = scaling.fit_transform(distances)
    centred = layout - layout.mean(axis=0)
    rotated = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    farthest = np.abs(rotated).argmax(axis=0)
    return np.asarray(rotated * np.sign(rotated[farthest, [0, 1]]))


def displacement(distances: Floats, layout: Floats) -> float:
    """Root mean square by which heads [head, 2] move in layouts from three random starts, turned and mirrored to fit."""
    from scipy.linalg import orthogonal_procrustes
    from sklearn.manifold import smacof

    moved = []
    for seed in range(3):
        other, _ = smacof(distances, n_init=1, max_iter=300, eps=1e-6, random_state=seed, normalized_stress=False)
        other = other - other.mean(axis=0)
        moved.append(np.square(other @ orthogonal_procrustes(other, layout)[0] - layout).sum(axis=1).mean())
    return float(np.sqrt(np.mean(moved)))


def behaviours(surface: pd.DataFrame, options: Mapping[str, Any]) -> pd.DataFrame:
    """Main behaviour of each head: the last in the order of the published code if there are several."""
    wide = surface.pivot(index=["layer", "head"], columns="measure", values="value")
    absent = pd.Series(0.0, index=wide.index)
    named = pd.Series("none", index=wide.index)
    for name, measure, setting in BEHAVIOURS:
        named = named.mask(wide.get(measure, absent) > options[setting], name)
    return named.rename("behaviour").reset_index()


def named_heads(relations: pd.DataFrame | None, coreference: pd.DataFrame | None) -> dict[tuple[int, int], str]:
    """(layer, head) -> the relations, and coreference, of which it is the best head."""
    best = pd.DataFrame(columns=["layer", "head", "relation"])
    if relations is not None:
        best = relations[relations["relation"].isin(RELATIONS)][["layer", "head", "relation"]]
    if coreference is not None:
        of_all = coreference[(coreference["system"] == "best_head") & (coreference["mention_type"] == "all")]
        best = pd.concat([best, of_all[["layer", "head"]].assign(relation="coreference")])
    by_head = best.astype({"layer": int, "head": int}).sort_values("relation").groupby(["layer", "head"])["relation"]
    return by_head.agg(", ".join).to_dict()


def layer_means(distances: Floats, labels: npt.NDArray[np.integer]) -> tuple[float, float]:
    """Mean distance of two different heads of one layer, and of two heads of different layers."""
    same = labels[:, None] == labels[None, :]
    between = float(distances[~same].mean())
    np.fill_diagonal(same, False)
    return float(distances[same].mean()), between


def permutation_p(distances: Floats, labels: npt.NDArray[np.integer], permutations: int, seed: int) -> float:
    """Two-sided p that heads of one layer are as close as heads of different layers, over shuffled layer labels.

    The total of all distances does not change, so the difference of the means is as extreme as the sum within layers.
    """
    generator = np.random.default_rng(seed)
    one_hot = (labels[:, None] == np.unique(labels)[None, :]).astype(float)
    observed = float(np.einsum("al,ab,bl->", one_hot, distances, one_hot, optimize=True))
    beyond = np.zeros(2)
    for start in range(0, permutations, _CHUNK):
        size = min(_CHUNK, permutations - start)
        order = generator.permuted(np.tile(np.arange(len(labels)), (size, 1)), axis=1)
        shuffled = one_hot[order]
        sums = (np.matmul(distances, shuffled) * shuffled).sum(axis=(1, 2))
        # Equal sums may differ in their last digits, since the order of the terms does.
        beyond += [(sums <= observed * (1 + 1e-12)).sum(), (sums >= observed * (1 - 1e-12)).sum()]
    return float(min(1, 2 * (beyond.min() + 1) / (permutations + 1)))
