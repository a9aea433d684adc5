"""Surface patterns of Clark et al. (2019), sections 3.1 to 3.3: which tokens heads attend to, and how broadly.

Per segment and head, then averaged over segments with equal weight. A claim about the strongest head or layer is tested on
held-out documents: the head or layer is chosen on one half of the documents and tested on the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import Attention, CachedExample, widened
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.head_tables import UNIT_COLUMNS, Units, head_rows, independent_units
from attention_atlas.methods.options import AS_PUBLISHED, alternatives, options_of
from attention_atlas.methods.surface import GROUPS, mean_frame, token_classes
from attention_atlas.models.card import Card
from attention_atlas.stats.held_out import choosing_half
from attention_atlas.stats.intervals import LEVEL, expanded_level, percentile_interval, resampled_counts
from attention_atlas.studies.clark2019.claims import BROAD_ENTROPY, middle_layers
from attention_atlas.studies.clark2019.maps import WINDOW, figure1_weights

Floats = npt.NDArray[np.float64]


def surface(
    attention: Attention,
    card: Card,
    options: Mapping[str, Any],
    figure1_heads: str | Sequence[Sequence[int]],
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Measures of every head on all segments (`COLUMNS`); the bootstrap is over documents, or segments where there are none.

    options: the measures that an option affects, as published and with that option changed alone; summary: number of segments,
    their lengths in tokens, entropy of a uniform head (nats); claims: see `claim_statistics`; weights: what Figure 1
    draws, of the first segment of 15 tokens; empty if there is none.
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
            for variant in [AS_PUBLISHED, *(variant for name, variant in alternatives() if name == option)] if option else []:
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
    return {
        "surface": frame,
        "options": _options_frame(by_option),
        "summary": pd.DataFrame(summary.items(), columns=["quantity", "value"]),
        "claims": claim_statistics(by_measure, units, resamples, seed),
        "weights": pd.DataFrame(columns=["kind"]) if drawn is None else figure1_weights(drawn, frame, figure1_heads),
    }


def _options_frame(by_option: dict[tuple[str, str, str], list[Floats]]) -> pd.DataFrame:
    frames = []
    for (option, setting, measure), values in by_option.items():
        stacked = np.stack(values)
        valid = ~np.isnan(stacked[:, 0, 0])
        if valid.any():
            means = head_rows(stacked[valid].mean(axis=0), "value")
            frames.append(means.assign(option=option, setting=setting, measure=measure))
    return pd.concat(frames, ignore_index=True)[["option", "setting", "measure", "layer", "head", "value"]]


def claim_statistics(by_measure: Mapping[str, Sequence[Floats]], units: Units, resamples: int, seed: int) -> pd.DataFrame:
    """Statistics of the claims, from measure -> [layer, head] of every segment.

    claim: `previous`, `next` (attention of the strongest head), `middle_sep` (share of [SEP] in the middle layers), `sep_sep`
    (from [SEP] to [SEP] in the strongest layer), `broad_median` (largest weight of a row, of the broad heads). place: what is
    chosen on all segments, as layer or layer-head; how many heads are broad; the middle layers. value: mean over the segments
    of one half of the units, of what is chosen on the other half; of all segments for `middle_sep`. ci_low, ci_high: bootstrap
    over units, made longer where they are few (`expanded_level`). n: segments with a value.
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
