"""Change in score under masks, importance of heads and curves of pruning, and the statistics of the paper's claims.

Scores are in percent, differences in percentage points or BLEU points. Intervals are by bootstrap over examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from attention_atlas.errors import AtlasError
from attention_atlas.methods.head_measures import (
    ALL,
    CLASSIFICATION,
    CODE,
    DEFINITIONS,
    HEAD,
    KEYS,
    NONE,
    ONE,
    OTHERS,
    PAPER,
    PER_BATCH,
    SCRIPT,
    STEP,
    TRANSLATION,
)
from attention_atlas.methods.importance import Derivatives, HeadDerivatives, importance, normalised, unnormalised
from attention_atlas.stats.intervals import LEVEL as COVERAGE
from attention_atlas.stats.intervals import (
    Floats,
    expanded_level,
    level_of_parts,
    percentile_interval,
    predicted_difference,
    resampled_counts,
)
from attention_atlas.stats.ranks import pearson, spearman, weighted_pearson
from attention_atlas.stats.significance import mcnemar
from attention_atlas.stats.simultaneous import adjusted_p, count_p, exchanged_differences, simultaneous_largest, two_sided_p

Row = dict[str, object]
EXPERIMENTS = (TRANSLATION, CLASSIFICATION)
BLEU, ACCURACY = "BLEU", "accuracy"
METRICS = {TRANSLATION: BLEU, CLASSIFICATION: ACCURACY}
UNITS = {BLEU: "sentences", ACCURACY: "examples"}
"""What is resampled and exchanged."""
LEVEL = 0.01
"""The paper's significance level."""
UNCHANGED = 1e-9
"""Differences of scores below this are rounding."""
IMPORTANCE, RECOMPUTED, ABLATION, HELDOUT, RANDOM = "importance", "recomputed", "ablation", "ablation_heldout", "random"
WHOLE = "whole"
"""The full model in Table 4; the pruned one is `IMPORTANCE`."""
ANOTHER_CORPUS, SAME_FILE = "another corpus", "another part of the same file"
"""How the second corpus of Figure 2 relates to the first; a part of the same file says nothing about other data."""
PEARSON, SPEARMAN, TRIMMED = "pearson", "spearman", "pearson_without_extremes"
PRUNABLE = {TRANSLATION: 20, CLASSIFICATION: 40}
"""Percent of heads that can be pruned without noticeable loss (section 4.2)."""
LEAST_BLEU = 3.0
"""Smallest score of a full model at which pruned scores are shown as shares of it: the paper's after its first epoch."""
TRAINED_WITHOUT = 40
"""Percent of heads masked in the summary of Figure 5."""

_EFFECT = [*HEAD, "metric", "score", "baseline", "delta", "ci_low", "ci_high", "p", "p_adjusted"]
TABLE1 = [*_EFFECT, "p_count", "n", "unit"]
BEST = [*_EFFECT, "n", "heldout_delta", "unit"]
FURTHER = [*_EFFECT, "n", "selection_delta", "selection_n", "unit"]
FIGURE1 = ["experiment", *TABLE1]
_CORPORA = ["n", "second_n", "unit", "baseline", "second_baseline"]
FIGURE2 = ["experiment", *HEAD, "metric", "delta", "second_delta", "extreme", *_CORPORA]
_CORRELATION = ["value", "ci_low", "ci_high", "ci_examples_low", "ci_examples_high"]
CORRELATIONS = ["experiment", "statistic", *_CORRELATION, "heads", "n", "second_n", "second_data", "unit"]
HEAD_IMPORTANCE = ["task", *HEAD, "definition", "importance", "ci_low", "ci_high", "spearman", "n", "unit"]
_CURVE = ["metric", "score", "ci_low", "ci_high", "baseline", "delta"]
FIGURE3 = ["experiment", "order", "draw", "percent", "count", "heads", *_CURVE, "floor", "n", "unit"]
FIGURE4 = ["kind", "percent", "count", "heads", *_CURVE, "n", "unit"]
FIGURE5 = ["epoch", "percent", "count", "heads", *_CURVE, "share", "n", "unit"]
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
        """The masks of one head (`ONE`), or of all heads of a layer but one (`OTHERS`)."""
        return self.only((self.keys["masked"] == masked).to_numpy())

    def only(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> MaskedScores:
        """Some of the masks, by a boolean array or by their indices."""
        return replace(self, keys=self.keys.iloc[chosen].reset_index(drop=True), parts=self.parts[chosen])

    def of_examples(self, chosen: npt.NDArray[np.bool_]) -> MaskedScores:
        return replace(self, base=self.base[chosen], parts=self.parts[:, chosen])

    @property
    def baseline(self) -> float:
        return float(self.score(self.base.sum(axis=0)))

    @property
    def deltas(self) -> Floats:
        """[mask] score under the mask minus that without."""
        return self.score(self.parts.sum(axis=1)) - self.baseline

    @property
    def facts(self) -> dict[str, Any]:
        return {"metric": self.metric, "baseline": self.baseline, "n": len(self.base), "unit": UNITS[self.metric]}


def masked_scores(answers: pd.DataFrame, keys: Sequence[str], experiment: str) -> MaskedScores:
    """Per-example terms of BLEU or accuracy for every mask, of answers with the columns `keys` and `ANSWERS`."""
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
    return MaskedScores(METRICS[experiment], masks, by_mask[unmasked][0], by_mask)


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

    Where few examples change, a bootstrap that has not seen a loss would exclude it; this gives the interval of Bonett and
    Price (2012, Adjusted Wald confidence interval for a difference of binomial proportions based on paired data). For BLEU,
    right is a translation with the mean counts of the full model, wrong one without a match.
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

    p: two-sided; for BLEU by centred paired bootstrap (Koehn 2004), for accuracy by McNemar's exact test. p_adjusted: for all
    masks by the maximum statistic, from random exchanges of the answers with and without the mask. p_count: that as many masks
    of this kind have p < `LEVEL` by chance, from the same exchanges.
    """
    delta, differences = masked.deltas, resampled_deltas(masked, resamples, seed)
    low, high = percentile_interval(differences)
    null = exchanged_differences(masked.score, masked.base, masked.parts, resamples, seed)
    if masked.metric == ACCURACY:
        p = mcnemar(masked.base[:, 0] > 0, masked.parts[:, :, 0] > 0)
    else:
        p = two_sided_p(delta, (differences - delta).T)
    p_count = np.empty(len(p))
    for places in masked.keys.groupby("kind").indices.values():
        p_count[places] = count_p(int((p[places] < LEVEL).sum()), delta[places], null[places], LEVEL)
    scores = {"score": masked.baseline + delta, "delta": delta, "ci_low": low, "ci_high": high}
    return masked.keys.assign(**masked.facts, **scores, p=p, p_adjusted=np.maximum(p, adjusted_p(delta, null)), p_count=p_count)


def best_of_layers(masked: MaskedScores) -> npt.NDArray[np.intp]:
    """[layer] index of the best mask of each kind and layer; the first one if several tie."""
    deltas = masked.keys.assign(delta=masked.deltas).groupby(["kind", "layer"], sort=False)["delta"]
    return deltas.idxmax().to_numpy()


def best_on_other_half(masked: MaskedScores) -> list[MaskedScores]:
    """For each half of the examples the masks of `best_of_layers` on it, with their scores on the other half."""
    even = np.arange(len(masked.base)) % 2 == 0
    return [masked.of_examples(~half).only(best_of_layers(masked.of_examples(half))) for half in (even, ~even)]


def best_by_layer(masked: MaskedScores, resamples: int, seed: int) -> pd.DataFrame:
    """For each kind and layer the mask with the best score, columns `BEST`; the paper selects and reports on the same examples.

    heldout_delta: of `best_on_other_half`, mean of both directions; p_adjusted: for all masks, those of other heads included.
    """
    best = effect_rows(masked, resamples, seed).loc[best_of_layers(masked)].reset_index(drop=True)
    return best.assign(heldout_delta=np.mean([heads.deltas for heads in best_on_other_half(masked)], axis=0))[BEST]


def heldout_effects(selection: MaskedScores, measured: MaskedScores, resamples: int, seed: int) -> pd.DataFrame:
    """One row for each kind and layer, columns `FURTHER`: the head is selected on one corpus and measured on another."""
    best = selection.only(best_of_layers(selection))
    heads, best_heads = (pd.MultiIndex.from_frame(scores.keys[HEAD]) for scores in (measured, best))
    rows = effect_rows(measured.only(heads.get_indexer(best_heads)), resamples, seed)
    return rows.assign(selection_delta=best.deltas, selection_n=len(best.base))[FURTHER]


def effects(
    answers: Sequence[pd.DataFrame],
    second_answers: Sequence[pd.DataFrame],
    derivatives: Sequence[HeadDerivatives],
    pruned: Sequence[pd.DataFrame],
    same_file: Mapping[str, bool],
    excluded_extremes: int,
    batch: int,
    resamples: int,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """All tables and statistics, of what the jobs of `experiments` write, in the order of `EXPERIMENTS`.

    same_file, excluded_extremes: see `on_two_corpora`; batch: examples of a batch, for definitions of importance over batches.
    """
    parts = []
    files = zip(EXPERIMENTS, answers, second_answers, derivatives, pruned, strict=True)
    for name, first, second, slopes, steps in files:
        parts.append(masked_heads(name, first, second, same_file[name], excluded_extremes, resamples, seed))
        parts.append(head_importance(name, slopes, batch, resamples, seed))
        parts.append(pruning_curves(name, steps, resamples, seed))
    names = dict.fromkeys(table for part in parts for table in part)
    return {table: pd.concat([part[table] for part in parts if table in part], ignore_index=True) for table in names}


def masked_heads(
    name: str, answers: pd.DataFrame, second_answers: pd.DataFrame, same_file: bool, extremes: int, resamples: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Effects of masked heads: each head alone (`FIGURE1`), each layer with its best head (`BEST`), and on two corpora."""
    scores = masked_scores(answers, KEYS, name)
    single, one_left = scores.masking(ONE), scores.masking(OTHERS)
    statistics = list(single_head_statistics(single, name, resamples, seed)) if name == TRANSLATION else []
    second = masked_scores(second_answers, KEYS, name).masking(ONE)
    heads, correlations = on_two_corpora(name, single, second, same_file, extremes, resamples, seed)
    return {
        "ablation": effect_rows(single, resamples, seed).assign(experiment=name)[FIGURE1],
        f"ablation_best_{name}": best_by_layer(one_left, resamples, seed),
        "correlation_heads": heads,
        "correlations": correlations,
        "statistics": statistics_table([*statistics, one_head_statistic(one_left, name, resamples, seed)]),
    }


def on_two_corpora(
    name: str, first: MaskedScores, second: MaskedScores, same_file: bool, extremes: int, resamples: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Effects of single heads on two corpora (`FIGURE2`), and their correlations over heads (`CORRELATIONS`).

    Intervals are by bootstrap over heads, and over the examples of both corpora (which adds their noise once more). same_file:
    whether the second corpus is another part of the file of the first; extremes: number of `extreme_heads`.
    """
    by_example = [resampled_deltas(masked, resamples, seed + k) for k, masked in enumerate((first, second))]
    extreme = extreme_heads(first.deltas, second.deltas, extremes)
    facts = {"experiment": name, "second_n": len(second.base), "second_baseline": second.baseline, **first.facts}
    heads = first.keys[HEAD].assign(**facts, delta=first.deltas, second_delta=second.deltas, extreme=extreme.astype(int))
    rows = []
    for statistic in (PEARSON, SPEARMAN, TRIMMED):
        included = ~extreme if statistic == TRIMMED else np.ones_like(extreme)
        values = [changes[..., included] for changes in (first.deltas, second.deltas, *by_example)]
        if statistic == SPEARMAN:
            values = [rankdata(changes, axis=-1) for changes in values]
        row: dict[str, Any] = {"statistic": statistic, "heads": int(included.sum())}
        if included.any():
            deltas, second_deltas, *resampled = values
            row["value"] = pearson(deltas, second_deltas)
            counts = np.concatenate(list(resampled_counts(row["heads"], resamples, seed)))
            row["ci_low"], row["ci_high"] = percentile_interval(weighted_pearson(deltas, second_deltas, counts))
            row["ci_examples_low"], row["ci_examples_high"] = percentile_interval(pearson(*resampled))
        rows.append(row)
    correlations = pd.DataFrame(rows, columns=["statistic", *_CORRELATION, "heads"]).astype(dict.fromkeys(_CORRELATION, float))
    correlations = correlations.assign(**facts, second_data=SAME_FILE if same_file else ANOTHER_CORPUS)
    return heads[FIGURE2], correlations[CORRELATIONS]


def extreme_heads(first: Floats, second: Floats, count: int) -> npt.NDArray[np.bool_]:
    """[head] whether a head's change is among the `count` (or more, of ties) farthest from the median on either corpus, in
    standard deviations; a head at both medians never is.
    """
    distances = np.zeros(len(first))
    for values in (first, second):
        if values.std() > 0:
            distances = np.maximum(distances, np.abs(values - np.median(values)) / values.std())
    smallest = np.sort(distances)[-min(count, len(distances))]
    # Equal changes are summed in different orders: distances that differ by rounding are tied.
    return (distances > UNCHANGED) & (distances >= smallest - UNCHANGED)


def statistic_row(
    statistic: str, experiment: str, part: str, value: Any, resampled: Any, n: int, level: float = COVERAGE
) -> Row:
    """A row with the percentile interval of values of resampled examples, widened for few examples, or with the given ends."""
    low, high = resampled if isinstance(resampled, tuple) else percentile_interval(resampled, expanded_level(level, n))
    return dict(zip(STATISTICS, (statistic, experiment, part, value, low, high, level, n), strict=True))


def statistics_table(rows: Iterable[Row]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=STATISTICS).astype(dict.fromkeys(("value", "ci_low", "ci_high", "level"), float))


def single_head_statistics(masked: MaskedScores, experiment: str, resamples: int, seed: int) -> Iterator[Row]:
    """Of each kind of attention: the median and the largest absolute change in score by a masked head, and `balance`."""
    n, deltas, padded = len(masked.base), masked.deltas, with_opposite_examples(masked)
    resampled, padded_resampled = (resampled_deltas(scores, resamples, seed) for scores in (masked, padded))
    for kind in masked.keys["kind"].unique():
        places = np.flatnonzero(masked.keys["kind"] == kind)
        medians = np.median(padded_resampled[:, places], axis=1)
        largest = simultaneous_largest(padded.deltas[places], padded_resampled[:, places], expanded_level(COVERAGE, n))
        yield statistic_row("median_change", experiment, kind, np.median(deltas[places]), medians, n)
        yield statistic_row("largest_change", experiment, kind, np.abs(deltas[places]).max(), largest, n)
        yield statistic_row("raised_minus_lowered", experiment, kind, balance(deltas[places]), balance(resampled[:, places]), n)


def balance(deltas: Floats) -> Floats:
    """[...] heads that raise the score minus heads that lower it, of differences [..., head]."""
    return np.where(np.abs(deltas) > UNCHANGED, np.sign(deltas), 0.0).sum(axis=-1)


def one_head_statistic(masked: MaskedScores, experiment: str, resamples: int, seed: int) -> Row:
    """Median over layers of the change in score with the best head, of `best_on_other_half`."""
    halves = best_on_other_half(masked)
    observed = np.mean([heads.deltas for heads in halves], axis=0)
    resampled = [resampled_deltas(with_opposite_examples(heads), resamples, seed + k) for k, heads in enumerate(halves)]
    medians = np.median(np.mean(resampled, axis=0), axis=1)
    return statistic_row("one_head_median", experiment, ALL, np.median(observed), medians, len(masked.base))


def head_importance(name: str, of: Derivatives, batch: int, resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """Importance of all heads by all definitions (`HEAD_IMPORTANCE`), with intervals where one is a mean over examples."""
    n, paper, tables = len(of.gradient), importance(of, PAPER, batch), []
    facts = {"task": name, "n": n, "unit": UNITS[METRICS[name]]}
    for definition in DEFINITIONS:
        values = importance(of, definition, batch)
        low = high = np.full_like(values, np.nan)
        if definition in (PAPER, CODE):
            drawn = resampled_counts(n, resamples, seed)
            resampled = [normalised(unnormalised(of, definition, batch, counts), of.heads) for counts in drawn]
            low, high = percentile_interval(np.concatenate(resampled))
        columns = {"definition": definition, "importance": values, "ci_low": low, "ci_high": high}
        tables.append(of.heads.assign(**facts, **columns, spearman=spearman(values, paper))[HEAD_IMPORTANCE])
    statistics = statistics_table(agreement_statistics(of, name, batch, resamples, seed))
    return {"head_importance": pd.concat(tables, ignore_index=True), "statistics": statistics}


def agreement_statistics(of: Derivatives, experiment: str, batch: int, resamples: int, seed: int) -> Iterator[Row]:
    """spearman_with_paper of each definition of published code: rank correlation over heads with the paper's."""
    size, names = len(of.gradient), [name for name in DEFINITIONS if name != PAPER]
    drawn = np.random.default_rng(seed).integers(0, size, (resamples, size))
    counts = np.stack([np.bincount(examples, minlength=size) for examples in drawn]).astype(np.float64)
    resampled = {name: unnormalised(of, name, batch, counts) for name in (PAPER, CODE)}
    for name in (PER_BATCH, SCRIPT):
        # Batches of the resample, in the order of its draws.
        redrawn = (replace(of, gradient=of.gradient[examples]) for examples in drawn)
        resampled[name] = np.stack([unnormalised(derivatives, name, batch) for derivatives in redrawn])
    scaled = {name: normalised(values, of.heads) for name, values in resampled.items()}
    for name in names:
        value = spearman(importance(of, name, batch), importance(of, PAPER, batch))
        # Reflected: a resample repeats examples, which adds up within batches and makes the definitions more similar.
        reflected = np.clip(2 * value - spearman(scaled[name], scaled[PAPER]), -1, 1)
        yield statistic_row("spearman_with_paper", experiment, name, value, reflected, size, level_of_parts(len(names)))


def pruning_curves(name: str, pruned: pd.DataFrame, resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """Scores of all steps of pruning, of all heads (`FIGURE3`, with the share of the most frequent label) and by kind."""
    masked = masked_scores(pruned, STEP, name)
    resampled, floor = resampled_scores(masked, resamples, seed), 0.0
    if name == CLASSIFICATION:
        floor = 100 * float(pruned.drop_duplicates("record")["expected"].value_counts(normalize=True).iloc[0])
    rows = curve_rows(masked, resampled).assign(experiment=name, floor=floor)
    rows["heads"] = rows.groupby("scope")["count"].transform("max")
    of_kinds = rows["scope"] != ALL
    return {
        "pruning_curves": rows.loc[~of_kinds, FIGURE3],
        "pruning_curves_by_kind": rows[of_kinds].rename(columns={"scope": "kind"})[FIGURE4],
        "statistics": statistics_table(pruning_statistics(masked, resampled, name, resamples, seed)),
    }


def training_curves(dynamics: pd.DataFrame, resamples: int, seed: int) -> dict[str, pd.DataFrame]:
    """Scores of pruning by importance after epochs of training (`FIGURE5`; share: of the full model's), and statistics."""
    keys = ["epoch", "percent", "count"]
    epochs = {int(str(epoch)): masked_scores(answers, keys, TRANSLATION) for epoch, answers in dynamics.groupby("epoch")}
    resampled = {epoch: resampled_scores(masked, resamples, seed) for epoch, masked in epochs.items()}
    table = pd.concat([curve_rows(masked, resampled[epoch]) for epoch, masked in epochs.items()], ignore_index=True)
    share = table["score"] / table["baseline"].where(table["baseline"] >= LEAST_BLEU)
    curves = table.assign(heads=table["count"].max(), share=share)[FIGURE5]
    return {"training_curves": curves, "training_statistics": statistics_table(training_statistics(epochs, resampled))}


def curve_rows(masked: MaskedScores, resampled: Floats) -> pd.DataFrame:
    """One row for each step: its keys, score, that of the full model, and their difference; resampled: [resample, step]."""
    low, high = percentile_interval(resampled)
    delta = masked.deltas
    return masked.keys.assign(**masked.facts, score=masked.baseline + delta, delta=delta, ci_low=low, ci_high=high)


def pruning_statistics(masked: MaskedScores, resampled: Floats, experiment: str, resamples: int, seed: int) -> Iterator[Row]:
    """Statistics of the pruning curves of an experiment; resampled: [resample, step] scores.

    pruned_change: when the share of heads of `PRUNABLE` is masked, by importance. The others are differences of means of two
    curves: by importance and by scores with one head masked, selected on other examples; by importance and random orders
    (`predicted_difference`); a kind of attention and encoder-decoder attention.
    """
    n, scores = len(masked.base), np.vstack([masked.baseline + masked.deltas, resampled])
    groups = masked.keys.groupby(["order", "scope", "draw"], sort=False)
    curves = {curve: steps.sort_values("percent") for curve, steps in groups}
    # [1 + resample]: mean over percent of heads masked, of all examples and of the resamples.
    means = {curve: np.trapezoid(scores[:, steps.index], steps["percent"], axis=-1) / 100 for curve, steps in curves.items()}
    by_importance, single, cross = (IMPORTANCE, ALL, 0), (HELDOUT, ALL, 0), (IMPORTANCE, "enc_dec", 0)
    share, steps = PRUNABLE[experiment], curves[by_importance]
    step = masked.only(steps.index[steps["percent"] >= share][:1].to_numpy())
    changes = resampled_deltas(with_opposite_examples(step), resamples, seed)[:, 0]
    yield statistic_row("pruned_change", experiment, str(share), step.deltas[0], changes, n)
    differences = means[by_importance] - means[single]
    yield statistic_row("importance_over_single_heads", experiment, ALL, differences[0], differences[1:], n)
    random = np.array([mean for (order, _, _), mean in means.items() if order == RANDOM])
    differences = means[by_importance] - random.mean(axis=0)
    interval = predicted_difference(differences[0], random[:, 0], differences[1:])
    yield statistic_row("importance_over_random", experiment, ALL, differences[0], interval, len(random))
    others = [curve for curve in curves if cross in curves and curve[1] not in (ALL, cross[1])]
    for curve in others:
        differences = means[curve] - means[cross]
        level = level_of_parts(len(others))
        yield statistic_row("over_encoder_decoder", experiment, curve[1], differences[0], differences[1:], n, level)


def training_statistics(epochs: Mapping[int, MaskedScores], resampled: Mapping[int, Floats]) -> Iterator[Row]:
    """Share of the full model's BLEU with `TRAINED_WITHOUT` % of the heads masked after the last epoch, and its gain since the
    first, of epochs whose full model reaches `LEAST_BLEU`; NaN without one, or for the gain two. resampled: [resample, step].
    """
    shares = []
    for epoch, masked in sorted(epochs.items()):
        (pruned,), (full,) = (np.nonzero(masked.keys["percent"] == percent) for percent in (TRAINED_WITHOUT, 0))
        if masked.baseline >= LEAST_BLEU and len(pruned):
            scores = np.vstack([masked.baseline + masked.deltas, resampled[epoch]])
            shares.append(scores[:, pruned[0]] / scores[:, full[0]])
    nothing, n = np.full(2, np.nan), len(next(iter(epochs.values())).base)
    gained = shares[-1] - shares[0] if len(shares) > 1 else nothing
    for statistic, share in (("share_gained", gained), ("share_left", shares[-1] if shares else nothing)):
        yield statistic_row(statistic, TRANSLATION, str(TRAINED_WITHOUT), share[0], share[1:], n)


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
