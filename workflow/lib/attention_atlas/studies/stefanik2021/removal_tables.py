"""Tables of the fine-tuned taggers: whole and pruned scores, each head removed, heads removed cumulatively."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.errors import AtlasError
from attention_atlas.io.tables import read_parquet, write_table
from attention_atlas.methods.names import ANSWERS
from attention_atlas.stats.bootstrap import percentile_interval
from attention_atlas.stats.simultaneous import adjusted_p, exchanged_differences, simultaneous_interval, two_sided_p
from attention_atlas.studies.stefanik2021.names import (
    ABLATION,
    CUMULATIVE,
    DEVELOPMENT,
    FINE_TUNING,
    MEAN,
    METRICS,
    ONE,
    OPTIMISTIC,
    PHRASE,
    PRUNED,
    PRUNED_ON_TEST,
    REMOVED,
    SPLITS,
    TEST,
    TOKEN,
    WHOLE,
    WITHOUT_HEADS,
    WORST,
)
from attention_atlas.studies.stefanik2021.phrases import f1_of, percent, phrase_counts, resampled_percent, token_counts

Floats = npt.NDArray[np.float64]
_COUNTS: Mapping[str, Callable[[str, str], tuple[int, int, int]]] = {TOKEN: token_counts, PHRASE: phrase_counts}
_SET = [*REMOVED, "layer", "head"]


@dataclass(frozen=True)
class Removals:
    """The answers of one tagger.

    Attributes:
        sets: one row for each set of removed heads: `REMOVED`, layer, head.
        counts: metric -> [set, document, 3] right, answered and expected, of the documents of the set's split; NaN elsewhere.
    """

    sets: pd.DataFrame
    counts: Mapping[str, Floats]

    def places(self, **values: object) -> npt.NDArray[np.intp]:
        """Rows of `sets` with these values, in their order."""
        matching = np.ones(len(self.sets), dtype=bool)
        for name, value in values.items():
            matching &= (self.sets[name] == value).to_numpy()
        return np.flatnonzero(matching)

    def parts(self, metric: str, places: npt.ArrayLike) -> Floats:
        """[set, document, 3] of sets of one split."""
        counts = self.counts[metric][np.asarray(places)]
        return counts[:, ~np.isnan(counts[0, :, 0])]


def read_removals(path: str | Path) -> Removals:
    """Read a table of `removal.remove_heads`.

    Raises:
        AtlasError: it cannot be used.
    """
    table = read_parquet(path, [*_SET, *ANSWERS])
    sets = table[_SET].drop_duplicates(ignore_index=True)
    number = table[_SET].merge(sets.assign(number=range(len(sets))), on=_SET, how="left")["number"].to_numpy()
    documents = pd.MultiIndex.from_frame(table[["split", "record"]])
    column, distinct = pd.factorize(documents)
    counts = {}
    for metric, count in _COUNTS.items():
        values = np.full((len(sets), len(distinct), 3), np.nan)
        cached_count = cache(count)
        values[number, column] = [cached_count(*pair) for pair in zip(table["answer"], table["expected"], strict=True)]
        counts[metric] = values
    return Removals(sets, counts)


def removal_tables(
    files: Mapping[str, str | Path],
    resamples: int,
    seed: int,
    fine_tuning_out: str | Path,
    ablation_out: str | Path,
    cumulative_out: str | Path,
) -> None:
    """Write the tables.

    Args:
        files: seed -> table of `removal.remove_heads`.
        resamples, seed: of the bootstrap over documents.
        fine_tuning_out: `FINE_TUNING`, scores of the whole and the pruned taggers, and with all heads removed.
        ablation_out: `ABLATION`, scores with each head removed.
        cumulative_out: `CUMULATIVE`, scores with heads removed cumulatively.

    Raises:
        AtlasError: a table cannot be used, or the taggers were evaluated on different documents.
    """
    by_seed = {name: read_removals(path) for name, path in files.items()}
    first = next(iter(by_seed.values()))
    for name, removals in by_seed.items():
        if removals.counts[TOKEN].shape[1] != first.counts[TOKEN].shape[1]:
            raise AtlasError(
                f"{files[name]}: this tagger was evaluated on other documents than the first: build the run again."
            )
    write_table(fine_tuning_rows(by_seed, resamples, seed), fine_tuning_out)
    write_table(ablation_rows(by_seed, resamples, seed), ablation_out)
    write_table(cumulative_rows(by_seed), cumulative_out)


def best_count(removals: Removals, order: str, split: str) -> int:
    """The number of heads removed in an order where token F1 on a split is best; the smallest one if several tie."""
    places = removals.places(order=order, draw=0, split=split)
    scores = percent(removals.parts(TOKEN, places))
    return int(removals.sets["count"].to_numpy()[places[scores.argmax()]])


def fine_tuning_rows(by_seed: Mapping[str, Removals], resamples: int, seed: int) -> pd.DataFrame:
    """One row for each seed (and their mean), model, split and metric; columns `FINE_TUNING`.

    delta: score minus that of the whole tagger; delta_low, delta_high: 95 % interval by the paired permutation test over
    documents (`simultaneous_interval`); a bootstrap over few documents is too narrow.
    """
    rows = []
    for metric in METRICS:
        for (model, split), by_tagger in _tagger_parts(by_seed, metric).items():
            scores = np.array([percent(parts) for _, parts in by_tagger])
            resampled = np.array([resampled_percent(parts, resamples, seed) for _, parts in by_tagger])
            exchanged = np.array([_exchanged(parts, resamples, seed)[0] for _, parts in by_tagger])
            counts = [count for count, _ in by_tagger]
            means = tuple(values.mean(axis=0) for values in (scores, resampled, exchanged))
            of_seeds: list[tuple[str, float, Floats, Floats, Floats]] = [
                *zip(by_seed, counts, scores, resampled, exchanged, strict=True),
                (MEAN, float(np.mean(counts)), *means),
            ]
            for name, heads_removed, score, samples, null in of_seeds:
                low, high = percentile_interval(samples[:, 1])
                delta = score[1:] - score[0]
                delta_low, delta_high = simultaneous_interval(delta, null[None])
                values = (score[1], low, high, delta[0], delta_low[0], delta_high[0])
                documents = by_tagger[0][1].shape[1]
                rows.append([name, model, split, heads_removed, metric, *map(float, values), documents])
    return pd.DataFrame(rows, columns=FINE_TUNING)


def _tagger_parts(by_seed: Mapping[str, Removals], metric: str) -> dict[tuple[str, str], list[tuple[int, Floats]]]:
    """(model, split) -> for each seed the heads removed, and the counts [2, document, 3] of the whole and of this model."""
    by_model: dict[tuple[str, str], list[tuple[int, Floats]]] = {}
    for removals in by_seed.values():
        stops = {
            PRUNED: (WORST, best_count(removals, WORST, DEVELOPMENT)),
            PRUNED_ON_TEST: (OPTIMISTIC, best_count(removals, OPTIMISTIC, TEST)),
        }
        for split in SPLITS:
            whole = removals.places(order=ONE, split=split, count=0)[0]
            by_model.setdefault((WHOLE, split), []).append((0, removals.parts(metric, [whole, whole])))
            for model, (order, count) in stops.items():
                if model == PRUNED or split == TEST:
                    place = removals.places(order=order, draw=0, split=split, count=count)[0]
                    by_model.setdefault((model, split), []).append((count, removals.parts(metric, [whole, place])))
            # The last set of any order has all heads.
            of_order = removals.places(order=WORST, draw=0, split=split)
            counts = removals.sets["count"].to_numpy()[of_order]
            all_heads = of_order[counts.argmax()]
            parts = removals.parts(metric, [whole, all_heads])
            by_model.setdefault((WITHOUT_HEADS, split), []).append((int(counts.max()), parts))
    return by_model


def ablation_rows(by_seed: Mapping[str, Removals], resamples: int, seed: int) -> pd.DataFrame:
    """One row for each seed (and their mean), split, head and metric; columns `ABLATION`.

    p: paired permutation test, two-sided: the answers before and after the removal are exchanged at random, document by
    document. p_adjusted: adjusted for all heads of a seed, split and metric by the maximum statistic of the same exchanges
    (`simultaneous.adjusted_p`). A bootstrap over few documents rejects too often. adjusted_low, adjusted_high: 95 % intervals
    of delta, simultaneous for all these heads, by the same exchanges.
    """
    frames = []
    for split in (TEST, DEVELOPMENT):
        for metric in METRICS:
            scores, resampled, exchanged = [], [], []
            for removals in by_seed.values():
                places = removals.places(order=ONE, split=split)
                parts = removals.parts(metric, places)
                scores.append(percent(parts))
                resampled.append(resampled_percent(parts, resamples, seed))
                exchanged.append(_exchanged(parts, resamples, seed))
            heads = removals.sets.loc[places[1:], ["layer", "head"]].reset_index(drop=True)
            means = (MEAN, np.mean(scores, axis=0), np.mean(resampled, axis=0), np.mean(exchanged, axis=0))
            for name, score, samples, null in [*zip(by_seed, scores, resampled, exchanged, strict=True), means]:
                low, high = percentile_interval(samples[:, 1:] - samples[:, :1])
                delta = score[1:] - score[0]
                columns = {"baseline": score[0], "value": score[1:], "delta": delta, "ci_low": low, "ci_high": high}
                tests = {"p": two_sided_p(delta, null), "p_adjusted": adjusted_p(delta, null), "documents": parts.shape[1]}
                tests |= dict(zip(("adjusted_low", "adjusted_high"), simultaneous_interval(delta, null), strict=True))
                frames.append(heads.assign(seed=name, split=split, metric=metric, **columns, **tests)[ABLATION])
    return pd.concat(frames, ignore_index=True)


def _exchanged(parts: Floats, draws: int, seed: int) -> Floats:
    """[set, draw] differences of F1 from the first set after random exchanges of documents, for counts [set, document, 3]."""
    return exchanged_differences(_percent_of_sums, parts[0], parts[1:], draws, seed)


def _percent_of_sums(sums: Floats) -> Floats:
    return 100 * f1_of(sums)


def cumulative_rows(by_seed: Mapping[str, Removals]) -> pd.DataFrame:
    """One row for each seed, order, draw, split, step and metric; columns `CUMULATIVE`."""
    frames = []
    for name, removals in by_seed.items():
        for split in SPLITS:
            cumulative = (removals.sets["order"] != ONE) & (removals.sets["split"] == split)
            places = np.flatnonzero(cumulative.to_numpy())
            keys = removals.sets.loc[places, ["order", "draw", "split", "percent"]].reset_index(drop=True)
            keys["heads_removed"] = removals.sets["count"].to_numpy()[places]
            for metric in METRICS:
                parts = removals.parts(metric, places)
                frames.append(keys.assign(seed=name, metric=metric, value=percent(parts), documents=parts.shape[1])[CUMULATIVE])
    return pd.concat(frames, ignore_index=True)
