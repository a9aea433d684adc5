"""Table 2: single heads as antecedent selectors, and rule-based baselines (Clark et al. 2019, section 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import CachedExample, read_attention
from attention_atlas.attention.pairing import with_attention
from attention_atlas.corpora.agreement import NO_NAMES, Names, census_names, read_names
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.corpora.mentions import MENTION_TYPES
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_quantities, write_table
from attention_atlas.methods.head_tables import accuracy_rows
from attention_atlas.methods.units import UNIT_COLUMNS, Units, independent_units
from attention_atlas.stats.bootstrap import bootstrap_ratio, expanded_level
from attention_atlas.stats.held_out import Bools, Resampling, best_head, choosing_half
from attention_atlas.studies.clark2019.antecedents import (
    BASELINES,
    CoreferenceOptions,
    Task,
    alternatives,
    head_rule_for,
    options_of,
    task_of,
)
from attention_atlas.studies.clark2019.systems import ALL, BEST_HEAD, system_columns, system_rows
from attention_atlas.studies.clark2019.unit_intervals import interval_of_mean

Floats = npt.NDArray[np.float64]
LEVEL = 0.95
"""Coverage of intervals; for a head's accuracy, that of both directions together."""
TO_ANTECEDENT, FROM_ANTECEDENT = "mention_to_antecedent", "antecedent_to_mention"
DIRECTIONS = (TO_ANTECEDENT, FROM_ANTECEDENT)
ROWS = (ALL, *MENTION_TYPES)
CHANCE = "chance"
SYSTEMS = (CHANCE, *BASELINES, BEST_HEAD)
COLUMNS = tuple(system_columns("mention_type"))
CLAIM_COLUMNS = (
    *("baseline", "place", "value", "ci_low", "ci_high", "head_accuracy", "baseline_accuracy", "n"),
    *UNIT_COLUMNS,
)


@dataclass(frozen=True)
class Outcome:
    """Correct choices of heads and baselines under one set of options, one entry for each scored mention.

    Attributes:
        units: of the mentions, for folds and intervals: documents.
        type: [mention] pronoun, proper or nominal.
        heads: [mention, direction, layer, head].
        systems: system -> [mention], as 0 and 1, or as a share for chance.
    """

    units: Units
    type: npt.NDArray[np.str_]
    heads: Bools
    systems: Mapping[str, npt.NDArray[np.float64]]

    def of_type(self, name: str) -> Bools:
        """[mention] which mentions belong to a column of the table: a type, or all."""
        return np.ones(len(self.type), dtype=bool) if name == ALL else self.type == name


def picked_words(maps: npt.NDArray[np.floating], special: Bools, task: Task) -> npt.NDArray[np.intp]:
    """The candidate that every head selects for every mention.

    From mention to antecedent, it is the candidate with the highest attention from the mention's head word; from antecedent to
    mention, the candidate with the highest attention to the mention's head word. Ties go to the first word.

    Args:
        maps: [layer, head, m, m] over words and special tokens.
        special: [m] which rows are special tokens.
        task: the mentions and their candidates.

    Returns:
        [mention, direction, layer, head], positions from 0; -1 where a mention has no candidate.
    """
    words = np.flatnonzero(~special)
    inner = np.asarray(maps)[..., words[:, None], words[None, :]]
    from_mention = inner[..., task.heads, :]
    to_mention = np.swapaxes(inner, -1, -2)[..., task.heads, :]
    weights = np.stack([from_mention, to_mention])  # [direction, layer, head, mention, word]
    chosen = np.where(task.candidates, weights, -1.0).argmax(axis=-1)
    chosen = np.where(task.candidates.any(axis=1), chosen, -1)
    return np.moveaxis(chosen, -1, 0)


def judge(picked: npt.NDArray[np.intp], task: Task) -> Bools:
    """Whether selected words, [mention, ...], are head words of an antecedent."""
    rows = np.arange(len(task.heads)).reshape(-1, *([1] * (picked.ndim - 1)))
    return (picked >= 0) & task.correct[rows, picked]


def outcomes(
    examples: Sequence[Example],
    cached: Iterable[CachedExample],
    variants: Sequence[CoreferenceOptions],
    rules: Sequence[str],
    names: Names = NO_NAMES,
) -> list[Outcome]:
    """Read the cache once and score heads and baselines under all options.

    Args:
        examples: the windows, in the order of the cache.
        cached: their attention.
        variants, rules: options, and the head rule that each of them resolves to.
        names: first names by gender, for the sieves.

    Raises:
        AtlasError: cache and examples are not of the same corpus.
    """
    units = independent_units([example.document for example in examples], "windows")
    scored: list[list[tuple[int, Task, Bools]]] = [[] for _ in variants]
    for (example, maps), unit in zip(with_attention(examples, cached), units.of_item, strict=True):
        by_mode: dict[str, npt.NDArray[np.float32]] = {}
        for options, rule, scored_windows in zip(variants, rules, scored, strict=True):
            task = task_of(example, options, rule, names)
            if len(task.heads):
                if options.word_mode not in by_mode:
                    by_mode[options.word_mode] = maps.word_maps(options.word_mode)
                picked = picked_words(by_mode[options.word_mode], maps.special_units, task)
                scored_windows.append((int(unit), task, judge(picked, task)))
    return [_joined(scored_windows, units.name) for scored_windows in scored]


def _joined(parts: list[tuple[int, Task, Bools]], unit_name: str) -> Outcome:
    if not parts:
        raise AtlasError("no mention has an antecedent in its window: the corpus has no chains, or the windows are too short.")
    systems = {CHANCE: np.concatenate([task.chance for _, task, _ in parts])}
    for name in BASELINES:
        systems[name] = np.concatenate([judge(task.baselines[name], task) for _, task, _ in parts]).astype(float)
    present, numbers = np.unique([unit for unit, task, _ in parts for _ in task.heads], return_inverse=True)
    return Outcome(
        Units(numbers.astype(np.intp), len(present), unit_name),
        np.concatenate([np.asarray(task.types) for _, task, _ in parts]),
        np.concatenate([heads for _, _, heads in parts]),
        systems,
    )


def table2_frame(outcome: Outcome, resampling: Resampling) -> pd.DataFrame:
    """Rows of Table 2: every system on every type of mention, columns `COLUMNS`."""
    groups = ("mention_type", {name: outcome.of_type(name) for name in ROWS})
    return system_rows(outcome.heads, DIRECTIONS, outcome.systems, groups, outcome.units, resampling)


def _intervals_of_heads(outcome: Outcome, of_type: Bools, resampling: Resampling) -> tuple[Floats, Floats]:
    """Intervals of the accuracies of `accuracy_rows`, in its order; NaN where a type has mentions in fewer than two documents.

    The level is that of Bonferroni for the directions, expanded for few documents (`expanded_level`).
    """
    units = outcome.units.at(of_type)
    if units.count < 2:
        empty = np.full(outcome.heads[0].size, np.nan)
        return empty, empty
    level = expanded_level(1 - (1 - LEVEL) / len(DIRECTIONS), units.count)
    right = units.sums(outcome.heads[of_type].astype(np.float64))
    low, high = bootstrap_ratio(right, units.sizes()[:, None, None, None], resampling.resamples, resampling.seed, level)
    return low.ravel(), high.ravel()


def heads_frame(outcome: Outcome, resampling: Resampling) -> pd.DataFrame:
    """All heads in both directions on every type of mention.

    Args:
        outcome: of all mentions.
        resampling: settings of the bootstrap, over documents.

    Returns:
        mention_type, layer, head, direction, n, correct, accuracy; ci_low, ci_high: 95 % interval of both directions of a head
        together, so that it also holds for the better one; chance: share of mentions for which a candidate drawn at random
        is an antecedent.
    """
    frames = []
    for name in ROWS:
        of_type = outcome.of_type(name)
        frame = accuracy_rows(outcome.heads[of_type], DIRECTIONS)
        frame.insert(0, "mention_type", name)
        low, high = _intervals_of_heads(outcome, of_type, resampling)
        chance = outcome.systems[CHANCE][of_type]
        frames.append(frame.assign(ci_low=low, ci_high=high, chance=chance.mean() if len(chance) else np.nan))
    return pd.concat(frames, ignore_index=True)


def claims_frame(outcome: Outcome, resampling: Resampling) -> pd.DataFrame:
    """Accuracy of the best head minus that of each baseline on all mentions, for the claims of section 4.3.

    The head is chosen on one half of the documents and compared on the other, where head and baseline answer the same mentions.

    Returns:
        `CLAIM_COLUMNS`: baseline; place (best head on all documents); value with its interval (bootstrap over units of the
        difference, widened where they are few, `expanded_level`); head_accuracy, baseline_accuracy on the tested half; n
        (mentions of it); unit, units. NaN where one half has no mention.
    """
    choosing = choosing_half(outcome.units.count, resampling.seed)[outcome.units.of_item]
    tested = ~choosing
    _, layer, head = best_head(outcome.heads.sum(axis=0))
    units = outcome.units.at(tested)
    rows = []
    for name in BASELINES:
        row: dict[str, object] = {"baseline": name, "place": f"{layer + 1}-{head + 1}"}
        row |= {"n": int(tested.sum()), "unit": units.name, "units": units.count}
        if tested.any() and choosing.any():
            head_right = outcome.heads[(tested, *best_head(outcome.heads[choosing].sum(axis=0)))].astype(np.float64)
            baseline_right = outcome.systems[name][tested]
            difference = head_right - baseline_right
            row |= {"value": difference.mean(), "head_accuracy": head_right.mean(), "baseline_accuracy": baseline_right.mean()}
            row |= interval_of_mean(difference, units, resampling, LEVEL)
        rows.append(row)
    return pd.DataFrame(rows, columns=list(CLAIM_COLUMNS))


def measure_coreference(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    limit: int,
    options: Mapping[str, Any],
    vary_options: bool,
    name_lists: Sequence[str | Path],
    resampling: Resampling,
    out: str | Path,
    heads_out: str | Path,
    options_out: str | Path,
    summary_out: str | Path,
    claims_out: str | Path,
) -> None:
    """Score all heads and baselines and write the tables.

    Args:
        shards, example_files: attention and examples of the coreference corpus, in order.
        limit: use at most this many records of the corpus.
        options: `CoreferenceOptions` of the run.
        vary_options: whether each option is changed alone as well, for `options_out`.
        name_lists: masculine and feminine first names, one name per line; empty for those of the census
            (`agreement.census_names`).
        resampling: folds and bootstrap, over documents.
        out: columns `COLUMNS`.
        heads_out: all heads on every type of mention.
        options_out: option, setting, system, mention_type, layer, head, direction, n, accuracy: each option changed alone.
        summary_out: quantity, value.
        claims_out: statistics of the paper's claims, columns `CLAIM_COLUMNS`.

    Raises:
        AtlasError: the cache cannot be used, or the corpus has no mentions or no head words by the requested rule.
    """
    examples = list(read_examples(example_files, limit))
    base = options_of(options)
    rule = head_rule_for(examples, base.head_rule)
    variants = [("", base, rule)]
    names = read_names(*name_lists) if name_lists else census_names()
    for name, alternative in alternatives(base) if vary_options else ():
        try:
            alternative_rule = head_rule_for(examples, alternative.head_rule)
        except AtlasError:
            continue  # a head rule that this corpus does not allow
        # The rule that `auto` resolves to is the same variant.
        if name != "head_rule" or alternative_rule != rule:
            variants.append((name, alternative, alternative_rule))
    cached = progress(read_attention(shards, limit), total=len(examples), label="windows")
    results = outcomes(examples, cached, [variant for _, variant, _ in variants], [r for _, _, r in variants], names)
    table = table2_frame(results[0], resampling)
    write_table(table, out)
    write_table(heads_frame(results[0], resampling), heads_out)
    write_table(claims_frame(results[0], resampling), claims_out)
    rows = []
    for (name, variant, variant_rule), outcome in zip(variants, results, strict=True):
        shown = variant_rule if name == "head_rule" else variant.option_text(name) if name else "the run's own"
        frame = table2_frame(outcome, replace(resampling, resamples=100))
        frame = frame[frame["mention_type"] == ALL]
        rows.append(frame.assign(option=name or "none", setting=shown))
    columns = ["option", "setting", "system", "layer", "head", "direction", "n", "accuracy", "heldout_accuracy"]
    write_table(pd.concat(rows, ignore_index=True)[columns], options_out)
    summary = {
        "windows": len(examples),
        "documents": len({e.document for e in examples}),
        "words": sum(len(e.words) for e in examples),
        "mentions": sum(len(e.mentions or ()) for e in examples),
        "singletons": sum(m.singleton for e in examples for m in e.mentions or ()),
        "scored": len(results[0].type),
        "head_rule": rule,
        "first_names": len(names.masculine) + len(names.feminine),
        "tags": "part of speech" if any("xpos" in e.layers for e in examples) else "surface",
    }
    write_quantities(summary, summary_out)
