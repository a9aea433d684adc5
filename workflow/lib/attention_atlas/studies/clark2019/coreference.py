"""Table 2: single heads as antecedent selectors, beside rule-based baselines (Clark et al. 2019, section 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from attention_atlas.progress import progress
from attention_atlas.statistics import bootstrap_ratio, folds_of
from attention_atlas.studies.clark2019.antecedents import (
    BASELINES,
    CoreferenceOptions,
    Task,
    alternatives,
    head_rule_for,
    options_of,
    task_of,
)
from attention_atlas.studies.clark2019.dependencies import best_head
from attention_atlas.tables import write_table

TO_ANTECEDENT, FROM_ANTECEDENT = "mention_to_antecedent", "antecedent_to_mention"
DIRECTIONS = (TO_ANTECEDENT, FROM_ANTECEDENT)
ALL = "all"
ROWS = (ALL, *MENTION_TYPES)
CHANCE, BEST_HEAD = "chance", "best_head"
SYSTEMS = (CHANCE, *BASELINES, BEST_HEAD)
COLUMNS = (
    *("system", "mention_type", "layer", "head", "direction", "n", "correct", "accuracy"),
    *("ci_low", "ci_high", "heldout_accuracy"),
)
Bools = npt.NDArray[np.bool_]


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


def table2_frame(outcome: Outcome, folds: int, resamples: int, seed: int) -> pd.DataFrame:
    """Rows of Table 2: every system on every type of mention, columns `COLUMNS`.

    The best head is the one with most correct mentions of all types, as in the paper; held out, it is chosen on the other folds
    of documents.
    """
    direction, layer, head = best_head(outcome.heads.sum(axis=0))
    held = heldout(outcome, folds, seed)
    scores = {**outcome.systems, BEST_HEAD: outcome.heads[:, direction, layer, head].astype(float)}
    rows = []
    for system in SYSTEMS:
        for name in ROWS:
            of_type = outcome.of(name)
            right = scores[system][of_type]
            is_head = system == BEST_HEAD
            low, high = _interval(right, outcome.document[of_type], resamples, seed)
            rows.append(
                {
                    "system": system,
                    "mention_type": name,
                    "layer": layer + 1 if is_head else None,
                    "head": head + 1 if is_head else None,
                    "direction": DIRECTIONS[direction] if is_head else None,
                    "n": len(right),
                    "correct": right.sum(),
                    "accuracy": right.mean() if len(right) else np.nan,
                    "ci_low": low,
                    "ci_high": high,
                    "heldout_accuracy": held[of_type].mean() if is_head and of_type.any() else np.nan,
                }
            )
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"layer": "Int64", "head": "Int64"})


def heldout(outcome: Outcome, folds: int, seed: int) -> Bools:
    """[mention] whether the head that is best on the other folds of documents is right."""
    documents = np.unique(outcome.document)
    folds = min(folds, len(documents))
    right = np.zeros(len(outcome.document), dtype=bool)
    if folds < 2:
        return right
    fold_of = dict(zip(documents.tolist(), folds_of(len(documents), folds, seed).tolist(), strict=True))
    fold = np.asarray([fold_of[d] for d in outcome.document.tolist()])
    for number in range(folds):
        here = fold == number
        right[here] = outcome.heads[here][(slice(None), *best_head(outcome.heads[~here].sum(axis=0)))]
    return right


def _interval(right: npt.NDArray[np.float64], document: npt.NDArray[np.intp], resamples: int, seed: int) -> tuple[float, float]:
    if not len(right):
        return np.nan, np.nan
    size = int(document.max()) + 1
    hits = np.bincount(document, weights=right, minlength=size)
    total = np.bincount(document, minlength=size)
    present = total > 0
    low, high = bootstrap_ratio(hits[present][:, None], total[present][:, None], resamples, seed)
    return float(low[0]), float(high[0])


def heads_table(outcome: Outcome) -> pd.DataFrame:
    """All heads in both directions on every type of mention: layer, head, direction, mention_type, n, correct, accuracy."""
    frames = []
    for name in ROWS:
        own = outcome.heads[outcome.of(name)]
        correct = own.sum(axis=0)
        _, layers, heads = correct.shape
        for number, direction in enumerate(DIRECTIONS):
            frames.append(
                pd.DataFrame(
                    {
                        "layer": np.repeat(np.arange(1, layers + 1), heads),
                        "head": np.tile(np.arange(1, heads + 1), layers),
                        "direction": direction,
                        "mention_type": name,
                        "n": len(own),
                        "correct": correct[number].ravel(),
                    }
                )
            )
    table = pd.concat(frames, ignore_index=True)
    return table.assign(accuracy=table["correct"] / table["n"].where(table["n"] > 0))


def measure_coreference(
    shards: Sequence[str | Path],
    example_files: Sequence[str | Path],
    limit: int,
    settings: Mapping[str, Any],
    folds: int,
    resamples: int,
    seed: int,
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
        folds, resamples, seed: of the held-out choice and the bootstrap, over documents.
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
    table = table2_frame(found[0], folds, resamples, seed)
    write_table(table, out)
    write_table(heads_table(found[0]), heads_out)
    rows = []
    for (name, options, own_rule), outcome in zip(runs, found, strict=True):
        shown = own_rule if name == "head_rule" else options.setting(name) if name else "the run's own"
        frame = table2_frame(outcome, folds, 100, seed)
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
    write_table(pd.DataFrame({"quantity": list(summary), "value": list(summary.values())}), summary_out)
