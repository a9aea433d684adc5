"""Tables of single heads on dependency relations: accuracy of every head, and the best head of each relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.methods.dependency_scoring import ALL, DIRECTIONS, Gold, Scores
from attention_atlas.methods.head_relations import LEVEL
from attention_atlas.methods.head_tables import accuracy_rows
from attention_atlas.methods.options import Options
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.stats.held_out import Bools, Resampling, best_head, choosing_half, folds_of, heldout
from attention_atlas.stats.simultaneous import corrected_p, enough_draws, exchange_p


def heads_frame(scores: Scores, gold: Gold, options: Options) -> pd.DataFrame:
    """Accuracy of every head in both directions on every relation, including All, root and punct."""
    frames = []
    labels = [ALL, *gold.relations(), *(label for label in ("punct", "root") if (gold.relation == label).any())]
    for relation in labels:
        chosen = gold.tokens_of(relation, options)
        frame = accuracy_rows(scores.of(relation)[0][chosen], DIRECTIONS)
        frame.insert(0, "relation", relation)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def relations_frame(scores: Scores, gold: Gold, options: Options, min_count: int, resampling: Resampling) -> pd.DataFrame:
    """The best head of each relation with at least `min_count` tokens or a row in the paper's Table 1, and of All.

    Columns: relation, n, layer, head, direction, accuracy with its interval (head fixed, bootstrap over units);
    heldout_accuracy with its interval (head chosen on the other folds of units); baseline_offset, baseline_accuracy (best
    offset in sample); margin (accuracy - baseline) with its interval; heldout_baseline (offset chosen on the other folds);
    unit (documents, or sentences if the corpus names no documents) and units (how many of them have the relation);
    tested_margin, p_value and p_holm (`_tests`).
    """
    folds = folds_of(gold.units.count, resampling.folds, resampling.seed)[gold.units.of_item]
    relations = {name: gold.tokens_of(name, options) for name in [ALL, *gold.relations(min_count)]}
    relations = {name: chosen for name, chosen in relations.items() if chosen.any()}
    rows = [
        _relation_row(relation, *scores.of(relation), gold, chosen, folds, options, resampling)
        for relation, chosen in relations.items()
    ]
    return pd.concat([pd.DataFrame(rows), _tests(scores, gold, relations, resampling)], axis=1)


def _tests(scores: Scores, gold: Gold, relations: Mapping[str, Bools], resampling: Resampling) -> pd.DataFrame:
    """One row per relation: test whether its best head beats its best offset, both chosen on the other half of the units.

    Held-out folds are not suitable: their choices depend on each other (`choosing_half`), as do the tokens of a unit.

    Columns: tested_margin (accuracy of the head minus that of the offset on the test half), p_value (random exchanges of head
    and offset within the units of that half), p_holm (Holm over these rows). NaN if a relation is missing from one half.
    """
    unit, units = gold.units.of_item, gold.units.count
    in_first = choosing_half(units, resampling.seed)
    choosing = in_first[unit]
    differences = np.zeros((units, len(relations)))
    margins = np.full(len(relations), np.nan)
    for number, (relation, chosen) in enumerate(relations.items()):
        first, second = chosen & choosing, chosen & ~choosing
        if first.any() and second.any():
            heads, offsets = scores.of(relation)
            head_right = heads[(second, *best_head(heads[first].sum(axis=0)))]
            offset_right = offsets[second, offsets[first].sum(axis=0).argmax()]
            difference = head_right.astype(np.float64) - offset_right
            differences[:, number] = np.bincount(unit[second], weights=difference, minlength=units)
            margins[number] = difference.mean()
    tested = ~np.isnan(margins)
    draws = max(resampling.resamples, enough_draws(int(tested.sum()), LEVEL))
    p, p_holm = np.full((2, len(relations)), np.nan)
    p[tested] = exchange_p(differences[~in_first][:, tested], draws, resampling.seed)
    p_holm[tested] = corrected_p(p[tested], "holm", 1 / (1 + draws), LEVEL)
    return pd.DataFrame({"tested_margin": margins, "p_value": p, "p_holm": p_holm})


def _relation_row(
    relation: str,
    heads: Bools,
    offsets: Bools,
    gold: Gold,
    chosen: Bools,
    folds: npt.NDArray[np.intp],
    options: Options,
    resampling: Resampling,
) -> dict[str, Any]:
    units, fold = replace(gold.units, of_item=gold.units.of_item[chosen]), folds[chosen]
    right, offset_right = heads[chosen], offsets[chosen]
    best = best_head(right.sum(axis=0))
    offset = int(offset_right.sum(axis=0).argmax())
    heldout_right = heldout(right, fold)
    heldout_offset_right = heldout(offset_right, fold, lambda counts: (int(counts.argmax()),))
    answers = [right[:, *best], offset_right[:, offset], heldout_right, heldout_offset_right]
    columns = np.stack(answers, axis=1).astype(np.float64)
    sums = units.sums(np.column_stack([columns, columns[:, 0] - columns[:, 1]]))
    low, high = bootstrap_ratio(sums, units.sizes()[:, None], resampling.resamples, resampling.seed)
    mean = columns.mean(axis=0)
    direction, layer, head = best
    return {
        "relation": relation,
        "n": len(columns),
        "layer": layer + 1,
        "head": head + 1,
        "direction": DIRECTIONS[direction],
        "accuracy": mean[0],
        "accuracy_ci_low": low[0],
        "accuracy_ci_high": high[0],
        "heldout_accuracy": mean[2],
        "heldout_ci_low": low[2],
        "heldout_ci_high": high[2],
        "baseline_offset": options.offsets[offset],
        "baseline_accuracy": mean[1],
        "margin": mean[0] - mean[1],
        "margin_ci_low": low[4],
        "margin_ci_high": high[4],
        "heldout_baseline": mean[3],
        "unit": units.name,
        "units": int((units.sizes() > 0).sum()),
    }
