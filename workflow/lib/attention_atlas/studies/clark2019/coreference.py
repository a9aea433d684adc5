"""Single heads as antecedent selectors beside rule-based baselines: Table 2 (section 4.3), and GAP (not in the paper)."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.attention.cache import Attention, CachedExample, RepeatedAttention, with_attention
from attention_atlas.corpora import layers
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.errors import AtlasError
from attention_atlas.io.messages import progress
from attention_atlas.methods.dependency_scoring import ALL
from attention_atlas.methods.head_tables import UNIT_COLUMNS, Units, accuracy_rows, independent_units
from attention_atlas.methods.options import in_words
from attention_atlas.stats.held_out import Bools, Resampling, best_head, choosing_half, folds_of, heldout
from attention_atlas.stats.intervals import Floats, bootstrap_ratio, expanded_level, level_of_parts
from attention_atlas.studies.clark2019 import maps as drawn
from attention_atlas.studies.clark2019.claims import heldout_mean

BEST_HEAD, CHANCE = "best_head", "chance"
NEAREST, HEAD_MATCH, RULE_BASED = "nearest", "head_match", "rule_based"
BASELINES = (NEAREST, HEAD_MATCH, RULE_BASED)
TO_ANTECEDENT, FROM_ANTECEDENT = "mention_to_antecedent", "antecedent_to_mention"
DIRECTIONS = (TO_ANTECEDENT, FROM_ANTECEDENT)
_MASCULINE = frozenset({"he", "him", "his", "himself"})
_Description = tuple[Any, ...]  # words of a mention, its head word, and its `Features`
Options = Mapping[str, Any]
VALUES: dict[str, tuple[Any, ...]] = {
    "candidates": ("earlier_mentions", "other_mentions", "words"),
    "scored": ("with_antecedent", "not_first"),
    "head_rule": ("auto", "constituents", "dependency", "surface", "last"),
    "singletons": (False, True),
    "shared_heads": ("keep", "drop"),
    "word_mode": ("mean", "first", "max"),
}
"""Choices that the paper leaves open, which the schema of the configuration describes; our reading comes first."""


def coreference(
    attention: RepeatedAttention,
    examples: Examples,
    coreference_options: Options,
    figure5_heads: drawn.ChosenHeads,
    vary_options: bool,
    folds: int,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Heads and baselines on the windows of a corpus of chains; with `vary_options` also with each option changed alone."""
    base, resampling = coreference_options, Resampling(folds, resamples, seed)
    rule = head_rule_for(examples, base["head_rule"])
    variants = [("none", "the run's own", base, rule)]
    for name, value in [(name, value) for name, values in VALUES.items() for value in values] if vary_options else ():
        if name == "head_rule":
            # The rule that `auto` resolves to is the same variant.
            if value in allowed_head_rules(examples) - {rule}:
                variants.append((name, value, base, value))
        elif value != base[name]:
            variants.append((name, in_words(value), {**base, name: value}, rule))
    cached = progress(attention, total=len(examples), label="windows")
    names, settings, choices, rules = zip(*variants, strict=True)
    results = outcomes(examples, cached, choices, rules)
    frames = []
    for name, setting, outcome in zip(names, settings, results, strict=True):
        rows = outcome.rows(replace(resampling, resamples=100))
        frames.append(rows[rows["mention_type"] == ALL].assign(option=name, setting=setting))
    columns = ["option", "setting", "system", "layer", "head", "direction", "n", "accuracy", "heldout_accuracy"]
    summary = {
        "documents": len({e.document for e in examples}),
        "mentions": sum(len(example.mentions or ()) for example in examples),
        "head_rule": rule,
        "first_names": len(layers.census_names().masculine) + len(layers.census_names().feminine),
        "tags": "part of speech" if any("xpos" in e.layers for e in examples) else "surface",
    }
    table = results[0].rows(resampling)
    return {
        "table": table,
        "heads": heads_frame(results[0], resampling),
        "options": pd.concat(frames, ignore_index=True)[columns],
        "summary": pd.DataFrame(summary.items(), columns=["quantity", "value"]),
        "claims": claims_frame(results[0], resampling),
        "drawn": drawn_weights(examples, attention, base, rule, table, figure5_heads),
    }


@dataclass(frozen=True)
class Task:
    """Coreference resolution in one example: k scored mentions over n words.

    heads: [k] head words; types: [k] pronoun, proper or nominal; candidates, correct: [k, n] words that may be selected, and
    head words of antecedents; baselines: [k] the word that each selects, -1 for none.
    """

    heads: npt.NDArray[np.intp]
    types: tuple[str, ...]
    candidates: Bools
    correct: Bools
    baselines: Mapping[str, npt.NDArray[np.intp]]

    @property
    def chance(self) -> npt.NDArray[np.float64]:
        """[k] share of correct words among the candidates: the expected accuracy of a random choice."""
        sizes = self.candidates.sum(axis=1)
        return np.divide((self.correct & self.candidates).sum(axis=1), sizes, out=np.zeros(len(sizes)), where=sizes > 0)

    def judge(self, picked: npt.NDArray[np.intp]) -> Bools:
        """Whether selected words, [mention, ...], -1 for none, are head words of an antecedent."""
        rows = np.arange(len(self.heads)).reshape(-1, *([1] * (picked.ndim - 1)))
        return (picked >= 0) & self.correct[rows, picked]


def allowed_head_rules(examples: Iterable[Example]) -> set[str]:
    """Rules by which all mentions of the corpus have a head word."""
    rules = []
    for example in examples:
        if example.mentions is None:
            raise AtlasError(f"example {example.id} has no mentions: Table 2 needs a corpus of reader conll2012.")
        rules += [set(mention.heads) for mention in example.mentions]
    if not rules:
        raise AtlasError(
            "there is no mention in this corpus: every record was dropped (see dropped.tsv), or `limit` is too small."
        )
    return set.intersection(*rules)


def head_rule_for(examples: Iterable[Example], requested: str) -> str:
    """The requested rule, or for `auto` the best that all mentions of the corpus have."""
    available = allowed_head_rules(examples)
    rule = next((name for name in layers.BEST_HEAD_RULE if name in available), "last") if requested == "auto" else requested
    if rule not in available:
        raise AtlasError(f"head_rule: {rule} needs what this corpus does not have; it allows {', '.join(sorted(available))}.")
    return rule


def task_of(example: Example, options: Options, rule: str) -> Task:
    """Scored mentions, candidates and baselines of one example, with head words by `rule`.

    A mention's antecedents have an earlier head word. A word represents all mentions that it heads, but not to itself.
    """
    n = len(example.words)
    tags = example.layers.get("xpos", ("_",) * n)
    sentence = example.layers.get("sentence", (0,) * n)
    mentions = [m for m in example.mentions or () if options["singletons"] or not m.singleton]
    if options["shared_heads"] == "drop":
        count = Counter(m.heads[rule] for m in mentions)
        mentions = [m for m in mentions if count[m.heads[rule]] == 1]
    descriptions: list[_Description] = []
    described: dict[int, list[_Description]] = {}
    for mention in mentions:
        head, span = mention.heads[rule], example.words[mention.start : mention.stop]
        # A head word lies outside of the span only in a faulty parse; the last word of the span stands in for it.
        inside = head - mention.start if mention.start <= head < mention.stop else len(span) - 1
        traits = layers.features(span, inside, tags[head], mention.entity, layers.census_names())
        descriptions.append((" ".join(span).lower(), example.words[head].lower(), traits))
        described.setdefault(head, []).append(descriptions[-1])
    scored_heads, types, candidates, correct = [], [], [], []
    picks: list[list[int]] = []
    for mention, description in zip(mentions, descriptions, strict=True):
        head = mention.heads[rule]
        antecedent_heads = {m.heads[rule] for m in mentions if m.cluster == mention.cluster and m.heads[rule] < head}
        if not (antecedent_heads if options["scored"] == "with_antecedent" else not mention.first):
            continue
        allowed = sorted(h for h in described if h != head and (h < head or options["candidates"] == "other_mentions"))
        starts = head == 0 or sentence[head] != sentence[head - 1]
        scored_heads.append(head)
        types.append(layers.mention_type(example.words[head], tags[head], starts, example.words[mention.start : mention.stop]))
        words = np.arange(n)
        candidates.append(words != head if options["candidates"] == "words" else np.isin(words, allowed))
        correct.append(np.isin(words, list(antecedent_heads)))
        picks.append(_baselines(description, head, allowed, described))
    return Task(
        np.asarray(scored_heads, dtype=np.intp),
        tuple(types),
        np.asarray(candidates, dtype=bool).reshape(-1, n),
        np.asarray(correct, dtype=bool).reshape(-1, n),
        dict(zip(BASELINES, np.asarray(picks, dtype=np.intp).reshape(-1, len(BASELINES)).T, strict=True)),
    )


def _baselines(mention: _Description, head: int, allowed: list[int], described: Mapping[int, list[_Description]]) -> list[int]:
    """The words that `BASELINES` select for one mention, -1 for none: the nearest match, ties to the earlier."""
    by_distance = sorted(allowed, key=lambda k: (abs(k - head), k))
    same_text, same_head, agreeing = (
        next((k for k in by_distance if any(matches(other[part], mention[part]) for other in described[k])), -1)
        for part, matches in enumerate((operator.eq, operator.eq, layers.agree))
    )
    nearest = by_distance[0] if by_distance else -1
    sieves = (same_text, same_head, agreeing, nearest)
    return [nearest, same_head, next((k for k in sieves if k >= 0), -1)]


@dataclass(frozen=True)
class Outcome:
    """Correct choices under one set of options: of heads [mention, direction, layer, head], and of systems [mention], as 0 and
    1, or as a share for chance. type: [mention] pronoun, proper or nominal; units: documents, for folds and intervals.
    """

    units: Units
    type: npt.NDArray[np.str_]
    heads: Bools
    systems: Mapping[str, Floats]

    @property
    def of_type(self) -> dict[str, Bools]:
        """Column of Table 2, a type or all -> [mention] which mentions belong to it."""
        return {ALL: np.ones(len(self.type), dtype=bool)} | {name: self.type == name for name in layers.MENTION_TYPES}

    def rows(self, resampling: Resampling) -> pd.DataFrame:
        """Rows of Table 2."""
        return system_rows(self.heads, DIRECTIONS, self.systems, ("mention_type", self.of_type), self.units, resampling)


def picked_words(maps: npt.NDArray[np.floating], special: Bools, task: Task) -> npt.NDArray[np.intp]:
    """The candidate with the most attention from (or to) the head word of a mention: [mention, direction, layer, head], from 0;
    -1 for none; ties go to the first word. Maps are [layer, head, m, m] over words and special tokens (`special` [m]).
    """
    words = np.flatnonzero(~special)
    inner = np.asarray(maps)[..., words[:, None], words[None, :]]
    from_mention = inner[..., task.heads, :]
    to_mention = np.swapaxes(inner, -1, -2)[..., task.heads, :]
    weights = np.stack([from_mention, to_mention])  # [direction, layer, head, mention, word]
    chosen = np.where(task.candidates, weights, -1.0).argmax(axis=-1)
    return np.moveaxis(np.where(task.candidates.any(axis=1), chosen, -1), -1, 0)


def outcomes(
    examples: Sequence[Example], cached: Iterable[CachedExample], variants: Sequence[Options], rules: Sequence[str]
) -> list[Outcome]:
    """Read the cache, in the order of the windows, once; score heads and baselines under all options, with their head rules."""
    units = independent_units([example.document for example in examples], "windows")
    scored: list[list[tuple[int, Task, Bools]]] = [[] for _ in variants]
    for (example, maps), unit in zip(with_attention(examples, cached), units.of_item, strict=True):
        by_mode: dict[str, npt.NDArray[np.float32]] = {}
        for options, rule, of_variant in zip(variants, rules, scored, strict=True):
            task = task_of(example, options, rule)
            if len(task.heads):
                mode = options["word_mode"]
                if mode not in by_mode:
                    by_mode[mode] = maps.word_maps(mode)
                picked = picked_words(by_mode[mode], maps.special_units, task)
                of_variant.append((int(unit), task, task.judge(picked)))
    results = []
    for of_variant in scored:
        if not of_variant:
            raise AtlasError(
                "no mention has an antecedent in its window: the corpus has no chains, or the windows are too short."
            )
        numbers, tasks, heads = zip(*of_variant, strict=True)
        systems = {CHANCE: np.concatenate([task.chance for task in tasks])}
        for name in BASELINES:
            systems[name] = np.concatenate([task.judge(task.baselines[name]) for task in tasks]).astype(float)
        present, of_mention = np.unique(np.repeat(numbers, [len(task.heads) for task in tasks]), return_inverse=True)
        types = np.concatenate([np.asarray(task.types) for task in tasks])
        mention_units = Units(of_mention.astype(np.intp), len(present), units.name)
        results.append(Outcome(mention_units, types, np.concatenate(heads), systems))
    return results


def heads_frame(outcome: Outcome, resampling: Resampling) -> pd.DataFrame:
    """All heads in both directions on every type of mention; chance: accuracy of a candidate drawn at random.

    ci_low, ci_high: interval of both directions of a head together (Bonferroni), so that it also holds for the better one.
    """
    frames = []
    for name, of_type in outcome.of_type.items():
        units = outcome.units.at(of_type)
        low = high = np.full(outcome.heads[0].size, np.nan)
        if units.count > 1:
            level = expanded_level(level_of_parts(len(DIRECTIONS)), units.count)
            right, sizes = units.sums(outcome.heads[of_type].astype(np.float64)), units.sizes()[:, None, None, None]
            low, high = (end.ravel() for end in bootstrap_ratio(right, sizes, resampling.resamples, resampling.seed, level))
        chance = outcome.systems[CHANCE][of_type].mean() if of_type.any() else np.nan
        frame = accuracy_rows(outcome.heads[of_type], DIRECTIONS).assign(ci_low=low, ci_high=high, chance=chance)
        frame.insert(0, "mention_type", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def claims_frame(outcome: Outcome, resampling: Resampling) -> pd.DataFrame:
    """Accuracy of the best head minus that of each baseline on all mentions, for the claims of section 4.3.

    The head is chosen on one half of the documents and compared on the other, on the same mentions (`heldout_mean`). place:
    best head on all documents.
    """
    choosing = choosing_half(outcome.units.count, resampling.seed)[outcome.units.of_item]
    _, layer, head = best_head(outcome.heads.sum(axis=0))
    head_right = np.full(len(choosing), np.nan)
    if choosing.any():
        head_right = outcome.heads[:, *best_head(outcome.heads[choosing].sum(axis=0))].astype(np.float64)
    rows = []
    for name in BASELINES:
        right = outcome.systems[name]
        row = {"baseline": name, "place": f"{layer + 1}-{head + 1}"}
        row |= heldout_mean(head_right - right, ~choosing, outcome.units, resampling)
        if "value" in row:
            row |= {"head_accuracy": head_right[~choosing].mean(), "baseline_accuracy": right[~choosing].mean()}
        rows.append(row)
    columns = ["baseline", "place", "value", "ci_low", "ci_high", "head_accuracy", "baseline_accuracy", "n", *UNIT_COLUMNS]
    return pd.DataFrame(rows, columns=columns)


def drawn_weights(
    examples: Sequence[Example],
    attention: Iterable[CachedExample],
    options: Options,
    rule: str,
    table: pd.DataFrame,
    heads: drawn.ChosenHeads,
) -> pd.DataFrame:
    """The weights that Figure 5 draws of the best head of `table`, or of the one that `heads` names: see `stretch_panels`."""
    best = table[(table["system"] == BEST_HEAD) & (table["mention_type"] == ALL)].iloc[0].to_dict()
    place = [best["layer"], best["head"]] if isinstance(heads, str) else heads.get(drawn.COREFERENCE)
    if place is None:
        return drawn.joined([])
    layer, head = map(int, place)
    panels: list[drawn.Panel] = []
    for example, cached in with_attention(examples[: drawn.SEARCHED], attention):
        task = task_of(example, options, rule)
        if len(task.heads):
            by_word = cached.word_maps()[drawn.head_index(cached, (layer, head), "figure5_heads")]
            picked = picked_words(by_word[None, None], cached.special_units, task)[:, DIRECTIONS.index(best["direction"]), 0, 0]
            panels += drawn.stretch_panels(example, cached, by_word, task, picked, best["direction"] == TO_ANTECEDENT)
    return drawn.joined(drawn.panel_frames(panels, drawn.COREFERENCE, (layer, head), best))


def system_rows(
    heads: Bools,
    directions: Sequence[str],
    baselines: Mapping[str, Floats | Bools],
    groups: tuple[str, Mapping[str, Bools]],
    units: Units,
    resampling: Resampling,
) -> pd.DataFrame:
    """Accuracy of the baselines and of the best head in every group, the best head last.

    The best head has the highest accuracy over all items, as in the paper; held-out: chosen on the other folds of units. heads:
    [item, direction, layer, head], baselines: system -> [item] which are right; groups: column, and group -> [item] members.
    """
    direction, layer, head = best_head(heads.sum(axis=0))
    place = {"layer": layer + 1, "head": head + 1, "direction": directions[direction]}
    fold = folds_of(units.count, min(resampling.folds, units.count), resampling.seed)[units.of_item]
    held = heldout(heads, fold).astype(float)
    column, members = groups
    rows = []
    for system, is_right in {**baselines, BEST_HEAD: heads[:, direction, layer, head]}.items():
        right = is_right.astype(float)
        for name, of_group in members.items():
            of_units = units.at(of_group)
            row = {"system": system, column: name, "n": int(of_group.sum()), "correct": right[of_group].sum()}
            row |= {"unit": of_units.name, "units": of_units.count} | (place if system == BEST_HEAD else {})
            measured = {"accuracy": ("ci", right)} | ({"heldout_accuracy": ("heldout_ci", held)} if system == BEST_HEAD else {})
            for accuracy, (interval, values) in measured.items() if of_group.any() else ():
                row[accuracy] = values[of_group].mean()
                sums, sizes = of_units.sums(values[of_group]), of_units.sizes()
                low, high = bootstrap_ratio(sums, sizes, resampling.resamples, resampling.seed)
                row |= {f"{interval}_low": float(low), f"{interval}_high": float(high)}
            rows.append(row)
    columns = [
        *("system", column, "layer", "head", "direction", "n", "correct", "accuracy"),
        *("ci_low", "ci_high", "heldout_accuracy", "heldout_ci_low", "heldout_ci_high", *UNIT_COLUMNS),
    ]
    return pd.DataFrame(rows, columns=columns).astype({"layer": "Int64", "head": "Int64"})


def gap(attention: Attention, examples: Examples, folds: int, resamples: int, seed: int) -> pd.DataFrame:
    """Which of two names the attention of a pronoun prefers, by gender: heads and baselines on passages of GAP in which the
    pronoun refers to one of them. Folds and bootstrap are over pages, or passages where the corpus names none.
    """
    right, documents, rules = [], [], []
    for example, maps in with_attention(examples, progress(attention, total=len(examples), label="passages")):
        by_role = {m.role: m for m in example.mentions or ()}
        if not {"pronoun", "A", "B"} <= set(by_role):
            raise AtlasError(f"example {example.id} has no pronoun and two names: this table needs a corpus of reader gap.")
        pronoun, *names = (range(by_role[role].start, by_role[role].stop) for role in ("pronoun", "A", "B"))
        is_right = [by_role[name].cluster == by_role["pronoun"].cluster for name in "AB"]
        if sum(is_right) != 1:
            continue
        names = names if is_right[0] else names[::-1]
        right.append(preferred(maps.word_maps(), maps.special_units, pronoun, names))
        documents.append(example.document)
        # Words between pronoun and name.
        distances = [max(name.start - pronoun.stop, pronoun.start - name.stop) for name in names]
        masculine = example.words[pronoun.start].lower() in _MASCULINE
        rules.append((masculine, names[0].start < names[1].start, distances[0] < distances[1]))
    if not right:
        raise AtlasError("no passage has exactly one name that the pronoun refers to: there is nothing to choose.")
    masculine, first_name, nearest_name = np.asarray(rules).T
    of_gender = {ALL: np.ones(len(right), bool), "masculine": masculine, "feminine": ~masculine}
    baselines = {CHANCE: np.full(len(right), 0.5), "first_name": first_name, "nearest_name": nearest_name}
    units, directions = independent_units(documents, "passages"), ("pronoun_to_name", "name_to_pronoun")
    resampling = Resampling(folds, resamples, seed)
    return system_rows(np.stack(right), directions, baselines, ("gender", of_gender), units, resampling)


def preferred(maps: npt.NDArray[np.floating], special: Bools, pronoun: range, names: Sequence[range]) -> Bools:
    """[direction, layer, head] whether every head prefers the first of two names, of maps as in `picked_words`; a tie is wrong.

    Attention from the pronoun is summed over the words of a name; attention to the pronoun is averaged over them.
    """
    words = np.flatnonzero(~special)
    of_pronoun, *of_names = (words[span] for span in (pronoun, *names))
    to_names = [maps[..., of_pronoun[:, None], name].sum(axis=-1).mean(axis=-1) for name in of_names]
    from_names = [maps[..., name[:, None], of_pronoun].sum(axis=-1).mean(axis=-1) for name in of_names]
    return np.stack([to_names[0] > to_names[1], from_names[0] > from_names[1]])
