"""Taggers fine-tuned on keyphrases: their answers with heads removed, and F1 by these.

Values of columns that tables, figures and claims share:
metric: token_f1, phrase_f1 (of the tags themselves, which may mark some occurrences of a phrase and not others).
order, in which heads are removed: worst_to_best, importance, worst_to_best_on_test, random; one: a single head, or none.
model: whole, pruned (where development is best), pruned_on_test, without_heads. seed: of the tagger, or mean.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from transformers import PreTrainedModel

from attention_atlas.attention.engine import attention_shape
from attention_atlas.attention.plans import Plan
from attention_atlas.corpora.examples import Example, Examples
from attention_atlas.corpora.keyphrases import BEGIN, INSIDE, OUTSIDE
from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import ALL, ANSWERS, PAPER
from attention_atlas.methods.importance import importance
from attention_atlas.methods.masked_heads import Step, ascending, head_gradients, heads_of, plan_without, step_answers, steps
from attention_atlas.methods.masked_heads import random_orders as shuffled_orders
from attention_atlas.models.card import Card
from attention_atlas.models.task_heads import gold_tags, load_tagger, tag_loss, tags_under
from attention_atlas.stats.intervals import Floats, percentile_interval, resampled_counts
from attention_atlas.stats.simultaneous import adjusted_p, exchanged_differences, simultaneous_interval
from attention_atlas.studies.stefanik2021.head_measures import METRICS

_log = logging.getLogger(__name__)
REMOVED = ["split", "order", "draw", "percent", "count"]
"""Columns that name a set of removed heads: the documents, the order, the number of a random order, how many heads are gone."""
_SET = [*REMOVED, "layer", "head"]


class Tagging(NamedTuple):
    """A tagger as an `Experiment` (`methods.masked_heads`); loss: cross-entropy, summed over words."""

    model: PreTrainedModel
    pad: int
    name: str = "tagging"

    def expected(self, examples: Sequence[Example]) -> list[str]:
        """Gold tags of each document, one letter per word."""
        if not examples:
            raise AtlasError("there is no document to tag: raise the limit of the corpus, or its max_tokens.")
        return ["".join(gold_tags(example)) for example in examples]

    def answers(self, examples: Sequence[Example], plans: Sequence[Plan]) -> list[list[str]]:
        return tags_under(self.model, examples, plans, self.pad)

    def loss(self, inputs: Mapping[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
        return tag_loss(self.model, inputs, batch)


def removal(
    model: Annotated[PreTrainedModel, load_tagger],
    card: Card,
    development: Examples,
    test: Examples,
    step: int,
    random_orders: int,
    seed: int,
) -> pd.DataFrame:
    """A row for every set of removed heads and document: `REMOVED`, layer, head, and `ANSWERS` of a tagger.

    layer and head (from 1) name the head if one is removed, 0 otherwise. Heads are removed cumulatively in steps of `step`
    percent; all orders on test documents, that from worst to best on development documents as well. Heads are ranked and the
    stopping point is chosen on development documents; the slides used one set for all (`worst_to_best_on_test`).
    """
    tagging = Tagging(model, card.pad or 0)
    examples = {"development": development, "test": test}
    heads = heads_of(attention_shape(model))
    single_plans = [plan_without(heads.iloc[[place]]) for place in range(len(heads))]
    tables, effects = [], {}
    for split, documents in examples.items():
        expected = tagging.expected(documents)
        _log.info("%d %s documents without each of %d heads", len(documents), split, len(heads))
        answers = tagging.answers(documents, single_plans)
        records = [example.record for example in documents]
        for (layer, head), tags in zip([(0, 0), *zip(heads["layer"], heads["head"], strict=True)], answers, strict=True):
            key = dict(zip(REMOVED, (split, "one", 0, 0, int(layer > 0)), strict=True)) | {"layer": layer, "head": head}
            tables.append(pd.DataFrame(key | dict(zip(ANSWERS, (records, tags, expected), strict=True))))
        token_sums = [np.sum([token_counts(*pair) for pair in zip(tags, expected, strict=True)], axis=0) for tags in answers]
        scores = f1_of(token_sums)
        effects[split] = scores[1:] - scores[0]
    orders = [
        # Heads whose removal helps most come first.
        ("worst_to_best", 0, ascending(-effects["development"])),
        ("importance", 0, ascending(importance(head_gradients(tagging, development), PAPER, 1))),
        ("worst_to_best_on_test", 0, ascending(-effects["test"])),
    ]
    orders += [("random", draw, order) for draw, order in enumerate(shuffled_orders(len(heads), random_orders, seed))]
    for split, documents in examples.items():
        pruning_steps = [
            Step(name, ALL, draw, percent, tuple(order[:count]))
            for name, draw, order in orders
            if split == "test" or name == "worst_to_best"
            for percent, count in steps(len(heads), step, tagging.name)
        ]
        answers_of_steps = step_answers(tagging, heads, pruning_steps, documents).drop(columns="scope")
        tables.append(answers_of_steps.assign(split=split, layer=0, head=0))
    return pd.concat([table[[*REMOVED, "layer", "head", *ANSWERS]] for table in tables], ignore_index=True)


def token_counts(answer: str, expected: str) -> tuple[int, int, int]:
    """(right, answered, expected) keyphrase words, whether they begin one or not."""
    answered, gold = (np.frombuffer(tags.encode(), np.uint8) != ord(OUTSIDE) for tags in (answer, expected))
    return int((answered & gold).sum()), int(answered.sum()), int(gold.sum())


def phrase_counts(answer: str, expected: str) -> tuple[int, int, int]:
    """(right, answered, expected) phrases by seqeval: right if both boundaries are."""
    from seqeval.metrics.sequence_labeling import get_entities

    names = {BEGIN: "B-KEY", INSIDE: "I-KEY", OUTSIDE: OUTSIDE}
    answered, gold = (set(get_entities([names[tag] for tag in tags])) for tags in (answer, expected))
    return len(answered & gold), len(answered), len(gold)


def f1_of(counts: npt.ArrayLike) -> Floats:
    """[...] F1 of counts [..., 3] (right, answered, expected), already summed; 0 where nothing is right."""
    right, answered, expected = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    return np.where(right > 0, 2 * right / np.maximum(answered + expected, 1), 0.0)


def percent(counts: Floats) -> Floats:
    """[...] F1 in percent of counts [..., document, 3], summed over documents."""
    return 100 * f1_of(counts.sum(axis=-2))


def resampled_percent(counts: Floats, resamples: int, seed: int) -> Floats:
    """[resample, set] F1 in percent of counts [set, document, 3], over bootstrap resamples of documents."""
    chunks = resampled_counts(counts.shape[1], resamples, seed)
    return np.concatenate([100 * f1_of(np.einsum("rd,sdp->rsp", chunk, counts, optimize=True)) for chunk in chunks])


class Removals(NamedTuple):
    sets: pd.DataFrame  # one row for each set of removed heads: `REMOVED`, layer, head
    counts: Mapping[str, Floats]  # metric -> [set, document, 3] right, answered, expected; NaN for documents of another split

    def places(self, **values: object) -> npt.NDArray[np.intp]:
        """Rows of `sets` with these values, in their order."""
        return np.flatnonzero((self.sets[list(values)] == pd.Series(values)).all(axis=1))

    def parts(self, metric: str, places: npt.ArrayLike) -> Floats:
        """[set, document, 3] of sets of one split."""
        counts = self.counts[metric][np.asarray(places)]
        return counts[:, ~np.isnan(counts[0, :, 0])]


def removals_of(answers: pd.DataFrame) -> Removals:
    sets = answers[_SET].drop_duplicates(ignore_index=True)
    row, column = (answers.groupby(names, sort=False).ngroup() for names in (_SET, ["split", "record"]))
    counts = {}
    for metric, count in zip(METRICS, (token_counts, phrase_counts), strict=True):
        counts[metric], cached_count = np.full((len(sets), column.max() + 1, 3), np.nan), cache(count)
        counts[metric][row, column] = [cached_count(*pair) for pair in zip(answers["answer"], answers["expected"], strict=True)]
    return Removals(sets, counts)


def removal_tables(removals: Mapping[str, pd.DataFrame], resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """F1 on test documents. fine_tuning: of the whole and the pruned taggers, and with all heads removed; ablation: with each
    head removed; cumulative_ablation: with heads removed cumulatively. removals: seed -> table of `removal`.
    """
    by_seed = {name: removals_of(answers) for name, answers in removals.items()}
    first = next(iter(by_seed))
    for name, of_seed in by_seed.items():
        if of_seed.counts["token_f1"].shape[1] != by_seed[first].counts["token_f1"].shape[1]:
            raise AtlasError(
                f"the tagger of seed {name} was evaluated on other documents than that of seed {first}: build the run again."
            )
    return {
        "fine_tuning": fine_tuning_rows(by_seed, resamples, seed),
        "ablation": ablation_rows(by_seed, resamples, seed),
        "cumulative_ablation": cumulative_rows(by_seed),
    }


def fine_tuning_rows(by_seed: Mapping[str, Removals], resamples: int, seed: int) -> pd.DataFrame:
    """One row for each seed (and their mean), model and metric.

    delta: score minus that of the whole tagger; delta_low, delta_high: 95 % interval by the paired permutation test over
    documents (`simultaneous_interval`); a bootstrap over few documents is too narrow.
    """
    rows, models = [], [_models(removals) for removals in by_seed.values()]
    for metric, model in product(METRICS, models[0]):
        places = [[of_seed["whole"], of_seed[model]] for of_seed in models]
        parts = [removals.parts(metric, pair) for removals, pair in zip(by_seed.values(), places, strict=True)]
        counts = [float(removals.sets["count"][pair[1]]) for removals, pair in zip(by_seed.values(), places, strict=True)]
        scores = _with_mean(percent(part) for part in parts)
        samples = _with_mean(resampled_percent(part, resamples, seed) for part in parts)
        nulls = _with_mean(exchanged_percent(part, resamples, seed) for part in parts)
        values = zip([*by_seed, "mean"], [*counts, np.mean(counts)], scores, samples, nulls, strict=True)
        for name, heads_removed, score, sample, null in values:
            row = {"seed": name, "model": model, "heads_removed": heads_removed, "metric": metric, "value": score[1]}
            delta = np.diff(score)
            (low,), (high,) = percentile_interval(sample[:, 1:])
            (delta_low,), (delta_high,) = simultaneous_interval(delta, null)
            row |= {"ci_low": low, "ci_high": high, "delta": delta[0], "delta_low": delta_low, "delta_high": delta_high}
            rows.append(row | {"documents": parts[0].shape[1]})
    return pd.DataFrame(rows)


def _models(removals: Removals) -> dict[str, int]:
    """Model -> its row of `sets` on test documents: with the worst heads removed, without any (the last set of an order)."""
    places = {"whole": removals.places(order="one", split="test", count=0)}
    selections = ("pruned", "worst_to_best", "development"), ("pruned_on_test", "worst_to_best_on_test", "test")
    for model, order, split in selections:
        chosen = removals.places(order=order, split=split)
        # With the best token F1; the smallest number of heads if several tie.
        count = int(removals.sets["count"][chosen[percent(removals.parts("token_f1", chosen)).argmax()]])
        places[model] = removals.places(order=order, split="test", count=count)
    places["without_heads"] = removals.places(order="worst_to_best", split="test")[-1:]
    return {model: int(place) for model, (place,) in places.items()}


def _with_mean(by_seed: Iterable[Floats]) -> list[Floats]:
    """Values of each seed, then their mean."""
    values = list(by_seed)
    return [*values, np.mean(values, axis=0)]


def exchanged_percent(parts: Floats, draws: int, seed: int) -> Floats:
    """[set, draw] differences of F1 from the first set after random exchanges of documents, for counts [set, document, 3]."""
    return exchanged_differences(lambda sums: 100 * f1_of(sums), parts[0], parts[1:], draws, seed)


def ablation_rows(by_seed: Mapping[str, Removals], resamples: int, seed: int) -> pd.DataFrame:
    """One row for each seed (and their mean), head and metric.

    p_adjusted, adjusted_low, adjusted_high: paired permutation test, two-sided, for all heads of a seed and metric at once, by
    the maximum statistic: the answers before and after the removal are exchanged at random, document by document. A bootstrap
    over few documents rejects too often.
    """
    frames, first = [], next(iter(by_seed.values()))
    heads = first.sets.loc[first.places(order="one", split="test", count=1), ["layer", "head"]]
    for metric in METRICS:
        parts = [removals.parts(metric, removals.places(order="one", split="test")) for removals in by_seed.values()]
        scores, nulls = _with_mean(map(percent, parts)), _with_mean(exchanged_percent(part, resamples, seed) for part in parts)
        for name, score, null in zip([*by_seed, "mean"], scores, nulls, strict=True):
            delta = score[1:] - score[0]
            low, high = simultaneous_interval(delta, null)
            rows = heads.assign(seed=name, metric=metric, baseline=score[0], value=score[1:], delta=delta)
            rows = rows.assign(p_adjusted=adjusted_p(delta, null), adjusted_low=low, adjusted_high=high)
            frames.append(rows.assign(documents=parts[0].shape[1]))
    return pd.concat(frames, ignore_index=True)


def cumulative_rows(by_seed: Mapping[str, Removals]) -> pd.DataFrame:
    """One row for each seed, order, draw, step and metric."""
    frames = []
    for (name, removals), metric in product(by_seed.items(), METRICS):
        keys = removals.sets[(removals.sets["order"] != "one") & (removals.sets["split"] == "test")]
        parts = removals.parts(metric, keys.index)
        keys = keys[["order", "draw", "percent", "count"]].rename(columns={"count": "heads_removed"})
        keys.insert(0, "seed", name)
        frames.append(keys.assign(metric=metric, value=percent(parts), documents=parts.shape[1]))
    return pd.concat(frames, ignore_index=True)
