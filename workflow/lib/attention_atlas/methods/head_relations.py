"""The dependency relations of each head: chosen on one half of the documents, tested on the other half.

Among dozens of relations every head scores best on one, even with random weights, so selection and test use different documents
(sentences if the corpus names no documents).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from attention_atlas.methods.dependency_scoring import DIRECTIONS, Gold, Scores
from attention_atlas.methods.head_measures import PLACE
from attention_atlas.methods.head_tables import UNIT_COLUMNS, Units
from attention_atlas.methods.options import Options
from attention_atlas.stats.held_out import Bools, Resampling, best_head, choosing_half, folds_of
from attention_atlas.stats.intervals import Floats, bootstrap_ratio
from attention_atlas.stats.significance import LEVEL
from attention_atlas.stats.simultaneous import corrected_p, enough_draws, exchange_p

Ints = npt.NDArray[np.intp]
HEAD_RELATIONS = [
    *("layer", "head", "rank", "relation", "direction", "n", "accuracy", "baseline_offset", "baseline_accuracy", "margin"),
    *("ci_low", "ci_high", "p", "q", "choice_low", *UNIT_COLUMNS, "accuracy_low", "accuracy_high"),
]
NONE = "none"
"""Relation of a head without a chosen relation."""
_LEAST, _RANKS = 20, 5
"""Minimum number of words of a relation in the text; maximum number of relations that are chosen for a head."""
_NORMAL = 1.96


class _Candidate(NamedTuple):
    """A relation with enough words, with choices on the first half and counts of words on the second.

    direction [head]: index of the better one; low [head]: lower end of the interval of the words gained, -inf if none is;
    is_first [head]: whether no head is right more often; right [unit, head], offset_right [unit]: words that the head or the
    offset gets right; words [unit]: all.
    """

    relation: str
    offset: int
    direction: Ints
    low: Floats
    is_first: Bools
    right: Floats
    offset_right: Floats
    words: Floats


def head_relations(scores: Scores, gold: Gold, options: Options, resampling: Resampling) -> pd.DataFrame:
    """Up to five relations of every head, best first, columns `HEAD_RELATIONS`.

    The first half of the units ranks relations for each head by choice_low, the lower end of the 95 % interval of the words
    gained: those that the head gets right in its better direction minus those that the best fixed offset on that half does.
    Relations of which it is the best of all heads (as in Table 1) come before others, if this end is above 0. Only relations
    with words gained, 20 words, and two units in each half are chosen. All other columns are from the second half:
    margin (words gained per word) with bootstrap over units, p by random exchanges of head and offset within units, and q
    (Benjamini and Hochberg) over the relations of the same rank of all heads. A head without a relation has one row, relation
    `NONE`.
    """
    heads = scores.heads.shape[-1]
    candidates = _candidates(scores, gold, gold.units, resampling.seed)
    every = (len(candidates), int(np.prod(scores.heads.shape[2:])))
    lows = np.reshape([candidate.low for candidate in candidates], every)
    is_first = np.reshape([candidate.is_first for candidate in candidates], every).astype(bool)
    frames = []
    # [rank, head] index of the relation at each rank, -1 if a head has none; ties go to the more frequent relation.
    order = np.lexsort((-lows, ~is_first | (lows <= 0)), axis=0)[:_RANKS]
    relations = np.where(np.isfinite(np.take_along_axis(lows, order, axis=0)), order, -1)
    for rank, chosen in enumerate(relations, start=1):
        head = np.flatnonzero(chosen >= 0)
        if len(head):
            frame = _tested([candidates[k] for k in chosen[head]], head, options, resampling)
            frame["choice_low"] = lows[chosen[head], head]
            frames.append(frame.assign(unit=gold.units.name, rank=rank, layer=head // heads + 1, head=head % heads + 1))
    missing = np.flatnonzero((relations < 0).all(axis=0))
    without = pd.DataFrame({"layer": missing // heads + 1, "head": missing % heads + 1})
    frames.append(without.assign(rank=1, relation=NONE, direction="", n=0))
    table = pd.concat([frame for frame in frames if len(frame)], ignore_index=True).reindex(columns=HEAD_RELATIONS)
    # Nullable integers: a head without a relation has no value.
    table = table.astype({"baseline_offset": "Int64", "units": "Int64"})
    return table.sort_values([*PLACE, "rank"], ignore_index=True)


def testing_half(units: Units, seed: int) -> Bools:
    """[unit] whether a unit is in the test half; relations are chosen on the other half."""
    return folds_of(units.count, 2, seed).astype(bool)


def _candidates(scores: Scores, gold: Gold, all_units: Units, seed: int) -> list[_Candidate]:
    unit, units = all_units.of_item, all_units.count
    second = testing_half(all_units, seed)
    heads = int(np.prod(scores.heads.shape[2:]))
    rows = []
    for relation in gold.relations():
        tokens = np.flatnonzero(gold.relation == relation)
        size = np.bincount(unit[tokens], minlength=units).astype(np.float64)
        if len(tokens) < _LEAST or min(np.count_nonzero(size[half]) for half in (~second, second)) < 2:
            continue
        in_unit = csr_array((np.ones(len(tokens)), (unit[tokens], np.arange(len(tokens)))), shape=(units, len(tokens)))
        head_right, offsets_right = scores.of(relation)
        by_unit = in_unit @ head_right[tokens].reshape(len(tokens), -1).astype(np.float64)
        offsets_by_unit = in_unit @ offsets_right[tokens].astype(np.float64)
        offset = int(offsets_by_unit[~second].sum(axis=0).argmax())
        gained = (by_unit - offsets_by_unit[:, [offset]])[~second]
        low = _lower_ends(gained, size[~second]).reshape(len(DIRECTIONS), heads)
        direction = low.argmax(axis=0)
        counts = by_unit[~second].sum(axis=0).reshape(scores.heads.shape[1:])
        is_first = np.arange(heads) == np.ravel_multi_index(best_head(counts)[1:], counts.shape[1:])
        right = by_unit[second].reshape(-1, len(DIRECTIONS), heads)[:, direction, np.arange(heads)]
        of_offset = offsets_by_unit[second, offset]
        rows.append(_Candidate(relation, offset, direction, low.max(axis=0), is_first, right, of_offset, size[second]))
    return rows


def _lower_ends(differences: Floats, words: Floats) -> Floats:
    """[column] lower end of the 95 % interval of words gained, by their standard error over units; -inf if none is."""
    present = words > 0
    gained = differences.sum(axis=0)
    residuals = (differences - gained / words.sum() * words[:, None])[present]
    clusters = len(residuals)
    errors = np.sqrt((residuals**2).sum(axis=0) * clusters / (clusters - 1))
    return np.where(gained > 0, gained - _NORMAL * errors, -np.inf)


def _tested(chosen: Sequence[_Candidate], head: Ints, options: Options, resampling: Resampling) -> pd.DataFrame:
    """One row for each head: its chosen relation, tested on the second half."""
    right = np.stack([candidate.right[:, k] for candidate, k in zip(chosen, head, strict=True)], axis=1)
    offset_right, words = (np.stack([getattr(c, name) for c in chosen], axis=1) for name in ("offset_right", "words"))
    differences = right - offset_right
    both = np.stack([differences, right], axis=1)
    (low, accuracy_low), (high, accuracy_high) = bootstrap_ratio(both, words[:, None], resampling.resamples, resampling.seed)
    draws = max(resampling.resamples, enough_draws(len(head), LEVEL))
    p = exchange_p(differences, draws, resampling.seed)
    n = words.sum(axis=0)
    return pd.DataFrame(
        {
            "relation": [candidate.relation for candidate in chosen],
            "direction": [DIRECTIONS[candidate.direction[k]] for candidate, k in zip(chosen, head, strict=True)],
            "n": n.astype(int),
            "units": (words > 0).sum(axis=0),
            "accuracy": right.sum(axis=0) / n,
            "baseline_offset": [options.offsets[candidate.offset] for candidate in chosen],
            "baseline_accuracy": offset_right.sum(axis=0) / n,
            "margin": differences.sum(axis=0) / n,
            "ci_low": low,
            "ci_high": high,
            "p": p,
            "q": corrected_p(p, "bh", 1 / (draws + 1), LEVEL),
            "accuracy_low": accuracy_low,
            "accuracy_high": accuracy_high,
        }
    )


def relation_tests(
    scores: Scores, gold: Gold, options: Options, relations: Sequence[str], resampling: Resampling
) -> pd.DataFrame:
    """One row per relation: test whether its best head beats its best offset, both chosen on the other half of the units.

    Held-out folds are not suitable: their choices depend on each other (`choosing_half`), as do the tokens of a unit.
    tested_margin: accuracy of the head minus that of the offset on the test half; p_value: random exchanges of head and offset
    within the units of that half; smallest_p: if no exchange is as extreme; p_holm: over these rows. NaN if a relation is
    missing from one half.
    """
    unit, units = gold.units.of_item, gold.units.count
    in_first = choosing_half(units, resampling.seed)
    differences, margins = np.zeros((units, len(relations))), np.full(len(relations), np.nan)
    for number, relation in enumerate(relations):
        chosen = gold.tokens_of(relation, options)
        first, second = chosen & in_first[unit], chosen & ~in_first[unit]
        if first.any() and second.any():
            heads, offsets = scores.of(relation)
            head_right = heads[(second, *best_head(heads[first].sum(axis=0)))]
            difference = head_right.astype(np.float64) - offsets[second, offsets[first].sum(axis=0).argmax()]
            differences[:, number] = np.bincount(unit[second], weights=difference, minlength=units)
            margins[number] = difference.mean()
    tested = ~np.isnan(margins)
    draws = max(resampling.resamples, enough_draws(int(tested.sum()), LEVEL))
    p, p_holm = np.full((2, len(relations)), np.nan)
    p[tested] = exchange_p(differences[~in_first][:, tested], draws, resampling.seed)
    p_holm[tested] = corrected_p(p[tested], "holm", 1 / (1 + draws), LEVEL)
    return pd.DataFrame({"tested_margin": margins, "p_value": p, "smallest_p": 1 / (1 + draws), "p_holm": p_holm})


def above_baseline(table: pd.DataFrame) -> Bools:
    """[row] whether the head is significantly better than the offset on the second half."""
    return np.asarray((table["q"] < LEVEL) & (table["margin"] > 0) & (table["ci_low"] > 0))
