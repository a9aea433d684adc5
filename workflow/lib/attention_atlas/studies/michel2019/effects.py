"""Change in score under masks, with intervals and tests over examples, from per-example terms of the metric.

Scores are in percent, differences in percentage points or BLEU points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import HEAD, NONE, TRANSLATION
from attention_atlas.stats.intervals import expanded_level, percentile_interval, resampled_counts
from attention_atlas.stats.levels import LEVEL as COVERAGE
from attention_atlas.stats.significance import mcnemar
from attention_atlas.stats.simultaneous import adjusted_p, count_p, exchanged_differences, two_sided_p

Floats = npt.NDArray[np.float64]
Row = dict[str, object]
BLEU, ACCURACY = "BLEU", "accuracy"
UNITS = {BLEU: "sentences", ACCURACY: "examples"}
LEVEL = 0.01
"""The paper's significance level."""
UNCHANGED = 1e-9
"""Differences of scores below this are rounding."""
OVERLONG = 1.5
"""A translation is overlong if it has more than this times the words of its reference (sacrebleu's 13a tokens)."""
ENOUGH_SENTENCES = 40
"""Number of sentences above which the bootstrap of BLEU holds its level in simulations."""
IMPORTANCE, RECOMPUTED, ABLATION, HELDOUT, RANDOM = "importance", "recomputed", "ablation", "ablation_heldout", "random"
"""Orders of pruning."""
WHOLE, GLOBAL = "whole", "importance"
VARIANTS = {WHOLE: "full model", GLOBAL: "least important heads pruned"}
"""Models of Table 4."""
LARGEST_SPREAD = 10.0
"""Largest percentage by which the full model's slowest pass may exceed its fastest; above it Table 4 reports no speedup."""
KERNEL = "sdpa"
"""Attention of Table 4: the implementation that `transformers` uses by default, not the one that returns attention weights."""

_EFFECT = [*HEAD, "metric", "score", "baseline", "delta", "ci_low", "ci_high", "p", "p_sacrebleu", "p_adjusted"]
TABLE1 = [*_EFFECT, "p_count", "n", "unit"]
BEST = [*_EFFECT, "n", "heldout_delta", "unit", "distinct_answers"]
FURTHER = [*_EFFECT, "n", "selection_delta", "selection_n", "unit"]
STATISTICS = ["statistic", "experiment", "part", "value", "ci_low", "ci_high", "level", "n"]
"""Columns of the statistics of claims. part: kind of attention, percent of heads, or definition; level: coverage of the
interval; n: examples, or random orders."""


@dataclass(frozen=True)
class MaskedScores:
    """Per-example terms of a metric under each mask; the score is a function of their sums."""

    metric: str
    keys: pd.DataFrame  # one row per mask, the columns that name it
    base: Floats  # [example, part] terms without a mask
    parts: Floats  # [mask, example, part]: counts of n-grams and lengths (`sentence_counts`); or whether it is right, and 1

    def score(self, sums: Floats) -> Floats:
        """Scores in percent of summed parts, [..., part] -> [...]."""
        return bleu(sums) if self.metric == BLEU else 100 * sums[..., 0] / sums[..., 1]

    def masking(self, masked: str) -> MaskedScores:
        """The masks of one head (`importance.ONE`), or of all heads of a layer but one (`importance.OTHERS`)."""
        return self.only((self.keys["masked"] == masked).to_numpy())

    def only(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> MaskedScores:
        """Some of the masks, by a boolean array or by their indices."""
        return replace(self, keys=self.keys.iloc[chosen].reset_index(drop=True), parts=self.parts[chosen])

    def of_examples(self, chosen: npt.NDArray[np.bool_]) -> MaskedScores:
        """Some of the examples."""
        return replace(self, base=self.base[chosen], parts=self.parts[:, chosen])

    @property
    def overlong(self) -> tuple[float, Floats]:
        """Number of overlong translations of the full model, and [mask] under each mask; NaN for a classifier.

        A translation that repeats itself up to the limit of the search (`models.translating`) lowers BLEU.
        """
        if self.metric != BLEU:
            return np.nan, np.full(len(self.keys), np.nan)
        base, masked = ((terms[..., -2] > OVERLONG * terms[..., -1]).sum(axis=-1) for terms in (self.base, self.parts))
        return float(base), np.asarray(masked, dtype=np.float64)

    @property
    def baseline(self) -> float:
        """Score without a mask."""
        return float(self.score(self.base.sum(axis=0)))

    @property
    def deltas(self) -> Floats:
        """[mask] score under the mask minus that without."""
        return self.score(self.parts.sum(axis=1)) - self.baseline

    @property
    def unit(self) -> str:
        """What is resampled and exchanged."""
        return UNITS[self.metric]


def masked_scores(answers: pd.DataFrame, keys: Sequence[str], experiment: str) -> MaskedScores:
    """Per-example terms of BLEU (translation) or accuracy for every mask, the unmasked model included.

    answers: columns `keys`, which name the mask, and `names.ANSWERS`; the same examples in the same order for each mask.
    """
    if answers.groupby(list(keys)).size().nunique() != 1:
        raise AtlasError(f"the answers of {experiment} lack examples under some masks: delete their table and start again.")
    masks = answers[list(keys)].drop_duplicates(ignore_index=True)
    if experiment == TRANSLATION:
        # Most masks change few translations: n-grams are counted once per distinct pair of texts.
        texts = pd.MultiIndex.from_frame(answers[["answer", "expected"]])
        distinct = texts.unique()
        counts = sentence_counts(distinct.get_level_values("answer"), distinct.get_level_values("expected"))
        parts = counts[distinct.get_indexer(texts)]
    else:
        right = (answers["answer"] == answers["expected"]).to_numpy(np.float64)
        parts = np.stack([right, np.ones_like(right)], axis=1)
    by_mask = parts.reshape(len(masks), -1, parts.shape[1])
    unmasked = (masks["count"] == 0 if "count" in masks else masks["masked"] == NONE).to_numpy()
    return MaskedScores(BLEU if experiment == TRANSLATION else ACCURACY, masks, by_mask[unmasked][0], by_mask)


def resampled_scores(masked: MaskedScores, resamples: int, seed: int) -> Floats:
    """[resample, mask] score under each mask, over bootstrap resamples of examples."""
    drawn = resampled_counts(len(masked.base), resamples, seed)
    return np.concatenate([masked.score(np.einsum("re,mep->rmp", counts, masked.parts, optimize=True)) for counts in drawn])


def resampled_deltas(masked: MaskedScores, resamples: int, seed: int) -> Floats:
    """[resample, mask] score under each mask minus that without, over the same resamples."""
    drawn = resampled_counts(len(masked.base), resamples, seed)
    unmasked = np.concatenate([masked.score(counts @ masked.base) for counts in drawn])
    return resampled_scores(masked, resamples, seed) - unmasked[:, None]


def with_opposite_examples(masked: MaskedScores) -> MaskedScores:
    """The examples and two more: one that only the full model gets right, and one that only the full model gets wrong.

    Where few examples change, a bootstrap that has not seen a loss would exclude it. Two such examples give the interval of
    Bonett and Price (2012, Adjusted Wald confidence interval for a difference of binomial proportions based on paired data)
    instead of one of zero width. For BLEU, right is a translation with the mean counts of the full model, wrong one without a
    match.
    """
    if masked.metric == ACCURACY:
        right, wrong = np.array([1.0, 1.0]), np.array([0.0, 1.0])
    else:
        right = masked.base.mean(axis=0)
        wrong = right * (np.arange(len(right)) >= (len(right) - 2) // 2)
    added = np.broadcast_to(np.stack([wrong, right]), (len(masked.parts), 2, len(right)))
    base = np.concatenate([masked.base, np.stack([right, wrong])])
    return replace(masked, base=base, parts=np.concatenate([masked.parts, added], axis=1))


def effect_rows(masked: MaskedScores, resamples: int, seed: int) -> pd.DataFrame:
    """One row per mask: its keys, and the columns of `TABLE1`.

    p: two-sided. BLEU: paired bootstrap (Koehn 2004), share of resamples whose difference minus the observed difference is at
    least as large as the observed difference; below `ENOUGH_SENTENCES` it rejects more often than its level says. Accuracy:
    McNemar's exact test.
    p_sacrebleu: BLEU only; sacrebleu's paired bootstrap, which takes absolute values before it centres and so rejects true null
    hypotheses about twice as often as its level says.
    p_adjusted: adjusted for all masks by the maximum statistic, from random exchanges of the answers with and without the mask.
    p_count: p that as many masks of this kind have p < `LEVEL` by chance, from the same exchanges.
    """
    delta = masked.deltas
    differences = resampled_deltas(masked, resamples, seed)
    low, high = percentile_interval(differences)
    null = exchanged_differences(masked.score, masked.base, masked.parts, resamples, seed)
    if masked.metric == ACCURACY:
        p, p_sacrebleu = mcnemar(masked.base[:, 0] > 0, masked.parts[:, :, 0] > 0), np.nan
    else:
        p = two_sided_p(delta, (differences - delta).T)
        sizes = np.abs(differences)
        # sacrebleu counts strictly larger differences: a head that changes no translation would get the smallest possible p.
        at_least = (sizes - sizes.mean(axis=0) >= np.abs(delta) - 1e-12).sum(axis=0)
        p_sacrebleu = (at_least + 1) / (resamples + 1)
    p_count = np.empty(len(p))
    for places in masked.keys.groupby("kind").indices.values():
        p_count[places] = count_p(int((p[places] < LEVEL).sum()), delta[places], null[places], LEVEL)
    scores = {"score": masked.baseline + delta, "baseline": masked.baseline, "delta": delta, "ci_low": low, "ci_high": high}
    tests = {"p": p, "p_sacrebleu": p_sacrebleu, "p_adjusted": np.maximum(p, adjusted_p(delta, null)), "p_count": p_count}
    return masked.keys.assign(metric=masked.metric, **scores, **tests, n=len(masked.base), unit=masked.unit)


def best_of_layers(masked: MaskedScores) -> npt.NDArray[np.intp]:
    """[layer] index of the best mask of each kind and layer; the first one if several tie."""
    deltas = masked.keys.assign(delta=masked.deltas).groupby(["kind", "layer"], sort=False)["delta"]
    return deltas.idxmax().to_numpy()


def best_on_other_half(masked: MaskedScores) -> list[MaskedScores]:
    """For each half of the examples the masks of `best_of_layers` on it, with their scores on the other half."""
    even = np.arange(len(masked.base)) % 2 == 0
    return [masked.of_examples(~half).only(best_of_layers(masked.of_examples(half))) for half in (even, ~even)]


def best_by_layer(masked: MaskedScores, resamples: int, seed: int) -> pd.DataFrame:
    """For each kind and layer the mask with the best score: its row of `effect_rows`, and heldout_delta.

    heldout_delta: the head is selected on one half of the examples and measured on the other; mean of both directions. The
    paper selects and reports on the same examples. p_adjusted is adjusted for all masks, those of other heads included.
    """
    best = effect_rows(masked, resamples, seed).loc[best_of_layers(masked)].reset_index(drop=True)
    return best.assign(heldout_delta=np.mean([heads.deltas for heads in best_on_other_half(masked)], axis=0))


def heldout_effects(selection: MaskedScores, measured: MaskedScores, resamples: int, seed: int) -> pd.DataFrame:
    """One row for each kind and layer, columns `FURTHER`: the head is selected on one corpus and measured on another.

    selection_delta, selection_n: the difference on the corpus that the head is selected on, and its examples. `measured` has
    the masks of the selected heads at least.
    """
    best = selection.only(best_of_layers(selection))
    heads, best_heads = (pd.MultiIndex.from_frame(scores.keys[HEAD]) for scores in (measured, best))
    rows = effect_rows(measured.only(heads.get_indexer(best_heads)), resamples, seed)
    return rows.assign(selection_delta=best.deltas, selection_n=len(best.base))[FURTHER]


Resamples = Floats | tuple[float, float]
"""Values of resampled examples, or the ends of an interval."""


def statistic_row(
    statistic: str, experiment: str, part: object, value: object, resampled: Resamples, n: int, level: float = COVERAGE
) -> Row:
    """A row with the percentile interval of values of resampled examples, widened for few examples, or with the given ends."""
    low, high = resampled if isinstance(resampled, tuple) else percentile_interval(resampled, expanded_level(level, n))
    return dict(zip(STATISTICS, (statistic, experiment, part, value, low, high, level, n), strict=True))


def statistics_table(rows: Iterable[Row]) -> pd.DataFrame:
    """A table with columns `STATISTICS`."""
    return pd.DataFrame(list(rows), columns=STATISTICS).astype(dict.fromkeys(("value", "ci_low", "ci_high", "level"), float))


def signature() -> str:
    """sacrebleu's signature of these settings, with its version."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU()
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


def sentence_counts(translations: Sequence[str], references: Sequence[str]) -> Floats:
    """[sentence, 10]: matches and totals of n-grams up to four words, length of the translation, length of the reference."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    scores = [metric.sentence_score(text, [reference]) for text, reference in zip(translations, references, strict=True)]
    rows = [[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores]
    return np.asarray(rows, dtype=np.float64).reshape(len(scores), 10)


def bleu(counts: npt.ArrayLike) -> Floats:
    """BLEU of summed counts, [..., 10] -> [...], by sacrebleu's formula with exponential smoothing (Post 2018)."""
    sums = np.asarray(counts, dtype=np.float64)
    matches, total, length, reference_length = sums[..., :4], sums[..., 4:8], sums[..., 8], sums[..., 9]
    # Exponential smoothing: each further order without a match counts half of the one before it.
    missing = np.cumsum((matches == 0) & (total > 0), axis=-1)
    smoothed = np.where(matches == 0, 0.5**missing, matches)
    logs = np.log(smoothed, where=smoothed > 0, out=np.zeros_like(smoothed)) - np.log(np.maximum(total, 1))
    brevity = np.minimum(0.0, 1 - reference_length / np.maximum(length, 1e-12))
    scores = 100 * np.exp(brevity + logs.mean(axis=-1))
    return np.where((total > 0).all(axis=-1) & (matches > 0).any(axis=-1), scores, 0.0)
