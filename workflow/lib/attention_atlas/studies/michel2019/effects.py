"""Changes in score under masks: differences, intervals and tests over examples, from per-example terms of the metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.errors import DamagedFile
from attention_atlas.io.tables import read_parquet
from attention_atlas.methods.names import ANSWERS, KEYS, NONE, OTHERS, TRANSLATION
from attention_atlas.stats.bootstrap import percentile_interval, resampled_counts
from attention_atlas.stats.paired_tests import mcnemar
from attention_atlas.stats.simultaneous import (
    adjusted_p,
    corrected_p,
    count_p,
    exchanged_differences,
    two_sided_p,
)
from attention_atlas.studies.michel2019.bleu import bleu, sentence_counts
from attention_atlas.studies.michel2019.names import LEVEL

Floats = npt.NDArray[np.float64]
BLEU, ACCURACY = "BLEU", "accuracy"
ENOUGH_SENTENCES = 40
"""Number of sentences above which the bootstrap of BLEU holds its level in simulations."""
TESTS = ["p", "p_sacrebleu", "p_adjusted"]
"""Tests of a mask, see `effect_rows`."""


@dataclass(frozen=True)
class MaskedScores:
    """Per-example terms of a metric under each mask; the score is a function of their sums.

    Attributes:
        metric: `BLEU` or `ACCURACY`.
        keys: one row per mask, the columns that name it.
        base: [example, part] terms without a mask.
        parts: [mask, example, part] terms: counts of n-grams and lengths; or whether the answer is right, and 1.
    """

    metric: str
    keys: pd.DataFrame
    base: Floats
    parts: Floats

    def score(self, sums: Floats) -> Floats:
        """Scores in percent of summed parts, [..., part] -> [...]."""
        if self.metric == BLEU:
            return bleu(sums)
        return 100 * sums[..., 0] / sums[..., 1]

    def only(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> MaskedScores:
        """Some of the masks, by a boolean array or by their indices."""
        return MaskedScores(self.metric, self.keys.iloc[chosen].reset_index(drop=True), self.base, self.parts[chosen])

    def of_examples(self, chosen: npt.NDArray[np.bool_]) -> MaskedScores:
        """Some of the examples."""
        return MaskedScores(self.metric, self.keys, self.base[chosen], self.parts[:, chosen])

    @property
    def baseline(self) -> float:
        """Score without a mask."""
        return float(self.score(self.base.sum(axis=0)))

    @property
    def deltas(self) -> Floats:
        """[mask] score under the mask minus that without."""
        return self.score(self.parts.sum(axis=1)) - self.baseline


def read_answers(path: str | Path, keys: Sequence[str], experiment: str) -> MaskedScores:
    """Per-example terms of the score for every value of the keys, the unmasked model included.

    Args:
        path: table of answers: columns `keys` and `masked_answers.ANSWERS`, the same examples in the same order for each key.
        keys: columns that name the masked heads.
        experiment: `names.TRANSLATION` (scored by BLEU) or `names.CLASSIFICATION` (accuracy).

    Raises:
        AtlasError: the table cannot be used.
    """
    frame = read_parquet(path, [*keys, *ANSWERS])
    sizes = frame.groupby(list(keys)).size()
    if sizes.nunique() != 1:
        raise DamagedFile(path, "this table does not have every example under every mask")
    return masked_terms(frame, keys, experiment)


def distinct_answers(path: str | Path) -> int:
    """Number of distinct answers of the full model, from a table of `masked_answers`.

    Raises:
        AtlasError: the table cannot be used.
    """
    return int(read_parquet(path, ["answer"], {"masked": NONE})["answer"].nunique())


def masked_terms(frame: pd.DataFrame, keys: Sequence[str], experiment: str) -> MaskedScores:
    """Per-example terms of a table in memory, see `read_answers`."""
    masks = frame[list(keys)].drop_duplicates(ignore_index=True)
    parts = _translations(frame) if experiment == TRANSLATION else _classes(frame)
    wide = parts.reshape(len(masks), -1, parts.shape[1])
    metric = BLEU if experiment == TRANSLATION else ACCURACY
    unmasked = (masks["count"] == 0 if "count" in masks else masks["masked"] == NONE).to_numpy()
    return MaskedScores(metric, masks, wide[unmasked][0], wide)


def _translations(frame: pd.DataFrame) -> Floats:
    # Most masks change few translations: n-grams are counted once per distinct pair of texts.
    distinct = frame[["answer", "expected"]].drop_duplicates()
    counts = sentence_counts(distinct["answer"].tolist(), distinct["expected"].tolist())
    texts = pd.MultiIndex.from_frame(distinct)
    return counts[texts.get_indexer(pd.MultiIndex.from_frame(frame[["answer", "expected"]]))]


def _classes(frame: pd.DataFrame) -> Floats:
    right = (frame["answer"] == frame["expected"]).to_numpy(np.float64)
    return np.stack([right, np.ones_like(right)], axis=1)


def resampled_deltas(masked: MaskedScores, resamples: int, seed: int) -> Floats:
    """[resample, mask] score under each mask minus that without, over bootstrap resamples of examples."""
    drawn = resampled_counts(len(masked.base), resamples, seed)
    return np.concatenate([_scores(masked, counts) - masked.score(counts @ masked.base)[:, None] for counts in drawn])


def resampled_scores(masked: MaskedScores, resamples: int, seed: int) -> Floats:
    """[resample, mask] score under each mask, over bootstrap resamples of examples."""
    drawn = resampled_counts(len(masked.base), resamples, seed)
    return np.concatenate([_scores(masked, counts) for counts in drawn])


def _scores(masked: MaskedScores, counts: Floats) -> Floats:
    return masked.score(np.einsum("re,mep->rmp", counts, masked.parts, optimize=True))


def effect_rows(masked: MaskedScores, resamples: int, seed: int) -> pd.DataFrame:
    """One row per mask: its keys, metric, score, baseline, delta, ci_low, ci_high, `TESTS`, p_count, n and unit.

    p: two-sided. BLEU: paired bootstrap (Koehn 2004), share of resamples whose difference minus the observed difference is at
    least as large as the observed difference; below `ENOUGH_SENTENCES` it rejects more often than its level says. Accuracy:
    McNemar's exact test.
    p_sacrebleu: BLEU only; sacrebleu's paired bootstrap, which takes absolute values before it centres and so rejects true null
    hypotheses about twice as often as its level says.
    p_adjusted: adjusted for all masks by the maximum statistic (`simultaneous.adjusted_p`), from random exchanges of the
    answers with and without the mask; at least p.
    p_bh: p corrected by Benjamini and Hochberg over all masks, empty with too few resamples
    (`simultaneous.corrected_p`).
    p_count: p that as many masks of this kind have p < `LEVEL` by chance, from the same exchanges (`simultaneous.count_p`).
    unit: what is resampled and exchanged (`unit_of`).

    Args:
        masked: per-example terms under each mask.
        resamples: of the bootstrap over examples, for intervals and p; and exchanges.
        seed: of both.
    """
    delta = masked.deltas
    differences = resampled_deltas(masked, resamples, seed)
    low, high = percentile_interval(differences)
    null = exchanged_differences(masked.score, masked.base, masked.parts, resamples, seed)
    if masked.metric == ACCURACY:
        p, smallest = mcnemar(masked.base[:, 0] > 0, masked.parts[:, :, 0] > 0), 0.0
        p_sacrebleu = np.full(len(p), np.nan)
    else:
        p, smallest = two_sided_p(delta, (differences - delta).T), 1 / (1 + resamples)
        p_sacrebleu = _uncentred_bootstrap(differences, delta)
    columns = {"metric": masked.metric, "score": masked.baseline + delta, "baseline": masked.baseline, "delta": delta}
    tests = {
        "p": p,
        "p_sacrebleu": p_sacrebleu,
        "p_adjusted": np.maximum(p, adjusted_p(delta, null)),
        "p_bh": corrected_p(p, "bh", smallest, LEVEL),
        "p_count": _count_p(masked.keys["kind"], p, delta, null),
    }
    return masked.keys.assign(**columns, ci_low=low, ci_high=high, **tests, n=len(masked.base), unit=unit_of(masked.metric))


def unit_of(metric: str) -> str:
    """What the examples of an experiment are: sentences with BLEU, else examples."""
    return "sentences" if metric == BLEU else "examples"


def units_note(metric: str) -> str:
    """A sentence that says what intervals and tests resample."""
    return f"Intervals and tests resample {unit_of(metric)}: the corpus names no documents."


def few_sentences(metric: str, n: int) -> list[str]:
    """A sentence of warning where BLEU's bootstrap has fewer than `ENOUGH_SENTENCES`."""
    if metric != BLEU or n >= ENOUGH_SENTENCES:
        return []
    return [f"n = {n} sentences: below about {ENOUGH_SENTENCES} the bootstrap of BLEU rejects more often than its level says."]


def _uncentred_bootstrap(differences: Floats, delta: Floats) -> Floats:
    """[mask] p by the formula of `sacrebleu.significance`."""
    sizes = np.abs(differences)
    # sacrebleu counts strictly larger differences: a head that changes no translation would get the smallest possible p.
    at_least = (sizes - sizes.mean(axis=0) >= np.abs(delta) - 1e-12).sum(axis=0)
    return (at_least + 1) / (len(differences) + 1)


def _count_p(kind: pd.Series, p: Floats, delta: Floats, null: Floats) -> Floats:
    """[mask] p of the number of significant masks among those of the same kind."""
    counts = np.empty(len(p))
    for name in kind.unique():
        chosen = (kind == name).to_numpy()
        counts[chosen] = count_p(int((p[chosen] < LEVEL).sum()), delta[chosen], null[chosen], LEVEL)
    return counts


def best_by_layer(masked: MaskedScores, resamples: int, seed: int) -> pd.DataFrame:
    """For each kind and layer the mask with the best score: its row of `effect_rows`, and heldout_delta.

    heldout_delta: the head is selected on one half of the examples and measured on the other; mean of both directions. The
    paper selects and reports on the same examples. p_adjusted is adjusted for all masks, those of other heads included. p_bh is
    left out: the returned masks are selected, so they are not a family of tests.
    """
    rows = effect_rows(masked, resamples, seed)
    groups = rows.groupby(["kind", "layer"], sort=False)
    heldout_deltas = np.mean([measured.only(chosen).deltas for chosen, measured in chosen_by_layer(masked)], axis=0)
    best = rows.loc[groups["delta"].idxmax()].assign(heldout_delta=heldout_deltas)
    return best.drop(columns="p_bh").reset_index(drop=True)


def chosen_by_layer(masked: MaskedScores) -> list[tuple[npt.NDArray[np.intp], MaskedScores]]:
    """For each half of the examples the best mask of each kind and layer on it, [layer] places, and the other half."""
    even = np.arange(len(masked.base)) % 2 == 0
    groups = [rows.index.to_numpy() for _, rows in masked.keys.groupby(["kind", "layer"], sort=False)]
    chosen = []
    for half in (even, ~even):
        deltas = masked.of_examples(half).deltas
        places = np.array([places[deltas[places].argmax()] for places in groups])
        chosen.append((places, masked.of_examples(~half)))
    return chosen


def one_head_left(path: str | Path, experiment: str) -> MaskedScores:
    """Scores with one head kept in a layer, from a table of answers.

    Raises:
        AtlasError: the table cannot be used.
    """
    masked = read_answers(path, KEYS, experiment)
    return masked.only((masked.keys["masked"] == OTHERS).to_numpy())


def best_heads(one_left: MaskedScores) -> list[tuple[str, int, int]]:
    """(kind, layer, head) of the best head of each layer; the first one if several tie."""
    deltas, keys = one_left.deltas, one_left.keys
    groups = (rows.index.to_numpy() for _, rows in keys.groupby(["kind", "layer"], sort=False))
    best = keys.iloc[[places[np.argmax(deltas[places])] for places in groups]]
    return [(str(row.kind), int(row.layer), int(row.head)) for row in best.itertuples()]
