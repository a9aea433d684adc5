"""Table 2: single heads as antecedent selectors, beside rule-based baselines (Clark et al. 2019, section 4.3)."""

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
from attention_atlas.corpora.examples import Example, read_examples
from attention_atlas.corpora.mentions import MENTION_TYPES
from attention_atlas.errors import AtlasError
from attention_atlas.io.progress import progress
from attention_atlas.io.tables import write_quantities, write_table
from attention_atlas.methods.head_tables import accuracy_rows
from attention_atlas.stats.held_out import Bools, Resampling
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

TO_ANTECEDENT, FROM_ANTECEDENT = "mention_to_antecedent", "antecedent_to_mention"
DIRECTIONS = (TO_ANTECEDENT, FROM_ANTECEDENT)
ROWS = (ALL, *MENTION_TYPES)
CHANCE = "chance"
SYSTEMS = (CHANCE, *BASELINES, BEST_HEAD)
COLUMNS = tuple(system_columns("mention_type"))


@dataclass(frozen=True)
class Outcome:
    """What heads and baselines got right under one setting, an entry a scored mention.

    Attributes:
        document: [mention] number of its document.
        type: [mention] pronoun, proper or nominal.
        heads: [mention, direction, layer, head].
        systems: system -> [mention], as 0 and 1, or as a share for chance.
    """

    document: npt.NDArray[np.intp]
    type: npt.NDArray[np.str_]
    heads: Bools
    systems: Mapping[str, npt.NDArray[np.float64]]

    def of(self, name: str) -> Bools:
        """[mention] which mentions count for a column of the table."""
        return np.ones(len(self.type), dtype=bool) if name == ALL else self.type == name


def picked_words(maps: npt.NDArray[np.floating], special: Bools, task: Task) -> npt.NDArray[np.intp]:
    """The candidate that every head picks for every mention.

    From mention to antecedent, the candidate that the mention's head word attends to most; the other way round, the candidate
    that attends to the mention's head word most. Ties go to the first word.

    Args:
        maps: [layer, head, m, m] over words and special tokens.
        special: [m] which rows are special tokens.
        task: the mentions and their candidates.

    Returns:
        [mention, direction, layer, head], positions from 0; -1 where a mention has no candidate.
    """
    words = np.flatnonzero(~special)
    inner = np.asarray(maps)[..., words[:, None], words[None, :]]
    attended = inner[..., task.heads, :]
    attending = np.swapaxes(inner, -1, -2)[..., task.heads, :]
    both = np.stack([attended, attending])  # [direction, layer, head, mention, word]
    chosen = np.where(task.candidates, both, -1.0).argmax(axis=-1)
    chosen = np.where(task.candidates.any(axis=1), chosen, -1)
    return np.moveaxis(chosen, -1, 0)


def judge(picked: npt.NDArray[np.intp], task: Task) -> Bools:
    """Whether picked words, [mention, ...], are head words of an antecedent."""
    rows = np.arange(len(task.heads)).reshape(-1, *([1] * (picked.ndim - 1)))
    return (picked >= 0) & task.correct[rows, picked]


def outcomes(
    examples: Sequence[Example], cached: Iterable[CachedExample], settings: Sequence[CoreferenceOptions], rules: Sequence[str]
) -> list[Outcome]:
    """Run through the cache once and judge heads and baselines under every setting.

    Args:
        examples: the windows, in the order of the cache.
        cached: their attention.
        settings, rules: options, and the head rule that each of them comes to.

    Raises:
        AtlasError: cache and examples are not of the same corpus.
    """
    names = list(dict.fromkeys(_document(e) for e in examples))
    kept: list[list[tuple[int, Task, Bools]]] = [[] for _ in settings]
    for example, maps in with_attention(examples, cached):
        by_mode: dict[str, npt.NDArray[np.float32]] = {}
        for options, rule, own in zip(settings, rules, kept, strict=True):
            task = task_of(example, options, rule)
            if len(task.heads):
                if options.word_mode not in by_mode:
                    by_mode[options.word_mode] = maps.word_maps(options.word_mode)
                picked = picked_words(by_mode[options.word_mode], maps.special_units, task)
                own.append((names.index(_document(example)), task, judge(picked, task)))
    return [_joined(own) for own in kept]


def _document(example: Example) -> str:
    return example.id.split("#")[0]


def _joined(parts: list[tuple[int, Task, Bools]]) -> Outcome:
    if not parts:
        raise AtlasError("no mention has an antecedent in its window: the corpus has no chains, or the windows are too short.")
    systems = {CHANCE: np.concatenate([task.chance for _, task, _ in parts])}
    for name in BASELINES:
        systems[name] = np.concatenate([judge(task.baselines[name], task) for _, task, _ in parts]).astype(float)
    return Outcome(
        np.concatenate([np.full(len(task.heads), document) for document, task, _ in parts]),
        np.concatenate([np.asarray(task.types) for _, task, _ in parts]),
        np.concatenate([heads for _, _, heads in parts]),
        systems,
    )


def table2_frame(outcome: Outcome, resampling: Resampling) -> pd.DataFrame:
    """Rows of Table 2: every system on every type of mention, columns `COLUMNS`; clusters are documents."""
    groups = ("mention_type", {name: outcome.of(name) for name in ROWS})
    return system_rows(outcome.heads, DIRECTIONS, outcome.systems, groups, outcome.document, resampling)


def heads_frame(outcome: Outcome) -> pd.DataFrame:
    """All heads in both directions on every type of mention: mention_type, layer, head, direction, n, correct, accuracy."""
    frames = []
    for name in ROWS:
        frame = accuracy_rows(outcome.heads[outcome.of(name)], DIRECTIONS)
        frame.insert(0, "mention_type", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def measure_coreference(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    limit: int,
    settings: Mapping[str, Any],
    resampling: Resampling,
    out: str | Path,
    heads_out: str | Path,
    options_out: str | Path,
    summary_out: str | Path,
) -> None:
    """Score all heads and baselines and write the tables.

    Args:
        shards, example_files: attention and examples of the coreference corpus, in order.
        limit: records of the corpus that count.
        settings: `CoreferenceOptions` of the run.
        resampling: folds and bootstrap, over documents.
        out: columns `COLUMNS`.
        heads_out: all heads on every type of mention.
        options_out: option, setting, system, mention_type, layer, head, direction, n, accuracy: each option moved alone.
        summary_out: quantity, value.

    Raises:
        AtlasError: the cache cannot be used, or the corpus has no mentions or not the heads that are asked for.
    """
    examples = list(read_examples(example_files, limit))
    own = options_of(settings)
    rule = head_rule_for(examples, own.head_rule)
    runs = [("", own, rule)]
    for name, changed in alternatives(own):
        try:
            changed_rule = head_rule_for(examples, changed.head_rule)
        except AtlasError:
            continue  # a head rule that this corpus does not allow
        # The rule that `auto` comes to is no other setting.
        if name != "head_rule" or changed_rule != rule:
            runs.append((name, changed, changed_rule))
    cached = progress(read_attention(shards, limit), total=len(examples), label="windows")
    found = outcomes(examples, cached, [options for _, options, _ in runs], [r for _, _, r in runs])
    table = table2_frame(found[0], resampling)
    write_table(table, out)
    write_table(heads_frame(found[0]), heads_out)
    rows = []
    for (name, options, own_rule), outcome in zip(runs, found, strict=True):
        shown = own_rule if name == "head_rule" else options.setting(name) if name else "the run's own"
        frame = table2_frame(outcome, replace(resampling, resamples=100))
        frame = frame[frame["mention_type"] == ALL].drop(columns=["correct", "ci_low", "ci_high"])
        rows.append(frame.assign(option=name or "none", setting=shown))
    columns = ["option", "setting", "system", "layer", "head", "direction", "n", "accuracy", "heldout_accuracy"]
    write_table(pd.concat(rows, ignore_index=True)[columns], options_out)
    summary = {
        "windows": len(examples),
        "documents": len({_document(e) for e in examples}),
        "words": sum(len(e.words) for e in examples),
        "mentions": sum(len(e.mentions or ()) for e in examples),
        "singletons": sum(m.singleton for e in examples for m in e.mentions or ()),
        "scored": len(found[0].document),
        "head_rule": rule,
        "tags": "part of speech" if any("xpos" in e.layers for e in examples) else "surface",
    }
    write_quantities(summary, summary_out)
