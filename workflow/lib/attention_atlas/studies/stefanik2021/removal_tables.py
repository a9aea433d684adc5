"""Tables of the fine-tuned taggers: whole and pruned scores, each head removed, heads removed one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.multitest import multipletests

from attention_atlas.errors import AtlasError
from attention_atlas.io.html_tables import write_html_table
from attention_atlas.io.setting import Setting
from attention_atlas.io.tables import read_parquet, write_table
from attention_atlas.methods.names import ANSWERS
from attention_atlas.stats.bootstrap import percentile_interval
from attention_atlas.studies.stefanik2021.names import (
    DEVELOPMENT,
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
    WORST,
)
from attention_atlas.studies.stefanik2021.phrases import percent, phrase_counts, resampled_percent, token_counts

Floats = npt.NDArray[np.float64]
FINE_TUNING = [
    "seed", "model", "split", "heads_removed", "metric", "value", "ci_low", "ci_high", "delta", "delta_low", "delta_high",
    "documents",
]  # fmt: skip
ABLATION = [
    "seed", "split", "layer", "head", "metric", "baseline", "value", "delta", "ci_low", "ci_high", "p", "p_holm", "documents",
]  # fmt: skip
CUMULATIVE = ["seed", "order", "draw", "split", "percent", "heads_removed", "metric", "value", "documents"]
_COUNTS: Mapping[str, Callable[[str, str], tuple[int, int, int]]] = {TOKEN: token_counts, PHRASE: phrase_counts}
_SET = [*REMOVED, "layer", "head"]


@dataclass(frozen=True)
class Removals:
    """The answers of one tagger.

    Attributes:
        sets: a row a set of removed heads: `REMOVED`, layer, head.
        counts: metric -> [set, document, 3] right, answered and expected, of the documents of the set's split; NaN elsewhere.
    """

    sets: pd.DataFrame
    counts: Mapping[str, Floats]

    def places(self, **wanted: object) -> npt.NDArray[np.intp]:
        """Rows of `sets` with these values, in their order."""
        found = np.ones(len(self.sets), dtype=bool)
        for name, value in wanted.items():
            found &= (self.sets[name] == value).to_numpy()
        return np.flatnonzero(found)

    def parts(self, metric: str, places: npt.ArrayLike) -> Floats:
        """[set, document, 3] of sets of one split."""
        own = self.counts[metric][np.asarray(places)]
        return own[:, ~np.isnan(own[0, :, 0])]


def read_removals(path: str | Path) -> Removals:
    """Read a table of `removal.remove_heads`.

    Raises:
        AtlasError: it cannot be used.
    """
    table = read_parquet(path, [*_SET, *ANSWERS])
    sets = table[_SET].drop_duplicates(ignore_index=True)
    number = table[_SET].merge(sets.assign(number=range(len(sets))), on=_SET, how="left")["number"].to_numpy()
    documents = pd.MultiIndex.from_frame(table[["split", "record"]])
    column, known = pd.factorize(documents)
    counts = {}
    for metric, count in _COUNTS.items():
        found = np.full((len(sets), len(known), 3), np.nan)
        counted = cache(count)
        found[number, column] = [counted(*pair) for pair in zip(table["answer"], table["expected"], strict=True)]
        counts[metric] = found
    return Removals(sets, counts)


def removal_tables(
    files: Mapping[str, str | Path],
    setting: Setting,
    resamples: int,
    seed: int,
    fine_tuning_out: str | Path,
    fine_tuning_html: str | Path,
    ablation_out: str | Path,
    ablation_html: str | Path,
    cumulative_out: str | Path,
    cumulative_html: str | Path,
) -> None:
    """Write fine_tuning.tsv, ablation.tsv and cumulative_ablation.tsv with their pages.

    Args:
        files: seed -> table of `removal.remove_heads`.
        setting: model and test documents.
        resamples, seed: of the bootstrap over documents.
        fine_tuning_out, fine_tuning_html: scores of the whole and the pruned taggers.
        ablation_out, ablation_html: scores with each head removed.
        cumulative_out, cumulative_html: scores with heads removed one after the other.

    Raises:
        AtlasError: a table cannot be used, or taggers were asked about other documents.
    """
    by_seed = {name: read_removals(path) for name, path in files.items()}
    first = next(iter(by_seed.values()))
    for name, own in by_seed.items():
        if own.counts[TOKEN].shape[1] != first.counts[TOKEN].shape[1]:
            raise AtlasError(f"{files[name]}: this tagger was asked about other documents than the first: build the run again.")
    fine_tuning = fine_tuning_rows(by_seed, resamples, seed)
    ablation = ablation_rows(by_seed, resamples, seed)
    cumulative = cumulative_rows(by_seed)
    write_table(fine_tuning, fine_tuning_out)
    write_table(ablation, ablation_out)
    write_table(cumulative, cumulative_out)
    shown = dict.fromkeys(("value", "ci_low", "ci_high", "baseline"), ".1f")
    shown |= dict.fromkeys(("delta", "delta_low", "delta_high"), "+.2f") | {"layer": "d", "head": "d"}
    notes = [
        setting.line,
        "Scores in percent. token F1: words of keyphrases, whether they begin one or not; phrase F1: both ends right "
        "(seqeval). Pruned: heads removed from the one whose removal helps most on development documents, as many as score "
        "best there; pruned on test: ranked, stopped and reported on the test documents, as in the slides, which is "
        "optimistic. Intervals by bootstrap over documents; the mean is over seeds.",
    ]
    write_html_table(fine_tuning, fine_tuning_html, "Štefánik: fine-tuned taggers, whole and pruned", notes, formats=shown)
    best = ablation[(ablation["seed"] == MEAN) & (ablation["split"] == TEST) & (ablation["metric"] == TOKEN)]
    notes = [
        setting.line,
        "Token F1 on test documents with one head removed, mean over seeds, largest gain first; all seeds, both scores and "
        "both sets of documents are in ablation.tsv. p: bootstrap over documents, two-sided; Holm over the heads.",
    ]
    order = best.sort_values("delta", ascending=False, kind="stable")
    write_html_table(order, ablation_html, "Štefánik: each head removed", notes, formats=shown)
    ends = cumulative[(cumulative["metric"] == TOKEN) & (cumulative["split"] == TEST)]
    means = ends.groupby(["order", "percent", "heads_removed"], sort=False, as_index=False)["value"].mean()
    notes = [setting.line, "Token F1 on test documents, in percent, mean over seeds (and over random orders)."]
    wide = means.pivot(index=["percent", "heads_removed"], columns="order", values="value").reset_index()
    write_html_table(
        wide,
        cumulative_html,
        "Štefánik: heads removed one after the other",
        notes,
        formats=dict.fromkeys(wide.columns[2:], ".1f") | {"heads_removed": "d", "percent": "d"},
    )


def best_count(removals: Removals, order: str, split: str) -> int:
    """How many heads of an order are gone where token F1 on a split is best; of equal ones the fewest."""
    places = removals.places(order=order, draw=0, split=split)
    scores = percent(removals.parts(TOKEN, places))
    return int(removals.sets["count"].to_numpy()[places[scores.argmax()]])


def fine_tuning_rows(by_seed: Mapping[str, Removals], resamples: int, seed: int) -> pd.DataFrame:
    """A row a seed (and their mean), model, split and metric; columns `FINE_TUNING`."""
    rows = []
    for metric in METRICS:
        kinds: dict[tuple[str, str], list[tuple[int, Floats]]] = {}
        for own in by_seed.values():
            chosen = {
                PRUNED: (WORST, best_count(own, WORST, DEVELOPMENT)),
                PRUNED_ON_TEST: (OPTIMISTIC, best_count(own, OPTIMISTIC, TEST)),
            }
            for split in SPLITS:
                whole = own.places(order=ONE, split=split, count=0)[0]
                kinds.setdefault((WHOLE, split), []).append((0, own.parts(metric, [whole, whole])))
                for model, (order, count) in chosen.items():
                    if model == PRUNED or split == TEST:
                        place = own.places(order=order, draw=0, split=split, count=count)[0]
                        kinds.setdefault((model, split), []).append((count, own.parts(metric, [whole, place])))
        for (model, split), found in kinds.items():
            scores = np.array([percent(parts) for _, parts in found])
            drawn = np.array([resampled_percent(parts, resamples, seed) for _, parts in found])
            counts = [count for count, _ in found]
            of_seeds = [*zip(by_seed, counts, scores, drawn, strict=True)]
            of_seeds.append((MEAN, np.mean(counts), scores.mean(axis=0), drawn.mean(axis=0)))
            for name, count, score, samples in of_seeds:
                low, high = percentile_interval(samples[:, 1])
                delta_low, delta_high = percentile_interval(samples[:, 1] - samples[:, 0])
                ends = (score[1], low, high, score[1] - score[0], delta_low, delta_high)
                rows.append([name, model, split, count, metric, *map(float, ends), found[0][1].shape[1]])
    return pd.DataFrame(rows, columns=FINE_TUNING)


def ablation_rows(by_seed: Mapping[str, Removals], resamples: int, seed: int) -> pd.DataFrame:
    """A row a seed (and their mean), split, head and metric; columns `ABLATION`.

    p: twice the share of resamples in which the difference has the other sign (or is none), at the most 1.
    """
    frames = []
    for split in (TEST, DEVELOPMENT):
        for metric in METRICS:
            scores, drawn = [], []
            for own in by_seed.values():
                places = own.places(order=ONE, split=split)
                parts = own.parts(metric, places)
                scores.append(percent(parts))
                drawn.append(resampled_percent(parts, resamples, seed))
            heads = own.sets.loc[places[1:], ["layer", "head"]].reset_index(drop=True)
            named = [*zip(by_seed, scores, drawn, strict=True), (MEAN, np.mean(scores, axis=0), np.mean(drawn, axis=0))]
            for name, score, samples in named:
                differences = samples[:, 1:] - samples[:, :1]
                low, high = percentile_interval(differences)
                p = _two_sided(differences)
                columns = {
                    "baseline": score[0],
                    "value": score[1:],
                    "delta": score[1:] - score[0],
                    "ci_low": low,
                    "ci_high": high,
                }
                tests = {"p": p, "p_holm": multipletests(p, method="holm")[1], "documents": parts.shape[1]}
                frames.append(heads.assign(seed=name, split=split, metric=metric, **columns, **tests)[ABLATION])
    return pd.concat(frames, ignore_index=True)


def _two_sided(differences: Floats) -> Floats:
    """[head] p that differences [resample, head] have one sign by chance."""
    below, above = (differences <= 0).sum(axis=0), (differences >= 0).sum(axis=0)
    return np.minimum(1.0, 2 * (np.minimum(below, above) + 1) / (len(differences) + 1))


def cumulative_rows(by_seed: Mapping[str, Removals]) -> pd.DataFrame:
    """A row a seed, order, draw, split, step and metric; columns `CUMULATIVE`."""
    frames = []
    for name, own in by_seed.items():
        for split in SPLITS:
            places = np.flatnonzero(((own.sets["order"] != ONE) & (own.sets["split"] == split)).to_numpy())
            keys = own.sets.loc[places, ["order", "draw", "split", "percent"]].reset_index(drop=True)
            keys["heads_removed"] = own.sets["count"].to_numpy()[places]
            for metric in METRICS:
                parts = own.parts(metric, places)
                frames.append(keys.assign(seed=name, metric=metric, value=percent(parts), documents=parts.shape[1])[CUMULATIVE])
    return pd.concat(frames, ignore_index=True)
