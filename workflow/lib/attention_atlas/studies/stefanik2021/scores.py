"""F1 of words and phrases from counts of documents; tables of the fine-tuned taggers, whole, pruned and without each head.

Values of columns that tables, figures and claims share:
split: development, test. metric of taggers: token_f1, phrase_f1 (of the tags themselves, which may mark some occurrences of a
phrase and not others). metric of extractors: f1_at_5, f1_at_10 (of the first phrases), f1_at_m (of all that are proposed),
phrase_f1_all_occurrences (phrase F1 where every occurrence of a proposed phrase is marked in the text).
order, in which heads are removed: worst_to_best, importance, worst_to_best_on_test, random; one: a single head, or none.
model: whole, pruned (where development is best), pruned_on_test, without_heads. seed: of the tagger, or mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.corpora.keyphrases import BEGIN, INSIDE, OUTSIDE
from attention_atlas.errors import AtlasError
from attention_atlas.stats.intervals import percentile_interval, resampled_counts
from attention_atlas.stats.simultaneous import adjusted_p, exchanged_differences, simultaneous_interval, two_sided_p

Floats = npt.NDArray[np.float64]
SPLITS = ("development", "test")
METRICS = ("token_f1", "phrase_f1")
METHOD_TITLES = {
    "position": "Position in the text (first phrases)",
    "tf_idf": "TF-IDF",
    "yake": "YAKE",
    "embedding": "Embedding ranker (KeyBERT)",
    "word_statistics": "Regression over word position, frequency and form",
    "best_head": "Attention of the best head",
    "regression": "Regression over all heads",
    "fine_tuned": "Model fine-tuned on tags",
}
ATTENTION_METHODS = ("best_head", "regression")
"""Methods that use attention without fine-tuning; labels of other documents choose the head, or fit the regression."""
MOST_PHRASES = 60
"""Largest number of phrases per document that a ranker may propose, well above the number of gold phrases of an abstract."""
REMOVED = ["split", "order", "draw", "percent", "count"]
"""Columns that name a set of removed heads: the documents, the order, the number of a random order, how many heads are gone."""
_SET = [*REMOVED, "layer", "head"]


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


@dataclass(frozen=True)
class Removals:
    """The answers of one tagger."""

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
    """The answers of a tagger, see `removal.removal`."""
    sets = answers[_SET].drop_duplicates(ignore_index=True)
    row, column = (answers.groupby(names, sort=False).ngroup() for names in (_SET, ["split", "record"]))
    counted: Mapping[str, Callable[[str, str], tuple[int, int, int]]] = {"token_f1": token_counts, "phrase_f1": phrase_counts}
    counts = {}
    for metric, count in counted.items():
        values = np.full((len(sets), column.max() + 1, 3), np.nan)
        cached_count = cache(count)
        values[row, column] = [cached_count(*pair) for pair in zip(answers["answer"], answers["expected"], strict=True)]
        counts[metric] = values
    return Removals(sets, counts)


def removal_tables(removals: Mapping[str, pd.DataFrame], resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """fine_tuning: scores of the whole and the pruned taggers, and with all heads removed; ablation: with each head removed;
    cumulative_ablation: with heads removed cumulatively. removals: seed -> table of `removal.removal`.
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
    """One row for each seed (and their mean), model, split and metric.

    delta: score minus that of the whole tagger; delta_low, delta_high: 95 % interval by the paired permutation test over
    documents (`simultaneous_interval`); a bootstrap over few documents is too narrow.
    """
    rows = []
    for metric, split in product(METRICS, SPLITS):
        models = [_models(removals, split) for removals in by_seed.values()]
        for model in models[0]:
            places = [(of_seed["whole"], of_seed[model]) for of_seed in models]
            parts = [removals.parts(metric, pair) for removals, pair in zip(by_seed.values(), places, strict=True)]
            counts = [removals.sets["count"][place] for removals, (_, place) in zip(by_seed.values(), places, strict=True)]
            scores = _scores(by_seed, parts, resamples, seed)
            for heads_removed, (name, score, samples, null) in zip([*counts, np.mean(counts)], scores, strict=True):
                (low,), (high,) = percentile_interval(samples[:, 1:])
                (delta,) = score[1:] - score[0]
                (delta_low,), (delta_high,) = simultaneous_interval(score[1:] - score[0], null)
                row = {"seed": name, "model": model, "split": split, "heads_removed": heads_removed, "metric": metric}
                row |= {"value": score[1], "ci_low": low, "ci_high": high, "delta": delta}
                rows.append(row | {"delta_low": delta_low, "delta_high": delta_high, "documents": parts[0].shape[1]})
    return pd.DataFrame(rows)


def _models(removals: Removals, split: str) -> dict[str, int]:
    """Model -> its row of `sets`: whole, with the worst heads removed, and (the last set of an order) without any head."""
    places = {"whole": removals.places(order="one", split=split, count=0)}
    selected_on = {"pruned": ("worst_to_best", "development"), "pruned_on_test": ("worst_to_best_on_test", "test")}
    for model, (order, selection) in selected_on.items():
        if split == "test" or selection == split:
            places[model] = removals.places(order=order, split=split, count=best_count(removals, order, selection))
    places["without_heads"] = removals.places(order="worst_to_best", split=split)[-1:]
    return {model: int(place) for model, (place,) in places.items()}


def best_count(removals: Removals, order: str, split: str) -> int:
    """The number of heads removed in an order where token F1 on a split is best; the smallest one if several tie."""
    places = removals.places(order=order, split=split)
    return int(removals.sets["count"][places[percent(removals.parts("token_f1", places)).argmax()]])


def _scores(
    seeds: Iterable[str], parts: Sequence[Floats], resamples: int, seed: int
) -> Iterator[tuple[str, Floats, Floats, Floats]]:
    """For each seed, then for their mean: its name, F1 in percent [set], the same of resampled documents [resample, set], and
    differences from the first set after random exchanges of documents [set, draw]; of counts [set, document, 3] of each seed.
    """
    scores = [percent(of_seed) for of_seed in parts]
    resampled = [resampled_percent(of_seed, resamples, seed) for of_seed in parts]
    exchanged = [exchanged_percent(of_seed, resamples, seed) for of_seed in parts]
    yield from zip(seeds, scores, resampled, exchanged, strict=True)
    yield "mean", np.mean(scores, axis=0), np.mean(resampled, axis=0), np.mean(exchanged, axis=0)


def exchanged_percent(parts: Floats, draws: int, seed: int) -> Floats:
    """[set, draw] differences of F1 from the first set after random exchanges of documents, for counts [set, document, 3]."""
    return exchanged_differences(lambda sums: 100 * f1_of(sums), parts[0], parts[1:], draws, seed)


def ablation_rows(by_seed: Mapping[str, Removals], resamples: int, seed: int) -> pd.DataFrame:
    """One row for each seed (and their mean), split, head and metric.

    p: paired permutation test, two-sided, since a bootstrap over few documents rejects too often: the answers before and after
    the removal are exchanged at random, document by document. p_adjusted, adjusted_low, adjusted_high: for all heads of a seed,
    split and metric, by the maximum statistic of the same exchanges.
    """
    frames = []
    for split, metric in product(("test", "development"), METRICS):
        parts = [removals.parts(metric, removals.places(order="one", split=split)) for removals in by_seed.values()]
        first = next(iter(by_seed.values()))
        heads = first.sets.loc[first.places(order="one", split=split, count=1)]
        for name, score, samples, null in _scores(by_seed, parts, resamples, seed):
            low, high = percentile_interval(samples[:, 1:] - samples[:, :1])
            delta = score[1:] - score[0]
            adjusted_low, adjusted_high = simultaneous_interval(delta, null)
            columns = {"seed": name, "split": split, "layer": heads["layer"], "head": heads["head"], "metric": metric}
            columns |= {"baseline": score[0], "value": score[1:], "delta": delta, "ci_low": low, "ci_high": high}
            columns |= {"p": two_sided_p(delta, null), "p_adjusted": adjusted_p(delta, null), "documents": parts[0].shape[1]}
            frames.append(pd.DataFrame(columns | {"adjusted_low": adjusted_low, "adjusted_high": adjusted_high}))
    return pd.concat(frames, ignore_index=True)


def cumulative_rows(by_seed: Mapping[str, Removals]) -> pd.DataFrame:
    """One row for each seed, order, draw, split, step and metric."""
    frames = []
    for (name, removals), split, metric in product(by_seed.items(), SPLITS, METRICS):
        keys = removals.sets[(removals.sets["order"] != "one") & (removals.sets["split"] == split)]
        parts = removals.parts(metric, keys.index)
        keys = keys[["order", "draw", "split", "percent", "count"]].rename(columns={"count": "heads_removed"})
        keys.insert(0, "seed", name)
        frames.append(keys.assign(metric=metric, value=percent(parts), documents=parts.shape[1]))
    return pd.concat(frames, ignore_index=True)
