"""Surface patterns of Clark et al. (2019), sections 3.1 to 3.3: which tokens heads attend to, and how broadly.

Per segment and head, then averaged over segments with equal weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from attention_atlas.attention.cache import read_attention
from attention_atlas.attention.half import widened
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_quantities, write_table
from attention_atlas.methods.head_tables import head_rows
from attention_atlas.methods.options import AS_PUBLISHED, Options, alternatives
from attention_atlas.methods.surface import ENTROPIES, GROUPS, Floats, mean_frame, token_classes
from attention_atlas.methods.units import independent_units
from attention_atlas.models.card import read_card
from attention_atlas.stats.held_out import Resampling
from attention_atlas.studies.clark2019.surface_claims import claim_statistics

AFFECTED_MEASURES: dict[str, tuple[str, ...]] = {
    "sep_sep_denominator": ("sep_sep",),
    "position_denominator": ("next", "previous"),
    "entropy_smoothing": ENTROPIES,
}
"""Option -> the measures that it affects."""


def measure_surface(
    shards: Sequence[str | Path],
    card_path: str | Path,
    limit: int,
    options: Options,
    resampling: Resampling,
    out: str | Path,
    options_out: str | Path,
    summary_out: str | Path,
    claims_out: str | Path,
) -> None:
    """Measure every head on all segments and write the tables.

    Args:
        shards: attention shards of the segments, in order.
        card_path: card of the model.
        limit: use at most this many records of the corpus.
        options: the run's options.
        resampling: folds and bootstrap over documents, or segments where the corpus names no documents.
        out: columns `surface.COLUMNS` of the methods.
        options_out: option, setting, measure, layer, head, value: the measures that an option affects, as published and with
            that option changed alone.
        summary_out: quantity, value (number of segments, their lengths, entropy of a uniform head).
        claims_out: statistics of the paper's claims, columns `surface_claims.COLUMNS`.

    Raises:
        AtlasError: a shard cannot be used or is not at level tokens, or there is no segment.
    """
    card = read_card(card_path)
    by_measure: dict[str, list[Floats]] = {}
    by_option: dict[tuple[str, str, str], list[Floats]] = {}
    lengths: list[int] = []
    documents: list[str | None] = []
    for example in progress(read_attention(shards, limit), total=limit, label="segments"):
        if example.level != "tokens":
            raise AtlasError(
                f"example {example.id}: the attention cache was stored at level {example.level}, but surface patterns are "
                "those of word pieces: set level: tokens for this corpus."
            )
        maps = widened(example.maps)
        classes = token_classes(example.tokens, card.cls, card.sep)
        for group, option in GROUPS.values():
            computed = {_value(options, option): group(maps, classes, options)}
            for measure, values in computed[_value(options, option)].items():
                by_measure.setdefault(measure, []).append(values)
            for variant in _variants(option):
                value = _value(variant, option)
                if value not in computed:
                    computed[value] = group(maps, classes, variant)
                for measure in AFFECTED_MEASURES[str(option)]:
                    key = (str(option), variant.option_text(str(option)), measure)
                    by_option.setdefault(key, []).append(computed[value][measure])
        lengths.append(len(example.tokens))
        documents.append(example.document)
    if not lengths:
        raise AtlasError("there is no segment to measure: every record was dropped (see dropped.tsv), or `limit` is too small.")
    units = independent_units(documents, "segments")
    write_table(mean_frame(by_measure, units, resampling.resamples, resampling.seed), out)
    write_table(claim_statistics(by_measure, units, resampling), claims_out)
    write_table(_options_frame(by_option), options_out)
    write_quantities(summary(lengths), summary_out)


def _value(options: Options, option: str | None) -> object:
    return getattr(options, option) if option else None


def _variants(option: str | None) -> list[Options]:
    """The options as published, and with the alternatives of one option."""
    return [AS_PUBLISHED, *(variant for name, variant in alternatives() if name == option)] if option else []


def summary(lengths: Sequence[int]) -> dict[str, float]:
    """Number of segments, their lengths in tokens, and the mean entropy of a uniform head (nats)."""
    sizes = np.asarray(lengths, dtype=np.float64)
    return {
        "segments": len(sizes),
        "mean_tokens": sizes.mean(),
        "shortest": sizes.min(),
        "longest": sizes.max(),
        "uniform_entropy": np.log(sizes).mean(),
    }


def _options_frame(by_option: dict[tuple[str, str, str], list[Floats]]) -> pd.DataFrame:
    frames = []
    for (option, option_value, measure), values in by_option.items():
        stacked = np.stack(values)
        valid = ~np.isnan(stacked[:, 0, 0])
        if not valid.any():
            continue
        frame = head_rows(stacked[valid].mean(axis=0), "value")
        frame.insert(0, "measure", measure)
        frame.insert(0, "setting", option_value)
        frame.insert(0, "option", option)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)
