"""Dependency relations and single heads (section 4.2): every head, the best ones with held-out selection, options, no-ops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import Attention
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Examples
from attention_atlas.io.messages import progress
from attention_atlas.methods.dependency_scoring import (
    ALL,
    DEPENDENT_TO_HEAD,
    DIRECTIONS,
    Gold,
    Ints,
    Scores,
    best_heads,
    gather_gold,
    heads_frame,
    predict,
    relations_frame,
    score,
)
from attention_atlas.methods.head_relations import head_relations
from attention_atlas.methods.head_tables import UNIT_COLUMNS, interval_of_mean
from attention_atlas.methods.options import AS_PUBLISHED, Options, alternatives, options_of
from attention_atlas.models.card import Card
from attention_atlas.stats.held_out import Bools, Resampling, best_head, choosing_half
from attention_atlas.stats.intervals import LEVEL, level_of_parts

OVER_75 = ("dobj", "det", "pobj", "poss")
"""Relations whose best heads are right in over 75 %, as the paper says in its introduction."""
_SURFACE_OPTIONS = {"sep_sep_denominator", "position_denominator", "entropy_smoothing"}
_INTERVAL = ("ci_low", "ci_high", "level", "n", *UNIT_COLUMNS)
"""Bootstrap over units, widened where they are few (`expanded_level`); level: coverage, so that those of all rows of `OVER_75`
hold together; n: words of the tested half."""


def dependencies(
    attention: Attention,
    examples: Examples,
    card: Card,
    options: Mapping[str, Any],
    min_count: int,
    folds: int,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Every head on every relation: which word it picks (`predict`), and how often that is right (`score`).

    Relations with fewer than `min_count` tokens get no best head, except those of the paper's Table 1. heads: all relations,
    heads and directions; options: the best heads with each option changed alone; other tables: see the functions.
    """
    chosen, resampling = options_of(options), Resampling(folds, resamples, seed)
    gold = gather_gold(examples)
    cached = progress(attention, total=len(examples), label="sentences")
    picked, to_sep = predict(examples, cached, ("mean", "first", "max"), card.sep)
    scores = score(picked[chosen.word_mode], gold, chosen)
    pieces = Counter((number, word) for number, example in enumerate(examples) for word in example.word if word != SPECIAL)
    split = sum(count > 1 for count in pieces.values()) / len(pieces)
    summary = {"sentences": len(examples), "words": len(pieces), "split_words": split}
    return {
        "heads": heads_frame(scores, gold, chosen),
        "dependencies": relations_frame(scores, gold, chosen, min_count, resampling),
        "head_relations": head_relations(scores, gold, chosen, resampling),
        "options": options_frame(picked, gold, min_count),
        "noop": noop_frame(to_sep, scores, gold, resampling),
        "summary": pd.DataFrame(summary.items(), columns=["quantity", "value"]),
        "claims": claims_frame(scores, gold, chosen, resampling),
    }


def claims_frame(scores: Scores, gold: Gold, options: Options, resampling: Resampling) -> pd.DataFrame:
    """Accuracy of the best heads of `OVER_75` and of the row All, chosen on one half of the documents, on the other half.

    Columns: relation, place (best head on all sentences), value (mean over the tested half), and `_INTERVAL`.
    """
    choosing = choosing_half(gold.units.count, resampling.seed)[gold.units.of_item]
    levels = _levels(gold)
    rows = []
    for relation in (*levels, ALL):
        right, of_relation = scores.of(relation)[0], gold.tokens_of(relation, options)
        tested = of_relation & ~choosing
        _, layer, head = best_head(right[of_relation].sum(axis=0))
        values = np.full(len(gold), np.nan)
        if (of_relation & choosing).any():
            values = right[:, *best_head(right[of_relation & choosing].sum(axis=0))].astype(np.float64)
        row = _mean_with_interval(values, tested, gold, resampling, levels.get(relation, LEVEL))
        rows.append({"relation": relation, "place": f"{layer + 1}-{head + 1}"} | row)
    return pd.DataFrame(rows, columns=["relation", "place", "value", *_INTERVAL])


def _levels(gold: Gold) -> dict[str, float]:
    """Relations of `OVER_75` in the treebank, and the coverage of the interval of each."""
    present = [relation for relation in OVER_75 if (gold.relation == relation).any()]
    return dict.fromkeys(present, level_of_parts(max(len(present), 1)))


def _mean_with_interval(
    values: npt.NDArray[np.float64], tested: Bools, gold: Gold, resampling: Resampling, level: float
) -> dict[str, Any]:
    """Mean over the tested words of values [token], NaN where no head was chosen, and `_INTERVAL`."""
    units = gold.units.at(tested)
    row: dict[str, Any] = {"level": level, "n": int(tested.sum()), "unit": units.name, "units": units.count}
    if tested.any() and not np.isnan(values).any():
        row |= {"value": values[tested].mean()} | interval_of_mean(values[tested], units, resampling, level)
    return row


def options_frame(picked: Mapping[str, Ints], gold: Gold, min_count: int) -> pd.DataFrame:
    """Best head and baseline of each relation as published (one row for each option), and with every option changed alone."""
    variants = [(name, variant) for name, variant in alternatives() if name not in _SURFACE_OPTIONS]
    frames = []
    for option in dict.fromkeys(name for name, _ in variants):
        for options in [AS_PUBLISHED, *(variant for name, variant in variants if name == option)]:
            if options.word_mode in picked:
                frame = best_heads(score(picked[options.word_mode], gold, options), gold, options, min_count)
                frames.append(frame.assign(option=option, setting=options.option_text(option)))
    return pd.concat(frames, ignore_index=True)


def noop_frame(to_sep: npt.NDArray[np.float32], scores: Scores, gold: Gold, resampling: Resampling) -> pd.DataFrame:
    """Attention to [SEP] as a no-op (section 3.2), of the best heads of `OVER_75`, chosen on one half of documents.

    value: mean attention to [SEP] from words to which the relation does not apply, on the other half; applying: the same from
    words to which it applies. No rows for a model without [SEP].
    """
    choosing = choosing_half(gold.units.count, resampling.seed)[gold.units.of_item]
    rows = []
    for relation, level in _levels(gold).items() if to_sep.any() else ():
        of_relation = gold.relation == relation
        is_chosen = (of_relation & choosing).any()
        direction, layer, head = best_head(scores.heads[of_relation & choosing].sum(axis=0))
        applies = of_relation
        if DIRECTIONS[direction] != DEPENDENT_TO_HEAD:
            # The words that attend are then the heads of the dependents.
            tokens = np.arange(len(gold))
            applies = np.isin(tokens, (tokens - gold.position + gold.head)[of_relation & (gold.head > 0)])
        values = to_sep[:, layer, head].astype(np.float64) if is_chosen else np.full(len(gold), np.nan)
        row = {"relation": relation} | _mean_with_interval(values, ~applies & ~choosing, gold, resampling, level)
        if "value" in row and (applies & ~choosing).any():
            row["applying"] = values[applies & ~choosing].mean()
        rows.append(row)
    return pd.DataFrame(rows, columns=["relation", "value", "applying", *_INTERVAL])
