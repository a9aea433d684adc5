"""Tables of relations: every head, the best head with intervals and held-out selection, options, no-op heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from attention_atlas.attention.cache import read_attention
from attention_atlas.corpora.alignment import SPECIAL
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_quantities, write_table
from attention_atlas.methods.dependency_scoring import (
    ALL,
    DIRECTIONS,
    Gold,
    Predictions,
    Scores,
    gather_gold,
    predict,
    score,
)
from attention_atlas.methods.head_relations import head_relations
from attention_atlas.methods.options import AS_PUBLISHED, Options, alternatives
from attention_atlas.methods.relation_tables import heads_frame, relations_frame
from attention_atlas.methods.units import UNIT_COLUMNS
from attention_atlas.models.card import read_card
from attention_atlas.stats.bootstrap import bootstrap_ratio
from attention_atlas.stats.held_out import Resampling, best_head, choosing_half
from attention_atlas.stats.levels import LEVEL, level_of_parts
from attention_atlas.studies.clark2019.unit_intervals import interval_of_mean

WORD_MODES = ("mean", "first", "max")
NOOP_COLUMNS = [
    *("relation", "layer", "head", "group_by", "group", "n", "sep_attention", "ci_low", "ci_high"),
    *("cls_attention", "cls_ci_low", "cls_ci_high", *UNIT_COLUMNS),
]
CLAIM_COLUMNS = ["relation", "place", "value", "ci_low", "ci_high", "level", "n", *UNIT_COLUMNS]
OVER_75 = ("dobj", "det", "pobj", "poss")
"""Relations whose best heads are right in over 75 %, as the paper says in its introduction."""
_SURFACE_OPTIONS = {"sep_sep_denominator", "position_denominator", "entropy_smoothing"}


@dataclass(frozen=True)
class DependencyOutputs:
    """Tables that `measure_dependencies` writes.

    Attributes:
        heads: relation, layer, head, direction, n, correct, accuracy: all relations x heads x directions.
        dependencies: the best head of each relation, see `relations_frame`.
        head_relations: the relations of each head, see `head_relations`.
        options: the same best heads with each option changed alone, see `options_frame`.
        noop: attention to [SEP] with and without the relation, see `noop_frame`.
        summary: quantity, value (sentences, words, share of words with several word pieces).
        claims: held-out accuracy of the relations of the paper's claims and of all words, see `claims_frame`.
    """

    heads: str | Path
    dependencies: str | Path
    head_relations: str | Path
    options: str | Path
    noop: str | Path
    summary: str | Path
    claims: str | Path


def measure_dependencies(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    card_path: str | Path,
    limit: int,
    options: Options,
    min_count: int,
    resampling: Resampling,
    outputs: DependencyOutputs,
) -> None:
    """Score every head on every relation and write the tables.

    Args:
        shards, example_files: attention and examples of the treebank, in order.
        card_path: card of the model.
        limit: use at most this many records of the corpus.
        options: the run's options.
        min_count: relations with fewer tokens get no best head, except those of the paper's Table 1.
        resampling: folds and bootstrap.
        outputs: files to write.

    Raises:
        AtlasError: cache and examples do not belong together, the cache lacks the word mode, or there is nothing to score.
    """
    examples = list(read_examples(example_files, limit))
    gold = gather_gold(examples)
    cached = progress(read_attention(shards, limit), total=len(examples), label="sentences")
    card = read_card(card_path)
    predictions = predict(examples, cached, WORD_MODES, card.cls, card.sep)
    if options.word_mode not in predictions.picked:
        raise AtlasError(
            "options.word_mode: the attention cache was stored at level words, which holds the mode mean alone; "
            f"{options.word_mode} needs level: tokens for this corpus."
        )
    scores = score(predictions.picked[options.word_mode], gold, options)
    write_table(heads_frame(scores, gold, options), outputs.heads)
    relations = relations_frame(scores, gold, options, min_count, resampling)
    write_table(relations, outputs.dependencies)
    write_table(head_relations(scores, gold, options, resampling), outputs.head_relations)
    write_table(options_frame(predictions, gold, min_count), outputs.options)
    write_table(noop_frame(predictions, gold, relations, resampling), outputs.noop)
    write_quantities(summary(examples), outputs.summary)
    write_table(claims_frame(scores, gold, options, resampling), outputs.claims)


def claims_frame(scores: Scores, gold: Gold, options: Options, resampling: Resampling) -> pd.DataFrame:
    """Accuracy of the best heads of `OVER_75` and of the row All, chosen on one half of the documents, on the other half.

    Columns: relation, place (best head on all sentences), value, ci_low, ci_high (bootstrap over units, widened where they
    are few, `expanded_level`), level (coverage of each interval, so that those of `OVER_75` hold together), n (tokens of the
    tested half), unit, units.
    """
    choosing = choosing_half(gold.units.count, resampling.seed)[gold.units.of_item]
    present = [relation for relation in OVER_75 if (gold.relation == relation).any()]
    levels = dict.fromkeys(present, level_of_parts(max(len(present), 1))) | {ALL: LEVEL}
    rows = []
    for relation, level in levels.items():
        right, of_relation = scores.of(relation)[0], gold.tokens_of(relation, options)
        _, layer, head = best_head(right[of_relation].sum(axis=0))
        row = {"relation": relation, "place": f"{layer + 1}-{head + 1}", "value": np.nan, "ci_low": np.nan, "ci_high": np.nan}
        tested = of_relation & ~choosing
        units = gold.units.at(tested)
        row |= {"level": level, "n": int(tested.sum()), "unit": units.name, "units": units.count}
        if tested.any() and (of_relation & choosing).any():
            chosen = best_head(right[of_relation & choosing].sum(axis=0))
            hits = right[(tested, *chosen)].astype(np.float64)
            row["value"] = hits.mean()
            row |= interval_of_mean(hits, units, resampling, level)
        rows.append(row)
    return pd.DataFrame(rows, columns=CLAIM_COLUMNS)


def summary(examples: Sequence[Example]) -> dict[str, float]:
    """Number of sentences and words, and the share of words with several word pieces (section 4.1)."""
    pieces = Counter((number, word) for number, example in enumerate(examples) for word in example.word if word != SPECIAL)
    return {
        "sentences": len(examples),
        "words": len(pieces),
        "split_words": sum(count > 1 for count in pieces.values()) / len(pieces),
    }


def options_frame(predictions: Predictions, gold: Gold, min_count: int) -> pd.DataFrame:
    """Best head and baseline of each relation as published, and with every option changed alone.

    Columns: option, setting, relation, n, layer, head, direction, accuracy, baseline_offset, baseline_accuracy. The published
    value of every option has one row.
    """
    variants = [(name, variant) for name, variant in alternatives() if name not in _SURFACE_OPTIONS]
    frames = []
    published = _best_frame(predictions, gold, AS_PUBLISHED, min_count)
    for option in dict.fromkeys(name for name, _ in variants):
        for options in (AS_PUBLISHED, *(variant for name, variant in variants if name == option)):
            if options.word_mode not in predictions.picked:
                continue
            frame = published if options == AS_PUBLISHED else _best_frame(predictions, gold, options, min_count)
            frame = frame.assign(option=option, setting=options.option_text(option))
            frames.append(frame[["option", "setting", *[c for c in frame.columns if c not in ("option", "setting")]]])
    return pd.concat(frames, ignore_index=True)


def _best_frame(predictions: Predictions, gold: Gold, options: Options, min_count: int) -> pd.DataFrame:
    scores = score(predictions.picked[options.word_mode], gold, options)
    rows = []
    for relation in [ALL, *gold.relations(min_count)]:
        chosen = gold.tokens_of(relation, options)
        heads, offsets = scores.of(relation)
        right, offset_right = heads[chosen].mean(axis=0), offsets[chosen].mean(axis=0)
        direction, layer, head = best_head(heads[chosen].sum(axis=0))
        rows.append(
            {
                "relation": relation,
                "n": int(chosen.sum()),
                "layer": layer + 1,
                "head": head + 1,
                "direction": DIRECTIONS[direction],
                "accuracy": right[direction, layer, head],
                "baseline_offset": options.offsets[int(offset_right.argmax())],
                "baseline_accuracy": offset_right.max(),
            }
        )
    return pd.DataFrame(rows)


def noop_frame(predictions: Predictions, gold: Gold, relations: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Attention to [SEP] as a no-op (section 3.2): the best head of a relation on words without this relation.

    For the best head of each relation, the mean attention from a word to [SEP], and to [CLS], over tokens with the relation,
    over all others, and by part of speech.

    Columns: relation (whose best head), layer, head, group_by (relation or upos), group, n, sep_attention, ci_low, ci_high
    (bootstrap over documents, or sentences where the corpus names none), the same of [CLS], unit, units (how many have such
    words).
    """
    frames = []
    for row in relations.itertuples():
        if row.relation == ALL:
            continue
        masses = [mass[:, row.layer - 1, row.head - 1, None] for mass in (predictions.to_sep, predictions.to_cls)]
        holds = gold.relation == row.relation
        groups = [("relation", row.relation, holds), ("relation", f"not {row.relation}", ~holds)]
        groups += [("upos", tag, gold.upos == tag) for tag in sorted(set(gold.upos.tolist()) - {"_"})]
        groups = [group for group in groups if group[2].any()]
        members = np.stack([group[2] for group in groups], axis=1).astype(np.float64)
        sums = gold.units.sums(np.stack([*(members * mass for mass in masses), members], axis=1))
        low, high = bootstrap_ratio(sums[:, :2], sums[:, 2:], resampling.resamples, resampling.seed)
        to_sep, to_cls = sums[:, :2].sum(axis=0) / sums[:, 2].sum(axis=0)
        frames.append(
            pd.DataFrame(
                {
                    "relation": row.relation,
                    "layer": row.layer,
                    "head": row.head,
                    "group_by": [group[0] for group in groups],
                    "group": [group[1] for group in groups],
                    "n": members.sum(axis=0).astype(int),
                    "sep_attention": to_sep,
                    "ci_low": low[0],
                    "ci_high": high[0],
                    "cls_attention": to_cls,
                    "cls_ci_low": low[1],
                    "cls_ci_high": high[1],
                    "unit": gold.units.name,
                    "units": (sums[:, 2] > 0).sum(axis=0),
                }
            )
        )
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=NOOP_COLUMNS)
