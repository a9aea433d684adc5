"""Surface patterns of Clark et al. (2019), sections 3.1 to 3.3: where heads look, and how widely.

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
from attention_atlas.models.card import read_card

MOVED = {"sep_sep_denominator": ("sep_sep",), "position_denominator": ("next", "previous"), "entropy_smoothing": ENTROPIES}


def measure_surface(
    shards: Sequence[str | Path],
    card_path: str | Path,
    limit: int,
    options: Options,
    resamples: int,
    seed: int,
    out: str | Path,
    options_out: str | Path,
    summary_out: str | Path,
) -> None:
    """Measure every head on all segments and write the tables.

    Args:
        shards: attention shards of the segments, in order.
        card_path: card of the model.
        limit: records of the corpus that count.
        options: the run's options.
        resamples, seed: of the bootstrap over segments.
        out: measure, layer, head, value, ci_low, ci_high, n.
        options_out: option, setting, measure, layer, head, value: the measures that an option moves, as published and with that
            option moved alone.
        summary_out: quantity, value (number of segments, their lengths, entropy of a uniform head).

    Raises:
        AtlasError: a shard cannot be used or is not at level tokens, or there is no segment.
    """
    card = read_card(card_path)
    own: dict[str, list[Floats]] = {}
    moved: dict[tuple[str, str, str], list[Floats]] = {}
    lengths: list[int] = []
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
                own.setdefault(measure, []).append(values)
            for setting in _settings(option):
                key = _value(setting, option)
                if key not in computed:
                    computed[key] = group(maps, classes, setting)
                for measure in MOVED[str(option)]:
                    moved.setdefault((str(option), setting.setting(str(option)), measure), []).append(computed[key][measure])
        lengths.append(len(example.tokens))
    if not lengths:
        raise AtlasError("there is no segment to measure: every record was dropped, or the limit is too small.")
    write_table(mean_frame(own, resamples, seed), out)
    write_table(_options_frame(moved), options_out)
    write_quantities(summary(lengths), summary_out)


def _value(options: Options, option: str | None) -> object:
    return getattr(options, option) if option else None


def _settings(option: str | None) -> list[Options]:
    """The published setting of an option and the others that are reported."""
    return [AS_PUBLISHED, *(changed for name, changed in alternatives() if name == option)] if option else []


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


def _options_frame(other: dict[tuple[str, str, str], list[Floats]]) -> pd.DataFrame:
    frames = []
    for (name, setting, measure), values in other.items():
        stacked = np.stack(values)
        valid = ~np.isnan(stacked[:, 0, 0])
        if not valid.any():
            continue
        frame = head_rows(stacked[valid].mean(axis=0), "value")
        frame.insert(0, "measure", measure)
        frame.insert(0, "setting", setting)
        frame.insert(0, "option", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)
