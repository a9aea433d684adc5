"""Statistics of the paper's claims on surface patterns (sections 3.1 to 3.3), with intervals, from the values of all segments.

A claim about the strongest head or layer is tested on held-out documents: the head or layer is chosen on one half of the
documents and tested on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.methods.units import UNIT_COLUMNS, Units
from attention_atlas.stats.bootstrap import expanded_level, percentile_interval, resampled_counts
from attention_atlas.stats.held_out import Resampling, choosing_half

Floats = npt.NDArray[np.float64]
COLUMNS = ["claim", "place", "value", "ci_low", "ci_high", "n", *UNIT_COLUMNS]
PREVIOUS, NEXT, MIDDLE_SEP, SEP_SEP = "previous", "next", "middle_sep", "sep_sep"
BROAD_MEDIAN, BROAD_MAXIMUM = "broad_median", "broad_maximum"
Choice = Callable[[npt.NDArray[np.bool_]], tuple[int, ...] | None]
"""Which segments -> what is chosen on them, None where nothing can be."""
BROAD_ENTROPY = 3.8
"""Entropy in nats over which a head is broad (authors' notebook)."""


_LEVEL = 0.95
"""Coverage of the intervals."""


def claim_statistics(by_measure: Mapping[str, Sequence[Floats]], units: Units, resampling: Resampling) -> pd.DataFrame:
    """Statistics of the claims, columns `COLUMNS`.

    claim: `previous`, `next` (attention of the strongest head), `middle_sep` (share of [SEP] in the middle layers), `sep_sep`
    (attention from [SEP] to [SEP] in the strongest layer), `broad_median` (largest weight of a row, median over the broad
    heads), `broad_maximum` (the same of the broad head with the largest). place: what is chosen on all segments, as layer or
    layer-head, or how many heads are broad; the middle layers; empty where no head is broad. value: mean over the segments of
    one half of the units, of what is chosen on the other half; of all segments for `middle_sep`. ci_low, ci_high: bootstrap
    over units, made longer where they are few (`expanded_level`). n: segments with a value.

    Args:
        by_measure: measure -> [layer, head] of every segment.
        units: of the segments.
        resampling: seed of the halves and the bootstrap, and resamples.
    """
    choosing = choosing_half(units.count, resampling.seed)[units.of_item]
    stacked = {name: np.stack(values) for name, values in by_measure.items()}
    rows = []

    def add(claim: str, values: Floats, choose: Choice) -> None:
        chosen = choose(np.ones(len(values), dtype=bool))
        place = "" if chosen is None else "-".join(str(number + 1) for number in chosen)
        rows.append(_row(claim, place, _heldout_values(values, choose, choosing), units, resampling))

    for claim in (PREVIOUS, NEXT):
        add(claim, stacked[claim], _strongest(stacked[claim]))
    if not np.isnan(stacked["sep"]).any():
        first, last = middle_layers(stacked["sep"].shape[1])
        share = stacked["sep"][:, first:last].mean(axis=(1, 2))
        rows.append(_row(MIDDLE_SEP, f"{first + 1} to {last}", share, units, resampling))
        by_layer = stacked["sep_sep"].mean(axis=2)
        add(SEP_SEP, by_layer, _strongest(by_layer))
    entropy, maximum = stacked["entropy"], stacked["row_maximum"]

    def broad(items: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return entropy[items].mean(axis=0) > BROAD_ENTROPY

    def broadest(items: npt.NDArray[np.bool_]) -> tuple[int, ...] | None:
        is_broad = broad(items)
        return _largest(np.where(is_broad, maximum[items].mean(axis=0), -1.0)) if is_broad.any() else None

    count = int(broad(np.ones(len(entropy), dtype=bool)).sum())
    chosen_heads = broad(choosing) if choosing.any() else np.zeros(entropy.shape[1:], dtype=bool)
    of_broad = np.where(choosing[:, None], np.nan, maximum[:, chosen_heads])  # [segment, broad head]
    rows.append(_row(BROAD_MEDIAN, f"{count} heads" if count else "", of_broad, units, resampling))
    add(BROAD_MAXIMUM, maximum, broadest)
    return pd.DataFrame(rows, columns=COLUMNS)


def middle_layers(layers: int) -> tuple[int, int]:
    """Layers 6 to 10 of 12 as a slice, in proportion for a model of another depth."""
    return round(6 / 12 * layers) - 1, round(10 / 12 * layers)


def _strongest(values: Floats) -> Choice:
    """The choice of the head or layer with the largest mean, of values [segment, ...]."""
    return lambda items: _largest(values[items].mean(axis=0))


def _largest(means: Floats) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(int(means.argmax()), means.shape))


def _heldout_values(values: Floats, choose: Choice, choosing: npt.NDArray[np.bool_]) -> Floats:
    """[segment] the value of what is chosen on one half, on the segments of the other; NaN elsewhere, or without a choice."""
    heldout = np.full(len(values), np.nan)
    chosen = choose(choosing) if choosing.any() else None
    if chosen is not None:
        heldout[~choosing] = values[(~choosing, *chosen)]
    return heldout


def _row(claim: str, place: str, values: Floats, units: Units, resampling: Resampling) -> dict[str, object]:
    """Mean over segments of values [segment], or the median over heads of the means of [segment, head]; NaN: no value."""
    by_head = values.reshape(len(values), -1)
    # Without a head there is no value, although no value is missing.
    has_value = np.asarray(np.isfinite(by_head).all(axis=1) & (by_head.shape[1] > 0), dtype=bool)
    row: dict[str, object] = {"claim": claim, "place": place, "value": np.nan, "ci_low": np.nan, "ci_high": np.nan}
    row |= {"n": int(has_value.sum()), "unit": units.name, "units": 0}
    if has_value.any():
        drawn = units.at(has_value)
        sums, sizes = drawn.sums(by_head[has_value]), drawn.sizes()
        row |= {"value": np.median(by_head[has_value].mean(axis=0)), "units": drawn.count}
        if drawn.count > 1:
            level = expanded_level(_LEVEL, drawn.count)
            means = [
                (counts @ sums) / (counts @ sizes)[:, None]
                for counts in resampled_counts(drawn.count, resampling.resamples, resampling.seed)
            ]
            low, high = percentile_interval(np.median(np.concatenate(means), axis=1), level)
            row |= {"ci_low": float(low), "ci_high": float(high)}
    return row
